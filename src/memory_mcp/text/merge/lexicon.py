"""The words of `data/merge.toml` that decide whether two statements are about the same thing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from memory_mcp.text.tables import load_table

_STEM_CHARS_MIN: Final = 3
_ENDINGS: Final = (("sses", "ss"), ("ies", "y"), ("ing", ""), ("ed", ""), ("s", ""))
_STEMS_KEPT: Final = 8_192

Form = tuple[str, ...]
"""A phrase as the stems of its words."""


@dataclass(frozen=True)
class Lexicon:
    """The tables, each described in the file."""

    past: frozenset[str]
    dropped: frozenset[str]
    articles: frozenset[str]
    copulas: frozenset[str]
    we: frozenset[str]
    labels: frozenset[str]
    negations: frozenset[str]
    limits: frozenset[str]
    prepositions: frozenset[str]
    starters: frozenset[str]
    joins: frozenset[str]
    events: frozenset[str]
    states: frozenset[str]
    roles: frozenset[str]
    scopes: frozenset[str]
    seasons: frozenset[str]
    reasons: frozenset[str]
    questions: frozenset[str]
    leaning: frozenset[str]
    today: frozenset[str]
    verbs: frozenset[str]
    scheduled: frozenset[str]
    labelled: frozenset[str]
    ranked: frozenset[str]
    matrices: frozenset[str]
    ordered: frozenset[str]
    recurring: frozenset[str]
    one_day: frozenset[str]
    references: frozenset[str]
    functional: tuple[Form, ...]
    functional_if_is: tuple[Form, ...]
    one_at_a_time: tuple[Form, ...]
    places: frozenset[str]
    toggles: Mapping[str, frozenset[int]]
    opposites: Mapping[str, frozenset[int]]
    weekdays: Mapping[str, str]
    numbers: Mapping[str, int]
    units: Mapping[str, str]


@cache
def lexicon() -> Lexicon:
    """The tables; read with the first text that is compared."""
    table = load_table("merge")
    plain = {name: frozenset(text.split()) for name, text in table["plain"].items()}
    plain["starters"] |= plain["prepositions"]
    groups = table["groups"]
    opposites = _number_groups([*groups["places"], *groups["opposites"]])
    found: dict[str, Any] = {
        **plain,
        **{name: _stem_all(text.split()) for name, text in table["stems"].items()},
        **{
            name: frozenset(text.split()) | _stem_all(text.split())
            for name, text in table["both"].items()
        },
        **{
            name: tuple(tuple(map(stem, form.split())) for form in forms)
            for name, forms in table["forms"].items()
        },
    }
    places = frozenset(word for group in groups["places"] for word in group.split())
    return Lexicon(
        **found,
        places=places | _stem_all(places),
        toggles={stem(word): at for word, at in _number_groups(groups["toggles"]).items()},
        opposites=opposites | {stem(word): at for word, at in opposites.items()},
        weekdays=_first_of_group(groups["weekdays"]),
        numbers={word: n for n, names in enumerate(groups["numbers"]) for word in names.split()},
        units={unit: what for what, units in table["units"].items() for unit in units.split()},
    )


@lru_cache(maxsize=_STEMS_KEPT)
def stem(word: str) -> str:
    """A folded word without its inflection, by its usual name."""
    aliases = _aliases()
    if word in aliases:
        return aliases[word]
    found = word
    for ending, instead in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and _is_stem(rest, ending):
            found = rest + instead
            if ending in ("ing", "ed") and found[-1] == found[-2] and found[-1] not in "lsz":
                found = found[:-1]
            break
    return aliases.get(found) or aliases.get(found + "e") or found.removesuffix("e") or found


def _is_stem(rest: str, ending: str) -> bool:
    """Whether what is left is a word: not the "str" of "string", nor the "statu" of "status"."""
    short = ending in ("s", "ies")
    if len(rest) < _STEM_CHARS_MIN - short or not any(vowel in rest for vowel in "aeiouy"):
        return False
    return not (ending == "s" and rest[-1] in "sui")


@cache
def _aliases() -> Mapping[str, str]:
    return _first_of_group(load_table("merge")["groups"]["aliases"])


def _first_of_group(groups: Iterable[str]) -> dict[str, str]:
    """For each word of a group, the first word of that group."""
    return {word: group.split()[0] for group in groups for word in group.split()}


def _number_groups(groups: Iterable[str]) -> dict[str, frozenset[int]]:
    """For each word, the numbers of the groups that it is in."""
    found: dict[str, frozenset[int]] = {}
    for number, group in enumerate(groups):
        for word in group.split():
            found[word] = found.get(word, frozenset()) | {number}
    return found


def _stem_all(given: Iterable[str]) -> frozenset[str]:
    return frozenset(map(stem, given))
