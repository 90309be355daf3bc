"""Disks that lose power, that forget what was not synced, and that are full.

`FailingDisk` proves the order of the steps; it keeps everything that was written. `Remembered`
proves the fsyncs: it watches the real `os.fsync` and, after a cut, puts a folder back to what a
disk is bound to hold, by the letter of POSIX. A file has the content of its last fsync (none: it is
empty), a folder the entries of its last fsync.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from memory_mcp.disk import Disk

__all__ = ["FailingDisk", "FullDisk", "PowerCut", "ReadOnlyDisk", "Remembered"]

Fsync = Callable[[int], None]


class PowerCut(BaseException):
    """Not an Exception, so that no handler in the product can survive it."""


class FailingDisk(Disk):
    """Loses power at the given step, and stays without."""

    def __init__(self, cut_at: int) -> None:
        self._left = cut_at

    def step(self, name: str) -> None:
        if self._left == 0:
            raise PowerCut(name)
        self._left -= 1


class FullDisk(Disk):
    """Has no room for a single byte more from the given write on; it can still rename and erase."""

    def __init__(self, full_after: int = 0) -> None:
        self.left = full_after

    def step(self, name: str) -> None:
        if name not in ("write", "append"):
            return
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1


class ReadOnlyDisk(Disk):
    """Can be read, like a folder that was mounted so; root is refused as well."""

    def step(self, name: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)


class Remembered:
    """What is sure to be left of a folder tree after a power cut.

    All that is there at first counts as synced. Inodes are held open, so that none is used again
    for another file. SQLite's own files are left as they are: it syncs them itself, and losing the
    whole index is another test.
    """

    def __init__(self, root: Path) -> None:
        self.root: Final = root
        self._content: dict[int, bytes] = {}
        self._entries: dict[int, dict[str, int]] = {}
        self._held: list[int] = []

    def __enter__(self) -> Self:
        for folder in _folders(self.root):
            self._note_folder(folder)
            for path in folder.iterdir():
                if path.is_file():
                    self._content[path.stat().st_ino] = path.read_bytes()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for descriptor in self._held:
            os.close(descriptor)

    def watching(self, fsync: Fsync) -> Fsync:
        """The same fsync, taken note of."""

        def noted(descriptor: int) -> None:
            fsync(descriptor)
            found = os.fstat(descriptor)
            path = self._path_of(found.st_ino)
            if stat.S_ISDIR(found.st_mode):
                self._note_folder(path)
            else:
                self._hold(path)
                self._content[found.st_ino] = path.read_bytes()

        return noted

    def forget_the_rest(self) -> None:
        """Put the tree back to what was synced."""
        self._restore(self.root, self.root.stat().st_ino)

    def _note_folder(self, folder: Path) -> None:
        self._hold(folder)
        entries: dict[str, int] = {}
        for path in folder.iterdir():
            if not _of_sqlite(path):
                self._hold(path)
                entries[path.name] = path.stat().st_ino
                if path.is_dir():
                    self._entries.setdefault(path.stat().st_ino, {})
        self._entries[folder.stat().st_ino] = entries

    def _restore(self, folder: Path, inode: int) -> None:
        wanted = self._entries[inode]
        for path in list(folder.iterdir()):
            if path.name in wanted or _of_sqlite(path):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        for name, child in wanted.items():
            path = folder / name
            if child in self._entries:
                path.mkdir(exist_ok=True)
                self._restore(path, child)
            else:
                path.write_bytes(self._content.get(child, b""))

    def _path_of(self, inode: int) -> Path:
        every = (path for folder in _folders(self.root) for path in (folder, *folder.iterdir()))
        return next(path for path in every if path.stat().st_ino == inode)

    def _hold(self, path: Path) -> None:
        self._held.append(os.open(path, os.O_RDONLY))


def _folders(root: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(root):
        yield Path(folder)


def _of_sqlite(path: Path) -> bool:
    return path.name.startswith(("index.sqlite3", "strangers.sqlite3")) or path.suffix == ".lock"
