"""The inbox as files: hooks put them there (see `hooks.files`), this reads and removes them.

    <machine>/inbox/<when>-<chance>.json    an event
    <machine>/inbox/.lock                   held while somebody processes the events
    <machine>/inbox/aside/                  files that are no events, for a person to look at
    <machine>/sessions/<session>.json       what the session's hooks noted

A name that begins with a dot is ignored: a hook is still writing it, or died while it was.
"""

import asyncio
import stat
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from memory_mcp.checker import ValidationError
from memory_mcp.disk import LITTER, Disk, list_visible_names
from memory_mcp.domain import limits
from memory_mcp.domain.checked import build_validator
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.sessions import ConversationRewound, InboxEvent, SessionEnded, SessionEvent
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.hooks.files import (
    IDS_NOTED_MAX,
    INBOX_FOLDER,
    SESSIONS_FOLDER,
    amend_session,
    leave_event,
    load_noted_ids,
    locate_session_file,
    read_session,
)
from memory_mcp.storage.files.host import stamp_file
from memory_mcp.storage.threads import in_thread

_ASIDE: Final = "aside"
_ASIDE_MAX: Final = 100
"""Enough to see what goes wrong. Further files that are no events are removed."""
_LITTER_SECONDS_MIN: Final = 3_600
_SESSION_SECONDS_MAX: Final = limits.EVENT_DAYS_MAX * 86_400
"""A session that was silent for longer is hardly resumed."""


class LocalInbox:
    """Implements `ports.Inbox` over this machine's folder of the project, which has these trees."""

    def __init__(self, state: Path, disk: Disk, trees: Collection[Path] = ()) -> None:
        self._state = str(state)
        self._trees = tuple(map(str, trees))
        self._folder = state / INBOX_FOLDER
        self._sessions = state / SESSIONS_FOLDER
        self._disk = disk
        self._noting = threading.Lock()
        self._looked: tuple[str, object] = ("", None)

    @in_thread
    def waiting(self) -> Sequence[InboxEvent]:
        found: list[InboxEvent] = []
        to_process = 0  # all but `ConversationRewound`, which waits for its session
        for name in self._list_events():
            path = self._folder / name
            try:
                if not path.is_dir() or path.is_symlink():
                    event = _read_event(path)
                    to_process += not isinstance(event.event, ConversationRewound)
                    found.append(event)
            except FileNotFoundError:  # processed since it was listed
                continue
            except OSError as error:
                raise self._disk.unavailable(error, path, "read") from error
            except (ValueError, RecursionError):
                self._set_aside(name)
            if to_process >= limits.EVENTS_AT_ONCE_MAX:
                break
        self._remove_old()
        return found

    async def done(self, dropped: InboxEvent) -> None:
        await asyncio.to_thread(self._disk.remove, self._folder / dropped.name)

    async def put_aside(self, dropped: InboxEvent) -> None:
        await asyncio.to_thread(self._set_aside, dropped.name)

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        if not self._folder.is_dir():
            yield True
            return
        with self._disk.try_lock(self._folder / ".lock") as alone:
            yield alone

    @in_thread
    def shown(self, session: str) -> frozenset[str]:
        lists = [load_noted_ids(self._state, session, name) for name in ("shown", "given")]
        return frozenset(id_ for ids in lists for id_ in ids)

    @in_thread
    def note_given(self, session: str, ids: Sequence[str]) -> None:
        with self._amending(session) as amend:
            every = dict.fromkeys([*load_noted_ids(self._state, session, "given"), *ids])
            amend(given=list(every)[-IDS_NOTED_MAX:])

    @in_thread
    def note_branch(self, session: str, branch: str) -> None:
        with self._amending(session) as amend:
            amend(branch=branch)

    @in_thread
    def note_consolidated(self, session: str) -> None:
        with self._amending(session) as amend:
            if (turns := read_session(self._state, session).get("turns")) is not None:
                amend(asked=turns)

    @in_thread
    def transcript(self, ended: SessionEnded) -> bytes | None:
        from memory_mcp.hooks.transcript import is_transcript, read_tail  # noqa: PLC0415  # seldom

        if not is_transcript(ended.transcript_path, ended.session, self._trees):
            return None
        try:
            return read_tail(ended.transcript_path, limits.TRANSCRIPT_BYTES_MAX)[0]
        except (OSError, ValueError):
            return None

    @in_thread
    def look_back(self, session: str, branch: str, transcript: str) -> bool:
        stamp = stamp_file(transcript)
        if stamp is None or self._looked == (transcript, stamp):
            return False
        from memory_mcp.hooks.transcript import (  # noqa: PLC0415  # few calls have a transcript
            is_transcript,
            read_left_turns,
        )

        if not is_transcript(transcript, session, self._trees):
            return False
        with self._amending(session) as amend:
            noted = str(read_session(self._state, session).get("prompt", ""))
            left, newest = read_left_turns(transcript, noted)
            if left is not None:
                leave_event(self._state, left.as_event(session, branch))
            if newest != noted:
                amend(prompt=newest)
        self._looked = transcript, stamp
        return newest != noted

    async def findings(self) -> Sequence[Finding]:
        names = list_visible_names(self._folder / _ASIDE)
        if not names:
            return []
        files = pluralise(len(names), "file in the inbox is", "files in the inbox are")
        what = f"{files} no event of ours: {names[0]!r}{', …' if len(names) > 1 else ''}."
        remedy = f"They were moved to {self._folder / _ASIDE}: look at them, and delete them."
        return [Finding("inbox-strange", "should", what, remedy)]

    @contextmanager
    def _amending(self, session: str) -> Generator[Callable[..., None]]:
        """Read and change what the session's hooks noted, one thread at a time."""
        try:
            with self._noting:
                yield partial(amend_session, self._state, session)
        except OSError as error:
            path = Path(locate_session_file(self._state, session))
            raise self._disk.unavailable(error, path, "store") from error

    def _list_events(self) -> list[str]:
        return [name for name in list_visible_names(self._folder) if name != _ASIDE]

    def _set_aside(self, name: str) -> None:
        """Move a file to where nothing reads it, in place of one of the same name."""
        aside = self._folder / _ASIDE
        try:
            if len(list_visible_names(aside)) >= _ASIDE_MAX:
                self._disk.remove(self._folder / name)
                return
            self._disk.folder(aside)
            self._disk.step("move aside")
            with suppress(FileNotFoundError):  # another process was quicker
                (self._folder / name).replace(aside / name)
        except OSError as error:
            raise self._disk.unavailable(error, self._folder / name, "store") from error

    def _remove_old(self) -> None:
        """Remove what hooks were writing when they died, and notes of sessions long over."""
        for folder, pattern, seconds in (
            (self._folder, f".*{LITTER}", _LITTER_SECONDS_MIN),
            (self._sessions, f".*{LITTER}", _LITTER_SECONDS_MIN),
            (self._sessions, "[!.]*", _SESSION_SECONDS_MAX),
        ):
            try:
                for old in folder.glob(pattern):
                    if time.time() - old.lstat().st_mtime > seconds:
                        self._disk.remove(old)
            except (OSError, StoreUnavailableError):  # such files are ignored anyway
                continue


def _read_event(path: Path) -> InboxEvent:
    """Read the event in a file, if it is a plain one and small.

    Raises:
        ValueError: it is no event.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > limits.EVENT_BYTES_MAX:
        raise ValueError("it is no plain file, or too large")
    try:
        return InboxEvent(path.name, build_validator(SessionEvent).validate_json(path.read_bytes()))
    except ValidationError as error:
        raise ValueError("it is no event") from error
