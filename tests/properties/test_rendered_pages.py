"""Whatever is done to a memory, the rendered files show what holds, and nothing that was given up.

Adds, corrections, checkpoints, backtracks, restores and forgets, in any order. After each of them
the pages are compared with the pure rule of visibility, asked of every record there is. Before the
answer of what hides nothing may show it any more; what is missing follows in the background.
"""

import asyncio
import re
from datetime import timedelta

from depth import depth
from fakes import FakeClock, FakeIds, fake_workspace
from hypothesis import given, settings
from hypothesis import strategies as st
from views_in_memory import MemoryViews

from memory_mcp import bootstrap, branches, memories, sessions
from memory_mcp.domain.ids import MAIN, ROOT, RecordId
from memory_mcp.domain.outcomes import HeadReport
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.domain.search import View
from memory_mcp.render.block import Block, count_tokens
from memory_mcp.timeline.visibility import select_visible

KINDS: tuple[Kind, ...] = ("fact", "decision", "lesson", "preference", "event", "identity")

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "add", "add", "user", "history", "correct", "seal", "back", "erase-road",
             "restore", "forget", "hide", "wait"]
        ),
        st.integers(0, 30),
    ),
    max_size=25,
)  # fmt: skip
"""What is done, and to which of those there are."""

_NAMED = re.compile(r"\[([0-9a-f-]{36})\]")


class World:
    """A workspace in memory, and what is known of them without asking them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.workspace = fake_workspace(self.clock, FakeIds())
        assert isinstance(self.workspace.views, MemoryViews)
        self.views = self.workspace.views
        self.behind = False

    async def step(self, what: str, number: int) -> None:
        self.clock.advance(timedelta(seconds=1))
        count = self.workspace.project.changes.count
        match what:
            case "add" | "user" | "history":
                kind = "event" if what == "history" else KINDS[number % len(KINDS)]
                await memories.add_memory(self.workspace, Draft(
                    f"Of {count} the word is w{count}.", kind=kind,
                    category="history" if what == "history" else "",
                    importance=1 + number % 5, pinned=number == 1,
                    expires_at=self.clock.now() + timedelta(minutes=9) if number == 2 else None,
                    reach="user" if what == "user" else "project",
                ))  # fmt: skip
            case "seal":
                await branches.checkpoint(
                    self.workspace, f"Sealed w{count}.", number, again=True, approval="approved"
                )
            case "wait":
                self.clock.advance(timedelta(minutes=10))
                await bootstrap.render_views(self.workspace)
            case _:
                await self._given_up(what, number, count)
        self.behind = self.workspace.project.changes.count > self.workspace.project.changes.shown
        if what not in ("add", "user", "history", "seal"):
            there = {record.id for record in await self.seen()}
            assert named("".join(self.views.pages.values())) <= there, "it is withdrawn at once"

    async def _given_up(self, what: str, number: int, count: int) -> None:
        report = await branches.report_head(self.workspace)
        assert isinstance(report, HeadReport)
        if what in ("back", "erase-road") and report.checkpoints:
            to = report.checkpoints[number % len(report.checkpoints)].checkpoint.id
            await branches.backtrack(self.workspace, to, "continue" if what == "back" else "forget")
        elif what == "restore" and report.lines:
            line = report.lines[number % len(report.lines)].line.id
            await branches.backtrack(self.workspace, line, "continue")
        elif what in ("correct", "forget", "hide"):
            there = [r for r in await self.seen() if r.kind != "checkpoint"]
            if there:
                id_ = there[number % len(there)].id
                if what == "correct":
                    await memories.update_memory(self.workspace, id_, f"Corrected to w{count}.")
                else:
                    await memories.forget_memory(self.workspace, id_, "", erase=what == "forget")

    async def seen(self) -> list[Record]:
        """What holds on main, by the pure rule."""
        records: list[Record] = []
        for bank in self.workspace.banks:
            records += [r async for r in bank.records.scan(await bank.records.ids())]
        head = await self.workspace.heads.read()
        chain = head.timeline.chain(MAIN) if head else frozenset({ROOT})
        return [r for r in select_visible(records, View(chain, self.clock.now())) if r.recalled]

    async def compared(self) -> None:
        if self.behind:
            await bootstrap.render_if_stale(self.workspace)
        if not self.views.pages:
            return
        seen = await self.seen()
        project = {r.id for r in seen if r.scope.project is not None}
        told = {
            r.id for r in seen if r.id in project
            and (r.kind == "checkpoint" or (r.kind == "event" and r.category == "history"))
        }  # fmt: skip
        assert named(self.views.pages["MEMORY.md"]) == project, "all of it fits"
        assert named(self.views.pages["HISTORY.md"]) == told
        every = {r.id for r in seen}
        lying = self.views.bootstraps["main"]
        for text in (lying["text"], self.views.pages["session-context.md"]):
            assert named(text) <= every
        assert lying["tokens"] == count_tokens(lying["text"]) <= 500
        words = {word for r in seen for word in re.findall(r"w\d+", r.content)}
        for text in (*self.views.pages.values(), lying["text"]):
            assert set(re.findall(r"\bw\d+\b", text)) <= words
        block = await sessions.memory_context(self.workspace)
        assert isinstance(block, Block)
        live = block.text.splitlines()
        assert lying["text"].splitlines() == [*live[:-2], live[-1]]


def named(text: str) -> set[RecordId]:
    return {RecordId(id_) for id_ in _NAMED.findall(text)}


@settings(max_examples=depth(5, 60))
@given(STEPS)
def test_rendered_files_show_exactly_what_holds(steps: list[tuple[str, int]]) -> None:
    """Nothing abandoned is recalled, and a file is a way to recall."""

    async def story() -> None:
        world = World()
        for what, number in steps:
            await world.step(what, number)
            await world.compared()

    asyncio.run(story())
