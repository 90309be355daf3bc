"""Tells at a glance that of two texts neither brings the other up to date nor contradicts it.

The outline of a text is what that takes of its frames. It is made once, when a memory is indexed:
most of what a search finds is never read as frames. Its words are numbers of 16 bits. Two words may
share one, so a glance asks only for words that are there, never for words that are not: it says
"maybe" too often, and "no" only where a comparison would say so.
"""

import struct
import zlib
from functools import lru_cache
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.record import Record
from memory_mcp.text.tables import load_pattern
from memory_mcp.text.truths.compare import SLOT_WORDS_MAX
from memory_mcp.text.truths.frames import Frame, read_frames

_FLAGS: Final = ("changes", "sourced", "elliptical", "past", "supposed", "general", "several")
_ASKED_TOGETHER: Final = 0b111000
"""Of the flags those in which two statements that bear on each other are the same."""
_CHANGES, _SOURCED, _ELLIPTICAL, _SEVERAL = 0b1, 0b10, 0b100, 0b1000000
_CUT_WORDS_MAX: Final = 2
"""Words that are read in another way where a part is cut out: a figure without its unit."""
_OUTLINES_KEPT: Final = 512

Numbers = frozenset[int]


class FrameOutline(NamedTuple):
    """A frame without its order: see `Frame`. `stated` are its values, `kinds` what they are of."""

    flags: int
    first: int
    last: int
    keys: Numbers
    about: Numbers
    subject: Numbers
    ended: Numbers
    stated: Numbers
    names: Numbers
    kinds: Numbers


def pack_outline(record: Record) -> bytes:
    """The outline of what a memory states, with its title and without; empty if it states nothing.

    Numbers of two bytes, little-endian: for each frame its flags, the length of each list, and the
    lists.
    """
    if not states_truth(record):
        return b""
    texts = [record.content]
    if record.title and record.title not in record.content:
        texts.append(f"{record.title}: {record.content}")
    return b"".join(
        dict.fromkeys(_pack_frame(each) for text in texts for each in read_frames(text))
    )


def may_bear(one: bytes, other: bytes) -> bool:
    """Whether one of two texts may bring the other up to date, or contradict it."""
    ours, theirs = _unpack(one), _unpack(other)
    return any(_may_change(o, n) or _may_change(n, o) for o in ours for n in theirs)


def _pack_frame(frame: Frame) -> bytes:
    values = frame.values.items()
    elliptical = load_pattern("truths", "elliptical").match(frame.sentence.text) is not None
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
            sorted(frame.ended),
            sorted(frozenset[str]().union(*(keys for _, keys in values))),
            sorted(frame.values.get("name", ())),
            sorted(kind for kind, _ in values),
        )
    ]
    numbers = [flags, *map(len, lists), *(number for each in lists for number in each)]
    return struct.pack(f"<{len(numbers)}H", *numbers)


def _number(word: str) -> int:
    return zlib.crc32(word.encode()) & 0xFFFF


@lru_cache(maxsize=_OUTLINES_KEPT)
def _unpack(packed: bytes) -> tuple[FrameOutline, ...]:
    numbers = struct.unpack(f"<{len(packed) // 2}H", packed)
    found: list[FrameOutline] = []
    at = 0
    while at < len(numbers):
        flags, *lengths = numbers[at : at + 8]
        at += 8
        lists: list[tuple[int, ...]] = []
        for length in lengths:
            lists.append(numbers[at : at + length])
            at += length
        found.append(FrameOutline(flags, lists[0][0], lists[0][-1], *map(frozenset, lists)))
    return tuple(found)


def _may_change(old: FrameOutline, new: FrameOutline) -> bool:
    """Whether a comparison of the two frames may find more than that both hold."""
    missing = len(old.keys - new.keys)
    within = missing <= SLOT_WORDS_MAX + _CUT_WORDS_MAX
    if within and old.subject and old.subject <= new.about:  # a part of it may say the same
        return True
    if (old.flags ^ new.flags) & _ASKED_TOGETHER or (old.flags | new.flags) & _SEVERAL:
        return False
    alike = old.first == new.first or old.last in new.keys
    if alike and missing <= SLOT_WORDS_MAX:
        return True
    changes = bool(new.flags & _CHANGES)
    if changes and (new.ended & (old.about | old.stated) or old.names & new.about):
        return True
    shares = bool(new.flags & _ELLIPTICAL) or not old.about.isdisjoint(new.about)
    sourced = (old.flags | new.flags) & _SOURCED
    both = old.flags & new.flags & _SOURCED
    return shares and bool(both or ((changes or sourced) and old.kinds & new.kinds))
