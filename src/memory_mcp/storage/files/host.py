"""What this machine knows: the time, new ids, and what git says of a work tree.

Git is read from its files: starting a process would cost more than storing a memory does, and a
broken repository must not break a write. What cannot be read is left empty.
"""

import hashlib
import os
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from memory_mcp.domain.ids import RecordId, format_uuid
from memory_mcp.domain.limits import NAME_CHARS_MAX
from memory_mcp.domain.normalise import find_hidden_character
from memory_mcp.domain.record import Origin
from memory_mcp.locations import find_common_git_dir, find_git_dir, read_git_text
from memory_mcp.patterns import compile_later
from memory_mcp.storage.files.git_index import read_index

_COMMIT: Final = compile_later(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION: Final = compile_later(r"\[\s*([^\]\s\"]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]")
_ADDRESS: Final = compile_later(r"url\s*=\s*(.*)", re.IGNORECASE)
_URL: Final = compile_later(r"\"?([^\s\"#;]+)\"?(?:\s*[#;].*)?")
_REF: Final = compile_later(r"refs/(?!.*(?:\.\.|//))[^\x00-\x20\x7f~^:?*\[\\]+")
"""A name that git accepts; above all one that does not lead out of its folder."""
_BRANCH_CHARS_MAX: Final = 250
_PORTS: Final = {"https": 443, "http": 80, "ssh": 22, "git": 9418}
_Stamp = tuple[int, int, int] | None
_SCP_LIKE: Final = compile_later(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")


class SystemClock:
    """Implements `ports.Clock`, in whole milliseconds, which is what records store."""

    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class SystemIds:
    """Implements `ports.Ids`: UUIDv7 (RFC 9562) with a counter, so that ids rise."""

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
        return format_uuid(value)


class GitProvenance:
    """Implements `ports.Provenance` from the project's git files and the session's own data."""

    def __init__(self, work_tree: Path | None, session: str = "") -> None:
        self._git_dir = find_git_dir(str(work_tree)) if work_tree else ""
        self._session = session

    def origin(self, client: str) -> Origin:
        commit, branch = read_git_head(self._git_dir) if self._git_dir else ("", "")
        return Origin(
            by="user" if client == "cli" else "assistant",
            client=client,
            session=self._session,
            commit=commit,
            git_branch=branch,
        )


class GitRemote:
    """The addresses of a project's git remote, read again only if git's settings changed."""

    def __init__(self, work_tree: Path) -> None:
        self._work_tree = str(work_tree)
        self._cached: tuple[tuple[str, _Stamp], str] | None = None

    def address(self) -> str:
        """Every address of the remote in canonical form; '' without any.

        Unlike `read_remote_name` it also tells apart paths on this machine.
        """
        cached = self._cached
        if cached is None or stamp_file(cached[0][0]) != cached[0][1]:
            config = _find_git_config(self._work_tree) or os.path.join(self._work_tree, ".git")
            stamp = stamp_file(config)
            addresses = map(_canonical_address, _read_addresses(self._work_tree))
            self._cached = cached = (config, stamp), ", ".join(dict.fromkeys(addresses))
        return cached[1]


def read_remote_name(work_tree: Path) -> str:
    """The name of origin, or of the first remote: `github.com/acme/shop`, or '' without any.

    Scheme, user and `.git` are left out, so that clones by SSH and by HTTPS have the same name.
    """
    addresses = map(_URL.fullmatch, _read_addresses(str(work_tree)))
    return next((_remote_name(found.group(1)) for found in addresses if found), "")


def _find_git_config(work_tree: str) -> str:
    """The path of git's settings for the work tree; '' outside of one."""
    git_dir = find_git_dir(work_tree)
    return os.path.join(find_common_git_dir(git_dir), "config") if git_dir else ""


def _read_addresses(work_tree: str) -> list[str]:
    """The addresses of origin, or of the first remote, as written. Other sections have some too."""
    config = _find_git_config(work_tree)
    remotes: dict[str, list[str]] = {}
    name: str | None = None
    text = read_git_text(config, os.path.dirname(config)) if config else ""
    for line in map(str.strip, text.splitlines()):
        if section := _SECTION.match(line):
            name = section.group(2) if section.group(1).lower() == "remote" else None
        elif name is not None and (address := _ADDRESS.fullmatch(line)):
            remotes.setdefault(name, []).append(address.group(1))
    for first in remotes.values():
        return remotes.get("origin", first)
    return []


def _canonical_address(address: str) -> str:
    """An address in one form; only addresses that surely lead to the same place share it.

    A remote's name drops more: another port, user or capital may be somebody else's repository.
    """
    found = _URL.fullmatch(address)
    url = found.group(1) if found else address
    place = _locate(url)
    canonical = place.removesuffix("/").removesuffix(".git") or url
    fits = len(canonical) <= NAME_CHARS_MAX and find_hidden_character(canonical) is None
    fits = fits and (bool(place) or "://" not in url)  # what is no address may hold a password
    return canonical if fits else f"sha256:{hashlib.sha256(url.encode()).hexdigest()}"


def _locate(url: str) -> str:
    """Host and path of an address; port, user and query where they make a difference.

    The user `git` serves everybody, and over HTTP the user does not matter.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # no address: git could not reach it either
        return ""
    if "://" not in url:
        found = _SCP_LIKE.fullmatch(url)
        if found is None:
            return ""  # a path on this machine
        user, host, path = url.partition(":")[0].rpartition("@")[0], found.group(1), found.group(2)
        port, query, web = None, "", False
    else:
        user, host, path = parts.username or "", parts.hostname or "", parts.path
        query, web = f"?{parts.query}" if parts.query else "", parts.scheme in ("http", "https")
    shared = web or user in ("", "git")
    who = "" if shared else f"{user}@"
    at = "" if port in (None, _PORTS.get(parts.scheme)) else f":{port}"
    return f"{who}{host.lower()}{at}/{path.lstrip('/') if shared else path}{query}"


def stamp_file(path: str) -> _Stamp:
    """What changes when the file does; None if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _remote_name(url: str) -> str:
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
    name = place.rstrip("/").removesuffix(".git").lower()
    fits = len(name) <= NAME_CHARS_MAX and find_hidden_character(name) is None
    return name if fits else ""  # what no record could hold is no name of a project


def read_git_head(git_dir: str) -> tuple[str, str]:
    """The commit and the branch of a work tree."""
    head = read_git_text(os.path.join(git_dir, "HEAD"), git_dir).strip()
    if not head.startswith("ref: "):
        return (head if _COMMIT.fullmatch(head) else ""), ""
    name = head.removeprefix("ref: ")
    branch = name.removeprefix("refs/heads/")[:_BRANCH_CHARS_MAX]
    return (read_git_ref(git_dir, name), branch) if _REF.fullmatch(name) else ("", "")


def read_git_ref(git_dir: str, name: str) -> str:
    """The commit that `refs/…` names; '' if there is none of that name."""
    if not _REF.fullmatch(name):
        return ""
    common = find_common_git_dir(git_dir)
    for folder in (git_dir, common):
        commit = read_git_text(os.path.join(folder, name), folder).strip()
        if _COMMIT.fullmatch(commit):
            return commit
    packed = re.search(
        rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$",
        read_git_text(os.path.join(common, "packed-refs"), common),
        re.MULTILINE,
    )
    return packed.group(1) if packed else ""


_IndexStamp = tuple[int, int]


class TrackedFiles:
    """The files that git tracks in a work tree; none where there is no repository."""

    def __init__(self, work_tree: Path | None) -> None:
        self._git_dir = find_git_dir(str(work_tree)) if work_tree else ""
        self._known: dict[str, tuple[_IndexStamp, bool]] = {}

    def holds(self, name: str) -> bool:
        """Whether git tracks the file of that name, as a path from the work tree with slashes."""
        if not self._git_dir:
            return False
        path = os.path.join(self._git_dir, "index")
        try:
            found = os.lstat(path)
            stamp = (found.st_mtime_ns, found.st_size)
            if name not in self._known or self._known[name][0] != stamp:
                data = read_index(path, self._git_dir)
                self._known[name] = (stamp, name.encode() + b"\0" in data)
        except OSError:  # no index yet, or none of git's
            return False
        return self._known[name][1]
