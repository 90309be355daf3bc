"""What is asked of a mirrored project afterwards: what did the cloud get, and how often?"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import anyio
from cloud import Cloud
from cloud_views import Document
from fakes import FakeClock

from memory_mcp import memories, sync
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.cloud import OutboxCounts
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft, Record
from memory_mcp.engine.cloud import count_outboxes
from memory_mcp.engine.mirror import Mirror
from memory_mcp.storage.supermemory.documents import to_document
from memory_mcp.sync.push import deliver_claim

__all__ = [
    "drained",
    "handed_over",
    "hands_over",
    "later",
    "mirror_of",
    "project_documents",
    "remembered",
    "sent_of",
    "stored_as_written",
    "until",
]

HOURS_MAX = 12
"""Twice as long as an add and a delete after it can take, with every look that is due."""

SECONDS_MAX = 60
"""How long something may take to happen: no measure of speed."""


def mirror_of(built: BuiltWorkspace) -> Mirror:
    """What is behind the project's bank."""
    mirror = built.workspace.project.mirror
    assert mirror is not None
    return mirror


def later(built: BuiltWorkspace, by: timedelta = timedelta(seconds=1)) -> FakeClock:
    """A clock of the outboxes that is so far ahead, and from now on moves only when told."""
    clock = FakeClock(datetime.now(UTC).replace(microsecond=0) + by)
    for bank in built.workspace.banks:
        assert bank.mirror is not None
        bank.mirror.clock = clock
    return clock


async def remembered(built: BuiltWorkspace, text: str) -> Record:
    """A memory that was acknowledged."""
    outcome = await memories.add_memory(built.workspace, Draft(text))
    assert isinstance(outcome, MemoryAdded)
    return outcome.record


async def handed_over(built: BuiltWorkspace) -> None:
    """Deliver what can be delivered within half a minute."""
    known = mirror_of(built).clock
    clock = known if isinstance(known, FakeClock) else later(built)
    for _ in range(5):
        for bank in built.workspace.banks:
            while await deliver_claim(bank):
                pass
        clock.advance(timedelta(seconds=6))


async def drained(built: BuiltWorkspace) -> OutboxCounts:
    """Deliver and confirm all there is, hours after whatever happened before."""
    clock = later(built, timedelta(hours=2))
    await sync.sync(built.workspace, lambda _done, _total: None)
    for _ in range(HOURS_MAX):
        clock.advance(timedelta(hours=1))
        for bank in built.workspace.banks:
            while await deliver_claim(bank):
                pass
    return await count_outboxes(built.workspace)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what happens in another process or thread."""
    with anyio.fail_after(SECONDS_MAX):
        while not condition():  # noqa: ASYNC110  # there is no event that crosses over
            await anyio.sleep(0.01)


def project_documents(cloud: Cloud, built: BuiltWorkspace) -> dict[str, Document]:
    """What the cloud holds of the project."""
    return cloud.documents(mirror_of(built).namespace)


def stored_as_written(document: Document, record: Record) -> bool:
    """Whether the document says what the record says, all of it."""
    sent = to_document(record, extract=False)
    return (document.content, document.metadata) == (sent.content, dict(sent.metadata))


def hands_over(method: str, path: str) -> bool:
    """Whether a request hands documents over: for faults that hit nothing else."""
    return method == "POST" and path.endswith(("/document", "/document/batch"))


def sent_of(cloud: Cloud) -> dict[str, list[str]]:
    """Every text that was ever posted for an id, whether or not it arrived."""
    texts: dict[str, list[str]] = {}
    for asked in cloud.requests:
        if hands_over(asked.method, asked.path):
            for sent in asked.body.get("documents", [asked.body]):
                texts.setdefault(sent["id"], []).append(sent["content"])
    return texts
