"""The queue of nudges in memory, also a slow one; and how a session opens with it."""

import asyncio
from datetime import datetime

from memory_mcp import sessions
from memory_mcp.domain.nudges import Nudge, NudgeHandover, NudgeRemoval, WaitingNudges, rank_nudges
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.block import Block


class MemoryNudges:
    """Implements `ports.NudgeQueue`. No await within `take`, so it is atomic."""

    def __init__(self) -> None:
        self._nudges: list[Nudge] = []

    def place(self, user: str) -> str:
        return f"memory of {user}"

    async def add(self, nudge: Nudge) -> None:
        self._nudges.append(nudge)

    async def waiting(self, user: str, now: datetime) -> WaitingNudges:
        return WaitingNudges(rank_nudges(self._of(user), now))

    async def take(
        self, user: str, now: datetime, taking: NudgeHandover | None = None
    ) -> Nudge | None:
        if taking and not taking.removes():
            return None
        mine = rank_nudges(self._of(user), now)
        await self.clear(user)
        return mine[0] if mine else None

    async def clear(self, user: str, *, everything: bool = False) -> NudgeRemoval:
        del everything  # nothing else can be here
        mine = self._of(user)
        self._nudges = [nudge for nudge in self._nudges if nudge.user != user]
        return NudgeRemoval(len(mine))

    def _of(self, user: str) -> list[Nudge]:
        return [nudge for nudge in self._nudges if nudge.user == user]


class SlowNudges(MemoryNudges):
    """Answers when told."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def take(
        self, user: str, now: datetime, taking: NudgeHandover | None = None
    ) -> Nudge | None:
        self.asked.set()
        await self.may_answer.wait()
        return await super().take(user, now, taking)


class SlowlyRemoved(SlowNudges):
    """Answers when told, and has begun to remove it before that."""

    async def take(
        self, user: str, now: datetime, taking: NudgeHandover | None = None
    ) -> Nudge | None:
        assert taking is None or taking.removes()
        return await super().take(user, now, taking)


async def opened(workspace: Workspace, task: str = "", budget_tokens: int = 500) -> str:
    """The block of a session's beginning, or of a task."""
    block = await sessions.memory_context(workspace, task, budget_tokens)
    assert isinstance(block, Block)
    return block.text
