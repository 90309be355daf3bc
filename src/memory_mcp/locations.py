"""Where a project is, and where this machine stores what only it may write about the project.

    <project>/.state                      head, checkpoints, history: as the product promises
    <state home>/projects/<name>-<hash>   index, outbox, inbox, locks, journals, ledger

What only this machine may write lies outside of the work tree: no repository can bring it, and
`git clean` cannot remove it. Git's files are read and git is never started: a process would cost
more than storing a memory. Standard library only, without its slower parts: hooks use it too.
"""

import errno
import os
import re
import sys
from collections.abc import Mapping
from typing import Final

from memory_mcp.patterns import compile_later
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
WORK_TREES: Final = "worktrees"
"""The folder in which a repository lists its linked work trees."""
_NO: Final = ("false", "no", "off", "0")
_VARIABLE: Final = compile_later(
    r"\$\{[^}]*\}?|(?<![^/\\])\$[A-Za-z_]\w*(?![^/\\])"
    + (r"|%\w+%" if sys.platform == "win32" else "")
)
"""A variable that a shell would have replaced; most clients do not."""


class LostWorkTreeError(ValueError):
    """The main work tree, which has the memory, cannot be found; the message says what to do."""


def find_state_home(environment: Mapping[str, str], home: str = "") -> str:
    """The folder of this machine's state; `home` is MEMORY_HOME, if that is set."""
    if home:
        return os.path.join(home, "state")
    one_folder = sys.platform in ("win32", "darwin")
    named = "" if one_folder else environment.get("XDG_STATE_HOME", "").strip()
    return os.path.join(named or _find_base("~/.local/state", environment), _APPLICATION)


def find_login(environment: Mapping[str, str]) -> str:
    """The name that the user logged in with, as `getpass.getuser` finds it, which loads slowly."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if user := environment.get(name):
            return user
    try:
        import pwd  # noqa: PLC0415  # not on Windows, and rarely needed

        return pwd.getpwuid(os.getuid())[0]
    except (ImportError, KeyError, OSError, AttributeError):  # no login in a container or service
        return "default"


def find_data_home(environment: Mapping[str, str]) -> str:
    """The folder of the user's own data, where MEMORY_HOME is not set."""
    named = environment.get("XDG_DATA_HOME", "") if sys.platform != "win32" else ""
    base = named if os.path.isabs(named) else _find_base("~/.local/share", environment)
    return os.path.join(base, _APPLICATION)


def _find_base(usual: str, environment: Mapping[str, str]) -> str:
    """Where programs keep what is theirs: on Windows and macOS all in one folder."""
    if sys.platform == "win32":
        return environment.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support")
    return os.path.expanduser(usual)


def resolve_path(path: str, project: str) -> str:
    """The path with links resolved down to the project, and kept below it.

    Links above the project are the user's. One below it may be a stranger's, and is not followed.
    """
    if not project:
        return os.path.realpath(path)
    absolute, real = os.path.abspath(path), os.path.realpath(project)
    for root in (os.path.abspath(project), real):
        below = os.path.join(root, "")
        if absolute.startswith(below):
            return os.path.join(real, absolute.removeprefix(below))
    return os.path.realpath(path)


def name_in_full(path: str) -> str:
    """The absolute path of what the user names; `..` is taken by the words, behind a link too."""
    return os.path.abspath(os.path.expanduser(path))


def find_machine_folder(state_home: str, state_dir: str, project: str) -> str:
    """The folder of what this machine stores about the project whose head is in `state_dir`.

    Two state folders never share one; a state folder that is moved gets another.
    """
    resolved = os.path.normcase(resolve_path(state_dir, project))
    project = os.path.basename(os.path.dirname(resolved)) or "root"
    name = re.sub(r"[^a-z0-9_-]+", "-", project.lower()).strip("-")[:40] or "x"
    digest = blake2b(resolved.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return os.path.join(state_home, "projects", f"{name}-{digest}")


def explain_unusable_folder(named: str, path: str) -> str:
    """What the folder of a setting must be and is not; '' if it is there or can be made.

    `named` is the text of the setting, `path` the folder that it leads to.
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
    """The git work tree around a folder; '' outside of one."""
    folder = start
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def locate_in_tree(folder: str) -> tuple[str, str]:
    """The git work tree that holds the folder, and the path from there; '' twice outside of one.

    As git does, it goes up from where the folder really is.
    """
    if os.path.lexists(os.path.join(folder, ".git")):
        return folder, ""
    real = os.path.realpath(folder)
    tree = find_work_tree(real)
    return (tree, os.path.relpath(real, tree)) if tree else ("", "")


def find_project(start: str, state_home: str) -> str:
    """The nearest folder, from this one up, that is a git work tree or has a memory begun here.

    A memory without git was begun by naming its folder. Only this machine writes below its
    `state_home`, so no archive makes its folder one of these. '' if there is neither.
    """
    folder = start
    while not (os.path.lexists(os.path.join(folder, ".git")) or _is_begun(folder, state_home)):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _is_begun(folder: str, state_home: str) -> bool:
    """Whether this machine has written a memory in the folder."""
    state = os.path.join(folder, STATE_FOLDER)
    begun = os.path.isdir(state) and not os.path.islink(state)
    return begun and os.path.isdir(find_machine_folder(state_home, state, folder))


def find_untrusted_roots(path: str, project: str = "") -> tuple[str, ...]:
    """The folders around a path in which no link is followed, as a stranger may have made it.

    They are the project and the outermost work tree: a link in one may lead into another.
    """
    found = [os.path.abspath(project), os.path.realpath(project)] if project else []
    outermost, tree = "", find_work_tree(os.path.dirname(path))
    while tree and tree != outermost:
        outermost, tree = tree, find_work_tree(os.path.dirname(tree))
    return tuple(dict.fromkeys([*found, outermost] if outermost else found))


def find_main_folder(folder: str) -> str:
    """The one folder for all work trees of a clone: the same one in the main work tree."""
    tree, within = locate_in_tree(folder)
    main = find_main_work_tree(tree) if tree else ""
    return folder if main == tree else os.path.join(main, within) if within else main


def find_main_work_tree(work_tree: str) -> str:
    """The main work tree of a clone; of a bare one the folder around it, or the repository.

    The folder around counts if its `.git` leads there, and no memory was begun in the repository.
    A linked work tree is accepted only if the repository that it names lists it: a `.git` file may
    point anywhere, but a stranger cannot write into that repository. A main work tree that does not
    hold its repository is accepted only if both name each other. Everything else stands for itself,
    submodules included.

    Raises:
        LostWorkTreeError: there is a main work tree, but it cannot be found; a memory begun here
            instead would be lost once git finds it again.
    """
    git_dir = find_git_dir(work_tree)
    if not git_dir and _is_left_behind(work_tree):
        raise LostWorkTreeError(
            f"{os.path.join(work_tree, '.git')} links this folder to a repository that is not "
            "there, or that has it somewhere else: one of the two was moved or removed. Run `git "
            "worktree repair` in the main work tree, with this folder's path; or remove that file, "
            "if this is to be a project of its own"
        )
    common = find_common_git_dir(git_dir) if git_dir else ""
    if not common or common == git_dir:
        return work_tree
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    main = _read_work_tree(common)
    if main and find_git_dir(main) == common:
        return main
    if _read_core(common, "bare").lower() in _NO:
        raise LostWorkTreeError(
            f"{work_tree} is linked to a repository that does not say where its main work tree, "
            'which has the memory, is. Run `git config core.worktree "$PWD"` in that one'
        )
    around = os.path.dirname(common)
    begun = os.path.isdir(os.path.join(common, STATE_FOLDER))
    return around if find_bare_git_dir(around) == common and not begun else common


def find_git_dir(work_tree: str) -> str:
    """The git folder of a work tree; '' if its `.git` leads to one that belongs to another.

    The folder of a linked work tree, or of a submodule, names the work tree that it belongs to. One
    that lies elsewhere and names none belongs to any that leads to it; but not if it is bare, or
    lies in a work tree of its own.
    """
    dot_git = os.path.join(work_tree, ".git")
    if os.path.isdir(dot_git) and not os.path.islink(dot_git):
        return os.path.realpath(dot_git)
    git_dir = _read_pointer(work_tree)
    if not git_dir:
        return ""
    listed, named = _read_listing(git_dir), _read_work_tree(git_dir)
    if listed or named:
        known = listed == os.path.realpath(dot_git) or named == os.path.realpath(work_tree)
        return git_dir if known else ""
    apart = os.path.basename(git_dir) != ".git" and os.path.isfile(os.path.join(git_dir, "HEAD"))
    return git_dir if apart and _read_core(git_dir, "bare").lower() in _NO else ""


def find_bare_git_dir(folder: str) -> str:
    """The bare repository in a folder of its work trees, if the folder's `.git` leads to it."""
    git_dir = _read_pointer(folder)
    inside = bool(git_dir) and os.path.dirname(git_dir) == os.path.realpath(folder)
    return git_dir if inside and _read_core(git_dir, "bare").lower() not in ("", *_NO) else ""


def find_git_dir_around(folder: str) -> str:
    """The git folder of the work tree that holds the folder; '' outside of one."""
    tree, _ = locate_in_tree(folder)
    return find_git_dir(tree) if tree else ""


def find_common_git_dir(git_dir: str) -> str:
    """The git folder that all work trees of the clone share; for a main one it is its own."""
    pointer = read_git_text(os.path.join(git_dir, "commondir"), git_dir, _POINTER_BYTES_MAX).strip()
    common = _resolve_below(git_dir, pointer) or git_dir
    linked = os.path.join(common, WORK_TREES, os.path.basename(git_dir))
    return common if linked == git_dir else git_dir


def read_git_text(path: str, root: str, bytes_max: int = _GIT_FILE_BYTES_MAX) -> str:
    """The text of one of git's files; '' if it cannot, or must not, be read."""
    try:
        return read_file(path, bytes_max, root).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def _read_pointer(work_tree: str) -> str:
    """The path that the `.git` file of a work tree points to, whatever is there."""
    dot_git = os.path.join(work_tree, ".git")
    if os.path.islink(dot_git):
        return ""
    pointer = read_git_text(dot_git, work_tree, _POINTER_BYTES_MAX)
    named = pointer.removeprefix("gitdir:").strip()
    return _resolve_below(work_tree, named) if pointer.startswith("gitdir:") else ""


def _is_left_behind(work_tree: str) -> bool:
    """Whether it was a linked work tree until it, or its repository, was moved or removed.

    If another one is where the repository lists it, this one is a copy, or forged.
    """
    git_dir = _read_pointer(work_tree)
    if os.path.basename(os.path.dirname(git_dir)) != WORK_TREES:
        return False
    listed = _read_listing(git_dir)
    return not os.path.lexists(listed or git_dir)


def _read_listing(git_dir: str) -> str:
    """The `.git` file of the linked work tree to which a repository gave this folder."""
    back = read_git_text(os.path.join(git_dir, "gitdir"), git_dir, _POINTER_BYTES_MAX).strip()
    return _resolve_below(git_dir, back)


def _read_work_tree(git_dir: str) -> str:
    """The work tree that a repository names; '' for one inside of its work tree."""
    return _resolve_below(git_dir, _read_core(git_dir, "worktree"))


def _read_core(git_dir: str, name: str) -> str:
    """The last value of `core.<name>` in a repository's own configuration."""
    found = ""
    for file in ("config", "config.worktree"):  # where git moves it for a sparse checkout
        section = ""
        for line in read_git_text(os.path.join(git_dir, file), git_dir).splitlines():
            if line.lstrip().startswith("["):
                section = line.partition("]")[0].strip(" \t[").lower()
            key, _, value = line.partition("=")
            if section == "core" and key.strip().lower() == name:
                found = value.strip().strip('"')
    return found


def _resolve_below(folder: str, path: str) -> str:
    """The path relative to a folder, with links resolved; '' for what is no path."""
    try:
        return os.path.realpath(os.path.join(folder, path)) if path else ""
    except ValueError:  # it holds a NUL
        return ""
