"""Values."""

import re
from collections.abc import Callable
from typing import Final

from memory_mcp.domain.normalise import folded
from memory_mcp.domain.profile import Field, ProfileFact
from memory_mcp.text.profile.phrases import Phrase
from memory_mcp.text.profile.words import (
    CITIES,
    COUNTRIES,
    JOBS,
    JOBS_GERMAN,
    LANGUAGES,
    NO_NAME,
    NO_ORG,
    NO_PLACE,
    TONES,
)

_NEVER_A_NAME: Final = frozenset(
    {"not", "none", "null", "unknown", "redacted", "anonymous", "on", "the", "in", "no", "a", "an",
     "programm", "required", "optional", "empty", "missing", "undefined", "nil", "nan", "nobody",
     "root", "legion", "hase", "mud", "tbd", "todo", "default", "private", "secret", "test",
     "placeholder",
     "wrong", "taken", "invalid", "mandatory", "nullable", "niemand", "unbekannt", "unwichtig"}
)  # fmt: skip
_ROLES: Final = frozenset(
    {"lead", "engineer", "developer", "manager", "user", "member", "team", "fan", "owner", "admin",
     "director", "officer", "intern", "architect", "analyst", "support", "staff", "person"}
)  # fmt: skip
"""How what is no name ends: "I'm Frontend Lead"."""
_NO_TRADE: Final = frozenset(
    {"intended", "expected", "designed", "usual", "team", "charm", "group", "pair", "result",
     "whole", "unit", "dog", "it", "that", "matter", "number", "master", "member", "computer",
     "user", "server", "container", "buffer", "filter", "wrapper", "mirror", "factor",
     "router", "adapter", "parameter", "trigger", "layer", "helper", "placeholder", "stranger",
     "lover", "loner", "father", "mother", "sister", "brother", "daughter", "outsider", "other",
     "einer", "keiner", "erster", "letzter", "einziger", "zweiter", "dritter", "einzelner",
     "einzige", "erste", "fremder", "außenseiter", "vater", "mutter", "puffer",
     "platzhalter", "mann", "frau", "partner", "nummer"}
)  # fmt: skip
_NO_TRADE_YET: Final = re.compile(
    r"(?:former|would-be|wannabe|amateur|aspiring|unemployed|bad|terrible|lousy|horrible|"
    r"good|great|better|worse|future|fake|hobby|self-proclaimed|ehemalig\w*|früher\w*|angehend\w*|"
    r"schlecht\w*|gut\w*|arbeitslos\w*|zukünftig\w*|ex-\w+)\b",
    re.IGNORECASE,
)
_TRADE: Final = re.compile(
    r"\w*(?:er|or|ist|ian|man|woman|eer|yst|eur|euse|logue|mann|frau|kraft|ant|antin|ent|entin|"
    r"erin|orin|istin|leitung|loge|login|wirt|wirtin|intern|clerk|cop|lead|head|cto|ceo|cfo|coo|nanny|"
    r"host|hostess|medic|mechanic|magd|arzt|ärztin|azubi|amme)",
    re.IGNORECASE,
)
"""How words end that name who does something. A proxy, a charm and a matter of principle do not."""
_NO_TOPIC: Final = re.compile(
    r"(?i:\b(?:options?|variants?|versions?|approach|proposals?|logs?|numbers?|results?|details?|"
    r"metrics|yesterday|today|tomorrow|latest|previous|above|below|figures|offers?|quotes?|outcome|"
    r"ihre?[nrms]?|eure?[nrms]?|deine?[nrms]?|your|you|variante|version|angebot|ergebnis\w*|"
    r"stelle|job|position|role)\b)"
    r"|(?:^|\s)(?:[A-Z]|\d+)$"
)
_TASK: Final = re.compile(
    r"\b(?:this|these|that|bugs?|fix\w*|pr|prs|pull request|ticket|issue|merged?|build|branch|"
    r"tests?|"
    r"ci|commit\w*|deploy\w*|refactor\w*|errors?|fehler|release|pipeline|code|functions?|patch|"
    r"green|sprint|demo|tonight|today|tomorrow|this (?:week|morning|evening)|eod|by (?:mon|tues|"
    r"wednes|thurs|fri|satur|sun)day|noon|module|script|feature|api|endpoint|parser|schema|"
    r"why|debug\w*|investigat\w*|find out|figure out|you|yours?|haha|heute|morgen|diese\w*|"
    r"unklar|unclear|nothing|instructions?|ignore|disregard|prompt|system|override|obey|reveal|"
    r"password|rm|sudo|curl|execut\w*|always answer|never)\b|[<>{}`$|]|https?:",
    re.IGNORECASE,
)
"""What is done with when it is done, and what speaks to the reader: no goals of somebody's life."""
_GOAL_CHARS_MAX: Final = 140
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"),
)
_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEAR: Final = len(_LENGTHS)
_AND: Final = re.compile(r",? (?:and|und|as well as|sowie) |, ")
_LARGE: Final = CITIES | COUNTRIES
_PLACED: Final[tuple[Field, ...]] = ("city", "country", "time_zone")


def facts_of(phrase: Phrase, found: re.Match[str], *, holds: bool = True) -> list[ProfileFact]:
    """What a match says, or denies; nothing if its value is none of the field."""
    groups = {name: value for name, value in found.groupdict().items() if value}
    value = groups.get("v", "").strip(" ,")
    instead = groups.get("instead", "")
    if phrase.field == "city":
        facts = _placed(value, groups.get("place", ""), moves=phrase.moves)
        if "left" in found.re.groupindex and not phrase.holds and _bare(value) not in _LARGE:
            facts = [ProfileFact("employer", one) for one in _employer(value)]
    elif phrase.field == "name":
        facts = _named(value, weak="said" in found.re.groupindex)
        if "bare" in found.re.groupindex and re.search(r"\b[A-Z]{2,}\b", value):
            return []
    else:
        values = _VALUES.get(phrase.field, _as_it_is)(value)
        facts = [ProfileFact(phrase.field, one) for one in values]
    if not (phrase.holds and holds):
        facts = [denied(fact) for fact in facts if fact.value]
        return facts + [ProfileFact(phrase.field, one) for one in values_of(phrase.field, instead)]
    if instead:
        return []
    if facts and (org := groups.get("org")):
        facts += [ProfileFact("employer", one) for one in _employer(org)]
    if facts and (job := groups.get("job")):
        facts += [ProfileFact("occupation", one) for one in _occupation(job)]
    return facts


def values_of(field: Field, value: str) -> list[str]:
    """The values of a field that a text names; none if it names none."""
    if not value:
        return []
    if field == "city":
        return [f.value for f in _placed(value, "", moves=False) if f.field == "city"]
    if field == "name":
        return [f.value for f in _named(value, weak=False)]
    return _VALUES.get(field, _as_it_is)(value)


def plain_goal(value: str) -> bool:
    """Whether it is a goal of the user's, rather than a task or an order to the reader."""
    return len(value) <= _GOAL_CHARS_MAX and not _TASK.search(value)


def denied(fact: ProfileFact) -> ProfileFact:
    """That it is not so."""
    return ProfileFact(fact.field, fact.value, holds=False)


def _named(value: str, *, weak: bool) -> list[ProfileFact]:
    """`weak`: the phrase also fits what is no name."""
    stops = NO_NAME if weak else _NEVER_A_NAME
    first = folded(value.split(maxsplit=1)[0])
    if weak and folded(value.rsplit(maxsplit=1)[-1]) in _ROLES:
        return []
    if {folded(value), first} & stops or (weak and (first in NO_PLACE or first in LANGUAGES)):
        return []
    return [ProfileFact("name", value)]


def _placed(place: str, wider: str, *, moves: bool) -> list[ProfileFact]:
    """City and country, or the country alone; whoever moved is no longer where they were."""
    name = _bare(place)
    if {name, name.split()[0]} & NO_PLACE or (place.startswith("the ") and name not in COUNTRIES):
        return []
    country = place if name in COUNTRIES else wider if _bare(wider) in COUNTRIES else ""
    if moves and not (country or name in CITIES):
        return []
    named = f"{place}, {wider}" if wider and not country else place  # another of that name
    facts = [] if name in COUNTRIES else [ProfileFact("city", named)]
    facts += [ProfileFact("country", country)] if country else []
    if moves:
        known = {fact.field for fact in facts}
        facts += [ProfileFact(f, "", holds=False) for f in _PLACED if f not in known]
    return facts


def _bare(place: str) -> str:
    return folded(place).removeprefix("the ")


def _as_it_is(value: str) -> list[str]:
    return [value]


def _country(value: str) -> list[str]:
    return [value] if _bare(value) in COUNTRIES else []


def _languages(value: str) -> list[str]:
    return [LANGUAGES[folded(one).casefold()] for one in _AND.split(value)]


def _tone(value: str) -> list[str]:
    words = [TONES[w] for w in re.findall(r"\w+", value.casefold()) if w in TONES]
    return [", ".join(dict.fromkeys(words))]


def _employer(value: str) -> list[str]:
    return [] if folded(value.split(maxsplit=1)[0]) in NO_ORG else [value]


def _occupation(value: str) -> list[str]:
    head = re.split(r" (?:of|and|in|at|for|und) ", value)[0]
    last = folded(head.rsplit(maxsplit=1)[-1])
    if last in _NO_TRADE or _NO_TRADE_YET.match(value):
        return []
    known = last in JOBS or last in JOBS_GERMAN or _TRADE.fullmatch(last)
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
    return [re.sub(r"^to (?=\w)", "", value)] if plain_goal(value) else []


def _interests(value: str) -> list[str]:
    return [topic for topic in _AND.split(value) if topic and not _NO_TOPIC.search(topic)]


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
