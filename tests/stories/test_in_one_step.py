"""Records that are written together: all of them, or none, whoever comes in between."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from doors import files_with
from fakes import FakeIds, close_workspace, real_workspace

from memory_mcp import branches, maintenance, memories, sessions
from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import (
    CheckpointSaved,
    Closeout,
    ClosingDecision,
    ConsolidationDraft,
    ConsolidationReceipt,
    Finding,
    MemoryAdded,
    PhaseSealed,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.head import load_head, make_writing
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import ConflictError
from memory_mcp.ports import HeadStore
from memory_mcp.text.drafts import build_tombstone

pytestmark = pytest.mark.anyio

CLOSEOUT = Closeout(
    (ClosingDecision("JWT for the API", "no session store"),), issues=("No mails yet",)
)
GIVEN = ConsolidationDraft("Begun.", "Login works.", ("Mails are slow.",))


@dataclass
class Overtaken:
    """A head store before whose next replacement another session is first, so many times."""

    heads: HeadStore
    other: Workspace
    times: int = 1

    @property
    def place(self) -> str:
        return self.heads.place

    async def read(self) -> Head | None:
        return await self.heads.read()

    async def replace(self, head: Head, *, expected: int) -> None:
        if self.times:
            self.times -= 1
            await branches.checkpoint(self.other, "First", None, again=False, approval="approved")
        await self.heads.replace(head, expected=expected)

    async def find_unlogged(self, moves: Sequence[Record]) -> list[Record]:
        return await self.heads.find_unlogged(moves)

    async def log(self, moves: Sequence[Record]) -> None:
        await self.heads.log(moves)

    async def findings(self, *, repair: bool) -> list[Finding]:
        return await self.heads.findings(repair=repair)


async def seal(workspace: Workspace, phase: int | None = None) -> CheckpointSaved | PhaseSealed:
    outcome = await branches.checkpoint(
        workspace, "Done", phase, again=False, approval="approved", closeout=CLOSEOUT
    )
    assert isinstance(outcome, CheckpointSaved | PhaseSealed)
    return outcome


def note_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The longest that each pause between two tries may take, of which none is made."""
    waited: list[float] = []

    def draw(least: float, most: float) -> float:
        waited.append(most)
        return least

    monkeypatch.setattr("random.uniform", draw)
    return waited


async def test_who_is_overtaken_writes_once_and_where_it_then_stands(tmp_path: Path) -> None:
    """What was planned for the earlier head must not be left behind in a sealed segment."""
    other = real_workspace(tmp_path, ids=FakeIds(1))
    workspace = real_workspace(tmp_path)
    await load_head(workspace)
    workspace = replace(workspace, heads=Overtaken(workspace.heads, other))
    try:
        sealed = await seal(workspace)
        assert isinstance(sealed, CheckpointSaved)
        stored = [r async for r in other.project.records.scan(await other.project.records.ids())]
        told = await sessions.consolidate(
            replace(workspace, heads=Overtaken(workspace.heads, other)), GIVEN
        )
        assert isinstance(told, ConsolidationReceipt)
        tips = (await load_head(workspace)).timeline.tips(workspace.caller.branch)
    finally:
        await close_workspace(workspace)
        await close_workspace(other)

    carried = [r for r in stored if r.kind in ("decision", "closeout")]
    assert {r.id for r in carried} == {r.id for r in sealed.written}
    assert {r.segment for r in carried} == set(sealed.checkpoint.seals)
    assert {r.segment for r in told.written} == set(tips)


@pytest.mark.parametrize("what", ["checkpoint", "consolidate"])
async def test_who_is_always_overtaken_leaves_nothing(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says that nothing was changed, so nothing was."""
    waited = note_pauses(monkeypatch)
    other = real_workspace(tmp_path, ids=FakeIds(1))
    workspace = real_workspace(tmp_path)
    await load_head(workspace)
    workspace = replace(workspace, heads=Overtaken(workspace.heads, other, times=1_000))
    try:
        with pytest.raises(ConflictError, match="nothing was changed"):
            await (
                seal(workspace) if what == "checkpoint" else sessions.consolidate(workspace, GIVEN)
            )
        stored = [r async for r in other.project.records.scan(await other.project.records.ids())]
    finally:
        await close_workspace(workspace)
        await close_workspace(other)

    assert {r.content for r in stored} == {"First"}
    assert len(waited) == limits.HEAD_MOVES_RETRY_MAX - 1
    assert waited == sorted(waited), "of many that try again at once, one would always be last"
    assert 1 < sum(waited) < 5


async def test_who_was_overtaken_by_the_same_phase_is_refused(tmp_path: Path) -> None:
    """The closeout of a phase that somebody else has just sealed is not written beside theirs."""
    other = real_workspace(tmp_path, ids=FakeIds(1))
    try:
        assert isinstance(await seal(other, 2), CheckpointSaved)
        workspace = real_workspace(tmp_path)
        before = await workspace.project.records.ids()
        assert isinstance(await seal(workspace, 2), PhaseSealed)
        assert await workspace.project.records.ids() == before
        await close_workspace(workspace)
    finally:
        await close_workspace(other)


async def test_the_doctor_knows_what_the_head_still_holds(tmp_path: Path) -> None:
    """A record whose file was never written is written; one that was forgotten leaves the head."""
    workspace = real_workspace(tmp_path)
    try:
        sealed = await seal(workspace)
        assert isinstance(sealed, CheckpointSaved)
        decision, issue, _ = sealed.written
        place = make_writing(
            workspace, (await load_head(workspace)).timeline, workspace.clock.now()
        )
        await workspace.project.records.erase({decision.id})
        await workspace.project.index.remove({decision.id})
        await workspace.project.keep(build_tombstone(issue, "", place, erase=True))
        await workspace.project.erase({issue.id})
        head = await load_head(workspace)
        cut = head.model_copy(update={"with_last": sealed.written})  # as a cut leaves it
        await workspace.heads.replace(cut, expected=head.revision)

        found = await maintenance.run_doctor(workspace, repair=True)
        assert {f.code for f in found} >= {"records-unwritten", "forget-unfinished"}
        assert await maintenance.run_doctor(workspace) == []
        assert await workspace.project.records.get(decision.id) == decision
        assert await workspace.project.records.get(issue.id) is None
    finally:
        await close_workspace(workspace)

    assert files_with(tmp_path, "No mails yet") == []


@pytest.mark.parametrize("buried", [False, True], ids=["forgotten here", "forgotten elsewhere"])
async def test_who_is_overtaken_in_a_forget_forgets_all_the_same(
    tmp_path: Path, *, buried: bool
) -> None:
    """The head of the session that was first must hold no word of it either."""
    other = real_workspace(tmp_path, ids=FakeIds(1))
    workspace = real_workspace(tmp_path)
    try:
        sealed = await seal(workspace)
        assert isinstance(sealed, CheckpointSaved)
        decision, issue, _ = sealed.written
        if buried:  # as a tombstone of another clone does
            place = make_writing(
                workspace, (await load_head(workspace)).timeline, workspace.clock.now()
            )
            await workspace.project.keep(build_tombstone(issue, "", place, erase=True))
            await workspace.project.erase({issue.id})
        late = replace(workspace, heads=Overtaken(workspace.heads, other))
        gone = decision if buried else issue
        await memories.forget_memory(late, gone.id, "", erase=True)
        head = await load_head(workspace)
    finally:
        await close_workspace(workspace)
        await close_workspace(other)

    assert not {gone.id, issue.id}.intersection(record.id for record in head.with_last)
    assert files_with(tmp_path, "No mails yet") == []


@pytest.mark.files
async def test_a_damaged_file_of_a_closeout_keeps_nobody_from_moving_on(tmp_path: Path) -> None:
    """The doctor names it; the timeline does not stand still for it."""
    workspace = real_workspace(tmp_path)
    try:
        sealed = await seal(workspace)
        assert isinstance(sealed, CheckpointSaved)
        (path,) = (tmp_path / "project").rglob(f"{sealed.written[0].id}.json")
        path.write_text("{", encoding="ascii")
        again = await branches.checkpoint(workspace, "Next", None, again=False, approval="approved")
        assert isinstance(again, CheckpointSaved)
    finally:
        await close_workspace(workspace)

    assert path.read_text("ascii") == "{"


async def test_of_several_who_say_what_the_project_is_one_stands(tmp_path: Path) -> None:
    """Two identities that open every session would contradict each other for good."""
    every = [real_workspace(tmp_path, ids=FakeIds(n)) for n in range(4)]
    try:
        said = await asyncio.gather(
            *(
                memories.set_identity(workspace, f"A shop, as {n} says.")
                for n, workspace in enumerate(every)
            )
        )
        known = await memories.load_identity(every[0])
    finally:
        for workspace in every:
            await close_workspace(workspace)

    assert all(isinstance(outcome, MemoryAdded) for outcome in said)
    assert isinstance(known, list)
    assert len(known) == 1
