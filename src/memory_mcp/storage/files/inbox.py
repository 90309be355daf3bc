"""The inbox as files: hooks drop them (see `hooks.files`), this reads and removes them.

    <machine>/inbox/<when>-<chance>.json    an event
    <machine>/inbox/.lock                   held while somebody works it off
    <machine>/inbox/aside/                  what was no event: for a person to look at
    <machine>/sessions/<session>.json       what the session's hooks noted

A name that begins with a dot is looked past: a hook is still writing it, or died while it was.
"""

import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from pydantic import ValidationError

from memory_mcp.disk import LITTER, Disk, unavailable
from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.sessions import SESSION_EVENT, ConversationRewound, InboxEvent, SessionEnded
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.hooks.files import (
    IDS_NOTED_MAX,
    INBOX_FOLDER,
    SESSIONS_FOLDER,
    amend_session,
    load_noted_ids,
    locate_session_file,
    read_session,
)
from memory_mcp.hooks.transcript import is_transcript, read_tail

_ASIDE: Final = "aside"
_ASIDE_MAX: Final = 100
"""Enough to see what goes wrong; what is no event beyond that is removed."""
_LITTER_SECONDS_MIN: Final = 3_600
_SESSION_SECONDS_MAX: Final = limits.EVENT_DAYS_MAX * 86_400
"""A session that was silent for longer is hardly resumed; it would be given things again."""


class LocalInbox:
    """Implements `ports.Inbox` over this machine's folder of the project, which has these trees."""

    def __init__(self, state: Path, disk: Disk, trees: Collection[Path] = ()) -> None:
        self._state = state
        self._trees = tuple(map(str, trees))
        self._folder = state / INBOX_FOLDER
        self._disk = disk
        self._noting = threading.Lock()

    async def waiting(self) -> Sequence[InboxEvent]:
        return await asyncio.to_thread(self._waiting)

    async def done(self, dropped: InboxEvent) -> None:
        await asyncio.to_thread(self._disk.remove, self._folder / dropped.name)

    async def aside(self, dropped: InboxEvent) -> None:
        await asyncio.to_thread(self._aside, dropped.name)

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        if not self._folder.is_dir():
            yield True
            return
        lock = FileLock(self._folder / ".lock", timeout=0, thread_local=False)
        try:
            await asyncio.to_thread(lock.acquire)
        except Timeout:
            yield False
            return
        except OSError as error:
            raise self._disk.unavailable(error, self._folder / ".lock", "store") from error
        try:
            yield True
        finally:
            lock.release()

    async def went_back(self, session: str) -> ConversationRewound | None:
        return await asyncio.to_thread(self._went_back, session)

    async def shown(self, session: str) -> frozenset[str]:
        state = str(self._state)
        both = ("shown", "given")
        found = await asyncio.to_thread(
            lambda: [load_noted_ids(state, session, each) for each in both]
        )
        return frozenset(id_ for ids in found for id_ in ids)

    async def note_given(self, session: str, ids: Sequence[str]) -> None:
        def given(state: str) -> dict[str, Any]:
            every = dict.fromkeys([*load_noted_ids(state, session, "given"), *ids])
            return {"given": list(every)[-IDS_NOTED_MAX:]}

        await asyncio.to_thread(self._note, session, given)

    async def note_branch(self, session: str, branch: str) -> None:
        await asyncio.to_thread(self._note, session, lambda _: {"branch": branch})

    async def note_consolidated(self, session: str) -> None:
        def counted(state: str) -> dict[str, Any]:
            turns = read_session(state, session).get("turns")
            return {} if turns is None else {"asked": turns}

        await asyncio.to_thread(self._note, session, counted)

    async def transcript(self, ended: SessionEnded) -> bytes | None:
        return await asyncio.to_thread(_end_of, ended, self._trees)

    async def findings(self) -> Sequence[Finding]:
        names = _names_in(self._folder / _ASIDE)
        if not names:
            return []
        what = f"{len(names)} file(s) in the inbox are no events of ours, {names[0]!r} among them."
        remedy = f"They were moved to {self._folder / _ASIDE}: look at them, and delete them."
        return [Finding("inbox-strange", "should", what, remedy)]

    def _note(self, session: str, changes: Callable[[str], dict[str, Any]]) -> None:
        state = str(self._state)
        with self._noting:
            try:
                amend_session(state, session, **changes(state))
            except OSError as error:
                raise self._disk.unavailable(
                    error, Path(locate_session_file(state, session)), "store"
                ) from error

    def _waiting(self) -> list[InboxEvent]:
        found: list[InboxEvent] = []
        own = 0  # of those that are worked off; the others wait for their session's prompt
        for name in _names_in(self._folder):
            path = self._folder / name
            try:
                if not path.is_dir() or path.is_symlink():
                    dropped = _read(path)
                    own += not isinstance(dropped.event, ConversationRewound)
                    found.append(dropped)
            except FileNotFoundError:  # worked off since it was listed
                continue
            except OSError as error:
                raise self._disk.unavailable(error, path, "read") from error
            except (ValueError, RecursionError):
                self._aside(name)
            if own >= limits.EVENTS_AT_ONCE_MAX:
                break
        self._tidy()
        return found

    def _aside(self, name: str) -> None:
        """Move it where nobody looks again; one of its name that lies there already gives way."""
        aside = self._folder / _ASIDE
        try:
            if len(_names_in(aside)) >= _ASIDE_MAX:
                self._disk.remove(self._folder / name)
                return
            self._disk.folder(aside)
            self._disk.step("move aside")
            with suppress(FileNotFoundError):  # another process was quicker
                (self._folder / name).replace(aside / name)
        except OSError as error:
            raise self._disk.unavailable(error, self._folder / name, "store") from error

    def _tidy(self) -> None:
        """What hooks were writing when they died, and notes of sessions long over, are removed."""
        sessions = self._state / SESSIONS_FOLDER
        for folder, pattern, seconds in (
            (self._folder, f".*{LITTER}", _LITTER_SECONDS_MIN),
            (sessions, f".*{LITTER}", _LITTER_SECONDS_MIN),
            (sessions, "[!.]*", _SESSION_SECONDS_MAX),
        ):
            try:
                for old in folder.glob(pattern):
                    if time.time() - old.lstat().st_mtime > seconds:
                        self._disk.remove(old)
            except (OSError, StoreUnavailableError):  # it is looked past anyway
                continue

    def _went_back(self, session: str) -> ConversationRewound | None:
        """The oldest word of it; later ones go with it, for they say less."""
        found: ConversationRewound | None = None
        for name in _names_in(self._folder):
            try:
                dropped = _read(self._folder / name)
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(dropped.event, ConversationRewound) and dropped.event.session == session:
                self._disk.remove(self._folder / name)
                found = found or dropped.event
        return found


def _names_in(folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unavailable(error, folder, "read", "MEMORY_HOME") from error
    return sorted(name for name in names if not name.startswith(".") and name != _ASIDE)


def _read(path: Path) -> InboxEvent:
    """The event in a file, which is read only if it is a plain one and small.

    Raises:
        ValueError: it is none.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > limits.EVENT_BYTES_MAX:
        raise ValueError("it is no plain file, or too large")
    try:
        return InboxEvent(path.name, SESSION_EVENT.validate_json(path.read_bytes()))
    except ValidationError as error:
        raise ValueError("it is no event") from error


def _end_of(ended: SessionEnded, trees: Collection[str]) -> bytes | None:
    """The end of the session's own transcript; the hook has seen that its client keeps it there."""
    if not is_transcript(ended.transcript_path, ended.session, trees):
        return None
    try:
        return read_tail(ended.transcript_path, limits.TRANSCRIPT_BYTES_MAX)[0]
    except (OSError, ValueError):
        return None
