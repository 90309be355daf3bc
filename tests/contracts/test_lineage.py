"""The contracts of `ports.LineageIndex` and `ports.Erasures`, for every index."""

import pytest
from fakes import Scribe
from index_doors import ELSEWHERE, HERE

from memory_mcp.domain.ids import MAIN, RecordId
from memory_mcp.domain.record import Move
from memory_mcp.ports import SearchIndex

pytestmark = pytest.mark.anyio


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
    here = {old.id, *(record.id for record in moves)}
    there = {new.id, grave.id}
    assert await index.ids_by_segment({HERE, ELSEWHERE}) == {HERE: here, ELSEWHERE: there}
    assert await index.ids_by_segment({ELSEWHERE}) == {ELSEWHERE: there}
    assert await index.ids_by_segment(set()) == {}
    assert await index.suppressed_by({ELSEWHERE}) == {old.id, new.id}
    assert await index.suppressed_by({HERE}) == set()
    assert await index.suppressed_by({ELSEWHERE}, but={HERE}) == {new.id}
    assert await index.suppressed_by({ELSEWHERE}, but={ELSEWHERE}) == {old.id}
    assert await index.suppressing([old.id, gone]) == {new.id}
    assert await index.suppressing([new.id]) == {grave.id}
    assert await index.suppressing([grave.id]) == set()
    assert await index.to_erase() == {new.id: {grave.id}}
    assert await index.to_erase([gone, old.id]) == {gone: {grave.id}}
    assert await index.erased() == {new.id, gone}
    assert await index.erased_by([grave.id]) == {new.id, gone}
    assert await index.erased_by([new.id, old.id]) == set()
    assert await index.erased_since("") == await index.erased_since(new.id) == {new.id, gone}
    assert await index.erased_since(grave.id) == set()
    assert await index.segments() == {HERE: moves[-1].id, ELSEWHERE: grave.id}
    assert await index.segments(orders=False) == {HERE: moves[-1].id, ELSEWHERE: new.id}
    assert await index.holding() == {HERE, ELSEWHERE}
    assert await index.holding({ELSEWHERE}) == {ELSEWHERE}
    assert await index.holding(set()) == set()

    await index.remove([new.id])
    assert await index.holding() == {HERE}
    assert await index.holding({ELSEWHERE}) == set()
