"""Where a project is, and where this machine keeps what only it may write about it.

    <project>/.state                      head, checkpoints, history: as the product promises
    <state home>/projects/<name>-<hash>   index, outbox, inbox, locks, journals, ledger

What only this machine may write lies outside of the work tree: no repository can bring it, and
`git clean` cannot take it away. Git's own files are read, never git itself: starting a process
would cost more than storing a memory does.

Standard library only, and none of its slower parts: hooks use it too.
"""

import errno
import os
import re
import sys
from collections.abc import Mapping
from typing import Final

from memory_mcp.safe_files import read_file

try:  # what hashlib offers under this name; it would load OpenSSL first, for 4 ms in every hook
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

STATE_FOLDER: Final = ".state"
_APPLICATION: Final = "memory-mcp"
_GIT_FILE_BYTES_MAX: Final = 8_388_608
"""Larger than the packed refs of any repository that people work in."""
_POINTER_BYTES_MAX: Final = 16_384
_WORK_TREES: Final = "worktrees"
_NO: Final = ("false", "no", "off", "0")
_VARIABLE: Final = re.compile(
    r"\$\{[^}]*\}?|(?<![^/\\])\$[A-Za-z_]\w*(?![^/\\])"
    + (r"|%\w+%" if sys.platform == "win32" else "")
)
"""What a shell would have replaced; most clients do not."""


class LostWorkTreeError(ValueError):
    """It cannot be told which folder has the memory of a linked work tree; says what to do."""


def state_home(environment: Mapping[str, str], home: str = "") -> str:
    """Where this machine keeps its own state; `home` is what MEMORY_HOME says, if it does."""
    if home:
        return os.path.join(home, "state")
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = environment.get("XDG_STATE_HOME", "").strip() or os.path.expanduser("~/.local/state")
    return os.path.join(base, _APPLICATION)


def plain_path(path: str, project: str) -> str:
    """The path by which something is known: the project's real one, and plain names below it.

    A link above the project is the user's way to it. One below it may be a stranger's: where it
    leads is another's place, and never becomes the place of what stands here.
    """
    if not project:
        return os.path.realpath(path)
    whole, real = os.path.abspath(path), os.path.realpath(project)
    for root in (os.path.abspath(project), real):
        below = os.path.join(root, "")
        if whole.startswith(below):
            return os.path.join(real, whole.removeprefix(below))
    return os.path.realpath(path)


def machine_folder(state_home: str, state_dir: str, project: str) -> str:
    """What this machine keeps about the project whose head is in `state_dir`.

    Two folders of state never share one, and a folder that is moved begins anew.
    """
    whole = os.path.normcase(plain_path(state_dir, project))
    project = os.path.basename(os.path.dirname(whole)) or "root"
    name = re.sub(r"[^a-z0-9_-]+", "-", project.lower()).strip("-")[:40] or "x"
    digest = blake2b(whole.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return os.path.join(state_home, "projects", f"{name}-{digest}")


def why_unusable(named: str, path: str) -> str:
    """What a folder that a setting names must be, and is not; nothing if it is one or can be made.

    `named` is the text of the setting, `path` what it comes to.
    """
    if found := _VARIABLE.search(named):
        return f"a folder; nothing puts a value in the place of {found.group()!r}, so write it out"
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return "a folder; this path is too long"
    there = path
    while not os.path.lexists(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        return f"a folder; {there!r} is none"
    if there != path and not os.access(there, os.W_OK | os.X_OK):
        return f"a folder that is there or can be made; {there!r} may not be written"
    return ""


def find_work_tree(start: str) -> str:
    """The git work tree around a folder; nothing outside of one."""
    folder = start
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def roots_around(path: str, project: str = "") -> tuple[str, ...]:
    """The folders around a path whose content may be a stranger's, so that no link in them counts.

    Of the work trees around it the outermost: a link in one may lead into another.
    """
    found = [os.path.abspath(project), os.path.realpath(project)] if project else []
    outermost, tree = "", find_work_tree(os.path.dirname(path))
    while tree and tree != outermost:
        outermost, tree = tree, find_work_tree(os.path.dirname(tree))
    return tuple(dict.fromkeys([*found, outermost] if outermost else found))


def find_main_work_tree(work_tree: str) -> str:
    """The one folder for all work trees of a clone: the main one, or, bare, the repository's.

    A linked work tree is believed only if the repository that it names knows it: a `.git` file may
    point anywhere, but nobody else can write into that repository. The way back to a main one that
    does not hold its repository is believed only if both ends say so. Everything else stands for
    itself, submodules included.

    Raises:
        LostWorkTreeError: there is a main one, but not where it could be found; a memory that
            began here instead would be seen by nobody once git finds it again.
    """
    git_dir = find_git_dir(work_tree)
    if not git_dir and _is_left_behind(work_tree):
        raise LostWorkTreeError(
            f"{os.path.join(work_tree, '.git')} links this folder to a repository that is not "
            "there, or that has it somewhere else: one of the two was moved or removed. Run `git "
            "worktree repair` in the main work tree, with this folder's path; or remove that file, "
            "if this is to be a project of its own"
        )
    common = common_git_dir(git_dir) if git_dir else ""
    if not common or common == git_dir:
        return work_tree
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    main = _named_work_tree(common)
    if main and find_git_dir(main) == common:
        return main
    if _core(common, "bare").lower() in _NO:
        raise LostWorkTreeError(
            f"{work_tree} is linked to a repository that does not say where its main work tree, "
            'which has the memory, is. Run `git config core.worktree "$PWD"` in that one'
        )
    return common


def find_git_dir(work_tree: str) -> str:
    """Where git keeps what it knows of a work tree; nothing if its `.git` leads elsewhere."""
    dot_git = os.path.join(work_tree, ".git")
    if os.path.isdir(dot_git) and not os.path.islink(dot_git):
        return os.path.realpath(dot_git)
    git_dir = _pointed_to(work_tree)
    if not git_dir:
        return ""
    listed = _listed_at(git_dir) == os.path.realpath(dot_git)
    known = listed or _named_work_tree(git_dir) == os.path.realpath(work_tree)
    return git_dir if known else ""


def common_git_dir(git_dir: str) -> str:
    """Where all work trees of the clone keep what they share; the folder itself for a main one."""
    pointer = read_text(os.path.join(git_dir, "commondir"), git_dir, _POINTER_BYTES_MAX).strip()
    common = _whole(git_dir, pointer) or git_dir
    linked = os.path.join(common, _WORK_TREES, os.path.basename(git_dir))
    return common if linked == git_dir else git_dir


def read_text(path: str, root: str, bytes_max: int = _GIT_FILE_BYTES_MAX) -> str:
    """The text of one of git's files; nothing if it cannot, or must not, be read."""
    try:
        return read_file(path, bytes_max, root).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def _pointed_to(work_tree: str) -> str:
    """Where the `.git` file of a work tree points to, whatever is there."""
    dot_git = os.path.join(work_tree, ".git")
    if os.path.islink(dot_git):
        return ""
    pointer = read_text(dot_git, work_tree, _POINTER_BYTES_MAX)
    named = pointer.removeprefix("gitdir:").strip()
    return _whole(work_tree, named) if pointer.startswith("gitdir:") else ""


def _is_left_behind(work_tree: str) -> bool:
    """Whether it was a linked work tree until it, or what it is linked to, went elsewhere.

    Not so if another one stands where the repository has it: then this is a copy, or forged.
    """
    git_dir = _pointed_to(work_tree)
    if os.path.basename(os.path.dirname(git_dir)) != _WORK_TREES:
        return False
    listed = _listed_at(git_dir)
    return not os.path.lexists(listed or git_dir)


def _listed_at(git_dir: str) -> str:
    """The `.git` file of the linked work tree for which a repository has this folder."""
    back = read_text(os.path.join(git_dir, "gitdir"), git_dir, _POINTER_BYTES_MAX).strip()
    return _whole(git_dir, back)


def _named_work_tree(git_dir: str) -> str:
    """The work tree that a repository names; one that lies in its work tree names none."""
    return _whole(git_dir, _core(git_dir, "worktree"))


def _core(git_dir: str, name: str) -> str:
    """What a repository's own configuration says of `core.<name>`; the last word counts."""
    said = ""
    for file in ("config", "config.worktree"):  # where git moves it for a sparse checkout
        section = ""
        for line in read_text(os.path.join(git_dir, file), git_dir).splitlines():
            if line.lstrip().startswith("["):
                section = line.partition("]")[0].strip(" \t[").lower()
            key, _, value = line.partition("=")
            if section == "core" and key.strip().lower() == name:
                said = value.strip().strip('"')
    return said


def _whole(folder: str, path: str) -> str:
    """The path as seen from a folder, without links; nothing for what can be none."""
    try:
        return os.path.realpath(os.path.join(folder, path)) if path else ""
    except ValueError:  # it holds a NUL
        return ""
