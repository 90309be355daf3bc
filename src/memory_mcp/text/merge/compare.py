"""Compares two sentences word by word: the same fact, its newer value, more, or another one.

The sentences are aligned, and where they differ decides. A figure in the predicate may be a newer
value, if there is one such value at a time: "we use Python 3.11" becomes 3.12, "we support Python
3.11" does not. A name in the subject is another subject. The same words in another order say the
same only if every role stays in place: "the API calls the worker" is not "the worker calls the
API". What the form cannot decide is `Unsure`: a wrong yes hides a memory, a wrong no keeps two.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.text.merge.doubts import compare_titles, find_doubt
from memory_mcp.text.merge.lexicon import lexicon, stem
from memory_mcp.text.merge.reading import NOT, Sentence, Word

_DEFINITE: Final = re.compile(
    r"(?:the|my|our|its|der|die|das|mein|meine|unser|unsere)\b|\w+['\u2019]s?\s", re.IGNORECASE
)
_DATE: Final = re.compile(r"(?:19|20)\d\d-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]|\d{1,2}-\d|\d+/\d")
_HOST: Final = re.compile(r"\d+(?:\.\d+){3}")
_PORT: Final = re.compile(r":\d+(?!\w)|(?<![^\W_])@?v?\d+(?:\.\d+)+(?![\w.])")
_ORDERS: Final = frozenset({"set", "put", "give", "pick", "choose", "configure", "bump", "lower"})
_RANGES: Final = frozenset({"to", "bis", "through", "until", "between", "from", "von"})
_ARE: Final = re.compile(r"\b(?:are|sind|were|waren)\b", re.IGNORECASE)
_INDEFINITE: Final = ("a", "an", "ein", "eine", "einem", "einer")
_SOME: Final = frozenset({"another", "other", "some", "one", "many", "most"})
_BOUNDS: Final = frozenset(("later", "newer", "above", "minimum", "least", "most", "latest"))
_NAME_WORDS_MAX: Final = 2
_ADJECTIVE: Final = re.compile(
    r".*(?:ed|able|ible|ing|ful|ous|ive|al|ic|less|y|en|ent|ant|bar|ig)$"
)
_WHEN: Final = frozenset({"day", "clock"})
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


class Slot(NamedTuple):
    """A place where two sentences part: the words of each, and where they stand."""

    old: Sequence[Word]
    new: Sequence[Word]
    at_old: int
    at_new: int


def measures(words: Sequence[Word]) -> set[str]:
    """What the values among the words measure."""
    return {word.measures for word in words if word.kind == "value"}


def is_newer(slot: Slot, new: Sentence, old: Sentence) -> bool:
    """Whether a figure or day took the place of another one, in the predicate of one thing."""
    if new.event or not (_is_value(slot) and _is_said_of_one(slot, old)):
        return False
    if is_subjectless(old) or _is_range(slot, old) or _is_other_unit(slot):
        return False
    if _is_listed(slot, old) or _is_other_host(slot):
        return False
    if measures(slot.new) & _WHEN:
        return _is_scheduled(slot, old)
    return not _is_label(slot, old) or _has_one(old)


def _is_value(slot: Slot) -> bool:
    """Whether values of the same dimension stand there, behind the same prepositions."""
    plain = all(word.kind in ("value", "preposition") for word in (*slot.old, *slot.new))
    alike = measures(slot.old) == measures(slot.new) != set()
    return plain and alike and _prepositions(slot.old) == _prepositions(slot.new)


def _is_said_of_one(slot: Slot, old: Sentence) -> bool:
    """Whether the value is said of a subject that is one, and is not itself a name."""
    if old.predicate is None or not 0 < slot.at_old >= old.predicate:
        return False
    named = _is_told_of(slot, old) or old.words[slot.at_old - 1].key in lexicon().references
    return _is_single(old) and not named


def _is_told_of(slot: Slot, old: Sentence) -> bool:
    """Whether a verb follows: "build 411 takes 3 minutes" is about build 411."""
    for word in old.words[slot.at_old + len(slot.old) :]:
        if word.kind == "verb" or word.copula:
            return True
        if word.apart or word.kind == "join":
            return False
    return False


def _is_scheduled(slot: Slot, old: Sentence) -> bool:
    """Whether a day or hour is the one of a thing, and not one of several, nor a condition."""
    if old.past and not any(word.key == stem("planned") for word in old.words):
        return False
    others = [word for word in old.words if word.kind == "value" and word not in slot.old]
    if any(word.measures not in _WHEN for word in others):
        return False
    if any({word.key, word.said.casefold()} & lexicon().recurring for word in old.words):
        return False
    dated = all(_DATE.match(word.key) for word in slot.old if word.kind == "value")
    if not (dated or _DEFINITE.match(old.text.strip())):
        return False
    if all(_YEAR.fullmatch(word.key) for word in slot.old):  # as likely a figure
        return old.copulas > 0
    return any(
        word.key in lexicon().scheduled or word.key in lexicon().one_day for word in old.words
    )


def is_subjectless(sentence: Sentence) -> bool:
    """Whether nobody is named of whom it holds: "Use port 80", "Meet Anna at 10:00"."""
    if sentence.spoken_by_us:
        return False
    if sentence.predicate in (None, 0):
        return True
    first = sentence.words[0]
    ordered = first.kind == "verb" or first.said.casefold() in _ORDERS
    return ordered and not (first.article or sentence.copulas or first.said.endswith("s"))


def _is_range(slot: Slot, old: Sentence) -> bool:
    """Whether a value is one end of a range: opening hours may have two of them."""
    before, after = old.words[: slot.at_old], old.words[slot.at_old + len(slot.old) :]
    several = sum(word.kind == "value" for word in slot.old) > 1
    begins = len(after) > 1 and after[0].key in _RANGES and after[1].kind == "value"
    ends = len(before) > 1 and before[-1].key in _RANGES and before[-2].kind == "value"
    return several or begins or ends


def _is_other_unit(slot: Slot) -> bool:
    """Whether the unit alone differs, or the money."""
    for one, other in zip(slot.old, slot.new, strict=False):
        (number, _, unit), (now, _, other_unit) = one.key.partition(" "), other.key.partition(" ")
        if unit != other_unit and (number == now or one.measures == "money"):
            return True
    return False


def _is_listed(slot: Slot, old: Sentence) -> bool:
    """Whether several stand side by side: "DNS servers are 1.1.1.1", what CI runs on."""
    subject = old.words[: old.predicate]
    said = slot.old[0]
    many = said.copula and bool(_ARE.search(old.text))
    runs = any(word.key == "run" for word in old.words)
    return many or (runs and any(word.key in lexicon().matrices for word in subject))


def _is_other_host(slot: Slot) -> bool:
    """Whether an address became another one, and not another port of it."""
    hosts = [[_HOST.match(word.said) for word in side] for side in (slot.old, slot.new)]
    found = [[each.group() for each in side if each] for side in hosts]
    return found[0] != found[1]


def _is_other_thing(word: Word, other: Word) -> bool:
    """Whether paths, hosts or identifiers differ in more than a port or a version."""
    if word.said.isalpha() and other.said.isalpha():
        return False
    return _PORT.sub("", word.key) != _PORT.sub("", other.key)


def _is_label(slot: Slot, old: Sentence) -> bool:
    """Whether a figure names the thing before it: "port 22", "Django 4", not "4 nodes"."""
    if measures(slot.old) != {"count"}:
        return False
    before, after = old.words[slot.at_old - 1], old.words[slot.at_old + len(slot.old) :]
    if before.kind == "verb" and not (after or slot.old[0].copula):  # "returns 200"
        return True
    counted = bool(after) and after[0].kind in ("word", "name") and not after[0].apart
    return before.kind in ("word", "name", "identifier") and not (counted or slot.old[0].copula)


def _has_one(old: Sentence) -> bool:
    """Whether there is one at a time: what is used, what is least, "and later"."""
    return old.copulas > 0 or any(
        word.key in lexicon().labelled or word.key in _BOUNDS for word in old.words
    )


def _prepositions(words: Sequence[Word]) -> list[str]:
    return [word.key for word in words if word.kind == "preposition"]


def is_other(slot: Slot, new: Sentence, old: Sentence) -> bool:
    """Whether a word took the place of another one where there can be only one at a time."""
    if is_toggle(slot):
        return True
    words, before = (*slot.old, *slot.new), old.words[: slot.at_old]
    if not before or max(len(slot.old), len(slot.new)) > _NAME_WORDS_MAX:
        return False
    if new.past or new.event or not _is_single(old):
        return False
    if len(slot.old) == len(slot.new) and any(map(_is_other_thing, slot.old, slot.new)):
        return False
    named = all(word.kind in ("name", "identifier") for word in words)
    if named and _is_functional(before):
        return True
    plain = not any(_ADJECTIVE.match(word.said) for word in words)
    role = before[-1].said.casefold() in lexicon().roles
    return _is_all_that_is_said(slot, old) and (
        (named and role) or (_is_ranked(before) and (named or plain))
    )


def _is_all_that_is_said(slot: Slot, old: Sentence) -> bool:
    """Whether the sentence is "… is this": the default branch is main."""
    whole = old.copulas == 1 and slot.at_old + len(slot.old) == len(old.words)
    ends = (slot.old[0], slot.new[0])
    return whole and all(word.copula and not word.article for word in ends)


def _is_functional(before: Sequence[Word]) -> bool:
    """Whether of whom this is said it is said of one at a time: lives in, is married to."""
    keys = tuple(word.key for word in before)
    if any(keys[-len(form) :] == form for form in lexicon().functional):
        return True
    return any(
        keys[-len(form) :] == form and before[-len(form)].copula
        for form in lexicon().functional_if_is
    )


def _is_single(sentence: Sentence) -> bool:
    """Whether the subject is one and known: "the owner", not "one owner" or "an owner"."""
    subject = sentence.words[: sentence.predicate]
    return not subject or (
        subject[0].kind != "value"
        and not any(word.article in _INDEFINITE or word.key in _SOME for word in subject)
    )


def _is_ranked(before: Sequence[Word]) -> bool:
    return any(word.key in lexicon().ranked for word in before)


def is_toggle(slot: Slot) -> bool:
    """Enabled and disabled, said of the same."""
    if len(slot.old) != 1 or len(slot.new) != 1:
        return False
    ours = lexicon().toggles.get(slot.new[0].key, frozenset())
    return slot.new[0].copula and bool(ours & lexicon().toggles.get(slot.old[0].key, frozenset()))


Phrase = tuple[str, ...]


def is_reordered(new: Sentence, old: Sentence) -> bool:
    """Whether the same words stand in another order that says the same."""
    if sorted(new.keys) != sorted(old.keys) or new.copulas > 1 or old.copulas > 1:
        return False
    ours, theirs = _split_phrases(new.words), _split_phrases(old.words)
    if _inverted(new, old):
        return True
    if new.copulas + min(new.verbs, 1) > 1 or old.copulas + min(old.verbs, 1) > 1:
        return _passive(new, old)
    return _one_moved(ours, theirs) or _listed(ours, theirs, new) or _passive(new, old)


def _split_phrases(words: Sequence[Word]) -> list[Phrase]:
    """The words in groups that move together."""
    starters = lexicon().starters | {"@i"}
    found: list[list[str]] = []
    verb = False
    for word in words:
        starts = word.apart or word.kind in ("preposition", "verb") or word.key in starters
        if not found or starts or (verb and word.kind != "verb"):
            found.append([])
        found[-1].append(word.key)
        verb = word.kind == "verb"
    return [tuple(each) for each in found]


def _inverted(new: Sentence, old: Sentence) -> bool:
    """PostgreSQL 16 is the database, the database is PostgreSQL 16."""
    if new.copulas != 1 or old.copulas != 1 or new.verbs or old.verbs:
        return False
    keys, at, other = new.keys, new.predicate or 0, old.predicate or 0
    if any(word.kind == "preposition" for word in new.words):
        return False
    return keys[at:] == old.keys[:other] and keys[:at] == old.keys[other:] and at > 0


def _one_moved(ours: list[Phrase], theirs: list[Phrase]) -> bool:
    """One phrase that begins with a preposition (or "every") moved to the front, or from it."""
    if sorted(ours) != sorted(theirs):
        return False
    for phrase in {each for each in ours if each[0] in lexicon().starters}:
        if [each for each in ours if each != phrase] == [each for each in theirs if each != phrase]:
            return phrase in (ours[0], theirs[0])
    return False


def _listed(ours: list[Phrase], theirs: list[Phrase], new: Sentence) -> bool:
    """The items of a list in another order, where order says nothing."""
    if not new.listed or sorted(ours) != sorted(theirs):
        return False
    places = [at for at, one in enumerate(ours) if one != theirs[at]]
    if places[-1] - places[0] >= len(places):
        return False
    moved = [ours[at] for at in places]
    verbs = {word.key for word in new.words if word.kind == "verb"}
    keys = {key for each in ours for key in each}
    return not (
        keys & lexicon().ordered
        or {key for each in moved for key in each} & (lexicon().starters | verbs)
    )


def _passive(new: Sentence, old: Sentence) -> bool:
    """We run the tests with pytest, the tests are run with pytest."""
    if new.spoken_by_us == old.spoken_by_us:
        return False
    active, passive = (new, old) if new.spoken_by_us else (old, new)
    if passive.copulas != 1 or active.copulas:
        return False
    ours, theirs = _split_phrases(active.words), _split_phrases(passive.words)
    after = [each for each in ours if each[0] in lexicon().starters]
    return after == [each for each in theirs if each[0] in lexicon().starters]


SAME: Final = "the same words"
LESS: Final = "it says less"
"""Why something is restated that the old sentence says more fully."""

WORDS_MAX: Final = 120
"""A longer sentence is none: a list, a log, a table."""


def compare_sentences(new: Sentence, old: Sentence) -> Verdict:
    """Whether one sentence says the same fact as the other; a yes must stand every doubt."""
    verdict = _align(new, old)
    if isinstance(verdict, Different | Unsure):
        return verdict
    if titled := compare_titles(new.text, old.text):
        return titled
    reason = find_doubt(new, old, verdict, less=verdict == Restated(LESS))
    return Unsure(reason) if reason else verdict


def compare_if_near(new: Sentence, old: Sentence) -> Verdict:
    """The verdict; most sentences of two longer texts share too little to be worth asking."""
    ours, theirs = set(new.keys), set(old.keys)
    if 2 * len(ours & theirs) < min(len(ours), len(theirs)):
        return Unsure("too little in common")
    return compare_sentences(new, old)


def _align(new: Sentence, old: Sentence) -> Verdict:
    """What their words alone say."""
    if max(len(new.words), len(old.words)) > WORDS_MAX or not (new.words and old.words):
        return Unsure("too long or too short to compare")
    if (new.past, new.event) != (old.past, old.event):
        return _compare_times(new, old)
    if new.keys == old.keys:
        return Restated(SAME)
    if denied := _count_negations(new) - _count_negations(old):
        return _compare_negated(new, old, denied)
    if is_reordered(new, old):
        return Restated("the same words in another order")
    verdict = _judge_slots(new, old, _find_slots(new, old))
    both_deny = isinstance(verdict, Updated) and _count_negations(new)
    return Unsure("each denies something") if both_deny else verdict


def _compare_times(new: Sentence, old: Sentence) -> Verdict:
    """One tells of now and the other of then: what was so once may be so no more, or again."""
    reason = _find_difference(new, old, _find_slots(new, old))
    return Different(reason) if reason else Unsure("one tells of what was")


def _find_slots(new: Sentence, old: Sentence) -> list[Slot]:
    """Where they part; which of them is new must not matter to that."""
    if new.keys < old.keys:
        return [
            Slot(slot.new, slot.old, slot.at_new, slot.at_old) for slot in _find_slots(old, new)
        ]
    matcher = SequenceMatcher(None, old.keys, new.keys, autojunk=False)
    return [
        Slot(old.words[i:j], new.words[k:m], i, k)
        for what, i, j, k, m in matcher.get_opcodes()
        if what != "equal"
    ]


def _judge_slots(new: Sentence, old: Sentence, slots: list[Slot]) -> Verdict:
    """From where the sentences part to a verdict; the first reason to say no wins."""
    replaced = [slot for slot in slots if slot.old and slot.new]
    lost = [slot for slot in slots if not slot.new]
    added = [slot for slot in slots if not slot.old]
    if reason := _find_difference(new, old, slots):
        return Different(reason)
    if reason := _find_unclear(new, old, added, lost):
        return Unsure(reason)
    if not replaced:
        return Extended("it says more") if added else Restated(LESS)
    if len(replaced) > 1 or lost or not _count_shared(new, slots):
        return Unsure("more than one thing changed, or too little of the statement is left")
    for slot in replaced:
        if not (is_newer(slot, new, old) or (len(replaced) == 1 and is_other(slot, new, old))):
            return Unsure(
                f"{_join_words(slot.old)!r} and {_join_words(slot.new)!r} may be two things"
            )
    changes = ", ".join(
        f"{_join_words(slot.old)!r} became {_join_words(slot.new)!r}" for slot in replaced
    )
    return Updated(changes)


def _find_unclear(new: Sentence, old: Sentence, added: list[Slot], lost: list[Slot]) -> str:
    """Why nothing can be said of what only one of them has, or nothing."""
    if any(not _is_tail(slot.new, slot.at_new, new) for slot in added):
        return "words are added inside the statement"
    if any(not _is_tail(slot.old, slot.at_old, old) for slot in lost):
        return "words are missing inside the statement"
    return "both say something that the other does not" if added and lost else ""


def _count_shared(new: Sentence, slots: list[Slot]) -> int:
    """How many words that tell something the sentences share."""
    parted = {slot.at_new + n for slot in slots for n in range(len(slot.new))}
    return sum(
        word.kind not in ("preposition", "join")
        for at, word in enumerate(new.words)
        if at not in parted
    )


def _find_difference(new: Sentence, old: Sentence, slots: list[Slot]) -> str:
    """Why the sentences are about two things, or nothing."""
    for slot in slots:
        ours, theirs = _groups(slot.new), _groups(slot.old)
        if ours & theirs and not is_toggle(slot):
            return f"{_join_words(slot.old)!r} is not {_join_words(slot.new)!r}"
        if not (slot.old and slot.new):
            continue
        if _in_subject(slot, new, old):
            return f"about {_join_words(slot.old)!r}, not {_join_words(slot.new)!r}"
        ours, theirs = measures(slot.new), measures(slot.old)
        if ours and theirs and ours != theirs and "count" not in ours | theirs:
            return f"{_join_words(slot.old)!r} and {_join_words(slot.new)!r} measure two things"
    return ""


def _groups(words: Sequence[Word]) -> set[int]:
    return {group for word in words for group in lexicon().opposites.get(word.key, ())}


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
    if any(
        word.said.casefold() in lexicon().limits or word.key in (NOT, *lexicon().places)
        for word in words
    ):
        return False
    return words[0].apart or words[0].kind in ("preposition", "join")


def _count_negations(sentence: Sentence) -> int:
    return sum(word.kind == "not" for word in sentence.words)


def _compare_negated(new: Sentence, old: Sentence, denied: int) -> Verdict:
    """One sentence denies something: the other one, or something else?"""
    if abs(denied) > 1 or min(_count_negations(new), _count_negations(old)) > 0:
        return Unsure("more than one negation")
    ours, theirs = _drop_negations(new), _drop_negations(old)
    match _align(ours, theirs):
        case Restated(reason) if reason == LESS and (denied < 0 or old.listed):
            verdict = Unsure("one is about a part of the other")
        case Restated():
            verdict = Updated("one denies the other")
        case Extended() if _adds_reason(ours, theirs):
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
    slots = _find_slots(new, old)
    return len(slots) == 1 and bool(slots[0].old and slots[0].new)


def _adds_reason(new: Sentence, old: Sentence) -> bool:
    """Whether what the new one adds is only a reason."""
    after = new.words[len(old.words) :]
    return bool(after) and after[0].key in ("because", "since", "weil", "da", "so", "due")


def _drop_negations(sentence: Sentence) -> Sentence:
    words = tuple(word for word in sentence.words if word.key != NOT)
    gone = [at for at, word in enumerate(sentence.words) if word.key == NOT]
    predicate = sentence.predicate
    if predicate is not None:
        predicate -= sum(at < predicate for at in gone)
    return replace(sentence, words=words, predicate=predicate)


def _join_words(words: Sequence[Word]) -> str:
    return " ".join(word.said for word in words)
