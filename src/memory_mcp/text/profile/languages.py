"""The tables of the profile: word lists, and for each language the phrases about the user.

`data/profile.toml` holds what all languages share, `data/profile-<language>.toml` how one says it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from memory_mcp.domain.profile import Field
from memory_mcp.text.tables import fill, fill_parts, load_table

_LANGUAGES: Final = ("en", "de")
_DENIED: Final = (
    "{what}(?: is| are)(?: no longer|n't| not)(?: actually)? {value}"
    "(?:,? (?:it's|it is|but) {other})?{end}"
)


@dataclass(frozen=True)
class Phrase:
    """A pattern and the field of its value. `moves`: what was said of the place before is over."""

    field: Field
    pattern: str
    holds: bool = True
    moves: bool = False

    @property
    def compiled(self) -> re.Pattern[str]:
        """Compiled when a text first asks for it: most processes never do."""
        return _compiled(self.pattern)


@dataclass(frozen=True)
class Predicate:
    """What may follow a subject: an opening (a copula, a denial), then one of some phrases."""

    opening: re.Pattern[str]
    cue: re.Pattern[str]
    phrases: tuple[Phrase, ...]
    holds: bool


@dataclass(frozen=True)
class Language:
    """How one language speaks of the user.

    `alone` are phrases without a subject, each group with what it begins with; `apposed` what may
    follow another statement.
    """

    subject: re.Pattern[str]
    predicates: tuple[Predicate, ...]
    alone: tuple[tuple[re.Pattern[str], tuple[Phrase, ...]], ...]
    apposed: tuple[Phrase, ...]


@cache
def languages() -> tuple[Language, ...]:
    """Every language, the one first that also goes on where a phrase stood alone."""
    return tuple(map(_load_language, _LANGUAGES))


@cache
def words(name: str) -> frozenset[str]:
    """The word list of that name."""
    listed: str = load_table("profile")["words"][name]
    return frozenset(word for line in listed.split("\n") for word in line.split("|") if word)


@cache
def language_names() -> Mapping[str, str]:
    """The English name of a language, by its names in lower case."""
    return {
        folded: name
        for name, german in load_table("profile")["languages"].items()
        for folded in (name.casefold(), german)
        if folded
    }


@cache
def tones() -> Mapping[str, str]:
    """The tone that each word asks for."""
    table = load_table("profile")["tones"]
    return {word: tone for tone, said in table.items() for word in said.split()}


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The pattern of that name, by which sentences and values are judged."""
    return re.compile(load_table("profile")["tests"][name])


@cache
def shared_parts() -> Mapping[str, str]:
    """The parts that the phrases of every language may name."""
    known = {"any_language": _any_of(language_names()), "any_tone": _any_of(tones())}
    return fill_parts(load_table("profile")["parts"], known)


def _load_language(name: str) -> Language:
    table = load_table(f"profile-{name}")
    jobs = words("jobs" if name == "en" else "jobs_german")
    parts = fill_parts(table["parts"], {**shared_parts(), "any_job": _any_of(jobs)})
    groups = {
        group: tuple(phrase for row in rows for phrase in _phrases(row, parts))
        for group, rows in table["phrases"].items()
    }
    predicates = (
        Predicate(
            re.compile(fill(row["opening"], parts)),
            re.compile(row.get("cue", "")),
            groups[row["phrases"]],
            row.get("holds", True),
        )
        for row in table["predicates"]
    )
    return Language(
        re.compile(fill(table["subject"], parts)),
        tuple(predicates),
        tuple((re.compile(row["cue"]), groups[row["phrases"]]) for row in table["alone"]),
        tuple(p for p in groups.get("complements", ()) if p.field in table.get("apposed", ())),
    )


def _phrases(row: Mapping[str, Any], parts: Mapping[str, str]) -> tuple[Phrase, ...]:
    """The phrase of a row; of one with labels `My city is …` and `My city is not …`."""
    if "labels" not in row:
        moves: bool = row.get("moves", False)
        return (Phrase(row["field"], fill(row["pattern"], parts), row.get("holds", True), moves),)
    value = fill(row["value"], parts)
    known = {
        **parts,
        "what": fill(f"(?:{{of}}(?i:{row['labels']}))", parts),
        "value": value,
        "other": value.replace("?P<v>", "?P<instead>").replace("?P<place>", "?:"),
        "end": fill(row.get("end", "{end}"), parts),
    }
    return (
        Phrase(row["field"], fill("{what}{is}{value}{end}", known)),
        Phrase(row["field"], fill(_DENIED, known), holds=False),
    )


def _any_of(given: Iterable[str]) -> str:
    """Any of these words, the longest first."""
    ordered = sorted(map(re.escape, given), key=lambda word: (-len(word), word))
    return f"(?i:{'|'.join(ordered)})"


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)
