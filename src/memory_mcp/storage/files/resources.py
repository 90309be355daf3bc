"""Looks at a program's resources on this machine, below the folders that it may read.

No link is followed, and the network is never asked: what is fetched by others is seen once it is
here.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from memory_mcp.domain.limits import RESOURCE_FILE_BYTES_MAX
from memory_mcp.domain.resources import Seen
from memory_mcp.errors import InvalidRequestError
from memory_mcp.safe_files import UnsafeFileError, list_names, read_file, read_start, refuse_links
from memory_mcp.storage.threads import in_thread

_DEPTH_MAX: Final = 4
_BYTES_PER_CHAR: Final = 4
_READ_FIRST: Final = ("readme", "dataset_card", "model_card", "description")
"""How the files begin that say what a folder holds."""
_TEXTS: Final = (".md", ".txt", ".rst", ".json", ".toml", ".yaml", ".yml", ".csv", ".tsv", ".py")


class LocalResources:
    """A `ResourceFiles`. Relative paths start at the first of its `roots`."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)

    @in_thread
    def read_list(self, path: str) -> bytes | None:
        place, root = self._place(path)
        if root is None:
            folders = " or ".join(map(str, self._roots))
            raise InvalidRequestError(f"{path!r} is not below {folders}. Name a file there.")
        try:
            return read_file(str(place), RESOURCE_FILE_BYTES_MAX, str(root))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise InvalidRequestError(f"{path!r:.200} is not read: {_explain(error)}.") from None

    @in_thread
    def look_at(self, path: str, files_max: int, chars_max: int) -> Seen:
        place, root = self._place(path)
        if root is None:
            return Seen(why="it is outside of the folders that may be read")
        try:
            refuse_links(str(root), str(place))
            if not place.exists():
                return Seen(why="there is no such file or folder")
            if not place.is_dir():
                return Seen(str(place), place.name, _read_excerpt(place, root, chars_max))
            files = list(islice(_walk(place, root), files_max + 1))
            tree = [_show(each.relative_to(place)) for each in files[:files_max]]
            more = ["…"] if len(files) > files_max else []
            telling = min(filter(_is_text, files), key=_rank, default=None)
            excerpt = _read_excerpt(telling, root, chars_max) if telling else ""
            return Seen(str(place), "\n".join(tree + more), excerpt)
        except (OSError, ValueError) as error:  # a path may hold what no file system takes
            return Seen(why=_explain(error))

    def _place(self, path: str) -> tuple[Path, Path | None]:
        """Where it is, and the root that lets it be read; `..` leads where it says."""
        place = Path(os.path.abspath(self._roots[0] / path))  # noqa: PTH100  # follows no link
        return place, next((root for root in self._roots if place.is_relative_to(root)), None)


def _explain(error: OSError | ValueError) -> str:
    match error:
        case UnsafeFileError(why=why):
            return why
        case OSError(strerror=str(why)):
            return why
        case _:
            return str(error) or type(error).__name__


def _walk(folder: Path, root: Path, depth: int = 0) -> Iterator[Path]:
    """The files below a folder in order, without links and what begins with a dot."""
    entries = sorted(list_names(str(folder), str(root)), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_file(follow_symlinks=False):
            yield folder / entry.name
        elif depth < _DEPTH_MAX and entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name, root, depth + 1)


def _show(path: Path) -> str:
    """The path on one line: a name may hold a line break."""
    return path.as_posix().replace("\n", "\\n").replace("\r", "\\r")


def _is_text(path: Path) -> bool:
    return path.suffix.lower() in _TEXTS or path.name.lower().startswith(_READ_FIRST)


def _rank(path: Path) -> tuple[int, bool, str]:
    """A description first, of the outermost folder."""
    return len(path.parts), not path.name.lower().startswith(_READ_FIRST), path.name


def _read_excerpt(path: Path, root: Path, chars_max: int) -> str:
    """How a file begins; "" of what is no text."""
    data = read_start(str(path), chars_max * _BYTES_PER_CHAR, str(root)) if chars_max > 0 else b""
    if b"\x00" in data:
        return ""
    return data.decode(errors="ignore")[:chars_max]
