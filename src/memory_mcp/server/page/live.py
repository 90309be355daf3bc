"""Tells the page when anything was written, by this process or by any other."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from memory_mcp.engine.workspace import Workspace

_LOOK_SECONDS: Final = 0.4
"""How often the files are looked at while somebody watches: a few `stat` calls."""

_ALIVE_LOOKS: Final = 25
"""After so many looks without news something is sent: a browser that has gone is noticed."""


async def follow_changes(workspace: Workspace, ending: asyncio.Event) -> AsyncGenerator[bool]:
    """True after each write, False now and then without one, until the end.

    Another process may be about to note its write in the index when the files are looked at, so
    each change is told a second time with the next look.
    """
    banks = workspace.banks
    seen: object = None
    quiet = 0
    again = False
    while not ending.is_set():
        counts = [bank.changes.count for bank in banks]
        now = (await workspace.views.watch(), counts)
        if seen is not None and (now != seen or again):
            again = now != seen
            quiet = 0
            yield True
        elif quiet >= _ALIVE_LOOKS:
            quiet = 0
            yield False
        seen = now
        quiet += 1
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await _wait_for_news(workspace, counts[0], ending)


async def _wait_for_news(workspace: Workspace, count: int, ending: asyncio.Event) -> None:
    waits = [
        asyncio.ensure_future(workspace.project.changes.after(count)),
        asyncio.ensure_future(ending.wait()),
    ]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
