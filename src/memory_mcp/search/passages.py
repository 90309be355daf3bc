"""Finds in a long memory the passage that matched: a result shows that, and where it stands."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Candidate, Hit, Passage, RerankWeights, View
from memory_mcp.ranking.analysis import analyse_text
from memory_mcp.ranking.order import rank_candidates
from memory_mcp.search.local import Matches
from memory_mcp.text.sentences import split_pieces
from memory_mcp.words.table import load_word_table

_LONG_CHARS_MIN: Final = 1_200
"""A shorter memory is shown whole: two passages of it would be as long."""
_PASSAGE_CHARS_MAX: Final = 600
"""A paragraph: what stands around a sentence says what it is about."""


def add_passages(hits: Sequence[Hit], matches: Matches, view: View) -> list[Hit]:
    """The hits, those of long memories with the passage that matched best."""
    return [
        replace(hit, passage=_find_passage(hit.record, matches, view))
        if len(hit.record.content) > _LONG_CHARS_MIN
        else hit
        for hit in hits
    ]


def _find_passage(record: Record, matches: Matches, view: View) -> Passage:
    """The best piece, as candidates of the same question are ranked; else the first."""
    pieces: dict[RecordId, Passage] = {}
    end = 0
    for number, text in enumerate(split_pieces(record.content, _PASSAGE_CHARS_MAX)):
        start = record.content.index(text, end)
        end = start + len(text)
        pieces[RecordId(f"{number:04}")] = Passage(text, start, end)
    candidates = [
        Candidate(id_, analyse_text(piece.text), 0, pinned=False, created_at="")
        for id_, piece in pieces.items()
    ]
    ranked = rank_candidates(
        matches.question, matches.corpus, candidates, (), None,
        table=load_word_table(), weights=RerankWeights(), now=view.now,
    )  # fmt: skip
    return pieces[ranked[0].id] if ranked else pieces[RecordId("0000")]
