"""Composes two statements of one fact into one text, and takes such a text apart again.

A sentence of the old text goes if the new text repeats, extends or contradicts it; its replacement
stands in its place, so that a following "it" means the same thing. A new sentence follows the one
that it followed in the new text. The rest is kept byte for byte. Code, tables and lists are not
composed. Composing twice gives the same text: `compose(compose(a, b), b) == compose(a, b)`.

A composed memory repeats the words of its parts. To forget one part is to forget the whole; the
other parts come back, as one memory again if there are several. To forget the whole is to forget
what it says in the place of its parts: these stay hidden, as what a correction replaced does.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import reduce
from itertools import pairwise
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import Different, Restated, Unsure, Verdict
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.normalise import fold
from memory_mcp.domain.record import Record, RecordContext
from memory_mcp.domain.search import View
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.compare import LESS, compare_if_near
from memory_mcp.text.merge.reading import Word, read_sentence
from memory_mcp.text.sentences import fold_words, split_lines, split_sentences, strip_mark

_END_SIGNS: Final = tuple(".!?:;,\u2026。！？)\"'`")  # noqa: RUF001
_LAYOUT: Final = compile_later(
    r"```|~~~|^[ \t]+\S|^\s*(?:[-*+•>#|]+|\d+[.)])\s|\|.*\||\t", re.MULTILINE
)
"""Fences, indented lines, marks of a list or heading, rows of a table."""
_SENTENCE_END: Final = compile_later(r"[.!?…。！？][\"')\]}*_`»\u201d\u2019]*\s*")  # noqa: RUF001


class _OldSentence(NamedTuple):
    """A sentence of the old text, the gap before it, and the place of its replacement.

    `place` is the number of a sentence of the new text; None if the old one stays.
    """

    text: str
    gap: str
    place: int | None


def compose(old: str, new: str) -> str | None:
    """One text that says what both say; None if they cannot be one text as they are written.

    That is so if one of them has a layout, or if both together are longer than a memory may be.
    """
    if fold(old) == fold(new) or _contains(old, new):
        return old
    if _contains(new, old):
        return new
    if _has_layout(old) or _has_layout(new):
        return None
    ours, theirs = split_lines(new), split_lines(old)
    if not ours or not theirs:
        return new if ours else old
    matched = _match_sentences(ours, theirs, old)
    kept = [sentence.text for sentence in matched if sentence.place is None]
    absorbed = {
        n
        for n, one in enumerate(ours)
        if any(_compare(one, text) == Restated(LESS) for text in kept)
    }
    placed = {sentence.place for sentence in matched}
    added = [n for n in range(len(ours)) if n not in placed and n not in absorbed]
    if not kept and not absorbed:
        return new
    repeats = len({fold(one) for one in ours}) < len(ours)
    text = None if repeats else _weave(matched, ours, added, old, new)
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
    ends = list(_SENTENCE_END.finditer(line))
    return bool(ends) and ends[-1].end() == len(line)


def _match_sentences(ours: Sequence[str], theirs: Sequence[str], old: str) -> list[_OldSentence]:
    """The old sentences with their gaps, and which new sentence replaces each."""
    repeated = {fold(one): n for n, one in enumerate(ours)}
    matched: list[_OldSentence] = []
    at = 0
    for other in theirs:
        start = old.index(other, at)
        place = repeated.get(fold(other))
        if place is None:
            place = _find_replacement(ours, other)
        matched.append(_OldSentence(other, old[at:start], place))
        at = start + len(other)
    return matched


class _Piece(NamedTuple):
    """A sentence of the composed text, the gap before it, and its number in the new text."""

    gap: str
    text: str
    place: int | None


def _weave(
    matched: Sequence[_OldSentence], ours: Sequence[str], added: Sequence[int], old: str, new: str
) -> str | None:
    """The old text with replaced sentences and with the added ones."""
    lines = "\n" in old.strip() or "\n" in new.strip()
    gap = "\n" if lines else " "
    pieces: list[_Piece] = []
    for text, before, place in matched:
        if place is None or fold(ours[place]) == fold(text):
            pieces.append(_Piece(before, text, place))
        elif place not in (piece.place for piece in pieces):
            pieces.append(_Piece(before, ours[place], place))
    for n in added:
        pieces.insert(_find_place(n, [piece.place for piece in pieces]), _Piece(gap, ours[n], n))
    woven = ""
    for at, (before, text, _) in enumerate(pieces):
        open_ended = not _is_ended(text) if lines else at + 1 < len(pieces)
        if open_ended and lines and text.endswith(_END_SIGNS):
            return None
        ended = f"{text}." if open_ended and not text.endswith(_END_SIGNS) else text
        woven += ((before or gap) if at else matched[0].gap) + ended
    last = matched[-1].text
    woven += old[old.rindex(last) + len(last) :]
    if _has_layout(woven):  # a sentence that looks like an item where it stands now
        return None
    expected = [fold(piece.text) for piece in pieces]
    return woven if [fold(one) for one in split_lines(woven)] == expected else None


def _find_place(n: int, places: Sequence[int | None]) -> int:
    """Behind the sentence that it followed, before the one that it preceded, or at the end."""
    before = [places.index(m) for m in range(n) if m in places]
    if before:
        return before[-1] + 1
    after = [at for at, place in enumerate(places) if place is not None]
    return after[0] if after else len(places)


def _find_replacement(ours: Sequence[str], other: str) -> int | None:
    """The number of the new sentence that takes the place of an old one."""
    for n, one in enumerate(ours):
        verdict = _compare(one, other)
        if not isinstance(verdict, Different | Unsure) and verdict != Restated(LESS):
            return n
    return None


def _compare(one: str, other: str) -> Verdict:
    return compare_if_near(read_sentence(strip_mark(one)), read_sentence(strip_mark(other)))


_CONTENT_CHARS_MIN: Final = 4
"""A shorter word is mostly a little one."""
_KEPT_SHARE_MIN: Final = 0.7
"""The share of its content words by which a sentence is still there, in other words."""
_LITTLE: Final = ("preposition", "join")
_VALUES: Final = ("value", "identifier", "name")


def keeps_content(old: str, text: str) -> bool:
    """Whether each sentence of the old text is still in the other one, with its figures and names.

    Other words may have been chosen for the rest of it.
    """
    there = set(fold_words(text).split())
    keys = {word.key for word in _read_words(text)}
    for sentence in split_sentences(old):
        content = {w for w in fold_words(sentence).split() if len(w) >= _CONTENT_CHARS_MIN}
        if len(content & there) < _KEPT_SHARE_MIN * len(content):
            return False
        if any(w.kind in _VALUES and w.key not in keys for w in read_sentence(sentence).words):
            return False
    return True


def find_replaced_value(old: str, text: str) -> str | None:
    """The one value of the old text that another one replaced; "" if nothing is missing.

    None if anything else is missing, or nothing stands in its place: that would be lost with it.
    """
    before, after = _read_words(old), _read_words(text)
    if not all(read_sentence(sentence).words for sentence in split_sentences(old)):
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
    for operation, i, j, k, m in matcher.get_opcodes():
        if operation == "replace" and i <= missing[0] and missing[-1] < j:
            replaced = any(w.kind not in _LITTLE and w.key not in known for w in after[k:m])
            return " ".join(before[at].text for at in missing) if replaced else None
    return None


def _is_one_value(words: Sequence[Word], places: Sequence[int]) -> bool:
    """Whether these are one word, or names and figures that stand side by side as one."""
    if len(words) == 1:
        return True
    adjacent = all(other == one + 1 for one, other in pairwise(places))
    named = all(word.kind in _VALUES for word in words)
    return adjacent and named and not any(word.set_off for word in words[1:])


def _read_words(text: str) -> list[Word]:
    return [word for each in split_sentences(text) for word in read_sentence(each).words]


@frozen
class ForgetPlan:
    """What becomes of other memories when one is forgotten.

    `along` is erased with it. `older` stays hidden. `back` holds again. Of each of `again`, the
    parts hold again as one memory, in the place of the whole that goes.
    """

    along: tuple[RecordId, ...] = ()
    older: tuple[RecordId, ...] = ()
    back: tuple[RecordId, ...] = ()
    again: tuple[tuple[Record, Sequence[Record]], ...] = ()


def _find_parts(record: Record) -> set[RecordId]:
    """The memories that a record was composed of: sources that it supersedes."""
    return set(record.derived_from) & set(record.supersedes)


def plan_forget(
    target: Record,
    doomed: Mapping[RecordId, Record],
    known: Mapping[RecordId, Record],
    visible: Collection[RecordId],
    view: View,
) -> ForgetPlan:
    """Plan what becomes of the parts of `target`, and of the memories derived from it.

    `doomed` are the target and everything derived from it; `known` are the sources of all of them;
    `visible` are those of `doomed` that hold now.
    """
    taken_over = {id_ for record in doomed.values() for id_ in record.supersedes}
    older: dict[RecordId, None] = {}
    back: dict[RecordId, None] = {}
    again: list[tuple[Record, Sequence[Record]]] = []
    for record in sorted(doomed.values(), key=lambda record: record.id):
        if record.kind == "exclusion":  # what it hid is no older version, and comes back
            continue
        own = record.id == target.id  # what it was composed of is as old as what it replaced
        older.update(
            dict.fromkeys(set(record.supersedes) - (set() if own else set(record.derived_from)))
        )
        if own or not _find_parts(record):  # it never took the place of what it was drawn from
            continue
        left = _find_parts_left(record, target, doomed, known)
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
    """The record of the parts that are left of a whole; None if they do not fit into one text."""
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
            "stated_at": max(part.moment for part in parts),
            "holds_beside": tuple(dict.fromkeys(b for part in parts for b in part.holds_beside)),
            "origin": writing.origin,
            "created_at": writing.at,
        }
    )


def _compose_both(old: str | None, new: str) -> str | None:
    return None if old is None else compose(old, new)


def _find_parts_left(
    whole: Record,
    target: Record,
    doomed: Mapping[RecordId, Record],
    known: Mapping[RecordId, Record],
) -> list[Record]:
    """The parts that stay, those of its parts but the target included, oldest first."""
    left: dict[RecordId, Record] = {}
    waiting = list(whole.derived_from)
    while waiting:
        part = waiting.pop()
        if part in doomed:
            if part != target.id:
                waiting.extend(doomed[part].derived_from)
        elif part in known:
            left[part] = known[part]
    return [left[id_] for id_ in sorted(left)]


def _is_on_chain(record: Record, view: View) -> bool:
    return record.segment is None or record.segment in view.chain
