"""The rule of what is visible, told in Python and in SQL: both must say the same."""

import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from depth import depth
from fakes import MILLISECOND, START, Scribe
from hypothesis import given, settings
from hypothesis import strategies as st
from stores_in_memory import MemoryIndex, matches_filters

from memory_mcp.domain.ids import MAIN, BranchName, SegmentId
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.profile import key_of
from memory_mcp.domain.record import REJECTED, Approval, Move, Record
from memory_mcp.domain.views import Filters, View
from memory_mcp.index.sqlite import SqliteIndex
from memory_mcp.ranking.analysis import extract_fields
from memory_mcp.timeline.visibility import visible

pytestmark = pytest.mark.anyio

SEGMENTS = [SegmentId(name) for name in ("s0", "s1", "s2", "s3")]
BRANCHES = [MAIN, BranchName("side")]
KINDS = ["fact", "fact", "decision", "lesson", "checkpoint", "tombstone", "tombstone", "move"]
WORDS = ["apple", "pear", "plum"]
KEYS = [*(f"{REJECTED}{digest(word)}" for word in WORDS), key_of("city")]
RECORDS_MAX = 12
FILES = itertools.count()


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Any records, with links to any others: earlier, later, missing, in chains and in circles."""
    scribe = Scribe()
    ids = [scribe.record().id for _ in range(draw(st.integers(1, RECORDS_MAX)) + 1)]
    links = st.lists(st.sampled_from(ids), max_size=3, unique=True)
    written: list[Record] = []
    for id_ in ids[:-1]:  # the last one is named but not there

        def others(id_: str = id_) -> tuple[str, ...]:
            return tuple(link for link in draw(links) if link != id_)

        kind = draw(st.sampled_from(KINDS))
        approval: Approval = draw(st.sampled_from(["approved", "pending", "skipped"]))
        act = "checkpoint" if kind == "checkpoint" else "backtrack"
        step = Move(act=act, branch=MAIN, approval=approval)
        expiry = draw(st.none() | st.integers(-1, 1))
        written.append(
            scribe.record(
                " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
                id=id_,
                kind=kind,
                key=draw(st.sampled_from(KEYS)),
                segment=draw(st.none() | st.sampled_from(SEGMENTS)),
                branch=draw(st.none() | st.sampled_from(BRANCHES)),
                category=draw(st.sampled_from(["", "Design", "plan", "profile"])),
                tags=draw(st.lists(st.sampled_from(["A", "b", "c"]), max_size=3, unique=True)),
                phase=draw(st.none() | st.integers(0, 2)),
                move=step if kind in ("checkpoint", "move") else None,
                expires_at=None if expiry is None else START + timedelta(milliseconds=expiry),
                supersedes=others() if kind == "tombstone" or draw(st.booleans()) else (),
                derived_from=others() if draw(st.booleans()) else (),
                erases=others() if kind == "tombstone" else (),
            )
        )
    return draw(st.permutations(written))


def maybe(values: st.SearchStrategy[Any], nothing: object) -> st.SearchStrategy[Any]:
    return st.just(nothing) | st.just(nothing) | values


FILTERS = st.builds(
    Filters,
    category=maybe(st.sampled_from(["DESIGN", "plan", "Profile"]), ""),
    tags=maybe(st.lists(st.sampled_from(["a", "B", "c"]), max_size=2).map(tuple), ()),
    kinds=maybe(st.frozensets(st.sampled_from(KINDS), min_size=1, max_size=3), frozenset[str]()),
    phase=maybe(st.integers(0, 2), None),
    segments=maybe(st.frozensets(st.sampled_from(SEGMENTS), max_size=3), None),
    branch=maybe(st.sampled_from(BRANCHES), None),
    durable=maybe(st.booleans(), None),
    since=maybe(st.integers(0, RECORDS_MAX).map(lambda n: START + n * MILLISECOND), None),
    until=maybe(st.integers(0, RECORDS_MAX).map(lambda n: START + n * MILLISECOND), None),
    statement=maybe(st.sampled_from(WORDS).map(digest), ""),
)
VIEWS = st.builds(View, chain=st.frozensets(st.sampled_from(SEGMENTS)), now=st.just(START))
QUERIES = st.lists(st.sampled_from([*WORDS, "kiwi"]), max_size=3, unique=True).map(tuple)


async def compare(
    folder: Path, written: list[Record], views: list[View], filters: Filters, query: tuple[str, ...]
) -> None:
    real = SqliteIndex(folder / f"{next(FILES)}.sqlite3", extract_fields, lambda: None)
    oracle = MemoryIndex()
    for index in (real, oracle):
        await index.add(written)
        await index.mark_complete()
    ids = {record.id for record in written}
    for view in views:
        seen = [r for r in visible(written, view) if r.recalled or filters.statement]
        wanted = {r.id for r in seen if matches_filters(r, filters)}
        assert set(await real.find(view, filters, 99)) == wanted
        assert await real.find(view, filters, 3) == await oracle.find(view, filters, 3)
        assert await real.count(view, filters) == len(wanted)
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
        assert await real.of_segments(view.chain) == await oracle.of_segments(view.chain)
        assert await real.suppressed_by(view.chain) == await oracle.suppressed_by(view.chain)
    assert await real.to_erase() == await oracle.to_erase()
    assert await real.moves() == await oracle.moves()
    for some in (ids, sorted(ids)[:1]):
        assert await real.derived(some) == await oracle.derived(some)
    await real.aclose()


@given(records(), st.lists(VIEWS, min_size=1, max_size=3), FILTERS, QUERIES)
@settings(max_examples=depth(40, 5_000))
async def test_sql_and_the_pure_rule_say_the_same_of_any_records(
    tmp_path: Path,
    written: list[Record],
    views: list[View],
    filters: Filters,
    query: tuple[str, ...],
) -> None:
    """Two tellings of one rule, kept in step record by record."""
    await compare(tmp_path, written, views, filters, query)


@given(records(), VIEWS, st.permutations(range(RECORDS_MAX)))
@settings(max_examples=depth(16, 1000))
async def test_what_is_visible_does_not_depend_on_the_order_of_the_records(
    written: list[Record], view: View, places: list[int]
) -> None:
    """Folders are read in any order, and two clones write in another one."""
    shuffled = [written[place] for place in places if place < len(written)]

    assert {r.id for r in visible(shuffled, view)} == {r.id for r in visible(written, view)}
