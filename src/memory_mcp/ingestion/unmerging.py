"""What a forget takes along, and what comes back when a merged memory is taken apart.

A memory that was composed of others repeats their words. To forget one of its parts is to forget
the whole; the other parts come back, as one memory again if there are several.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from memory_mcp.domain.drafts import Writing
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.views import View
from memory_mcp.ingestion.compose import compose

__all__ = ["Fate", "fate_of", "parts_of", "recomposed"]


@dataclass(frozen=True)
class Fate:
    """What becomes of the others when one memory is forgotten.

    `along` is erased with it. `older` stays hidden, as it was. `back` holds again; of each of
    `again` the parts do so as one memory, in the place of the whole that goes.
    """

    along: tuple[RecordId, ...] = ()
    older: tuple[RecordId, ...] = ()
    back: tuple[RecordId, ...] = ()
    again: tuple[tuple[Record, Sequence[Record]], ...] = ()


def parts_of(record: Record) -> set[RecordId]:
    """What it was composed of and stands for: sources that it took the place of."""
    return set(record.derived_from) & set(record.supersedes)


def fate_of(
    target: Record,
    doomed: Mapping[RecordId, Record],
    known: Mapping[RecordId, Record],
    visible: Collection[RecordId],
    view: View,
) -> Fate:
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
        if not parts_of(record):  # it never took the place of what it was drawn from
            continue
        left = _left_of(record, doomed, known)
        if record.id in visible:
            back.update(dict.fromkeys(part.id for part in left))
            if len(left) > 1:
                again.append((record, left))
        elif record.id not in taken_over and _reached(record, view):
            older.update(dict.fromkeys(part.id for part in left))  # something else replaced it
    return Fate(
        along=tuple(sorted(doomed.keys() - {target.id})),
        older=tuple(sorted(older.keys() - doomed.keys() - back.keys())),
        back=tuple(sorted(back)),
        again=tuple(again),
    )


def recomposed(whole: Record, parts: Sequence[Record], writing: Writing) -> Record | None:
    """What is left of a whole, in its place; None if the parts do not fit into one text."""
    first, *others = (part.content for part in parts)
    text = reduce(_both, others, first)
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


def _both(old: str | None, new: str) -> str | None:
    return None if old is None else compose(old, new)


def _left_of(
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


def _reached(record: Record, view: View) -> bool:
    return record.segment is None or record.segment in view.chain
