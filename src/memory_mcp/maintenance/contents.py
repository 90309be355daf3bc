"""What the records of a project say of each other, gathered one by one.

The doctor reads every record once and keeps this of it, because there may be a hundred thousand,
which take half a gigabyte as values and a third of its time to look through for garbage.
"""

from collections.abc import Collection, Iterator
from typing import Final

from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Timeline
from memory_mcp.timeline.moves import apply_lineages, fold_moves

__all__ = ["Contents"]

_PLACED_AT_ONCE: Final = 500
"""Records whose lineages are added to the timeline together, because that copies it."""


class Contents:
    """The records that were added.

    `erases` is what each of them orders to be erased, `forgets` are the moves that forget segments,
    `by_segment` is what lies in each.
    """

    def __init__(self) -> None:
        self.ids: set[RecordId] = set()
        self.moves: list[Record] = []
        self.erases: dict[RecordId, tuple[RecordId, ...]] = {}
        self.forgets: set[RecordId] = set()
        self.by_segment: dict[SegmentId, list[RecordId]] = {}
        self._names: dict[RecordId, frozenset[RecordId]] = {}
        self._unplaced: list[Record] = []
        self._placed = Timeline()

    def add(self, record: Record) -> None:
        self.ids.add(record.id)
        if record.segment is not None:
            self.by_segment.setdefault(record.segment, []).append(record.id)
        if record.erases:
            self.erases[record.id] = record.erases
        if record.move is not None:
            self.moves.append(record)
            if record.move.forgets:
                self.forgets.add(record.id)
        if record.kind != "tombstone" and (named := _find_named(record)):
            self._names[record.id] = named
        if record.branch is not None:
            self._unplaced.append(record)
            if len(self._unplaced) == _PLACED_AT_ONCE:
                self._place()

    def list_erased(self, erasers: Collection[RecordId]) -> set[RecordId]:
        """What these of the records order to be erased."""
        return {id_ for eraser in erasers for id_ in self.erases.get(eraser, ())}

    def find_dangling(self) -> Iterator[tuple[RecordId, RecordId]]:
        """Each record that names one which is not here, with the first of these.

        It may name one that was erased, but not one that never was.
        """
        erased = self.list_erased(self.erases)
        for record_id, named in self._names.items():
            if missing := named - self.ids - erased:
                yield record_id, min(missing)

    def fold(self, moves: Collection[Record]) -> Timeline:
        """The timeline after these moves, and with the lineage of every record."""
        self._place()
        return fold_moves(moves, onto=self._placed)

    def _place(self) -> None:
        self._placed = apply_lineages(self._unplaced, self._placed)
        self._unplaced.clear()


def _find_named(record: Record) -> frozenset[RecordId]:
    """The records that this one names.

    A part of a merged record is an exception: it is written after the record that stands for it.
    """
    if not (record.supersedes or record.derived_from or record.move):
        return frozenset()
    parts = set(record.supersedes) & set(record.derived_from)
    carried = record.move.carries if record.move else ()
    return frozenset({*record.supersedes, *record.derived_from, *carried} - parts)
