"""Render the context block: recalled text, best first, within a budget of tokens, fenced as data.

A memory cannot close the fence: text that reads like it is disarmed.

A thousand memories of one kind must not crowd out the only one of another. So each section that
has records gets a line, then a share of the room that is left. What a section does not need goes
to the others, one line each in turn.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Final, Literal, get_args

from memory_mcp.domain.limits import CHARS_PER_TOKEN
from memory_mcp.domain.normalise import cut, put_on_one_line
from memory_mcp.domain.record import Record
from memory_mcp.fence import CLOSE, OPEN, disarm, enclose
from memory_mcp.frozen import frozen, mutable

LINE_CHARS_MAX: Final = 320
"""A longer line is cut: the whole text is one search away, by its id."""
_LINE_CHARS_MIN: Final = 72
"""What is shown of a text that must be cut for want of room."""
_MEMORY_CHARS_MIN: Final = 100
"""The room that the lines around the memories must leave for them."""

Cost = Callable[[str], int]
Marker = Callable[[Record], str]
"""Says of a record, in a word, why it may not hold here; '' if it does."""


def rank_mark(word: str) -> int:
    """Where a memory with this mark stands: behind those without; last if its ground is gone."""
    return bool(word) + word.endswith(" is gone")


@frozen
class ListingLine:
    """A text on one line, and what ends it. A `whole` one is not cut."""

    text: str
    tail: str = ""
    whole: bool = False
    chars_max: int = LINE_CHARS_MAX

    def cut(self, chars_max: int) -> str:
        """The line with so many characters of its text."""
        text = self.text if self.whole else cut(self.text, chars_max)
        return f"- {text}{self.tail}"


@mutable
class Listing:
    """A heading with its lines, best first; `weight` is its part of the room."""

    heading: str
    lines: Sequence[ListingLine]
    weight: int = 1
    shown: list[str] = field(default_factory=list[str])
    next: int = 0


class _Room:
    """How much is left, in units of `cost` and in lines."""

    def __init__(self, left: int, lines_left: int, cost: Cost) -> None:
        self.left = left
        self.lines_left = lines_left
        self._cost = cost

    def price(self, text: str) -> int:
        return self._cost(text) + 1  # the end of the line

    def take(self, *texts: str) -> bool:
        """Take the room for these lines, if there is enough."""
        price = sum(map(self.price, texts))
        lines = sum(text.count("\n") + 1 for text in texts)
        if price > self.left or lines > self.lines_left:
            return False
        self.left -= price
        self.lines_left -= lines
        return True


def fill_listings(
    listings: Sequence[Listing], room: int, cost: Cost = len, lines_max: int = 1_000_000
) -> list[str]:
    """The lines of all listings that fit, under their headings, in the order of the listings."""
    space = _Room(room, lines_max, cost)
    open_listings = [each for each in listings if each.lines and _begin(each, space)]
    spare, weights = space.left, sum(each.weight for each in open_listings)
    for listing in open_listings:
        floor = space.left - spare * listing.weight // weights
        _widen_first(listing, space, floor)
        while _add_next(listing, space, floor):
            pass
    for listing in open_listings:
        _widen_first(listing, space, 0)
    while open_listings:
        open_listings = [each for each in open_listings if _add_shortened(each, space)]
    return [line for each in listings if each.shown for line in (each.heading, *each.shown)]


def _begin(listing: Listing, space: _Room) -> bool:
    """Show the heading and something of the first line."""
    first = listing.lines[0].cut(_LINE_CHARS_MIN)
    if not space.take(listing.heading, first):
        return False
    listing.shown.append(first)
    listing.next = 1
    return True


def _widen_first(listing: Listing, space: _Room, floor: int) -> None:
    """Show more of the first line, as far as the room above the floor goes."""
    line, shown = listing.lines[0], listing.shown[0]
    room = space.left - floor + space.price(shown)
    low, high = _LINE_CHARS_MIN, line.chars_max
    while low < high:
        middle = (low + high + 1) // 2
        if space.price(line.cut(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    wider = line.cut(low)
    more = space.price(wider) - space.price(shown)
    if more <= space.left:
        space.left -= more
        listing.shown[0] = wider


def _add_next(listing: Listing, space: _Room, floor: int) -> bool:
    """Show the next line, if it fits above the floor."""
    if listing.next >= len(listing.lines):
        return False
    line = listing.lines[listing.next]
    text = line.cut(line.chars_max)
    if space.left - space.price(text) < floor or not space.take(text):
        return False
    listing.shown.append(text)
    listing.next += 1
    return True


def _add_shortened(listing: Listing, space: _Room) -> bool:
    """Show the next line that fits, cut if need be; whether there was one."""
    while listing.next < len(listing.lines):
        line = listing.lines[listing.next]
        listing.next += 1
        for chars in (line.chars_max, _LINE_CHARS_MIN):
            text = line.cut(chars)
            if space.take(text):
                listing.shown.append(text)
                return True
    return False


@frozen
class Section:
    """A heading and its records, best first; `weight` is its part of the room.

    `facts` are lines that stand for no record; they are shown whole or not at all. A `firm` section
    has its room before anything else.
    """

    heading: str
    records: Sequence[Record] = ()
    facts: Sequence[str] = ()
    weight: int = 1
    firm: bool = False
    chars_max: int = LINE_CHARS_MAX


LineForm = Literal["whole", "short", "shortest"]
"""How much the budget line says: for want of room only how many memories are left."""


@mutable
class BudgetLine:
    """The line that says what was used, how many memories are left and where to go on from.

    `since` is the token by which a later call asks what has changed. The `repeating` ones of the
    total are not left out: the block says what they say.
    """

    total: int
    since: str = ""
    repeating: int = 0

    def count_left_out(self, shown: int) -> int:
        """How many memories the block does not show."""
        return max(0, self.total - self.repeating - shown)

    def measure(self, budget: int, form: LineForm) -> int:
        """The length of the line at most: "nothing more." is longer than "2 more."."""
        return max(len(self.line(budget, budget, shown, form)) for shown in (0, self.total))

    def line(self, used: int, budget: int, shown: int, form: LineForm = "whole") -> str:
        """`412 of 500 tokens, 88 more: search_memories. since=r12-0199f0c27d4ecc1-5b2e09d4-88`."""
        more = self.count_left_out(shown)
        if form == "shortest":
            return f"{more or 'nothing'} more."
        if form == "short":
            return f"{used} of {budget} tokens{f', {more} more' if more else ''}."
        rest = f"{more} more: search_memories" if more else "nothing left out"
        since = f" since={self.since}" if self.since else ""
        return f"{used} of {budget} tokens, {rest}.{since}"


@mutable
class _Frame:
    """Which of the lines around the memories have room, and how much the time takes."""

    now_chars: int
    figure: LineForm | None = None
    now: bool = False
    user: bool = False

    def reserve(self, left: int, budget: int, user: str, figure: BudgetLine | None) -> int:
        """Give each line its room while enough is left for a memory; how much is left."""

        def fits(line_chars: int) -> bool:
            nonlocal left
            enough = line_chars > 0 and left - line_chars - 1 >= _MEMORY_CHARS_MIN
            left -= (line_chars + 1) * enough
            return enough

        if figure:
            forms = (f for f in get_args(LineForm) if fits(figure.measure(budget, f)))
            self.figure = next(forms, None)
        self.now = fits(self.now_chars)
        self.user = fits(len(user))
        return left

    def render_figure(
        self, figure: BudgetLine, form: LineForm, lines: Sequence[str], budget: int, shown: int
    ) -> str:
        """The figure counts itself, and of the time the longest, so that no day changes it."""
        used = sum(len(line) + 1 for line in lines) + (self.now_chars + 1) * self.now + len(CLOSE)
        length = len(figure.line(budget, budget, shown, form)) + 1
        return figure.line(-(-(used + length) // CHARS_PER_TOKEN), budget, shown, form)


@frozen
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
    mark: Marker = lambda _: "",
) -> Block:
    """Opening lines, then what fits of each section, never more than the budget.

    A record for which `mark` has a word stands behind those of its section that have none.

    `now` is the last line, so that the text before it stays the same from call to call and a cache
    of prompts can keep it. For the same reason its room is `now_chars`, whatever it says and
    whether or not it is there. `now`, `figure` and `user` are left out where they do not fit.
    """
    lines = [OPEN, *opening]
    left = budget_tokens * CHARS_PER_TOKEN - sum(len(line) + 1 for line in lines) - len(CLOSE)
    seen: set[str] = set()
    firm = [_make_listing(section, seen, mark) for section in sections if section.firm]
    first = fill_listings(firm, left)
    left -= sum(len(line) + 1 for line in first)
    frame = _Frame(max(now_chars, len(now)))
    left = frame.reserve(left, budget_tokens, user, figure)
    filling = [section for section in sections if not section.firm]
    listings = [_make_listing(section, seen, mark) for section in filling]
    rest = fill_listings(listings, left)
    lines += [*([user] if frame.user else []), *first, *rest]
    pairs = zip(filling, listings, strict=True)
    records_shown = sum(len(each.shown) for section, each in pairs if not section.facts)
    if figure and frame.figure:
        line = frame.render_figure(figure, frame.figure, lines, budget_tokens, records_shown)
        lines.append(line)
    # disarmed at once: a fence that is split over two lines or fields reads as one
    text = enclose("\n".join([*lines[1:], *([now] if frame.now and now else [])]))
    shown = sum(len(each.shown) for each in (*firm, *listings))
    unshown = sum(len(each.lines) for each in (*firm, *listings)) - shown
    return Block(
        text=text,
        tokens=count_tokens(text),
        shown=shown,
        left_out=figure.count_left_out(records_shown) if figure else unshown,
        since=figure.since if figure else "",
    )


def _make_listing(section: Section, seen: set[str], mark: Marker) -> Listing:
    """A line for each record that no earlier section had, and for each fact."""
    return Listing(f"## {section.heading}", list(_make_lines(section, seen, mark)), section.weight)


def _make_lines(section: Section, seen: set[str], mark: Marker) -> Iterator[ListingLine]:
    fresh = [(mark(record), record) for record in section.records if record.id not in seen]
    for word, record in sorted(fresh, key=lambda each: rank_mark(each[0])):
        if record.id not in seen:
            seen.add(record.id)
            tail = f" ({word}) [{record.id}]" if word else f" [{record.id}]"
            yield ListingLine(render_line(record), tail, chars_max=section.chars_max)
    for fact in section.facts:
        yield ListingLine(" ".join(fact.split())[: 2 * LINE_CHARS_MAX], whole=True)


def render_line(record: Record) -> str:
    """What a record says, with its title, on one line and without our fence."""
    repeats = record.content.casefold().startswith(record.title.casefold())
    title = "" if repeats else f"{record.title}: "
    return disarm(" ".join(f"{title}{put_on_one_line(record.content)}".split()))
