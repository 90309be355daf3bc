"""A file of code as a value."""

from collections.abc import Callable, Mapping
from functools import cached_property

from memory_mcp.domain.citations import hash_lines

Symbols = Mapping[str, tuple[int, int]]
"""The first and last line of each symbol, by its full name."""


class CodeFile:
    """The text of a file, its path from the work tree, and git's hash of its bytes.

    What is found out about it is kept, because many memories cite one file.
    """

    def __init__(self, path: str, blob: str, text: str) -> None:
        self.path = path
        self.blob = blob
        self.text = text
        self._symbols: Symbols | None = None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The numbers of the lines of each hash."""
        places: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines, 1):
            places.setdefault(hash_lines([line]), []).append(number)
        return places

    def list_symbols(self, find: Callable[[str, str], Symbols]) -> Symbols:
        """The symbols that `find` finds in path and text; it is asked once."""
        if self._symbols is None:
            self._symbols = find(self.path, self.text)
        return self._symbols

    def find_text(self, count: int, text: str, head: str) -> int:
        """Where a text of so many lines begins; 0 if it is not here. `head` is its first line's."""
        for at in self.places.get(head, ()):
            if hash_lines(self.lines[at - 1 : at - 1 + count]) == text:
                return at
        return 0
