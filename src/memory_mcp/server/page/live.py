"""Tells the page when anything was written, by this process or by any other."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, Final

from memory_mcp.engine.looks import ChangeLooks
from memory_mcp.engine.workspace import Workspace

_LOOK_SECONDS: Final = 0.4
"""How often the files are looked at while somebody watches: a few `stat` calls."""

_ALIVE_LOOKS: Final = 25
"""After so many looks without news something is sent: a browser that has gone is noticed."""


_NEWS_SECONDS_MAX: Final = 15
"""How long an answer waits for news: a host gives a read up after a minute or so."""

_SETTLING: Final = "+"
"""Ends a mark that had news: another process may be about to index what it wrote."""


async def read_news(workspace: Workspace, form: Any) -> dict[str, Any]:
    """The mark of what is written now, once it is another than the one given, or after a while.

    For a page that nobody can send anything to: it asks again and again, with the mark of the last
    answer.
    """
    ends = workspace.clock.now() + timedelta(seconds=_NEWS_SECONDS_MAX)
    changes = workspace.project.changes
    while True:
        count = changes.count
        seen = repr((await workspace.views.watch(), count))
        mark = hashlib.sha256(seen.encode()).hexdigest()[:16]
        if form.after.removesuffix(_SETTLING) != mark:
            return {"mark": mark + _SETTLING}
        if workspace.clock.now() >= ends:
            return {"mark": mark}
        await changes.after(count, _LOOK_SECONDS)
        if form.after.endswith(_SETTLING):
            return {"mark": mark}


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
