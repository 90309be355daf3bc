"""Reads the files of a work tree that memories cite, by one safe open, once for each change."""

import hashlib
import os
from collections import OrderedDict
from pathlib import Path
from typing import Final

from memory_mcp.domain.code_files import CodeFile
from memory_mcp.locations import find_git_dir
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.host import read_index, stamp_file

_FILE_BYTES_MAX: Final = 4_194_304
"""A source file that is larger was made by a program."""
_KNOWN_MAX: Final = 500
_BINARY_BYTES: Final = 8_000
"""How far git itself looks for a NUL."""


class LocalCode:
    """Implements `ports.CodeFiles` over a work tree."""

    def __init__(self, work_tree: Path) -> None:
        self._root = str(work_tree)
        self._git_dir = find_git_dir(self._root)
        self._known: OrderedDict[str, tuple[object, CodeFile]] = OrderedDict()
        self._index: tuple[object, bytes] = (None, b"")

    def read(self, path: str) -> CodeFile | str:
        if not path or os.path.isabs(path) or ".." in path.split("/") or "\0" in path:
            return "lies outside of the project"
        stamp = stamp_file(os.path.join(self._root, path))
        known = self._known.get(path)
        if known is None or stamp is None or known[0] != stamp:
            file = self._load(path)
            if isinstance(file, str):
                return file
            self._known[path] = known = stamp, file
            if len(self._known) > _KNOWN_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end(path)
        return known[1]

    def _load(self, path: str) -> CodeFile | str:
        try:
            data = read_file(os.path.join(self._root, path), _FILE_BYTES_MAX, self._root)
        except FileNotFoundError:
            return "is not there"
        except UnsafeFileError as error:
            return f"cannot be cited: {error.why}"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if b"\0" in data[:_BINARY_BYTES]:
            return "is no text"
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324  # git's own
        return CodeFile(path, blob, data.decode(errors="replace"))

    def find_blob(self, blob: str) -> str:
        path = os.path.join(self._git_dir, "index")
        stamp = stamp_file(path) if self._git_dir else None
        if stamp is None:
            return ""
        if self._index[0] != stamp:
            self._index = stamp, read_index(path, self._git_dir)
        return _find_name(self._index[1], bytes.fromhex(blob))


_HASH_BYTES: Final = 20
_EXTENDED: Final = 0x4000


def _find_name(index: bytes, blob: bytes) -> str:
    """The name of a file of that content in git's index; '' in one that is compressed."""
    if int.from_bytes(index[4:8]) not in (2, 3):
        return ""
    at = index.find(blob)
    if at < 0:
        return ""
    flags = int.from_bytes(index[at + _HASH_BYTES : at + _HASH_BYTES + 2])
    start = at + _HASH_BYTES + (4 if flags & _EXTENDED else 2)
    return index[start : index.find(b"\0", start)].decode(errors="replace")
