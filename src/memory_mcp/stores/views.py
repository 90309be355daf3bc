"""Rendered files: the bootstraps for hooks, and pages of Markdown.

    <state>/rendered/<branch>.json      for `memory-mcp hook`: see `memory_mcp.rendered`
    <project>/.claude/session-context.md    for CLAUDE.md to reference
    <memories>/MEMORY.md, HISTORY.md        for people, and programs that read Markdown
    <user state>/rendered-in/<name>.json    where else something of this user was rendered

Derivatives, all of them. Write order, and why: the pages first, the bootstraps last. A bootstrap
says what it was made from; so where it holds, the pages are as new, and a cut before it leaves one
that does not hold, and is made anew at the next start.

The lock makes whoever renders wait, so that what was read later is written later.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from memory_mcp import rendered
from memory_mcp.disk import LITTER, Disk, unavailable
from memory_mcp.domain.shown import GENERATED, PAGES, RENDER_LOCK_SECONDS_MAX, Lying, Page
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.ports.views import Shown
from memory_mcp.rendered import Rendered, Watched
from memory_mcp.stores.heads import HEAD_FILE, prepare_state

__all__ = ["LocalViews"]

_LOCK_FILE: Final = "rendered.lock"
_REGISTER: Final = "rendered-in"


class LocalViews:
    """Implements `ports.Views` over a project's folders.

    `users` are the user's folders of state and of memories; `whose` they are is the user's name,
    and what MEMORY_HOME says of where they are (or nothing), as a hook sees it. `context_file` is
    None where there is no project whose CLAUDE.md could reference it.
    """

    def __init__(
        self,
        state: Path,
        memories: Path,
        users: tuple[Path, Path],
        context_file: Path | None,
        disk: Disk,
        *,
        whose: tuple[str, str] = ("", ""),
        wait_seconds: float = RENDER_LOCK_SECONDS_MAX,
    ) -> None:
        self._state = state
        self._folders = [str(memories), str(users[1])]
        self._register = users[0] / _REGISTER
        self._pages: dict[Page, Path] = {page: memories / page for page in PAGES[1:]}
        if context_file is not None:
            self._pages[PAGES[0]] = context_file
        self._disk = disk
        self._whose = whose
        self._wait_seconds = wait_seconds
        self._here = asyncio.Lock()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        async with self._here:
            path = self._state / _LOCK_FILE
            lock = FileLock(path, timeout=self._wait_seconds, thread_local=False)
            await asyncio.to_thread(self._acquire, lock, path)
            try:
                yield
            finally:
                lock.release()  # at once: a task that is being cancelled does not wait

    async def watch(self) -> Watched:
        return await asyncio.to_thread(self._watch)

    async def begun(self) -> bool:
        watched = await self.watch()
        return bool(watched["months"][self._folders[0]])

    async def branches(self) -> list[str]:
        return await asyncio.to_thread(lambda: sorted(map(_branch_of, self._bootstraps())))

    async def hold(self, *branches: str) -> bool:
        return await asyncio.to_thread(lambda: all(map(self._holds, branches)))

    async def write(self, shown: Shown) -> list[str]:
        return await asyncio.to_thread(self._write, shown)

    async def strike(self, page: str) -> None:
        await asyncio.to_thread(self._strike, page)

    async def lying(self) -> list[Lying]:
        return await asyncio.to_thread(lambda: list(self._lying()))

    def _acquire(self, lock: FileLock, path: Path) -> None:
        prepare_state(self._state, self._disk)
        try:
            lock.acquire()
        except Timeout as error:
            raise StoreUnavailableError(
                f"{path} has been held for {self._wait_seconds:g} s by another process: "
                "nothing was rendered."
            ) from error
        except OSError as error:
            raise unavailable(error, path, "store") from error

    def _watch(self) -> Watched:
        return rendered.watch(str(self._state / HEAD_FILE), self._folders, *self._whose)

    def _holds(self, branch: str) -> bool:
        found = rendered.read(str(self._state), branch)
        if found is None or not rendered.still_holds(found):
            return False
        return found["watched"] == self._watch()  # a copied project watches that of which it is one

    def _write(self, shown: Shown) -> list[str]:
        foreign: list[str] = []
        refused: list[StoreUnavailableError] = []
        self._note_place()  # first: what is not noted could not be found again
        for page, text in shown.pages.items():
            if path := self._pages.get(page):
                with _noted(refused):
                    foreign += [] if self._replace(path, text.encode()) else [str(path)]
        kept: set[Path] = set()
        for bootstrap in shown.bootstraps:
            path = self._file_of(bootstrap["branch"])
            data = json.dumps(bootstrap, ensure_ascii=False, indent=1) + "\n"
            kept.add(path)
            with _noted(refused):
                self._replace(path, data.encode(), mark=b"")
        for path in sorted(set(self._bootstraps()) - kept):
            with _noted(refused):
                self._disk.remove(path)
        if refused:
            raise refused[0]
        return foreign

    def _replace(self, path: Path, data: bytes, mark: bytes = GENERATED.encode()) -> bool:
        """Make the file hold this; not if it is somebody else's."""
        for litter in path.parent.glob(f".{path.name}.*{LITTER}"):
            self._disk.remove(litter)  # nobody but us writes this file, and we have the lock
        try:
            present = path.read_bytes()
        except FileNotFoundError:
            present = None
        except OSError as error:
            raise unavailable(error, path, "read") from error
        if present and not present.startswith(mark):
            return False
        if present != data:
            self._disk.write(path, data)
        return True

    def _note_place(self) -> None:
        """Leave word with the user's own files that something of theirs is rendered here."""
        page = self._pages.get(PAGES[0])
        place = {"state": str(self._state), "page": str(page) if page else ""}
        name = hashlib.sha256(str(self._state).encode(errors="replace")).hexdigest()[:16]
        data = json.dumps(place, ensure_ascii=False).encode(errors="replace")
        prepare_state(self._register.parent, self._disk)
        self._replace(self._register / f"{name}.json", data, mark=b"")

    def _strike(self, page: str) -> None:
        refused: list[StoreUnavailableError] = []
        for noted in sorted(self._register.glob("*.json")):
            try:
                place = json.loads(noted.read_bytes())
                state, path = Path(place["state"]), Path(place["page"])
            except (OSError, ValueError, KeyError, TypeError):  # damaged: it names no place
                continue
            if state == self._state or not state.is_dir():
                continue
            for bootstrap in sorted(_rendered_in(state)):
                with _noted(refused):
                    self._disk.remove(bootstrap)
            if place["page"] and path.exists():
                with _noted(refused):
                    self._replace(path, page.encode())
        if refused:
            raise refused[0]

    def _lying(self) -> Iterator[Lying]:
        for page in PAGES:
            path = self._pages.get(page)
            try:
                text = _text(path) if path else None
            except StoreUnavailableError as error:
                yield Lying(str(path), "", unreadable=str(error))
                continue
            if path and text is not None:
                yield Lying(str(path), text, ours=not text or text.startswith(GENERATED))
        for path in sorted(self._bootstraps()):
            found = _parsed(path)
            try:
                text = found["text"] if found else (_text(path) or "")
            except StoreUnavailableError as error:
                yield Lying(str(path), "", unreadable=str(error))
                continue
            yield Lying(str(path), text, branch=found["branch"] if found else "")

    def _bootstraps(self) -> Iterator[Path]:
        return _rendered_in(self._state)

    def _file_of(self, branch: str) -> Path:
        return Path(rendered.file_of(str(self._state), branch))


def _rendered_in(state: Path) -> Iterator[Path]:
    """The bootstraps below a folder of state."""
    return Path(rendered.file_of(str(state), "main")).parent.glob("*.json")


def _parsed(path: Path) -> Rendered | None:
    """What a hook would read there."""
    return rendered.read(str(path.parent.parent), _branch_of(path))


def _branch_of(path: Path) -> str:
    return path.stem.replace("%2F", "/")


@contextmanager
def _noted(refused: list[StoreUnavailableError]) -> Generator[None]:
    """What fails for one file is kept, so that the others are written."""
    try:
        yield
    except StoreUnavailableError as error:
        refused.append(error)


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unavailable(error, path, "read") from error
