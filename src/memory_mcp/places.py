"""Where everything of this process is, and whose it is: from settings to folders.

Nothing is opened or made: it is only looked which folders there are.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from memory_mcp.domain.record import Scope
from memory_mcp.errors import InvalidRequestError
from memory_mcp.settings import Settings, home_folder
from memory_mcp.stores.heads import STATE_FOLDER
from memory_mcp.stores.host import git_remote, git_work_tree

__all__ = ["Places", "current_folder", "find_places", "user_folder"]


@dataclass(frozen=True)
class Places:
    """Where everything of this process is, and whose it is."""

    scope: Scope
    project_dir: Path | None
    state_dir: Path
    memory_dir: Path
    user_state_dir: Path
    user_memory_dir: Path


def find_places(settings: Settings, start: Path | None = None) -> Places:
    """The project in the order: setting, client, enclosing git work tree, none.

    Raises:
        InvalidRequestError: it would be where this process stands, and that folder is gone.
    """
    project_dir = settings.project_dir
    if project_dir is None and settings.enabled:  # a memory that is off looks for nothing
        project_dir = git_work_tree((start or current_folder()).absolute())
    mine = user_folder(settings, settings.user)
    base = project_dir or mine / "none"
    records = base / ".claude" / "memory" if project_dir else base / "memory"
    return Places(
        scope=Scope(user=settings.user, project=_identity(project_dir)),
        project_dir=project_dir,
        state_dir=settings.state_dir or base / STATE_FOLDER,
        memory_dir=settings.memory_dir or records,
        user_state_dir=mine / STATE_FOLDER,
        user_memory_dir=mine / "memory",
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
    """The same for every clone and work tree of a project that has a remote; else the folder's."""
    if project_dir is None:
        return "none"
    remote = git_remote(project_dir)
    if remote:
        return remote
    return f"{_slug(project_dir.name)}-{_digest(str(project_dir.resolve()))}"


def user_folder(settings: Settings, user: str) -> Path:
    """Where the memories of a user are."""
    return home_folder(settings) / f"user-{_slug(user)}"


def _slug(name: str) -> str:
    """A name that can be a folder's everywhere; different names stay different."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")
    return plain if plain == name else f"{plain or 'x'}-{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
