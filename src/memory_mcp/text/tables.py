"""Reads the word lists and patterns under `data/`, each when a text first needs it.

They are written as TOML; `tools/word_lists.py` makes the JSON of it that is read.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final

from memory_mcp.learnt import load_figures
from memory_mcp.patterns import compile_later, compile_needed

PART: Final = compile_later(r"\{([a-z_]+)\}")
_MATCHES_KEPT: Final = 1_024


def load_table(name: str) -> dict[str, Any]:
    """The table of that name, parsed."""
    return load_figures("memory_mcp.text", name)


@cache
def load_pattern(table: str, name: str) -> re.Pattern[str]:
    """A pattern of a table's `[patterns]`; a list of patterns matches where any of them does."""
    rows = _list_rows(table, name)
    sources, needs = [source for source, _ in rows], [needed for _, needed in rows]
    source = "|".join(f"(?:{each})" for each in sources) if len(rows) > 1 else sources[0]
    return compile_needed(source, [*chain(*needs)] if all(needs) else ())


@lru_cache(maxsize=_MATCHES_KEPT)
def matches(table: str, name: str, text: str) -> bool:
    """Whether a pattern is found in a text; a sentence is asked the same more than once.

    Of a list only the patterns are asked of which the text holds some of what they need.
    """
    return any(each.search(text) for each in _load_each(table, name))


@cache
def _load_each(table: str, name: str) -> Sequence[re.Pattern[str]]:
    return [compile_needed(source, needs) for source, needs in _list_rows(table, name)]


def _list_rows(table: str, name: str) -> Sequence[tuple[str, Sequence[str]]]:
    return load_table(table)["patterns"][name]


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
    return PART.sub(lambda found: parts[found[1]], pattern)


def fill_parts(rows: Mapping[str, str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """The parts, each of which may name `known` ones and those before it."""
    parts = dict(known or {})
    for name, pattern in rows.items():
        parts[name] = fill(pattern, parts)
    return parts
