"""What hooks leave for us, what waits for a user, and what is rendered for readers of files."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from memory_mcp.domain.captures import Suggestions
from memory_mcp.domain.comparisons import Compared
from memory_mcp.domain.nudges import Nudge, NudgeHandover, NudgeRemoval, WaitingNudges
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.sessions import (
    InboxEvent,
    Page,
    RenderedFile,
    SessionEnded,
)
from memory_mcp.frozen import frozen
from memory_mcp.rendered import Rendered, Watched


class Inbox(Protocol):
    """Events that hooks left, oldest first, until a server has processed them.

    - `waiting` returns at most `EVENTS_AT_ONCE_MAX` events, and every `ConversationRewound`, which
      waits for its session. A file that is damaged, too large or no event is moved aside,
      once, so that it never blocks the others.
    - `done` removes an event durably, after its effect; one that is gone is no error. An event
      whose worker is killed is processed again, so effects are idempotent.
    - `put_aside` moves an event that cannot be processed to where a person can look at it.
    - `alone` yields whether this worker is the only one. A worker that is killed holds nothing.
    - `shown` returns the ids of the memories that the session has been shown.
    - `note_given` and `note_branch` tell the session's hooks, and a later server, which memories
      the session was given and on which branch it is. `note_consolidated` restarts the count of
      turns.
    - `transcript` returns the end of the transcript that an event names, from the start of a line;
      None if it is gone, or not where a client keeps transcripts.
    - `look_back` leaves a `ConversationRewound` if the transcript shows that the user went back
      since the prompt that was noted last, and notes the newest; whether that is another one. It
      reads a transcript again only when that has changed.
    - `findings` names what was moved aside.
    - What the file system refuses raises `StoreUnavailableError`.
    """

    async def waiting(self) -> Sequence[InboxEvent]: ...
    async def done(self, dropped: InboxEvent) -> None: ...
    async def put_aside(self, dropped: InboxEvent) -> None: ...
    def alone(self) -> AbstractAsyncContextManager[bool]: ...
    async def shown(self, session: str) -> frozenset[str]: ...
    async def note_given(self, session: str, ids: Sequence[str]) -> None: ...
    async def note_branch(self, session: str, branch: str) -> None: ...
    async def note_consolidated(self, session: str) -> None: ...
    async def transcript(self, ended: SessionEnded) -> bytes | None: ...
    async def look_back(self, session: str, branch: str, transcript: str) -> bool: ...
    async def findings(self) -> Sequence[Finding]: ...


class NudgeQueue(Protocol):
    """Nudges that programs leave for users, until a session begins.

    - `add` is durable when it returns. It refuses more than `NUDGES_MAX` with
      `InvalidRequestError`, if it can count them.
    - `waiting` returns the nudges that have not expired, best first (priority, then the oldest),
      and names what is no nudge. It changes nothing.
    - `take` returns the first of `waiting`, or None, and removes the user's nudges, expired ones
      too. What is no nudge is left. Of several sessions that take at once, one gets the nudge.
      `taking` is asked right before the removal; if nobody waits any more, nothing is removed.
    - `clear` removes as `take` does; with `everything` also what is no nudge, unless it is somebody
      else's.
    - **No nudge is ever taken twice.** So it is gone for good before it is returned: a process that
      is killed in between loses it. Nudges that were not chosen may stay: they were never shown.
    - Users never see each other's nudges. `place` says where programs leave them for a user.
    - Only `NUDGES_MAX` nudges are looked at; what is no nudge does not count.
    - `take` begins to remove, or raises, soon after `NUDGE_TAKE_SECONDS_MAX`. What the file system
      refuses raises `StoreUnavailableError`, a remote queue `RemoteError`; then no nudge is shown.
    """

    def place(self, user: str) -> str: ...
    async def add(self, nudge: Nudge) -> None: ...
    async def waiting(self, user: str, now: datetime) -> WaitingNudges: ...
    async def take(
        self, user: str, now: datetime, taking: NudgeHandover | None = None
    ) -> Nudge | None: ...
    async def clear(self, user: str, *, everything: bool = False) -> NudgeRemoval: ...


class SuggestionStore(Protocol):
    """What was captured of the user's words and is not answered yet, the oldest first.

    - It lies where only this machine may write. What is damaged counts as empty.
    - `change` replaces all of them by what it makes of them, in one step, durably; of several
      changes at once each sees what those before it made. Nothing is written if nothing changes.
    - What the file system refuses raises `StoreUnavailableError`.
    """

    async def load(self) -> Suggestions: ...
    async def change(self, change: Callable[[Suggestions], Suggestions]) -> None: ...


@frozen
class Rendering:
    """What is rendered together: the pages, and the bootstrap of each branch.

    For the next process it says which memories were `compared` to find what holds.
    """

    pages: Mapping[Page, str]
    bootstraps: tuple[Rendered, ...]
    compared: tuple[Compared, ...] = ()


class ChangeWatch(Protocol):
    """Notices that the records or the head changed, whichever process wrote.

    `watch` returns a value that stays equal as long as nobody has written, and is never equal after
    a write. Compare only values of one process. It is called every few seconds, so it is cheap: a
    few `stat` calls for files, a revision number for a database. It never waits or fails.
    """

    async def watch(self) -> object: ...


class Views(ChangeWatch, Protocol):
    """Rendered files: derivatives that show what held when they were written.

    - `alone`: within the block nobody else renders, in any process. Who reads inside it, after
      `watch`, and then writes, leaves the newest behind.
    - `watch` says from what the next bootstrap would be made.
    - `has_records`: before the project has records, no page appears in its folders.
    - `valid_seconds`: how long a bootstrap counts that nobody looked at again. None: for as long as
      the files that it was made from, which a hook sees for itself.
    - `branches` returns those that have a bootstrap; `are_current` says whether the bootstraps of
      these branches are there and nothing has changed since.
    - `write`: each file appears whole or not at all, and only if its bytes differ, the bootstraps
      last: where they are current, so are the pages. Bootstraps of other branches are removed. A
      page that somebody else wrote is left and returned; one without a place is left out. One that
      fails stops none of the others.
    - `withdraw_elsewhere`: in the user's other projects, the bootstraps are removed and
      `session-context.md` becomes this `page`, because they may show what was erased.
    - `withdraw` removes the branch's bootstrap, or without a branch the text of every one. With a
      `page`, each of this project's pages that is there and ours becomes it: clients read them
      without a check.
    - `list_rendered` returns every page and bootstrap, or why it cannot be read.
    - `load_compared` returns what was compared for the last rendering, by any process; nothing if
      that is damaged or of another version, for it can be found anew.
    - `StoreUnavailableError` is the only failure; what was written before it stays.
    """

    valid_seconds: float | None

    def alone(self) -> AbstractAsyncContextManager[None]: ...
    async def watch(self) -> Watched: ...
    async def has_records(self) -> bool: ...
    async def branches(self) -> list[str]: ...
    async def are_current(self, *branches: str) -> bool: ...
    async def write(self, rendering: Rendering) -> list[str]: ...
    async def withdraw_elsewhere(self, page: str) -> None: ...
    async def withdraw(self, branch: str | None, page: str = "") -> None: ...
    async def list_rendered(self) -> list[RenderedFile]: ...
    async def load_compared(self) -> Sequence[Compared]: ...
