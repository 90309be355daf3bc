"""What gets the room: every section its share, and the rest is handed on, best first.

A thousand memories of one kind must not crowd out the only one of another. So each section that
has anything gets a line, then spends a share of what is left, and what it does not need goes to the
others, one line each in turn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from memory_mcp.domain.cutting import cut

LINE_CHARS_MAX: Final = 320
"""A line longer than this is cut: the whole text is one search away, by its id."""

_LINE_CHARS_LEAST: Final = 72
"""Of a text that must be cut for want of room: enough to see what it is about."""

Cost = Callable[[str], int]


@dataclass(frozen=True)
class Line:
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
    lines: Sequence[Line]
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


def filled(
    shelves: Sequence[Shelf], room: int, cost: Cost = len, lines_max: int = 1_000_000
) -> list[str]:
    """The lines of all shelves that fit, under their headings, in the order of the shelves."""
    space = _Room(room, lines_max, cost)
    taking = [shelf for shelf in shelves if shelf.lines and _begun(shelf, space)]
    spare, whole = space.left, sum(shelf.weight for shelf in taking)
    for shelf in taking:
        share = spare * shelf.weight // whole
        floor = space.left - share
        _widened(shelf, space, floor)
        while _add(shelf, space, floor):
            pass
    for shelf in taking:
        _widened(shelf, space, 0)
    going = list(taking)
    while going:
        going = [shelf for shelf in going if _handed(shelf, space)]
    return [line for shelf in shelves for line in shelf.text()]


def _begun(shelf: Shelf, space: _Room) -> bool:
    """Give the shelf its heading and something of its first line."""
    first = shelf.lines[0].cut(_LINE_CHARS_LEAST)
    if not space.take(shelf.heading, first):
        return False
    shelf.shown.append(first)
    shelf.next = 1
    return True


def _widened(shelf: Shelf, space: _Room, floor: int) -> None:
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


def _add(shelf: Shelf, space: _Room, floor: int) -> bool:
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


def _handed(shelf: Shelf, space: _Room) -> bool:
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
