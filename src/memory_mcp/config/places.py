"""Where everything of this process is, and whose it is: from settings to folders.

Nothing is opened or made: it is only looked which folders there are.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory_mcp.config.settings import READ_ONLY, Settings, home_folder, machine_home
from memory_mcp.domain.record import Scope
from memory_mcp.errors import InvalidRequestError
from memory_mcp.locations import (
    STATE_FOLDER,
    LostWorkTreeError,
    find_main_work_tree,
    find_work_tree,
    machine_folder,
)
from memory_mcp.storage.files.host import git_remote

_SLUG_CHARS_MAX: Final = 100
"""With what stands around it less than the 255 bytes that a folder's name may have."""


@dataclass(frozen=True)
class Places:
    """Where everything of this process is, and whose it is.

    `project_dir` is the main work tree where `work_tree`, in which this process stands, is linked
    to one. `machine_dir` is what only this machine writes about the project, outside of both.
    `remote` is the name that the repository gives the project; nobody has vouched for it.
    `settings` are folders, each with the setting that moves it. `lost` says why the project cannot
    be told, if it cannot, and what to do: no other one takes its place.
    """

    scope: Scope
    project_dir: Path | None
    work_tree: Path | None
    remote: str
    state_dir: Path
    memory_dir: Path
    machine_dir: Path
    user_state_dir: Path
    user_memory_dir: Path
    settings: tuple[tuple[Path, str], ...] = ()
    lost: str = ""


def find_places(settings: Settings, start: Path | None = None) -> Places:
    """The project in the order: setting, client, enclosing git work tree, none.

    Raises:
        InvalidRequestError: it would be where this process stands, and that folder is gone.
    """
    work_tree = settings.project_dir
    unsought = settings.astray or not settings.enabled  # a memory that is off looks for nothing
    if work_tree is None and not unsought:
        found = find_work_tree(str((start or current_folder()).absolute()))
        work_tree = Path(found) if found else None
    lost = ""
    try:
        project_dir = Path(find_main_work_tree(str(work_tree))) if work_tree else None
    except LostWorkTreeError as error:
        project_dir, work_tree, lost = None, None, f"{error}, then start again. {READ_ONLY}"
    remote = git_remote(project_dir) if project_dir else ""
    mine = user_folder(settings, settings.user)
    base = project_dir or mine / "none"
    records = base / ".claude" / "memory" if project_dir else base / "memory"
    state_dir = settings.state_dir or base / STATE_FOLDER
    memory_dir = settings.memory_dir or records
    machine_dir = machine_folder(machine_home(settings), str(state_dir), str(project_dir or ""))
    moved = [(home_folder(settings), "MEMORY_HOME"), (Path(machine_dir), "MEMORY_HOME")]
    if project_dir or settings.state_dir:
        moved.append((state_dir, "MEMORY_STATE_DIR"))
    if project_dir or settings.memory_dir:
        moved.append((memory_dir, "MEMORY_DIR"))
    return Places(
        scope=Scope(user=settings.user, project=remote or _identity(project_dir)),
        project_dir=project_dir,
        work_tree=work_tree,
        remote=remote,
        state_dir=state_dir,
        memory_dir=memory_dir,
        machine_dir=Path(machine_dir),
        user_state_dir=mine / STATE_FOLDER,
        user_memory_dir=mine / "memory",
        settings=tuple(moved),
        lost=lost,
    )


def current_folder() -> Path:
    """Where this process stands.

    Raises:
        InvalidRequestError: that folder is gone.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise InvalidRequestError(
            "The current folder no longer exists. Change to one that does, or set "
            "MEMORY_PROJECT_DIR."
        ) from error


def _identity(project_dir: Path | None) -> str:
    """The name of a project that has no remote: its folder's, on this machine alone."""
    if project_dir is None:
        return "none"
    return f"{_slug(project_dir.name)}-{_digest(str(project_dir.resolve()))}"


def user_folder(settings: Settings, user: str) -> Path:
    """Where the memories of a user are."""
    return home_folder(settings) / f"user-{_slug(user)}"


def _slug(name: str) -> str:
    """A name that can be a folder's everywhere; different names stay different."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:_SLUG_CHARS_MAX]
    return plain if plain == name else f"{plain or 'x'}-{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
