"""Which files git tracks, as far as a reader of its index needs to know.

Git's own program is not asked: it would take longer than what is written. The index names every
tracked file, followed by a NUL; its version 4 leaves out what a name shares with the one before it,
so there only the end of the name is looked for, and a file of that name elsewhere counts as well.
"""

import os
from pathlib import Path
from typing import Final

from memory_mcp.locations import find_git_dir
from memory_mcp.safe_files import read_file

__all__ = ["TrackedFiles"]

_INDEX_BYTES_MAX: Final = 134_217_728
"""The index of a repository of a million files."""
_HEADER_BYTES: Final = 8
_COMPRESSED: Final = 4

_Stamp = tuple[int, int]


class TrackedFiles:
    """The files that git tracks in a work tree; none where there is no repository."""

    def __init__(self, work_tree: Path | None) -> None:
        self._git_dir = find_git_dir(str(work_tree)) if work_tree else ""
        self._known: dict[str, tuple[_Stamp, bool]] = {}

    def holds(self, name: str) -> bool:
        """Whether git tracks the file of that name, as a path from the work tree with slashes."""
        if not self._git_dir:
            return False
        path = os.path.join(self._git_dir, "index")
        try:
            found = os.lstat(path)
            stamp = (found.st_mtime_ns, found.st_size)
            if name not in self._known or self._known[name][0] != stamp:
                data = read_file(path, _INDEX_BYTES_MAX, self._git_dir)
                self._known[name] = (stamp, _names(data, name))
        except OSError:  # no index yet, or none of git's
            return False
        return self._known[name][1]


def _names(index: bytes, name: str) -> bool:
    version = int.from_bytes(index[4:_HEADER_BYTES])
    wanted = name.rpartition("/")[2] if version >= _COMPRESSED else name
    return wanted.encode() + b"\0" in index
