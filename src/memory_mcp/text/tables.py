"""Reads the word lists and patterns under `data/`, each when a text first needs it."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

from memory_mcp.patterns import compile_later

_PART: Final = compile_later(r"\{([a-z_]+)\}")
_MATCHES_KEPT: Final = 1_024


@cache
def load_table(name: str) -> dict[str, Any]:
    """The table of that name, parsed."""
    import tomllib  # noqa: PLC0415  # a server's start reads no table
    from pkgutil import get_data  # noqa: PLC0415  # importlib.resources takes 5 ms to load

    data = get_data("memory_mcp.text", f"data/{name}.toml") or b""
    return tomllib.loads(data.decode())


@cache
def load_pattern(table: str, name: str) -> re.Pattern[str]:
    """A pattern of a table's `[patterns]`; a list of patterns matches where any of them does."""
    found: str | list[str] = load_table(table)["patterns"][name]
    source = found if isinstance(found, str) else "|".join(f"(?:{each})" for each in found)
    if _PART.search(source):
        source = fill(source, fill_parts(load_table(table)["parts"]))
    return re.compile(source)


@lru_cache(maxsize=_MATCHES_KEPT)
def matches(table: str, name: str, text: str) -> bool:
    """Whether a pattern is found in a text; a sentence is asked the same more than once."""
    return load_pattern(table, name).search(text) is not None


def rewrite(text: str, table: str) -> str:
    """The text with the turns of phrase of a table's `[rewrites]` as what they are read as."""
    folded = text.casefold()
    for needed, pattern, replacement in _load_rewrites(table):
        if needed in folded:  # a search for letters costs little, and most texts have none of them
            text = pattern.sub(replacement, text)
            folded = text.casefold()
    return text


@cache
def _load_rewrites(table: str) -> list[tuple[str, re.Pattern[str], str]]:
    rows: list[list[str]] = load_table(table)["rewrites"]["rows"]
    return [(needed, compile_later(pattern), replacement) for needed, pattern, replacement in rows]


def fill(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with each `{name}` replaced by the part of that name."""
    return _PART.sub(lambda found: parts[found[1]], pattern)


def fill_parts(rows: Mapping[str, str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """The parts, each of which may name `known` ones and those before it."""
    parts = dict(known or {})
    for name, pattern in rows.items():
        parts[name] = fill(pattern, parts)
    return parts
