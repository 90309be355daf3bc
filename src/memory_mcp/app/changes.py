"""Counts what this process wrote, for rendered files and subscribers. See `ports.ChangeWatch`."""

import asyncio
from contextlib import suppress

__all__ = ["Changes"]


class Changes:
    """Counts what this process wrote. Shared by the pools of one process.

    `shown` is how many of these the rendered files show.
    """

    def __init__(self) -> None:
        self.count = 0
        self.shown = 0
        self._news = asyncio.Event()

    def note(self) -> None:
        """Something was written or erased."""
        self.count += 1
        self._news.set()
        self._news = asyncio.Event()

    async def after(self, count: int, seconds_max: float | None = None) -> int:
        """How many there are, once there are more than `count`, or the time is up."""
        if self.count <= count:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds_max):
                    await self._news.wait()
        return self.count
