"""A file of code as a value."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from memory_mcp.domain.citations import hash_lines, measure_lines, split_lines
from memory_mcp.domain.record import Citation
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
    def lengths(self) -> bytes:
        return measure_lines(self.text)

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

    def find_text(self, cited: Citation) -> Sequence[int]:
        """The lines at which the cited text begins."""
        if cited.text not in self._found:
            self._found[cited.text] = tuple(self._find_text(cited))
        return self._found[cited.text]

    def _find_text(self, cited: Citation) -> Iterator[int]:
        """Only what has the lengths of the text is hashed: else a file is not even split."""
        lengths, count, shape = self.lengths, cited.count, bytes.fromhex(cited.shape)
        at = lengths.find(shape) if shape else -1
        while 0 <= at <= len(lengths) - count:
            same = sum(lengths[at : at + count]) == cited.size
            if same and hash_lines(self.lines[at : at + count]) == cited.text:
                yield at + 1
            at = lengths.find(shape, at + 1)
