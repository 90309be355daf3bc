"""What has yet to reach the cloud, as every receipt and the head say it."""

from functools import reduce

from memory_mcp.app.rooms import Rooms
from memory_mcp.domain.cloud import Tally
from memory_mcp.errors import StoreError

__all__ = ["pending_note", "tally_of"]


async def tally_of(rooms: Rooms) -> Tally:
    """What the outboxes of both pools hold, as one."""
    tallies = [await pool.mirror.outbox.tally() for pool in rooms.pools if pool.mirror]
    return reduce(lambda one, other: one + other, tallies, Tally())


async def pending_note(rooms: Rooms) -> tuple[str, ...]:
    """A sentence for a receipt while something is on its way; nothing if all has arrived."""
    if not rooms.mirrored:
        return ()
    try:
        pending = (await tally_of(rooms)).pending
    except StoreError:  # the write itself has said so
        return ()
    return (f"sync pending ({pending})",) if pending else ()
