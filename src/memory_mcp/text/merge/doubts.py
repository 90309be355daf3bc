"""Finds why two sentences that look like one fact may be two all the same.

It asks what the alignment of words does not show: signs, questions, "or", the letters of code,
whether what is left out was a restriction. A doubt costs a question to the caller; a wrong yes
costs a memory.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.domain.normalise import code_words, folded
from memory_mcp.text.merge.lexicon import lexicon
from memory_mcp.text.merge.reading import Sentence, Word, read_sentence
from memory_mcp.text.sentences import straighten_quotes

_PLAIN: Final = ".,;:?!'\"()`\u2026-"
_EDGES: Final = ".,;:'\"()`\u2026-"
"""Punctuation: it parts words and says nothing itself, unless it is what is spoken of."""
_MONEY: Final = re.compile(r"[€$£]\s?(?=\d)|(?<=\d)\s?[€$£%°]")
"""What stands at a figure is read with it."""
_RUN: Final = re.compile(r"[^\w\s]+")
_SPELT: Final = (("\u2265", ">="), ("\u2264", "<="), ("\u2260", "!="))
_OR: Final = re.compile(r"\b(?:or|nor|either|neither|oder|weder|entweder)\b")
_AND_OR: Final = re.compile(r"\b(?:and|or|nor|either|neither|und|oder|weder|entweder)\b")
_LIMITS: Final = re.compile(r"\b(?:just|only|even|nur|bloß|sogar|(?:yes|no|ja|nein)(?=,))\b")
_WORD: Final = re.compile(r"[\w']+")
_TITLE: Final = re.compile(r"\s*([^\s:](?:[^:\n.!?]|[.!?](?=\S)){0,119}):(?=\s)")
_TITLE_WORDS_MAX: Final = 5
_ASKED: Final = re.compile(r"\?[\"')\]*_`\u201d\u2019]*\s*$")
_LATIN_END: Final = 0x0250
_LATIN_MORE: Final = (0x1E00, 0x1F00)
_SYMBOLS: Final = frozenset("\u03bc\u03a9\u03bb\u03c0")


def find_doubt(new: Sentence, old: Sentence, verdict: Verdict, *, less: bool) -> str:
    """Why a yes is not sure, or nothing; `less` says that the new one leaves something out."""
    if folded(new.text) == folded(old.text):
        return ""
    return next(_find_doubts(new, old, verdict, less=less), "")


def _find_doubts(new: Sentence, old: Sentence, verdict: Verdict, *, less: bool) -> Iterator[str]:
    parted = isinstance(verdict, Extended) or less
    ours, theirs = _read_signs(new.text), _read_signs(old.text)
    if ours.foreign or theirs.foreign:
        yield "not in a script that the rule reads"
    if ours.asks or theirs.asks:
        yield "one of them asks"
    if not _has_same_signs(ours.signs, theirs.signs, verdict, parted=parted):
        yield "other signs"
    if not _has_same_case(new.text, old.text):
        yield "other letters in what is code"
    if ours.ors != theirs.ors or (parted and ours.ors and not _adds_only_reason(new, old)):
        yield "one of several alternatives"
    if ours.limits != theirs.limits:
        yield "one of them limits it"
    if not _has_same_number(new, old):
        yield "one and several"
    if (isinstance(verdict, Updated) or parted) and (_refers_back(new) or _refers_back(old)):
        yield "it does not say of what, or of which day"
    if parted and (narrowed := _find_narrowing(new, old, less=less)):
        yield narrowed


@dataclass(frozen=True)
class _Signs:
    """What a sentence holds beside the words that are laid side by side."""

    signs: tuple[str, ...]
    ors: tuple[str, ...]
    limits: tuple[str, ...]
    asks: bool
    foreign: bool


_ASKING: Final = frozenset(
    (verb, who)
    for verb in ("can", "could", "should", "may", "do", "have", "will", "must", "shall")
    for who in ("i", "we", "you", "he", "she", "it", "they")
)


@lru_cache(maxsize=256)
def _read_signs(text: str) -> _Signs:
    plain = straighten_quotes(text)
    low = plain.casefold()
    words = _WORD.findall(low)
    return _Signs(
        signs=tuple(_find_signs(plain)),
        ors=tuple(_AND_OR.findall(low)) if _OR.search(low) else (),
        limits=tuple(sorted(_LIMITS.findall(low))),
        asks=bool(_ASKED.search(plain))
        or (bool(words) and (words[0] in lexicon().questions or tuple(words[:2]) in _ASKING)),
        foreign=_is_foreign(text),
    )


def _find_signs(text: str) -> list[str]:
    """The signs of a text in order, apart from mere punctuation and quotes around words."""
    for sign, plain in _SPELT:
        text = text.replace(sign, plain)
    text = _MONEY.sub(" ", text)
    found: list[str] = []
    for match in _RUN.finditer(text):
        run = match.group()
        before, after = text[: match.start()][-1:].strip(), text[match.end() :][:1].strip()
        if all(char in _PLAIN for char in run):
            found += _find_named_signs(run, before, after)
            continue
        said = run.strip(_EDGES) if before or after else run.strip(".,;:'\"`")
        found.append(said.rstrip("!?") or said)
        if run[-1] == "-" and after:
            found.append("-")
    return found


def _find_named_signs(run: str, before: str, after: str) -> list[str]:
    """Punctuation that says something: "the separator is ;", `-x`, `feat!:`."""
    core = run.strip("'\"()`")
    if "!" in core and core.strip("!?."):
        return [core]
    if not (before or after):
        mere = not run.strip("!?") or run in ("-", "...", "\u2026")
        return [] if mere else [run]
    if run[-1] == "-" and after and (not before or len(run) > 1):
        return ["-" * run.count("-")]
    return []


def _has_same_signs(
    ours: Sequence[str], theirs: Sequence[str], verdict: Verdict, *, parted: bool
) -> bool:
    if parted:
        few, many = sorted((ours, theirs), key=len)
        return list(many[: len(few)]) == list(few)
    moved = isinstance(verdict, Restated)
    return sorted(ours) == sorted(theirs) if moved else list(ours) == list(theirs)


def _has_same_case(one: str, other: str) -> bool:
    """Whether what looks like code is written with the same letters in both."""
    for these, those in ((one, other), (other, one)):
        code = code_words(these)
        if not code:
            continue
        there = {*re.findall(r"-*\w+", those), *code_words(those)}
        low = {word.casefold() for word in there}
        if any(word not in there and word.casefold() in low for word in code):
            return False
    return True


def _is_foreign(text: str) -> bool:
    """Whether there are letters of another script than Latin, or marks that stand alone."""
    if text.isascii():
        return False
    return any(
        (char.isalpha() or "\u0300" <= char <= "\u036f" or _is_mark(char))
        and not (
            ord(char) < _LATIN_END
            or _LATIN_MORE[0] <= ord(char) < _LATIN_MORE[1]
            or char in _SYMBOLS
        )
        for char in text
    )


def _is_mark(char: str) -> bool:
    """A vowel sign or accent that is a character of its own; not what shapes an emoji."""
    return unicodedata.category(char) in ("Mn", "Mc") and not "\ufe00" <= char <= "\ufe0f"


def compare_titles(new: str, old: str) -> Different | Unsure | None:
    """Why they are not the same fact if they begin with other titles, or one of them with one."""
    ours, theirs = _find_title(new), _find_title(old)
    if ours == theirs:
        return None
    short = max(len(ours), len(theirs)) <= _TITLE_WORDS_MAX
    told = any(_states_something(" ".join(words)) for words in (ours, theirs))
    if ours and theirs and short and not told:
        return Different(f"about {' '.join(theirs)!r}, not {' '.join(ours)!r}")
    return Unsure("they may not be about the same")


def _states_something(title: str) -> bool:
    """Whether a title says something rather than name it: "We have two cats: Mia and Leo"."""
    said = read_sentence(title)
    return bool(said.copulas or said.spoken_by_us or {"have", "hav", "@i"} & set(said.keys))


def _find_title(text: str) -> list[str]:
    """The words before the colon at the beginning, if they name what it is about."""
    found = _TITLE.match(text)
    words = found[1].casefold().split() if found else []
    return [] if len(words) == 1 and words[0].strip("*_`'\"") in lexicon().labels else words


def _refers_back(sentence: Sentence) -> bool:
    """Whether its subject is a pronoun, or its day "today": it means what was said around it."""
    said = [word.said.casefold() for word in sentence.words]
    if (said and said[0] in lexicon().leaning) or not lexicon().today.isdisjoint(said):
        return True
    first = _WORD.search(straighten_quotes(sentence.text).casefold())
    return first is not None and first.group().split("'")[0] in lexicon().leaning


def _has_same_number(new: Sentence, old: Sentence) -> bool:
    """Whether both speak of one, or both of several: "the worker", "the workers"."""
    for one, other in zip(new.words, old.words, strict=False):
        if one.key != other.key or one.kind == "verb" or other.kind == "verb":
            return True
        said, before = one.said.casefold(), other.said.casefold()
        if said != before and f"{min(said, before, key=len)}s" == max(said, before, key=len):
            return False
    return True


def _find_tail(new: Sentence, old: Sentence) -> Sequence[Word]:
    """What only the longer one says at its end."""
    few, many = sorted((new.words, old.words), key=len)
    return many[len(few) :]


def _adds_only_reason(new: Sentence, old: Sentence) -> bool:
    """Whether all that is added is a reason: it takes nothing back."""
    tail = _find_tail(new, old)
    return bool(tail) and tail[0].key in lexicon().reasons


def _find_narrowing(new: Sentence, old: Sentence, *, less: bool) -> str:
    """Why it is not harmless that one says more than the other."""
    few = new if less else old
    tail = _find_tail(new, old)
    if not tail or _adds_only_reason(new, old):
        return ""
    words = _WORD.findall(straighten_quotes(few.text).casefold())
    if any(word in lexicon().scopes or word.endswith("n't") for word in words):
        return "what holds for all, may or must be, or never is, is narrowed"
    if any(
        word.measures in ("day", "clock") or word.said.casefold() in lexicon().seasons
        for word in tail
    ):
        return "it holds at some times"
    if less and any(word.key == "prefer" for word in few.words):
        return "what is preferred in one case is not always"
    if less and tail[0].kind not in ("preposition", "join"):
        return "a list became shorter"
    return ""
