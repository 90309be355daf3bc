"""What is here and matches: by words and, with an embedder, by meaning; both ranked as one."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import CANDIDATES_MAX
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Filters,
    Neighbour,
    QueryVectors,
    RankedCandidate,
    SearchFields,
    SemanticScores,
    StoredVectors,
    View,
)
from memory_mcp.engine.reading import beside, together
from memory_mcp.engine.workspace import Meaning, Pool, Workspace
from memory_mcp.errors import ModelUnavailableError, StoreError
from memory_mcp.ranking.order import rank_candidates
from memory_mcp.ranking.query import (
    Query,
    expand_query,
    keep_rarest_terms,
    parse_query,
    suggest_terms,
)

_LOOKED_AROUND: Final = 20
"""For how many of the candidates their neighbours are looked at too."""

_CANDIDATES_MIN: Final = 20
"""What a small pool may offer beside a large one."""

_UNKNOWN_TERMS_MAX: Final = 8
"""Terms of a question that are looked up for what may be meant."""

_DAMAGED: Final = "{} damaged row(s) of vectors were left out: run `memory-mcp reindex`."
_NOTHING_ENCODED: Final = (
    "Nothing of what was found is encoded yet: it was looked for by its words only. A session "
    "does that beside its work, `memory-mcp reindex` at once."
)
_MISSING: Final = "{} record(s) are not encoded yet and were looked for by their words only."


@dataclass(frozen=True)
class Matches:
    """The order with scores, what was looked for and found, and in which mode.

    `degraded` says why no better mode ran; `home` whose each record is; `wholes` are the pooled
    vectors of those that are encoded.
    """

    terms: Sequence[str]
    ranked: Sequence[RankedCandidate]
    home: Mapping[RecordId, Pool]
    fields: Mapping[RecordId, SearchFields]
    wholes: Mapping[RecordId, bytes]
    mode: str
    degraded: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidates:
    """What one pool has to offer, and what stands beside the best of it."""

    pool: Pool
    candidates: Sequence[Candidate]
    around: Sequence[Neighbour] = ()

    @property
    def every(self) -> dict[RecordId, Candidate | Neighbour]:
        return {one.id: one for one in (*self.around, *self.candidates)}


@dataclass(frozen=True)
class _Asked:
    """The question's vectors, if there are any, from where it is asked, and for which records."""

    vectors: QueryVectors | None
    view: View
    filters: Filters


@dataclass(frozen=True)
class _Meant:
    """How near the candidates are in meaning, by which vectors, and what could not be compared."""

    nearness: SemanticScores
    wholes: Mapping[RecordId, bytes]
    notes: tuple[str, ...]


async def find_here(
    workspace: Workspace, query: str, view: View, filters: Filters, most: int = CANDIDATES_MAX
) -> Matches:
    """What is visible and may be meant, best first: so many candidates are ranked."""
    pools = workspace.pools_of(filters.reach)
    meaning = next((pool.meaning for pool in pools if pool.meaning), None)
    async with beside(_vectors_of(meaning, query)) as encoding:
        question, corpora = await _understood(pools, parse_query(query, view.now), view)
        shares = _shares(corpora, most)
        by_words = await together(
            pool.index.match(question.every, corpus, view, filters, share)
            for pool, corpus, share in zip(pools, corpora, shares, strict=True)
        )
        vectors = await encoding
    degraded = vectors if isinstance(vectors, str) else ""
    asked = _Asked(vectors if isinstance(vectors, QueryVectors) else None, view, filters)
    meant: _Meant | None = None
    try:
        found = await together(
            _gathered(pool, words, asked, share)
            for pool, words, share in zip(pools, by_words, shares, strict=True)
        )
        meant = await _compared(found, asked.vectors) if asked.vectors else None
    except StoreError as error:  # the vectors: words do without
        degraded = str(error)
        found = [_Candidates(pool, words) for pool, words in zip(pools, by_words, strict=True)]
    notes = meant.notes if meant else ()
    if meant and not meant.nearness.pooled and any(each.candidates for each in found):
        meant, degraded = None, _NOTHING_ENCODED
    ranked = rank_candidates(
        question,
        _sum(corpora),
        [candidate for each in found for candidate in each.candidates],
        [neighbour for each in found for neighbour in each.around],
        meant.nearness if meant else None,
        weights=workspace.policy.weights,
        now=view.now,
    )
    return Matches(
        terms=question.every,
        ranked=ranked[:most],
        home={id_: each.pool for each in found for id_ in each.every},
        fields={id_: one.fields for each in found for id_, one in each.every.items()},
        wholes=meant.wholes if meant else {},
        mode="semantic" if meant else "lexical",
        degraded=degraded,
        notes=notes,
    )


async def _vectors_of(meaning: Meaning | None, query: str) -> QueryVectors | str | None:
    """The question's vectors, or why there are none; None if nobody set up an embedder."""
    if meaning is None:
        return None
    try:
        return await meaning.embedder.question(query)
    except ModelUnavailableError as error:
        return str(error)


async def _understood(
    pools: Sequence[Pool], question: Query, view: View
) -> tuple[Query, Sequence[CorpusStatistics]]:
    """The question with what may be meant by terms that no memory holds, and all their counts."""
    corpora = await together(pool.index.corpus(question.every, view) for pool in pools)
    counts = _sum(corpora).counts
    question = keep_rarest_terms(question, counts)
    unknown = [t.text for t in question.terms if not counts.get(t.text)][:_UNKNOWN_TERMS_MAX]
    instead = {term: await _instead(pools, term, view) for term in unknown}
    if not any(instead.values()):
        return question, corpora
    question = expand_query(question, instead)
    return question, await together(pool.index.corpus(question.every, view) for pool in pools)


async def _instead(pools: Sequence[Pool], term: str, view: View) -> Sequence[str]:
    """What may be meant by a term that no visible record holds: only what one does hold."""
    lists = await together(pool.index.spellings(term) for pool in pools)
    names = {name for each in lists for name, _ in each}
    seen = _sum(await together(pool.index.corpus(names, view) for pool in pools)).counts
    return suggest_terms(term, [(name, n) for name, n in seen.items() if n])


async def _gathered(
    pool: Pool, words: Sequence[Candidate], asked: _Asked, share: int
) -> _Candidates:
    near: Sequence[Candidate] = ()
    if asked.vectors and pool.meaning:
        vectors, identity = pool.meaning.vectors, pool.meaning.embedder.identity
        look = partial(vectors.near, identity, asked.vectors.pooled, asked.view, asked.filters)
        near = await pool.index.healed(partial(look, share))
    candidates = _mixed(words, near)[:share]
    if not candidates:
        return _Candidates(pool, ())
    best = {candidate.id for candidate in candidates[:_LOOKED_AROUND]}
    around = await pool.index.around(best, asked.view, asked.filters)
    return _Candidates(pool, candidates, around)


def _mixed(*lists: Sequence[Candidate]) -> list[Candidate]:
    """The best of each list in turn, each once: a place counts, figures cannot be compared."""
    turns = (one for turn in zip_longest(*lists) for one in turn if one is not None)
    found = {candidate.id: candidate for candidate in turns}
    return list(found.values())


async def _compared(found: Sequence[_Candidates], asked: QueryVectors) -> _Meant:
    """All that was found, with its neighbours, against the question: token by token."""
    from memory_mcp.ranking.late_interaction import measure_nearness  # noqa: PLC0415  # numpy

    reads = await together(_encoded(each) for each in found)
    passages = {id_: each for read, _ in reads for id_, each in read.passages.items()}
    damaged = sum(read.damaged for read, _ in reads)
    missing = sum(missing for _, missing in reads)
    notes = [(_DAMAGED, damaged), (_MISSING, missing)]
    return _Meant(
        await asyncio.to_thread(measure_nearness, asked, passages),
        {id_: passage[0].pooled for id_, passage in passages.items()},
        tuple(note.format(number) for note, number in notes if number),
    )


async def _encoded(found: _Candidates) -> tuple[StoredVectors, int]:
    """The vectors of what one pool has to offer, and how many of its records have none yet."""
    if (meaning := found.pool.meaning) is None:
        return StoredVectors({}), 0
    identity = meaning.embedder.identity
    read = partial(meaning.vectors.vectors, identity, found.every.keys())
    return await found.pool.index.healed(read), await meaning.vectors.missing(identity)


def _shares(corpora: Sequence[CorpusStatistics], most: int) -> list[int]:
    """How many candidates each pool may offer: as many as it is large, and always a few."""
    whole = sum(corpus.records for corpus in corpora) or 1
    few = min(_CANDIDATES_MIN, most)
    return [max(few, round(most * corpus.records / whole)) for corpus in corpora]


def _sum(corpora: Sequence[CorpusStatistics]) -> CorpusStatistics:
    """Several stores as one."""
    counts: dict[str, int] = {}
    for corpus in corpora:
        for term, count in corpus.counts.items():
            counts[term] = counts.get(term, 0) + count
    return CorpusStatistics(sum(corpus.records for corpus in corpora), counts)
