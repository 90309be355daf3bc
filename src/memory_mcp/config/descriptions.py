"""What each setting is for, in words: read from `settings.toml`, for people alone.

Nothing here decides anything: the documentation and the command line show these texts.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from memory_mcp.frozen import frozen


@frozen
class SettingDescription:
    """One setting in words; `what` and `default` are Markdown with code in backticks.

    `group` is the heading under which the documentation lists it.
    """

    name: str
    group: str
    what: str
    default: str


@cache
def load_descriptions() -> Mapping[str, SettingDescription]:
    """Every setting's description by its name, in the order in which they are listed."""
    text = resources.files("memory_mcp.config").joinpath("settings.toml").read_text("utf-8")
    rows: Mapping[str, Mapping[str, str]] = tomllib.loads(text)
    return {name: SettingDescription(name, **row) for name, row in rows.items()}
