"""The contract of `ports.SearchIndex`, for every adapter."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from fakes import MILLISECOND, Scribe
from index_doors import ANY, ELSEWHERE, HERE, matched, seen

from memory_mcp.domain.ids import MAIN, BranchName, RecordId, SegmentId, made_id
from memory_mcp.domain.normalise import digest
from memory_mcp.domain.record import REJECTED, Move, Origin, Record
from memory_mcp.domain.search import Corpus
from memory_mcp.domain.views import Filters, View
from memory_mcp.errors import IndexDamagedError
from memory_mcp.ports import SearchIndex

pytestmark = pytest.mark.anyio


async def test_adding_and_removing_twice_is_once(index: SearchIndex, scribe: Scribe) -> None:
    """A catch-up may meet what is in already."""
    record = scribe.record(segment=HERE)
    await index.add([record, record])
    await index.add([record])
    assert await index.ids() == await index.ids({record.id}) == {record.id}
    assert await index.ids([]) == set()
    assert await index.count(seen(scribe), ANY) == 1

    await index.remove({record.id, scribe.record().id})
    await index.remove({record.id})
    assert await index.ids() == set()


async def test_what_was_removed_is_found_nowhere(index: SearchIndex, scribe: Scribe) -> None:
    """A forget takes text, tags, links and what it suppressed along."""
    old = scribe.record("older crate", segment=HERE)
    record = scribe.record(
        "crate",
        tags=("t",),
        segment=HERE,
        supersedes=(old.id,),
        erases=(old.id,),
        kind="tombstone",
    )
    await index.add([old, record])
    await index.remove({record.id})

    assert await matched(index, "crate", seen(scribe)) == [old.id]
    assert await index.find(seen(scribe), Filters(tags=("t",)), 9) == []
    assert await index.to_erase() == {}
    assert await index.suppressed_by({HERE}) == set()


async def test_the_same_statement_is_found_however_it_is_spelt(
    index: SearchIndex, scribe: Scribe
) -> None:
    """Case, spaces and a full stop do not make another fact; hidden ones are no twins."""
    known = scribe.record("The port is 8080.", segment=HERE)
    other = scribe.record("The port is 8081.", segment=HERE)
    left = scribe.record("the port is 8080", segment=ELSEWHERE)
    rejected = scribe.record(
        "It never was.", kind="tombstone", key=f"{REJECTED}{known.statement}", segment=HERE
    )
    buried = scribe.record("No longer holds.", kind="tombstone", segment=HERE)
    await index.add([known, other, left, rejected, buried])

    said = Filters(statement=digest("the PORT\n is  8080"))
    assert await index.find(seen(scribe), said, 9) == [rejected.id, known.id]
    assert await index.find(seen(scribe, ELSEWHERE), said, 9) == [left.id]
    assert await index.find(seen(scribe), Filters(statement=digest("else")), 9) == []
    several = Filters(statements=frozenset({known.statement, other.statement, digest("else")}))
    assert await index.find(seen(scribe), several, 9) == [rejected.id, other.id, known.id]


async def test_what_was_made_of_a_record_is_known_through_others(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A forget follows the words, hidden or not."""
    one, other = scribe.record(segment=HERE), scribe.record(segment=HERE)
    both = scribe.record(segment=HERE, derived_from=(one.id, other.id))
    whole = scribe.record(segment=ELSEWHERE, derived_from=(both.id,))
    await index.add([one, other, both, whole])

    assert await index.derived({one.id}) == {both.id, whole.id}
    assert await index.derived({both.id, one.id}) == {whole.id}
    assert await index.derived({whole.id, RecordId("x")}) == set()


ASKING: dict[str, Callable[[SearchIndex, View], Awaitable[Any]]] = {
    "corpus": lambda index, view: index.corpus(["a"], view),
    "spellings": lambda index, view: index.spellings("apples"),  # noqa: ARG005
    "match": lambda index, view: index.match(["a"], Corpus(1, {"a": 1}), view, ANY, 5),
    "around": lambda index, view: index.around([RecordId("x")], view, ANY),
    "find": lambda index, view: index.find(view, ANY, 5),
    "count": lambda index, view: index.count(view, ANY),
    "visible": lambda index, view: index.visible([RecordId("x")], view),
    "nearest": lambda index, view: index.nearest("x", view),
    "moves": lambda index, view: index.moves(),  # noqa: ARG005
    "derived": lambda index, view: index.derived([RecordId("x")]),  # noqa: ARG005
    "of_segments": lambda index, view: index.of_segments({HERE}),  # noqa: ARG005
    "suppressed_by": lambda index, view: index.suppressed_by({HERE}),  # noqa: ARG005
}


@pytest.mark.parametrize("name", ASKING)
async def test_an_index_that_is_not_complete_answers_nothing(
    index: SearchIndex, scribe: Scribe, name: str
) -> None:
    """Half of the memories must not pass for all of them. What completes it may look inside."""
    ask, view = ASKING[name], seen(scribe)
    await ask(index, view)
    await index.add([scribe.record(segment=HERE)])
    await index.reset()
    assert await index.ids() == set()
    await index.add([scribe.record(segment=HERE)])

    with pytest.raises(IndexDamagedError):
        await ask(index, view)
    assert len(await index.ids()) == 1
    assert await index.to_erase() == {}

    await index.mark_complete()
    await ask(index, view)


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
        (Filters(branch=BranchName("side")), "b"), (Filters(durable=True), "d"),
        (Filters(durable=False), "abc"), (Filters(category="design", phase=1), ""),
        (Filters(session="s"), "c"), (Filters(session=""), "abd"),
        (Filters(key="phase:shop:1:closeout"), "a"), (Filters(key="phase:shop:1:close"), ""),
        (Filters(key="phase:shop:*"), "ab"), (Filters(key="phase:shop:%"), ""),
        (Filters(key="PHASE:*"), ""), (Filters(key="*"), "abd"), (Filters(key="phase_*"), ""),
        (Filters(key="gardener:🦩:*"), "d"),
        (Filters(key="phase:*", kinds=frozenset({"event"})), "b"),
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
            "x", phase=0, segment=ELSEWHERE, branch=MAIN, origin=Origin(session="s")
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


async def test_equal_matches_stand_in_one_order_however_they_came_in(
    index: SearchIndex, scribe: Scribe
) -> None:
    """The same memories give the same answer after a rebuild, which reads them in any order."""
    records = [scribe.record("the same words", segment=HERE) for _ in range(4)]
    answers: set[tuple[Any, ...]] = set()
    for order in permutations(records):
        await index.reset()
        await index.mark_complete()
        for record in order:
            await index.add([record])
        answers.add(tuple(await matched(index, "same words", seen(scribe), ANY, 3)))

    assert answers == {tuple(record.id for record in reversed(records[1:]))}


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
    ids = [made_id(scribe.clock.now(), str(n)) for n in range(5)]
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


async def test_segments_moves_and_erasures_are_named_visible_or_not(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A forget erases everything of a road, also what nobody sees any more."""
    old = scribe.record(segment=HERE)
    new = scribe.record(segment=ELSEWHERE, supersedes=(old.id,))
    gone = scribe.ids.new(scribe.clock.now())
    grave = scribe.record(
        kind="tombstone", segment=ELSEWHERE, supersedes=(new.id,), erases=(new.id, gone)
    )
    step = Move(act="fork", branch=MAIN)
    moves = [scribe.record(kind="move", move=step, segment=HERE) for _ in range(3)]
    await index.add([*reversed(moves), grave, new, old])

    assert await index.moves() == [record.id for record in moves]
    assert await index.of_segments({ELSEWHERE}) == {new.id, grave.id}
    assert await index.of_segments({HERE}) == {old.id, *(record.id for record in moves)}
    assert await index.of_segments(set()) == set()
    assert await index.suppressed_by({ELSEWHERE}) == {old.id, new.id}
    assert await index.suppressed_by({HERE}) == set()
    assert await index.to_erase() == {new.id: {grave.id}}
    assert await index.to_erase([gone, old.id]) == {gone: {grave.id}}
    assert await index.erased() == {new.id, gone}


async def test_a_healthy_index_has_no_findings(index: SearchIndex, scribe: Scribe) -> None:
    """The doctor must not cry wolf."""
    await index.add([scribe.record(segment=HERE)])

    assert await index.findings(repair=True) == []
    assert await index.count(seen(scribe), ANY) == 1
