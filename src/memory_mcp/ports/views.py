"""Where what was rendered from the memories lies ready for whoever reads files."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from memory_mcp.domain.shown import Lying, Page
from memory_mcp.rendered import Rendered, Watched

__all__ = ["Shown", "Views"]


@dataclass(frozen=True)
class Shown:
    """All that is rendered in one go: the pages, and the bootstrap of each branch."""

    pages: Mapping[Page, str]
    bootstraps: tuple[Rendered, ...]


class Views(Protocol):
    """Rendered files: derivatives that show what held when they were written.

    - `alone`: within the block nobody else renders, in this process or another. Who reads inside
      it, after `watch`, and then writes, leaves the newest behind.
    - `watch`: how what is read looks now. Whatever is written later makes it another.
    - `begun`: whether the project has records: before that, no page appears in its folders.
    - `branches`: those whose bootstrap lies there.
    - `hold`: whether the bootstraps of these branches lie ready and nothing has changed since.
    - `write`: each file appears whole or not at all, and only where its bytes differ, the
      bootstraps last: where they hold, so do the pages. Those of branches that are not among these
      go: whoever is on one renders it anew. A page that somebody else wrote is left as it is, and
      named in the answer; one for which there is no place is left out. One that fails stops none
      of the others.
    - `strike`: something of the user's fell, and what was rendered in the user's other projects may
      show it. There the bootstraps go, and `session-context.md` says no more than this `page`.
    - `lying`: every page and bootstrap there is, and of one that cannot be read why.
    - `StoreUnavailableError` is the only failure; what was written before it stays.
    """

    def alone(self) -> AbstractAsyncContextManager[None]: ...

    async def watch(self) -> Watched: ...

    async def begun(self) -> bool: ...

    async def branches(self) -> list[str]: ...

    async def hold(self, *branches: str) -> bool: ...

    async def write(self, shown: Shown) -> list[str]: ...

    async def strike(self, page: str) -> None: ...

    async def lying(self) -> list[Lying]: ...
