"""Searches the local indexes, by words and by vectors, and ranks both results as one list."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
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
from memory_mcp.engine.records import gather_all, run_beside
from memory_mcp.engine.workspace import MemoryBank, SemanticIndex, Workspace
from memory_mcp.errors import ModelUnavailableError, StoreError
from memory_mcp.frozen import frozen
from memory_mcp.ranking.analysis import TURN_TERM
from memory_mcp.ranking.order import drop_weak, rank_candidates
from memory_mcp.ranking.query import (
    Query,
    expand_query,
    keep_rarest_terms,
    parse_query,
    suggest_terms,
)
from memory_mcp.ranking.related import list_near, rank_far, select_far, select_near
from memory_mcp.words.table import load_word_table

_NEIGHBOURS_OF_MAX: Final = 20
"""Best candidates whose neighbours are read too."""

_CANDIDATES_MIN: Final = 20
"""Candidates of a small bank beside a large one."""

_QUOTES_MAX: Final = 10
"""Records that hold the whole question word for word, or are of the phase that it names."""

_UNKNOWN_TERMS_MAX: Final = 8
"""Unknown terms of a question for which similar spellings are looked up."""

_DAMAGED: Final = "Damaged vectors were left out ({}): run `memory-mcp doctor --reindex`."
_NOTHING_ENCODED: Final = (
    "Nothing of what was found is encoded yet: it was looked for by its words only. A session "
    "does that beside its work, `memory-mcp doctor --reindex` at once."
)
_MISSING: Final = "Records that are not encoded yet were looked for by their words only ({})."


@frozen
class Matches:
    """The ranked records, and how they were found.

    `every` are the ranked and those for which too little speaks to be shown. `home` is the bank of
    each record. `wholes` are the pooled vectors of the encoded records, and `asked` is that of the
    question. `away` are the ranked ones that do not stand on this commit.
    `degraded` says why the search was by words alone, if an embedder is set up.
    """

    question: Query
    corpus: CorpusStatistics
    ranked: Sequence[RankedCandidate]
    every: Sequence[RankedCandidate]
    home: Mapping[RecordId, MemoryBank]
    fields: Mapping[RecordId, SearchFields]
    wholes: Mapping[RecordId, bytes]
    mode: str
    asked: bytes = b""
    away: Collection[RecordId] = ()
    degraded: str = ""
    notes: tuple[str, ...] = ()


@frozen
class _BankCandidates:
    """The candidates of one bank, and the neighbours of the best of them."""

    bank: MemoryBank
    candidates: Sequence[Candidate]
    around: Sequence[Neighbour] = ()

    @property
    def by_id(self) -> dict[RecordId, Candidate | Neighbour]:
        return {one.id: one for one in (*self.around, *self.candidates)}


@frozen
class _Measured:
    """How near the candidates are in meaning, and their pooled vectors."""

    nearness: SemanticScores
    wholes: Mapping[RecordId, bytes]
    notes: tuple[str, ...]


async def find_local(
    workspace: Workspace,
    query: str,
    view: View,
    filters: Filters,
    most: int = CANDIDATES_MAX,
) -> Matches:
    """The visible records that match, best first; at most `most` candidates are ranked."""
    banks = workspace.banks_of(filters.reach)
    semantic = next((bank.meaning for bank in banks if bank.meaning), None)
    async with run_beside(_encode_query(semantic, query)) as encoding:
        question, near, corpora = await _expand_question(banks, parse_query(query, view.now), view)
        shares = _share_out(corpora, most)
        by_words = await gather_all(
            _find_by_words(bank, question, near, corpus, view=view, filters=filters, share=share)
            for bank, corpus, share in zip(banks, corpora, shares, strict=True)
        )
        encoded = await encoding
    vectors = encoded if isinstance(encoded, QueryVectors) else None
    degraded = encoded if isinstance(encoded, str) else ""
    measured: _Measured | None = None
    try:
        found = await gather_all(
            _collect_candidates(
                bank,
                words,
                partial(_find_by_words, bank, question, near, corpus, view=view, share=share),
                partial(_find_far, bank, question, corpus, view=view, filters=filters),
                vectors,
                view=view,
                filters=filters,
                share=share,
            )
            for bank, words, corpus, share in zip(banks, by_words, corpora, shares, strict=True)
        )
        measured = await _measure_nearness(found, vectors) if vectors else None
    except StoreError as error:  # the vectors failed: words alone
        degraded = str(error)
        found = [_BankCandidates(bank, words) for bank, words in zip(banks, by_words, strict=True)]
    notes = measured.notes if measured else ()
    if measured and not measured.nearness.pooled and any(each.candidates for each in found):
        measured, degraded = None, _NOTHING_ENCODED
    corpus = _add_corpora(corpora)
    every = rank_candidates(
        question,
        corpus,
        [candidate for each in found for candidate in each.candidates],
        [neighbour for each in found for neighbour in each.around],
        measured.nearness if measured else None,
        table=load_word_table(),
        weights=workspace.policy.weights,
        now=view.now,
        every_one=True,
    )
    return Matches(
        question=question,
        corpus=corpus,
        ranked=drop_weak(every)[:most],
        every=every[:most],
        home={id_: each.bank for each in found for id_ in each.by_id},
        fields={id_: one.fields for each in found for id_, one in each.by_id.items()},
        wholes=measured.wholes if measured else {},
        mode="semantic" if measured else "words+table",
        asked=vectors.pooled if vectors else b"",
        degraded=degraded,
        notes=notes,
    )


async def put_elsewhere_behind(matches: Matches, view: View) -> Matches:
    """The matches, those that do not stand on this commit behind those that do.

    The index knows where they lie, so neither git nor a record is asked.
    """
    if not view.away:
        return matches
    here = replace(view, chain=view.chain - view.away)
    ids = [place.id for place in matches.ranked]
    banks = dict.fromkeys(matches.home[id_] for id_ in ids)
    standing = frozenset[RecordId]().union(
        *await gather_all(
            bank.index.visible([id_ for id_ in ids if matches.home[id_] is bank], here)
            for bank in banks
        )
    )
    away = frozenset(ids) - standing
    return replace(
        matches, ranked=sorted(matches.ranked, key=lambda place: place.id in away), away=away
    )


async def _encode_query(semantic: SemanticIndex | None, query: str) -> QueryVectors | str | None:
    """The query's vectors, or why there are none; None if no embedder is set up."""
    if semantic is None:
        return None
    try:
        return await semantic.embedder.question(query)
    except ModelUnavailableError as error:
        return str(error)


async def _expand_question(
    banks: Sequence[MemoryBank], question: Query, view: View
) -> tuple[Query, frozenset[str], Sequence[CorpusStatistics]]:
    """The question with substitutes for terms that no memory holds, and the words near to it.

    And the counts of all these: one visit to an index costs more than some terms.
    """
    table = load_word_table()
    near = list_near(question, table)
    corpora = await _count_terms(banks, {*question.every, *near}, view)
    counts = _add_corpora(corpora).counts
    whole, question = question, keep_rarest_terms(question, counts)
    if question is not whole:
        near = list_near(question, table)
    unknown = [t.text for t in question.terms if not counts.get(t.text)][:_UNKNOWN_TERMS_MAX]
    if not unknown:
        return question, near, corpora
    similar = await _find_similar(banks, unknown)
    if not (names := frozenset[str]().union(*similar.values())):
        return question, near, corpora
    others = await _count_terms(banks, names, view)
    held = {name: n for name, n in _add_corpora(others).counts.items() if n}
    substitutes = {
        term: suggest_terms(term, [(name, held[name]) for name in found if name in held], table)
        for term, found in similar.items()
    }
    both = [
        CorpusStatistics(corpus.records, {**other.counts, **corpus.counts})
        for corpus, other in zip(corpora, others, strict=True)
    ]
    return expand_query(question, substitutes), near, both


async def _count_terms(
    banks: Sequence[MemoryBank], terms: Collection[str], view: View
) -> list[CorpusStatistics]:
    return await gather_all(bank.index.corpus(terms, view) for bank in banks)


async def _find_similar(
    banks: Sequence[MemoryBank], terms: Sequence[str]
) -> Mapping[str, Collection[str]]:
    """For each of the terms those of the banks that are spelt much like it."""
    lists = await gather_all(bank.index.spellings(terms) for bank in banks)
    return {term: dict.fromkeys(name for each in lists for name in each[term]) for term in terms}


async def _find_by_words(
    bank: MemoryBank,
    question: Query,
    near: frozenset[str],
    corpus: CorpusStatistics,
    *,
    view: View,
    filters: Filters,
    share: int,
) -> Sequence[Candidate]:
    """The records that hold the words in a row, of the phase that is asked for, and of the words.

    Those with words and with related ones are taken in turn.
    """
    if not corpus.records:
        return ()
    async with run_beside(_find_quotes(bank, question, corpus, view, filters)) as quoting:
        matched = await bank.index.match(question.every, corpus, view, filters, share)
        if corpus.records <= share:  # so few that each can be compared
            others = await bank.index.newest(view, filters, share)
        else:
            few = select_near(question, near, corpus)
            others = await bank.index.match(few, corpus, view, filters, share) if few else ()
        quoted = await quoting
    asked = [term.text for term in question.terms if term.kind == "phase"]
    phased = await bank.index.match(asked, corpus, view, filters, _QUOTES_MAX) if asked else ()
    turns = (one for turn in zip_longest(matched, others) for one in turn if one is not None)
    return list({one.id: one for one in (*quoted, *phased, *turns)}.values())


async def _find_far(
    bank: MemoryBank,
    question: Query,
    corpus: CorpusStatistics,
    share: int,
    *,
    view: View,
    filters: Filters,
) -> Sequence[Candidate]:
    """The records with words far from those of the question, where no nearer ones are left."""
    if corpus.records <= share:  # each is a candidate
        return ()
    far = rank_far(question, corpus, load_word_table())
    known = await bank.index.corpus(far, view)
    few = select_far(far, known.counts)
    return await bank.index.match(few, known, view, filters, share) if few else ()


async def _find_quotes(
    bank: MemoryBank, question: Query, corpus: CorpusStatistics, view: View, filters: Filters
) -> Sequence[Candidate]:
    """Those that hold all words in a row; beside a word that no memory holds there are none."""
    if any(corpus.counts.get(term) == 0 for term in question.row):
        return ()
    return await bank.index.quote(question.row, view, filters, _QUOTES_MAX)


async def _collect_candidates(
    bank: MemoryBank,
    words: Sequence[Candidate],
    find_by_words: Callable[..., Awaitable[Sequence[Candidate]]],
    find_far: Callable[[int], Awaitable[Sequence[Candidate]]],
    vectors: QueryVectors | None,
    *,
    view: View,
    filters: Filters,
    share: int,
) -> _BankCandidates:
    """The bank's candidates. What does not stand on this commit takes no place from what does."""
    choose = partial(_choose_candidates, bank, vectors=vectors, view=view, share=share)
    if not vectors and len(words) < share:
        words = [*words, *await find_far(share)]
    candidates = await choose(words, filters=filters)
    if view.away and len(candidates) == share:
        here = replace(filters, away=view.away)
        standing = await choose(await find_by_words(filters=here), filters=here)
        both = {candidate.id: candidate for candidate in (*standing, *candidates)}
        candidates = list(both.values())[:share]
    turns = [one.id for one in candidates if TURN_TERM in one.fields.extra]
    if not turns:  # statements are read alone
        return _BankCandidates(bank, candidates)
    around = await bank.index.around(turns[:_NEIGHBOURS_OF_MAX], view, filters)
    return _BankCandidates(bank, candidates, around)


async def _choose_candidates(
    bank: MemoryBank,
    words: Sequence[Candidate],
    vectors: QueryVectors | None,
    *,
    view: View,
    filters: Filters,
    share: int,
) -> list[Candidate]:
    """Those by words and those by vectors in turn, because their scores cannot be compared."""
    near: Sequence[Candidate] = ()
    if vectors and bank.meaning:
        find_near = bank.meaning.vectors.near
        identity = bank.meaning.embedder.identity
        near = await bank.index.run(
            lambda: find_near(identity, vectors.pooled, view, filters, share), partial=True
        )
    turns = (one for turn in zip_longest(words, near) for one in turn if one is not None)
    return list({candidate.id: candidate for candidate in turns}.values())[:share]


async def _measure_nearness(found: Sequence[_BankCandidates], query: QueryVectors) -> _Measured:
    """Compare all candidates and neighbours with the query, token by token."""
    from memory_mcp.ranking.late_interaction import measure_nearness  # noqa: PLC0415  # numpy

    reads = await gather_all(_load_vectors(each) for each in found)
    passages = {id_: each for read, _ in reads for id_, each in read.passages.items()}
    damaged = sum(read.damaged for read, _ in reads)
    missing = sum(missing for _, missing in reads)
    notes = [(_DAMAGED, damaged), (_MISSING, missing)]
    return _Measured(
        await asyncio.to_thread(measure_nearness, query, passages),
        {id_: passage[0].pooled for id_, passage in passages.items()},
        tuple(note.format(number) for note, number in notes if number),
    )


async def _load_vectors(found: _BankCandidates) -> tuple[StoredVectors, int]:
    """The vectors of one bank's candidates, and how many records of the bank have none yet."""
    if (semantic := found.bank.meaning) is None:
        return StoredVectors({}), 0
    identity = semantic.embedder.identity
    ids = found.by_id.keys()
    read = await found.bank.index.run(lambda: semantic.vectors.vectors(identity, ids), partial=True)
    return read, await semantic.vectors.missing(identity)


def _share_out(corpora: Sequence[CorpusStatistics], most: int) -> list[int]:
    """How many candidates each bank may offer: in proportion to its size, and always a few."""
    total = sum(corpus.records for corpus in corpora) or 1
    few = min(_CANDIDATES_MIN, most)
    return [max(few, round(most * corpus.records / total)) for corpus in corpora]


def _add_corpora(corpora: Sequence[CorpusStatistics]) -> CorpusStatistics:
    counts: dict[str, int] = {}
    for corpus in corpora:
        for term, count in corpus.counts.items():
            counts[term] = counts.get(term, 0) + count
    return CorpusStatistics(sum(corpus.records for corpus in corpora), counts)
