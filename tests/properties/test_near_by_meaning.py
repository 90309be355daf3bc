"""Recall by meaning, of any records: only what is visible and wanted, in whatever order."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from any_records import FILTERS, RECORDS_MAX, VIEWS, WORDS, records
from depth import depth
from fake_embedder import FakeEmbedder
from fakes import SCOPE, START, fake_workspace
from hypothesis import given, settings
from hypothesis import strategies as st
from stores_in_memory import MemoryIndex, MemoryRecords
from vector_doors import ASKED, MODEL, away
from vectors_in_memory import MemoryVectors

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.search import Chunk, Filters, QueryVectors, View
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.index_sync import SelfHealingIndex
from memory_mcp.engine.workspace import MemoryBank, SemanticIndex
from memory_mcp.ranking.late_interaction import measure_nearness
from memory_mcp.ranking.query import matches_filters
from memory_mcp.search.local import Matches, find_local
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.sqlite.vectors import SqliteVectors
from memory_mcp.timeline.visibility import select_visible

pytestmark = pytest.mark.anyio

FILES = itertools.count()
SYNONYMS = (("apple", "pome"), ("pear", "pyrus"))
QUERIES = st.lists(
    st.sampled_from([*WORDS, "pome", "pyrus", "kiwi"]), min_size=1, max_size=4, unique=True
).map(" ".join)
REACHES: list[Reach | None] = [None, None, "project", "user"]
MODES = st.sampled_from(["words+table", "semantic", "degraded"])


def reaching(filters: Filters, reach: Reach | None) -> Filters:
    return replace(filters, reach=reach)


def searched(filters: Filters) -> Filters:
    """No search asks for a statement."""
    return replace(filters, statement="")


SEARCHED = st.builds(searched, FILTERS)
REACHED = st.builds(reaching, SEARCHED, st.sampled_from(REACHES))


def wanted(written: Sequence[Record], view: View, filters: Filters) -> set[RecordId]:
    """What the pure rule says may be found."""
    return {
        r.id for r in select_visible(written, view) if r.recalled and matches_filters(r, filters)
    }


@given(
    records(),
    st.lists(VIEWS, min_size=1, max_size=3),
    SEARCHED,
    st.permutations(range(24)),
    st.integers(1, 2),
    st.integers(0, 20),
)
@settings(max_examples=depth(6, 1200))
async def test_sql_and_the_pure_rule_find_the_same_near(  # noqa: PLR0917  # drawn, not called
    tmp_path: Path,
    written: list[Record],
    views: list[View],
    filters: Filters,
    steps: list[int],
    chunks: int,
    put_back: int,
) -> None:
    """Any records, any of them encoded, in any order and removed again: the same list."""
    index, oracle = (
        SqliteIndex(tmp_path / f"{next(FILES)}", make_fields, lambda: None),
        MemoryIndex(),
    )
    sides = [(index, SqliteVectors(index)), (oracle, MemoryVectors(oracle))]
    made = {
        r.id: tuple(away(steps[chunks * n + k]) for k in range(chunks))
        for n, r in enumerate(written[:12])
    }
    gone = [r.id for r in written[put_back:][:2]]
    for side, vectors in sides:
        await side.mark_complete()
        await vectors.claim(MODEL, 0, START, START)
        await side.add(written[::2])
        await vectors.keep(MODEL, made)
        await side.add(written)
        await vectors.keep(MODEL, {id_: made[id_] for id_ in list(made)[1::2]})
        await side.remove(gone)
    there = [r for r in written if r.id not in gone]
    for view, limit in itertools.product(views, (1, 3, 99)):
        mine, theirs = [
            await vectors.near(MODEL, ASKED, view, filters, limit) for _, vectors in sides
        ]
        assert mine == theirs
        assert {candidate.id for candidate in mine} <= wanted(there, view, filters)
    ids = [r.id for r in written]
    assert await sides[0][1].vectors(MODEL, ids) == await sides[1][1].vectors(MODEL, ids)
    assert await sides[0][1].missing(MODEL) == await sides[1][1].missing(MODEL)
    await index.aclose()


async def found(
    path: Path,
    written: Sequence[Record],
    encoded: Sequence[Record],
    asked: tuple[str, View, Filters, str],
) -> Matches:
    """What is found in one mode of these records, of which those are encoded, in these orders."""
    query, view, filters, mode = asked
    index = SqliteIndex(path / f"{next(FILES)}", make_fields, lambda: None)
    model, vectors = FakeEmbedder(synonyms=SYNONYMS), SqliteVectors(index)
    await index.mark_complete()
    await index.add(written)
    await vectors.claim(model.identity, 0, START, START)
    for record in encoded:
        [passage] = await model.passages([record.content])
        await vectors.keep(model.identity, {record.id: passage})
    meaning = None if mode == "words+table" else SemanticIndex(model, vectors, asyncio.Event())
    model.failing = "It is down." if mode == "degraded" else ""
    bank = MemoryBank(MemoryRecords(), SelfHealingIndex(index, MemoryRecords()), meaning=meaning)
    matches = await find_local(replace(fake_workspace(), project=bank), query, view, filters)
    await index.aclose()
    return matches


@given(
    records(),
    st.integers(0, 3),
    st.tuples(QUERIES, VIEWS, REACHED, MODES),
    st.permutations(range(RECORDS_MAX)),
)
@settings(max_examples=depth(6, 1200))
async def test_no_mode_finds_what_is_not_visible_or_not_wanted(
    tmp_path: Path,
    written: list[Record],
    unencoded: int,
    asked: tuple[str, View, Filters, str],
    places: list[int],
) -> None:
    """DESIGN 3.5, for words, for meaning, and for words where meaning was asked for.

    The order in which records and vectors came in means nothing. Scores are in 0-1 and fall.
    """
    query, view, filters, mode = asked
    assert all(record.scope == SCOPE for record in written)
    encoded = [r for r in written if r.recalled][unencoded:]
    matches = await found(tmp_path, written, encoded, asked)

    ids = [place.id for place in matches.ranked]
    scores = [place.score for place in matches.ranked]
    there = wanted(written, view, filters)
    assert there.issuperset(ids), query
    assert len(ids) == len(set(ids))
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    if mode == "semantic" and filters.reach != "user":
        every = there.intersection(r.id for r in encoded)
        compared = matches.mode == "semantic"
        assert compared if every else compared or "is encoded yet" in matches.degraded
        fields = {record.id: make_fields(record) for record in encoded if record.id in every}
        near = {fields[id_] for id_ in every.intersection(ids)}
        assert {id_ for id_ in every if fields[id_] in near} <= set(ids), "what says the same"
    else:
        assert matches.mode == "words+table"
        assert bool(matches.degraded) == (mode == "degraded" and filters.reach != "user")
    order = {record.id: place for record, place in zip(written, places, strict=False)}
    shuffled, also = (sorted(some, key=lambda r: order[r.id]) for some in (written, encoded))
    again = await found(tmp_path, shuffled, also, asked)
    assert again.ranked == matches.ranked
    assert again.notes == matches.notes


@pytest.mark.parametrize("seed", range(3))
async def test_the_same_vectors_are_as_near_in_whatever_order_they_are_compared(seed: int) -> None:
    """To the last bit: a tie must not be broken by who was encoded first."""
    chance = np.random.default_rng(seed)

    def chunk(tokens: int) -> Chunk:
        pooled = chance.integers(-127, 128, 384, dtype=np.int8)
        return Chunk(pooled.tobytes(), chance.bytes(48 * tokens))

    ids = [RecordId(f"{n:03}") for n in range(400)]
    made = {id_: tuple(chunk(7) for _ in range(1 + n % 3)) for n, id_ in enumerate(ids)}
    asked = QueryVectors(
        pooled=chance.standard_normal(384).astype("<f4").tobytes(),
        tokens=chance.standard_normal((5, 384)).astype("<f4").tobytes(),
        spans=((0, 1),) * 5,
    )
    order: list[int] = chance.permutation(len(ids)).tolist()
    shuffled = {ids[n]: made[ids[n]] for n in order}

    assert measure_nearness(asked, shuffled) == measure_nearness(asked, made)
