"""What hooks left for us."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from memory_mcp.domain.findings import Finding
from memory_mcp.domain.inbox import Dropped, Ended, WentBack

__all__ = ["Inbox"]


class Inbox(Protocol):
    """Events that hooks dropped, oldest first, until somebody has worked them off.

    - `waiting`: `EVENTS_AT_ONCE_MAX` of them at most, and all that say that a session went back:
      those wait for their session, and must not be in the way. What is damaged, too large or no
      event is moved aside, once: it never keeps the others waiting. Without a folder there is
      nothing.
    - `done`: the event is gone, durably; one that is gone already is no error. It is called after
      the effect, so an event whose worker is killed is worked off again: effects are idempotent.
    - `aside`: it cannot be worked off; it is kept for a person to look at.
    - `alone`: nobody else works the inbox off inside; False if somebody does. A worker that is
      killed holds nothing.
    - `went_back`: takes what says that a session went back. It is told at most once.
    - `shown`: the ids of the memories that the session has read when it began, or was given since.
    - `note_given`, `note_branch`: for the session's hooks and for a server that comes after this
      one: it was given these memories too; it is on this branch now.
    - `note_consolidated`: turns are counted anew from here, if the session's hooks count any.
    - `transcript`: the end of what an event names, from the beginning of a line; None if it is not
      where a client keeps transcripts, or gone.
    - `findings`: what was moved aside.

    What the file system refuses raises `StoreUnavailableError`.
    """

    async def waiting(self) -> Sequence[Dropped]: ...

    async def done(self, dropped: Dropped) -> None: ...

    async def aside(self, dropped: Dropped) -> None: ...

    def alone(self) -> AbstractAsyncContextManager[bool]: ...

    async def went_back(self, session: str) -> WentBack | None: ...

    async def shown(self, session: str) -> frozenset[str]: ...

    async def note_given(self, session: str, ids: Sequence[str]) -> None: ...

    async def note_branch(self, session: str, branch: str) -> None: ...

    async def note_consolidated(self, session: str) -> None: ...

    async def transcript(self, ended: Ended) -> bytes | None: ...

    async def findings(self) -> Sequence[Finding]: ...
