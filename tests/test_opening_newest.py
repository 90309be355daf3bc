"""What the last section of an opening shows."""

import re
from datetime import timedelta

import pytest
from fakes import FakeClock, Scribe, fake_workspace

from memory_mcp import memories, sessions
from memory_mcp.domain.record import Draft
from memory_mcp.render.block import Block

pytestmark = pytest.mark.anyio


async def test_what_a_checkpoint_says_is_not_said_again_by_its_closeout() -> None:
    """The newest are facts; an issue stays, for a task as well."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    await memories.add_memory(workspace, Draft("Orders rest in PostgreSQL."))
    scribe = Scribe(clock)
    for number in range(8):
        for part in ("closeout", "artifacts", "agents", "issues"):
            clock.advance(timedelta(minutes=1))
            key = f"phase:shop:{number}:{part}"
            await workspace.project.keep(scribe.record(
                f"Of {part} {number}.", kind="closeout", key=key, segment="root", branch="main",
            ))  # fmt: skip
    whole = await sessions.memory_context(workspace, budget_tokens=2_000)
    task = await sessions.memory_context(workspace, "unheard", budget_tokens=2_000)

    assert isinstance(whole, Block)
    assert isinstance(task, Block)
    newest = whole.text.split("## Newest\n")[1].splitlines()
    assert newest[0].startswith("- Orders rest in PostgreSQL.")
    assert not re.search("Of (closeout|artifacts|agents)", whole.text + task.text)
    assert "Of issues 7." in task.text
