"""What has yet to reach the cloud, or a database, or to come from there, as answers report it."""

from functools import reduce
from typing import Final

from memory_mcp.domain.cloud import OutboxCounts
from memory_mcp.domain.normalise import pluralise
from memory_mcp.engine.workspace import MemoryBank, Workspace
from memory_mcp.errors import StoreError

_NOT_PULLED: Final = (
    "What other machines wrote to Supermemory may not be here yet (memory-mcp cloud sync --pull)."
)
_UNTRUSTED: Final = (
    "Nothing that other machines wrote to the cloud at {} comes in here until the user has run "
    "`memory-mcp trust`."
)


def accepts_cloud_records(workspace: Workspace, bank: MemoryBank) -> bool:
    """Whether the user trusts the cloud and, for the project's bank, the project.

    Records of another machine supersede and hide, so only the user can let them in.
    """
    if bank.mirror is None or not (bank.mirror.trust.trusted() and bank.mirror.may_use_cloud()):
        return False
    return (
        bank is workspace.user or workspace.strangers is None or workspace.strangers.trust.trusted()
    )


def describe_untrusted_cloud(workspace: Workspace) -> tuple[str, ...]:
    """A note while records of the cloud are not accepted."""
    for bank in workspace.banks:
        if bank.mirror and not accepts_cloud_records(workspace, bank):
            return (_UNTRUSTED.format(bank.mirror.trust.address),)
    return ()


async def count_outboxes(workspace: Workspace) -> OutboxCounts:
    """The sum of what the outboxes of both banks hold."""
    counts = [await bank.mirror.outbox.counts() for bank in workspace.banks if bank.mirror]
    return reduce(lambda one, other: one + other, counts, OutboxCounts())


async def describe_pending(workspace: Workspace) -> tuple[str, ...]:
    """A note while something has yet to be delivered."""
    if not workspace.mirrored:
        return await describe_waiting(workspace)
    try:
        pending = (await count_outboxes(workspace)).pending
    except StoreError as error:
        return (f"The outbox for Supermemory cannot be read: {error}",)
    return (f"sync pending ({pending})",) if pending else ()


async def describe_waiting(workspace: Workspace) -> tuple[str, ...]:
    """A note while memories wait on this machine for the database, which is asked to take them."""
    if workspace.waiting is None:
        return ()
    try:
        number = (await workspace.waiting.outbox.counts()).pending
    except StoreError as error:
        return (f"What waits for the database cannot be read: {error}",)
    if number:
        workspace.waiting.wake.set()
    return name_waiting(number)


def name_waiting(number: int) -> tuple[str, ...]:
    """How many memories wait for the database; nothing if none does."""
    if not number:
        return ()
    wait = pluralise(number, "memory waits", "memories wait")
    return (f"{wait} on this machine for the database: no search finds what waits.",)


async def describe_unpulled(workspace: Workspace) -> tuple[str, ...]:
    """A note while records written elsewhere, or here, may be missing: a list may be incomplete."""
    if notes := await describe_waiting(workspace):
        return notes
    if notes := describe_untrusted_cloud(workspace):
        return notes
    outboxes = [bank.mirror.outbox for bank in workspace.banks if bank.mirror]
    try:
        if all([await outbox.load_pull_cursor() for outbox in outboxes]):
            return ()
    except StoreError:  # a call that needs the outbox reports it
        return ()
    return (_NOT_PULLED,)
