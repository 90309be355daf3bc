"""Finds vetoes: why two sentences whose words say one fact may be two facts all the same.

A veto is what the alignment of words does not show: signs, questions, "or", letters of code, a
restriction that one of them leaves out. It costs a question to the caller; a wrong yes costs a
memory.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.domain.normalise import find_code_words, fold
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import Sentence, Word, read_sentence, words
from memory_mcp.text.sentences import straighten_quotes
from memory_mcp.text.tables import load_pattern

_PUNCTUATION: Final = ".,;:?!'\"()`\u2026-"
_EDGES: Final = ".,;:'\"()`\u2026-"
"""Signs that separate words and say nothing themselves, unless they are what is spoken of."""
_AT_FIGURE: Final = compile_later(r"[€$£]\s?(?=\d)|(?<=\d)\s?[€$£%°]")
"""Signs that are read with their figure."""
_SIGNS: Final = compile_later(r"[^\w\s]+")
_SPELLINGS: Final = (("\u2265", ">="), ("\u2264", "<="), ("\u2260", "!="))
_WORD: Final = compile_later(r"[\w']+")
_TITLE: Final = compile_later(r"\s*([^\s:](?:[^:\n.!?]|[.!?](?=\S)){0,119}):(?=\s)")
_TITLE_WORDS_MAX: Final = 5
_QUESTION_MARK: Final = compile_later(r"\?[\"')\]*_`\u201d\u2019]*\s*$")
_LATIN_END: Final = 0x0250
_LATIN_EXTENDED: Final = (0x1E00, 0x1F00)
_SYMBOLS: Final = frozenset("\u03bc\u03a9\u03bb\u03c0")


def find_veto(new: Sentence, old: Sentence, verdict: Verdict, *, less: bool) -> str:
    """Why a yes is not sure, or ""; `less` says that the new sentence leaves something out."""
    if fold(new.text) == fold(old.text):
        return ""
    return next(_find_vetoes(new, old, verdict, less=less), "")


def _find_vetoes(new: Sentence, old: Sentence, verdict: Verdict, *, less: bool) -> Iterator[str]:
    uneven = isinstance(verdict, Extended) or less
    ours, theirs = _read_form(new.text), _read_form(old.text)
    if ours.foreign or theirs.foreign:
        yield "not in a script that the rule reads"
    if ours.asks or theirs.asks:
        yield "one of them asks"
    if not _has_same_signs(ours.signs, theirs.signs, verdict, uneven=uneven):
        yield "other signs"
    if not _has_same_case(new.text, old.text):
        yield "other letters in what is code"
    if ours.alternatives != theirs.alternatives or (
        uneven and ours.alternatives and not _adds_only_reason(new, old)
    ):
        yield "one of several alternatives"
    if ours.limits != theirs.limits:
        yield "one of them limits it"
    if not _has_same_number(new, old):
        yield "one and several"
    if (isinstance(verdict, Updated) or uneven) and (_refers_back(new) or _refers_back(old)):
        yield "it does not say of what, or of which day"
    if uneven and (narrowing := _find_narrowing(new, old, less=less)):
        yield narrowing


@frozen
class _SentenceForm:
    """What a sentence holds beside the words that are aligned."""

    signs: list[str]
    alternatives: list[str]
    limits: list[str]
    asks: bool
    foreign: bool


@lru_cache(maxsize=256)
def _read_form(text: str) -> _SentenceForm:
    plain = straighten_quotes(text)
    low = plain.casefold()
    first, second, *_ = (*_WORD.findall(low), "", "")
    asks = first in words("questions") or (
        first in words("asking_verbs") and second in words("asked_subjects")
    )
    chooses = load_pattern("merge", "alternative").search(low)
    return _SentenceForm(
        signs=_find_signs(plain),
        alternatives=load_pattern("merge", "and_or").findall(low) if chooses else [],
        limits=sorted(load_pattern("merge", "limit").findall(low)),
        asks=asks or bool(_QUESTION_MARK.search(plain)),
        foreign=_is_foreign(text),
    )


def _find_signs(text: str) -> list[str]:
    """The signs of a text in order, without mere punctuation and quotes around words."""
    for sign, plain in _SPELLINGS:
        text = text.replace(sign, plain)
    text = _AT_FIGURE.sub("", text)
    found: list[str] = []
    for match in _SIGNS.finditer(text):
        signs = match.group()
        before, after = text[: match.start()][-1:].strip(), text[match.end() :][:1].strip()
        if all(char in _PUNCTUATION for char in signs):
            found += _find_named_punctuation(signs, before, after)
            continue
        core = signs.strip(_EDGES) if before or after else signs.strip(".,;:'\"`")
        found.append(core.rstrip("!?") or core)
        if signs[-1] == "-" and after:
            found.append("-")
    return found


def _find_named_punctuation(signs: str, before: str, after: str) -> list[str]:
    """Punctuation that says something: "the separator is ;", `-x`, `feat!:`."""
    core = signs.strip("'\"()`")
    if "!" in core and core.strip("!?."):
        return [core]
    if not (before or after):
        mere = not signs.strip("!?") or signs in ("-", "...", "\u2026")
        return [] if mere else [signs]
    if signs[-1] == "-" and after and (not before or len(signs) > 1):
        return ["-" * signs.count("-")]
    return []


def _has_same_signs(ours: list[str], theirs: list[str], verdict: Verdict, *, uneven: bool) -> bool:
    if uneven:
        few, many = sorted((ours, theirs), key=len)
        return many[: len(few)] == few
    reordered = isinstance(verdict, Restated)
    return sorted(ours) == sorted(theirs) if reordered else ours == theirs


def _has_same_case(one: str, other: str) -> bool:
    """Whether what looks like code is written with the same letters in both."""
    for these, those in ((one, other), (other, one)):
        code = find_code_words(these)
        if not code:
            continue
        there = {*re.findall(r"-*\w+", those), *find_code_words(those)}
        low = {word.casefold() for word in there}
        if any(word not in there and word.casefold() in low for word in code):
            return False
    return True


def _is_foreign(text: str) -> bool:
    """Whether there are letters of another script than Latin, or accents that stand alone."""
    if text.isascii():
        return False
    return any(
        (char.isalpha() or "\u0300" <= char <= "\u036f" or _is_mark(char))
        and not (
            ord(char) < _LATIN_END
            or _LATIN_EXTENDED[0] <= ord(char) < _LATIN_EXTENDED[1]
            or char in _SYMBOLS
        )
        for char in text
    )


def _is_mark(char: str) -> bool:
    """Whether it is a vowel sign or accent by itself, and not what shapes an emoji."""
    return unicodedata.category(char) in ("Mn", "Mc") and not "\ufe00" <= char <= "\ufe0f"


def compare_titles(new: str, old: str) -> Different | Unsure | None:
    """The verdict on texts that begin with other titles, or one of them with one; else None."""
    ours, theirs = _find_title(new), _find_title(old)
    if ours == theirs:
        return None
    short = max(len(ours), len(theirs)) <= _TITLE_WORDS_MAX
    states = any(_states_something(" ".join(title)) for title in (ours, theirs))
    if ours and theirs and short and not states:
        return Different(f"about {' '.join(theirs)!r}, not {' '.join(ours)!r}")
    return Unsure("they may not be about the same")


def _states_something(title: str) -> bool:
    """Whether a title says something rather than name it: "We have two cats: Mia and Leo"."""
    read = read_sentence(title)
    return bool(read.copulas or read.by_us or {"have", "hav", "@i"} & set(read.keys))


def _find_title(text: str) -> list[str]:
    """The words before the colon at the beginning, if they name what it is about."""
    found = _TITLE.match(text)
    title = found[1].casefold().split() if found else []
    return [] if len(title) == 1 and title[0].strip("*_`'\"") in words("labels") else title


def _refers_back(sentence: Sentence) -> bool:
    """Whether its subject is a pronoun, or its day "today": it needs what was said around it."""
    said = [word.text.casefold() for word in sentence.words]
    if (said and said[0] in words("leaning")) or not words("today").isdisjoint(said):
        return True
    first = _WORD.search(straighten_quotes(sentence.text).casefold())
    return first is not None and first.group().split("'")[0] in words("leaning")


def _has_same_number(new: Sentence, old: Sentence) -> bool:
    """Whether both speak of one, or both of several: "the worker", "the workers"."""
    for one, other in zip(new.words, old.words, strict=False):
        if one.key != other.key or one.kind == "verb" or other.kind == "verb":
            return True
        short, long = sorted((one.text.casefold(), other.text.casefold()), key=len)
        if f"{short}s" == long:
            return False
    return True


def _find_tail(new: Sentence, old: Sentence) -> Sequence[Word]:
    """The end of the longer one, behind as many words as the shorter one has."""
    few, many = sorted((new.words, old.words), key=len)
    return many[len(few) :]


def _adds_only_reason(new: Sentence, old: Sentence) -> bool:
    """Whether all that is added is a reason: it takes nothing back."""
    tail = _find_tail(new, old)
    return bool(tail) and tail[0].key in words("reasons")


def _find_narrowing(new: Sentence, old: Sentence, *, less: bool) -> str:
    """Why it is not harmless that one says more than the other, or ""."""
    few = new if less else old
    tail = _find_tail(new, old)
    if not tail or _adds_only_reason(new, old):
        return ""
    found = _WORD.findall(straighten_quotes(few.text).casefold())
    if any(word in words("scopes") or word.endswith("n't") for word in found):
        return "what holds for all, may or must be, or never is, is narrowed"
    if any(
        word.dimension in ("day", "clock") or word.text.casefold() in words("seasons")
        for word in tail
    ):
        return "it holds at some times"
    if less and any(word.key == "prefer" for word in few.words):
        return "what is preferred in one case is not always"
    if less and tail[0].kind not in ("preposition", "join"):
        return "a list became shorter"
    return ""
