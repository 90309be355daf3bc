"""What waits to be brought up with a user."""

from datetime import datetime
from typing import Protocol

from memory_mcp.domain.nudge import Cleared, Nudge, Taking, Waiting

__all__ = ["NudgeQueue"]


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

    async def waiting(self, user: str, now: datetime) -> Waiting: ...

    async def take(
        self, user: str, now: datetime, taking: Taking | None = None
    ) -> Nudge | None: ...

    async def clear(self, user: str, *, everything: bool = False) -> Cleared: ...
