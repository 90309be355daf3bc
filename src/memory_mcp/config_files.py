"""Where files of settings are, and what stands in one.

    <configuration folder>/memory-mcp/config.toml    the user's, for every project
    <MEMORY_HOME>/config.toml                        the same, if that is set
    <project>/.claude/memory.toml                    the project's, if the user trusts it

A key is the name of a setting in small letters, without `memory_`: `bootstrap_tokens = 800` is
`MEMORY_BOOTSTRAP_TOKENS=800`. Which settings a file may set is not known here. Standard library
only: hooks read the user's file too.
"""

import os
import sys
from collections.abc import Mapping
from typing import Final, cast

from memory_mcp.safe_files import read_file

USER_FILE: Final = "config.toml"
PROJECT_FILE: Final = os.path.join(".claude", "memory.toml")
_APPLICATION: Final = "memory-mcp"
_BYTES_MAX: Final = 65_536
"""All settings with a comment each take a tenth of it."""
_WITH_PREFIX: Final = ("episodic_", "supermemory_")
"""Keys that begin so are whole names; before all others `MEMORY_` is left out."""


class ConfigFileError(ValueError):
    """A file of settings cannot be read; the message says why, and where in it."""


def find_user_file(environment: Mapping[str, str]) -> str:
    """The path of the user's own file, whether it is there or not."""
    for name in ("MEMORY_HOME", "ATOMIC_MEMORY_HOME"):
        if home := environment.get(name, "").strip():
            project = environment.get("CLAUDE_PROJECT_DIR", "").strip()
            home = os.path.join(os.path.expanduser(project), os.path.expanduser(home))
            return os.path.join(os.path.abspath(home), USER_FILE)
    if sys.platform == "win32":
        base = environment.get("APPDATA") or os.path.expanduser(r"~\AppData\Roaming")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = environment.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
    return os.path.join(base, _APPLICATION, USER_FILE)


def name_setting(key: str) -> str:
    """The name of the setting that a key in a file stands for."""
    return key.upper() if key.startswith(_WITH_PREFIX) else f"MEMORY_{key.upper()}"


def name_key(setting: str) -> str:
    """The key in a file that stands for a setting."""
    return setting.removeprefix("MEMORY_").lower()


def read_config_file(path: str, root: str = "") -> dict[str, str]:
    """The text of each key, as the environment would give it; {} where there is no file.

    A file below a `root`, which somebody else may have made, is reached without a link.

    Raises:
        ConfigFileError: it is no TOML, or the file system refused.
    """
    try:
        data = read_file(path, _BYTES_MAX, root)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigFileError(error.strerror or type(error).__name__) from error
    import tomllib  # noqa: PLC0415  # hooks pay for it only where there is a file

    try:
        found = cast("dict[str, object]", tomllib.loads(data.decode("utf-8-sig")))
        return {key: _write_text(value) for key, value in found.items()}
    except (ValueError, RecursionError) as error:  # also a number or a table that has no end
        raise ConfigFileError(f"it is no TOML in UTF-8: {error}") from error


def _write_text(value: object) -> str:
    """A value as the environment would give it; what no setting can be, its parser refuses."""
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(_write_text(item) for item in cast("list[object]", value))
        case dict():
            pairs = cast("dict[str, object]", value)
            return ",".join(f"{name}={_write_text(item)}" for name, item in pairs.items())
        case _:
            return str(value)
