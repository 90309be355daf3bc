"""Reads the files of a work tree that memories cite, by one safe open, once for each change."""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Final

from memory_mcp.domain.code_files import CodeFile
from memory_mcp.errors import GitSilentError
from memory_mcp.frozen import frozen
from memory_mcp.locations import find_git_dir
from memory_mcp.ports.code import SIMILAR_MAX
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.git_index import read_index
from memory_mcp.storage.files.host import stamp_file

_FILE_BYTES_MAX: Final = 4_194_304
"""A source file that is larger was made by a program."""
_KNOWN_MAX: Final = 500
_LISTED_MAX: Final = 1_000
"""Files of one folder that are looked at."""
_PATH_BYTES_MAX: Final = 1_000
_RENAMES_MAX: Final = 200
"""Commits for which git is asked what was renamed since."""
_BINARY_BYTES: Final = 8_000
"""How far git itself looks for a NUL."""


@frozen
class _Renames:
    """What git is asked of a commit, for an index with this stamp; `before` counts until then."""

    stamp: object
    asked: Future[Mapping[str, str]]
    before: Mapping[str, str]

    def get(self, *, wait: bool) -> Mapping[str, str]:
        return self.asked.result() if wait or self.asked.done() else self.before


class LocalCode:
    """Implements `ports.CodeFiles` over a work tree."""

    def __init__(
        self, work_tree: Path, find_renames: Callable[[str], Mapping[str, str]] | None = None
    ) -> None:
        self._root = str(work_tree)
        self._git_dir = find_git_dir(self._root)
        self._known: OrderedDict[str, tuple[object, CodeFile]] = OrderedDict()
        self._index: tuple[object, bytes] = (None, b"")
        self._find_renames = find_renames
        self._renames: OrderedDict[str, _Renames] = OrderedDict()

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

    def list_similar(self, path: str) -> Sequence[str]:
        folder, _, name = path.rpartition("/")
        ending = os.path.splitext(name)[1]
        here = self._list_folder(folder) if ".." not in path.split("/") else []
        beside = [each for each in here if each.endswith(ending)]
        named = _find_named(self._load_index(), name)
        found = dict.fromkeys([*named[:SIMILAR_MAX], *beside])
        return [each for each in found if each != path][:SIMILAR_MAX]

    def _list_folder(self, folder: str) -> list[str]:
        """The files of a folder, the latest that was changed first."""
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                files = [
                    (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
                    for entry in islice(entries, _LISTED_MAX)
                    if entry.is_file(follow_symlinks=False)
                ]
        except OSError:
            return []
        return [f"{folder}/{name}" if folder else name for _, name in sorted(files, reverse=True)]

    def find_renamed(self, path: str, commit: str, *, wait: bool = False) -> str:
        find = self._find_renames
        if not commit or not self._git_dir or find is None:
            return ""
        stamp = stamp_file(os.path.join(self._git_dir, "index"))
        known = self._renames.get(commit)
        if known is None or known.stamp != stamp:
            before = known.get(wait=False) if known else dict[str, str]()
            self._renames[commit] = known = _Renames(stamp, Future(), before)
            if len(self._renames) > _RENAMES_MAX:
                self._renames.popitem(last=False)
            Thread(target=_answer, args=(known.asked, find, commit), daemon=True).start()
        return known.get(wait=wait).get(path, "")

    def find_blob(self, blob: str) -> str:
        return _find_name(self._load_index(), bytes.fromhex(blob))

    def _load_index(self) -> bytes:
        """The bytes of git's index, each name in full; none if there is none."""
        path = os.path.join(self._git_dir, "index")
        stamp = stamp_file(path) if self._git_dir else None
        if stamp is None:
            return b""
        if self._index[0] != stamp:
            self._index = stamp, read_index(path, self._git_dir)
        return self._index[1]


def _answer(
    asked: "Future[Mapping[str, str]]", find: Callable[[str], Mapping[str, str]], commit: str
) -> None:
    try:
        asked.set_result(find(commit))
    except GitSilentError:  # what git cannot say was not renamed
        asked.set_result({})


_HASH_BYTES: Final = 20
_EXTENDED: Final = 0x4000
_NAME_LENGTH: Final = 0xFFF


def _find_name(index: bytes, blob: bytes) -> str:
    """The name of a file of that content in git's index."""
    at = index.find(blob)
    if at < 0:
        return ""
    flags = int.from_bytes(index[at + _HASH_BYTES : at + _HASH_BYTES + 2])
    start = at + _HASH_BYTES + (4 if flags & _EXTENDED else 2)
    return index[start : index.find(b"\0", start)].decode(errors="replace")


def _find_named(index: bytes, name: str) -> list[str]:
    """The paths in git's index that end in this name; each stands behind its own length."""
    wanted = name.encode(errors="surrogateescape") + b"\0"
    found: list[str] = []
    at = index.find(wanted)
    while at >= 0:
        end = at + len(wanted) - 1
        for start in range(at, max(0, at - _PATH_BYTES_MAX), -1):
            flags = index[start - 2 : start], index[start - 4 : start - 2]
            lengths = {int.from_bytes(each) & _NAME_LENGTH for each in flags}
            if end - start in lengths and (start == at or index[at - 1 : at] == b"/"):
                path = index[start:end].decode(errors="replace")
                if path.isprintable():
                    found.append(path)
                    break
        at = index.find(wanted, end)
    return found
