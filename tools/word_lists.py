"""Writes the word lists and patterns in the form that the package loads.

    python tools/word_lists.py

People read and edit the TOML in the `data/` of `text` and `ranking`. Beside each file lies what is
loaded: the same as JSON, which is parsed in a tenth of the time, and without TOML's own parser.
Each pattern stands there with its parts filled in, and with what it needs: letters of which some
stand in every text that it matches. A text without them is judged without the pattern, which is
then never compiled.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any, Final

from memory_mcp.patterns import fold_case
from memory_mcp.text.tables import PART, fill, fill_parts

SOURCES: Final = Path(__file__).parents[1] / "src" / "memory_mcp"
TABLES: Final = tuple(sorted(SOURCES.glob("[rt]*/data/*.toml")))
CHOICES_MAX: Final = 200
"""Beyond so many, to look for each in a text is no cheaper than the pattern."""
PARSER: Final[Any] = getattr(re, "_parser")  # noqa: B009  # it has no public name

Choices = frozenset[str]
NOTHING: Final[Choices] = frozenset([""])


def main() -> None:
    """Write all of them."""
    for source in TABLES:
        source.with_suffix(".json").write_text(convert(source.read_text("utf-8")), "utf-8")


def convert(text: str) -> str:
    """The JSON of a table in TOML."""
    table = tomllib.loads(text)
    if "patterns" in table:
        patterns = {name: _list(given) for name, given in table["patterns"].items()}
        named = PART.search("".join(chain(*patterns.values())))
        parts = fill_parts(table["parts"]) if named else {}
        table["patterns"] = {
            name: [describe(fill(each, parts)) for each in given]
            for name, given in patterns.items()
        }
    rows = (f"{_dump(key)}: {_write(value)}" for key, value in table.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def describe(pattern: str) -> tuple[str, list[str]]:
    """A pattern and what it needs; nothing if no such letters are known."""
    return pattern, sorted(find_needs(PARSER.parse(pattern)))


def _list(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _write(value: Any) -> str:
    """A table with each of its rows on a line of its own."""
    match value:
        case {**rows}:
            lines = (f"  {_dump(key)}: {_dump(each)}" for key, each in rows.items())
            return "{\n" + ",\n".join(lines) + "\n}"
        case _:
            return _dump(value)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def find_needs(parsed: Iterable[Any]) -> Choices:
    """The longest choice of folded letters of which some stand in each match; empty: none known."""
    best: Choices = frozenset()
    run = NOTHING
    for step in chain(parsed, [None]):
        spelt = None if step is None else spell_out(step)
        longer = _join(run, spelt) if spelt else None
        if longer is None:
            within: Choices = frozenset() if step is None else _find_within(step)
            best = max(best, run, within, key=_rate)
        run = longer or spelt or NOTHING
    if "" in best:
        return frozenset()
    return frozenset(each for each in best if not any(o in each for o in best - {each}))


def _rate(choices: Choices) -> tuple[int, int]:
    """How seldom some of them stand in a text: the longer the shortest, the seldomer."""
    return min(map(len, choices), default=0), -len(choices)


def spell_out(step: Any) -> Choices | None:
    """All that a step of a pattern can match, folded, if that is known and little."""
    name, given = str(step[0]), step[1]
    match name:
        case "LITERAL" | "IN":
            listed = given if name == "IN" else [step]
            plain = all(str(each[0]) == "LITERAL" for each in listed)
            return frozenset(fold_case(chr(each[1])) for each in listed) if plain else None
        case "AT" | "ASSERT" | "ASSERT_NOT":  # which match no letter
            return NOTHING
        case "SUBPATTERN":
            return _spell_all(given[3])
        case "BRANCH":
            found = [_spell_all(each) for each in given[1]]
            spelt = [each for each in found if each]
            return _limit(frozenset(chain(*spelt))) if len(spelt) == len(found) else None
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if given[:2] == (0, 1):
            once = _spell_all(given[2])
            return once and once | NOTHING
        case _:
            return None


def _spell_all(steps: Iterable[Any]) -> Choices | None:
    spelt: Choices | None = NOTHING
    for step in steps:
        more = spell_out(step)
        spelt = _join(spelt, more) if spelt and more else None
    return spelt


def _join(first: Choices, then: Choices) -> Choices | None:
    return _limit(frozenset(map("".join, product(first, then))))


def _limit(choices: Choices) -> Choices | None:
    return choices if len(choices) <= CHOICES_MAX else None


def _find_within(step: Any) -> Choices:
    """What some of stands in each text that this step of a pattern matches."""
    name, given = str(step[0]), step[1]
    match name:
        case "SUBPATTERN":
            return find_needs(given[3])
        case "ATOMIC_GROUP":
            return find_needs(given)
        case "BRANCH":
            return _unite([find_needs(each) for each in given[1]])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if given[0]:
            return find_needs(given[2])
        case _:
            return frozenset()


def _unite(found: Sequence[Choices]) -> Choices:
    return (all(found) and _limit(frozenset(chain(*found)))) or frozenset()


if __name__ == "__main__":
    main()
