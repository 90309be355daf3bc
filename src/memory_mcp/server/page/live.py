"""Tells the page when anything was written, by this process or by any other."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from memory_mcp.engine.looks import ChangeLooks
from memory_mcp.engine.workspace import Workspace

_LOOK_SECONDS: Final = 0.4
"""How often the files are looked at while somebody watches: a few `stat` calls."""

_ALIVE_LOOKS: Final = 25
"""After so many looks without news something is sent: a browser that has gone is noticed."""


async def follow_changes(workspace: Workspace, ending: asyncio.Event) -> AsyncGenerator[bool]:
    """True after each write, False now and then without one, until the end."""
    looks = ChangeLooks(workspace.project.changes, workspace.views)
    await looks.find_news()  # the first look has news, and the page has just read all
    await looks.find_news()
    quiet = 0
    while not ending.is_set():
        await looks.wait(_LOOK_SECONDS)
        quiet += 1
        if await looks.find_news():
            quiet = 0
            yield True
        elif quiet >= _ALIVE_LOOKS:
            quiet = 0
            yield False
