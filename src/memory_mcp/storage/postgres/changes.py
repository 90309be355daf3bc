"""What the records of banks come to, at a glance, and when others change them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from memory_mcp.deadlines import wait_for_first
from memory_mcp.errors import StoreError
from memory_mcp.storage.postgres.database import Postgres, Principal
from memory_mcp.storage.postgres.rows import Bank
from memory_mcp.storage.postgres.schema import CHANNEL

_LOG: Final = logging.getLogger("memory_mcp.postgres")

_PAUSE_SECONDS_MIN: Final = 1.0
_PAUSE_SECONDS_MAX: Final = 30.0
"""Between two tries to hear of changes again, doubling from the first to the second."""

_GLANCE: Final = """
    SELECT b.records + (SELECT count(*) FROM uncounted u WHERE u.bank = :bank),
        b.marks # coalesce((
            SELECT bit_xor(mark) FROM entry
            WHERE row = ANY(ARRAY(SELECT row FROM uncounted WHERE bank = :bank))), 0),
        coalesce((SELECT version FROM head WHERE head.bank = :bank), 0)
    FROM bank b WHERE b.number = :bank"""


async def describe_state(banks: Sequence[Bank]) -> tuple[bool, str] | None:
    """Whether the first bank has records, and a text that changes with any record or head.

    None if the database does not say.
    """
    try:
        found = [tuple((await bank.rows(_GLANCE))[0]) for bank in banks]
    except StoreError:
        return None
    return found[0][0] > 0, "\n".join(" ".join(map(str, each)) for each in found)


@dataclass(eq=False)
class _Follower:
    """Who is told of changes in these banks that another speaker made."""

    banks: frozenset[int]
    speaker: str
    note: Callable[[], None]


class _Line:
    """The connection by which this process hears of all changes in a database.

    It names nobody, so it sees no row: what is announced is the number of a bank, and each follower
    is told of its own. Nobody hears what is announced before the connection listens, at the start
    or in an outage: so every follower is told once it does, or once it joins.
    """

    def __init__(self, url: str) -> None:
        self._database = Postgres(url, Principal("", "", ""))
        self._pause = _PAUSE_SECONDS_MIN
        self._listens = False
        self.followers: set[_Follower] = set()
        self.listening = asyncio.create_task(self._listen())

    def join(self, follower: _Follower) -> None:
        self.followers.add(follower)
        if self._listens:
            follower.note()

    async def _listen(self) -> None:
        while True:
            try:
                await self._database.listen(CHANNEL, self._hear)
            except StoreError as error:
                _LOG.info("Changes of others are not heard of: %s", error)
            self._listens = False
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, _PAUSE_SECONDS_MAX)

    def _hear(self, payload: str) -> None:
        self._pause, self._listens = _PAUSE_SECONDS_MIN, True
        number, _, speaker = payload.partition(" ")
        for each in tuple(self.followers):
            if not payload or (speaker != each.speaker and int(number) in each.banks):
                each.note()


_LINES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Line]]] = WeakKeyDictionary()
"""The line to each database that somebody follows, by its URL."""


async def follow_changes(
    banks: Sequence[Bank], note: Callable[[], None], leaving: asyncio.Event
) -> None:
    """Call `note` when another process has changed these banks, until this one leaves.

    It is called once for all that was changed before this is heard of: at the start, and after an
    outage.
    """
    following = asyncio.create_task(_follow(banks, note))
    try:
        await wait_for_first(leaving.wait())
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def _follow(banks: Sequence[Bank], note: Callable[[], None]) -> None:
    database = banks[0].database
    follower = _Follower(await _find_numbers(banks), database.speaker, note)
    lines = _LINES.setdefault(asyncio.get_running_loop(), {})
    line = lines.get(database.url) or lines.setdefault(database.url, _Line(database.url))
    line.join(follower)
    try:
        await asyncio.Event().wait()  # until it is cancelled
    finally:
        line.followers.remove(follower)
        if not line.followers:
            del lines[database.url]
            line.listening.cancel()
            with suppress(asyncio.CancelledError):
                await line.listening


async def _find_numbers(banks: Sequence[Bank]) -> frozenset[int]:
    """The numbers of the banks, as soon as the database gives them."""
    pause = _PAUSE_SECONDS_MIN
    while True:
        try:
            return frozenset([await bank.number() for bank in banks])
        except StoreError as error:
            _LOG.info("Changes of others are not heard of: %s", error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _PAUSE_SECONDS_MAX)
