"""Find the project's memory for a hook, and whether the hook may write there.

Gives the same answers as `settings` and `places`, which take longer to import than a hook may run.
Invalid values are left to the server, which reports them in each answer.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from memory_mcp.locations import (
    STATE_FOLDER,
    find_main_work_tree,
    find_work_tree,
    machine_folder,
    state_home,
    why_unusable,
)

INTERVAL_USUAL: Final = 10
_INTERVAL_MAX: Final = 1_000
_YES: Final = ("", "1", "true", "yes", "on")
"""Any other word counts as no: a misspelt one may be meant so."""
_BRANCH: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")


class Place(NamedTuple):
    """Where the memory is; its folders are empty if no project is known.

    `state` is where the head is, `machine` what only this machine writes: events for the server,
    notes of each session and what was rendered. `meta`: nothing may be left behind. `interval`:
    turns between two reminders. `user` and `home`: whose memory it is, and where MEMORY_HOME says
    that the user's own is, if it says so. `work_tree` is where the session stands, `project` the
    main one of its clone; `client` is where the client keeps what is its own.
    """

    enabled: bool
    meta: bool
    state: str
    machine: str
    branch: str
    interval: int
    user: str = ""
    home: str = ""
    work_tree: str = ""
    project: str = ""
    client: str = ""

    def on(self, branch: object) -> "Place":
        """The place as a session sees it that noted this of its branch, if that is one."""
        known = isinstance(branch, str) and _BRANCH.fullmatch(branch)
        return self._replace(branch=branch) if known else self


def find_place(environment: Mapping[str, str], event: Mapping[str, Any]) -> Place:
    """The memory of the project that the session works on.

    Raises:
        ValueError: a folder that was named does not exist, or cannot be made; what would begin
            elsewhere is no memory.
    """

    def given(name: str) -> str:
        return (environment.get(name, "").strip()) or environment.get(f"ATOMIC_{name}", "").strip()

    enabled = given("MEMORY_ENABLED").casefold() in _YES
    home = given("MEMORY_HOME")
    home = _own_folder("MEMORY_HOME", home, environment) if home else ""
    branch = given("MEMORY_BRANCH") or "main"
    work_tree = _work_tree(given, environment, event) if enabled else ""
    project = find_main_work_tree(work_tree) if work_tree else ""
    state = os.path.join(project, STATE_FOLDER) if project else ""
    if enabled and (named := given("MEMORY_STATE_DIR")):
        state = _own_folder("MEMORY_STATE_DIR", named, environment)
    return Place(
        enabled=enabled,
        meta=given("MEMORY_MODE").casefold() not in ("", "normal"),
        state=state,
        machine=machine_folder(state_home(environment, home), state, project) if state else "",
        branch=branch if _BRANCH.fullmatch(branch) else "main",
        interval=_parse_interval(given("MEMORY_CHECKPOINT_INTERVAL")),
        user=_plain(given("MEMORY_USER") or _user_name(environment)),
        home=_plain(home),
        work_tree=work_tree,
        project=project,
        client=_full_path(environment.get("CLAUDE_CONFIG_DIR", "").strip() or "~/.claude"),
    )


def _work_tree(given: Any, environment: Mapping[str, str], event: Mapping[str, Any]) -> str:
    if project := given("MEMORY_PROJECT_DIR"):
        folder = _full_path(project, environment)
        if os.path.isdir(folder):
            return folder
        if given("MEMORY_STATE_DIR"):
            return ""
        raise ValueError(f"MEMORY_PROJECT_DIR {project!r} is no folder that exists")
    if project := environment.get("CLAUDE_PROJECT_DIR", "").strip():
        return _full_path(project)
    here = event.get("cwd")
    return find_work_tree(_full_path(here) if isinstance(here, str) and here else os.getcwd())


def _own_folder(name: str, path: str, environment: Mapping[str, str]) -> str:
    whole = _full_path(path, environment)
    if must := why_unusable(path, whole):
        raise ValueError(f"{name} is {path!r}; it must be {must}")
    return whole


def _full_path(path: str, environment: Mapping[str, str] | None = None) -> str:
    """As the server has it: a relative path is one in the project that Claude Code names."""
    project = (environment or {}).get("CLAUDE_PROJECT_DIR", "").strip()
    path = os.path.join(os.path.expanduser(project), os.path.expanduser(path))
    return os.path.abspath(path)


def _user_name(environment: Mapping[str, str]) -> str:
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


def _parse_interval(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        return INTERVAL_USUAL
    return number if 0 <= number <= _INTERVAL_MAX else INTERVAL_USUAL
