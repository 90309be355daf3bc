"""The block that opens a session or accompanies a task: best first, within a budget, fenced.

Recalled text is data. The fence says so, and what reads like our own fence is disarmed, so that a
memory cannot close it and speak as the system.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.context.filling import LINE_CHARS_MAX, Line, Shelf, filled
from memory_mcp.domain.closeout import REASON
from memory_mcp.domain.limits import CHARS_PER_TOKEN
from memory_mcp.domain.record import Record
from memory_mcp.fence import CLOSE, OPEN, disarmed

_MEMORY_CHARS_MIN: Final = 100
"""What is shown around the memories may not leave them less room than this: a short one's."""
_ITEM: Final = "- "


@dataclass(frozen=True)
class Section:
    """A heading and its records, best first; `weight` is its part of the room.

    `facts` are lines that stand for no record of ours; they are shown whole or not at all. What is
    `firm` has its room before anything else.
    """

    heading: str
    records: Sequence[Record] = ()
    facts: Sequence[str] = ()
    weight: int = 1
    firm: bool = False
    chars_max: int = LINE_CHARS_MAX


@dataclass(frozen=True)
class Figure:
    """What the last line but the time says: how many memories there are, and where to go on from.

    `since` is the token by which a later call asks what has changed.
    """

    total: int
    since: str = ""

    def line(self, used: int, budget: int, shown: int, *, short: bool = False) -> str:
        """`412 of 500 tokens, 88 more: search_memories. since=r12-0199f0c27d4ecc1-5b2e09d4-88`."""
        if short:
            return f"{used} of {budget} tokens."
        more = max(0, self.total - shown)
        rest = f"{more} more: search_memories" if more else "nothing left out"
        since = f" since={self.since}" if self.since else ""
        return f"{used} of {budget} tokens, {rest}.{since}"


@dataclass
class _Ends:
    """Which of the lines around what was recalled have their room, and how much the time takes."""

    now_chars: int
    figure: bool = False
    short: bool = False
    now: bool = False
    user: bool = False

    def fit(self, left: int, budget: int, user: str, figure: Figure | None) -> int:
        """Give each its room while enough is left for a memory; how much that is."""

        def has_room(line_chars: int, least: int = _MEMORY_CHARS_MIN) -> bool:
            nonlocal left
            fits = line_chars > 0 and left - line_chars - 1 >= least
            left -= (line_chars + 1) * fits
            return fits

        if figure:
            self.figure = has_room(len(figure.line(budget, budget, 0)))
            self.short = not self.figure
            self.figure |= self.short and has_room(len(figure.line(budget, budget, 0, short=True)))
        self.now = has_room(self.now_chars)
        self.user = has_room(len(user))
        return left

    def figure_line(self, figure: Figure, lines: Sequence[str], budget: int, shown: int) -> str:
        """The figure, itself reckoned in; of the time the longest, so that no day changes it."""
        used = sum(len(line) + 1 for line in lines) + (self.now_chars + 1) * self.now + len(CLOSE)
        length = len(figure.line(budget, budget, shown, short=self.short)) + 1
        return figure.line(-(-(used + length) // CHARS_PER_TOKEN), budget, shown, short=self.short)


@dataclass(frozen=True)
class Block:
    """The finished text, its cost in tokens, and how many memories fit and did not.

    `since` is the token by which a later call asks what has changed.
    """

    text: str
    tokens: int
    shown: int
    left_out: int
    since: str = ""


def tokens(text: str) -> int:
    """The usual estimate: a token per four characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def render_context(
    opening: Sequence[str],
    sections: Sequence[Section],
    budget_tokens: int,
    *,
    user: str = "",
    now: str = "",
    now_chars: int = 0,
    figure: Figure | None = None,
) -> Block:
    """Opening lines, then what fits of each section, never more than the budget.

    `now` is the last line, so that what is before it stays the same from call to call and a cache
    of prompts can keep it: for the same reason it has `now_chars` of room, whatever it says and
    whether or not it is there. It, the `figure` and the line about the `user` are left out where
    they do not fit.
    """
    lines = [OPEN, *opening]
    left = budget_tokens * CHARS_PER_TOKEN - sum(len(line) + 1 for line in lines) - len(CLOSE)
    seen: set[str] = set()
    firm = [_shelf(section, seen) for section in sections if section.firm]
    first = filled(firm, left)
    left -= sum(len(line) + 1 for line in first)
    ends = _Ends(max(now_chars, len(now)))
    left = ends.fit(left, budget_tokens, user, figure)
    filling = [section for section in sections if not section.firm]
    shelves = [_shelf(section, seen) for section in filling]
    rest = filled(shelves, left)
    lines += [*([user] if ends.user else []), *first, *rest]
    ours = zip(filling, shelves, strict=True)  # a fact is no memory of ours
    shown = sum(len(shelf.shown) for section, shelf in ours if not section.facts)
    if figure and ends.figure:
        lines.append(ends.figure_line(figure, lines, budget_tokens, shown))
    # all of it at once: what is split over two lines, or two fields, reads as one
    within = disarmed("\n".join([*lines[1:], *([now] if ends.now and now else [])]))
    text = "\n".join([OPEN, *([within] if within else []), CLOSE])
    every = [*firm, *shelves]
    return Block(
        text=text,
        tokens=tokens(text),
        shown=sum(len(shelf.shown) for shelf in every),
        left_out=sum(len(shelf.lines) - len(shelf.shown) for shelf in every),
        since=figure.since if figure else "",
    )


def _shelf(section: Section, seen: set[str]) -> Shelf:
    """A line for each record that no earlier section had, and for each fact."""
    return Shelf(f"## {section.heading}", list(_entries(section, seen)), section.weight)


def _entries(section: Section, seen: set[str]) -> Iterator[Line]:
    for record in section.records:
        if record.id not in seen:
            seen.add(record.id)
            yield Line(one_line(record), f" [{record.id}]", chars_max=section.chars_max)
    for fact in section.facts:
        yield Line(" ".join(fact.split())[: 2 * LINE_CHARS_MAX], whole=True)


def one_line(record: Record) -> str:
    """What a record says, with its title, on one line and without our fence."""
    said = record.content.casefold().startswith(record.title.casefold())
    title = "" if said else f"{record.title}: "
    return disarmed(" ".join((title + _flowing(record.content)).split()))


def _flowing(text: str) -> str:
    """The text so that it reads well as one line: a list without its dashes, a reason behind one.

    What is decided may end in a full stop, and its reason begin with any word.
    """
    lines = [line.strip() for line in text.strip().split("\n")]
    if all(line.startswith(_ITEM) for line in lines):
        return " \u00b7 ".join(line.removeprefix(_ITEM) for line in lines)
    decided, found, reason = text.rpartition(REASON)
    return f"{decided.rstrip().removesuffix('.')} \u2014 {reason}" if found else text
