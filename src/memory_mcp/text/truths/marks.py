"""Finds among memories those that others of them bring up to date or contradict."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.comparisons import Compared, Comparisons
from memory_mcp.domain.deduplication import rank_holding, states_truth
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record, format_time
from memory_mcp.frozen import frozen
from memory_mcp.text.truths.compare import (
    Disputes,
    Independent,
    Outdates,
    Truth,
    compare_statements,
)
from memory_mcp.text.truths.frames import read_frames
from memory_mcp.text.truths.outlines import may_bear, pack_outline

_NONE: Final[Mapping[RecordId, bytes]] = MappingProxyType({})
_KEY_DIGITS: Final = 20
"""80 bits: no two of some hundred memories have one digest."""


@frozen
class Marks:
    """For each outdated memory the newest one that replaces it, and who disputes with whom.

    `by_question` are the outdated ones of which nothing but a question says so.
    """

    outdated: dict[RecordId, RecordId] = field(default_factory=dict[RecordId, RecordId])
    by_question: set[RecordId] = field(default_factory=set[RecordId])
    disputed: dict[RecordId, tuple[RecordId, ...]] = field(
        default_factory=dict[RecordId, tuple[RecordId, ...]]
    )


def mark_truths(
    records: Sequence[Record],
    replaces: Callable[[Record, Record], bool] | None = None,
    outlines: Mapping[RecordId, bytes] = _NONE,
) -> Marks:
    """Compare every two of these memories: what was said later is newer, within one scope.

    `replaces` says whether the second of two answers a question anew that the first one answered.
    Where the outlines of both are known, they are compared only if these leave it open.
    """
    marks = Marks()
    stating = sorted(filter(states_truth, records), key=rank_holding)
    for older, newer in combinations(stating, 2):
        match compare_records(older, newer) if _may_bear(older, newer, outlines) else None:
            case Outdates():
                marks.outdated[older.id] = newer.id
                marks.by_question.discard(older.id)
            case Disputes():
                for one, other in ((older.id, newer.id), (newer.id, older.id)):
                    marks.disputed[one] = (*marks.disputed.get(one, ()), other)
            case _:
                known = older.id in marks.outdated and older.id not in marks.by_question
                if known or replaces is None or older.holds_with(newer):
                    continue
                if replaces(older, newer):
                    marks.outdated[older.id] = newer.id
                    marks.by_question.add(older.id)
    for older, newer in marks.outdated.items():
        while newer in marks.outdated:
            newer = marks.outdated[newer]  # noqa: PLW2901  # the last of the line holds
        marks.outdated[older] = newer
    return marks


def compare_records(older: Record, newer: Record) -> Truth:
    """What the one makes of the other that gives way to it, or may; see `rank_holding`.

    Where users have changed since what they keep for themselves, nothing says which of both holds.
    """
    if older.holds_with(newer):
        return Independent("it was said that both hold")
    old, new = join_title(older, newer), join_title(newer, older)
    truth = compare_statements(old, new)
    later = older.moment > newer.moment
    if not (later and any(frame.changes for frame in read_frames(old))):
        return truth
    found = truth if isinstance(truth, Outdates) else compare_statements(new, old)
    return Disputes(found.reason) if isinstance(found, Outdates) else found


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
    comparisons: Comparisons | None = None,
) -> dict[str, Sequence[Record]]:
    """The records of each section without those that another one of any section outdates.

    Those that are `away` and the others say nothing of each other. An outline that is not known is
    made, which takes as long as to index the memory. Two that were compared before are not compared
    again.
    """
    records = {record.id: record for found in sections.values() for record in found}
    stating = sorted(filter(states_truth, records.values()), key=rank_holding)
    outdated = set[RecordId]()
    for part in ([r for r in stating if r.id not in away], [r for r in stating if r.id in away]):
        outdated |= _find_outdated(part, outlines, comparisons or Comparisons())
    return {
        name: [record for record in found if record.id not in outdated]
        for name, found in sections.items()
    }


def _find_outdated(
    stating: Sequence[Record], outlines: Mapping[RecordId, bytes], comparisons: Comparisons
) -> set[RecordId]:
    """Those that a later one of these, which are in order, replaces."""
    order = [_make_key(record) for record in stating]
    keys = frozenset(order)
    before = comparisons.find_nearest(keys)
    new = [at for at, key in enumerate(order) if key not in before.keys]
    outdated = {pair for pair in before.outdated if keys.issuperset(pair)}
    outlined = [_find_outline(record, outlines) for record in stating] if new else []
    for at, older in enumerate(stating):
        later = range(at + 1, len(order)) if at in new else [each for each in new if each > at]
        for after in later:
            bears = may_bear(outlined[at], outlined[after])
            if bears and isinstance(compare_records(older, stating[after]), Outdates):
                outdated.add((order[at], order[after]))
    if stating:
        comparisons.note(Compared(keys, frozenset(outdated)))
    gone = {older for older, _ in outdated}
    return {record.id for record, key in zip(stating, order, strict=True) if key in gone}


def _make_key(record: Record) -> str:
    """The digest of all that a comparison of the memory with another one depends on."""
    moment, beside = format_time(record.moment), (*record.holds_beside, *record.supersedes)
    made = json.dumps([record.id, moment, record.title, record.content, beside])
    return hashlib.sha256(made.encode()).hexdigest()[:_KEY_DIGITS]


def _find_outline(record: Record, known: Mapping[RecordId, bytes]) -> bytes:
    found = known.get(record.id)
    return pack_outline(record) if found is None else found
