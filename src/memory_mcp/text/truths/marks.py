"""Finds among memories those that others of them bring up to date or contradict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.deduplication import states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.text.truths.compare import Disputes, Outdates, compare_statements
from memory_mcp.text.truths.outlines import may_bear

_NONE: Final[Mapping[RecordId, bytes]] = MappingProxyType({})


@dataclass(frozen=True)
class Marks:
    """For each outdated memory the newest one that replaces it, and who disputes with whom."""

    outdated: dict[RecordId, RecordId] = field(default_factory=dict[RecordId, RecordId])
    disputed: dict[RecordId, tuple[RecordId, ...]] = field(
        default_factory=dict[RecordId, tuple[RecordId, ...]]
    )


def mark_truths(records: Sequence[Record], outlines: Mapping[RecordId, bytes] = _NONE) -> Marks:
    """Compare every two of these memories: what was written later is newer.

    Where the outlines of both are known, they are compared only if these leave it open.
    """
    marks = Marks()
    stating = sorted(filter(states_truth, records), key=lambda r: (r.created_at, r.id))
    for older, newer in combinations(stating, 2):
        one, other = outlines.get(older.id), outlines.get(newer.id)
        if one is not None and other is not None and not may_bear(one, other):
            continue
        match compare_statements(_make_text(older, newer), _make_text(newer, older)):
            case Outdates():
                marks.outdated[older.id] = newer.id
            case Disputes():
                for one, other in ((older.id, newer.id), (newer.id, older.id)):
                    marks.disputed[one] = (*marks.disputed.get(one, ()), other)
            case _:
                pass
    for older, newer in marks.outdated.items():
        while newer in marks.outdated:
            newer = marks.outdated[newer]  # noqa: PLW2901  # the last of the line holds
        marks.outdated[older] = newer
    return marks


def _make_text(record: Record, other: Record) -> str:
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
