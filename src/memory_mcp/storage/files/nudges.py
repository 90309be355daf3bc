"""Nudges as files: one each, in a folder of the user's own that other programs may write to.

    <id>.json    as `memory-mcp nudge add` writes them
    *.json       an object with `text`, and optionally `priority`, `expires_at`, `by`
    *.txt        the text
    .lock        held while one is taken

A name that begins with a dot, or ends in anything else (`.tmp`, `.part`), is ignored: a program
that writes in several goes uses one, and renames. A file that is not plain, too large or no nudge
is left where it is and named by `waiting`. It cannot keep the others from being taken.

One lock makes sessions that take a nudge queue up. The best one is removed, durably, before
anything else: a cut after that leaves some of the others, never this one.
"""

import codecs
import json
import os
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_mcp.disk import (
    LITTER,
    Disk,
    list_visible_names,
)
from memory_mcp.domain import limits
from memory_mcp.domain.ids import is_record_id
from memory_mcp.domain.nudges import (
    Nudge,
    NudgeHandover,
    NudgeRemoval,
    WaitingNudges,
    derive_nudge_id,
    describe_unknown_keys,
    explain_invalid_nudge,
    parse_nudge,
    rank_nudges,
)
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.storage.threads import in_thread

NUDGES_FOLDER: Final = "nudges"
_SUFFIXES: Final = (".json", ".txt")
_PLAIN: Final[int] = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe of that name would keep us waiting
)

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_Stamp = tuple[int, int, int]


@frozen
class _NudgeFile:
    """A nudge in its file, and the file as it was when it was read."""

    path: Path
    nudge: Nudge
    stamp: _Stamp
    strange: str = ""

    @property
    def is_fresh(self) -> bool:
        """Whether another program may still be writing it; ours appear whole."""
        age = time.time() - self.stamp[0] / 1e9
        return not is_record_id(self.path.stem) and 0 <= age < limits.NUDGE_SETTLE_SECONDS


class LocalNudges:
    """Implements `ports.NudgeQueue` over a folder for each user."""

    def __init__(self, folder_of: Callable[[str], Path], disk: Disk) -> None:
        self._folder_of = folder_of
        self._disk = disk

    def place(self, user: str) -> str:
        return str(self._folder_of(user))

    @in_thread
    def add(self, nudge: Nudge) -> None:
        folder = self._folder_of(nudge.user)
        crowded = len(_list_names(folder)) >= limits.NUDGES_MAX
        if crowded and len(self._load(nudge.user)[0]) >= limits.NUDGES_MAX:
            raise InvalidRequestError(
                f"{limits.NUDGES_MAX:,} nudges are waiting already, and one is shown at a time. "
                "`memory-mcp nudge list` shows them, `memory-mcp nudge clear` removes them."
            )
        data = nudge.model_dump_json(exclude_none=True, exclude={"user"}, indent=1)
        self._disk.write(folder / f"{nudge.id}.json", data.encode() + b"\n")

    @in_thread
    def waiting(self, user: str, now: datetime) -> WaitingNudges:
        files, unread = self._load(user)
        return WaitingNudges(
            rank_nudges((each.nudge for each in files), now),
            tuple(f"{path} is no nudge: {why}." for path, why in unread.items()),
            tuple(f"{each.path} {each.strange}." for each in files if each.strange),
        )

    @in_thread
    def take(self, user: str, now: datetime, taking: NudgeHandover | None = None) -> Nudge | None:
        taking = taking or NudgeHandover()
        folder = self._folder_of(user)
        if not _list_names(folder):  # nearly always: no lock, no file
            return None
        with lock_nudges(folder, self._disk, limits.NUDGE_TAKE_SECONDS_MAX):
            files = _without_growing(self._load(user)[0])
            chosen = min(
                (each for each in files if each.nudge.holds(now)),
                key=lambda each: each.nudge.rank,
                default=None,
            )
            if not taking.removes():
                return None
            if chosen:
                self._disk.remove(chosen.path)
            rest = [each.path for each in files if each is not chosen]
            with suppress(StoreUnavailableError):  # what was never shown may go on waiting
                self._disk.remove_all(rest, folder)
                for litter in folder.glob(f".*.json.*{LITTER}"):
                    self._disk.remove_litter(litter)
        return chosen.nudge if chosen else None

    @in_thread
    def clear(self, user: str, *, everything: bool = False) -> NudgeRemoval:
        folder = self._folder_of(user)
        if not _list_names(folder):
            return NudgeRemoval(0)
        with lock_nudges(folder, self._disk, limits.NUDGE_TAKE_SECONDS_MAX):
            files, unread = self._load(user)
            gone = [each.path for each in files]
            if everything:  # a link goes, not what it leads to; a folder stays
                gone += [path for path in unread if path.is_symlink() or not path.is_dir()]
            self._disk.remove_all(gone, folder)
        return NudgeRemoval(len(gone), len(files) + len(unread) - len(gone))

    def _load(self, user: str) -> tuple[list[_NudgeFile], dict[Path, str]]:
        """The nudges in the order of their names, and why other files are none.

        Those do not count: however many there are, they keep no nudge from being seen.
        """
        folder = self._folder_of(user)
        files: list[_NudgeFile] = []
        unread: dict[Path, str] = {}
        for name in _list_names(folder)[: limits.NUDGE_FILES_MAX]:
            path = folder / name
            try:
                files.append(_read_nudge(path, user))
            except FileNotFoundError:  # taken since it was listed
                continue
            except OSError as error:
                unread[path] = f"it cannot be read ({error.strerror or error})"
            except (ValueError, RecursionError) as error:
                unread[path] = _explain(path, error)
            if len(files) >= limits.NUDGES_MAX:
                break
        return files, unread


def lock_nudges(folder: Path, disk: Disk, seconds_max: float) -> AbstractContextManager[None]:
    """Keep others from taking nudges; wait no longer than a session's start may.

    Raises:
        StoreUnavailableError: another process holds the lock, or the file system refused.
    """
    otherwise = ". End that process; the nudges wait for the next session."
    return disk.hold_lock(folder / ".lock", seconds_max, otherwise)


def _list_names(folder: Path) -> list[str]:
    """The names of possible nudges, sorted, so that every session sees one order."""
    return [name for name in list_visible_names(folder) if name.casefold().endswith(_SUFFIXES)]


def _without_growing(files: list[_NudgeFile]) -> list[_NudgeFile]:
    """Leave out files that grow while they are watched: a program writes them in several goes."""
    fresh = [each for each in files if each.is_fresh]
    if not fresh:
        return files
    time.sleep(limits.NUDGE_SETTLE_SECONDS)
    growing = {each.path for each in fresh if _stamp_of(each.path) != each.stamp}
    return [each for each in files if each.path not in growing]


class _NoNudgeError(ValueError):
    """A file that could be a nudge by its name, and is none."""


def _read_nudge(path: Path, user: str) -> _NudgeFile:
    """Read the nudge in a file, if it is a plain one and small."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise _NoNudgeError("it is no plain file")
    descriptor = os.open(path, _PLAIN)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _NoNudgeError("it is no plain file")
        if found.st_size > limits.NUDGE_BYTES_MAX:
            raise _NoNudgeError(
                f"it has {found.st_size:,} bytes; the limit is {limits.NUDGE_BYTES_MAX:,}"
            )
        data = os.read(descriptor, limits.NUDGE_BYTES_MAX)
    finally:
        os.close(descriptor)
    written = _time_of(found.st_mtime_ns)
    usual = {
        "id": derive_nudge_id(written, path.name),
        "created_at": written,
        "by": path.name[: limits.NUDGE_BY_CHARS_MAX],
    }
    fields = _parse_fields(path, data)
    nudge = parse_nudge({**fields, "user": user}, usual)
    return _NudgeFile(path, nudge, _stamp(found), describe_unknown_keys(fields))


def _parse_fields(path: Path, data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise _NoNudgeError("it is empty")
    if data[:2] in _UTF_16 or b"\0" in data[:2]:
        raise _NoNudgeError("it is written in UTF-16; write it in UTF-8")
    text = data.decode("utf-8-sig")
    if path.suffix.casefold() == ".txt":
        return {"text": text}
    fields: Any = json.loads(text)
    if not isinstance(fields, dict):
        raise _NoNudgeError("it is no JSON object in UTF-8")
    return fields  # pyright: ignore[reportUnknownVariableType]  # JSON has names for keys


def _explain(path: Path, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError) and path.suffix.casefold() == ".txt":
        return "it is no text in UTF-8"
    return str(error) if isinstance(error, _NoNudgeError) else explain_invalid_nudge(error)


def _time_of(nanoseconds: int) -> datetime:
    """When the file was last written; the epoch if no calendar knows that time."""
    try:
        return datetime.fromtimestamp(nanoseconds // 1_000_000 / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _stamp(found: os.stat_result) -> _Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _stamp_of(path: Path) -> _Stamp | None:
    try:
        return _stamp(path.lstat())
    except OSError:
        return None
