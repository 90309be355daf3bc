"""Every setting: the only module that reads the environment.

`SETTINGS` names them all; the README's table is checked against it.
"""

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from memory_mcp.domain.hosts import is_loopback
from memory_mcp.domain.limits import REMOTE_SEARCH_SECONDS_DEFAULT, REMOTE_SEARCH_SECONDS_MAX
from memory_mcp.errors import SettingError
from memory_mcp.stores.keys import KEY, KEY_CHARS_MAX

__all__ = [
    "SETTINGS",
    "TOOLSETS",
    "Provider",
    "Settings",
    "folder_named",
    "key_in",
    "on_this_machine",
    "read_settings",
    "with_toolsets",
]

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
    "MEMORY_PROVIDER": "local, supermemory, or auto: supermemory if there is a key for it",
    "SUPERMEMORY_API_KEY": "the key; it comes before one that `memory-mcp login` stored",
    "SUPERMEMORY_BASE_URL": "where Supermemory is",
    "SUPERMEMORY_TIMEOUT": "seconds that a search waits for the cloud",
    "SUPERMEMORY_EXTRACTION": "on: the cloud draws facts from what it is sent",
}
"""Each `MEMORY_X` is read from `ATOMIC_MEMORY_X` where it is not set itself."""

TOOLSETS: Final = ("branches",)

_PHASE: Final = re.compile(r"(?:phase[\s_-]*)?(\d{1,4})", re.ASCII | re.IGNORECASE)
"""As people write it, and as `backtrack` takes it."""

_LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Provider = Literal["auto", "local", "supermemory"]

_ADDRESS: Final = re.compile(
    r"(https?)://([a-z0-9._-]+|\[::1\])(?::(\d{1,5}))?/?", re.ASCII | re.IGNORECASE
)
"""Scheme, host, port and nothing else: the cloud's routes have no prefix."""


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
    provider: Provider = "auto"
    api_key: SecretStr | None = None
    base_url: str = "https://api.supermemory.ai"
    remote_timeout: float = REMOTE_SEARCH_SECONDS_DEFAULT
    extraction: bool = False


class _Variable(NamedTuple):
    """A setting under the name that was really set: errors name that one."""

    name: str
    value: str


_Given = Mapping[str, _Variable]


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. Of a memory that is off, no other setting is looked at.

    Raises:
        SettingError: a value that means nothing; the message names the setting and the choices.
    """
    given = _given(os.environ if environment is None else environment)
    if not _flag(given, "MEMORY_ENABLED", "true or false", default=True):
        return Settings(enabled=False)
    level = _choice(given, "MEMORY_LOG_LEVEL", _LOG_LEVELS, "WARNING")
    approval = _choice(given, "MEMORY_APPROVAL", ("ask", "auto"), "ask")
    provider = _choice(given, "MEMORY_PROVIDER", ("auto", "local", "supermemory"), "auto")
    return Settings(
        meta=_choice(given, "MEMORY_MODE", ("normal", "meta"), "normal") == "meta",
        phase=_phase(given.get("MEMORY_PHASE") or given.get("ATOMIC_PHASE")),
        approval=cast("Literal['ask', 'auto']", approval),
        branch=_text(given, "MEMORY_BRANCH") or "main",
        project_dir=_present(given, "MEMORY_PROJECT_DIR") or _folder(given, "CLAUDE_PROJECT_DIR"),
        state_dir=_folder(given, "MEMORY_STATE_DIR"),
        memory_dir=_folder(given, "MEMORY_DIR"),
        home=_folder(given, "MEMORY_HOME"),
        user=_plain(_text(given, "MEMORY_USER") or _login()),
        toolsets=_toolsets(given.get("MEMORY_TOOLSETS")),
        log_level=cast("LogLevel", level),
        session=_plain(_text(given, "CLAUDE_CODE_SESSION_ID")),
        provider=cast("Provider", provider),
        api_key=key_in("SUPERMEMORY_API_KEY", _text(given, "SUPERMEMORY_API_KEY")),
        base_url=_base_url(given.get("SUPERMEMORY_BASE_URL")),
        remote_timeout=_timeout(given.get("SUPERMEMORY_TIMEOUT")),
        extraction=_flag(given, "SUPERMEMORY_EXTRACTION", "on or off", default=False),
    )


def _given(environment: Mapping[str, str]) -> _Given:
    given: dict[str, _Variable] = {}
    for setting in SETTINGS:
        names = [setting, f"ATOMIC_{setting}"] if setting.startswith("MEMORY_") else [setting]
        for name in reversed(names):  # the setting's own name has the last word
            if value := environment.get(name, "").strip():
                given[setting] = _Variable(name, value)
    return given


def _text(given: _Given, setting: str) -> str:
    return given[setting].value if setting in given else ""


def _choice(given: _Given, setting: str, choices: tuple[str, ...], default: str) -> str:
    name, value = given.get(setting, (setting, default))
    for choice in choices:
        if value.casefold() == choice.casefold():
            return choice
    raise SettingError(name, value, f"one of {', '.join(choices)}")


def _flag(given: _Given, setting: str, words: str, *, default: bool) -> bool:
    match _text(given, setting).casefold():
        case "":
            return default
        case "1" | "true" | "yes" | "on":
            return True
        case "0" | "false" | "no" | "off":
            return False
        case _:
            raise SettingError(*given[setting], words)


def _phase(given: _Variable | None) -> int | None:
    if given is None:
        return None
    found = _PHASE.fullmatch(given.value)
    if found is None:
        raise SettingError(*given, "a whole number from 0 to 9999")
    return int(found.group(1))


def key_in(name: str, value: str) -> SecretStr | None:
    """The key that a variable or a person gave; None if that is blank.

    Raises:
        SettingError: no header can carry it. The message does not repeat it.
    """
    key = value.strip()
    if not key:
        return None
    if not KEY.fullmatch(key):
        what = f"ASCII letters, digits and signs without spaces, up to {KEY_CHARS_MAX:,} of them"
        raise SettingError(name, None, what)
    return SecretStr(key)


def _base_url(given: _Variable | None) -> str:
    if given is None:
        return Settings.base_url
    found = _ADDRESS.fullmatch(given.value)
    if found is None or not 0 < int(found.group(3) or 443) < 1 << 16:
        what = "https://host or https://host:port, without user, path or query"
        raise SettingError(given.name, None, what)  # it may hold a password, or be the key itself
    scheme, host, port = found.groups()
    url = f"{scheme}://{host}".lower() + (f":{int(port)}" if port else "")
    if scheme.lower() == "http" and not on_this_machine(url):
        why = "https, because http shows the key to the network (only this machine may do without:"
        raise SettingError(*given, f"{why} localhost, 127.0.0.0/8 or [::1])")
    return url


def on_this_machine(base_url: str) -> bool:
    """Whether a base URL of ours leads to this very machine, where a server needs no key."""
    return is_loopback(urlsplit(base_url).hostname or "")


def _timeout(given: _Variable | None) -> float:
    if given is None:
        return Settings.remote_timeout
    try:
        seconds = float(given.value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= REMOTE_SEARCH_SECONDS_MAX:  # true of no nan either
        raise SettingError(
            *given, f"seconds, more than 0 and at most {REMOTE_SEARCH_SECONDS_MAX:g}"
        )
    return seconds


def _folder(given: _Given, setting: str) -> Path | None:
    return folder_named(*given[setting]) if setting in given else None


def _present(given: _Given, setting: str) -> Path | None:
    """A folder that must exist: a typing error would begin an empty memory elsewhere."""
    folder = _folder(given, setting)
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112  # never raises
        raise SettingError(*given[setting], "a folder that exists")
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
    more = _toolsets(_Variable("--toolsets", names))
    return replace(settings, toolsets=tuple(dict.fromkeys((*settings.toolsets, *more))))


def _toolsets(given: _Variable | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = [name.strip() for name in given.value.split(",") if name.strip()]
    for name in names:
        if name not in TOOLSETS:
            raise SettingError(given.name, name, f"some of {', '.join(TOOLSETS)}")
    return tuple(dict.fromkeys(names))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no login name in a container or service
        return "default"
