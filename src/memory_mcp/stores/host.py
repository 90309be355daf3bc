"""What the machine can tell: the time, new ids, and where the caller stands in git.

Git is read from its files: starting a process would cost more than storing the memory does, and a
broken repository must not break a write. What cannot be read is left empty.
"""

import os
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Origin

__all__ = [
    "GitProvenance",
    "SystemClock",
    "SystemIds",
    "git_main_folder",
    "git_remote",
    "git_work_tree",
]

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION: Final = re.compile(r"\[\s*([^\]\s\"]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]")
_URL: Final = re.compile(r"url\s*=\s*\"?([^\s\"#;]+)\"?(?:\s*[#;].*)?", re.IGNORECASE)
_SCP_LIKE: Final = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")


class SystemClock:
    """Implements `ports.Clock`, in whole milliseconds: what is stored is what was compared."""

    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class SystemIds:
    """Implements `ports.Ids`: UUIDv7 (RFC 9562) with a counter, so that ids of one process rise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, at: datetime) -> RecordId:
        milliseconds = int(at.timestamp() * 1000)
        random = int.from_bytes(os.urandom(8)) >> 2
        with self._lock:
            # 48 bits of time and 12 that count within the millisecond, as one number that rises
            self._last = max(milliseconds << 12, self._last + 1)
            time, counter = divmod(self._last, 1 << 12)
        value = time << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | random
        return RecordId(str(UUID(int=value)))


class GitProvenance:
    """Implements `ports.Provenance` from the project's git files and the session's own data."""

    def __init__(self, project_dir: Path | None, session: str = "") -> None:
        self._git_dir = _git_dir(project_dir) if project_dir else None
        self._session = session

    def origin(self, client: str) -> Origin:
        commit, branch = _head_of(self._git_dir) if self._git_dir else ("", "")
        return Origin(
            by="user" if client == "cli" else "assistant",
            client=client,
            session=self._session,
            commit=commit,
            git_branch=branch,
        )


def git_work_tree(start: Path) -> Path | None:
    """The git work tree around a folder, if there is one."""
    return next((d for d in (start, *start.parents) if (d / ".git").exists()), None)


def git_main_folder(folder: Path) -> Path:
    """The one folder for all work trees of a clone: its first work tree, or, bare, where it lies.

    A folder outside of git stands for itself, and so does a submodule.
    """
    work_tree = git_work_tree(folder)
    git_dir = _git_dir(work_tree) if work_tree else None
    if work_tree is None or git_dir is None:
        return work_tree or folder
    common = _common_dir(git_dir)
    if common == git_dir:
        return work_tree
    return common.parent if common.name == ".git" else common


def git_remote(work_tree: Path) -> str:
    """The address of origin, or of the first remote: `github.com/acme/shop`, or '' without any.

    Scheme, user and `.git` are left out:
    clones by SSH and by HTTPS, and all work trees of one clone, give the same answer.
    """
    git_dir = _git_dir(work_tree)
    if git_dir is None:
        return ""
    remotes = _remotes(_read(_common_dir(git_dir) / "config"))
    first = next(iter(remotes.values()), "")
    return _normalised(remotes.get("origin", first))


def _remotes(config: str) -> dict[str, str]:
    """The first address of every remote; submodules and other sections have addresses too."""
    remotes: dict[str, str] = {}
    name: str | None = None
    for line in map(str.strip, config.splitlines()):
        if section := _SECTION.match(line):
            name = section.group(2) if section.group(1).lower() == "remote" else None
        elif name is not None and (url := _URL.fullmatch(line)):
            remotes.setdefault(name, url.group(1))
    return remotes


def _normalised(url: str) -> str:
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:  # no address: git could not reach it either
            return ""
        place = f"{parts.hostname or ''}{parts.path}"
    elif found := _SCP_LIKE.fullmatch(url):
        place = f"{found.group(1)}/{found.group(2).lstrip('/')}"
    else:
        return ""  # a path on this machine says nothing to another clone
    return place.rstrip("/").removesuffix(".git").lower()


def _git_dir(work_tree: Path) -> Path | None:
    dot_git = work_tree / ".git"
    if dot_git.is_dir():
        return dot_git
    pointer = _read(dot_git)  # a linked work tree: "gitdir: <path>"
    if not pointer.startswith("gitdir:"):
        return None
    return (work_tree / pointer.removeprefix("gitdir:").strip()).resolve()


def _common_dir(git_dir: Path) -> Path:
    pointer = _read(git_dir / "commondir").strip()
    return (git_dir / pointer).resolve() if pointer else git_dir


def _head_of(git_dir: Path) -> tuple[str, str]:
    head = _read(git_dir / "HEAD").strip()
    if not head.startswith("ref: "):
        return (head if _COMMIT.fullmatch(head) else ""), ""
    name = head.removeprefix("ref: ")
    branch = name.removeprefix("refs/heads/")
    for folder in (git_dir, _common_dir(git_dir)):
        commit = _read(folder / name).strip()
        if _COMMIT.fullmatch(commit):
            return commit, branch
    packed = re.search(
        rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$",
        _read(_common_dir(git_dir) / "packed-refs"),
        re.MULTILINE,
    )
    return (packed.group(1) if packed else ""), branch


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
