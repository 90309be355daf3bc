"""The contract of `ports.VisibleRecords`, for every index."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fakes import MILLISECOND, Scribe
from index_doors import ELSEWHERE, HERE, matched, seen

from memory_mcp.domain.ids import MAIN, BranchName, SegmentId, derive_id, mark_id
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.record import REJECTED_PREFIX, Citation, Move, Origin, Record
from memory_mcp.domain.search import Filters, Stated, Wanted
from memory_mcp.ports import SearchIndex

pytestmark = pytest.mark.anyio


async def test_the_same_statement_is_found_however_it_is_spelt(
    index: SearchIndex, scribe: Scribe
) -> None:
    """Case, spaces and a full stop do not make another fact; hidden ones are no twins."""
    known = scribe.record("The port is 8080.", segment=HERE)
    other = scribe.record("The port is 8081.", segment=HERE)
    left = scribe.record("the port is 8080", segment=ELSEWHERE)
    rejected = scribe.record(
        "It never was.", kind="tombstone", key=f"{REJECTED_PREFIX}{known.statement}", segment=HERE
    )
    buried = scribe.record("No longer holds.", kind="tombstone", segment=HERE)
    await index.add([known, other, left, rejected, buried])

    said = Filters(statement=digest("the PORT\n is  8080"))
    assert await index.find(seen(scribe), said, 9) == [rejected.id, known.id]
    assert await index.find(seen(scribe, ELSEWHERE), said, 9) == [left.id]
    assert await index.find(seen(scribe), Filters(statement=digest("else")), 9) == []
    several = Filters(statements=frozenset({known.statement, other.statement, digest("else")}))
    assert await index.find(seen(scribe), several, 9) == [rejected.id, other.id, known.id]


async def test_the_mark_of_a_statement_changes_with_every_record_that_states_it(
    index: SearchIndex, scribe: Scribe
) -> None:
    """Of two sessions that store it at once, one must notice, wherever the other one stands."""
    here, left = (scribe.record("The port is 8080.", segment=on) for on in (HERE, ELSEWHERE))
    statement = here.statement
    assert await index.find_stated(seen(scribe), statement, 9) == Stated(statement, [], 0)
    await index.add([here, scribe.record("The port is 8081.", segment=HERE)])
    one = await index.find_stated(seen(scribe), statement, 9)
    await index.add([left])
    both = await index.find_stated(seen(scribe), statement, 9)
    await index.remove([here.id])

    assert one == Stated(statement, [here.id], mark_id(here.id))
    assert both == Stated(statement, [here.id], mark_id(here.id) ^ mark_id(left.id))
    assert (await index.find_stated(seen(scribe), statement, 0)) == Stated(
        statement, [], mark_id(left.id)
    )


async def test_filters_and_visibility_come_before_the_limit(
    index: SearchIndex, scribe: Scribe
) -> None:
    """k results are k visible results, however many invisible ones are newer and better."""
    wanted = [scribe.record("apple pear", category="c", segment=HERE) for _ in range(3)]
    await index.add(wanted)
    await index.add([scribe.record("apple", category="c", segment=ELSEWHERE) for _ in range(99)])
    await index.add([scribe.record("apple", segment=HERE) for _ in range(99)])
    newest_first = [record.id for record in reversed(wanted)]

    found = await matched(index, "apple", seen(scribe), Filters(category="c"), 3)

    assert found == newest_first
    assert await index.find(seen(scribe), Filters(category="c"), 3) == newest_first
    assert await index.find(seen(scribe), Filters(category="c"), 2) == newest_first[:2]
    assert await index.count(seen(scribe), Filters(category="c")) == 3


@pytest.mark.parametrize("layer", ["archival", "recall"])
async def test_the_newest_of_a_layer_come_from_any_segment_of_the_chain(
    index: SearchIndex, scribe: Scribe, layer: Any
) -> None:
    """A late write may lie in an old segment, and a deep chain has many."""
    chain = [SegmentId(str(scribe.record().id)) for _ in range(60)]
    written = [
        scribe.record("text", segment=chain[number % 60], layer=layer) for number in range(180)
    ]
    hidden = scribe.record("gone", kind="tombstone", segment=HERE, supersedes=(written[-1].id,))
    await index.add([*written, hidden])
    await index.add([scribe.record("text", segment=ELSEWHERE, layer=layer) for _ in range(9)])

    newest = [record.id for record in reversed(written[:-1])]
    view, wanted = seen(scribe, HERE, *chain), Filters(layer=layer, durable=False)
    for limit in (1, 5, 59, 178, 500):
        assert await index.find(view, wanted, limit) == newest[:limit]
    assert await index.count(view, wanted) == 179


async def test_several_questions_are_answered_in_their_order(
    index: SearchIndex, scribe: Scribe
) -> None:
    """Each with its own filters, limit and order, whatever the others ask."""
    old = scribe.record("First.", category="c", importance=5, segment=HERE)
    middle = scribe.record("Second.", category="c", tags=("t",), segment=HERE)
    new = scribe.record("Third.", category="d", tags=("t",), segment=HERE)
    await index.add([old, middle, new, scribe.record("Hidden.", category="c", segment=ELSEWHERE)])

    assert await index.find_each(
        seen(scribe),
        [
            Wanted(Filters(category="c"), 1),
            Wanted(Filters(category="c"), 2, best=True),
            Wanted(Filters(category="none"), 9),
            Wanted(Filters(tags=("t",)), 9),
            Wanted(Filters(), 9),
        ],
    ) == [[middle.id], [old.id, middle.id], [], [new.id, middle.id], [new.id, middle.id, old.id]]
    assert await index.find_each(seen(scribe), [Wanted(Filters(category="d"), 1)]) == [[new.id]]


def spelt(filters: Filters) -> str:
    """What is asked for, in one order: processes that share the tests must call them the same."""
    return f"{sorted(filters.kinds)} {replace(filters, kinds=frozenset())!r}"


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (Filters(), "abcd"), (Filters(category="DESIGN"), "a"), (Filters(tags=("Zwei",)), "ab"),
        (Filters(tags=("eins", "ZWEI")), "a"), (Filters(kinds=frozenset({"event"})), "b"),
        (Filters(kinds=frozenset({"event", "lesson"})), "bd"), (Filters(phase=0), "c"),
        (Filters(segments=frozenset({HERE})), "ab"), (Filters(segments=frozenset()), ""),
        (Filters(away=frozenset({HERE})), "cd"),
        (Filters(branch=BranchName("side")), "b"), (Filters(durable=True), "d"),
        (Filters(durable=False), "abc"), (Filters(category="design", phase=1), ""),
        (Filters(session="s"), "c"), (Filters(session=""), "abd"),
        (Filters(key="phase:shop:1:closeout"), "a"), (Filters(key="phase:shop:1:close"), ""),
        (Filters(key="phase:shop:*"), "ab"), (Filters(key="phase:shop:%"), ""),
        (Filters(key="PHASE:*"), ""), (Filters(key="*"), "abd"), (Filters(key="phase_*"), ""),
        (Filters(key="gardener:🦩:*"), "d"),
        (Filters(key="phase:*", kinds=frozenset({"event"})), "b"), (Filters(citing=True), "c"),
    ],
    ids=lambda value: spelt(value) if isinstance(value, Filters) else repr(value),
)  # fmt: skip
async def test_every_filter_is_applied(
    index: SearchIndex, scribe: Scribe, filters: Filters, names: str
) -> None:
    """All of the tags, any of the kinds and segments; case is ignored, but for keys.

    Absent means any; no key is none.
    """
    records = {
        "a": scribe.record(
            "x", category="Design", tags=("eins", "zwei"), segment=HERE, key="phase:shop:1:closeout"
        ),
        "b": scribe.record(
            "x",
            kind="event",
            tags=("zwei",),
            segment=HERE,
            branch="side",
            key="phase:shop:2:issues",
        ),
        "c": scribe.record(
            "x",
            phase=0,
            segment=ELSEWHERE,
            branch=MAIN,
            origin=Origin(session="s"),
            cites=(Citation(path="a.py"),),
        ),
        "d": scribe.record("x", kind="lesson", key="gardener:🦩:final"),
        "never": scribe.record("x", kind="nudge"),
    }
    await index.add(list(records.values()))
    view = seen(scribe, HERE, ELSEWHERE)

    wanted = sorted((records[name].id for name in names), reverse=True)
    assert await index.find(view, filters, 9) == wanted
    assert await index.count(view, filters) == len(wanted)
    assert sorted(await matched(index, "x", view, filters, 9), reverse=True) == wanted


async def test_only_what_holds_is_visible(index: SearchIndex, scribe: Scribe) -> None:
    """The rule by its examples; tests/properties compares it with the pure one at random."""

    def here(**fields: Any) -> Record:
        return scribe.record("apple", **{"segment": HERE, **fields})

    first = here()
    second = here(supersedes=(first.id,))
    third = here(supersedes=(second.id,))
    hidden = here()
    grave = here(kind="tombstone", supersedes=(hidden.id,))
    of_hidden = here(derived_from=(hidden.id,))
    of_of_hidden = here(derived_from=(of_hidden.id, third.id))
    merged = here(supersedes=(third.id,), derived_from=(third.id, first.id))
    far = here(segment=ELSEWHERE)
    spared = here()
    of_far = here(segment=None, derived_from=(far.id,))
    far_fix = here(segment=ELSEWHERE, supersedes=(spared.id,))
    of_nothing = here(derived_from=(scribe.record().id,))
    now_gone = here(expires_at=scribe.clock.now())
    gone_soon = here(expires_at=scribe.clock.now() + MILLISECOND)
    durable = here(segment=None)
    written = [
        first, second, third, hidden, grave, of_hidden, of_of_hidden, merged, far, spared, of_far,
        far_fix, of_nothing, now_gone, gone_soon, durable,
    ]  # fmt: skip
    await index.add(written)
    names = {record.id for record in written}

    assert await index.visible(names, seen(scribe)) == {
        merged.id, spared.id, gone_soon.id, durable.id
    }  # fmt: skip
    assert await index.visible(names, seen(scribe, HERE, ELSEWHERE)) == {
        merged.id, far.id, of_far.id, far_fix.id, gone_soon.id, durable.id
    }  # fmt: skip
    assert await index.visible(names, seen(scribe, SegmentId("unknown"))) == {durable.id}
    scribe.clock.advance(timedelta(seconds=1))
    assert await index.visible({gone_soon.id, durable.id}, seen(scribe)) == {durable.id}
    assert await index.visible(set(), seen(scribe)) == set()


async def test_nearest_names_visible_neighbours_on_both_sides(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A mistyped id differs at one place, so what was meant stands near it; nothing hidden does."""
    records = [scribe.record(segment=HERE) for _ in range(9)]
    hidden = [scribe.record(segment=ELSEWHERE) for _ in range(9)]
    await index.add([*records, *hidden])

    found = await index.nearest(records[4].id, seen(scribe))

    assert set(found) == {record.id for record in records[1:9]}
    assert found[0] == records[4].id
    for strange in ("", "zzz", "'; DROP TABLE record; --", "\0", "🦊" * 500):
        assert set(await index.nearest(strange, seen(scribe))) <= {r.id for r in records}


async def test_a_part_of_an_id_names_what_may_be_seen(index: SearchIndex, scribe: Scribe) -> None:
    """An id that is not visible is not told by its beginning; without a view it is."""
    ids = [derive_id(scribe.clock.now(), str(n)) for n in range(5)]
    here = [scribe.record("a", id=ids[n], segment=HERE) for n in range(3)]
    gone = scribe.record("b", id=ids[3], segment=ELSEWHERE)
    move = scribe.record("c", id=ids[4], kind="move", move=Move(act="fork", branch=MAIN))
    await index.add([*here, gone, move])
    await index.mark_complete()
    view = seen(scribe)
    every = sorted(r.id for r in here)

    assert await index.named(here[0].id[:4], view, 9) == every
    assert await index.named(here[0].id[:4].upper(), view, 2) == every[:2]
    assert await index.named(here[1].id[-8:], view, 9) == [here[1].id]
    assert await index.named(here[1].id, view, 9) == [here[1].id]
    assert await index.named(gone.id, view, 9) == []
    assert await index.named(gone.id[-12:], None, 9) == [gone.id]
    assert await index.named(move.id, None, 9) == []
    for nothing in ("", "0", here[0].id[:3], here[1].id[-7:], "%", "____", "🦩" * 8):
        assert await index.named(nothing, None, 9) == []


async def test_an_exclusion_outside_of_the_timeline_holds_as_long_as_its_reason(
    index: SearchIndex, scribe: Scribe
) -> None:
    """What stands in the place of others may be abandoned, wherever the exclusion itself lives."""
    reason, hidden = scribe.record(segment=ELSEWHERE), scribe.record(segment=HERE)
    exclusion = scribe.record(kind="exclusion", supersedes=(hidden.id,), derived_from=(reason.id,))
    await index.add([reason, hidden, exclusion])

    assert await index.find(seen(scribe, HERE), Filters(), 9) == [hidden.id]
    assert await index.find(seen(scribe, HERE, ELSEWHERE), Filters(), 9) == [reason.id]
