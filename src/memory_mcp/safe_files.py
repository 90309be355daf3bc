"""How files are opened below a folder that may come from somebody else.

A repository can bring a link in place of any file or folder, a pipe that never answers, or a file
without an end. So a file below a `root` is read only if nothing on the way to it is a link, it is a
regular file, and it is no larger than its limit. It is written only if no folder on the way is a
link. What does not pass is left as it is: never followed, never deleted.

And how a file that was written takes its place, for `disk.Disk` and the files of hooks.

Standard library only, and none of its slower parts: hooks use it too.
"""

import errno
import os
import stat
import sys
import time
from typing import Final

_REPARSE_POINT: Final = 0x400  # stat.FILE_ATTRIBUTE_REPARSE_POINT, a junction among others
_NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)  # 0: a link is looked for before
_OPEN_FLAGS: Final[int] = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | _NO_FOLLOW
    | getattr(os, "O_NONBLOCK", 0)  # a pipe would keep us waiting for whoever writes to it
)
_READ_AT_ONCE: Final = 1_048_576
_UNPLAIN: Final = frozenset({"", os.curdir, os.pardir})
_WINDOWS: Final = sys.platform == "win32"
_REPLACE_TRIES: Final = 20
_REPLACE_PAUSE_SECONDS: Final = 0.02
_NAMES_MAX: Final = 500_000
"""More names than a busy project leaves in one folder in ten years."""


class UnsafeFileError(OSError):
    """What stands at a path is not opened: a link, no regular file, or too large."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(errno.ELOOP, why, path)
        self.why = why

    def explain(self, asked: str) -> str:
        """Why `asked` is not opened: it is named again only if something on the way is to blame."""
        return self.why if self.filename == asked else f"{self.filename}: {self.why}"


def refuse_links(root: str, path: str) -> None:
    """Require that nothing from `root` (which itself may be a link) down to `path` is a link.

    What does not exist yet passes. A path outside of the root passes too: the user chose it.

    Raises:
        UnsafeFileError: something on the way is a link.
        OSError: the file system does not let us look.
    """
    at = root
    for name in _list_names_below(root, path):
        at = os.path.join(at, name)
        try:
            found = os.lstat(at)
        except (FileNotFoundError, NotADirectoryError):  # opening it will say which
            return
        if _is_link(found):
            raise UnsafeFileError(at, "it is a link, which is not followed")


def _list_names_below(root: str, path: str) -> list[str]:
    """The names on the way from `root` to a path below it; none for a path that is not below it."""
    if path == root:
        return []
    if root and path.startswith(f"{root}{os.sep}"):
        names = path[len(root) + 1 :].split(os.sep)
        plain = os.altsep is None or os.altsep not in path
        if plain and _UNPLAIN.isdisjoint(names):  # nearly always, at a fifth of the time
            return names
    inner = os.path.relpath(path, root) if root else os.pardir
    names = inner.split(os.sep)
    return [] if inner == os.curdir or names[0] == os.pardir else names


def read_file(path: str, bytes_max: int, root: str = "") -> bytes:
    """Read a regular file of at most that size, reached from `root` without a link.

    Raises:
        FileNotFoundError: there is none.
        UnsafeFileError: what stands there is not to be opened.
        OSError: the file system refused.
    """
    descriptor = _open(path, root)
    try:
        expected = _measure_regular(descriptor, path)
        parts: list[bytes] = []  # mostly one: a large file is not to be in memory twice
        size, at_once = 0, expected + 1
        while size <= bytes_max and expected <= bytes_max:
            more = os.read(descriptor, at_once)
            parts.append(more)
            size, at_once = size + len(more), _READ_AT_ONCE
            if not more or size == expected:
                return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(descriptor)
    raise UnsafeFileError(path, f"it has more than {bytes_max:,} bytes")


def read_start(path: str, bytes_max: int, root: str = "") -> bytes:
    """Read the first bytes of a regular file of any size, reached from `root` without a link.

    Raises:
        FileNotFoundError: there is none.
        UnsafeFileError: what stands there is not to be opened.
        OSError: the file system refused.
    """
    descriptor = _open(path, root)
    try:
        _measure_regular(descriptor, path)
        return os.read(descriptor, bytes_max)
    finally:
        os.close(descriptor)


def list_names(folder: str, root: str = "") -> list[os.DirEntry[str]]:
    """List a folder that is reached from `root` without a link, in no promised order.

    Raises:
        FileNotFoundError: there is no such folder.
        UnsafeFileError: it, or something on the way to it, is a link.
        OSError: the file system refused.
    """
    refuse_links(root, folder)
    found: list[os.DirEntry[str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            found.append(entry)
            if len(found) > _NAMES_MAX:
                raise UnsafeFileError(folder, f"it holds more than {_NAMES_MAX:,} files")
    return found


def replace_file(source: str, target: str) -> None:
    """Replace the target; Windows refuses for a moment while another process reads it."""
    for left in reversed(range(_REPLACE_TRIES if _WINDOWS else 1)):
        try:
            os.replace(source, target)
        except PermissionError:
            if not left:
                raise
            time.sleep(_REPLACE_PAUSE_SECONDS)
        else:
            return


def sync_folder(path: str) -> None:
    """Bring the names in a folder onto the medium."""
    if _WINDOWS:  # a folder cannot be opened there; the journal orders the rename
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open(path: str, root: str) -> int:
    """Open a file, reached from `root` without a link; what it is, is yet to be seen."""
    refuse_links(root, os.path.dirname(path) if _NO_FOLLOW else path)
    try:
        return os.open(path, _OPEN_FLAGS if root else _OPEN_FLAGS & ~_NO_FOLLOW)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise UnsafeFileError(path, "it is a link, which is not followed") from error
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):  # a socket, or a device of nobody
            raise UnsafeFileError(path, "it is no regular file") from error
        raise


def _measure_regular(descriptor: int, path: str) -> int:
    """The size of an open file, which has to be a regular one."""
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise UnsafeFileError(path, "a folder stands where a file must be")
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFileError(path, "it is no regular file")
    return found.st_size


def _is_link(found: os.stat_result) -> bool:
    attributes: int = getattr(found, "st_file_attributes", 0)
    return stat.S_ISLNK(found.st_mode) or bool(attributes & _REPARSE_POINT)
