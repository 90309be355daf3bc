"""What hooks leave for us, what waits for a user, and what is rendered for readers of files."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory_mcp.domain.nudges import Nudge, NudgeHandover, NudgeRemoval, WaitingNudges
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.sessions import (
    ConversationRewound,
    InboxEvent,
    Page,
    RenderedFile,
    SessionEnded,
)
from memory_mcp.rendered import Rendered, Watched


class Inbox(Protocol):
    """Events that hooks left, oldest first, until a server has processed them.

    - `waiting` returns at most `EVENTS_AT_ONCE_MAX` events, and beside them every event that says
      that a session went back: those wait for their session. A file that is damaged, too large or
      no event is moved aside, once, so that it never blocks the others. Without a folder there is
      nothing.
    - `done` removes an event durably; one that is gone is no error. It is called after the event's
      effect: an event whose worker is killed is processed again, so effects are idempotent.
    - `aside` moves an event that cannot be processed to where a person can look at it.
    - `alone` yields whether this worker is the only one. A worker that is killed holds nothing.
    - `went_back` takes the event that says that a session went back; it is returned at most once.
    - `shown` returns the ids of the memories that the session was shown when it began, or later.
    - `note_given` and `note_branch` tell the session's hooks, and a later server, which memories
      the session was given and on which branch it is. `note_consolidated` restarts the count of
      turns.
    - `transcript` returns the end of the transcript that an event names, from the start of a line;
      None if it is not where a client keeps transcripts, or gone.
    - `findings` names what was moved aside.

    What the file system refuses raises `StoreUnavailableError`.
    """

    async def waiting(self) -> Sequence[InboxEvent]: ...

    async def done(self, dropped: InboxEvent) -> None: ...

    async def aside(self, dropped: InboxEvent) -> None: ...

    def alone(self) -> AbstractAsyncContextManager[bool]: ...

    async def went_back(self, session: str) -> ConversationRewound | None: ...

    async def shown(self, session: str) -> frozenset[str]: ...

    async def note_given(self, session: str, ids: Sequence[str]) -> None: ...

    async def note_branch(self, session: str, branch: str) -> None: ...

    async def note_consolidated(self, session: str) -> None: ...

    async def transcript(self, ended: SessionEnded) -> bytes | None: ...

    async def findings(self) -> Sequence[Finding]: ...


class NudgeQueue(Protocol):
    """Nudges that programs leave for users, until a session begins.

    - `add`: it waits, durably, when this returns.
    - `waiting`: what has not expired, best first (priority, then the oldest), and what lies there
      and is no nudge. Changes nothing.
    - `take`: the first of `waiting`, or None. What waited for the user (what has expired, too) is
      gone when it returns; what is no nudge is left. Of several sessions that take at once, one
      gets it.
    - `taking`: asked right before the nudge is removed; if nobody waits any more, nothing is.
    - `clear`: as `take`, but nobody gets any. With `everything` what is no nudge goes as well, as
      far as it can: what is somebody else's stays.
    - **No nudge is ever taken twice.** So it is gone for good before it is returned: whoever is
      killed in between loses it. What was not chosen may then still wait, and so it may where it
      could not be removed: it was never shown.
    - Users never see each other's.
    - `place` says where other programs leave nudges for the user.
    - `NUDGES_MAX` of them are looked at, and what is no nudge does not count; `add` refuses more
      with `InvalidRequestError`, if it can count them.
    - `take` begins to remove, or raises, soon after `NUDGE_TAKE_SECONDS_MAX`. What the file system
      refuses raises `StoreUnavailableError`, a queue far away a `RemoteError`; then nobody may show
      any.
    """

    def place(self, user: str) -> str: ...

    async def add(self, nudge: Nudge) -> None: ...

    async def waiting(self, user: str, now: datetime) -> WaitingNudges: ...

    async def take(
        self, user: str, now: datetime, taking: NudgeHandover | None = None
    ) -> Nudge | None: ...

    async def clear(self, user: str, *, everything: bool = False) -> NudgeRemoval: ...


@dataclass(frozen=True)
class Shown:
    """All that is rendered in one go: the pages, and the bootstrap of each branch."""

    pages: Mapping[Page, str]
    bootstraps: tuple[Rendered, ...]


class ChangeWatch(Protocol):
    """Notices that the records or the head changed, whether this process or another one wrote.

    - `watch` returns a value that stays equal as long as nobody has written. It may differ without
      a write; it is never equal after one. Compare values of the same process only.
    - It is asked every few seconds for as long as somebody subscribes, so it is cheap: a few `stat`
      calls for files, a revision number for a database. It never waits for a lock and never fails.
    - Nobody is called back. Writes of this process are noticed at once by `app.changes`.
    """

    async def watch(self) -> object: ...


class Views(ChangeWatch, Protocol):
    """Rendered files: derivatives that show what held when they were written.

    - `alone`: within the block nobody else renders, in this process or another. Who reads inside
      it, after `watch`, and then writes, leaves the newest behind.
    - `watch`: what the next bootstrap is made from, as it is now.
    - `begun`: whether the project has records: before that, no page appears in its folders.
    - `branches`: those whose bootstrap lies there.
    - `hold`: whether the bootstraps of these branches lie ready and nothing has changed since.
    - `write`: each file appears whole or not at all, and only where its bytes differ, the
      bootstraps last: where they hold, so do the pages. Those of branches that are not among these
      go: whoever is on one renders it anew. A page that somebody else wrote is left as it is, and
      named in the answer; one for which there is no place is left out. One that fails stops none
      of the others.
    - `strike`: something of the user's fell, and what was rendered in the user's other projects may
      show it. There the bootstraps go, and `session-context.md` says no more than this `page`.
    - `withdraw`: `session-context.md` of this project says no more than this `page`, if it is there
      and ours. CLAUDE.md references it, so it is read without a check.
    - `lying`: every page and bootstrap there is, and of one that cannot be read why.
    - `StoreUnavailableError` is the only failure; what was written before it stays.
    """

    def alone(self) -> AbstractAsyncContextManager[None]: ...

    async def watch(self) -> Watched: ...

    async def begun(self) -> bool: ...

    async def branches(self) -> list[str]: ...

    async def hold(self, *branches: str) -> bool: ...

    async def write(self, shown: Shown) -> list[str]: ...

    async def strike(self, page: str) -> None: ...

    async def withdraw(self, page: str) -> None: ...

    async def lying(self) -> list[RenderedFile]: ...
