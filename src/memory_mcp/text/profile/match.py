"""Finds what a text says about the user, as facts of the profile.

It is careful to say no: a false fact would open every session, a missed one is still found by
searching. A statement counts where it begins a clause, is said in the present, by the user or of
"the user", outright: not quoted, asked, reported, supposed, hoped or staged. Recognition is by
rules alone, so that the same text gives the same facts everywhere.
"""

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.domain.profile import MANY, ProfileFact
from memory_mcp.text.profile.languages import Language, Phrase, languages, pattern
from memory_mcp.text.profile.values import read_facts
from memory_mcp.text.sentences import drop_code, split_sentences, straighten_quotes

_SENTENCE_CHARS_MAX: Final = 400
"""A longer one is a document's, and would take the patterns long."""

_QUOTED: Final = re.compile(
    r"\"([^\"\n]{0,400})\"|[»«]([^»«\n]{0,400})[»«]"
    r"|(?<!\w)'([^'\n]{3,400})'(?!\w)|`([^`\n]{0,400})`"
)
_PROPER: Final = re.compile(r"[A-ZÀ-Þ][\w-]*(?: [A-ZÀ-Þ][\w-]*)?")
_HOLE: Final = "\ufffc"  # stands for what was said by somebody else


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
    """A name in quotes is a name; anything longer was said by somebody, or is code."""
    inside = next((part for part in found.groups() if part is not None), "")
    return inside if _PROPER.fullmatch(inside) else _HOLE


_Stated = tuple[list[ProfileFact], int]
"""Facts, and where in the sentence what says them ends."""

_APPOSED: Final = re.compile(r",? ")


def find_facts(text: str) -> tuple[ProfileFact, ...]:
    """What the text says of the user; of a field with one value the last, denials included."""
    if not pattern("hint").search(text):
        return ()
    found: list[ProfileFact] = []
    for sentence in find_outright_sentences(text):
        for fact in _read_sentence(sentence):
            found = [f for f in found if not _is_replaced(f, fact)]
            found.append(fact)
    return tuple(found)


def _is_replaced(old: ProfileFact, new: ProfileFact) -> bool:
    """Whether the later statement takes the place of the earlier one."""
    if old.field != new.field:
        return False
    if old.same_as(new) or not (new.holds or new.value):
        return True
    return old.holds and new.holds and old.field not in MANY


def _read_sentence(sentence: str) -> Iterator[ProfileFact]:
    """The facts of a sentence, clause by clause."""
    lead = pattern("lead").match(sentence)
    starts = [
        lead.end() if lead else 0,
        *(m.end() for m in pattern("connected").finditer(sentence)),
    ]
    reached = 0
    for start in dict.fromkeys([0, *starts]):
        if start < reached or pattern("doubt").search(sentence, 0, start):
            continue
        begun = lead.end() if lead else 0
        if start > begun and not reached and not pattern("of_the_user").match(sentence, begun):
            return  # what stands before it may be a frame: a novel, a demo, another time
        for facts, end in _read_clause(sentence, start):
            if pattern("taken_back").search(sentence, end):
                return
            yield from facts
            reached = end


def _read_clause(sentence: str, start: int) -> Iterator[_Stated]:
    """What the clause that begins here says, and where that ends; then what it goes on to say."""
    language, stated = _read_beginning(sentence, start)
    while stated:
        yield stated
        end = stated[1]
        more = pattern("goes_on").match(sentence, end)
        stated = _read_predicate(language, sentence, more.end()) if more else None
        if not stated and (comma := _APPOSED.match(sentence, end)):
            stated = _match_first(language.apposed, sentence, comma.end())


def _read_beginning(sentence: str, start: int) -> tuple[Language, _Stated | None]:
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


def _read_predicate(language: Language, sentence: str, start: int) -> _Stated | None:
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
) -> _Stated | None:
    """The first phrase that matches here and makes sense."""
    for phrase in phrases:
        found = phrase.compiled.match(sentence, start)
        if found and (facts := read_facts(phrase, found, holds=holds)):
            return facts, found.end()
    return None
