"""Render the block that opens a session or accompanies a task: best first, within a budget, fenced.

Recalled text is data. The fence says so, and text that reads like our own fence is disarmed, so
that a memory cannot close it and speak as the system.

A thousand memories of one kind must not crowd out the only one of another. So each section that
has records gets a line, then a share of the room that is left; what a section does not need goes
to the others, one line each in turn.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from memory_mcp.domain.limits import CHARS_PER_TOKEN
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.outcomes import REASON
from memory_mcp.domain.record import Record
from memory_mcp.fence import CLOSE, OPEN, disarmed

LINE_CHARS_MAX: Final = 320
"""A line longer than this is cut: the whole text is one search away, by its id."""

_LINE_CHARS_LEAST: Final = 72
"""Of a text that must be cut for want of room: enough to see what it is about."""

Cost = Callable[[str], int]


@dataclass(frozen=True)
class ShelfLine:
    """A text on one line, and what ends it. `whole`: it is shown whole or not at all."""

    text: str
    tail: str = ""
    whole: bool = False
    chars_max: int = LINE_CHARS_MAX

    def cut(self, chars_max: int) -> str:
        """The line with so many characters of its text."""
        text = self.text if self.whole else cut(self.text, chars_max)
        return f"- {text}{self.tail}"


@dataclass
class Shelf:
    """A heading with its lines, best first; `weight` is its part of the room."""

    heading: str
    lines: Sequence[ShelfLine]
    weight: int = 1
    shown: list[str] = field(default_factory=list[str])
    next: int = 0

    def text(self) -> list[str]:
        """What is shown of it, under its heading; nothing if nothing is."""
        return [self.heading, *self.shown] if self.shown else []


class _Room:
    """How much is left, in units of `cost` and in lines."""

    def __init__(self, left: int, lines_left: int, cost: Cost) -> None:
        self.left = left
        self.lines_left = lines_left
        self._cost = cost

    def price(self, text: str) -> int:
        return self._cost(text) + 1  # and the end of the line

    def take(self, *texts: str) -> bool:
        """Take the room for these lines, if there is enough."""
        whole = sum(map(self.price, texts))
        lines = sum(text.count("\n") + 1 for text in texts)
        if whole > self.left or lines > self.lines_left:
            return False
        self.left -= whole
        self.lines_left -= lines
        return True

    def exchange(self, old: str, new: str) -> bool:
        """Put one line in the place of another, if there is room for the difference."""
        more = self.price(new) - self.price(old)
        if more > self.left:
            return False
        self.left -= more
        return True


def fill_shelves(
    shelves: Sequence[Shelf], room: int, cost: Cost = len, lines_max: int = 1_000_000
) -> list[str]:
    """The lines of all shelves that fit, under their headings, in the order of the shelves."""
    space = _Room(room, lines_max, cost)
    taking = [shelf for shelf in shelves if shelf.lines and _begin_shelf(shelf, space)]
    spare, whole = space.left, sum(shelf.weight for shelf in taking)
    for shelf in taking:
        share = spare * shelf.weight // whole
        floor = space.left - share
        _widen_first(shelf, space, floor)
        while _add_next(shelf, space, floor):
            pass
    for shelf in taking:
        _widen_first(shelf, space, 0)
    going = list(taking)
    while going:
        going = [shelf for shelf in going if _add_shortened(shelf, space)]
    return [line for shelf in shelves for line in shelf.text()]


def _begin_shelf(shelf: Shelf, space: _Room) -> bool:
    """Give the shelf its heading and something of its first line."""
    first = shelf.lines[0].cut(_LINE_CHARS_LEAST)
    if not space.take(shelf.heading, first):
        return False
    shelf.shown.append(first)
    shelf.next = 1
    return True


def _widen_first(shelf: Shelf, space: _Room, floor: int) -> None:
    """Show more of the first line, as far as the room above the floor goes."""
    line, shown = shelf.lines[0], shelf.shown[0]
    room = space.left - floor + space.price(shown)
    low, high = _LINE_CHARS_LEAST, line.chars_max
    while low < high:
        middle = (low + high + 1) // 2
        if space.price(line.cut(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    wider = line.cut(low)
    if wider != shown and space.exchange(shown, wider):
        shelf.shown[0] = wider


def _add_next(shelf: Shelf, space: _Room, floor: int) -> bool:
    """Show the next line, if it fits above the floor."""
    if shelf.next >= len(shelf.lines):
        return False
    line = shelf.lines[shelf.next]
    text = line.cut(line.chars_max)
    if space.left - space.price(text) < floor or not space.take(text):
        return False
    shelf.shown.append(text)
    shelf.next += 1
    return True


def _add_shortened(shelf: Shelf, space: _Room) -> bool:
    """Show the next line that fits into what others left, cut if need be; whether there was one."""
    while shelf.next < len(shelf.lines):
        line = shelf.lines[shelf.next]
        shelf.next += 1
        for chars in (line.chars_max, _LINE_CHARS_LEAST):
            text = line.cut(chars)
            if space.take(text):
                shelf.shown.append(text)
                return True
    return False


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
class BudgetLine:
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

    def fit(self, left: int, budget: int, user: str, figure: BudgetLine | None) -> int:
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

    def figure_line(self, figure: BudgetLine, lines: Sequence[str], budget: int, shown: int) -> str:
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


def count_tokens(text: str) -> int:
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
    figure: BudgetLine | None = None,
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
    first = fill_shelves(firm, left)
    left -= sum(len(line) + 1 for line in first)
    ends = _Ends(max(now_chars, len(now)))
    left = ends.fit(left, budget_tokens, user, figure)
    filling = [section for section in sections if not section.firm]
    shelves = [_shelf(section, seen) for section in filling]
    rest = fill_shelves(shelves, left)
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
        tokens=count_tokens(text),
        shown=sum(len(shelf.shown) for shelf in every),
        left_out=sum(len(shelf.lines) - len(shelf.shown) for shelf in every),
        since=figure.since if figure else "",
    )


def _shelf(section: Section, seen: set[str]) -> Shelf:
    """A line for each record that no earlier section had, and for each fact."""
    return Shelf(f"## {section.heading}", list(_entries(section, seen)), section.weight)


def _entries(section: Section, seen: set[str]) -> Iterator[ShelfLine]:
    for record in section.records:
        if record.id not in seen:
            seen.add(record.id)
            yield ShelfLine(one_line(record), f" [{record.id}]", chars_max=section.chars_max)
    for fact in section.facts:
        yield ShelfLine(" ".join(fact.split())[: 2 * LINE_CHARS_MAX], whole=True)


def one_line(record: Record) -> str:
    """What a record says, with its title, on one line and without our fence."""
    said = record.content.casefold().startswith(record.title.casefold())
    title = "" if said else f"{record.title}: "
    return disarmed(" ".join((title + _flow(record.content)).split()))


def _flow(text: str) -> str:
    """The text so that it reads well as one line: a list without its dashes, a reason behind one.

    What is decided may end in a full stop, and its reason begin with any word.
    """
    lines = [line.strip() for line in text.strip().split("\n")]
    if all(line.startswith(_ITEM) for line in lines):
        return " \u00b7 ".join(line.removeprefix(_ITEM) for line in lines)
    decided, found, reason = text.rpartition(REASON)
    return f"{decided.rstrip().removesuffix('.')} \u2014 {reason}" if found else text
