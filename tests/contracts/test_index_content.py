"""The contract of `ports.IndexContent`, for every index."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fakes import Scribe
from index_doors import ANY, HERE, matched, seen

from memory_mcp.domain.ids import RecordId, mark_id
from memory_mcp.domain.search import CorpusStatistics, Filters, IdSummary, View
from memory_mcp.engine.fields import make_fields
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


async def test_the_kinds_of_records_are_known(index: SearchIndex, scribe: Scribe) -> None:
    """Whoever follows git need not read what files say to know which of them are memories."""
    fact, lesson = scribe.record(segment=HERE), scribe.record(kind="lesson")
    await index.add([fact, lesson])
    assert await index.kinds([fact.id, lesson.id, scribe.record().id]) == {
        fact.id: "fact", lesson.id: "lesson",
    }  # fmt: skip
    assert await index.kinds([]) == {}


async def test_what_statements_are_compared_by_is_known_of_what_may_be_found(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A context compares all that it may show, and need not read each text anew for it."""
    fact, titled = scribe.record("Tabs, not spaces."), scribe.record("It is 3.", title="Port")
    buried = scribe.record("Not so.", kind="tombstone")
    await index.add([fact, titled, buried])

    found = await index.outlines([fact.id, titled.id, buried.id, scribe.record().id])
    assert found == {each.id: make_fields(each).outline for each in (fact, titled)}
    assert all(found.values())
    assert await index.outlines([]) == {}


async def test_the_ids_are_summed_up_whatever_came_and_went(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A token says by this which records were known: nobody can afford to list them all."""
    assert await index.summarise_ids("~") == IdSummary("", 0)
    old, new, gone = (scribe.record(segment=HERE) for _ in range(3))
    await index.add([old, new, gone, old])
    await index.add([new])
    await index.remove({gone.id, scribe.record().id})
    await index.remove({gone.id})

    marks = mark_id(old.id) ^ mark_id(new.id)
    assert await index.summarise_ids("~") == IdSummary(new.id, marks)
    assert await index.summarise_ids(new.id) == IdSummary(old.id, marks)
    assert await index.summarise_ids(old.id) == IdSummary("", marks)


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
    assert await index.suppressing([old.id]) == set()


ASKING: dict[str, Callable[[SearchIndex, View], Awaitable[Any]]] = {
    "corpus": lambda index, view: index.corpus(["a"], view),
    "spellings": lambda index, view: index.spellings(["apples"]),  # noqa: ARG005
    "match": lambda index, view: index.match(["a"], CorpusStatistics(1, {"a": 1}), view, ANY, 5),
    "around": lambda index, view: index.around([RecordId("x")], view, ANY),
    "find": lambda index, view: index.find(view, ANY, 5),
    "count": lambda index, view: index.count(view, ANY),
    "visible": lambda index, view: index.visible([RecordId("x")], view),
    "nearest": lambda index, view: index.nearest("x", view),
    "moves": lambda index, view: index.moves(),  # noqa: ARG005
    "derived": lambda index, view: index.derived([RecordId("x")]),  # noqa: ARG005
    "of_segments": lambda index, view: index.ids_by_segment({HERE}),  # noqa: ARG005
    "suppressing": lambda index, view: index.suppressing([RecordId("x")]),  # noqa: ARG005
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


async def test_a_healthy_index_has_no_findings(index: SearchIndex, scribe: Scribe) -> None:
    """The doctor must not cry wolf."""
    await index.add([scribe.record(segment=HERE)])

    assert await index.findings(repair=True) == []
    assert await index.count(seen(scribe), ANY) == 1
