"""Every setting: the only module that reads the environment.

`SETTINGS` names them all; the README's table is checked against it.
"""

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, cast

from memory_mcp.errors import SettingError

__all__ = ["SETTINGS", "TOOLSETS", "Settings", "folder_named", "read_settings", "with_toolsets"]

SETTINGS: Final[Mapping[str, str]] = {
    "MEMORY_ENABLED": "false: every tool answers that memory is off",
    "MEMORY_MODE": "normal, or meta: reads work, writes are skipped and say so",
    "MEMORY_PHASE": "the pipeline phase this session works on, a number",
    "ATOMIC_PHASE": "alias of MEMORY_PHASE",
    "MEMORY_APPROVAL": "ask: checkpoint and backtrack ask the user; auto: they do not",
    "MEMORY_BRANCH": "the branch this session starts on",
    "MEMORY_PROJECT_DIR": "the project's folder",
    "CLAUDE_PROJECT_DIR": "the project's folder, as Claude Code tells it",
    "MEMORY_STATE_DIR": "where head, history and index are",
    "MEMORY_DIR": "where the project's records are",
    "MEMORY_HOME": "where the user's own memories are, and those of clients without a project",
    "MEMORY_USER": "whose memories they are",
    "MEMORY_TOOLSETS": "further toolsets to offer, separated by commas",
    "MEMORY_LOG_LEVEL": "what is logged to stderr",
    "CLAUDE_CODE_SESSION_ID": "the session noted in each record",
}

TOOLSETS: Final = ("branches",)

_PHASE: Final = re.compile(r"(?:phase[\s_-]*)?(\d{1,4})", re.ASCII | re.IGNORECASE)
"""As people write it, and as `backtrack` takes it."""

_LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


@dataclass(frozen=True)
class Settings:
    """How this process was set up. Folders that are None follow from the project or the system."""

    enabled: bool = True
    meta: bool = False
    phase: int | None = None
    approval: Literal["ask", "auto"] = "ask"
    branch: str = "main"
    project_dir: Path | None = None
    state_dir: Path | None = None
    memory_dir: Path | None = None
    home: Path | None = None
    user: str = "default"
    toolsets: tuple[str, ...] = ()
    log_level: LogLevel = "WARNING"
    session: str = ""


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. Of a memory that is off, no other setting is looked at.

    Raises:
        SettingError: a value that means nothing; the message names the setting and the choices.
    """
    given = {
        name: value.strip()
        for name, value in (os.environ if environment is None else environment).items()
        if name in SETTINGS and value.strip()
    }
    if not _flag(given, "MEMORY_ENABLED", default=True):
        return Settings(enabled=False)
    level = _choice(given, "MEMORY_LOG_LEVEL", _LOG_LEVELS, "WARNING")
    approval = _choice(given, "MEMORY_APPROVAL", ("ask", "auto"), "ask")
    return Settings(
        meta=_choice(given, "MEMORY_MODE", ("normal", "meta"), "normal") == "meta",
        phase=_phase(given),
        approval=cast("Literal['ask', 'auto']", approval),
        branch=given.get("MEMORY_BRANCH", "main"),
        project_dir=_present(given, "MEMORY_PROJECT_DIR") or _folder(given, "CLAUDE_PROJECT_DIR"),
        state_dir=_folder(given, "MEMORY_STATE_DIR"),
        memory_dir=_folder(given, "MEMORY_DIR"),
        home=_folder(given, "MEMORY_HOME"),
        user=_plain(given.get("MEMORY_USER") or _login()),
        toolsets=_toolsets(given.get("MEMORY_TOOLSETS", "")),
        log_level=cast("LogLevel", level),
        session=_plain(given.get("CLAUDE_CODE_SESSION_ID", "")),
    )


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    value = given.get(name, default)
    for choice in choices:
        if value.casefold() == choice.casefold():
            return choice
    raise SettingError(name, value, f"one of {', '.join(choices)}")


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    match given.get(name, "").casefold():
        case "":
            return default
        case "1" | "true" | "yes" | "on":
            return True
        case "0" | "false" | "no" | "off":
            return False
        case _:
            raise SettingError(name, given[name], "true or false")


def _phase(given: Mapping[str, str]) -> int | None:
    name = "MEMORY_PHASE" if "MEMORY_PHASE" in given else "ATOMIC_PHASE"
    value = given.get(name)
    if value is None:
        return None
    found = _PHASE.fullmatch(value)
    if found is None:
        raise SettingError(name, value, "a whole number from 0 to 9999")
    return int(found.group(1))


def _folder(given: Mapping[str, str], name: str) -> Path | None:
    value = given.get(name)
    return folder_named(name, value) if value else None


def _present(given: Mapping[str, str], name: str) -> Path | None:
    """A folder that must exist: a typing error would begin an empty memory elsewhere."""
    folder = _folder(given, name)
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112  # never raises
        raise SettingError(name, given[name], "a folder that exists")
    return folder


def folder_named(name: str, value: str) -> Path:
    """The folder that a setting or an option names, wherever this process goes later.

    Raises:
        SettingError: a home nobody has, or a relative path while the current folder is gone.
    """
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise SettingError(name, value, "a folder; nobody here has that home") from error
    except FileNotFoundError as error:
        raise SettingError(
            name, value, "a whole path, because the current folder no longer exists"
        ) from error


def _plain(value: str) -> str:
    """Text that can be stored: bytes that are no UTF-8 are spelt out, so names stay apart."""
    return value.encode(errors="backslashreplace").decode()


def with_toolsets(settings: Settings, names: str) -> Settings:
    """The settings with these toolsets (separated by commas) besides those already on.

    Raises:
        SettingError: a toolset that does not exist.
    """
    more = _toolsets(names)
    return replace(settings, toolsets=tuple(dict.fromkeys((*settings.toolsets, *more))))


def _toolsets(names: str) -> tuple[str, ...]:
    given = [name.strip() for name in names.split(",") if name.strip()]
    for name in given:
        if name not in TOOLSETS:
            raise SettingError("toolsets", name, f"some of {', '.join(TOOLSETS)}")
    return tuple(dict.fromkeys(given))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no login name in a container or service
        return "default"
