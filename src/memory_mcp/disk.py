"""The one place that writes files.

A file appears whole or not at all: temporary name in the same folder, write, fsync, rename, fsync
of the folder (where the platform can). Each of these is a named step, at which tests cut the power.
No other module opens a file for writing.
"""

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


from memory_mcp.domain.limits import TEMPORARY_FILE_SECONDS_MAX
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.safe_files import UnsafeFileError, refuse_links, replace_file, sync_folder

if TYPE_CHECKING:
    from filelock import FileLock

LITTER: Final = ".tmp"
"""Suffix of temporary files. One that a cut left over is litter, never a record."""

_TRIAL_BYTES: Final = 65_536
"""As much as an index grows by at once: what is left of a full disk may hold less."""

ANY_SETTING: Final = "MEMORY_HOME, MEMORY_DIR or MEMORY_STATE_DIR, whichever leads there,"
"""What an error names where the setting that moves a path is unknown."""

Verb = Literal["store", "make", "read", "erase"]

_OWN_FILE: Final = 0o600
_WINDOWS: Final = sys.platform == "win32"


class Access(NamedTuple):
    """The owner of a file, and who may read and write it."""

    mode: int
    owner: int | None = None
    group: int | None = None


class LockHeldError(Exception):
    """Another process has held a lock for as long as was waited."""


def acquire_lock(path: Path, seconds_max: float) -> "FileLock":
    """A lock between processes, held until it is released, by whatever thread.

    Raises:
        LockHeldError: another process held it all the time.
        OSError: the file system refused.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  # 10 ms that a mere read need not pay

    lock = FileLock(path, timeout=seconds_max, thread_local=False, mode=_OWN_FILE)
    try:
        lock.acquire()
    except Timeout as error:
        raise LockHeldError from error
    return lock


@contextmanager
def hold_lock(path: Path, seconds_max: float) -> Generator[None]:
    """Hold a lock between processes within the block; raises as `acquire_lock` does."""
    lock = acquire_lock(path, seconds_max)
    try:
        yield
    finally:
        lock.release()


class Disk:
    """Writes durably. Tests override `step`.

    Below each of its `roots`, folders that may hold a stranger's files, it follows no link. It does
    not make a root again that was renamed or removed while this process ran. What the file system
    refuses raises `StoreUnavailableError`; a file that could not be written is what it was.
    """

    roots: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()
    """Folders that only this user may enter: 0700, as all below them, with files of 0600."""
    settings: tuple[tuple[Path, str], ...] = ()
    """Folders, each with the setting that moves it. Errors name that of the innermost folder."""

    def step(self, name: str) -> None:
        """Called before each step, any of which a power cut could make the last."""

    def write(self, path: Path, data: bytes, access: Access | None = None) -> None:
        """Write `data` to `path`, durably."""
        with self.writing(path, access) as put:
            put(data)

    @contextmanager
    def writing(
        self, path: Path, access: Access | None = None
    ) -> Generator[Callable[[bytes], None]]:
        """Write to `path`, durably, what is put within the block; an error leaves it as it was."""
        temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}{LITTER}")
        try:
            self._refuse_links(path)
            self.folder(path.parent)
            with self._temporary(temporary, access) as put:
                yield put
            self.step("rename")
            replace_file(str(temporary), str(path))
            self._sync_folder(path.parent)
        except OSError as error:
            self._discard(temporary)
            raise self.unavailable(error, path, "store") from error
        except BaseException:
            self._discard(temporary)
            raise

    def try_folder(self, folder: Path) -> None:
        """Write a small file where the folder is, or would be made, and remove it again.

        Behind a link nothing is tried: whoever reads there refuses it, too, and says so.

        Raises:
            StoreUnavailableError: the file system refused what any write to the folder needs.
        """
        there = folder
        while not (os.path.lexists(there) or there.parent == there or there in self.roots):
            there = there.parent
        trial = there / f".try.{os.urandom(4).hex()}{LITTER}"
        try:
            self._refuse_links(folder)
            with self._temporary(trial, None) as put:
                put(bytes(_TRIAL_BYTES))
        except UnsafeFileError:
            return
        except OSError as error:
            raise self.unavailable(error, folder, "store") from error
        finally:
            self._discard(trial)

    def append(self, path: Path, line: bytes) -> None:
        """Add one line to a log, durably. If the last line is torn, a newline ends it first."""
        try:
            self._refuse_links(path)
            self.folder(path.parent)
            self.step("open log")
            descriptor = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _PLAIN, self._mode(path)
            )
            try:
                _refuse_shared(descriptor, path)
                size = os.lseek(descriptor, 0, os.SEEK_END)
                torn = size > 0 and not _ends_with_newline(descriptor, size)
                self.step("append")
                os.write(descriptor, (b"\n" if torn else b"") + line + b"\n")
                self.step("fsync log")
                _sync(descriptor)
            finally:
                os.close(descriptor)
            if size == 0:  # a file whose name is lost is lost
                self._sync_folder(path.parent)
        except OSError as error:
            raise self.unavailable(error, path, "store") from error

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there, durably."""
        self.remove_all([path], path.parent)

    def remove_all(self, paths: Collection[Path], folder: Path) -> None:
        """Remove files of one folder, durably, with one fsync for all."""
        path = next(iter(paths), folder)
        try:
            self._refuse_links(folder)
            for path in paths:
                self.step("unlink")
                path.unlink(missing_ok=True)
            if paths and folder.is_dir():
                self._sync_folder(folder)
        except OSError as error:
            raise self.unavailable(error, path, "erase") from error

    def remove_litter(self, litter: Path) -> None:
        """Remove a temporary file, unless it may belong to a write that is under way."""
        try:
            young = time.time() - litter.stat().st_mtime < TEMPORARY_FILE_SECONDS_MAX
        except FileNotFoundError:  # the write was under way, and is done now
            return
        except OSError as error:
            raise self.unavailable(error, litter, "erase") from error
        if not young:
            self.remove(litter)

    def folder(self, path: Path) -> None:
        """Make the folder and its parents, durably; `OSError` says why not."""
        if path.is_dir():
            return
        if path.parent == path or path in self.roots:  # a drive, or a project that is gone
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        self.folder(path.parent)
        self.step("mkdir")
        try:
            path.mkdir(exist_ok=True, mode=0o700 if self._is_private(path) else 0o777)
        except FileNotFoundError as error:  # of a parent that is there: /proc, for one, takes none
            if not path.parent.is_dir():
                raise
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path)) from error
        self._sync_folder(path.parent)

    def prepare(self, path: Path) -> None:
        """Make the folder as `folder` does, for a library that writes there itself."""
        try:
            self.folder(path)
        except OSError as error:
            raise self.unavailable(error, path, "make") from error

    @contextmanager
    def try_lock(self, path: Path) -> Generator[bool]:
        """Hold a lock within the block, and yield whether it was free. Its folder is made."""
        try:
            self.folder(path.parent)
            lock = acquire_lock(path, 0)
        except LockHeldError:
            yield False
            return
        except OSError as error:
            raise self.unavailable(error, path, "store") from error
        try:
            yield True
        finally:
            lock.release()

    def acquire_lock(self, path: Path, seconds_max: float, otherwise: str) -> "FileLock":
        """A lock between processes. Its folder is made.

        Raises:
            StoreUnavailableError: another process held it all the time, which is said before what
                is `otherwise` to be said.
        """
        try:
            self.folder(path.parent)
            return acquire_lock(path, seconds_max)
        except LockHeldError as error:
            raise StoreUnavailableError(
                f"{path} has been held for {seconds_max:g} s by another process{otherwise}"
            ) from error
        except OSError as error:
            raise self.unavailable(error, path, "store") from error

    @contextmanager
    def hold_lock(self, path: Path, seconds_max: float, otherwise: str) -> Generator[None]:
        """Hold a lock between processes within the block; raises as `acquire_lock` does."""
        lock = self.acquire_lock(path, seconds_max, otherwise)
        try:
            yield
        except OSError as error:
            raise self.unavailable(error, path, "store") from error
        finally:
            lock.release()

    def _is_private(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.private)

    def _mode(self, path: Path) -> int:
        return _OWN_FILE if self._is_private(path) else 0o644

    def setting_of(self, path: Path) -> str:
        """The setting that moves this path."""
        found = [(len(f.parts), name) for f, name in self.settings if path.is_relative_to(f)]
        return max(found)[1] if found else ANY_SETTING

    def unavailable(self, error: OSError, path: Path, verb: Verb) -> StoreUnavailableError:
        """The error that says what the file system refused, why, and what to do."""
        return unavailable(error, path, verb, self.setting_of(path))

    @contextmanager
    def _temporary(self, path: Path, access: Access | None) -> Generator[Callable[[bytes], None]]:
        self.step("create")
        mode = _OWN_FILE if access else self._mode(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)

        def put(data: bytes) -> None:
            self.step("write")
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]

        try:
            if access and not _WINDOWS:  # there a file inherits the rights of its folder
                _set_access(descriptor, access)
            yield put
            self.step("fsync")
            _sync(descriptor)
        finally:
            os.close(descriptor)

    def _refuse_links(self, path: Path) -> None:
        for root in self.roots:
            refuse_links(str(root), str(path))

    def _discard(self, temporary: Path) -> None:
        with suppress(OSError):  # the disk that refused the write may refuse this too
            self.step("discard")
            temporary.unlink()

    def _sync_folder(self, path: Path) -> None:
        self.step("fsync folder")
        sync_folder(str(path))


_BINARY: Final[int] = getattr(os, "O_BINARY", 0)
_PLAIN: Final[int] = _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
"""Set on macOS, where fsync leaves the bytes in the drive's own cache."""


def _sync(descriptor: int) -> None:
    """Bring what was written to the file onto the medium."""
    if fcntl is not None and _FULL_SYNC is not None:
        try:
            fcntl.fcntl(descriptor, _FULL_SYNC)
        except OSError as error:  # some network drives do not know it
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
        else:
            return
    os.fsync(descriptor)


def _refuse_shared(descriptor: int, path: Path) -> None:
    """Require a regular file without a second name: it is written in place."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFileError(str(path), "it is no regular file")
    if found.st_nlink > 1:
        raise UnsafeFileError(str(path), "the same file has another name elsewhere (a hard link)")


def _set_access(descriptor: int, access: Access) -> None:
    made = os.fstat(descriptor)
    owner = made.st_uid if access.owner is None else access.owner
    group = made.st_gid if access.group is None else access.group
    if (owner, group) != (made.st_uid, made.st_gid):
        os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, access.mode)


def _ends_with_newline(descriptor: int, size: int) -> bool:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


_RIGHTS: Final = "Make the folder writable, or set {setting} to one that is"
_IN_THE_WAY: Final = (
    "a file stands where a folder must be",
    "Move that file away if no other program needs it, or set {setting} to a folder",
)
_GONE: Final = ("the disk is no longer there", "Mount it again")
_REFUSALS: Final[dict[int, tuple[str, str]]] = {
    errno.ENOSPC: ("the disk is full", "Free some space and try again"),
    errno.EDQUOT: ("the user's quota on that disk is used up", "Free some space and try again"),
    errno.EFBIG: (
        "the file would be larger than this process or that disk allows",
        "Raise the limit (ulimit -f), or use a disk that takes larger files",
    ),
    errno.EMFILE: (
        "this process has too many files open",
        "Close other sessions, or raise the limit (ulimit -n)",
    ),
    errno.ENFILE: ("the system has too many files open", "Close other programs and try again"),
    errno.EIO: ("the disk reports an error", "Check the disk and its cable or network"),
    errno.ENODEV: _GONE,
    errno.ENXIO: _GONE,
    errno.ESTALE: _GONE,
    errno.ETXTBSY: ("a program is running from that file", "End that program and try again"),
    errno.ELOOP: ("a link stands in its path", "Put the real folder or file in its place"),
    errno.EACCES: ("it may not be written", _RIGHTS),
    errno.EPERM: ("it may not be written", _RIGHTS),
    errno.EROFS: ("it may not be written", _RIGHTS),
    errno.EISDIR: ("a folder stands where a file must be", "Move that folder away"),
    errno.ENAMETOOLONG: (
        "the path is too long",
        "Set {setting} to a shorter one",
    ),
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
}
"""Why the file system refuses, and what helps, by error number."""


def unavailable(
    error: OSError, path: Path, verb: Verb, setting: str = ANY_SETTING
) -> StoreUnavailableError:
    """The error that says what the file system refused, why, and what to do."""
    if isinstance(error, UnsafeFileError):
        return StoreUnavailableError(
            f"Cannot {verb} {path}: {error.explain(str(path))}.",
            f"Move it away, or set {setting} to the folder that is meant; it is left as it is.",
        )
    unknown = (error.strerror or str(error), "Mend that and try again")
    why, remedy = _REFUSALS.get(error.errno or 0, unknown)
    if error.errno == errno.ENOENT and verb in ("store", "make"):
        why, remedy = (
            "its project was renamed or removed, or is not mounted",
            "Bring it back, or start again where it is now",
        )
    if remedy is _RIGHTS and verb == "read":
        why = "it may not be touched"
    consequence: dict[Verb, str] = {
        "store": "nothing was changed",
        "make": "nothing is lost",
        "read": "nothing is lost",
        "erase": "what is left is erased at the next start, and is not recalled meanwhile",
    }
    return StoreUnavailableError(
        f"Cannot {verb} {path}: {why}.",
        f"{remedy.format(setting=setting)}; {consequence[verb]}.",
    )


def list_visible_names(folder: Path) -> list[str]:
    """The names in a folder below MEMORY_HOME that begin with no dot, sorted; none without it.

    Raises:
        StoreUnavailableError: the file system refused.
    """
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unavailable(error, folder, "read", "MEMORY_HOME") from error
    return sorted(name for name in names if not name.startswith("."))
