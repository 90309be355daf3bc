"""Finding what holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory_mcp.app.heads import view_of
from memory_mcp.app.healing import RECORDS_GONE
from memory_mcp.app.pending import unseen
from memory_mcp.app.recall import Recalled, recall
from memory_mcp.app.rooms import Pool, Rooms, reads_refused
from memory_mcp.app.together import beside, together
from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Found, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.domain.views import Filters, Hit, LexicalQuery, View
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.ingestion.drafts import check_phase, check_text
from memory_mcp.retrieval.fuse import fuse
from memory_mcp.retrieval.query import lexical_query
from memory_mcp.retrieval.rank import rank

__all__ = ["Read", "load", "newest", "require_records", "search_memories"]

_UNPLACED = (
    "{} matching memories of another machine are not shown: they, or the line they were written "
    "on, are not here yet. Repeat in a moment, or run `memory-mcp sync --pull`."
)

_NO_WORDS = (
    "The query holds no word to look for. Ask with words, or with none at all for the newest."
)


async def search_memories(
    rooms: Rooms, query: str, filters: Filters, limit: int
) -> Found | Skipped:
    """The visible memories that match best; without a query, the newest.

    Raises:
        InvalidRequestError: `limit` is out of range, or a filter is nothing a record can hold.
        IndexBusyError: the index does not answer; that is no statement about the memories.
        StoreUnavailableError: nothing can be found because the records' folder is not there.
    """
    if skipped := reads_refused(rooms):
        return skipped
    if not 1 <= limit <= limits.RESULTS_MAX:
        raise InvalidRequestError(f"limit is {limit}; choose 1 to {limits.RESULTS_MAX}.")
    _check(query, filters)
    view = await view_of(rooms)
    if not query.strip():
        read = await newest(rooms, view, filters, limit)
        hits = [Hit(record, 1.0) for record in read.records]
        notes = await unseen(rooms)
        found = Found(hits, mode="newest", notes=notes, unreadable=read.unreadable)
    elif rooms.mirrored:
        found = await _here_and_there(rooms, query, view, filters, limit)
    else:
        found = await _here(rooms, query, view, filters, limit)
    if not found.hits:
        await require_records(rooms, view)
    return found


@dataclass(frozen=True)
class Read:
    """The records that could be read, and the ids of those that are indexed but could not."""

    records: Sequence[Record]
    unreadable: frozenset[RecordId]


async def newest(rooms: Rooms, view: View, filters: Filters, limit: int) -> Read:
    """The newest visible records of both pools, newest first."""
    reads = await together(_newest_of(pool, view, filters, limit) for pool in rooms.pools)
    records = sorted((r for read in reads for r in read.records), key=lambda r: r.id, reverse=True)
    return Read(records[:limit], frozenset[RecordId]().union(*(read.unreadable for read in reads)))


async def require_records(rooms: Rooms, view: View) -> None:
    """An empty answer must not come of a folder that is not there: renamed, or not mounted.

    Raises:
        StoreUnavailableError: the index knows memories, and there is not one record.
    """
    for pool in rooms.pools:
        known = await pool.index.find(view, Filters(), 1)
        if known and await pool.records.get(known[0]) is None and not await pool.records.ids():
            raise StoreUnavailableError(RECORDS_GONE)


async def load(pool: Pool, record_ids: list[RecordId]) -> list[Record]:
    """The records of these ids that can be read, in their order."""
    known = {record.id: record async for record in pool.records.scan(record_ids)}
    return [known[id_] for id_ in record_ids if id_ in known]


def _check(query: str, filters: Filters) -> None:
    """Refuse what no record can hold: the index would choke on it, or find nothing."""
    asked = query[: limits.QUERY_CHARS_MAX]
    check_text("query", asked, limits.QUERY_CHARS_MAX, required=False)
    check_text("category", filters.category, limits.CATEGORY_CHARS_MAX, required=False)
    if len(filters.tags) > limits.TAGS_MAX:
        raise InvalidRequestError(
            f"{len(filters.tags)} tags; the limit is {limits.TAGS_MAX}. Keep the telling ones."
        )
    for tag in filters.tags:
        check_text("a tag", tag, limits.TAG_CHARS_MAX)
    check_phase(filters.phase)


async def _newest_of(pool: Pool, view: View, filters: Filters, limit: int) -> Read:
    wanted = limit
    while True:
        ids = await pool.index.find(view, filters, wanted)
        records = await load(pool, ids)
        lost = set(ids) - {record.id for record in records}
        if len(records) >= limit or len(ids) < wanted or not lost:
            return Read(records, await _unreadable(pool, lost, view))
        wanted = limit + 2 * len(lost)  # what cannot be read must not crowd out what can


async def _here(rooms: Rooms, query: str, view: View, filters: Filters, limit: int) -> Found:
    terms = lexical_query(query)
    if not terms.terms:
        return Found([], mode="lexical", notes=(_NO_WORDS,))
    return await _best(rooms, terms, view, filters, limit)


async def _here_and_there(
    rooms: Rooms, query: str, view: View, filters: Filters, limit: int
) -> Found:
    """Both start together. The cloud has its deadline; what is here never depends on it."""
    asked = recall(rooms, query[: limits.REMOTE_QUERY_CHARS_MAX], filters, limit)
    async with beside(asked) as asking:
        here = await _here(rooms, query, view, filters, limits.RESULTS_MAX)
        there = await asking
    if there.looked:  # another machine's moves may have come in
        here = await _here(rooms, query, await view_of(rooms), filters, limits.RESULTS_MAX)
    return _fused(here, there, limit)


def _fused(here: Found, there: Recalled, limit: int) -> Found:
    """One list by rank: scores of the two cannot be compared. Each hit keeps that of its source."""
    hits = {hit.record.id: hit for hit in (*there.hits, *here.hits)}
    order = fuse([h.record.id for h in here.hits], [h.record.id for h in there.hits])
    places = {hit.record.id: hit.place for hit in there.hits}
    best = [replace(hits[id_], place=places.get(id_, "")) for id_ in order[:limit]]
    notes = tuple(note for note in here.notes if note != _NO_WORDS or not there.ran)
    if there.unplaced:
        notes += (_UNPLACED.format(there.unplaced),)
    return replace(
        here,
        hits=best,
        mode=f"{here.mode}+supermemory" if there.ran else here.mode,
        notes=notes,
        degraded=there.degraded,
    )


async def _best(
    rooms: Rooms, terms: LexicalQuery, view: View, filters: Filters, limit: int
) -> Found:
    """The best hits, and which better ones could not be read."""
    matches = await together(
        p.index.match(terms, view, filters, limits.CANDIDATES_MAX) for p in rooms.pools
    )
    home = {
        candidate.id: pool
        for pool, match in zip(rooms.pools, matches, strict=True)
        for candidate in match.candidates
    }
    ranked = rank(matches)
    hits: list[Hit] = []
    lost: set[RecordId] = set()
    while ranked and len(hits) < limit:
        wanted, ranked = ranked[: limit - len(hits)], ranked[limit - len(hits) :]
        read = await _read(wanted, home)
        hits.extend(Hit(read[id_], score) for id_, score in wanted if id_ in read)
        lost.update(id_ for id_, _ in wanted if id_ not in read)
    unreadable = [
        await _unreadable(pool, {id_ for id_ in lost if home[id_] is pool}, view)
        for pool in rooms.pools
    ]
    return Found(hits, mode="lexical", unreadable=frozenset[RecordId]().union(*unreadable))


async def _read(
    wanted: list[tuple[RecordId, float]], home: Mapping[RecordId, Pool]
) -> dict[RecordId, Record]:
    """What can be read of these, in one go for each pool."""
    found: dict[RecordId, Record] = {}
    for pool in dict.fromkeys(home[id_] for id_, _ in wanted):
        ids = [id_ for id_, _ in wanted if home[id_] is pool]
        found.update({record.id: record async for record in pool.records.scan(ids)})
    return found


async def _unreadable(pool: Pool, lost: set[RecordId], view: View) -> frozenset[RecordId]:
    """Those of the lost ones that should be there: not what was forgotten a moment ago."""
    if not lost:
        return frozenset()
    return frozenset(await pool.index.visible(lost, view) - await pool.index.to_erase())
