"""What two sentences differ in, and whether that lets them be about the same thing.

Both are laid side by side, word by word. Where they part decides: a figure in the predicate may
be a newer value, a name in the subject is another subject. Whoever cannot be told apart from a
near miss by its form is `Unsure`, because a wrong yes hides a memory and a wrong no only keeps two.
"""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from memory_mcp.domain.merging import (
    Different,
    Extended,
    Restated,
    Unsure,
    Updated,
    Verdict,
)
from memory_mcp.ingestion.doubts import doubt, other_title
from memory_mcp.ingestion.figures import key_of
from memory_mcp.ingestion.reordering import reordered
from memory_mcp.ingestion.values import Slot, is_newer, is_other, is_toggle, measures
from memory_mcp.ingestion.vocabulary import LIMITS, OPPOSITES, PLACES
from memory_mcp.ingestion.wording import NOT, Sentence, Word

__all__ = ["LESS", "SAME", "WORDS_MAX", "compared", "compared_if_near"]

SAME: Final = "the same words"
LESS: Final = "it says less"
"""Why something is restated that the old sentence says more fully."""

WORDS_MAX: Final = 120
"""A longer sentence is none: a list, a log, a table."""

_OPPOSITES: Final = OPPOSITES | {key_of(word): groups for word, groups in OPPOSITES.items()}
_PLACES: Final = PLACES | frozenset(map(key_of, PLACES))


def compared(new: Sentence, old: Sentence) -> Verdict:
    """Whether one sentence says the same fact as the other; a yes must stand every doubt."""
    verdict = _laid_side_by_side(new, old)
    if isinstance(verdict, Different | Unsure):
        return verdict
    if titled := other_title(new.text, old.text):
        return titled
    reason = doubt(new, old, verdict, less=verdict == Restated(LESS))
    return Unsure(reason) if reason else verdict


def compared_if_near(new: Sentence, old: Sentence) -> Verdict:
    """The verdict; most sentences of two longer texts share too little to be worth asking."""
    ours, theirs = set(new.keys), set(old.keys)
    if 2 * len(ours & theirs) < min(len(ours), len(theirs)):
        return Unsure("too little in common")
    return compared(new, old)


def _laid_side_by_side(new: Sentence, old: Sentence) -> Verdict:
    """What their words alone say."""
    if max(len(new.words), len(old.words)) > WORDS_MAX or not (new.words and old.words):
        return Unsure("too long or too short to compare")
    if (new.past, new.event) != (old.past, old.event):
        return _when(new, old)
    if new.keys == old.keys:
        return Restated(SAME)
    if denied := _denied(new) - _denied(old):
        return _negated(new, old, denied)
    if reordered(new, old):
        return Restated("the same words in another order")
    verdict = _judged(new, old, _slots(new, old))
    both_deny = isinstance(verdict, Updated) and _denied(new)
    return Unsure("each denies something") if both_deny else verdict


def _when(new: Sentence, old: Sentence) -> Verdict:
    """One tells of now and the other of then: what was so once may be so no more, or again."""
    reason = _apart(new, old, _slots(new, old))
    return Different(reason) if reason else Unsure("one tells of what was")


def _slots(new: Sentence, old: Sentence) -> list[Slot]:
    """Where they part; which of them is new must not matter to that."""
    if new.keys < old.keys:
        return [Slot(slot.new, slot.old, slot.at_new, slot.at_old) for slot in _slots(old, new)]
    matcher = SequenceMatcher(None, old.keys, new.keys, autojunk=False)
    return [
        Slot(old.words[i:j], new.words[k:m], i, k)
        for what, i, j, k, m in matcher.get_opcodes()
        if what != "equal"
    ]


def _judged(new: Sentence, old: Sentence, slots: list[Slot]) -> Verdict:
    """From where the sentences part to a verdict; the first reason to say no wins."""
    replaced = [slot for slot in slots if slot.old and slot.new]
    lost = [slot for slot in slots if not slot.new]
    added = [slot for slot in slots if not slot.old]
    if reason := _apart(new, old, slots):
        return Different(reason)
    if reason := _unclear(new, old, added, lost):
        return Unsure(reason)
    if not replaced:
        return Extended("it says more") if added else Restated(LESS)
    if len(replaced) > 1 or lost or not _shared(new, slots):
        return Unsure("more than one thing changed, or too little of the statement is left")
    for slot in replaced:
        if not (is_newer(slot, new, old) or (len(replaced) == 1 and is_other(slot, new, old))):
            return Unsure(f"{_said(slot.old)!r} and {_said(slot.new)!r} may be two things")
    changes = ", ".join(f"{_said(slot.old)!r} became {_said(slot.new)!r}" for slot in replaced)
    return Updated(changes)


def _unclear(new: Sentence, old: Sentence, added: list[Slot], lost: list[Slot]) -> str:
    """Why nothing can be said of what only one of them has, or nothing."""
    if any(not _is_tail(slot.new, slot.at_new, new) for slot in added):
        return "words are added inside the statement"
    if any(not _is_tail(slot.old, slot.at_old, old) for slot in lost):
        return "words are missing inside the statement"
    return "both say something that the other does not" if added and lost else ""


def _shared(new: Sentence, slots: list[Slot]) -> int:
    """How many words that tell something the sentences share."""
    parted = {slot.at_new + n for slot in slots for n in range(len(slot.new))}
    return sum(
        word.kind not in ("preposition", "join")
        for at, word in enumerate(new.words)
        if at not in parted
    )


def _apart(new: Sentence, old: Sentence, slots: list[Slot]) -> str:
    """Why the sentences are about two things, or nothing."""
    for slot in slots:
        ours, theirs = _groups(slot.new), _groups(slot.old)
        if ours & theirs and not is_toggle(slot):
            return f"{_said(slot.old)!r} is not {_said(slot.new)!r}"
        if not (slot.old and slot.new):
            continue
        if _in_subject(slot, new, old):
            return f"about {_said(slot.old)!r}, not {_said(slot.new)!r}"
        ours, theirs = measures(slot.new), measures(slot.old)
        if ours and theirs and ours != theirs and "count" not in ours | theirs:
            return f"{_said(slot.old)!r} and {_said(slot.new)!r} measure two things"
    return ""


def _groups(words: Sequence[Word]) -> set[int]:
    return {group for word in words for group in _OPPOSITES.get(word.key, ())}


def _in_subject(slot: Slot, new: Sentence, old: Sentence) -> bool:
    """Whether the subject itself is another one."""
    before_old = old.predicate is not None and slot.at_old < old.predicate
    before_new = new.predicate is not None and slot.at_new < new.predicate
    first = slot.at_old == 0 and slot.at_new == 0
    return (before_old and before_new) or (first and (before_old or before_new))


def _is_tail(words: Sequence[Word], at: int, sentence: Sentence) -> bool:
    """Whether words stand at the end, set off, and take nothing back."""
    if at + len(words) < len(sentence.words) or not at:
        return False
    if any(word.said.casefold() in LIMITS or word.key in (NOT, *_PLACES) for word in words):
        return False
    return words[0].apart or words[0].kind in ("preposition", "join")


def _denied(sentence: Sentence) -> int:
    return sum(word.kind == "not" for word in sentence.words)


def _negated(new: Sentence, old: Sentence, denied: int) -> Verdict:
    """One sentence denies something: the other one, or something else?"""
    if abs(denied) > 1 or min(_denied(new), _denied(old)) > 0:
        return Unsure("more than one negation")
    ours, theirs = _affirmed(new), _affirmed(old)
    match _laid_side_by_side(ours, theirs):
        case Restated(reason) if reason == LESS and (denied < 0 or old.listed):
            verdict = Unsure("one is about a part of the other")
        case Restated():
            verdict = Updated("one denies the other")
        case Extended() if _reasoned(ours, theirs):
            verdict = Updated("one denies the other, with a reason")
        case Updated() | Extended():
            verdict = Different("one denies something else")
        case Unsure() if _other_object(ours, theirs):
            verdict = Different("one denies something else")
        case other:
            verdict = other
    return verdict


def _other_object(new: Sentence, old: Sentence) -> bool:
    """Whether all but one place is the same: "we use Redis", "we do not use Memcached"."""
    slots = _slots(new, old)
    return len(slots) == 1 and bool(slots[0].old and slots[0].new)


def _reasoned(new: Sentence, old: Sentence) -> bool:
    """Whether what the new one adds is only a reason."""
    after = new.words[len(old.words) :]
    return bool(after) and after[0].key in ("because", "since", "weil", "da", "so", "due")


def _affirmed(sentence: Sentence) -> Sentence:
    words = tuple(word for word in sentence.words if word.key != NOT)
    gone = [at for at, word in enumerate(sentence.words) if word.key == NOT]
    predicate = sentence.predicate
    if predicate is not None:
        predicate -= sum(at < predicate for at in gone)
    return replace(sentence, words=words, predicate=predicate)


def _said(words: Sequence[Word]) -> str:
    return " ".join(word.said for word in words)
