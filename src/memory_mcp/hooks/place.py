"""Find the project's memory for a hook, and whether the hook may write there.

Gives the same answers as `config`, which takes longer to import than a hook may run. The server
reports invalid values; here they count as absent. A project's file of settings sets nothing that a
hook asks for, so only the user's is read.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from memory_mcp.config_files import ConfigFileError, find_user_file, name_key, read_config_file
from memory_mcp.locations import (
    STATE_FOLDER,
    explain_unusable_folder,
    find_login,
    find_machine_folder,
    find_main_folder,
    find_project,
    find_state_home,
)

INTERVAL_USUAL: Final = 10
_INTERVAL_MAX: Final = 1_000
_YES: Final = ("", "1", "true", "yes", "on")
"""Any other word counts as no, for a misspelt one may mean it."""
_IN_FILE: Final = (
    "MEMORY_ENABLED", "MEMORY_MODE", "MEMORY_USER", "MEMORY_TEAM", "MEMORY_CHECKPOINT_INTERVAL"
)  # fmt: skip
"""Of what a hook asks for, what the user's file may set."""
_BRANCH_CHARS_MAX: Final = 200


class Place(NamedTuple):
    """Where the memory is; its folders are empty if no project is known.

    `state` is the folder of the head; `machine` that of what only this machine writes: events for
    the server, notes of each session and the rendered bootstrap. `meta`: nothing may be written.
    `interval`: turns between two reminders. `user` is whose memory it is, `home` the folder that
    MEMORY_HOME names, if it does, `team` what MEMORY_TEAM names. `work_tree` is the session's own
    folder, `project` the same in the main work tree; `client` is the client's own folder.
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
    team: str = ""

    def on(self, branch: object) -> "Place":
        """The place on the branch that a session noted, if that is a valid one."""
        known = isinstance(branch, str) and _is_name(branch)
        return self._replace(branch=branch) if known else self


def find_place(environment: Mapping[str, str], event: Mapping[str, Any]) -> Place:
    """The memory of the project that the session works on.

    Raises:
        ValueError: a folder that is set does not exist, or cannot be made; or the user's file of
            settings cannot be read.
    """
    file = _read_user_file(environment)

    def get(name: str) -> str:
        own = environment.get(name, "").strip() or environment.get(f"ATOMIC_{name}", "").strip()
        return own or (file.get(name_key(name), "").strip() if name in _IN_FILE else "")

    enabled = get("MEMORY_ENABLED").casefold() in _YES
    home = get("MEMORY_HOME")
    home = _require_folder("MEMORY_HOME", home, environment) if home else ""
    branch = get("MEMORY_BRANCH") or "main"
    state_home = find_state_home(environment, home)
    work_tree = _find_work_tree(get, environment, event, state_home) if enabled else ""
    project = find_main_folder(work_tree) if work_tree else ""
    state = os.path.join(project, STATE_FOLDER) if project else ""
    if enabled and (named := get("MEMORY_STATE_DIR")):
        state = _require_folder("MEMORY_STATE_DIR", named, environment)
    return Place(
        enabled=enabled,
        meta=get("MEMORY_MODE").casefold() not in ("", "normal"),
        state=state,
        machine=find_machine_folder(state_home, state, project) if state else "",
        branch=branch if _is_name(branch) else "main",
        interval=_parse_interval(get("MEMORY_CHECKPOINT_INTERVAL")),
        user=_make_printable(get("MEMORY_USER") or find_login(environment)),
        home=_make_printable(home),
        work_tree=work_tree,
        project=project,
        client=_full_path(environment.get("CLAUDE_CONFIG_DIR", "").strip() or "~/.claude"),
        team=_make_printable(get("MEMORY_TEAM")),
    )


def _is_name(branch: str) -> bool:
    return 0 < len(branch) <= _BRANCH_CHARS_MAX and branch.isprintable()


def _read_user_file(environment: Mapping[str, str]) -> Mapping[str, str]:
    path = find_user_file(environment)
    try:
        return read_config_file(path)
    except ConfigFileError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _find_work_tree(
    get: Callable[[str], str],
    environment: Mapping[str, str],
    event: Mapping[str, Any],
    state_home: str,
) -> str:
    if project := get("MEMORY_PROJECT_DIR"):
        folder = _full_path(project, environment)
        if os.path.isdir(folder):
            return folder
        if get("MEMORY_STATE_DIR"):
            return ""
        raise ValueError(f"MEMORY_PROJECT_DIR {project!r} is no folder that exists")
    if project := environment.get("CLAUDE_PROJECT_DIR", "").strip():
        return _full_path(project)
    here = event.get("cwd")
    start = _full_path(here) if isinstance(here, str) and here else os.getcwd()
    return find_project(start, state_home)


def _require_folder(name: str, path: str, environment: Mapping[str, str]) -> str:
    full = _full_path(path, environment)
    if must := explain_unusable_folder(path, full):
        raise ValueError(f"{name} is {path!r}; it must be {must}")
    return full


def _full_path(path: str, environment: Mapping[str, str] | None = None) -> str:
    """An absolute path, as the server makes it: relative to the project that Claude Code names."""
    project = (environment or {}).get("CLAUDE_PROJECT_DIR", "").strip()
    path = os.path.join(os.path.expanduser(project), os.path.expanduser(path))
    return os.path.abspath(path)


def _make_printable(value: str) -> str:
    return value.encode(errors="backslashreplace").decode()


def _parse_interval(value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        return INTERVAL_USUAL
    return number if 0 <= number <= _INTERVAL_MAX else INTERVAL_USUAL
