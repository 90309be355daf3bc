"""The layers of nodes: what each sees, and what none of them may touch."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from fakes import FakeClock, FakeIds, close_workspace, real_workspace

from memory_mcp import branches, layers, memories
from memory_mcp.domain.ids import BranchName, SegmentId
from memory_mcp.domain.layers import (
    ArchivalUpdate,
    ArchivalWrite,
    Consolidate,
    CoreDelete,
    CoreSet,
    LayerReceipt,
    NodeForked,
    NodeView,
    RecallAppend,
    RecallEvict,
    Write,
)
from memory_mcp.domain.outcomes import MemoryAdded, Skipped
from memory_mcp.domain.record import Draft
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, UnknownTargetError
from memory_mcp.render.log import render_log
from memory_mcp.render.outcomes import render_head, render_head_fields
from memory_mcp.timeline import nodes

pytestmark = pytest.mark.anyio

T = TypeVar("T")


def given(outcome: T | Skipped) -> T:
    assert not isinstance(outcome, Skipped)
    return outcome


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def workspace(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Workspace]:
    made = real_workspace(tmp_path, clock, FakeIds())
    yield made
    await close_workspace(made)


def at(workspace: Workspace, node: str) -> Workspace:
    return workspace.at(BranchName(node))


async def test_texts_of_the_archive_that_contradict_each_other_say_so(workspace: Workspace) -> None:
    """An agent that is shown two values alike takes either."""
    await layers.write_node(workspace, [ArchivalWrite(text="The best optimizer is Adam.")])
    await layers.write_node(workspace, [ArchivalWrite(text="The best optimizer is Lion.")])
    await layers.write_node(workspace, [ArchivalWrite(text="Seeds are fixed.")])

    listed = given(await layers.read_node(workspace)).archival
    found = given(await layers.search_archival(workspace, "which optimizer is best", (), 9))
    prompt = await layers.render_for_prompt(workspace, "", None)
    named = {each.text: each.id for each in listed}
    newer = named["The best optimizer is Lion."]
    for texts in (listed, found):
        marks = {each.text: each.outdated_by for each in texts}
        assert marks["The best optimizer is Adam."] == newer
        assert marks["The best optimizer is Lion."] is None
    assert f"(outdated by {newer}) The best optimizer is Adam." in prompt.text


async def fork(workspace: Workspace, parent: str | None, child: str | None) -> NodeForked:
    return given(await layers.fork_node(workspace, parent, child))


async def write(workspace: Workspace, node: str, *writes: Write) -> LayerReceipt:
    return given(await layers.write_node(at(workspace, node), writes))


async def view(workspace: Workspace, node: str) -> NodeView:
    return given(await layers.read_node(at(workspace, node)))


async def core(workspace: Workspace, node: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in given(await layers.load_core(at(workspace, node)))}


async def events(workspace: Workspace, node: str) -> list[str]:
    return [event.summary for event in (await view(workspace, node)).recall]


async def test_a_node_inherits_and_hides_and_never_touches_its_parent(workspace: Workspace) -> None:
    """Copy on write: what the child sets and deletes is its own."""
    await write(workspace, "main", CoreSet(key="goal", value="0.9"), CoreSet(key="seed", value="1"))
    await fork(workspace, None, "stage1/node:3")
    await fork(workspace, "stage1/node:3", "node 3 ü")
    await write(workspace, "stage1/node:3", CoreSet(key="goal", value="0.95"))
    await write(workspace, "node 3 ü", CoreDelete(key="seed"), CoreSet(key="lr", value="1e-3"))
    await write(workspace, "main", CoreSet(key="late", value="after the fork"))

    assert await core(workspace, "main") == {"goal": "0.9", "seed": "1", "late": "after the fork"}
    assert await core(workspace, "stage1/node:3") == {"goal": "0.95", "seed": "1"}
    assert await core(workspace, "node 3 ü") == {"goal": "0.9", "lr": "1e-3"}
    assert (await view(workspace, "node 3 ü")).chain == ("node 3 ü", "stage1/node:3", "main")
    history = given(await layers.list_core_history(at(workspace, "node 3 ü"), "seed"))
    assert [(each.value, each.node) for each in history] == [("1", "main"), (None, "node 3 ü")]


async def test_a_fork_is_repeatable_and_says_what_it_does_not_know(workspace: Workspace) -> None:
    """An agent may not know whether its last call arrived."""
    first = given(await layers.fork_node(workspace, "b", "c", ["main", "a", "b"]))
    assert (first.created, first.parent) == (("a", "b", "c"), "b")
    again = given(await layers.fork_node(workspace, "b", "c", ["b", "a", "main"]))
    assert again.created == ()
    turned = given(await layers.fork_node(workspace, "y", "z", ["y", "x"]))
    assert turned.created == ("x", "y", "z")
    assert (await view(workspace, "z")).chain == ("z", "y", "x", "main")

    await fork(workspace, None, "node-17")
    with pytest.raises(UnknownTargetError, match="Did you mean 'node-17'"):
        await fork(workspace, "node-71", "d")
    with pytest.raises(InvalidRequestError, match="below 'b' and not below 'a'"):
        await fork(workspace, "a", "c")
    with pytest.raises(InvalidRequestError, match=r"U\+0007 \(a control character\) at 1"):
        await fork(workspace, "a", "x\ay")
    assert [(await fork(workspace, "a", None)).node for _ in range(2)] == ["a-1", "a-2"]


async def test_a_name_has_one_spelling_and_its_case(workspace: Workspace) -> None:
    """What looks alike is one node; what differs in case is two."""
    await fork(workspace, None, "caf\u00e9")
    await fork(workspace, None, "Caf\u00e9")

    assert (await fork(workspace, None, "cafe\u0301")).created == ()
    assert {"caf\u00e9", "Caf\u00e9"} <= set(given(await branches.report_head(workspace)).branches)


async def test_an_event_keeps_every_field(workspace: Workspace) -> None:
    """A field that nobody thought of is a label, and comes back as it was."""
    await fork(workspace, None, "n")
    event = RecallAppend.model_validate(
        {
            "ts": "2026-01-30T10:00:00+01:00", "run_id": "r1", "node_id": "other",
            "phase": "stage2", "kind": "result", "summary": "Accuracy\n0.91",
            "text": "First.\n\nSecond.", "refs": ["run/7"], "tags": ["gpu"],
            "task_hint": "train", "loss": 0.25,
            "nested": {"a": [1, None]}, "write_archival": True,
        }
    )  # fmt: skip
    receipt = await write(workspace, "n", event)
    (back,) = given(await layers.search_events(at(workspace, "n"), "accuracy", 5))

    assert (back.summary, back.text) == ("Accuracy 0.91", "First.\n\nSecond.")
    assert (back.kind, back.phase, back.run_id) == ("result", "stage2", "r1")
    assert (back.task_hint, back.refs, back.tags) == ("train", ("run/7",), ("gpu",))
    assert back.meta == {"loss": 0.25, "nested": {"a": [1, None]}, "node_id": "other"}
    assert back.ts.isoformat() == "2026-01-30T09:00:00+00:00"
    double = given(await layers.get_archival(at(workspace, "n"), receipt.archival[0]))
    assert double.tags == ("gpu", "phase:stage2", "kind:result")
    assert await events(workspace, "main") == []
    with pytest.raises(InvalidRequestError, match=r"meta has 4,\d+ bytes"):
        await write(workspace, "n", RecallAppend(summary="x", meta={"k": "v" * 4_100}))


async def test_evicted_events_leave_the_window_and_stay_in_the_history(
    workspace: Workspace, clock: FakeClock
) -> None:
    """By age, kind, count or id; on this node alone."""
    for number in range(4):
        await write(workspace, "main", RecallAppend(summary=f"log {number}", kind="log"))
    await fork(workspace, None, "n")
    clock.advance(timedelta(hours=2))
    own = await write(workspace, "n", RecallAppend(summary="result"), RecallAppend(summary="odd"))

    assert (await write(workspace, "n", RecallEvict(kind="log", keep=3))).evicted == 1
    assert await events(workspace, "n") == ["log 1", "log 2", "log 3", "result", "odd"]
    assert (await write(workspace, "n", RecallEvict(older_than="1h", keep=2))).evicted == 1
    assert (await write(workspace, "n", RecallEvict(ids=(own.events[1],)))).evicted == 1
    assert await events(workspace, "n") == ["log 2", "log 3", "result"]
    assert await events(workspace, "main") == ["log 0", "log 1", "log 2", "log 3"]
    history = given(await layers.load_events(at(workspace, "n"), None, history=True))
    assert {e.summary: e.evicted for e in history} == {
        "odd": True, "result": False, "log 3": False, "log 2": False, "log 1": True, "log 0": True
    }  # fmt: skip
    with pytest.raises(InvalidRequestError, match="Give ids, kind, older_than or keep"):
        await write(workspace, "n", RecallEvict())


@pytest.mark.parametrize("number", [3, 300])
async def test_a_summary_takes_the_place_of_events_and_gives_it_back(
    workspace: Workspace, number: int
) -> None:
    """Copy-on-write: the parent and a sibling go on to see every event."""
    written = [RecallAppend(summary=f"step {n}") for n in range(number)]
    await write(workspace, "main", *written)
    await fork(workspace, None, "n")
    await fork(workspace, None, "sibling")
    await write(workspace, "n", RecallAppend(summary="own"))
    before = {r.id: r async for r in all_records(workspace)}
    done = await write(workspace, "n", Consolidate(summary="All steps went well."))

    assert done.sums_up == number
    assert await events(workspace, "n") == ["own", "All steps went well."]
    assert (await view(workspace, "n")).recall[1].sums_up == number
    for other in ("main", "sibling"):
        assert (await view(workspace, other)).events == number
    assert done.summary
    await memories.forget_memory(at(workspace, "n"), done.summary, "", erase=True)
    assert (await view(workspace, "n")).events == number + 1
    after = {r.id: r async for r in all_records(workspace)}
    assert {id_: after[id_] for id_ in before} == before


async def all_records(workspace: Workspace):  # noqa: ANN201  # a generator of records
    async for record in workspace.project.records.scan(await workspace.project.records.ids()):
        yield record


async def test_a_summary_falls_with_an_event_that_was_erased(workspace: Workspace) -> None:
    """It repeats its words."""
    one, other = (
        await write(workspace, "main", RecallAppend(summary="a"), RecallAppend(summary="b"))
    ).events
    await fork(workspace, None, "n")
    await write(workspace, "n", Consolidate(summary="a and b"))
    await memories.forget_memory(workspace, one, "", erase=True)

    assert await events(workspace, "n") == ["b"]
    del other


async def test_a_text_of_the_archive_is_replaced_on_this_node_alone(workspace: Workspace) -> None:
    """What is left out of an update stays."""
    written = ArchivalWrite(text="Adam diverges.", tags=("optimizer",), meta={"run": 7, "ok": None})
    (id_,) = (await write(workspace, "main", written)).archival
    await fork(workspace, None, "n")
    done = await write(workspace, "n", ArchivalUpdate(id=id_, text="Adam converges."))

    found = given(await layers.search_archival(at(workspace, "n"), "adam", ["optimizer"], 10))
    assert [(f.text, f.tags, f.meta) for f in found] == [
        ("Adam converges.", ("optimizer",), {"run": 7, "ok": None})
    ]
    assert found[0].id == done.archival[0]
    there = given(await layers.search_archival(workspace, "adam", [], 10))
    assert [each.text for each in there] == ["Adam diverges."]
    assert given(await layers.search_archival(workspace, "adam", ["none"], 10)) == ()


async def test_all_of_a_write_or_nothing(workspace: Workspace) -> None:
    """One that cannot be stored keeps the others from being stored."""
    with pytest.raises(InvalidRequestError, match="No memory 'gone'"):
        await write(
            workspace, "main", CoreSet(key="k", value="v"), ArchivalWrite(text="t"),
            ArchivalUpdate(id="gone", text="x"),
        )  # fmt: skip
    assert await core(workspace, "main") == {}
    assert await workspace.project.records.ids() == set()


async def test_a_value_lives_as_long_as_it_was_given(
    workspace: Workspace, clock: FakeClock
) -> None:
    """A duration or a time."""
    until = clock.now().replace(year=clock.now().year + 1).isoformat()
    await write(
        workspace, "main", CoreSet(key="a", value="1", ttl="30m"),
        CoreSet(key="b", value="2", ttl="2d"), CoreSet(key="c", value="3", ttl=until),
    )  # fmt: skip
    clock.advance(timedelta(minutes=31))
    assert await core(workspace, "main") == {"b": "2", "c": "3"}
    clock.advance(timedelta(days=3))
    assert await core(workspace, "main") == {"c": "3"}
    for wrong in ("soon", "2001-01-01"):
        with pytest.raises(InvalidRequestError, match=f"ttl is '{wrong}'"):
            await write(workspace, "main", CoreSet(key="d", value="4", ttl=wrong))


async def test_a_core_has_room_for_so_many_keys(workspace: Workspace) -> None:
    """It is always in view."""
    many = [CoreSet(key=f"k{n}", value="v") for n in range(200)]
    await write(workspace, "main", *many)
    await write(workspace, "main", CoreSet(key="k7", value="another"))
    with pytest.raises(
        InvalidRequestError, match="has 200 keys and would have 201; the limit is 200"
    ):
        await write(workspace, "main", CoreSet(key="one more", value="v"))
    for wrong in ("a*", "a\u202eb"):
        with pytest.raises(InvalidRequestError, match="key"):
            await write(workspace, "main", CoreSet(key=wrong, value="v"))


async def test_the_tree_is_shown_where_the_project_stands(workspace: Workspace) -> None:
    """Each node below its parent, on the way from here to the root first of all."""
    for parent, child in ((None, "a"), ("a", "a 1"), ("a", "a 2"), (None, "b"), ("a 1", "deep")):
        await fork(workspace, parent, child)
    report = given(await branches.report_head(at(workspace, "a 1")))
    log = given(await branches.read_log(at(workspace, "a 1"), 0))

    assert render_head(report).splitlines()[-6:] == [
        "main", "├ a", "│ ├ a 1 @", "│ │ └ deep", "│ └ a 2", "└ b"
    ]  # fmt: skip
    assert render_head_fields(report)["parents"] == {
        "a": "main", "a 1": "a", "a 2": "a", "b": "main", "deep": "a 1"
    }  # fmt: skip
    lines = render_log(log, ascii_only=False, narrow=True)
    drawn = ["".join(text for text, _ in line) for line in lines]
    assert any("branch a 2  below a" in line for line in drawn)


async def test_of_very_many_nodes_those_are_named_that_bear_on_this_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model reads this: of a thousand names it needs its own, and how the rest are seen."""
    count, looked = 40, 0
    for parent, child in ((None, "a"), ("a", "a 1"), ("a 1", "deep")):
        await fork(workspace, parent, child)
    for number in range(count):
        await fork(workspace, None, f"n{number}")
    here = at(workspace, "deep")
    real = nodes.find_fork

    def find_fork(timeline: Timeline, node: BranchName) -> tuple[SegmentId, ...]:
        nonlocal looked
        looked += 1
        return real(timeline, node)

    monkeypatch.setattr(nodes, "find_fork", find_fork)
    report = given(await branches.report_head(here))
    newest = [f"n{number}" for number in range(count - 6, count)]

    assert list(report.branches) == ["main", "a", "a 1", "deep", *newest]
    assert report.other_branches == count - 6
    assert looked < 20, "no look at every branch"
    assert render_head_fields(report)["otherBranches"] == count - 6
    assert render_head(report).splitlines()[-11:] == [
        "main", "├ a", "│ └ a 1", "│   └ deep @", *(f"├ {name}" for name in newest[:-1]),
        f"└ {newest[-1]}", f"and {count - 6} more; the user sees them with `memory-mcp log`",
    ]  # fmt: skip


async def test_durable_preferences_stand_beside_the_core_of_every_node(
    workspace: Workspace,
) -> None:
    """Marked as such, for whoever renders the core."""
    await fork(workspace, None, "n")
    await memories.add_memory(workspace, Draft("Tabs, not spaces.", kind="preference"))
    await write(workspace, "n", CoreSet(key="goal", value="0.95", importance=5))
    entries = given(await layers.read_node(at(workspace, "n"), durable=True)).core

    assert [(e.value, e.durable, e.importance) for e in entries] == [
        ("0.95", False, 5), ("Tabs, not spaces.", True, 3)
    ]  # fmt: skip


async def test_a_value_of_the_core_is_not_merged_with_a_memory(workspace: Workspace) -> None:
    """It changes with its key and with nothing else, and takes no memory along when it does."""
    await write(workspace, "main", CoreSet(key="db", value="Orders live in PostgreSQL."))
    said = await memories.add_memory(workspace, Draft("Orders live in PostgreSQL."))
    await write(workspace, "main", CoreSet(key="db", value="Orders live in SQLite."))

    assert isinstance(said, MemoryAdded)
    found = given(await layers.search_archival(workspace, "where do orders live?", [], 10))
    assert [each.text for each in found] == ["Orders live in PostgreSQL."]


async def test_a_summary_that_is_hidden_gives_its_events_back(workspace: Workspace) -> None:
    """Hidden or erased: what takes the place of events is gone, so they stand again."""
    await write(workspace, "main", *[RecallAppend(summary=f"run {n}") for n in range(3)])
    await fork(workspace, None, "n")
    done = await write(workspace, "n", Consolidate(summary="Three runs."))
    await fork(workspace, "n", "below")
    assert done.summary is not None
    await memories.forget_memory(at(workspace, "n"), done.summary, "", erase=False)
    assert await events(workspace, "n") == ["run 0", "run 1", "run 2"]
    assert (await view(workspace, "n")).events == 3
    assert await events(workspace, "below") == ["Three runs."]


async def test_a_join_brings_events_back_whose_summary_no_longer_holds(
    workspace: Workspace,
) -> None:
    """The parent hid one of the events that its child had summed up."""
    made = await write(workspace, "main", *[RecallAppend(summary=f"run {n}") for n in range(3)])
    await fork(workspace, None, "n")
    await write(workspace, "n", Consolidate(summary="Three runs."))
    await memories.forget_memory(workspace, made.events[0], "", erase=False)
    given(await layers.join_node(at(workspace, "n")))
    assert await events(workspace, "main") == ["run 1", "run 2"]
