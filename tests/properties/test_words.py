"""A memory is found by its own words, in every script."""

import sys
import unicodedata
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from depth import depth
from fakes import Scribe
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.ranking.query import parse_query
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = pytest.mark.anyio

PER_QUERY = 30


def is_folded(char: str) -> bool:
    """Whether case or accents change the character: where two ways of folding can differ."""
    forms = {char, char.casefold(), char.lower(), char.upper(), unicodedata.normalize("NFKD", char)}
    return char.isalnum() and len(forms) > 1


@pytest.fixture
async def index(tmp_path: Path) -> AsyncGenerator[SqliteIndex]:
    found = SqliteIndex(tmp_path / "index.sqlite3", make_fields, lambda: None)
    await found.mark_complete()
    yield found
    await found.aclose()


async def found_by(index: SqliteIndex, scribe: Scribe, text: str) -> set[RecordId]:
    view = View(chain=frozenset(), now=scribe.clock.now())
    asked = parse_query(text, view.now).every
    found = await index.match(asked, await index.corpus(asked, view), view, Filters(), 60)
    return {candidate.id for candidate in found}


@pytest.mark.nightly
async def test_a_word_with_any_letter_that_folds_is_found_as_it_was_written(
    index: SqliteIndex,
) -> None:
    """Straße, İstanbul, λόγος: SQLite folds its own way, and a question must not fold another."""
    scribe = Scribe()
    every = (chr(code) for code in range(sys.maxunicode + 1))
    letters = [*filter(is_folded, every)][:: depth(25, 1)]
    words = {f"zq{char}xk{number:05}": char for number, char in enumerate(letters)}
    records = {word: scribe.record(word) for word in words}
    await index.add(list(records.values()))

    lost: list[str] = []
    for start in range(0, len(words), PER_QUERY):
        asked = list(words)[start : start + PER_QUERY]
        found = await found_by(index, scribe, " ".join(asked))
        lost += [words[word] for word in asked if records[word].id not in found]

    assert len(words) > depth(80, 2_000)
    assert lost == []


@example(text="Straße", around="")
@example(text="e\u0301te\u0301", around="")
@example(text="Rust", around="🦀")
@example(text="naïve", around="\0")
@given(
    text=st.text(st.characters(categories=["L", "N", "Mn"]), min_size=1, max_size=12),
    around=st.text(st.characters(categories=["S", "P", "Z", "Cc"]), max_size=3),
)
@settings(max_examples=depth(8, 100))
async def test_a_word_is_found_whatever_stands_around_it(
    index: SqliteIndex, text: str, around: str
) -> None:
    """Emoji, signs and spaces are no part of a word, in what is stored and in what is asked."""
    scribe = Scribe()
    if not parse_query(text, scribe.clock.now()).terms:
        return
    record = scribe.record(normalise(f"before {around}{text}{around} after"))  # as it is stored
    await index.add([record])

    assert await found_by(index, scribe, text) == {record.id}
    assert await found_by(index, scribe, f"{around}{text}{around}") == {record.id}
    await index.remove({record.id})
