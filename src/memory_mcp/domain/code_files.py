"""A file of code as a value."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import sub

from memory_mcp.domain.citations import hash_lines, split_lines
from memory_mcp.frozen import frozen

Symbols = Mapping[str, Sequence[tuple[int, int]]]
"""The first and last line of each declaration of a symbol, by its full name."""


@frozen
class FileVersion:
    """A file as a commit left it; '' where it begins. Without a `blob` that has no such file."""

    commit: str
    blob: str
    text: str


class CodeFile:
    """The text of a file, its path from the work tree, and git's hash of its bytes.

    What is found out about it is kept, because many memories cite one file.
    """

    def __init__(self, path: str, blob: str, text: str) -> None:
        self.path = path
        self.blob = blob
        self.text = text
        self._symbols: Symbols | None = None
        self._found: dict[str, Sequence[int]] = {}
        self._declared: dict[str, bool] = {}

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def sums(self) -> list[int]:
        """How many characters stand before each line, and before the end."""
        return list(accumulate(map(len, self.lines), initial=0))

    def list_symbols(self, find: Callable[[str, str], Symbols]) -> Symbols:
        """The symbols that `find` finds in path and text; it is asked once."""
        if self._symbols is None:
            self._symbols = find(self.path, self.text)
        return self._symbols

    def declares(self, symbol: str, find: Callable[["CodeFile", str], bool]) -> bool:
        """Whether `find` says that the file declares the symbol; it is asked once for each."""
        if symbol not in self._declared:
            self._declared[symbol] = find(self, symbol)
        return self._declared[symbol]

    def find_text(self, text: str, count: int, size: int) -> Sequence[int]:
        """The lines at which a text of this hash, so many lines and characters begins.

        Only what has as many characters is hashed; all of it, where their number is not known.
        """
        if text not in self._found:
            self._found[text] = tuple(self._find_text(text, count, size))
        return self._found[text]

    def _find_text(self, text: str, count: int, size: int) -> Iterator[int]:
        sizes = list(map(sub, self.sums[count:], self.sums))
        for at in _find_each(sizes, size) if size else range(len(sizes)):
            if hash_lines(self.lines[at : at + count]) == text:
                yield at + 1


def _find_each(sizes: list[int], size: int) -> Iterator[int]:
    """Where this size stands; a file has hundreds of lines, so none of it is a loop of ours."""
    at = -1
    for _ in range(sizes.count(size)):
        at = sizes.index(size, at + 1)
        yield at
