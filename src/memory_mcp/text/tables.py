"""Reads the tables under `data/` (words, patterns, rules): each once, when a text needs it."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

_PART: Final = re.compile(r"\{([a-z_]+)\}")


@cache
def load_table(name: str) -> dict[str, Any]:
    """The table of that name, as TOML tells it."""
    import tomllib  # noqa: PLC0415  # a server's start reads no table
    from importlib import resources  # noqa: PLC0415

    file = resources.files("memory_mcp.text").joinpath("data", f"{name}.toml")
    return tomllib.loads(file.read_text("utf-8"))


def fill(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern, with the part that each `{name}` stands for."""
    return _PART.sub(lambda found: parts[found[1]], pattern)


def fill_parts(given: Mapping[str, str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Parts of patterns, each of which may name those before it."""
    parts = dict(known or {})
    for name, pattern in given.items():
        parts[name] = fill(pattern, parts)
    return parts
