"""A closeout is visible exactly where its checkpoint's segment is, whatever moves come after it."""

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Literal

from depth import depth
from fakes import FakeClock, FakeIds, close_workspace, forked, real_workspace, switched
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_mcp import branches, maintenance, sessions
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.outcomes import (
    CheckpointSaved,
    Closeout,
    ClosingDecision,
    ConsolidationDraft,
    ConsolidationReceipt,
)
from memory_mcp.domain.timeline import Checkpoint
from memory_mcp.engine.head import load_head, load_view
from memory_mcp.engine.workspace import Workspace

Act = Literal["seal", "pending", "skip", "reopen", "back", "restore", "fork", "switch",
              "consolidate"]  # fmt: skip

_EACH: list[Act] = [
    "seal", "seal", "pending", "skip", "reopen", "back", "restore", "fork", "switch", "consolidate",
]  # fmt: skip
ACTS = st.lists(st.tuples(st.sampled_from(_EACH), st.integers(0, 100)), max_size=14)


class Story:
    """What was written together, and where; done to real files and real SQLite."""

    def __init__(self, workspace: Workspace, clock: FakeClock) -> None:
        self.workspace = workspace
        self.clock = clock
        self.sealed: dict[str, tuple[SegmentId, frozenset[RecordId]]] = {}
        self.told: list[tuple[SegmentId, frozenset[RecordId]]] = []
        self.skipped: set[str] = set()

    async def do(self, act: Act, number: int) -> None:
        self.clock.advance(timedelta(minutes=1))
        timeline = (await load_head(self.workspace)).timeline
        here = self.workspace.caller.branch
        match act:
            case "seal" | "pending":
                await self.seal("pending" if act == "pending" else "approved")
            case "skip":
                await self.decide("skip", timeline.pending(here))
            case "reopen":
                skipped = [c for c in timeline.answered(here) if c.id in self.skipped]
                await self.decide("reopen", skipped)
            case "back":
                names = ["start", *(c.id for c in timeline.valid(here))]
                await branches.backtrack(self.workspace, names[number % len(names)], "continue")
            case "restore":
                await self.restore(number)
            case "fork":
                if len(timeline.branches) < 3:
                    self.workspace = await forked(self.workspace, f"b{len(timeline.branches)}", "")
            case "switch":
                name = timeline.branches[number % len(timeline.branches)]
                self.workspace = await switched(self.workspace, name)
            case "consolidate":
                await self.consolidate()

    async def seal(self, approval: Literal["approved", "pending"]) -> None:
        at = len(self.sealed)
        closeout = Closeout(
            (ClosingDecision(f"Choice {at}"),), issues=(f"Issue {at}",), agents=(f"A{at}",)
        )
        outcome = await branches.checkpoint(
            self.workspace, f"Step {at}", None, again=False, approval=approval, closeout=closeout
        )
        assert isinstance(outcome, CheckpointSaved)
        written = frozenset(record.id for record in outcome.written)
        assert len(written) == 4
        self.sealed[outcome.checkpoint.id] = (outcome.checkpoint.seals[-1], written)

    async def decide(self, decision: branches.Decision, asked: list[Checkpoint]) -> None:
        for each in asked[:1]:
            await branches.decide_checkpoint(self.workspace, each.id, decision, "", again=False)
            self.skipped ^= {each.id}

    async def restore(self, number: int) -> None:
        timeline = (await load_head(self.workspace)).timeline
        here = self.workspace.caller.branch
        if lines := [line for line in timeline.left_lines() if line.branch == here]:
            await branches.backtrack(self.workspace, lines[number % len(lines)].id, "continue")

    async def consolidate(self) -> None:
        name = f"s-{len(self.told)}"
        given = ConsolidationDraft(f"{name} began.", f"{name} is done.", (f"{name} saw.",), name)
        outcome = await sessions.consolidate(self.workspace, given)
        assert isinstance(outcome, ConsolidationReceipt)
        segments = {record.segment for record in outcome.written}
        (segment,) = segments
        assert segment is not None
        self.told.append((segment, frozenset(record.id for record in outcome.written)))

    async def check(self) -> None:
        view = await load_view(self.workspace)
        index = self.workspace.project.index
        for name, (segment, written) in self.sealed.items():
            holds = segment in view.chain and name not in self.skipped
            assert await index.visible(written, view) == (written if holds else set())
        for segment, written in self.told:
            holds = segment in view.chain
            assert await index.visible(written, view) == (written if holds else set())


@given(acts=ACTS)
@example(acts=[("seal", 0), ("pending", 0), ("seal", 0), ("back", 98), ("skip", 0)])
@example(acts=[("pending", 0), ("skip", 0), ("reopen", 0), ("back", 0), ("restore", 0)])
@settings(max_examples=depth(2, 25))
def test_what_is_written_in_one_step_holds_exactly_where_its_segment_does(
    acts: list[tuple[Act, int]],
) -> None:
    """A backtrack hides all of it, a restore brings all of it back, on every branch."""

    async def told() -> None:
        with tempfile.TemporaryDirectory() as folder:
            clock = FakeClock()
            workspace = real_workspace(Path(folder), clock, FakeIds())
            story = Story(workspace, clock)
            try:
                for act, number in acts:
                    await story.do(act, number)
                    await story.check()
                assert await maintenance.run_doctor(workspace) == []
            finally:
                await close_workspace(workspace)

    asyncio.run(told())
