"""Whatever is done, "Nothing changed" is said only where the opening says the same as then.

Records come with the ids of other times and processes, the clock jumps, what was written is moved
back and forth, erased, expires, or vanishes. Openings are taken in between, and each is asked for
what has changed since.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta

from depth import depth
from fakes import FakeClock, FakeIds, Scribe, fake_workspace
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_mcp import branches, memories, sessions
from memory_mcp.bootstrap.opening import build_bootstrap
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import HeadReport
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.block import Block

JUMPS = tuple(timedelta(seconds=n) for n in (1, 30, 700, -20, -700, 90_000, -90_000))

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "add", "brief", "user", "odd", "odd", "vanish", "seal", "back", "erase-road",
             "restore", "forget", "hide", "jump", "look"]
        ),
        st.integers(0, 30),
    ),
    max_size=20,
)  # fmt: skip
"""What is done, and to which of those there are."""


class World:
    """A workspace in memory, and the openings that were taken."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.workspace: Workspace = fake_workspace(self.clock, FakeIds())
        self.openings: dict[str, list[str]] = {}
        self.count = 0

    async def step(self, what: str, number: int) -> None:
        self.count += 1
        self.clock.advance(timedelta(milliseconds=7))
        match what:
            case "add" | "user" | "brief":
                soon = self.clock.now() + timedelta(seconds=20 * (1 + number))
                await memories.add_memory(self.workspace, Draft(
                    f"Of {self.count} the word is w{self.count}.", importance=1 + number % 5,
                    expires_at=soon if what == "brief" else None,
                    reach="user" if what == "user" else "project",
                ))  # fmt: skip
            case "odd":  # from an import, another clone, or a process that was slow
                clock = FakeClock(self.clock.now() + (number - 15) * abs(number - 15) * JUMPS[1])
                scribe = Scribe(clock, FakeIds(self.count))
                words = f"From afar came v{self.count}."
                await self.workspace.project.keep(
                    scribe.record(words, segment="root", branch="main")
                )
            case "vanish":
                if ids := sorted(await self.workspace.project.records.ids()):
                    lost = {ids[number % len(ids)]}
                    await self.workspace.project.records.erase(lost)
                    await self.workspace.project.index.remove(lost)
            case "jump":
                self.clock.advance(JUMPS[number % len(JUMPS)])
                self.workspace = replace(self.workspace, ids=FakeIds(self.count))  # another process
            case "look":
                text, since = await self.opening()
                self.openings[since] = text
            case _:
                await self.given_up(what, number)

    async def given_up(self, what: str, number: int) -> None:
        report = await branches.report_head(self.workspace)
        assert isinstance(report, HeadReport)
        choices = {
            "restore": [each.line.id for each in report.lines],
            "forget": sorted(await self.workspace.project.records.ids()),
        }.get(
            "forget" if what == "hide" else what,
            [each.checkpoint.id for each in report.checkpoints],
        )
        if what == "seal":
            await branches.checkpoint(
                self.workspace, f"Sealed w{self.count}.", number, again=True, approval="approved"
            )
        elif choices:
            chosen = choices[number % len(choices)]
            if what in ("forget", "hide"):
                with_memory = await self.workspace.project.records.get(RecordId(chosen))
                if with_memory and with_memory.kind == "fact":
                    await forgotten(self.workspace, RecordId(chosen), erase=what == "forget")
            else:
                then = "forget" if what == "erase-road" else "continue"
                await branches.backtrack(self.workspace, chosen, then)

    async def opening(self) -> tuple[list[str], str]:
        """The opening without what it cost, and the token to go on from."""
        block = await build_bootstrap(self.workspace)
        return [line for line in block.text.splitlines() if " tokens, " not in line], block.since


async def forgotten(workspace: Workspace, record_id: RecordId, *, erase: bool) -> None:
    """Forget it, if it holds here."""
    try:
        await memories.forget_memory(workspace, record_id, "", erase=erase)
    except InvalidRequestError:
        return


@settings(max_examples=depth(10, 150))
@example([("seal", 0), ("back", 0), ("vanish", 0)])  # the record of a checkpoint is gone
@given(STEPS)
def test_nothing_changed_is_said_only_where_nothing_did(steps: list[tuple[str, int]]) -> None:
    """Whoever is told so goes on with what was read before."""

    async def story() -> None:
        world = World()
        for what, number in [("look", 0), *steps]:
            await world.step(what, number)
            now, _ = await world.opening()
            for since, then in world.openings.items():
                if await says_nothing(world.workspace, since):
                    assert then == now

    asyncio.run(story())


async def says_nothing(workspace: Workspace, since: str) -> bool:
    try:
        block = await sessions.memory_context(workspace, since=since)
    except InvalidRequestError:  # of a state that was lost: it says so
        return False
    assert isinstance(block, Block)
    return "Nothing changed since" in block.text
