"""Tells at a glance that two texts have nothing to do with each other.

The outline of a text is what that takes of its frames. It is made once, when a memory is indexed:
most of what a search finds, or a new memory is compared with, is never read as frames. Its words
are numbers of 16 bits. Two words may share one, so a glance asks only for words that are there,
never for words that are not: it says "maybe" too often, and "no" only where a comparison would say
so.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.record import Record
from memory_mcp.text.truths.compare import SLOT_WORDS_MAX
from memory_mcp.text.truths.frames import Frame, is_elliptical, is_elliptical_we, read_frames

_FLAGS: Final = ("changes", "sourced", "elliptical", "past", "supposed", "general", "several")
_ASKED_TOGETHER: Final = 0b111000
"""Of the flags those in which two statements that bear on each other are the same."""
_CHANGES, _SOURCED, _ELLIPTICAL, _SEVERAL = 0b1, 0b10, 0b100, 0b1000000
_CUT_WORDS_MAX: Final = 2
"""Words that are read in another way where a part is cut out: a figure without its unit."""
_HEAD: Final = 8
"""The flags, and the lengths of seven lists."""
_OUTLINES_KEPT: Final = 512

Numbers = frozenset[int]


class FrameOutline(NamedTuple):
    """What is taken of a `Frame`: `row` are its keys in order, `stated` its values.

    `content` has a number for each word of `about`, of which two may be the same. `kinds` are those
    of its values, but for names.
    """

    flags: int
    row: tuple[int, ...]
    content: tuple[int, ...]
    keys: Numbers
    about: Numbers
    subject: Numbers
    ended: Numbers
    stated: Numbers
    names: Numbers
    kinds: Numbers


def pack_outline(record: Record, *others: str) -> bytes:
    """The outline of what a memory states, with its title and without; empty if it states nothing.

    `others` are further forms of its text in which it is compared. Numbers of two bytes,
    little-endian: for each frame its flags, the length of each list, and the lists.
    """
    if not states_truth(record):
        return b""
    texts = [record.content]
    if record.title and record.title not in record.content:
        texts.append(f"{record.title}: {record.content}")
    return _pack_texts(tuple(dict.fromkeys((*texts, *others))))


@lru_cache(maxsize=_OUTLINES_KEPT)
def _pack_texts(texts: tuple[str, ...]) -> bytes:
    """The outline of these forms of a text; a new memory is compared by it, and then stored."""
    frames = (each for text in texts for each in read_frames(text))
    return b"".join(dict.fromkeys(map(_pack_frame, frames)))


@lru_cache(maxsize=_OUTLINES_KEPT)
def tells_changes(outline: bytes) -> bool:
    """Whether a statement of the text says that something changed."""
    return any(flags & _CHANGES for flags, *_ in _walk(outline))


class TextOutline(NamedTuple):
    """What the statements of a text are about together, and state; see `FrameOutline`."""

    about: Numbers = frozenset()
    subject: Numbers = frozenset()
    ended: Numbers = frozenset()
    names: Numbers = frozenset()
    kinds: Numbers = frozenset()


def read_outline(outline: bytes) -> TextOutline:
    """What is stated by the text of this outline."""
    rows = [(f.about, f.subject, f.ended, f.names, f.kinds) for f in _unpack(outline)]
    if len(rows) == 1:  # as most have
        return TextOutline(*rows[0])
    return TextOutline(*(frozenset[int]().union(*column) for column in zip(*rows, strict=True)))


@lru_cache(maxsize=_OUTLINES_KEPT)  # a search asks it of a pair once to read it, and to compare it
def may_bear(one: bytes, other: bytes) -> bool:
    """Whether one of two texts may bring the other up to date, or contradict it."""
    ours, theirs = _unpack(one), _unpack(other)
    return any(_may_change(o, n) or _may_change(n, o) for o in ours for n in theirs)


def may_relate(old: bytes, new: bytes) -> bool:
    """Whether a comparison of an older text with a newer one may find more than that both hold."""
    return any(_may_relate(o, n) for o in _unpack(old) for n in _unpack(new))


def _pack_frame(frame: Frame) -> bytes:
    values = frame.values.items()
    elliptical = is_elliptical(frame) or is_elliptical_we(frame)
    flags = sum(
        bool(elliptical if name == "elliptical" else getattr(frame, name)) << place
        for place, name in enumerate(_FLAGS)
    )
    lists = [
        [_number(word) for word in words]
        for words in (
            frame.keys,
            sorted(frame.about),
            sorted(frame.subject),
            sorted(frame.ended | (frame.renamed.keys if frame.renamed else frozenset[str]())),
            sorted(frozenset[str]().union(*(keys for _, keys in values))),
            sorted(frame.values.get("name", ())),
            sorted(kind for kind, _ in values if kind != "name"),
        )
    ]
    numbers = [flags, *map(len, lists), *(number for each in lists for number in each)]
    return struct.pack(f"<{len(numbers)}H", *numbers)


def _number(word: str) -> int:
    return zlib.crc32(word.encode(errors="surrogatepass")) & 0xFFFF


@lru_cache(maxsize=_OUTLINES_KEPT)
def _unpack(packed: bytes) -> tuple[FrameOutline, ...]:
    found: list[FrameOutline] = []
    for flags, lengths, numbers in _walk(packed):
        ends = [*accumulate(lengths)]
        lists = [numbers[end - length : end] for length, end in zip(lengths, ends, strict=True)]
        found.append(FrameOutline(flags, lists[0], lists[1], *map(frozenset, lists)))
    return tuple(found)


def _walk(packed: bytes) -> Iterator[tuple[int, Sequence[int], tuple[int, ...]]]:
    """The flags of each frame, the lengths of its lists, and the lists as one."""
    numbers = struct.unpack_from(f"<{len(packed) // 2}H", packed)
    at = 0
    while at + _HEAD <= len(numbers):  # a broken page may hold anything
        flags, *lengths = numbers[at : at + _HEAD]
        end = at + _HEAD + sum(lengths)
        yield flags, lengths, numbers[at + _HEAD : end]
        at = end


def _may_change(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether a comparison of the two frames may find more than that both hold."""
    apart = (old.flags | new.flags) & _SEVERAL and not new.flags & _CHANGES  # in every part of it
    holds = bool(old.subject) and old.subject <= new.about and not apart  # a part may say the same
    limited = _is_limited(old, new)
    if limited and not holds:
        return False
    told = (old.flags | new.flags) & (_CHANGES | _SOURCED)
    if told and not limited and (_may_end(old, new) or _may_differ(old, new)):
        return True
    if not (holds or _begins_or_ends_alike(old, new)):  # as most: it spares the rest
        return False
    missing = len(old.keys) - len(old.keys & new.keys)
    if holds and missing <= SLOT_WORDS_MAX + _CUT_WORDS_MAX:
        return True
    return not limited and missing <= SLOT_WORDS_MAX and _is_alike(old.row, new.row)


def _is_limited(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether one tells of what was or may be, of all of a kind or of one of several."""
    return bool((old.flags ^ new.flags) & _ASKED_TOGETHER or (old.flags | new.flags) & _SEVERAL)


def _may_relate(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether they may speak of the same thing, too."""
    if _may_change(old, new):
        return True
    if _is_limited(old, new):
        return False
    shared = sum(word in new.about for word in old.content)
    values = old.kinds & new.kinds or (old.names and new.names)
    return shared > 1 or bool(new.flags & _CHANGES and (shared or values))


def _may_end(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether the new one may say that what the old one says is over."""
    if not new.flags & _CHANGES:
        return False
    return bool(new.ended & (old.about | old.stated) or old.names & new.about)


def _may_differ(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether they may have other values of the same kind, or stand on two people's words."""
    changes, sourced = new.flags & _CHANGES, (old.flags | new.flags) & _SOURCED
    if not (changes or sourced):
        return False
    shared = len(old.about & new.about)
    values = bool(old.kinds & new.kinds)
    if changes and (shared or new.flags & _ELLIPTICAL) and (values or (old.names and new.names)):
        return True
    both = bool(old.flags & new.flags & _SOURCED)
    near = 2 * (shared + 1) >= min(len(old.about), len(new.about))  # two may share a number
    same = near or not old.subject.isdisjoint(new.about)
    return bool(sourced and shared and (values or (both and same)))


def _begins_or_ends_alike(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether the rows may be alike: the same word begins them, or ours has their last one, too."""
    return bool(old.row) and (old.row[:1] == new.row[:1] or old.row[-1] in new.keys)


def _is_alike(theirs: tuple[int, ...], ours: tuple[int, ...]) -> bool:
    """Whether one place is all in which the rows may differ, or ours says more behind theirs."""
    at = next((n for n, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), None)
    at = min(len(theirs), len(ours)) if at is None else at
    if at and len(theirs) - at <= SLOT_WORDS_MAX:
        return True
    if at == len(theirs) or theirs[-1] not in ours[at:]:  # mostly, and it spares the search
        return False
    rests = (theirs[at + length :] for length in range(SLOT_WORDS_MAX + 1))
    return any(
        ours[at + other : at + other + len(rest)] == rest
        for rest in rests
        if rest
        for other in range(SLOT_WORDS_MAX + 1)
    )
