"""A session that is killed in the midst of a checkpoint: what is sealed is found, and given up."""

from pathlib import Path

import pytest
from doors import files_with
from fakes import FakeIds, close_workspace, real_workspace

from memory_mcp import branches, memories, search, sessions
from memory_mcp.disk import Access, Disk
from memory_mcp.domain.outcomes import (
    AlreadyKnown,
    Backtracked,
    Closeout,
    ClosingDecision,
    HeadReport,
    SearchResults,
)
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.block import Block

pytestmark = pytest.mark.anyio

CLOSEOUT = Closeout(
    (ClosingDecision("Kafka carries the orders", "they can be replayed"),), issues=("No mails yet",)
)


class Killed(BaseException):
    """Nothing may catch it: the process is gone."""


class Killing(Disk):
    """Kills its process once so many records have their files, before the last one is indexed.

    Without any it kills before the first: the head alone was replaced.
    """

    def __init__(self, records: int) -> None:
        self._left = records

    def write(self, path: Path, data: bytes, access: Access | None = None) -> None:
        ours = path.parents[1].name == "memory"
        if ours and self._left == 0:
            raise Killed
        super().write(path, data, access)
        self._left -= ours
        if ours and self._left == 0:
            raise Killed


async def cut_short(folder: Path, records: int) -> Workspace:
    """Another session, after one was killed while it sealed the first phase."""
    killed = real_workspace(folder, ids=FakeIds(1), disk=Killing(records))
    with pytest.raises(Killed):
        await branches.checkpoint(
            killed, "Done", 1, again=False, approval="approved", closeout=CLOSEOUT
        )
    await close_workspace(killed)
    return real_workspace(folder)


async def found(workspace: Workspace, query: str) -> list[str]:
    outcome = await search.search_memories(workspace, query, Filters(), 10)
    assert isinstance(outcome, SearchResults)
    return [hit.record.content for hit in outcome.hits]


@pytest.mark.files
@pytest.mark.parametrize("records", [0, 1, 2, 3])
async def test_what_was_sealed_when_its_session_was_killed_is_found_at_once(
    tmp_path: Path, records: int
) -> None:
    """The head is the commit: no start and no doctor may be needed to see what it seals."""
    workspace = await cut_short(tmp_path, records)
    try:
        decided, *_ = await found(workspace, "what carries the orders")
        opened = await sessions.memory_context(workspace)
        again = await memories.add_memory(workspace, Draft("No mails yet"))
        head = await branches.report_head(workspace)
    finally:
        await close_workspace(workspace)

    assert decided.startswith("Kafka carries the orders")
    assert isinstance(opened, Block)
    assert "Kafka carries the orders" in opened.text
    assert isinstance(again, AlreadyKnown)
    assert isinstance(head, HeadReport)
    assert head.memories == 3


@pytest.mark.files
@pytest.mark.parametrize("records", [0, 1, 2, 3])
async def test_an_add_sees_what_was_sealed_when_its_session_was_killed(
    tmp_path: Path, records: int
) -> None:
    """What is known must not be stored a second time, whoever comes first after the cut."""
    workspace = await cut_short(tmp_path, records)
    try:
        assert isinstance(await memories.add_memory(workspace, Draft("No mails yet")), AlreadyKnown)
    finally:
        await close_workspace(workspace)


@pytest.mark.files
@pytest.mark.parametrize("records", [0, 1, 2, 3])
async def test_what_was_sealed_when_its_session_was_killed_can_be_given_up(
    tmp_path: Path, records: int
) -> None:
    """No text may be left on the disk because the index did not know of it."""
    workspace = await cut_short(tmp_path, records)
    try:
        gone = await branches.backtrack(workspace, "start", "forget")
        assert isinstance(gone, Backtracked)
        assert await found(workspace, "what carries the orders") == []
    finally:
        await close_workspace(workspace)

    assert gone.erased == 4
    assert files_with(tmp_path, "Kafka") == files_with(tmp_path, "No mails yet") == []


@pytest.mark.files
async def test_a_memory_whose_session_was_killed_before_it_was_indexed_can_be_given_up(
    tmp_path: Path,
) -> None:
    """It was never acknowledged, and is on the disk all the same."""
    killed = real_workspace(tmp_path, ids=FakeIds(1), disk=Killing(1))
    with pytest.raises(Killed):
        await memories.add_memory(killed, Draft("Kafka carries the orders"))
    await close_workspace(killed)
    workspace = real_workspace(tmp_path)
    try:
        await branches.backtrack(workspace, "start", "forget")
    finally:
        await close_workspace(workspace)

    assert files_with(tmp_path, "Kafka") == []
