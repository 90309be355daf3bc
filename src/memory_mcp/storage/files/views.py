"""Rendered files: the bootstraps for hooks, and pages of Markdown. All of them are derivatives.

    <machine>/rendered/<branch>.json        for `memory-mcp hook`: see `memory_mcp.rendered`
    <project>/.claude/session-context.md    for CLAUDE.md to reference
    <memories>/MEMORY.md, HISTORY.md        for people, and programs that read Markdown
    <user state>/rendered-in/<name>.json    where else something of this user was rendered
    <machine>/compared.json                 which of the memories shown were compared, by digests

A `.gitignore` beside the pages hides them and itself from git. A page that git tracks all the same
is left as it is: what is written there would keep git from switching.

Write order, and why: the pages first, the bootstraps last. A bootstrap says what it was made from.
So where it is current, the pages are as new. A cut before it leaves one that is not current, and
the next start renders it again.

The lock makes renderers queue up, so that what was read later is written later.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from memory_mcp import rendered
from memory_mcp.disk import LITTER, Disk
from memory_mcp.domain.comparisons import COMPARISONS_VERSION, Compared
from memory_mcp.domain.limits import DATABASE_LOOK_SECONDS_MAX, PAGE_BYTES_MAX
from memory_mcp.domain.sessions import (
    GITIGNORE_MARK,
    PAGE_MARK,
    PAGES,
    RENDER_LOCK_SECONDS_MAX,
    Page,
    RenderedFile,
)
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.ports.sessions import Rendering
from memory_mcp.rendered import Watched
from memory_mcp.safe_files import read_file, refuse_links
from memory_mcp.storage.files.host import TrackedFiles
from memory_mcp.storage.threads import in_thread

_LOCK_FILE: Final = "rendered.lock"
_REGISTER: Final = "rendered-in"
_COMPARED_FILE: Final = "compared.json"


class LocalViews:
    """Implements `ports.Views` over a project's folders.

    Where the records are no files, `describe` says whether there are any, and in a text what they
    come to; None if that cannot be known now. It is noted in `head_file`, so that a hook sees it.

    `users` are the user's folders of state and of memories, `whose` the user's name and the values
    of MEMORY_HOME and MEMORY_TEAM (or ''), as a hook sees them. `project` is None where no
    CLAUDE.md could reference a page. `follows` names the files of git that say where a followed
    work tree stands.
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
        whose: tuple[str, str, str] = ("", "", ""),
        wait_seconds: float = RENDER_LOCK_SECONDS_MAX,
        follows: Callable[[], Sequence[str]] = tuple,
        describe: Callable[[], Awaitable[tuple[bool, str] | None]] | None = None,
    ) -> None:
        self.valid_seconds = DATABASE_LOOK_SECONDS_MAX if describe else None
        self._describe = describe
        self._any = False
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
        self._follows = follows
        self._here = asyncio.Lock()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        async with self._here:
            path = self._machine / _LOCK_FILE
            otherwise = ": nothing was rendered."
            lock = await asyncio.to_thread(
                self._disk.acquire_lock, path, self._wait_seconds, otherwise
            )
            try:
                yield
            finally:
                lock.release()  # at once: a task that is being cancelled does not wait

    async def watch(self) -> Watched:
        await self._look()
        return await asyncio.to_thread(self._watch)

    async def has_records(self) -> bool:
        watched = await self.watch()
        if self._describe:
            return self._any
        return bool(watched["months"][self._folders[0]])

    @in_thread
    def branches(self) -> list[str]:
        return sorted(filter(None, map(_load_branch, _list_bootstraps(self._machine))))

    async def are_current(self, *branches: str) -> bool:
        await self._look()
        return await asyncio.to_thread(lambda: all(map(self._is_current, branches)))

    @in_thread
    def write(self, rendering: Rendering) -> list[str]:
        foreign: list[str] = []
        errors: list[StoreUnavailableError] = []
        self._register_place()  # first: a place that is not registered could not be found again
        for page, text in rendering.pages.items():
            if path := self._pages.get(page):
                with _collect(errors):
                    if not self._is_tracked(path) and self._replace(path, text.encode()):
                        self._ignore(path)
                    else:
                        foreign.append(str(path))
        kept: set[Path] = set()
        for bootstrap in rendering.bootstraps:
            path = self._bootstrap_path(bootstrap["branch"])
            data = json.dumps(bootstrap, ensure_ascii=False, indent=1) + "\n"
            kept.add(path)
            with _collect(errors):
                self._replace(path, data.encode(), mark=b"")
        for path in sorted(set(_list_bootstraps(self._machine)) - kept):
            with _collect(errors):
                self._disk.remove(path)
        with _collect(errors):
            self._keep_compared(rendering.compared)
        if errors:
            raise errors[0]
        return foreign

    @in_thread
    def withdraw_elsewhere(self, page: str) -> None:
        errors: list[StoreUnavailableError] = []
        for registered in sorted(self._register.glob("*.json")):
            try:
                place = json.loads(registered.read_bytes())
                machine, path = Path(place["machine"]), Path(place["page"])
            except (OSError, ValueError, KeyError, TypeError):  # damaged: it names no place
                continue
            if machine == self._machine or not machine.is_dir():
                continue
            for bootstrap in _list_bootstraps(machine):
                with _collect(errors):
                    self._disk.remove(bootstrap)
            if place["page"]:
                with _collect(errors):
                    self._replace_present(path, page)
        if errors:
            raise errors[0]

    @in_thread
    def withdraw(self, branch: str | None, page: str = "") -> None:
        errors: list[StoreUnavailableError] = []
        for path in self._pages.values() if page else ():
            with _collect(errors):
                if not self._is_tracked(path):
                    self._replace_present(path, page)
        rendered_path = self._bootstrap_path(branch) if branch is not None else None
        for path in _list_bootstraps(self._machine):
            with _collect(errors):
                if branch is None:  # its branch stays, so that it is rendered again
                    named = json.dumps({"branch": _load_branch(path)}, ensure_ascii=False)
                    self._replace(path, named.encode(), mark=b"")
                elif path == rendered_path:
                    self._disk.remove(path)
        if errors:
            raise errors[0]

    @in_thread
    def list_rendered(self) -> list[RenderedFile]:
        found: list[RenderedFile] = []
        for page in PAGES:
            path = self._pages.get(page)
            try:
                text = self._load_text(path) if path else None
            except StoreUnavailableError as error:
                found.append(RenderedFile(str(path), "", unreadable=str(error)))
                continue
            if path and text is not None:
                ours = not text or text.startswith(PAGE_MARK)
                found.append(RenderedFile(str(path), text, ours=ours))
        for path in _list_bootstraps(self._machine):
            bootstrap = rendered.load_bootstrap(str(path.parent.parent), _load_branch(path))
            try:
                text = bootstrap["text"] if bootstrap else (self._load_text(path) or "")
            except StoreUnavailableError as error:
                found.append(RenderedFile(str(path), "", unreadable=str(error)))
                continue
            found.append(
                RenderedFile(str(path), text, branch=bootstrap["branch"] if bootstrap else "")
            )
        return found

    @in_thread
    def load_compared(self) -> Sequence[Compared]:
        try:
            data = read_file(
                str(self._machine / _COMPARED_FILE), PAGE_BYTES_MAX, str(self._machine)
            )
            kept = json.loads(data)
            if kept["version"] != COMPARISONS_VERSION:
                return ()
            return [
                Compared(frozenset(each["keys"]), frozenset((a, b) for a, b in each["outdated"]))
                for each in kept["sets"]
            ]
        except (OSError, ValueError, KeyError, TypeError):  # they are compared anew
            return ()

    def _keep_compared(self, sets: Sequence[Compared]) -> None:
        path = self._machine / _COMPARED_FILE
        if not (sets or path.exists()):
            return
        listed = [{"keys": sorted(each.keys), "outdated": sorted(each.outdated)} for each in sets]
        data = json.dumps({"version": COMPARISONS_VERSION, "sets": listed}).encode()
        self._replace(path, data, mark=b"")

    def _bootstrap_path(self, branch: str) -> Path:
        return Path(rendered.bootstrap_path(str(self._machine), branch))

    async def _look(self) -> None:
        """Note what records that are no files come to, where that has changed."""
        if self._describe and (found := await self._describe()) is not None:
            self._any, text = found
            with suppress(StoreUnavailableError):  # whoever writes a view is told
                await asyncio.to_thread(self._replace, self._head_file, text.encode(), b"")

    def _watch(self) -> Watched:
        user, home, team = self._whose
        return rendered.snapshot_sources(
            str(self._head_file), self._folders, user, home, self._follows(), team=team
        )

    def _is_current(self, branch: str) -> bool:
        found = rendered.load_bootstrap(str(self._machine), branch)
        if found is None or not rendered.is_current(found):
            return False
        return found["watched"] == self._watch()  # a copied project has the original's bootstrap

    def _replace(self, path: Path, data: bytes, mark: bytes = PAGE_MARK.encode()) -> bool:
        """Write the file unless it is somebody else's; return whether it is ours."""
        try:
            present: bytes | None = read_file(str(path), PAGE_BYTES_MAX, self._root_of(path))
        except FileNotFoundError:
            present = None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        for name in _list_names(path.parent):
            if name.startswith(f".{path.name}.") and name.endswith(LITTER):
                self._disk.remove(path.parent / name)  # nobody else writes it: we have the lock
        if present and not present.startswith(mark):
            return False
        if present != data:
            self._disk.write(path, data)
        return True

    def _root_of(self, path: Path) -> str:
        """The folder from which down nothing on the way to a file may be a link."""
        if self._project and path.is_relative_to(self._project):
            return str(self._project)
        return str(path.parent)

    def _is_tracked(self, path: Path) -> bool:
        """Whether git tracks the page: someone added it before it was ignored."""
        if self._project is None or not path.is_relative_to(self._project):
            return False
        return self._tracked.holds(path.relative_to(self._project).as_posix())

    def _ignore(self, path: Path) -> None:
        """Hide the page and its temporary files from git."""
        ignoring = path.parent / ".gitignore"
        names = [PAGES[0]] if path.name == PAGES[0] else list(PAGES[1:])
        text = "\n".join([GITIGNORE_MARK, ".gitignore", *names, f".*{LITTER}"]) + "\n"
        self._replace(ignoring, text.encode(), mark=GITIGNORE_MARK.encode())

    def _register_place(self) -> None:
        """Note with the user's own files that something of theirs is rendered here."""
        page = self._pages.get(PAGES[0])
        place = {"machine": str(self._machine), "page": str(page) if page else ""}
        name = hashlib.sha256(str(self._machine).encode(errors="replace")).hexdigest()[:16]
        data = json.dumps(place, ensure_ascii=False).encode(errors="replace")
        self._replace(self._register / f"{name}.json", data, mark=b"")

    def _replace_present(self, path: Path, page: str) -> None:
        """Replace the page, if it is there and ours."""
        with suppress(OSError):  # a link, or not there: what it shows is not ours
            refuse_links(str(path.parent.parent), str(path))
            if path.is_file():
                self._replace(path, page.encode())

    def _load_text(self, path: Path) -> str | None:
        try:
            data = read_file(str(path), PAGE_BYTES_MAX, self._root_of(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        return data.decode(errors="replace")


def _list_bootstraps(machine: Path) -> list[Path]:
    """The bootstraps below a machine's folder of a project."""
    folder = Path(rendered.bootstrap_path(str(machine), "main")).parent
    return [folder / name for name in sorted(_list_names(folder)) if name.endswith(".json")]


def _list_names(folder: Path) -> list[str]:
    """The names in a folder; none if it is not there. A pattern for each file costs more."""
    try:
        return os.listdir(folder)  # noqa: PTH208  # names are all that is wanted
    except OSError:
        return []


def _load_branch(path: Path) -> str:
    """The branch that a bootstrap is of; '' if it does not say."""
    try:
        branch = json.loads(path.read_bytes())["branch"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return branch if isinstance(branch, str) else ""


@contextmanager
def _collect(errors: list[StoreUnavailableError]) -> Generator[None]:
    """Collect the error of one file, so that the others are written."""
    try:
        yield
    except StoreUnavailableError as error:
        errors.append(error)
