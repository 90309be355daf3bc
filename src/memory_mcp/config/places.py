"""The folders of this process, and the scope of its memories: derived from the settings.

Nothing is opened or created.
"""

import hashlib
import re
from pathlib import Path
from typing import Final

from memory_mcp.config.settings import READ_ONLY, Settings, find_home_folder, find_machine_home
from memory_mcp.domain.record import Scope
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.locations import (
    STATE_FOLDER,
    LostWorkTreeError,
    find_machine_folder,
    find_main_folder,
    find_project,
    resolve_path,
)
from memory_mcp.storage.files.host import read_remote_name

RECORDS_FOLDER: Final = (".claude", "memory")
"""Where the records of a project lie in its work tree."""

_SLUG_CHARS_MAX: Final = 100
"""With its prefix and suffix a name stays below the 255 bytes of a file system."""


@frozen
class ProjectFolders:
    """The folders of this process, and the scope of its memories.

    - `work_tree` is the folder of this process: a work tree, or one in it. `project_dir` is the
      same one in the main work tree, where it may not be there.
    - `remote` is the name that the repository gives the project; nobody has vouched for it.
    - `machine_dir` holds what only this machine writes about the project, outside of both.
    - `settings` are folders, each with the setting that moves it.
    - `lost` says why the project cannot be determined, if so, and what to do.
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

    @property
    def records(self) -> str:
        """The plain path of the folder of records, by which a project is trusted."""
        return resolve_path(str(self.memory_dir), str(self.project_dir or ""))


def find_project_folders(settings: Settings, start: Path | None = None) -> ProjectFolders:
    """The project of the setting, of the client, that around the current folder, or none.

    Raises:
        InvalidRequestError: the current folder is needed, and it is gone.
    """
    work_tree = settings.project_dir
    if work_tree is None and settings.enabled and not settings.project_missing:
        here = str((start or find_current_folder()).absolute())
        found = find_project(here, find_machine_home(settings))
        work_tree = Path(found) if found else None
    lost = ""
    try:
        project_dir = Path(find_main_folder(str(work_tree))) if work_tree else None
    except LostWorkTreeError as error:
        project_dir, work_tree, lost = None, None, f"{error}, then start again. {READ_ONLY}"
    remote = read_remote_name(project_dir) if project_dir else ""
    user_dir = find_user_folder(settings, settings.user)
    base = project_dir or user_dir / "none"
    records = base.joinpath(*RECORDS_FOLDER) if project_dir else base / "memory"
    state_dir = settings.state_dir or base / STATE_FOLDER
    memory_dir = settings.memory_dir or records
    machine_dir = find_machine_folder(
        find_machine_home(settings), str(state_dir), str(project_dir or "")
    )
    moved = [(find_home_folder(settings), "MEMORY_HOME"), (Path(machine_dir), "MEMORY_HOME")]
    if project_dir or settings.state_dir:
        moved.append((state_dir, "MEMORY_STATE_DIR"))
    if project_dir or settings.memory_dir:
        moved.append((memory_dir, "MEMORY_DIR"))
    return ProjectFolders(
        scope=Scope(
            user=settings.user,
            project=settings.project_name or remote or name_folder(project_dir),
        ),
        project_dir=project_dir,
        work_tree=work_tree,
        remote=remote,
        state_dir=state_dir,
        memory_dir=memory_dir,
        machine_dir=Path(machine_dir),
        user_state_dir=user_dir / STATE_FOLDER,
        user_memory_dir=user_dir / "memory",
        settings=tuple(moved),
        lost=lost,
    )


def find_current_folder() -> Path:
    """The current folder.

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


def name_folder(project_dir: Path | None) -> str:
    """The name of a project without a remote: that of its folder, on this machine alone."""
    if project_dir is None:
        return "none"
    return f"{_make_slug(project_dir.name)}-{_hash(str(project_dir.resolve()))}"


def find_user_folder(settings: Settings, user: str) -> Path:
    """The folder of a user's memories."""
    return find_home_folder(settings) / f"user-{_make_slug(user)}"


def find_team_folder(settings: Settings, team: str) -> Path:
    """The folder of a team's memories, on a server that keeps them in files."""
    return find_home_folder(settings) / f"team-{_make_slug(team)}"


def find_held_project(settings: Settings, owner: str, name: str) -> Path:
    """The folder of a project that a server holds for a team or a user, without a checkout."""
    return find_home_folder(settings) / "held" / _make_slug(owner) / name


def _make_slug(name: str) -> str:
    """A folder name for any file system; different names stay different."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:_SLUG_CHARS_MAX]
    return plain if plain == name else f"{plain or 'x'}-{_hash(name)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
