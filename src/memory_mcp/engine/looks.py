"""Notices that somebody wrote: this process at once, any other when the files are looked at."""

import asyncio
from dataclasses import replace
from typing import Final

from memory_mcp.engine.workspace import Changes, Workspace
from memory_mcp.ports import ChangeWatch

_PAUSE_SECONDS: Final = 0.2
"""A write is often several; whoever waits for it looks once they are done."""


class ChangeLooks:
    """Looks at what is written, one after the other, and tells whether there is news.

    Another process may be about to note its write in the index when its file is seen, so the look
    after one with news has news as well.
    """

    def __init__(self, changes: Changes, files: ChangeWatch) -> None:
        self._changes = changes
        self._files = files
        self._count = changes.count
        self._seen: object = None
        self._again = False

    async def find_news(self, *also: object) -> bool:
        """Whether anybody wrote since the last look, or `also` changed; the first look has news.

        Never fails, and is cheap: a few `stat` calls, or a revision number.
        """
        self._count = self._changes.count
        now = (await self._files.watch(), self._count, also)
        changed = now != self._seen
        news = changed or self._again
        self._seen, self._again = now, changed
        return news

    async def wait(self, seconds_max: float) -> None:
        """Wait until this process notes a write, or so long."""
        if await self._changes.after(self._count, seconds_max) != self._count:
            await asyncio.sleep(_PAUSE_SECONDS)

    def forget(self) -> None:
        """Let the next look have news: what was seen was not made use of."""
        self._seen = None


def make_observer(workspace: Workspace) -> Workspace:
    """The workspace of a reader that takes no nudge, asks no cloud and begins nothing."""
    return replace(
        workspace,
        project=replace(workspace.project, mirror=None),
        user=replace(workspace.user, mirror=None),
        policy=replace(workspace.policy, meta=True),
    )
