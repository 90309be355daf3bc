"""The contract of `ports.VectorIndex.near`, for every adapter: filter first, then rank."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import Scribe
from vector_doors import DIMENSIONS, HERE, Door, away, doors_to, view_of

from memory_mcp.domain.ids import BranchName, RecordId, SegmentId
from memory_mcp.domain.search import Filters

pytestmark = pytest.mark.anyio

ELSEWHERE = SegmentId("elsewhere")
IN_THE_WAY = 400
"""More than any look at the nearest few would reach."""


@pytest.fixture(params=["sqlite", "postgres", "memory"])
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Door]:
    where = {
        "sqlite": lambda: tmp_path / "index.sqlite3",
        "postgres": lambda: request.getfixturevalue("postgres_url"),
        "memory": lambda: None,
    }[request.param]()
    async with doors_to(where, 1) as [found]:
        yield found


async def wanted(door: Door, scribe: Scribe, count: int, **fields: Any) -> list[RecordId]:
    """So many records that are far, but for those that are in the way nearest first."""
    fields = {"segment": HERE, **fields}
    records = [scribe.record(**fields) for _ in range(count)]
    return await door.put([(r, (away(100 + n),)) for n, r in enumerate(records)])


async def in_the_way(door: Door, scribe: Scribe, **fields: Any) -> list[RecordId]:
    """Hundreds of records that are nearer than those that are wanted."""
    fields = {"segment": HERE, **fields}
    records = [scribe.record(**fields) for _ in range(IN_THE_WAY)]
    return await door.put([(r, (away(n % 50),)) for n, r in enumerate(records)])


async def test_the_nearest_come_first_and_no_more_than_are_wanted(
    door: Door, scribe: Scribe
) -> None:
    """In whatever order they were put in."""
    steps = [5, 1, 9, 3, 7, 0, 8]
    records = [scribe.record(segment=HERE) for _ in steps]
    await door.put([(r, (away(n),)) for r, n in zip(records, steps, strict=True)])
    nearest = [r.id for _, r in sorted(zip(steps, records, strict=True), key=lambda one: one[0])]

    assert await door.near(view_of(scribe)) == nearest
    for limit in range(len(nearest) + 1):
        assert await door.near(view_of(scribe), limit=limit) == nearest[:limit]


HIDDEN: dict[str, dict[str, Any]] = {
    "on an abandoned road": {"segment": ELSEWHERE},
    "expired": {"expires_at": Scribe().clock.now()},
    "derived from what is gone": {"derived_from": (RecordId("gone"),)},
}


@pytest.mark.parametrize("fields", HIDDEN.values(), ids=HIDDEN)
async def test_hundreds_that_are_nearer_and_not_visible_cost_no_result(
    door: Door, scribe: Scribe, fields: dict[str, Any]
) -> None:
    """k results are k visible results, if there are that many."""
    await in_the_way(door, scribe, **fields)
    ids = await wanted(door, scribe, 5)

    for limit in (1, 3, 5, 60):
        assert await door.near(view_of(scribe), limit=limit) == ids[:limit], limit


async def test_what_is_superseded_or_buried_is_never_near(door: Door, scribe: Scribe) -> None:
    """The correction stands in the place of what it corrects; a reader elsewhere sees the old."""
    old = await in_the_way(door, scribe, segment=None)
    half = len(old) // 2
    ids = await wanted(door, scribe, 2, supersedes=tuple(old[:half]))
    grave = scribe.record(kind="tombstone", segment=HERE, supersedes=tuple(old[half:]))
    await door.index.add([grave])

    assert await door.near(view_of(scribe), limit=5) == ids
    assert set(await door.near(view_of(scribe, [ELSEWHERE]), limit=500)) == set(old)


FILTERS: dict[str, tuple[Filters, dict[str, Any]]] = {
    "category": (Filters(category="Plan"), {"category": "plan"}),
    "tag": (Filters(tags=("Urgent", "db")), {"tags": ("urgent", "DB", "more")}),
    "kind": (Filters(kinds=frozenset({"decision", "lesson"})), {"kind": "decision"}),
    "phase": (Filters(phase=0), {"phase": 0}),
    "branch": (Filters(branch=BranchName("side")), {"branch": "side"}),
    "segment": (Filters(segments=frozenset({ELSEWHERE})), {"segment": ELSEWHERE}),
    "away": (Filters(away=frozenset({HERE})), {"segment": ELSEWHERE}),
    "durable": (Filters(durable=True), {"segment": None, "kind": "convention"}),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("filters", "fields"), FILTERS.values(), ids=FILTERS)
async def test_a_filter_applies_before_the_nearest_are_chosen(
    door: Door, scribe: Scribe, filters: Filters, fields: dict[str, Any]
) -> None:
    """However few pass it, and however many others are nearer."""
    await in_the_way(door, scribe, category="design", tags=("urgent",), phase=1, branch="main")
    ids = await wanted(door, scribe, 12, **fields)
    view = view_of(scribe, [HERE, ELSEWHERE])

    for limit in (1, 4, 30):
        assert await door.near(view, filters, limit) == ids[:limit], limit


async def test_a_time_is_a_filter_too(door: Door, scribe: Scribe) -> None:
    """From the one moment on, and before the other."""
    await in_the_way(door, scribe)
    scribe.clock.advance(timedelta(days=1))
    since = scribe.clock.now()
    ids = await wanted(door, scribe, 3)
    scribe.clock.advance(timedelta(days=1))
    until = scribe.clock.now()
    await in_the_way(door, scribe)

    assert await door.near(view_of(scribe), Filters(since=since, until=until), 10) == ids


async def test_a_filter_that_nothing_passes_finds_nothing(door: Door, scribe: Scribe) -> None:
    """Rather than the nearest of the others."""
    await in_the_way(door, scribe)

    assert await door.near(view_of(scribe), Filters(category="none"), 5) == []
    assert await door.near(view_of(scribe, [ELSEWHERE]), limit=5) == []


async def test_a_deep_chain_is_seen_whole(door: Door, scribe: Scribe) -> None:
    """Every tenth of a thousand segments is on the road that the question is asked from."""
    segments = [SegmentId(f"s{n}") for n in range(1_000)]
    records = [scribe.record(segment=segment) for segment in segments]
    await door.put([(r, (away(n % 100),)) for n, r in enumerate(records)])
    chain = segments[7::10]

    found = await door.near(view_of(scribe, chain), limit=200)
    assert set(found) == {r.id for r in records if r.segment in chain}
    assert len(found) == 100


async def test_the_chunks_of_one_memory_count_once(door: Door, scribe: Scribe) -> None:
    """A long memory is one result, as near as the nearest of its chunks."""
    long = [scribe.record(segment=HERE) for _ in range(3)]
    await door.put([(r, tuple(away(n + 30 * k) for k in range(4))) for n, r in enumerate(long)])
    short = scribe.record(segment=HERE)
    await door.put([(short, (away(1),))])

    nearest = [long[0].id, short.id, long[1].id, long[2].id]
    found = await door.near(view_of(scribe), limit=4)
    assert found == nearest
    assert await door.near(view_of(scribe), limit=3) == nearest[:3]


async def test_vectors_of_odd_size_break_nothing(door: Door, scribe: Scribe) -> None:
    """An endpoint may change what stands behind a name; what fits is still compared."""
    sizes = [8, DIMENSIONS, 64, 0, DIMENSIONS, 1_000, 100, 384, DIMENSIONS]
    records = [scribe.record(segment=HERE) for _ in sizes]
    passages = [(away(n, dimensions=size),) for n, size in enumerate(sizes)]
    for record, passage in zip(records, passages, strict=True):
        await door.put([(record, passage)])
    fitting = [r.id for r, size in zip(records, sizes, strict=True) if size == DIMENSIONS]

    assert await door.near(view_of(scribe)) == fitting
    wider = np.ones(384, "<f4").tobytes()
    assert await door.near(view_of(scribe), asked=wider) == [records[7].id]
    assert await door.near(view_of(scribe), asked=b"") == []
    assert await door.vectors.damaged() == 0


async def test_odd_sizes_that_are_met_at_once_break_nothing(door: Door, scribe: Scribe) -> None:
    """As a process does that starts late."""
    records = [scribe.record(segment=HERE) for _ in range(9)]
    sizes = [1_000, *[DIMENSIONS] * 6, 64, 1_000]
    await door.put(
        [
            (record, (away(n, dimensions=size),))
            for n, (record, size) in enumerate(zip(records, sizes, strict=True))
        ]
    )

    assert await door.near(view_of(scribe)) == [record.id for record in records[1:7]]
