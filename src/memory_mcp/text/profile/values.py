"""Turns a match into values of the profile, or into none: the last chance to say no."""

import re
from collections.abc import Callable
from typing import Final

from memory_mcp.domain.normalise import folded
from memory_mcp.domain.profile import Field, ProfileFact
from memory_mcp.text.profile.languages import Phrase, language_names, pattern, tones, words

_GOAL_CHARS_MAX: Final = 140
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"),
)
_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEAR: Final = len(_LENGTHS)
_AND: Final = re.compile(r",? (?:and|und|as well as|sowie) |, ")
_PLACED: Final[tuple[Field, ...]] = ("city", "country", "time_zone")


def read_facts(phrase: Phrase, found: re.Match[str], *, holds: bool = True) -> list[ProfileFact]:
    """What a match says, or denies; nothing if its value is none of the field."""
    groups = {name: value for name, value in found.groupdict().items() if value}
    value = groups.get("v", "").strip(" ,")
    instead = groups.get("instead", "")
    if phrase.field == "city":
        facts = _read_place(value, groups.get("place", ""), moves=phrase.moves)
        if (
            "left" in found.re.groupindex
            and not phrase.holds
            and _fold_place(value) not in words("cities") | words("countries")
        ):
            facts = [ProfileFact("employer", one) for one in _employer(value)]
    elif phrase.field == "name":
        facts = _read_name(value, weak="said" in found.re.groupindex)
        if "bare" in found.re.groupindex and re.search(r"\b[A-Z]{2,}\b", value):
            return []
    else:
        values = _VALUES.get(phrase.field, _keep)(value)
        facts = [ProfileFact(phrase.field, one) for one in values]
    if not (phrase.holds and holds):
        facts = [deny(fact) for fact in facts if fact.value]
        return facts + [
            ProfileFact(phrase.field, one) for one in parse_values(phrase.field, instead)
        ]
    if instead:
        return []
    if facts and (org := groups.get("org")):
        facts += [ProfileFact("employer", one) for one in _employer(org)]
    if facts and (job := groups.get("job")):
        facts += [ProfileFact("occupation", one) for one in _occupation(job)]
    return facts


def parse_values(field: Field, value: str) -> list[str]:
    """The values of a field that a text names; none if it names none."""
    if not value:
        return []
    if field == "city":
        return [f.value for f in _read_place(value, "", moves=False) if f.field == "city"]
    if field == "name":
        return [f.value for f in _read_name(value, weak=False)]
    return _VALUES.get(field, _keep)(value)


def is_plain_goal(value: str) -> bool:
    """Whether it is a goal of the user's, rather than a task or an order to the reader."""
    return len(value) <= _GOAL_CHARS_MAX and not pattern("task").search(value)


def deny(fact: ProfileFact) -> ProfileFact:
    """That it is not so."""
    return ProfileFact(fact.field, fact.value, holds=False)


def _read_name(value: str, *, weak: bool) -> list[ProfileFact]:
    """`weak`: the phrase also fits what is no name."""
    stops = words("no_name") if weak else words("never_a_name")
    first = folded(value.split(maxsplit=1)[0])
    if weak and folded(value.rsplit(maxsplit=1)[-1]) in words("roles"):
        return []
    if {folded(value), first} & stops or (
        weak and (first in words("no_place") or first in language_names())
    ):
        return []
    return [ProfileFact("name", value)]


def _read_place(place: str, wider: str, *, moves: bool) -> list[ProfileFact]:
    """City and country, or the country alone; whoever moved is no longer where they were."""
    name = _fold_place(place)
    if {name, name.split()[0]} & words("no_place") or (
        place.startswith("the ") and name not in words("countries")
    ):
        return []
    country = (
        place
        if name in words("countries")
        else wider
        if _fold_place(wider) in words("countries")
        else ""
    )
    if moves and not (country or name in words("cities")):
        return []
    named = f"{place}, {wider}" if wider and not country else place  # another of that name
    facts = [] if name in words("countries") else [ProfileFact("city", named)]
    facts += [ProfileFact("country", country)] if country else []
    if moves:
        known = {fact.field for fact in facts}
        facts += [ProfileFact(f, "", holds=False) for f in _PLACED if f not in known]
    return facts


def _fold_place(place: str) -> str:
    return folded(place).removeprefix("the ")


def _keep(value: str) -> list[str]:
    return [value]


def _country(value: str) -> list[str]:
    return [value] if _fold_place(value) in words("countries") else []


def _languages(value: str) -> list[str]:
    return [language_names()[folded(one).casefold()] for one in _AND.split(value)]


def _tone(value: str) -> list[str]:
    words = [tones()[w] for w in re.findall(r"\w+", value.casefold()) if w in tones()]
    return [", ".join(dict.fromkeys(words))]


def _employer(value: str) -> list[str]:
    return [] if folded(value.split(maxsplit=1)[0]) in words("no_org") else [value]


def _occupation(value: str) -> list[str]:
    head = re.split(r" (?:of|and|in|at|for|und) ", value)[0]
    last = folded(head.rsplit(maxsplit=1)[-1])
    if last in words("no_trade") or pattern("no_trade_yet").match(value):
        return []
    known = (
        last in words("jobs") or last in words("jobs_german") or pattern("trade").fullmatch(last)
    )
    return [value] if known else []


def _birthday(value: str) -> list[str]:
    """A day that a calendar has."""
    if iso := re.fullmatch(r"\d{4}-(\d\d)-(\d\d)", value):
        month, day = int(iso[1]), int(iso[2])
    else:
        name = re.search(r"[A-Za-zä]{3,}", value.replace(" of ", " "))
        number = re.search(r"\b\d{1,2}(?!\d)", value)
        month = _MONTHS.index(name[0][:3].casefold()) % 12 + 1 if name else 0
        day = int(number[0]) if number else 0
    return [value] if 1 <= month <= _YEAR and 1 <= day <= _LENGTHS[month - 1] else []


def _goal(value: str) -> list[str]:
    return [re.sub(r"^to (?=\w)", "", value)] if is_plain_goal(value) else []


def _interests(value: str) -> list[str]:
    return [topic for topic in _AND.split(value) if topic and not pattern("no_topic").search(topic)]


_VALUES: Final[dict[Field, Callable[[str], list[str]]]] = {
    "country": _country,
    "language": _languages,
    "speaks": _languages,
    "tone": _tone,
    "employer": _employer,
    "occupation": _occupation,
    "birthday": _birthday,
    "goal": _goal,
    "interest": _interests,
}
