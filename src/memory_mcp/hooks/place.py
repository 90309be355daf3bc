"""Where a hook finds the project's memory, and whether it may leave anything there.

The same answers as `settings` and `places` give, for a process that may import neither: a hook must
be done before they would be loaded. What only they can tell (whether a value means anything) is
left to the server, which refuses to start and says so.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["INTERVAL_USUAL", "Place", "find_place"]

STATE_FOLDER: Final = ".state"
INTERVAL_USUAL: Final = 10
_INTERVAL_MAX: Final = 10_000
_NO: Final = ("0", "false", "no", "off")
_BRANCH: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")


class Place(NamedTuple):
    """Where the memory is: `state` is empty if no project is known.

    `meta`: nothing may be left behind. `interval`: turns between two reminders. `user` and `home`:
    whose memory it is, and where MEMORY_HOME says that the user's own is, if it says so.
    """

    enabled: bool
    meta: bool
    state: str
    branch: str
    interval: int
    user: str = ""
    home: str = ""

    def on(self, branch: object) -> "Place":
        """The place as a session sees it that noted this of its branch, if that is one."""
        known = isinstance(branch, str) and _BRANCH.fullmatch(branch)
        return self._replace(branch=branch) if known else self


def find_place(environment: Mapping[str, str], event: Mapping[str, Any]) -> Place:
    """The memory of the project that the session works on.

    Raises:
        ValueError: a folder that was named does not exist; what would begin there is no memory.
    """

    def given(name: str) -> str:
        return (environment.get(name, "").strip()) or environment.get(f"ATOMIC_{name}", "").strip()

    enabled = given("MEMORY_ENABLED").casefold() not in _NO
    home = given("MEMORY_HOME")
    branch = given("MEMORY_BRANCH") or "main"
    return Place(
        enabled=enabled,
        meta=given("MEMORY_MODE").casefold() == "meta",
        state=_state(given, environment, event) if enabled else "",
        branch=branch if _BRANCH.fullmatch(branch) else "main",
        interval=_whole(given("MEMORY_CHECKPOINT_INTERVAL")),
        user=_plain(given("MEMORY_USER") or _login(environment)),
        home=_plain(_whole_path(home, environment)) if home else "",
    )


def _state(given: Any, environment: Mapping[str, str], event: Mapping[str, Any]) -> str:
    if state := given("MEMORY_STATE_DIR"):
        return _whole_path(state, environment)
    if project := given("MEMORY_PROJECT_DIR"):
        folder = _whole_path(project, environment)
        if not os.path.isdir(folder):
            raise ValueError(f"MEMORY_PROJECT_DIR {project!r} is no folder that exists")
        return os.path.join(folder, STATE_FOLDER)
    if project := environment.get("CLAUDE_PROJECT_DIR", "").strip():
        return os.path.join(_whole_path(project), STATE_FOLDER)
    here = event.get("cwd")
    tree = _work_tree(_whole_path(here) if isinstance(here, str) and here else os.getcwd())
    return os.path.join(tree, STATE_FOLDER) if tree else ""


def _whole_path(path: str, environment: Mapping[str, str] | None = None) -> str:
    """As the server has it: a relative path is one in the project that Claude Code names."""
    project = (environment or {}).get("CLAUDE_PROJECT_DIR", "").strip()
    path = os.path.join(os.path.expanduser(project), os.path.expanduser(path))
    return os.path.abspath(path)


def _login(environment: Mapping[str, str]) -> str:
    """As `getpass.getuser` has it, which takes longer to import than to ask."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if user := environment.get(name):
            return user
    try:
        import pwd  # noqa: PLC0415  # there is none on Windows, and most environments have a name

        return pwd.getpwuid(os.getuid())[0]
    except (ImportError, KeyError, OSError, AttributeError):
        return "default"


def _plain(value: str) -> str:
    return value.encode(errors="backslashreplace").decode()


def _work_tree(folder: str) -> str:
    """The git work tree around a folder; nothing outside of one."""
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _whole(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        return INTERVAL_USUAL
    return number if 0 <= number <= _INTERVAL_MAX else INTERVAL_USUAL
