"""`ports.Views` in memory. It obeys the contract; tests/contracts proves it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from memory_mcp.domain.comparisons import Compared
from memory_mcp.domain.sessions import PAGE_MARK, Page, RenderedFile
from memory_mcp.ports.sessions import Rendering
from memory_mcp.rendered import Rendered, Watched


class MemoryViews:
    """Implements `ports.Views`. What is read changes when `changed` is called."""

    valid_seconds: float | None = None

    def __init__(self, count: Callable[[], int] | None = None) -> None:
        self.pages: dict[Page, str] = {}
        self.bootstraps: dict[str, Rendered] = {}
        self.written: list[str] = []
        self.struck: list[str] = []
        self._count = count or (lambda: self._changes)
        self._changes = 0
        self._compared: Sequence[Compared] = ()
        self._alone = asyncio.Lock()

    def changed(self) -> None:
        self._changes += 1

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        async with self._alone:
            yield

    async def watch(self) -> Watched:
        return Watched(
            head_file="head", head=[self._count()], months={}, user="", home="", team="", git={}
        )

    async def has_records(self) -> bool:
        return self._count() > 0

    async def branches(self) -> list[str]:
        return sorted(self.bootstraps)

    async def are_current(self, *branches: str) -> bool:
        found = [self.bootstraps.get(branch) for branch in branches]
        now = await self.watch()
        return all(each is not None and each["watched"] == now for each in found)

    async def write(self, rendering: Rendering) -> list[str]:
        foreign: list[str] = []
        for page, text in rendering.pages.items():
            present = self.pages.get(page, "")
            if present and not present.startswith(PAGE_MARK):
                foreign.append(page)
            elif present != text:
                self.pages[page] = text
                self.written.append(page)
        self.bootstraps = {each["branch"]: each for each in rendering.bootstraps}
        self._compared = rendering.compared
        return foreign

    async def withdraw_elsewhere(self, page: str) -> None:
        self.struck.append(page)

    async def withdraw(self, branch: str | None, page: str = "") -> None:
        for name in [*self.bootstraps] if branch is None else [branch]:
            self.bootstraps.pop(name, None)
        for name, text in self.pages.items() if page else ():
            if text.startswith(PAGE_MARK):
                self.pages[name] = page

    async def list_rendered(self) -> list[RenderedFile]:
        pages = [
            RenderedFile(page, text, ours=text.startswith(PAGE_MARK))
            for page, text in self.pages.items()
        ]
        return pages + [
            RenderedFile(f"{b}.json", r["text"], branch=b) for b, r in self.bootstraps.items()
        ]

    async def load_compared(self) -> Sequence[Compared]:
        return self._compared
