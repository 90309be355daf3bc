"""Finds among memories those that others of them bring up to date or contradict."""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import combinations
from types import MappingProxyType
from typing import Final, NamedTuple

from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.frozen import frozen
from memory_mcp.text.truths.compare import Disputes, Outdates, compare_statements
from memory_mcp.text.truths.outlines import may_bear, pack_outline

_NONE: Final[Mapping[RecordId, bytes]] = MappingProxyType({})


@frozen
class Marks:
    """For each outdated memory the newest one that replaces it, and who disputes with whom."""

    outdated: dict[RecordId, RecordId] = field(default_factory=dict[RecordId, RecordId])
    disputed: dict[RecordId, tuple[RecordId, ...]] = field(
        default_factory=dict[RecordId, tuple[RecordId, ...]]
    )


def mark_truths(
    records: Sequence[Record],
    replaces: Callable[[Record, Record], bool] | None = None,
    outlines: Mapping[RecordId, bytes] = _NONE,
) -> Marks:
    """Compare every two of these memories: what was written later is newer.

    `replaces` says whether the second of two answers a question anew that the first one answered.
    Where the outlines of both are known, they are compared only if these leave it open.
    """
    marks = Marks()
    stating = sorted(filter(states_truth, records), key=lambda r: (r.created_at, r.id))
    for older, newer in combinations(stating, 2):
        old, new = join_title(older, newer), join_title(newer, older)
        match compare_statements(old, new) if _may_bear(older, newer, outlines) else None:
            case Outdates():
                marks.outdated[older.id] = newer.id
            case Disputes():
                for one, other in ((older.id, newer.id), (newer.id, older.id)):
                    marks.disputed[one] = (*marks.disputed.get(one, ()), other)
            case _:
                if replaces and replaces(older, newer):
                    marks.outdated[older.id] = newer.id
    for older, newer in marks.outdated.items():
        while newer in marks.outdated:
            newer = marks.outdated[newer]  # noqa: PLW2901  # the last of the line holds
        marks.outdated[older] = newer
    return marks


def _may_bear(older: Record, newer: Record, outlines: Mapping[RecordId, bytes]) -> bool:
    one, other = outlines.get(older.id), outlines.get(newer.id)
    return one is None or other is None or may_bear(one, other)


def join_title(record: Record, other: Record) -> str:
    """With its title if both have one: it may name what is meant."""
    titled = record.title and other.title and record.title not in record.content
    return f"{record.title}: {record.content}" if titled else record.content


def drop_outdated(
    sections: Mapping[str, Sequence[Record]],
    away: Collection[RecordId] = (),
    outlines: Mapping[RecordId, bytes] = _NONE,
) -> dict[str, Sequence[Record]]:
    """The records of each section without those that another one of any section outdates.

    Those that are `away` and the others say nothing of each other. An outline that is not known is
    made, which takes as long as to index the memory.
    """
    records = {record.id: record for found in sections.values() for record in found}
    stating = sorted(filter(states_truth, records.values()), key=lambda r: (r.created_at, r.id))
    outdated = set[RecordId]()
    for part in ([r for r in stating if r.id not in away], [r for r in stating if r.id in away]):
        outdated |= _find_outdated({_make_key(record): record for record in part}, outlines)
    return {
        name: [record for record in found if record.id not in outdated]
        for name, found in sections.items()
    }


_Key = tuple[RecordId, datetime, str, str]
"""A memory, and what its comparison with another one depends on."""


class _Group(NamedTuple):
    """Memories of which each two were compared, and of those that are outdated, by what."""

    keys: frozenset[_Key]
    outdated: frozenset[tuple[_Key, _Key]]


_GROUPS_KEPT: Final = 8
_compared: Final = deque([_Group(frozenset(), frozenset())], maxlen=_GROUPS_KEPT)
"""What is shown is rendered after each write, and differs by what was written."""


def _make_key(record: Record) -> _Key:
    return record.id, record.created_at, record.title, record.content


def _find_outdated(
    stating: Mapping[_Key, Record], known_outlines: Mapping[RecordId, bytes]
) -> set[RecordId]:
    """Those that a later one of these, which are in order, replaces.

    Two that were compared together before are not compared again.
    """
    groups = [*_compared]  # another thread may add one meanwhile
    known = max(groups, key=lambda group: len(group.keys & stating.keys()))
    order = [*stating]
    new = [at for at, key in enumerate(order) if key not in known.keys]
    outdated = {pair for pair in known.outdated if stating.keys() >= {*pair}}
    outlines = [_find_outline(each, known_outlines) for each in stating.values()] if new else []
    for at, older in enumerate(order):
        later = range(at + 1, len(order)) if at in new else [each for each in new if each > at]
        for after in later:
            if may_bear(outlines[at], outlines[after]):
                old, newer = stating[older], stating[order[after]]
                texts = join_title(old, newer), join_title(newer, old)
                if isinstance(compare_statements(*texts), Outdates):
                    outdated.add((older, order[after]))
    if new:
        _compared.append(_Group(frozenset(stating), frozenset(outdated)))
    return {older[0] for older, _ in outdated}


def _find_outline(record: Record, known: Mapping[RecordId, bytes]) -> bytes:
    found = known.get(record.id)
    return pack_outline(record) if found is None else found
