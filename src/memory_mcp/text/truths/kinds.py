"""Tells of what kind a statement is: when something is, where, by whom, how much, or what it is.

What is stated of one thing is brought up to date by a value of the same kind: "the demo moved to
room 4" leaves it on Friday. Where a statement does not tell its kind, nothing follows.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import Word, units
from memory_mcp.text.merge.reading import words as merge_words
from memory_mcp.text.sentences import MONTHS
from memory_mcp.text.truths.additions import list_families
from memory_mcp.text.truths.frames import Frame, families, read_frame, words

_ORDINAL: Final = compile_later(r"\d{1,2}(?:st|nd|rd|th)")
_WHEN: Final = ("day", "hour")
_UNIT_CHARS_MIN: Final = 3
"""A shorter one alone is the name of something: "hall B"."""
_OVER_WORDS_MAX: Final = 2
"""More words behind the subject say something beside that it is gone, or "switched off"."""
_KINDS_KEPT: Final = 2_048


def find_other_kinds(old: Frame, new: Frame) -> str:
    """Why a value of the new one takes the place of none of the old one, or ""."""
    if _state_other_kinds(old, new):
        return "each states a value of another kind"
    if _end_another_tool(old, new):
        return "another tool is over"
    return "a tool takes the place of no object" if _use_other_things(old, new) else ""


def _state_other_kinds(old: Frame, new: Frame) -> bool:
    """Whether both speak of one thing, and no value of the new one is of a kind of an old one."""
    if new.ended & old.about or not _share_subject(old, new):
        return False
    theirs, ours = list_kinds(old.text), list_kinds(new.text)
    if not (theirs and ours) or theirs & ours:
        return False
    both = find_topic(old)[0] & find_topic(new)[0]
    if list_families(old, both) & list_families(new, both):
        return False
    if ("tool" in theirs and "named" in ours) or ("named" in theirs and "tool" in ours):
        return False
    return not (ours <= {"what", "tool"} and "where" in theirs)  # "the office is now a boat"


def _end_another_tool(old: Frame, new: Frame) -> bool:
    """Whether all the new one says is that something is over that is no tool of the old one."""
    tools = old.families - words("words", "habits")
    over = new.subject and new.subject <= new.ended and new.ended.isdisjoint(old.about)
    short = len(new.words) <= new.predicate + _OVER_WORDS_MAX
    return bool(tools and over and short and tools.isdisjoint(new.families))


def _use_other_things(old: Frame, new: Frame) -> bool:
    """Whether one has a named object, "a MacBook", and the other one a tool: an editor."""
    theirs, ours = _find_object(old), _find_object(new)
    if not (theirs and ours) or _is_tool(theirs) or not theirs.text[:1].isupper():
        return False
    indefinite = merge_words("indefinite")
    return theirs.article in indefinite and _is_tool(ours) and ours.article not in indefinite


def _find_object(frame: Frame) -> Word | None:
    """The word behind the verb: what is used."""
    verb, *behind = frame.words[frame.predicate :][:2] or (None,)
    used = behind[0] if behind and frame.predicate else None
    if used is None or verb is None or verb.after_copula or _leads(verb) or _leads(used):
        return None
    return used


def _share_subject(old: Frame, new: Frame) -> bool:
    """Whether both speak of one thing, and the new one of nothing that is stated of it."""
    theirs, ours = find_topic(old)[0], find_topic(new)[0]
    return bool(theirs & ours) and ours.isdisjoint(old.about - theirs)


def find_topic(frame: Frame) -> tuple[frozenset[str], int]:
    """Of what it speaks, and where begins what it says of it.

    We say it of what we do something with, "we moved standup", or of what we do: "we meet".
    """
    said = frame.words[frame.predicate :]
    if frame.subject or not said or said[0].kind != "verb" or frame.predicate > 1:
        return frame.subject, frame.predicate
    first = frame.predicate + 1
    end = next((n for n, word in enumerate(said[1:], first) if _ends_object(word)), first)
    return frozenset(frame.keys[first:end] or frame.keys[first - 1 : first]), end


def _ends_object(word: Word) -> bool:
    return _leads(word) or word.set_off or word.kind not in ("word", "name", "identifier")


@lru_cache(maxsize=_KINDS_KEPT)
def list_kinds(text: str) -> frozenset[str]:
    """The kinds of what a sentence says of its subject: "where", "hour", "who" and so on."""
    frame = read_frame(text)
    topic, at = find_topic(frame)
    if not (topic and at):
        return frozenset()
    often = frame.values.get("often", frozenset()) - topic
    phrases = [each for each in _split_phrases(frame.words[at:]) if not _dates_change(frame, each)]
    found = frozenset[str](kind for phrase in phrases for kind in _find_kinds(phrase))
    if (used := _find_object(frame)) and _is_tool(used):
        found |= {"tool", "named", "where"}  # "the site uses Netlify" says where it is, too
    return found.union(_WHEN) if often else found


def _dates_change(frame: Frame, phrase: tuple[Word, ...]) -> bool:
    """Whether it only says since when something else is so, or when it happened."""
    if not any(word.kind == "value" or _list_moments(word) or _is_unit(word) for word in phrase):
        return False
    happened = frame.sentence.event or frame.sentence.past
    return _begins_date(phrase[0]) or (happened and phrase[0].key not in words("words", "targets"))


def _begins_date(word: Word) -> bool:
    return word.text.casefold() in words("words", "onsets")


def _split_phrases(said: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """What is said of the subject, each preposition with what stands behind it."""
    phrase: list[Word] = []
    for word in said:
        if phrase and (word.set_off or _leads(word) or _begins_date(word)):
            yield tuple(phrase)
            phrase = []
        phrase.append(word)
    if phrase:
        yield tuple(phrase)


def _leads(word: Word) -> bool:
    low = word.text.casefold()  # the key of Ines is that of "in"
    governs = word.kind == "preposition" and low != "of"  # "to the end of August" is one phrase
    return governs or (word.kind == "word" and low in words("words", "wheres"))


def _find_kinds(phrase: tuple[Word, ...]) -> Iterator[str]:
    """The kinds of value that a phrase is; a figure behind a noun is its name: "in room 4"."""
    lead, *rest = phrase if _leads(phrase[0]) else (None, *phrase)
    if moments := [moment for word in rest for moment in _list_moments(word)]:
        yield from moments
        return
    if figures := _list_figures(rest, behind=lead is not None):
        yield "figure"
        timed = any(units().get(word.text.casefold()) == "time" for word in figures)
        bare = lead and rest == figures and figures[0].dimension == "count"
        if timed or bare or (lead and lead.key in words("words", "spans")):
            yield from _WHEN  # "twice a day", "moved to 10", "after 30 days"
        if lead and bare and lead.key not in words("words", "hours"):
            yield from ("where", "port")  # "listens on 9090"
    elif lead and rest:
        yield from _find_kinds_behind(lead, rest)
    elif rest and rest[0].after_copula and _is_what(rest):
        yield "what"
        if _is_tool(rest[0]):
            yield from ("tool", "named")


def _find_kinds_behind(lead: Word, rest: list[Word]) -> Iterator[str]:
    """The kinds of what stands behind a preposition: where it is, who does it, with which tool."""
    first = rest[0]
    if lead.key in words("words", "doers") and first.kind == "name":
        yield "who"
    elif first.key in words("words", "addresses") and any(word.kind == "value" for word in rest):
        yield "port"
    elif lead.key in words("words", "wheres") and not _says_how(lead, rest):
        yield "where"
    else:
        return
    if any(map(_is_tool, rest)):
        yield from ("tool", "named")
    elif first.text[:1].isupper() and not first.article and lead.key not in words("words", "inner"):
        yield "named"


def _says_how(lead: Word, rest: list[Word]) -> bool:
    """Whether it is no place: "in milliseconds", "in writing"."""
    first = rest[0]
    return lead.key == "in" and len(rest) == 1 and first.text.islower() and not first.article


def _list_figures(rest: list[Word], *, behind: bool) -> list[Word]:
    """The figures and bare units: "a gigabyte"."""
    found: list[Word] = []
    for before, word in zip((None, *rest), rest, strict=False):
        named = before and _may_have_number(before, behind=behind)
        if _is_unit(word) or (word.kind == "value" and not named):
            found.append(word)
    return found


def _may_have_number(word: Word, *, behind: bool) -> bool:
    """Whether a figure behind the word is its name: "in room 4"; of "at least 4" it is not."""
    named = behind or _is_tool(word) or word.kind in ("name", "identifier")
    return named and word.key not in words("words", "least")


def _list_moments(word: Word) -> tuple[str, ...]:
    """Whether it names a day, or an hour: one is moved without the other."""
    low = word.text.casefold()
    if word.dimension == "clock":
        return ("hour",)
    month = low in MONTHS and word.text[0].isupper()
    if month or word.dimension == "day" or _ORDINAL.fullmatch(low):
        return ("day",)
    return _WHEN if word.key in words("words", "times") else ()


def is_date(word: Word) -> bool:
    """Whether it names a day or a month."""
    return "day" in _list_moments(word)


def _is_unit(word: Word) -> bool:
    return len(word.text) >= _UNIT_CHARS_MIN and word.text.casefold() in units()


def _is_what(rest: list[Word]) -> bool:
    """Whether it is one of a kind, "a fox", or a known tool: a place may be "the town hall"."""
    return rest[0].article in merge_words("indefinite") or _is_tool(rest[0])


def _is_tool(word: Word) -> bool:
    known = families().get(word.text.casefold()) or families().get(word.key) or frozenset()
    return not known <= words("words", "habits")
