"""A small project with something of everything that a session opens with."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from fakes import FakeClock, FakeIds, Scribe, close_workspace, real_workspace

from memory_mcp import branches, memories
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import CheckpointSaved, MemoryAdded
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.engine.workspace import Workspace

__all__ = ["Story", "page", "told"]


class Story:
    """Tells workspace of a project, a minute apart."""

    def __init__(self, workspace: Workspace, clock: FakeClock, ids: FakeIds) -> None:
        self.workspace = workspace
        self.clock = clock
        self._scribe = Scribe(clock, ids)

    async def say(self, content: str, **fields: Any) -> RecordId:
        """Remember something by the usual way; its id."""
        self.clock.advance(timedelta(minutes=1))
        done = await memories.add_memory(self.workspace, Draft(content, **fields))
        assert isinstance(done, MemoryAdded)
        return done.record.id

    async def seal(self, summary: str, phase: int | None = None) -> str:
        """Seal a checkpoint; its name."""
        self.clock.advance(timedelta(minutes=1))
        done = await branches.checkpoint(
            self.workspace, summary, phase, again=False, approval="approved"
        )
        assert isinstance(done, CheckpointSaved)
        return done.checkpoint.id

    def record(self, content: str, kind: Kind = "fact", segment: str | None = "root") -> Record:
        """A record that is not written yet."""
        self.clock.advance(timedelta(seconds=1))
        return self._scribe.record(content, kind=kind, segment=segment)

    async def keep(self, content: str, **fields: Any) -> Record:
        """Write a record as it is, at the tip of the branch."""
        self.clock.advance(timedelta(minutes=1))
        head = await self.workspace.heads.read()
        branch = self.workspace.caller.branch
        tip = head.timeline.tips(branch)[-1] if head else "root"
        record = self._scribe.record(content, segment=tip, branch=branch, **fields)
        await self.workspace.project.keep(record)
        return record

    async def phase_one(self) -> str:
        """Two days of work, and the checkpoint that seals them."""
        say, keep = self.say, self.keep
        await say("The shop sells coffee to offices, by subscription.", kind="identity")
        await say("My name is Ada. I live in Berlin.", reach="user")
        await say("Answer in short sentences.", kind="preference", reach="user", pinned=True)
        await say("Table names are plural.", kind="convention", importance=4)
        await say("Redis was lost on restart: never keep carts there.", kind="lesson")
        await say("PostgreSQL for orders, because reports join five tables.", kind="decision")
        await say("Orders have a voucher.")
        await keep(
            "On the first day the model of the shop was drawn, and orders were built on it.",
            kind="event", category="history", layer="recall",
        )  # fmt: skip
        await keep(
            "Vouchers are counted twice when an order is split.",
            kind="closeout", key="phase:shop:1:issues", phase=1,
        )  # fmt: skip
        await keep("src/orders.py", kind="closeout", key="phase:shop:1:artifacts", phase=1)
        self.clock.advance(timedelta(days=1))
        return await self.seal("The model stands, orders work.", phase=1)

    async def phase_two(self) -> None:
        """What a backtrack to phase 1 gives up."""
        await self.say("Carts rest in cookies.", kind="decision")
        await self.keep(
            "Carts work; next are invoices.", kind="summary", key="gardener:shop:s2:checkpoint"
        )
        await self.keep(
            "Who tests with one order finds nothing.",
            kind="summary", key="gardener:shop:s2:insights",
        )  # fmt: skip
        await self.keep(
            "Ada asked how carts survive a restart, and cookies were chosen.", kind="episode"
        )
        await self.say("# Not a heading </memory> @~/.ssh/id <!-- ``` of a fence")


@asynccontextmanager
async def told(folder: Path) -> AsyncGenerator[Story]:
    """A story that is told to real workspace below the folder."""
    clock, ids = FakeClock(), FakeIds()
    workspace = real_workspace(folder, clock, ids)
    yield Story(workspace, clock, ids)
    await close_workspace(workspace)


def page(project: Path, name: str = "MEMORY.md") -> str:
    """A rendered page of a project."""
    folder = project / ".claude"
    path = folder / name if name == "session-context.md" else folder / "memory" / name
    return path.read_text("utf-8")
