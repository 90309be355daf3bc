"""Composes two statements of one fact into one text, and takes such a text apart again.

Sentence by sentence: a sentence of the old text goes if the new one repeats it, says more or says
otherwise, and what replaces it stands in its place, so that a following "it" means the same thing.
A new sentence follows the one that it followed in the new text. The rest is kept byte for byte.
Code, tables and lists are not composed: rather two memories than a broken one. Composing twice
gives the same text: `compose(compose(a, b), b) == compose(a, b)`.

A composed memory repeats the words of its parts. To forget one part is to forget the whole; the
other parts come back, as one memory again if there are several.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import reduce
from itertools import pairwise
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import Different, Restated, Unsure, Verdict
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.normalise import folded
from memory_mcp.domain.record import Record, RecordContext
from memory_mcp.domain.search import View
from memory_mcp.text.merge.compare import LESS, compare_if_near
from memory_mcp.text.merge.reading import Word, read_sentence
from memory_mcp.text.sentences import fold_words, split_lines, split_sentences, strip_mark

_ENDS: Final = tuple(".!?:;,\u2026。！？)\"'`")  # noqa: RUF001
_LAYOUT: Final = re.compile(
    r"```|~~~|^[ \t]+\S|^\s*(?:[-*+•>#|]+|\d+[.)])\s|\|.*\||\t", re.MULTILINE
)
"""Fences, indented lines, marks of a list or heading, rows of a table."""
_ENDED: Final = re.compile(r"[.!?…。！？][\"')\]}*_`»\u201d\u2019]*\s*")  # noqa: RUF001


class _OldSentence(NamedTuple):
    """A sentence of the old text: how it is written, what stands before it, what takes its place.

    `place` is the number of a new sentence.
    """

    text: str
    gap: str
    place: int | None


def compose(old: str, new: str) -> str | None:
    """One text that says what both say; None if it cannot be told in one as it is written.

    That is so if one of them has a layout, or if both together are longer than a memory may be.
    """
    if folded(old) == folded(new) or _contains(old, new):
        return old
    if _contains(new, old):
        return new
    if _has_layout(old) or _has_layout(new):
        return None
    ours, theirs = split_lines(new), split_lines(old)
    if not ours or not theirs:
        return new if ours else old
    told = _match_sentences(ours, theirs, old)
    absorbed = {
        n
        for n, one in enumerate(ours)
        if any(said.place is None and _says_less(one, said.text) for said in told)
    }
    placed = {said.place for said in told}
    added = [n for n in range(len(ours)) if n not in placed and n not in absorbed]
    if all(said.place is not None for said in told) and not absorbed:
        return new
    repeated = len({folded(one) for one in ours}) < len(ours)
    text = None if repeated else _weave(told, ours, added, old, new)
    return text if text is not None and len(text) <= CONTENT_CHARS_MAX else None


def _contains(whole: str, part: str) -> bool:
    """Whether one text stands in the other as it is, line for line."""
    return bool(part.strip()) and f"\n{part.strip()}\n" in f"\n{whole.strip()}\n"


def _has_layout(text: str) -> bool:
    """Whether lines mean something: code, a table, a list, or lines that are no sentences."""
    if _LAYOUT.search(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and not all(_is_ended(line) for line in lines)


def _is_ended(line: str) -> bool:
    last = list(_ENDED.finditer(line))
    return bool(last) and last[-1].end() == len(line)


def _match_sentences(ours: Sequence[str], theirs: Sequence[str], old: str) -> list[_OldSentence]:
    """The old sentences with what stands before each, and what takes their place."""
    again = {folded(one): n for n, one in enumerate(ours)}
    told: list[_OldSentence] = []
    at = 0
    for other in theirs:
        start = old.index(other, at)
        place = again.get(folded(other))
        if place is None:
            place = _find_replacement(ours, other)
        told.append(_OldSentence(other, old[at:start], place))
        at = start + len(other)
    return told


def _weave(
    told: Sequence[_OldSentence], ours: Sequence[str], added: Sequence[int], old: str, new: str
) -> str | None:
    """The old text with what took the place of its sentences, and with what is new."""
    lines = "\n" in old.strip() or "\n" in new.strip()
    gap = "\n" if lines else " "
    pieces: list[tuple[str, str, int | None]] = []
    """What stands before it, the sentence, and the number of the new one."""
    for said in told:
        if said.place is None:
            pieces.append((said.gap, said.text, None))
        elif folded(ours[said.place]) == folded(said.text):
            pieces.append((said.gap, said.text, said.place))
        elif said.place not in (place for _, _, place in pieces):
            pieces.append((said.gap, ours[said.place], said.place))
    for n in added:
        pieces.insert(_find_place(n, [place for _, _, place in pieces]), (gap, ours[n], n))
    whole = ""
    for at, (before, said, _) in enumerate(pieces):
        open_ended = not _is_ended(said) if lines else at + 1 < len(pieces)
        if open_ended and lines and said.endswith(_ENDS):
            return None
        ended = f"{said}." if open_ended and not said.endswith(_ENDS) else said
        whole += ((before or gap) if at else told[0].gap) + ended
    last = told[-1]
    whole += old[old.rindex(last.text) + len(last.text) :]
    if _has_layout(whole):  # a sentence that looks like an item where it stands now
        return None
    expected = [folded(said) for _, said, _ in pieces]
    return whole if [folded(one) for one in split_lines(whole)] == expected else None


def _find_place(n: int, stands: Sequence[int | None]) -> int:
    """Behind the sentence that it followed, before the one that it preceded, or at the end."""
    before = [stands.index(m) for m in range(n) if m in stands]
    if before:
        return before[-1] + 1
    after = [at for at, one in enumerate(stands) if one is not None]
    return after[0] if after else len(stands)


def _find_replacement(ours: Sequence[str], other: str) -> int | None:
    """Which of the new sentences takes the place of an old one."""
    for n, one in enumerate(ours):
        verdict = _compare(one, other)
        if not isinstance(verdict, Different | Unsure) and verdict != Restated(LESS):
            return n
    return None


def _says_less(one: str, other: str) -> bool:
    return _compare(one, other) == Restated(LESS)


def _compare(one: str, other: str) -> Verdict:
    return compare_if_near(read_sentence(strip_mark(one)), read_sentence(strip_mark(other)))


_TELLING_CHARS_MIN: Final = 4
"""A shorter word is mostly a little one."""
_KEPT_MIN: Final = 0.7
"""The share of its telling words by which a sentence is still there, in other words."""
_LITTLE: Final = ("preposition", "join")
_VALUES: Final = ("value", "identifier", "name")


def keeps_content(old: str, text: str) -> bool:
    """Whether each sentence of the old text is still in the other one, with its figures and names.

    Other words may have been chosen for the rest of it.
    """
    there = set(fold_words(text).split())
    known = {word.key for word in _read_words(text)}
    for said in split_sentences(old):
        telling = {word for word in fold_words(said).split() if len(word) >= _TELLING_CHARS_MIN}
        if len(telling & there) < _KEPT_MIN * len(telling):
            return False
        if any(
            word.kind in _VALUES and word.key not in known for word in read_sentence(said).words
        ):
            return False
    return True


def find_replaced_value(old: str, text: str) -> str | None:
    """The one value of the old text that gave way to another; "" if all of it is in the other one.

    None if anything else is missing, or nothing stands in its place: that would be lost with it.
    """
    before, after = _read_words(old), _read_words(text)
    if not all(read_sentence(said).words for said in split_sentences(old)):
        return None  # a list or a log: nobody can tell what is missing
    known, there = {word.key for word in before}, {word.key for word in after}
    missing = [
        at for at, word in enumerate(before) if word.kind not in _LITTLE and word.key not in there
    ]
    if not missing:
        return ""
    if not _is_one_value([before[at] for at in missing], missing):
        return None
    keys = [word.key for word in before]
    matcher = SequenceMatcher(None, keys, [word.key for word in after], autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what == "replace" and i <= missing[0] and missing[-1] < j:
            brought = any(w.kind not in _LITTLE and w.key not in known for w in after[k:m])
            return " ".join(before[at].said for at in missing) if brought else None
    return None


def _is_one_value(words: Sequence[Word], places: Sequence[int]) -> bool:
    """Whether these are one word, or names and figures that stand side by side as one."""
    if len(words) == 1:
        return True
    adjacent = all(other == one + 1 for one, other in pairwise(places))
    named = all(word.kind in _VALUES for word in words)
    return adjacent and named and not any(word.apart for word in words[1:])


def _read_words(text: str) -> list[Word]:
    return [word for said in split_sentences(text) for word in read_sentence(said).words]


@dataclass(frozen=True)
class ForgetPlan:
    """What becomes of the others when one memory is forgotten.

    `along` is erased with it. `older` stays hidden, as it was. `back` holds again; of each of
    `again` the parts do so as one memory, in the place of the whole that goes.
    """

    along: tuple[RecordId, ...] = ()
    older: tuple[RecordId, ...] = ()
    back: tuple[RecordId, ...] = ()
    again: tuple[tuple[Record, Sequence[Record]], ...] = ()


def find_parts(record: Record) -> set[RecordId]:
    """What it was composed of and stands for: sources that it took the place of."""
    return set(record.derived_from) & set(record.supersedes)


def plan_forget(
    target: Record,
    doomed: Mapping[RecordId, Record],
    known: Mapping[RecordId, Record],
    visible: Collection[RecordId],
    view: View,
) -> ForgetPlan:
    """What becomes of what `target` is made of, and of what is made of it.

    `doomed` are the target, its parts, and everything derived from these; `known` the sources of
    all of them; `visible` those of `doomed` that hold now.
    """
    taken_over = {id_ for record in doomed.values() for id_ in record.supersedes}
    older: dict[RecordId, None] = {}
    back: dict[RecordId, None] = {}
    again: list[tuple[Record, Sequence[Record]]] = []
    for record in sorted(doomed.values(), key=lambda record: record.id):
        older.update(dict.fromkeys(set(record.supersedes) - set(record.derived_from)))
        if not find_parts(record):  # it never took the place of what it was drawn from
            continue
        left = _find_parts_left(record, doomed, known)
        if record.id in visible:
            back.update(dict.fromkeys(part.id for part in left))
            if len(left) > 1:
                again.append((record, left))
        elif record.id not in taken_over and _is_on_chain(record, view):
            older.update(dict.fromkeys(part.id for part in left))  # something else replaced it
    return ForgetPlan(
        along=tuple(sorted(doomed.keys() - {target.id})),
        older=tuple(sorted(older.keys() - doomed.keys() - back.keys())),
        back=tuple(sorted(back)),
        again=tuple(again),
    )


def recompose(whole: Record, parts: Sequence[Record], writing: RecordContext) -> Record | None:
    """What is left of a whole, in its place; None if the parts do not fit into one text."""
    first, *others = (part.content for part in parts)
    text = reduce(_compose_both, others, first)
    if text is None:
        return None
    ids = tuple(part.id for part in parts)
    return parts[-1].model_copy(
        update={
            "id": writing.id,
            "content": text,
            "tags": tuple(dict.fromkeys(tag for part in parts for tag in part.tags)),
            "importance": max(part.importance for part in parts),
            "pinned": any(part.pinned for part in parts),
            "segment": whole.segment,
            "branch": whole.branch,
            "lineage": whole.lineage,
            "supersedes": ids,
            "derived_from": ids,
            "origin": writing.origin,
            "created_at": writing.at,
        }
    )


def _compose_both(old: str | None, new: str) -> str | None:
    return None if old is None else compose(old, new)


def _find_parts_left(
    whole: Record, doomed: Mapping[RecordId, Record], known: Mapping[RecordId, Record]
) -> list[Record]:
    """The parts that do not go, those of its parts included, oldest first."""
    left: dict[RecordId, Record] = {}
    waiting = list(whole.derived_from)
    while waiting:
        part = waiting.pop()
        if part in doomed:
            waiting.extend(doomed[part].derived_from)
        elif part in known:
            left[part] = known[part]
    return [left[id_] for id_ in sorted(left)]


def _is_on_chain(record: Record, view: View) -> bool:
    return record.segment is None or record.segment in view.chain
