"""Finds among memories those that others of them bring up to date or contradict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.frozen import frozen
from memory_mcp.text.truths.compare import Disputes, Outdates, compare_statements
from memory_mcp.text.truths.outlines import may_bear

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


def drop_outdated(sections: Mapping[str, Sequence[Record]]) -> dict[str, Sequence[Record]]:
    """The records of each section without those that another one of any section outdates."""
    records = {record.id: record for found in sections.values() for record in found}
    marks = mark_truths(list(records.values()))
    return {
        name: [record for record in found if record.id not in marks.outdated]
        for name, found in sections.items()
    }
