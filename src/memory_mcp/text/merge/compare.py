"""Compares two sentences word by word: a restatement, an update, an addition, or another fact.

The sentences are aligned, and the edits between them decide. A figure in the predicate may be a
newer value if there is one such value at a time: "we use Python 3.11" becomes 3.12, "we support
Python 3.11" does not. A name in the subject is another subject. The same words in another order
are a restatement only if every role stays in place: "the API calls the worker" is not "the worker
calls the API". What the form cannot decide is `Unsure`: a wrong yes hides a memory, a wrong no
keeps two.
"""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.amounts import say_same
from memory_mcp.text.merge.reading import (
    NOT,
    Sentence,
    Word,
    opposites,
    phrases,
    places,
    stem,
    toggles,
    words,
)
from memory_mcp.text.merge.vetoes import compare_titles, find_veto
from memory_mcp.text.tables import load_pattern

SAME: Final = "the same words"
LESS: Final = "it says less"
"""The reason of a restatement that leaves something out of the old sentence."""

_NARROWED: Final = "one holds only there, then or for some"

_WORDS_MAX: Final = 120
"""A longer sentence is a list, a log or a table."""
_NAME_WORDS_MAX: Final = 2
_DATE: Final = compile_later(r"(?:19|20)\d\d-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]|\d{1,2}-\d|\d+/\d")
_YEAR: Final = compile_later(r"(?:19|20)\d\d")
_HOST: Final = compile_later(r"\d+(?:\.\d+){3}")
_PORT: Final = compile_later(r":\d+(?!\w)|(?<![^\W_])@?v?\d+(?:\.\d+)+(?![\w.])")
_ADJECTIVE: Final = compile_later(
    r".*(?:ed|able|ible|ing|ful|ous|ive|al|ic|less|y|en|ent|ant|bar|ig)$"
)
_TIMES: Final = frozenset({"day", "clock"})


class WordEdit(NamedTuple):
    """A place where two sentences differ: the words of each, and where they stand."""

    old: Sequence[Word]
    new: Sequence[Word]
    old_at: int
    new_at: int

    @property
    def old_end(self) -> int:
        """The place behind the old words."""
        return self.old_at + len(self.old)


def compare_sentences(new: Sentence, old: Sentence) -> Verdict:
    """Whether one sentence states the same fact as the other, unless a veto speaks against it."""
    verdict = _compare_words(new, old)
    if isinstance(verdict, Different | Unsure):
        return verdict
    if titled := compare_titles(new.text, old.text):
        return titled
    reason = find_veto(new, old, verdict, less=verdict == Restated(LESS))
    return Unsure(reason) if reason else verdict


def compare_if_near(new: Sentence, old: Sentence) -> Verdict:
    """The verdict, without a look at sentences that share less than half of their words."""
    new_keys, old_keys = set(new.keys), set(old.keys)
    if 2 * len(new_keys & old_keys) < min(len(new_keys), len(old_keys)):
        return Unsure("too little in common")
    return compare_sentences(new, old)


def _compare_words(new: Sentence, old: Sentence) -> Verdict:
    """The verdict by the words alone."""
    if max(len(new.words), len(old.words)) > _WORDS_MAX or not (new.words and old.words):
        return Unsure("too long or too short to compare")
    if (new.past, new.event) != (old.past, old.event):
        # what was so once may be so no more, or again
        reason = _find_distinction(new, old, _find_edits(new, old))
        return Different(reason) if reason else Unsure("one tells of what was")
    if new.keys == old.keys or say_same(new.words, old.words):
        return Restated(SAME)
    if negations := _count_negations(new) - _count_negations(old):
        return _compare_negated(new, old, negations)
    if _is_reordered(new, old):
        return Restated("the same words in another order")
    verdict = _judge_edits(new, old, _find_edits(new, old))
    both_deny = isinstance(verdict, Updated) and _count_negations(new)
    return Unsure("each denies something") if both_deny else verdict


def _find_edits(new: Sentence, old: Sentence) -> list[WordEdit]:
    """The edits between two sentences, the same whichever of them is new."""
    if new.keys < old.keys:
        return [WordEdit(e.new, e.old, e.new_at, e.old_at) for e in _find_edits(old, new)]
    matcher = SequenceMatcher(None, old.keys, new.keys, autojunk=False)
    return [
        WordEdit(old.words[i:j], new.words[k:m], i, k)
        for operation, i, j, k, m in matcher.get_opcodes()
        if operation != "equal"
    ]


def _judge_edits(new: Sentence, old: Sentence, edits: list[WordEdit]) -> Verdict:
    """The verdict by the edits; the first reason to say no wins."""
    replaced = [edit for edit in edits if edit.old and edit.new]
    removed = [edit for edit in edits if not edit.new]
    added = [edit for edit in edits if not edit.old]
    if reason := _find_distinction(new, old, edits):
        return Different(reason)
    if reason := _find_unclear_edit(new, old, added, removed):
        return Unsure(reason)
    if not replaced:
        return Extended("it says more") if added else Restated(LESS)
    if len(replaced) > 1 or removed or not _shares_content(new, edits):
        return Unsure("more than one thing changed, or too little of the statement is left")
    (edit,) = replaced
    before, after = _join_words(edit.old), _join_words(edit.new)
    if _is_newer_value(edit, new, old) or _is_newer_name(edit, new, old):
        return Updated(f"{before!r} became {after!r}")
    return Unsure(f"{before!r} and {after!r} may be two things")


def _find_unclear_edit(
    new: Sentence, old: Sentence, added: list[WordEdit], removed: list[WordEdit]
) -> str:
    """Why nothing can be said of words that only one of them has, or ""."""
    if any(not _is_tail(edit.new, edit.new_at, new) for edit in added):
        return "words are added inside the statement"
    if any(not _is_tail(edit.old, edit.old_at, old) for edit in removed):
        return "words are missing inside the statement"
    if any(_narrows(edit.new, new) for edit in added) or any(
        _narrows(edit.old, old) for edit in removed
    ):
        return _NARROWED
    return "both say something that the other does not" if added and removed else ""


def _shares_content(new: Sentence, edits: list[WordEdit]) -> bool:
    """Whether the sentences share more than little words."""
    edited = {edit.new_at + n for edit in edits for n in range(len(edit.new))}
    return any(
        word.kind not in ("preposition", "join") and at not in edited
        for at, word in enumerate(new.words)
    )


def _find_distinction(new: Sentence, old: Sentence, edits: list[WordEdit]) -> str:
    """Why the sentences are about two things, or ""."""
    for edit in edits:
        before, after = _join_words(edit.old), _join_words(edit.new)
        if _groups(edit.new) & _groups(edit.old) and not _is_toggle(edit):
            return f"{before!r} is not {after!r}"
        if not (edit.old and edit.new):
            continue
        if _is_in_subject(edit, new, old):
            return f"about {before!r}, not {after!r}"
        ours, theirs = _dimensions(edit.new), _dimensions(edit.old)
        if ours and theirs and ours != theirs and "count" not in ours | theirs:
            return f"{before!r} and {after!r} measure two things"
    return ""


def _groups(found: Sequence[Word]) -> set[int]:
    return {group for word in found for group in opposites().get(word.key, ())}


def _dimensions(found: Sequence[Word]) -> set[str]:
    return {word.dimension for word in found if word.kind == "value"}


def _is_in_subject(edit: WordEdit, new: Sentence, old: Sentence) -> bool:
    """Whether the subject itself is another one."""
    in_old = old.predicate is not None and edit.old_at < old.predicate
    in_new = new.predicate is not None and edit.new_at < new.predicate
    first = edit.old_at == 0 and edit.new_at == 0
    return (in_old and in_new) or (first and (in_old or in_new))


def _is_tail(found: Sequence[Word], at: int, sentence: Sentence) -> bool:
    """Whether words stand at the end, set off, and take nothing back."""
    if at + len(found) < len(sentence.words) or not at:
        return False
    if any(
        word.text.casefold() in words("limits") or word.key == NOT or word.key in places()
        for word in found
    ):
        return False
    return found[0].set_off or found[0].kind in ("preposition", "join")


def _narrows(tail: Sequence[Word], sentence: Sentence) -> bool:
    """Whether words at the end say where, when or for whom a statement holds.

    "Uploads are limited to 5 MB on the free plan" stands beside what holds for all. How, to what or
    by whom something is done limits nothing: "resized to 800 pixels", "built with Bazel". Nor does
    what is said of somebody's life, behind a verb of its own, or as a reason or an example.
    """
    if _tells_of_life(sentence):
        return False
    for at, word in enumerate(tail):
        if word.after_copula or word.key in words("reasons") | words("examples"):
            return False
        if word.kind == "verb":
            return word.key in words("holding")
        if word.kind == "preposition" and not _adds_detail(tail[at:], sentence):
            return True
    return False


def _tells_of_life(sentence: Sentence) -> bool:
    """Whether it says what one person does: there is one such fact, however much is said of it."""
    if len(sentence.words) < 2:  # noqa: PLR2004  # who does what
        return False
    who, does = sentence.words[:2]
    one = who.key == "@i" or does.after_copula or does.text.endswith(("s", "t"))
    return does.key in words("lived") and one and not who.article


def _adds_detail(phrase: Sequence[Word], sentence: Sentence) -> bool:
    """Whether the phrase that begins here limits nothing."""
    if len(phrase) == 1:
        return True
    first, after = phrase[:2]
    match first.key:
        case "by":
            adds = sentence.copulas > 0
        case "for":
            adds = after.kind == "word" and after.text.endswith(("ing", "ation"))
        case "as" | "als":
            adds = after.kind != "preposition" and after.article not in words("indefinite")
        case "to" if "prefer" in sentence.keys:
            adds = True
        case "with" | "mit" if first.set_off and _dimensions(phrase):
            adds = True
        case key:
            figure = after.kind in ("value", "identifier")
            named = after.kind == "name" and key in words("means")
            adds = named or (figure and key in words("means") | words("measures"))
    joined = any(f" {join} {first.text} " in sentence.text for join in words("ands"))
    return adds or joined or after.text.casefold() in words("whole")


def _is_newer_value(edit: WordEdit, new: Sentence, old: Sentence) -> bool:
    """Whether a figure or day took the place of another one, in the predicate of one thing."""
    if new.event or not (_replaces_values(edit) and _is_value_of_one_thing(edit, old)):
        return False
    if _has_no_subject(old) or _is_range(edit, old) or _is_other_unit(edit):
        return False
    if _is_one_of_several(edit, old) or _is_other_host(edit):
        return False
    if _dimensions(edit.new) & _TIMES:
        return _is_one_appointment(edit, old)
    return not _is_label(edit, old) or _has_one_at_a_time(old)


def _replaces_values(edit: WordEdit) -> bool:
    """Whether values of one dimension replace each other, behind the same prepositions."""
    both = (*edit.old, *edit.new)
    if any(word.kind not in ("value", "preposition") for word in both):
        return False
    before, after = (
        [word.key for word in side if word.kind == "preposition"] for side in (edit.old, edit.new)
    )
    return _dimensions(edit.old) == _dimensions(edit.new) != set() and before == after


def _is_value_of_one_thing(edit: WordEdit, old: Sentence) -> bool:
    """Whether the value is in the predicate of one subject, and is not itself a name."""
    if old.predicate is None or not 0 < edit.old_at >= old.predicate:
        return False
    named = _precedes_verb(edit, old) or old.words[edit.old_at - 1].key in words("references")
    return _has_one_subject(old) and not named


def _precedes_verb(edit: WordEdit, old: Sentence) -> bool:
    """Whether a verb follows: "build 411 takes 3 minutes" is about build 411."""
    for word in old.words[edit.old_end :]:
        if word.kind == "verb" or word.after_copula:
            return True
        if word.set_off or word.kind == "join":
            return False
    return False


def _is_one_appointment(edit: WordEdit, old: Sentence) -> bool:
    """Whether a day or hour is the only one of a thing, and no condition."""
    if old.past and not any(word.key == stem("planned") for word in old.words):
        return False
    others = [word for word in old.words if word.kind == "value" and word not in edit.old]
    if any(word.dimension not in _TIMES for word in others):
        return False
    if any({word.key, word.text.casefold()} & words("recurring") for word in old.words):
        return False
    dated = all(_DATE.match(word.key) for word in edit.old if word.kind == "value")
    if not (dated or load_pattern("merge", "definite").match(old.text.strip())):
        return False
    if all(_YEAR.fullmatch(word.key) for word in edit.old):  # as likely a figure
        return old.copulas > 0
    return any(word.key in words("scheduled") or word.key in words("one_day") for word in old.words)


def _has_no_subject(sentence: Sentence) -> bool:
    """Whether nobody is named of whom it holds: "Use port 80", "Meet Anna at 10:00"."""
    if sentence.by_us:
        return False
    if sentence.predicate in (None, 0):
        return True
    first = sentence.words[0]
    orders = first.kind == "verb" or first.text.casefold() in words("orders")
    return orders and not (first.article or sentence.copulas or first.text.endswith("s"))


def _is_range(edit: WordEdit, old: Sentence) -> bool:
    """Whether a value is one end of a range: opening hours may have two of them."""
    before, after = old.words[: edit.old_at], old.words[edit.old_end :]
    several = sum(word.kind == "value" for word in edit.old) > 1
    begins = len(after) > 1 and after[0].key in words("ranges") and after[1].kind == "value"
    ends = len(before) > 1 and before[-1].key in words("ranges") and before[-2].kind == "value"
    return several or begins or ends


def _is_other_unit(edit: WordEdit) -> bool:
    """Whether the unit alone differs, or the currency."""
    for one, other in zip(edit.old, edit.new, strict=False):
        (number, _, unit), (now, _, other_unit) = one.key.partition(" "), other.key.partition(" ")
        if unit != other_unit and (number == now or one.dimension == "money"):
            return True
    return False


def _is_one_of_several(edit: WordEdit, old: Sentence) -> bool:
    """Whether there are several: "DNS servers are 1.1.1.1", what CI runs on."""
    if edit.old[0].after_copula and load_pattern("merge", "are").search(old.text):
        return True
    runs = any(word.key == "run" for word in old.words)
    return runs and any(word.key in words("matrices") for word in old.words[: old.predicate])


def _is_other_host(edit: WordEdit) -> bool:
    """Whether an address became another one, and not another port of it."""
    before, after = (
        [host.group() for word in side if (host := _HOST.match(word.text))]
        for side in (edit.old, edit.new)
    )
    return before != after


def _is_label(edit: WordEdit, old: Sentence) -> bool:
    """Whether a figure names the thing before it: "port 22", "Django 4", not "4 nodes"."""
    if _dimensions(edit.old) != {"count"}:
        return False
    before, after = old.words[edit.old_at - 1], old.words[edit.old_end :]
    after_copula = edit.old[0].after_copula
    if before.kind == "verb" and not (after or after_copula):  # "returns 200"
        return True
    counts = bool(after) and after[0].kind in ("word", "name") and not after[0].set_off
    return before.kind in ("word", "name", "identifier") and not (counts or after_copula)


def _has_one_at_a_time(old: Sentence) -> bool:
    """Whether there is one at a time: what is used, what is least, "and later"."""
    return old.copulas > 0 or any(
        word.key in words("labelled") or word.key in words("bounds") for word in old.words
    )


def _is_newer_name(edit: WordEdit, new: Sentence, old: Sentence) -> bool:
    """Whether a word took the place of another one where there can be only one at a time."""
    if _is_toggle(edit):
        return True
    both, before = (*edit.old, *edit.new), old.words[: edit.old_at]
    if not before or max(len(edit.old), len(edit.new)) > _NAME_WORDS_MAX:
        return False
    if new.past or new.event or not _has_one_subject(old):
        return False
    if len(edit.old) == len(edit.new) and any(map(_is_other_thing, edit.old, edit.new)):
        return False
    named = all(word.kind in ("name", "identifier") for word in both)
    if named and _is_exclusive(before):
        return True
    plain = not any(_ADJECTIVE.match(word.text) for word in both)
    role = before[-1].text.casefold() in words("roles")
    ranked = any(word.key in words("ranked") for word in before)
    return _is_whole_predicate(edit, old) and ((named and role) or (ranked and (named or plain)))


def _is_toggle(edit: WordEdit) -> bool:
    """Whether one of two states became the other: enabled and disabled."""
    if len(edit.old) != 1 or len(edit.new) != 1:
        return False
    ours = toggles().get(edit.new[0].key, frozenset[int]())
    return edit.new[0].after_copula and bool(ours & toggles().get(edit.old[0].key, frozenset()))


def _is_other_thing(word: Word, other: Word) -> bool:
    """Whether paths, hosts or identifiers differ in more than a port or a version."""
    if word.text.isalpha() and other.text.isalpha():
        return False
    return _PORT.sub("", word.key) != _PORT.sub("", other.key)


def _is_whole_predicate(edit: WordEdit, old: Sentence) -> bool:
    """Whether the sentence is "… is this": the default branch is main."""
    whole = old.copulas == 1 and edit.old_end == len(old.words)
    firsts = (edit.old[0], edit.new[0])
    return whole and all(word.after_copula and not word.article for word in firsts)


def _is_exclusive(before: Sequence[Word]) -> bool:
    """Whether what follows is one at a time: lives in, is married to."""
    keys = tuple(word.key for word in before)
    if any(keys[-len(phrase) :] == phrase for phrase in phrases("functional")):
        return True
    return any(
        keys[-len(phrase) :] == phrase and before[-len(phrase)].after_copula
        for phrase in phrases("functional_if_is")
    )


def _has_one_subject(sentence: Sentence) -> bool:
    """Whether the subject is one and known: "the owner", not "one owner" or "an owner"."""
    subject = sentence.words[: sentence.predicate]
    return not subject or (
        subject[0].kind != "value"
        and not any(
            word.article in words("indefinite") or word.key in words("unspecific")
            for word in subject
        )
    )


_Phrase = tuple[str, ...]
"""The keys of words that move together."""


def _is_reordered(new: Sentence, old: Sentence) -> bool:
    """Whether the same words stand in another order that says the same."""
    if sorted(new.keys) != sorted(old.keys) or new.copulas > 1 or old.copulas > 1:
        return False
    if _is_inverted(new, old):
        return True
    if new.copulas + min(new.verbs, 1) > 1 or old.copulas + min(old.verbs, 1) > 1:
        return _is_passive(new, old)
    ours, theirs = _split_phrases(new.words), _split_phrases(old.words)
    return (
        _moves_one_phrase(ours, theirs)
        or _reorders_list(ours, theirs, new)
        or _is_passive(new, old)
    )


@cache
def _starters() -> frozenset[str]:
    """What begins a phrase that may stand elsewhere in its sentence."""
    return words("starters") | words("prepositions")


def _split_phrases(found: Sequence[Word]) -> list[_Phrase]:
    groups: list[list[str]] = []
    verb = False
    for word in found:
        starts = word.set_off or word.kind in ("preposition", "verb")
        starts = starts or word.key in _starters() or word.key == "@i"
        if not groups or starts or (verb and word.kind != "verb"):
            groups.append([])
        groups[-1].append(word.key)
        verb = word.kind == "verb"
    return [tuple(each) for each in groups]


def _is_inverted(new: Sentence, old: Sentence) -> bool:
    """Whether subject and predicate change places: PostgreSQL 16 is the database."""
    if new.copulas != 1 or old.copulas != 1 or new.verbs or old.verbs:
        return False
    keys, at, other = new.keys, new.predicate or 0, old.predicate or 0
    if any(word.kind == "preposition" for word in new.words):
        return False
    return keys[at:] == old.keys[:other] and keys[:at] == old.keys[other:] and at > 0


def _moves_one_phrase(ours: list[_Phrase], theirs: list[_Phrase]) -> bool:
    """Whether one phrase behind a preposition (or "every") moved to the front, or from it."""
    if sorted(ours) != sorted(theirs):
        return False
    for phrase in {each for each in ours if each[0] in _starters()}:
        if [each for each in ours if each != phrase] == [each for each in theirs if each != phrase]:
            return phrase in (ours[0], theirs[0])
    return False


def _reorders_list(ours: list[_Phrase], theirs: list[_Phrase], new: Sentence) -> bool:
    """Whether the items of a list stand in another order, where order says nothing."""
    if not new.lists or sorted(ours) != sorted(theirs):
        return False
    moved = [at for at, phrase in enumerate(ours) if phrase != theirs[at]]
    if moved[-1] - moved[0] >= len(moved):
        return False
    keys = {key for each in ours for key in each}
    moved_keys = {key for at in moved for key in ours[at]}
    verbs = {word.key for word in new.words if word.kind == "verb"}
    return not (keys & words("ordered") or moved_keys & (_starters() | verbs))


def _is_passive(new: Sentence, old: Sentence) -> bool:
    """Whether one is the passive of the other: we run the tests, the tests are run."""
    if new.by_us == old.by_us:
        return False
    active, passive = (new, old) if new.by_us else (old, new)
    if passive.copulas != 1 or active.copulas:
        return False
    ours, theirs = (
        [phrase for phrase in _split_phrases(each.words) if phrase[0] in _starters()]
        for each in (active, passive)
    )
    return ours == theirs


def _count_negations(sentence: Sentence) -> int:
    return sum(word.kind == "not" for word in sentence.words)


def _compare_negated(new: Sentence, old: Sentence, negations: int) -> Verdict:
    """The verdict where one has more negations: does it deny the other one, or something else?"""
    if abs(negations) > 1 or min(_count_negations(new), _count_negations(old)) > 0:
        return Unsure("more than one negation")
    ours, theirs = _drop_negations(new), _drop_negations(old)
    match _compare_words(ours, theirs):
        case Restated(reason) if reason == LESS and (negations < 0 or old.lists):
            verdict = Unsure("one is about a part of the other")
        case Restated():
            verdict = Updated("one denies the other")
        case Extended() if _adds_denial_reason(ours, theirs):
            verdict = Updated("one denies the other, with a reason")
        case Updated() | Extended():
            verdict = Different("one denies something else")
        case Unsure(reason) if _replaces_one_object(ours, theirs) or (
            reason == _NARROWED and len(ours.words) > len(theirs.words)
        ):
            verdict = Different("one denies something else")
        case other:
            verdict = other
    return verdict


def _replaces_one_object(new: Sentence, old: Sentence) -> bool:
    """Whether all but one place is the same: "we use Redis", "we do not use Memcached"."""
    edits = _find_edits(new, old)
    return len(edits) == 1 and bool(edits[0].old and edits[0].new)


def _adds_denial_reason(new: Sentence, old: Sentence) -> bool:
    after = new.words[len(old.words) :]
    return bool(after) and after[0].key in words("denial_reasons")


def _drop_negations(sentence: Sentence) -> Sentence:
    kept = tuple(word for word in sentence.words if word.key != NOT)
    predicate = sentence.predicate
    if predicate is not None:
        predicate -= sum(word.key == NOT for word in sentence.words[:predicate])
    return replace(sentence, words=kept, predicate=predicate)


def _join_words(found: Sequence[Word]) -> str:
    return " ".join(word.text for word in found)
