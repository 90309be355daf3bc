"""What each session was given with its prompts, so that nothing is given twice."""

import asyncio
from typing import Final

__all__ = ["Given", "Prompts"]

_SESSIONS_MAX: Final = 1_000
"""How many a server remembers; one that was silent for longest is given things again."""
_IDS_MAX: Final = 1_000


class Given:
    """What one session knows: the ids it was shown, and whether it has been greeted."""

    def __init__(self) -> None:
        self.greeted = False
        self._ids: dict[str, None] = {}

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._ids

    def note(self, record_id: str) -> None:
        """It has been shown."""
        self._ids[record_id] = None
        if len(self._ids) > _IDS_MAX:
            del self._ids[next(iter(self._ids))]


class Prompts:
    """What the sessions of this server were given; `session` is the one that spoke last.

    `came` is set by each prompt: then there may be news in the inbox.
    """

    def __init__(self) -> None:
        self.session = ""
        self.came = asyncio.Event()
        self._given: dict[str, Given] = {}

    def of(self, session: str) -> Given:
        """What this session was given."""
        given = self._given.pop(session, None) or Given()
        self._given[session] = given  # the last that was asked for goes last
        if len(self._given) > _SESSIONS_MAX:
            del self._given[next(iter(self._given))]
        return given
