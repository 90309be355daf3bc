"""Which records a reader may see: the rule that every read path obeys.

    reachable   on the chain the question is asked from, or durable
    suppressed  a reachable record supersedes it, or a reachable tombstone names it
    abandoned   derived from something that is unreachable, tombstoned or itself abandoned
    visible     reachable, not suppressed, not abandoned, not expired

Suppression asks for *reachable*, not for *visible* records: A corrected by B corrected by C must
not bring A back. A derived memory survives the supersession of its sources (a merge supersedes
what it was made from), but not their abandonment: then it stands for its sources no longer, and
those of them that are not abandoned themselves hold again. A source that is not here at all counts
as abandoned, unless the memory took its place: a merge is written before the newer of its parts.

`storage.sqlite.queries` says the same in SQL; tests/contracts compares the two.
"""

from collections.abc import Iterable, Mapping

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import View


def reachable(record: Record, view: View) -> bool:
    """Whether the record is on the chain or outside the timeline."""
    return record.segment is None or record.segment in view.chain


def visible(records: Iterable[Record], view: View) -> list[Record]:
    """The records that hold, asked from this view, in the order given."""
    known = {record.id: record for record in records}
    there = {id_: record for id_, record in known.items() if reachable(record, view)}
    buried = {
        target
        for record in there.values()
        if record.kind == "tombstone"
        for target in record.supersedes
    }
    abandoned = {r.id for r in there.values() if _abandoned(r, known, there, buried)}
    suppressed = {
        target
        for record in there.values()
        for target in record.supersedes
        if record.id not in abandoned or target not in record.derived_from
    }
    return [
        record
        for record in there.values()
        if record.id not in suppressed
        and record.id not in abandoned
        and (record.expires_at is None or record.expires_at > view.now)
    ]


def _abandoned(
    record: Record,
    known: Mapping[RecordId, Record],
    there: Mapping[RecordId, Record],
    buried: set[RecordId],
) -> bool:
    waiting = [(source, record) for source in record.derived_from]
    seen: set[tuple[RecordId, RecordId]] = set()
    while waiting:
        source, made = waiting.pop()
        if (source, made.id) in seen:
            continue
        seen.add((source, made.id))
        stood_for = source not in known and source in made.supersedes
        if source in buried or (source not in there and not stood_for):
            return True
        if source in there:
            waiting.extend((older, there[source]) for older in there[source].derived_from)
    return False
