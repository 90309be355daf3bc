"""Stores in memory, to measure the ranking without an index: what FTS5 would find is computed here.

A store is a conversation of `recall_sets`. Candidates are what the server takes: the best by words
(BM25 over all units) and by meaning (exact) in turn, with the two units before and after each of
the first in its session. A term that no unit holds is looked for by what may be meant. An
embedder's vectors come from `Vectors`, which keeps what it encoded in one file, since encoding
takes longer than everything else.
"""

import math
import pickle
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from recall_sets import Conversation

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import CANDIDATES_MAX
from memory_mcp.domain.record import Record, Scope
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Neighbour,
    PassageVectors,
    QueryVectors,
    RankedCandidate,
    RerankWeights,
    SearchFields,
    SemanticScores,
)
from memory_mcp.models.encoder import Encoder
from memory_mcp.ranking.analysis import extract_fields, make_encoder_text
from memory_mcp.ranking.evidence import Evidence, gather_evidence
from memory_mcp.ranking.late_interaction import measure_nearness
from memory_mcp.ranking.order import rank_candidates
from memory_mcp.ranking.query import (
    Query,
    expand_query,
    keep_rarest_terms,
    parse_query,
    suggest_terms,
)
from memory_mcp.ranking.related import list_near, rank_far, select_far, select_near
from memory_mcp.storage.index_rules import split_trigrams
from memory_mcp.words.table import load_word_table

__all__ = ["NOW", "Found", "Store", "Vectors"]

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_LOOKED_AROUND: Final = 20
_SPELLINGS_MAX: Final = 30
"""As `search/local.py` and the index have them."""
_COLUMNS: Final = {"body": 1.0, "names": 0.6, "dates": 0.5, "extra": 0.6}
_STEPS: Final = (-2, -1, 1, 2)

Array = NDArray[np.float64]


class Vectors:
    """Vectors of texts, each computed once; `keep` writes the file."""

    def __init__(self, model: Path, kept: Path) -> None:
        self._encoder = Encoder(model)
        self._kept = kept
        self._passages: dict[str, PassageVectors] = {}
        self._questions: dict[str, QueryVectors] = {}
        if kept.exists():
            # our own file, written below
            self._passages, self._questions = pickle.loads(kept.read_bytes())  # noqa: S301

    def passage(self, text: str) -> PassageVectors:
        """The vectors of a memory."""
        if text not in self._passages:
            self._passages[text] = self._encoder.passage(text)
        return self._passages[text]

    def question(self, text: str) -> QueryVectors:
        """The vectors of a question."""
        if text not in self._questions:
            self._questions[text] = self._encoder.question(text)
        return self._questions[text]

    def keep(self) -> None:
        """Write down what was encoded."""
        self._kept.write_bytes(pickle.dumps((self._passages, self._questions)))


@dataclass(frozen=True)
class Found:
    """What a search has to rank."""

    question: Query
    corpus: CorpusStatistics
    candidates: Sequence[Candidate]
    neighbours: Sequence[Neighbour]
    nearness: SemanticScores | None
    by_words: Array
    by_meaning: Array | None
    """Of each unit of the store, in order."""

    def evidence(self) -> dict[RecordId, Evidence]:
        """What speaks for each candidate and each neighbour."""
        return gather_evidence(
            self.question, self.corpus, self.candidates, self.neighbours, self.nearness,
            table=load_word_table(),
        )  # fmt: skip

    def ranked(self) -> list[RankedCandidate]:
        """The answer that the server would give."""
        return rank_candidates(
            self.question, self.corpus, self.candidates, self.neighbours, self.nearness,
            table=load_word_table(), weights=RerankWeights(), now=NOW,
        )  # fmt: skip


class Store:
    """One conversation, analysed as the server would."""

    def __init__(self, conversation: Conversation, vectors: Vectors | None) -> None:
        self.conversation = conversation
        self.units = conversation.units
        self.ids = [RecordId(unit.id) for unit in self.units]
        self._places = {record_id: place for place, record_id in enumerate(self.ids)}
        self._vectors = vectors
        records = [_record(unit.text, unit.category, unit.tags) for unit in self.units]
        self.fields = [extract_fields(record) for record in records]
        self._lengths = np.array([each.body.count(" ") + 1 for each in self.fields], float)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, each in enumerate(self.fields):
            for term, times in _times(each).items():
                self._postings[term].append((place, times))
        self._spelled: dict[str, list[str]] = defaultdict(list)
        for term in self._postings:
            for part in split_trigrams(term):
                self._spelled[part].append(term)
        self._passages = (
            [vectors.passage(make_encoder_text(each)) for each in records] if vectors else []
        )

    def part(self, first: int, size: int) -> "Store":
        """A store of so many of these units, from the first on."""
        units = self.units[first : first + size]
        return Store(replace(self.conversation, units=units), self._vectors)

    def holding(self, term: str) -> frozenset[str]:
        """The ids of the units that hold a term."""
        return frozenset(self.units[place].id for place, _ in self._postings.get(term, ()))

    def find(self, text: str) -> Found:
        """The candidates of a question with all that is known of them."""
        question = self._understood(parse_query(text, NOW))
        corpus = CorpusStatistics(len(self.units), self._counts(question.every))
        vectors = self._vectors.question(text) if self._vectors else None
        by_words = self._by_words(question)
        by_meaning = self._by_meaning(vectors) if vectors else None
        places = mixed(by_words, by_meaning, self._others(question, corpus))
        if vectors is None and len(places) < min(CANDIDATES_MAX, len(self.units)):
            far = self._far(question, corpus)
            places = [*dict.fromkeys((*places, *far))][:CANDIDATES_MAX]
        candidates = [self._candidate(place) for place in places]
        neighbours = [each for place in places[:_LOOKED_AROUND] for each in self._neighbours(place)]
        near = None
        if vectors:
            passages = {
                self.ids[place]: self._passages[place]
                for place in {self._places[one.id] for one in (*candidates, *neighbours)}
            }
            near = measure_nearness(vectors, passages)
        return Found(question, corpus, candidates, neighbours, near, by_words, by_meaning)

    def _others(self, question: Query, corpus: CorpusStatistics) -> list[int]:
        """What has no word of the question: all of a small store, or what has related words."""
        if len(self.units) <= CANDIDATES_MAX:
            return [*reversed(range(len(self.units)))]
        near = list_near(question, load_word_table())
        known = replace(corpus, counts=self._counts([*near]))
        return self._find_any(select_near(question, near, known))

    def _far(self, question: Query, corpus: CorpusStatistics) -> list[int]:
        far = rank_far(question, corpus, load_word_table())
        return self._find_any(select_far(far, self._counts(far)))

    def _find_any(self, terms: Sequence[str]) -> list[int]:
        scores = self._score(terms)
        return [place for place in _best(scores) if scores[place] > 0]

    def _understood(self, question: Query) -> Query:
        """The question with what may be meant by terms that no unit holds."""
        question = keep_rarest_terms(question, self._counts(question.every))
        unknown = [term.text for term in question.terms if term.text not in self._postings]
        return expand_query(question, {term: self._instead(term) for term in unknown})

    def _instead(self, term: str) -> Sequence[str]:
        shared = Counter(
            other for part in split_trigrams(term) for other in self._spelled.get(part, ())
        )
        order = sorted(shared, key=lambda other: (-shared[other] / (len(other) + len(term)), other))
        return suggest_terms(
            term, [*self._counts(order[:_SPELLINGS_MAX]).items()], load_word_table()
        )

    def _counts(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: len(self._postings.get(term, ())) for term in terms}

    def _candidate(self, place: int) -> Candidate:
        return Candidate(self.ids[place], self.fields[place], 3, pinned=False, created_at="")

    def _neighbours(self, place: int) -> list[Neighbour]:
        session = self.units[place].session
        return [
            Neighbour(self.ids[place], steps, self.ids[other], self.fields[other])
            for steps in _STEPS
            if session
            and 0 <= (other := place + steps) < len(self.units)
            and self.units[other].session == session
        ]

    def _by_words(self, question: Query) -> Array:
        return self._score(question.every)

    def _score(self, terms: Sequence[str]) -> Array:
        scores = np.zeros(len(self.units))
        mean = self._lengths.mean()
        for term in terms:
            found = self._postings.get(term, ())
            weight = math.log1p((len(self.units) - len(found) + 0.5) / (len(found) + 0.5))
            for place, times in found:
                room = 1.2 * (0.25 + 0.75 * self._lengths[place] / mean)
                scores[place] += weight * times * 2.2 / (times + room)
        return scores

    def _by_meaning(self, question: QueryVectors) -> Array:
        asked = np.frombuffer(question.pooled, "<f4")
        return np.array(
            [
                max(float(np.frombuffer(chunk.pooled, np.int8) @ asked) / 127 for chunk in passage)
                for passage in self._passages
            ]
        )


def mixed(by_words: Array, by_meaning: Array | None, others: Sequence[int]) -> list[int]:
    """The places of the best of both lists in turn."""
    words = [place for place in _best(by_words) if by_words[place] > 0]
    words = [place for turn in zip_longest(words, others) for place in turn if place is not None]
    meant = [] if by_meaning is None else _best(by_meaning)
    turns = (one for turn in zip_longest(words, meant) for one in turn if one is not None)
    return list(dict.fromkeys(turns))[:CANDIDATES_MAX]


def _best(scores: Array) -> list[int]:
    return np.argsort(-scores, kind="stable")[:CANDIDATES_MAX].tolist()


def _record(text: str, category: str, tags: tuple[str, ...]) -> Record:
    return Record(
        id=RecordId("019c1476-4898-7000-8000-000000000000"), kind="fact", content=text,
        category=category, tags=tags, scope=Scope(user="u"), created_at=NOW,
    )  # fmt: skip


def _times(fields: SearchFields) -> Mapping[str, float]:
    times: Counter[str] = Counter()
    for name, factor in _COLUMNS.items():
        for term in getattr(fields, name).split():
            times[term] += factor  # pyright: ignore[reportArgumentType]  # weighted counts
    return times
