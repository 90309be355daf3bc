"""Which records a reader may see: the rule, and the reference for every store's own query.

    reachable   on the chain the question is asked from, or durable
    suppressed  a reachable record supersedes it, or a reachable tombstone names it
    abandoned   derived from something that is unreachable, tombstoned or itself abandoned
    visible     reachable, not suppressed, not abandoned, not expired
    away        on the chain, but not where the reader stands (`View.away`)

What is away suppresses and buries only what is away as well: a replacement counts where the
replacing record stands.

Suppression asks for *reachable*, not for *visible* records: A corrected by B corrected by C must
not bring A back. A derived memory survives the supersession of its sources (a merge supersedes its
parts), but not their abandonment: then it suppresses its sources no longer, and those that are not
abandoned themselves are visible again. An exclusion names as its source what stands in the place of
those it hides, and hides them as long as that holds. A missing source counts as abandoned, unless
the memory supersedes it: a merge is written before the newer of its parts.

The stores answer in their own language, SQLite in `storage.sqlite.index`, because no read can load
all records; the contract suites hold each of them against this rule on random timelines.
"""

from collections.abc import Iterable, Mapping

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import View


def is_reachable(record: Record, view: View) -> bool:
    """Whether the record is on the chain, or durable."""
    return record.segment is None or record.segment in view.chain


def select_reachable(records: Iterable[Record], view: View) -> list[Record]:
    """The history: what is on the chain or durable, whatever became of it."""
    return [record for record in records if is_reachable(record, view)]


def select_visible(records: Iterable[Record], view: View) -> list[Record]:
    """The records that are visible from this view, in the order given."""
    known = {record.id: record for record in records}
    reachable = {id_: record for id_, record in known.items() if is_reachable(record, view)}
    tombstones = [record for record in reachable.values() if record.kind == "tombstone"]
    every = {target for record in tombstones for target in record.supersedes}
    here = {t for each in tombstones if each.segment not in view.away for t in each.supersedes}
    abandoned = {
        r.id
        for r in reachable.values()
        if _is_abandoned(r, known, reachable, every if r.segment in view.away else here)
    }
    suppressed = {
        (target, away)
        for record in reachable.values()
        for target in record.supersedes
        if record.id not in abandoned
        or (record.kind != "exclusion" and target not in record.derived_from)
        for away in {record.segment in view.away, True}
    }
    return [
        record
        for record in reachable.values()
        if (record.id, record.segment in view.away) not in suppressed
        and record.id not in abandoned
        and (record.expires_at is None or record.expires_at > view.now)
    ]


def _is_abandoned(
    record: Record,
    known: Mapping[RecordId, Record],
    reachable: Mapping[RecordId, Record],
    buried: set[RecordId],
) -> bool:
    waiting = [(source, record) for source in record.derived_from]
    seen: set[tuple[RecordId, RecordId]] = set()
    while waiting:
        source, made = waiting.pop()
        if (source, made.id) in seen:
            continue
        seen.add((source, made.id))
        replaced = source not in known and source in made.supersedes
        if source in buried or (source not in reachable and not replaced):
            return True
        if source in reachable:
            waiting.extend((older, reachable[source]) for older in reachable[source].derived_from)
    return False
