"""Finds what a text says about the user, as facts of the profile.

It is careful to say no: a false fact would open every session, a missed one is still found by
searching. A statement counts where it begins a clause, is said in the present, by the user or of
"the user", outright: not quoted, asked, reported, supposed, hoped or staged.

Recognition is by rules alone. `data/profile.toml` holds the words and patterns that all languages
share, `data/profile-<language>.toml` the phrases of one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from memory_mcp.domain.normalise import fold
from memory_mcp.domain.profile import MULTI_VALUED, ProfileFact, ProfileField
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.sentences import drop_code, split_sentences, straighten_quotes
from memory_mcp.text.tables import fill, fill_parts, load_pattern, load_table
from memory_mcp.text.truths.frames import families

pattern = partial(load_pattern, "profile")

_LANGUAGES: Final = ("en", "de")
_DENIED: Final = (
    "{what}(?: is| are)(?: no longer|n't| not)(?: actually)? {value}"
    "(?:,? (?:it's|it is|but) {other})?{end}"
)


@frozen
class Phrase:
    """A pattern and the field of its value. `moves`: an earlier place no longer holds."""

    field: ProfileField
    pattern: re.Pattern[str]
    holds: bool = True
    moves: bool = False


@frozen
class Predicate:
    """What may follow a subject: an opening (a copula, a denial), then one of the phrases."""

    opening: re.Pattern[str]
    cue: re.Pattern[str]
    phrases: tuple[Phrase, ...]
    holds: bool


@frozen
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
    """The languages; the first one also continues where a phrase stood alone."""
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
    return {word: tone for tone, names in table.items() for word in names.split()}


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
        group: tuple(phrase for row in rows for phrase in _build_phrases(row, parts))
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


def _build_phrases(row: Mapping[str, Any], parts: Mapping[str, str]) -> tuple[Phrase, ...]:
    """The phrase of a row; a row with labels makes `My city is …` and `My city is not …`."""
    if "labels" not in row:
        moves: bool = row.get("moves", False)
        form = compile_later(fill(row["pattern"], parts))
        return (Phrase(row["field"], form, row.get("holds", True), moves),)
    value = fill(row["value"], parts)
    known = {
        **parts,
        "what": fill(f"(?:{{of}}(?i:{row['labels']}))", parts),
        "value": value,
        "other": value.replace("?P<v>", "?P<instead>").replace("?P<place>", "?:"),
        "end": fill(row.get("end", "{end}"), parts),
    }
    return (
        Phrase(row["field"], compile_later(fill("{what}{is}{value}{end}", known))),
        Phrase(row["field"], compile_later(fill(_DENIED, known)), holds=False),
    )


def _any_of(listed: Iterable[str]) -> str:
    """Any of these words, the longest first."""
    ordered = sorted(map(re.escape, listed), key=lambda word: (-len(word), word))
    return f"(?i:{'|'.join(ordered)})"


_GOAL_CHARS_MAX: Final = 140
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"),
)
_MONTH_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS_A_YEAR: Final = len(_MONTH_DAYS)
_AND: Final = compile_later(r",? (?:and|und|as well as|sowie) |, ")
_PLACED: Final[tuple[ProfileField, ...]] = ("city", "country", "time_zone")


def read_facts(phrase: Phrase, found: re.Match[str], *, holds: bool = True) -> list[ProfileFact]:
    """The facts that a match states or denies; none if its value does not fit the field."""
    groups = {name: value for name, value in found.groupdict().items() if value}
    value = groups.get("v", "").strip(" ,")
    instead = groups.get("instead", "")
    if phrase.field == "city":
        facts = _read_place(value, groups.get("place", ""), moves=phrase.moves)
        if "house" in groups:  # "gezogen": only people do, and only to a place
            facts = [replace(fact, supposed=False) for fact in facts]
        if (
            "left" in found.re.groupindex
            and not phrase.holds
            and _fold_place(value) not in words("cities") | words("countries")
        ):
            facts = [ProfileFact("employer", one) for one in _parse_employer(value)]
    elif phrase.field == "name":
        facts = _read_name(value, weak="said" in found.re.groupindex)
        if "bare" in found.re.groupindex and re.search(r"\b[A-Z]{2,}\b", value):
            return []
    else:
        values = _VALUES.get(phrase.field, _keep_value)(value)
        facts = [ProfileFact(phrase.field, one) for one in values]
    if not (phrase.holds and holds):
        facts = [ProfileFact(fact.field, fact.value, holds=False) for fact in facts if fact.value]
        return facts + [
            ProfileFact(phrase.field, one) for one in parse_values(phrase.field, instead)
        ]
    if instead:
        return []
    if facts and (org := groups.get("org")):
        facts += [ProfileFact("employer", one) for one in _parse_employer(org)]
    if facts and (job := groups.get("job")):
        facts += [ProfileFact("occupation", one) for one in _parse_occupation(job)]
    return facts


def parse_values(field: ProfileField, value: str) -> list[str]:
    """The values of a field that a text names; none if it names none."""
    if not value:
        return []
    if field == "city":
        return [f.value for f in _read_place(value, "", moves=False) if f.field == "city"]
    if field == "name":
        return [f.value for f in _read_name(value, weak=False)]
    return _VALUES.get(field, _keep_value)(value)


def is_plain_goal(value: str) -> bool:
    """Whether it is a goal of the user's, rather than a task or an order to the reader."""
    return len(value) <= _GOAL_CHARS_MAX and not pattern("task").search(value)


def _read_name(value: str, *, weak: bool) -> list[ProfileFact]:
    """The name, if it can be one; `weak`: the phrase also fits what is no name."""
    stops = words("no_name") if weak else words("never_a_name")
    first = fold(value.split(maxsplit=1)[0])
    if weak and fold(value.rsplit(maxsplit=1)[-1]) in words("roles"):
        return []
    if {fold(value), first} & stops or (
        weak and (first in words("no_place") or first in language_names())
    ):
        return []
    return [ProfileFact("name", value)]


def _read_place(place: str, wider: str, *, moves: bool) -> list[ProfileFact]:
    """City and country, or the country alone; of whoever moved the earlier place is denied."""
    name = _fold_place(place)
    if {name, name.split()[0]} & words("no_place") or (
        place.startswith("the ") and name not in words("countries")
    ):
        return []
    country = next((p for p in (place, wider) if _fold_place(p) in words("countries")), "")
    supposed = moves and not (country or name in words("cities"))
    if supposed and name in families():  # a tool
        return []
    named = f"{place}, {wider}" if wider and not country else place  # another of that name
    facts = [] if name in words("countries") else [ProfileFact("city", named)]
    facts += [ProfileFact("country", country)] if country else []
    if moves:
        known = {fact.field for fact in facts}
        facts += [ProfileFact(f, "", holds=False) for f in _PLACED if f not in known]
    return [replace(fact, supposed=True) for fact in facts] if supposed else facts


def _fold_place(place: str) -> str:
    return fold(place).removeprefix("the ")


def _keep_value(value: str) -> list[str]:
    return [value]


def _parse_country(value: str) -> list[str]:
    return [value] if _fold_place(value) in words("countries") else []


def _parse_languages(value: str) -> list[str]:
    return [language_names()[fold(one).casefold()] for one in _AND.split(value)]


def _parse_tone(value: str) -> list[str]:
    words = [tones()[w] for w in re.findall(r"\w+", value.casefold()) if w in tones()]
    return [", ".join(dict.fromkeys(words))]


def _parse_employer(value: str) -> list[str]:
    return [] if fold(value.split(maxsplit=1)[0]) in words("no_org") else [value]


def _parse_occupation(value: str) -> list[str]:
    head = re.split(r" (?:of|and|in|at|for|und) ", value)[0]
    last = fold(head.rsplit(maxsplit=1)[-1])
    if last in words("no_trade") or pattern("no_trade_yet").match(value):
        return []
    known = (
        last in words("jobs") or last in words("jobs_german") or pattern("trade").fullmatch(last)
    )
    return [value] if known else []


def _parse_birthday(value: str) -> list[str]:
    """A day that a calendar has."""
    if iso := re.fullmatch(r"\d{4}-(\d\d)-(\d\d)", value):
        month, day = int(iso[1]), int(iso[2])
    else:
        name = re.search(r"[A-Za-zä]{3,}", value.replace(" of ", " "))
        number = re.search(r"\b\d{1,2}(?!\d)", value)
        month = _MONTHS.index(name[0][:3].casefold()) % 12 + 1 if name else 0
        day = int(number[0]) if number else 0
    return [value] if 1 <= month <= _MONTHS_A_YEAR and 1 <= day <= _MONTH_DAYS[month - 1] else []


def _parse_goal(value: str) -> list[str]:
    return [re.sub(r"^to (?=\w)", "", value)] if is_plain_goal(value) else []


def _parse_interests(value: str) -> list[str]:
    return [topic for topic in _AND.split(value) if topic and not pattern("no_topic").search(topic)]


_VALUES: Final[dict[ProfileField, Callable[[str], list[str]]]] = {
    "country": _parse_country,
    "language": _parse_languages,
    "speaks": _parse_languages,
    "tone": _parse_tone,
    "employer": _parse_employer,
    "occupation": _parse_occupation,
    "birthday": _parse_birthday,
    "goal": _parse_goal,
    "interest": _parse_interests,
}


_SENTENCE_CHARS_MAX: Final = 400
"""A longer sentence is a document's, and would take the patterns long."""

_QUOTED: Final = compile_later(
    r"\"([^\"\n]{0,400})\"|[»«]([^»«\n]{0,400})[»«]"
    r"|(?<!\w)'([^'\n]{3,400})'(?!\w)|`([^`\n]{0,400})`"
)
_PROPER: Final = compile_later(r"[A-ZÀ-Þ][\w-]*(?: [A-ZÀ-Þ][\w-]*)?")
_QUOTE_MARK: Final = "\ufffc"  # stands for what was said by somebody else


def find_outright_sentences(text: str) -> Iterator[str]:
    """The sentences said outright: no code, no quote, no other speaker's turn, no question."""
    if pattern("staged").search(text):
        return
    plain = straighten_quotes(drop_code(text))
    plain = plain.replace("I've ", "I have ").replace("I'd ", "I would ")
    plain = _QUOTED.sub(_replace_quote, plain)
    for line in plain.splitlines():
        stripped = line.strip()
        if stripped.startswith(">"):
            continue
        if framed := pattern("framed").match(stripped):
            if framed.end() == len(stripped):  # all that follows is in it
                return
            continue
        if pattern("speaker").match(stripped) and not pattern("titles").match(stripped):
            continue
        for whole in split_sentences(stripped):
            if len(whole) > _SENTENCE_CHARS_MAX or whole.rstrip("\"')]}*_").endswith("?"):
                continue
            if not pattern("hearsay").search(pattern("ours").sub("", whole)):
                yield whole


def _replace_quote(found: re.Match[str]) -> str:
    """A name in quotes is kept; anything longer was said by somebody else, or is code."""
    inside = next((part for part in found.groups() if part is not None), "")
    return inside if _PROPER.fullmatch(inside) else _QUOTE_MARK


_Statement = tuple[list[ProfileFact], int]
"""Facts, and where in the sentence their statement ends."""

_APPOSED: Final = compile_later(r",? ")


def find_facts(text: str, *, supposed: bool = False) -> tuple[ProfileFact, ...]:
    """The facts that the text states or denies; of a field with one value the last one.

    `supposed`: also those that may be about something else.
    """
    if not pattern("hint").search(text):
        return ()
    found: list[ProfileFact] = []
    for sentence in find_outright_sentences(text):
        for fact in _read_sentence(sentence):
            if fact.supposed and not supposed:
                continue
            found = [f for f in found if not _is_superseded(f, fact)]
            found.append(fact)
    return tuple(found)


def _is_superseded(old: ProfileFact, new: ProfileFact) -> bool:
    """Whether the later statement takes the place of the earlier one."""
    if old.field != new.field:
        return False
    if old.is_same_as(new) or not (new.holds or new.value):
        return True
    return old.holds and new.holds and old.field not in MULTI_VALUED


def _read_sentence(sentence: str) -> Iterator[ProfileFact]:
    """The facts of a sentence, clause by clause."""
    lead = pattern("lead").match(sentence)
    begun = lead.end() if lead else 0
    joins = (join.end() for join in pattern("connected").finditer(sentence))
    reached = 0
    for start in dict.fromkeys((0, begun, *joins)):
        if start < reached or pattern("doubt").search(sentence, 0, start):
            continue
        if start > begun and not reached and not pattern("of_the_user").match(sentence, begun):
            return  # what stands before it may be a frame: a novel, a demo, another time
        for facts, end in _read_clause(sentence, start):
            if pattern("taken_back").search(sentence, end):
                return
            yield from facts
            reached = end


def _read_clause(sentence: str, start: int) -> Iterator[_Statement]:
    """The statement of the clause that begins here, then those that it is continued by."""
    language, stated = _read_beginning(sentence, start)
    while stated:
        yield stated
        end = stated[1]
        more = pattern("goes_on").match(sentence, end)
        stated = _read_predicate(language, sentence, more.end()) if more else None
        if not stated and (comma := _APPOSED.match(sentence, end)):
            stated = _match_first(language.apposed, sentence, comma.end())


def _read_beginning(sentence: str, start: int) -> tuple[Language, _Statement | None]:
    """A subject with its predicate, or a phrase that stands alone."""
    for language in languages():
        subject = language.subject.match(sentence, start)
        if subject and (stated := _read_predicate(language, sentence, subject.end())):
            return language, stated
    first = languages()[0]
    for language in languages():
        for cue, phrases in language.alone:
            if cue.match(sentence, start) and (stated := _match_first(phrases, sentence, start)):
                return first, stated
    return first, None


def _read_predicate(language: Language, sentence: str, start: int) -> _Statement | None:
    """A verb with its value after a subject, denied or not."""
    for each in language.predicates:
        begun = each.opening.match(sentence, start)
        if begun is None or not each.cue.match(sentence, begun.end()):
            continue
        if stated := _match_first(each.phrases, sentence, begun.end(), holds=each.holds):
            return stated
    return None


def _match_first(
    phrases: tuple[Phrase, ...], sentence: str, start: int, *, holds: bool = True
) -> _Statement | None:
    """The first phrase that matches here with a value that fits its field."""
    for phrase in phrases:
        found = phrase.pattern.match(sentence, start)
        if found and (facts := read_facts(phrase, found, holds=holds)):
            return facts, found.end()
    return None
