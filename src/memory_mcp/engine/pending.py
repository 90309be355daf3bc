"""What has yet to reach the cloud, as every receipt and the head say it."""

from functools import reduce
from typing import Final

from memory_mcp.domain.cloud import Tally
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import StoreError

_UNSEEN: Final = (
    "What other machines wrote to Supermemory may not be here yet (memory-mcp sync --pull)."
)
_KEPT_OUT: Final = (
    "Nothing that other machines wrote to the cloud at {} comes in here until the user has run "
    "`memory-mcp trust`."
)


def lets_in(workspace: Workspace, pool: Pool) -> bool:
    """Whether the user trusts the cloud, and the project if it is the project's pool.

    What another machine wrote supersedes and hides: nobody but the user can say whose word it is.
    """
    if pool.mirror is None or not (pool.mirror.trust.trusted() and pool.mirror.vouched()):
        return False
    return (
        pool is workspace.user or workspace.strangers is None or workspace.strangers.trust.trusted()
    )


def kept_out(workspace: Workspace) -> tuple[str, ...]:
    """A sentence while what is in the cloud is kept out; nothing else."""
    shut = [pool.mirror for pool in workspace.pools if pool.mirror and not lets_in(workspace, pool)]
    return (_KEPT_OUT.format(shut[0].trust.address),) if shut else ()


async def tally_of(workspace: Workspace) -> Tally:
    """What the outboxes of both pools hold, as one."""
    tallies = [await pool.mirror.outbox.tally() for pool in workspace.pools if pool.mirror]
    return reduce(lambda one, other: one + other, tallies, Tally())


async def pending_note(workspace: Workspace) -> tuple[str, ...]:
    """A sentence for a receipt while something is on its way; nothing if all has arrived."""
    if not workspace.mirrored:
        return ()
    try:
        pending = (await tally_of(workspace)).pending
    except StoreError as error:
        return (f"The outbox for Supermemory cannot be read: {error}",)
    return (f"sync pending ({pending})",) if pending else ()


async def unseen(workspace: Workspace) -> tuple[str, ...]:
    """Little may not look like all there is while other machines' memories are not here yet."""
    if said := kept_out(workspace):
        return said
    outboxes = [pool.mirror.outbox for pool in workspace.pools if pool.mirror]
    try:
        if all([await outbox.seen_until() for outbox in outboxes]):
            return ()
    except StoreError:  # whoever needs the outbox says so
        return ()
    return (_UNSEEN,)
