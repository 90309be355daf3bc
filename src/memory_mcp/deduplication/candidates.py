"""Which visible memories resemble a new one: by words and, with a model of our own, by meaning.

What is found by meaning is asked of an embedder on this machine only: a write waits for no network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, zip_longest
from math import log
from typing import Final

from memory_mcp.domain.deduplication import Merging
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Candidate, CorpusStatistics, Filters, QueryVectors, View
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Pool
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.ranking.analysis import extract_fields, make_encoder_text
from memory_mcp.text.merge import Statement, is_comparable, score_similarity

_ASKED_MAX: Final = 10
"""Of a longer statement the longest words: the same fact has them as well, and they are rare."""
_MATCHES_MAX: Final = 200
"""Words are looked for, the rarest first, until together they are in so many memories."""
_TERMS_MIN: Final = 2
_TOLD_MIN: Final = 0.25
_HELD_MIN: Final = 0.5
_COSINE_MIN: Final = 0.6
"""Of the new one's words, by how rare they are; of the old one's words; of what both mean.

What has less of all three is another matter.
"""
_MORE: Final = 2
"""How many are looked at for each that is wanted: some are of another kind or category."""


@dataclass(frozen=True)
class Alike:
    """A memory that may be the same fact, with its likeness (0-1) and both as statements."""

    record: Record
    score: float
    old: Statement
    new: Statement

    @property
    def overlap(self) -> bool:
        """Whether they share a word or a number."""
        return not set(self.old.terms).isdisjoint(self.new.terms)


async def alike(pool: Pool, new: Record, view: View, merging: Merging) -> list[Alike]:
    """The most alike first; none if nothing is to be compared."""
    wanted = max(merging.topk, merging.fallback_topk if merging.fallback_enabled else 0)
    if not wanted:
        return []
    ours = tuple(extract_fields(new).body.split())
    filters = Filters(category=new.category)
    telling = sorted(set(ours), key=lambda term: (-len(term), term))[:_ASKED_MAX]
    corpus = await pool.index.corpus(telling, view)
    weights = {term: log(1 + corpus.records / (1 + n)) for term, n in corpus.counts.items()}
    by_words = await _by_words(pool, corpus, view, filters, wanted * _MORE)
    asked = await _asked(pool, new)
    by_meaning = await _by_meaning(pool, asked, view, filters, wanted * _MORE)
    pairs = zip_longest(by_words, by_meaning)
    terms = {one.id: tuple(one.fields.body.split()) for pair in pairs for one in pair if one}
    cosines = await _cosines(pool, asked, list(terms))
    near = [id_ for id_ in terms if _related(weights, terms[id_], cosines.get(id_))]
    found = [
        _compared(
            record,
            Statement(_text(record, beside=new), terms[record.id]),
            Statement(_text(new, beside=record), ours),
            cosines.get(record.id),
        )
        for record in await load_records(pool, near)
        if is_comparable(new, record)
    ]
    return sorted(found, key=lambda one: (one.score, one.record.id), reverse=True)


def _related(weights: Mapping[str, float], theirs: Sequence[str], cosine: float | None) -> bool:
    """Whether it is worth looking closer: a few common words of many reach no band."""
    shared = weights.keys() & set(theirs)
    told = sum(weights[term] for term in shared) >= _TOLD_MIN * sum(weights.values())
    held = len(shared) >= _HELD_MIN * len(set(theirs))
    return told or held or (cosine is not None and cosine >= _COSINE_MIN)


def _text(record: Record, *, beside: Record) -> str:
    """What is compared: with the title where both have one, because it may name what is meant."""
    titled = record.title and beside.title
    return make_encoder_text(record) if titled else record.content


def _compared(record: Record, old: Statement, new: Statement, cosine: float | None) -> Alike:
    return Alike(record, score_similarity(new, old, cosine), old=old, new=new)


async def _by_words(
    pool: Pool, corpus: CorpusStatistics, view: View, filters: Filters, limit: int
) -> Sequence[Candidate]:
    """What has the telling words of a statement: the same fact has most of them."""
    rising = sorted((n, term) for term, n in corpus.counts.items() if n)
    running = accumulate(n for n, _ in rising)
    few = [term for (_, term), n in zip(rising, running, strict=True) if n <= _MATCHES_MAX]
    telling = few if len(few) >= _TERMS_MIN else [term for _, term in rising[:_TERMS_MIN]]
    return await pool.index.match(telling, corpus, view, filters, limit)


async def _asked(pool: Pool, new: Record) -> QueryVectors | None:
    """What the new memory means, if a model on this machine can say so."""
    if pool.meaning is None or not pool.meaning.embedder.here:
        return None
    try:
        return await pool.meaning.embedder.question(make_encoder_text(new))
    except ModelUnavailableError:  # words do without
        return None


async def _by_meaning(
    pool: Pool, asked: QueryVectors | None, view: View, filters: Filters, limit: int
) -> Sequence[Candidate]:
    if asked is None or pool.meaning is None:
        return ()
    vectors, identity = pool.meaning.vectors, pool.meaning.embedder.identity
    return await pool.index.run(partial(vectors.near, identity, asked.pooled, view, filters, limit))


async def _cosines(
    pool: Pool, asked: QueryVectors | None, ids: Sequence[RecordId]
) -> Mapping[RecordId, float]:
    """How near each of these is as a whole; those that are not encoded yet are left out."""
    if asked is None or pool.meaning is None or not ids:
        return {}
    from memory_mcp.ranking.late_interaction import measure_nearness  # noqa: PLC0415  # numpy

    read = await pool.meaning.vectors.vectors(pool.meaning.embedder.identity, ids)
    return measure_nearness(replace(asked, tokens=b"", spans=()), read.passages).pooled
