"""Where no hook reminds an agent to sum up, receipts do, now and then."""

from dataclasses import replace

import pytest
from doors import Era, agent, call, seal

from memory_mcp.config.settings import Settings
from memory_mcp.domain.sessions import ContextSettings
from memory_mcp.server.tools import REMINDER

pytestmark = pytest.mark.anyio

ITEMS = ("Tea", "Coffee", "Milk", "Sugar", "Bread", "Cheese")


async def reminded(settings: Settings, era: Era) -> list[bool]:
    """Which of six writing calls, with a checkpoint after the fourth, carry a reminder."""
    often = replace(settings, opening=ContextSettings(interval=2))
    said: list[bool] = []
    async with agent(often, era) as client:
        for item in ITEMS:
            added = await call(client, "add_memory", content=f"{item} is on shelf {item[0]}.")
            said.append(added.get("reminder") == REMINDER)
            if len(said) == 3:
                await seal(client, "Shelves filled")
    return said


async def test_a_receipt_reminds_after_so_many_writes(settings: Settings, era: Era) -> None:
    """And not again right after a checkpoint."""
    assert await reminded(settings, era) == [False, True, False, False, True, False]


async def test_hooks_and_receipts_do_not_both_remind(settings: Settings, era: Era) -> None:
    """The plugin switches the hooks' tools on; its hooks count turns."""
    assert not any(await reminded(replace(settings, toolsets=("hooks",)), era))
