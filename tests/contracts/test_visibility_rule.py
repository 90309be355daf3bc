"""The contract of every index: its queries agree with the pure rule on any records.

`timeline.visibility.select_visible` is the truth. `MemoryIndex` asks it and nothing else, so
the other indexes are compared with that.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from any_records import FILTERS, QUERIES, RECORDS_MAX, VIEWS, records
from depth import depth, parts
from hypothesis import given, settings
from hypothesis import strategies as st
from stores_in_memory import MemoryIndex

from memory_mcp.domain.ids import SegmentId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, View, Wanted
from memory_mcp.ports import SearchIndex
from memory_mcp.ranking.query import matches_filters
from memory_mcp.storage.stored import compute_record_digest
from memory_mcp.timeline.visibility import select_reachable, select_visible

pytestmark = pytest.mark.anyio


async def compare(
    real: SearchIndex,
    written: list[Record],
    views: list[View],
    filters: Filters,
    query: tuple[str, ...],
    *,
    oracle: MemoryIndex | None = None,
) -> None:
    oracle = oracle or MemoryIndex()
    for index in (real, oracle):
        await index.add(written)
        await index.mark_complete()
    ids = {record.id for record in written}
    for view in views:
        select = select_reachable if filters.history else select_visible
        seen = [
            r
            for r in select(written, view)
            if r.recalled or filters.statement or (filters.history and r.kind == "tombstone")
        ]
        wanted = {r.id for r in seen if matches_filters(r, filters)}
        kinds = Filters(kinds=filters.kinds, durable=filters.durable)
        assert set(await real.find(view, filters, 99)) == wanted
        assert await real.find(view, filters, 3) == await oracle.find(view, filters, 3)
        best = [Wanted(each, 3, best=True) for each in (Filters(), kinds, filters)]
        several = [Wanted(filters, 3), *best, Wanted(filters, 99)]
        assert await real.find_each(view, several) == await oracle.find_each(view, several)
        assert await real.count(view, filters) == len(wanted)
        for each in (kinds, replace(kinds, segments=filters.segments), filters):
            counted = await oracle.count_by_segment(view, each)
            assert await real.count_by_segment(view, each) == counted
            assert await real.count(view, each) == sum(counted.values())
        assert await real.visible(ids, view) == await oracle.visible(ids, view)
        for near in [*ids, "", "~"]:
            assert await real.nearest(near, view) == await oracle.nearest(near, view)
        corpus = await real.corpus(query, view)
        assert corpus.counts == (await oracle.corpus(query, view)).counts
        mine = await real.match(query, corpus, view, filters, 60)
        theirs = await oracle.match(query, corpus, view, filters, 60)
        assert {c.id: c for c in mine} == {c.id: c for c in theirs}
        near = [sorted(await i.around(ids, view, filters), key=repr) for i in (real, oracle)]
        assert near[0] == near[1]
        assert await real.ids_by_segment(view.chain) == await oracle.ids_by_segment(view.chain)
        for but in (frozenset[SegmentId](), views[0].chain):
            named = await oracle.suppressed_by(view.chain, but=but)
            assert await real.suppressed_by(view.chain, but=but) == named
        assert await real.holding(view.chain) == await oracle.holding(view.chain)
    assert await real.to_erase() == await oracle.to_erase()
    assert await real.moves() == await oracle.moves()
    assert await real.holding() == await oracle.holding()
    for some in (ids, sorted(ids)[:1]):
        assert await real.derived(some) == await oracle.derived(some)
        assert await real.suppressing(some) == await oracle.suppressing(some)
    for some in (sorted(ids)[::2], ids):
        for index in (real, oracle):
            await index.remove(some)
        assert await real.holding() == await oracle.holding()
        for view in views:
            counted = await oracle.count_by_segment(view, Filters())
            assert await real.count_by_segment(view, Filters()) == counted


@parts(4)
@given(
    written=records(),
    views=st.lists(VIEWS, min_size=1, max_size=3),
    filters=FILTERS,
    query=QUERIES,
)
@settings(max_examples=depth(8, 500))
async def test_every_query_agrees_with_the_pure_rule_on_any_records(
    part: int,
    new_index: Callable[[], SearchIndex],
    *,
    written: list[Record],
    views: list[View],
    filters: Filters,
    query: tuple[str, ...],
) -> None:
    """The rule is written once in Python and once in each store's own language."""
    del part
    real = new_index()
    try:
        await compare(real, written, views, filters, query)
    finally:  # of each example, or a database runs out of connections
        await real.aclose()


@given(records(), VIEWS, st.permutations(range(RECORDS_MAX)))
@settings(max_examples=depth(16, 1000))
async def test_what_is_visible_does_not_depend_on_the_order_of_the_records(
    written: list[Record], view: View, places: list[int]
) -> None:
    """Folders are read in any order, and two clones write in another one."""
    shuffled = [written[place] for place in places if place < len(written)]

    assert {r.id for r in select_visible(shuffled, view)} == {
        r.id for r in select_visible(written, view)
    }


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["set aside", "set aside", "take up", "remove"]),
        st.sets(st.integers(0, RECORDS_MAX - 1)),
    ),
    min_size=1,
    max_size=5,
)


@given(
    written=records(),
    views=st.lists(VIEWS, min_size=1, max_size=2),
    filters=FILTERS,
    query=QUERIES,
    steps=STEPS,
)
@settings(max_examples=depth(8, 500))
async def test_what_is_set_aside_is_seen_nowhere_and_comes_back_as_it_was(
    new_index: Callable[[], SearchIndex],
    *,
    written: list[Record],
    views: list[View],
    filters: Filters,
    query: tuple[str, ...],
    steps: list[tuple[str, set[int]]],
) -> None:
    """Git takes files of records away with a branch, and brings them back with it."""
    real, oracle = new_index(), MemoryIndex()
    try:
        for index in (real, oracle):
            await index.add(written)
            await index.mark_complete()
        for step, numbers in steps:
            for index in (real, oracle):
                await play(index, step, [written[n] for n in numbers if n < len(written)])
            asked = {record.id for record in written}  # an index may keep none of them
            await oracle.remove(await oracle.list_aside(asked) - await real.list_aside(asked))
            assert await real.ids() == await oracle.ids()
        there = await oracle.ids()
        left = [record for record in written if record.id in there]
        await compare(real, left, views, filters, query, oracle=oracle)
    finally:
        await real.aclose()


async def play(index: SearchIndex, step: str, some: list[Record]) -> None:
    """What an index is told when files come and go; one with another text counts as new."""
    ids = {record.id for record in some}
    match step:
        case "set aside":
            await index.set_aside(ids)
        case "remove":
            await index.remove(ids)
        case _:
            digests = {record.id: compute_record_digest(record) for record in some[1:]}
            taken = await index.take_up(digests | {r.id: "another text" for r in some[:1]})
            assert taken <= digests.keys()
            await index.add([record for record in some if record.id not in taken])
