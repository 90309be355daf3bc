"""What the records of banks come to, at a glance, and when others change them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from memory_mcp.deadlines import wait_for_first
from memory_mcp.errors import StoreError
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


async def follow_changes(
    banks: Sequence[Bank], note: Callable[[], None], leaving: asyncio.Event
) -> None:
    """Call `note` when another process has changed these banks, until this one leaves.

    After an outage it is called once for all that was missed.
    """
    listening = asyncio.create_task(_listen(banks, note))
    try:
        await wait_for_first(leaving.wait())
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


async def _listen(banks: Sequence[Bank], note: Callable[[], None]) -> None:
    database = banks[0].database
    pause = _PAUSE_SECONDS_MIN
    heard = False

    def hear(payload: str) -> None:
        nonlocal pause, heard
        pause = _PAUSE_SECONDS_MIN
        number, _, speaker = payload.partition(" ")
        others = speaker != database.speaker and int(number) in numbers if payload else heard
        heard = True
        if others:
            note()

    while True:
        try:
            numbers = {await bank.number() for bank in banks}
            await database.listen(CHANNEL, hear)
        except StoreError as error:
            _LOG.info("Changes of others are not heard of: %s", error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _PAUSE_SECONDS_MAX)
