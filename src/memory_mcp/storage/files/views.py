"""Rendered files: the bootstraps for hooks, and pages of Markdown.

    <machine>/rendered/<branch>.json        for `memory-mcp hook`: see `memory_mcp.rendered`
    <project>/.claude/session-context.md    for CLAUDE.md to reference
    <memories>/MEMORY.md, HISTORY.md        for people, and programs that read Markdown
    <user state>/rendered-in/<name>.json    where else something of this user was rendered

The pages ignore themselves in git, by a `.gitignore` beside them that ignores itself too. One that
git tracks all the same is left as it is: what is written there would keep git from switching.

Derivatives, all of them. Write order, and why: the pages first, the bootstraps last. A bootstrap
says what it was made from; so where it holds, the pages are as new, and a cut before it leaves one
that does not hold, and is made anew at the next start.

The lock makes whoever renders wait, so that what was read later is written later.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from memory_mcp import rendered
from memory_mcp.disk import LITTER, Disk
from memory_mcp.domain.limits import PAGE_BYTES_MAX
from memory_mcp.domain.sessions import (
    GITIGNORE_MARK,
    PAGE_MARK,
    PAGES,
    RENDER_LOCK_SECONDS_MAX,
    Page,
    RenderedFile,
)
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.ports.sessions import Shown
from memory_mcp.rendered import Rendered, Watched
from memory_mcp.safe_files import read_file, refuse_links
from memory_mcp.storage.files.host import TrackedFiles

_LOCK_FILE: Final = "rendered.lock"
_REGISTER: Final = "rendered-in"


class LocalViews:
    """Implements `ports.Views` over a project's folders.

    `users` are the user's folders of state and of memories; `whose` they are is the user's name,
    and what MEMORY_HOME says of where they are (or nothing), as a hook sees it. `project` is None
    where there is none whose CLAUDE.md could reference a page.
    """

    def __init__(
        self,
        machine: Path,
        memories: Path,
        users: tuple[Path, Path],
        disk: Disk,
        *,
        head_file: Path,
        project: Path | None,
        whose: tuple[str, str] = ("", ""),
        wait_seconds: float = RENDER_LOCK_SECONDS_MAX,
    ) -> None:
        self._machine = machine
        self._head_file = head_file
        self._project = project
        self._folders = [str(memories), str(users[1])]
        self._register = users[0] / _REGISTER
        self._pages: dict[Page, Path] = {page: memories / page for page in PAGES[1:]}
        if project is not None:
            self._pages[PAGES[0]] = project / ".claude" / PAGES[0]
        self._tracked = TrackedFiles(project)
        self._disk = disk
        self._whose = whose
        self._wait_seconds = wait_seconds
        self._here = asyncio.Lock()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        async with self._here:
            path = self._machine / _LOCK_FILE
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

    async def withdraw(self, page: str) -> None:
        await asyncio.to_thread(self._withdraw, page)

    async def lying(self) -> list[RenderedFile]:
        return await asyncio.to_thread(lambda: list(self._lying()))

    def _acquire(self, lock: FileLock, path: Path) -> None:
        try:
            self._disk.folder(path.parent)
            lock.acquire()
        except Timeout as error:
            raise StoreUnavailableError(
                f"{path} has been held for {self._wait_seconds:g} s by another process: "
                "nothing was rendered."
            ) from error
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error

    def _watch(self) -> Watched:
        return rendered.snapshot_sources(str(self._head_file), self._folders, *self._whose)

    def _holds(self, branch: str) -> bool:
        found = rendered.load_bootstrap(str(self._machine), branch)
        if found is None or not rendered.is_current(found):
            return False
        return found["watched"] == self._watch()  # a copied project watches that of which it is one

    def _write(self, shown: Shown) -> list[str]:
        foreign: list[str] = []
        refused: list[StoreUnavailableError] = []
        self._note_place()  # first: what is not noted could not be found again
        for page, text in shown.pages.items():
            if path := self._pages.get(page):
                with _noted(refused):
                    mine = not self._is_tracked(path) and self._replace(path, text.encode())
                    if mine:
                        self._ignore(path)
                    else:
                        foreign.append(str(path))
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

    def _replace(self, path: Path, data: bytes, mark: bytes = PAGE_MARK.encode()) -> bool:
        """Make the file hold this; not if it is somebody else's."""
        try:
            present: bytes | None = read_file(str(path), PAGE_BYTES_MAX, self._root_of(path))
        except FileNotFoundError:
            present = None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        for litter in path.parent.glob(f".{path.name}.*{LITTER}"):
            self._disk.remove(litter)  # nobody but us writes this file, and we have the lock
        if present and not present.startswith(mark):
            return False
        if present != data:
            self._disk.write(path, data)
        return True

    def _root_of(self, path: Path) -> str:
        """From where down nothing on the way to a file may be a link."""
        if self._project and path.is_relative_to(self._project):
            return str(self._project)
        return str(path.parent)

    def _is_tracked(self, path: Path) -> bool:
        """Whether git tracks the page: someone added it before it could ignore itself."""
        if self._project is None or not path.is_relative_to(self._project):
            return False
        return self._tracked.holds(path.relative_to(self._project).as_posix())

    def _ignore(self, path: Path) -> None:
        """Keep the page, and what writes leave for a moment, out of what git sees."""
        ignoring = path.parent / ".gitignore"
        names = [PAGES[0]] if path.name == PAGES[0] else list(PAGES[1:])
        text = "\n".join([GITIGNORE_MARK, ".gitignore", *names, f".*{LITTER}"]) + "\n"
        self._replace(ignoring, text.encode(), mark=GITIGNORE_MARK.encode())

    def _note_place(self) -> None:
        """Leave word with the user's own files that something of theirs is rendered here."""
        page = self._pages.get(PAGES[0])
        place = {"machine": str(self._machine), "page": str(page) if page else ""}
        name = hashlib.sha256(str(self._machine).encode(errors="replace")).hexdigest()[:16]
        data = json.dumps(place, ensure_ascii=False).encode(errors="replace")
        self._replace(self._register / f"{name}.json", data, mark=b"")

    def _strike(self, page: str) -> None:
        refused: list[StoreUnavailableError] = []
        for noted in sorted(self._register.glob("*.json")):
            try:
                place = json.loads(noted.read_bytes())
                machine, path = Path(place["machine"]), Path(place["page"])
            except (OSError, ValueError, KeyError, TypeError):  # damaged: it names no place
                continue
            if machine == self._machine or not machine.is_dir():
                continue
            for bootstrap in sorted(_rendered_in(machine)):
                with _noted(refused):
                    self._disk.remove(bootstrap)
            if place["page"]:
                with _noted(refused):
                    self._strike_page(path, page)
        if refused:
            raise refused[0]

    def _withdraw(self, page: str) -> None:
        path = self._pages.get(PAGES[0])
        if path and not self._is_tracked(path):
            self._strike_page(path, page)

    def _strike_page(self, path: Path, page: str) -> None:
        """Let the page of another project say no more than this, if it is there and ours."""
        with suppress(OSError):  # a link, or not there: what it shows is not ours
            refuse_links(str(path.parent.parent), str(path))
            if path.is_file():
                self._replace(path, page.encode())

    def _lying(self) -> Iterator[RenderedFile]:
        for page in PAGES:
            path = self._pages.get(page)
            try:
                text = self._text(path) if path else None
            except StoreUnavailableError as error:
                yield RenderedFile(str(path), "", unreadable=str(error))
                continue
            if path and text is not None:
                yield RenderedFile(str(path), text, ours=not text or text.startswith(PAGE_MARK))
        for path in sorted(self._bootstraps()):
            found = _parsed(path)
            try:
                text = found["text"] if found else (self._text(path) or "")
            except StoreUnavailableError as error:
                yield RenderedFile(str(path), "", unreadable=str(error))
                continue
            yield RenderedFile(str(path), text, branch=found["branch"] if found else "")

    def _text(self, path: Path) -> str | None:
        try:
            data = read_file(str(path), PAGE_BYTES_MAX, self._root_of(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        return data.decode(errors="replace")

    def _bootstraps(self) -> Iterator[Path]:
        return _rendered_in(self._machine)

    def _file_of(self, branch: str) -> Path:
        return Path(rendered.bootstrap_path(str(self._machine), branch))


def _rendered_in(machine: Path) -> Iterator[Path]:
    """The bootstraps below a machine's folder of a project."""
    return Path(rendered.bootstrap_path(str(machine), "main")).parent.glob("*.json")


def _parsed(path: Path) -> Rendered | None:
    """What a hook would read there."""
    return rendered.load_bootstrap(str(path.parent.parent), _branch_of(path))


def _branch_of(path: Path) -> str:
    return path.stem.replace("%2F", "/")


@contextmanager
def _noted(refused: list[StoreUnavailableError]) -> Generator[None]:
    """What fails for one file is kept, so that the others are written."""
    try:
        yield
    except StoreUnavailableError as error:
        refused.append(error)
