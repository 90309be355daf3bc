"""Read and replace a client's configuration file.

It is somebody else's file: its bytes are kept beside it before the first change, its rights are
kept, and what another program wrote since it was read is never overwritten.
"""

import re
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from stat import S_IMODE, S_ISREG, S_IWUSR
from typing import Final

from memory_mcp.disk import Access, Disk
from memory_mcp.errors import ConflictError, InvalidRequestError, StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.safe_files import UnsafeFileError, read_file, refuse_links

_COPY: Final = ".memory-mcp"
"""<name>.memory-mcp.bak; where that holds something else already, <name>.memory-mcp.2.bak, …"""
FOLDERS: Final = (
    ".claude", ".cursor", ".vscode", ".codex", ".gemini", ".zed", ".codeium",
    "Claude", "User", "Code", "windsurf", "zed", "Zed", "opencode",
)  # fmt: skip
"""Made for the file, where they were not there; an empty one is of no use to anybody."""
_BYTES_MAX: Final = 64 * 1024 * 1024
"""Claude Code keeps its history in the same file; this is a hundred times what is usual."""
_LOCK_SECONDS: Final = 10.0
"""A lock that nobody renewed for so long counts as left behind, as with Claude Code."""
_LOCK_PAUSE_SECONDS: Final = 0.05


@frozen
class ClientFile:
    """What a file held when it was read; no data: it is not there."""

    path: Path
    data: bytes | None
    access: Access
    copies: tuple[Path, ...]
    """What earlier installs kept, the newest first."""
    root: str = ""
    """From here down no link is followed; empty where the file is the user's own."""

    @property
    def text(self) -> str | None:
        return None if self.data is None else _decode(self.path, self.data)

    def older_texts(self) -> tuple[str, ...]:
        """The texts of the copies that can be read."""
        texts: list[str] = []
        for copy in self.copies:
            with suppress(OSError, UnicodeDecodeError):
                texts.append(read_file(str(copy), _BYTES_MAX, self.root).decode())
        return tuple(texts)

    def replace(self, text: str | None, *, locked: bool, keep: bool = False) -> Path | None:
        """Make the file hold this text, or not exist; `locked`: under the lock of Claude Code.

        With `keep` the old bytes are kept beside it first. Returns the path of that copy.

        Raises:
            ConflictError: somebody else changed it since it was read.
            StoreUnavailableError: the file system refused; the file is unchanged.
        """
        with _hold_lock(self.path, wanted=locked):
            if self._read(self.path) != self.data:
                raise ConflictError(
                    f"{self.path} was changed by another program just now, and is left as it is. "
                    "Run this again."
                )
            copy = self._keep_copy() if keep else None
            if text is not None:
                self._write(self.path, text.encode())
                return copy
            self._remove(self.path)
            with suppress(OSError):  # others keep something there
                for folder in takewhile(lambda each: each.name in FOLDERS, self.path.parents):
                    folder.rmdir()
            return copy

    def _keep_copy(self) -> Path | None:
        """Keep what was read, unless a copy of it exists; returns the copy."""
        if self.data is None:
            return None
        for copy in self.copies:
            if self._read(copy) == self.data:
                return copy
        number = max((_copy_number(copy) for copy in self.copies), default=0) + 1
        copy = _copy_path(self.path, number)
        self._write(copy, self.data)
        for between in self.copies[:-1]:  # the first and the newest are those that are looked for
            with suppress(StoreUnavailableError):
                self._disk.remove(between)
        return copy

    def drop_copies(self) -> Path | None:
        """Remove the copies that equal the file again; returns the newest that is left."""
        now = self._read(self.path)
        for copy in [copy for copy in self.copies if self._read(copy) == now]:
            self._remove(copy)
        return next((copy for copy in self.copies if copy.exists()), None)

    @property
    def _disk(self) -> Disk:
        disk = Disk()
        disk.roots = (Path(self.root),) if self.root else ()
        return disk

    def _read(self, path: Path) -> bytes | None:
        return _read_bytes(path, self.root)

    def _write(self, path: Path, data: bytes) -> None:
        with _explain_failure(path):
            self._disk.write(path, data, self.access)

    def _remove(self, path: Path) -> None:
        with _explain_failure(path):
            self._disk.remove(path)


def open_client_file(path: Path, *, private: bool, root: str = "") -> ClientFile:
    """Read a configuration; `private` says how it is made, if it is not there.

    One below `root`, a project's folder, is reached without a link: others may have put it there.
    One of the user's own is read through its links.

    Raises:
        InvalidRequestError: there is a link, something that is no file, or too large a one.
        StoreUnavailableError: it cannot be read, or may not be written.
    """
    try:
        refuse_links(root, str(path))
        path = path if root else path.resolve()
        status = path.stat()
    except FileNotFoundError:
        return ClientFile(path, None, Access(0o600 if private else 0o644), _list_copies(path), root)
    except UnsafeFileError as error:
        raise InvalidRequestError(
            f"{path} is left as it is: {error.explain(str(path))}. Put a real folder or file in "
            "its place, or take another --scope, and run this again."
        ) from error
    except (OSError, RuntimeError) as error:
        raise _read_error(path, error) from error
    if not S_ISREG(status.st_mode):
        raise InvalidRequestError(f"{path} is no file. Move it away, and run this again.")
    if status.st_size > _BYTES_MAX:
        raise InvalidRequestError(f"{path} has {status.st_size:,} bytes: that is no configuration.")
    if not status.st_mode & S_IWUSR:
        raise StoreUnavailableError(
            f"{path} is write-protected, and is left as it is. Make it writable, and run this "
            "again."
        )
    access = Access(S_IMODE(status.st_mode), status.st_uid, status.st_gid)
    return ClientFile(path, _read_bytes(path, root), access, _list_copies(path), root)


def _decode(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"{path} is no UTF-8 (byte {error.start}), and is left as it is. Save it as UTF-8, and "
            "run this again."
        ) from error


def _read_bytes(path: Path, root: str) -> bytes | None:
    try:
        return read_file(str(path), _BYTES_MAX, root)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _read_error(path, error) from error


def _read_error(path: Path, error: Exception) -> StoreUnavailableError:
    why = error.strerror if isinstance(error, OSError) else "its links lead nowhere"
    return StoreUnavailableError(f"Cannot read {path}: {why}. Mend that, and run this again.")


def _copy_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}{_COPY}{f'.{number}' if number > 1 else ''}.bak")


def _copy_number(copy: Path) -> int:
    found = re.search(r"\.memory-mcp\.(\d+)\.bak$", copy.name)
    return int(found.group(1)) if found else 1


def _list_copies(path: Path) -> tuple[Path, ...]:
    shape = re.compile(rf"{re.escape(path.name + _COPY)}(?:\.\d{{1,6}})?\.bak")
    try:
        found = [each for each in path.parent.iterdir() if shape.fullmatch(each.name)]
    except OSError:
        return ()
    return tuple(sorted(found, key=_copy_number, reverse=True))


@contextmanager
def _explain_failure(path: Path) -> Generator[None]:
    """Say what could not be written in words that fit somebody else's file."""
    try:
        yield
    except StoreUnavailableError as error:
        cause = error.__cause__
        why = cause.strerror if isinstance(cause, OSError) else str(error)
        raise StoreUnavailableError(
            f"Cannot write {path}: {why}. It is left as it was; mend that, and run this again."
        ) from error


@contextmanager
def _hold_lock(path: Path, *, wanted: bool) -> Generator[None]:
    """Hold the lock folder by which sessions of Claude Code keep out of each other's way."""
    lock = path.with_name(f"{path.name}.lock")
    held = wanted and path.parent.is_dir() and _take_lock(lock)
    try:
        yield
    finally:
        if held:
            with suppress(OSError):
                lock.rmdir()


def _take_lock(lock: Path) -> bool:
    """Wait for the lock; False where no folder can be made: then the write fails and says so."""
    until = time.monotonic() + 2 * _LOCK_SECONDS
    while True:
        try:
            lock.mkdir()
        except FileExistsError:
            with suppress(OSError):
                if time.time() - lock.stat().st_mtime > _LOCK_SECONDS:
                    lock.rmdir()
            if time.monotonic() > until:
                raise StoreUnavailableError(
                    f"Claude Code holds {lock}. Nothing was changed; run this again."
                ) from None
            time.sleep(_LOCK_PAUSE_SECONDS)
        except OSError:
            return False
        else:
            return True
