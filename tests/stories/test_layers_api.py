"""The layers as a program calls them: with and without await, from several processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from postgres import lose_head

from memory_mcp import Memory
from memory_mcp.domain.layers import NodeForked, NodeJoined, NodeView, UpdatesApplied
from memory_mcp.errors import InvalidRequestError, UnknownTargetError

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return {"MEMORY_HOME": str(tmp_path / "home"), "MEMORY_EMBEDDER": "none"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    return made


async def test_a_program_searches_a_tree(folder: Path, settings: dict[str, str]) -> None:
    """Every call names its node; the value itself stands where it stood."""
    async with Memory.open(folder, settings) as memory:
        forked = await memory.mem_node_fork(None, "node 3")
        assert isinstance(forked, NodeForked)
        await memory.mem_core_set("goal", "0.95", ttl="2d", branch_id="node 3")
        await memory.mem_recall_append({"node_id": "node 3", "summary": "begun", "kind": "start"})
        id_ = await memory.mem_archival_write("Adam diverges.", ["opt"], {"run": 1}, "node 3")
        await memory.mem_archival_update(str(id_), tags=["opt", "adam"], branch_id="node 3")
        await memory.mem_node_write(
            "node 3",
            {"lr": {"value": "1e-3", "importance": 5}, "goal": None},
            {"summary": "half way"},
            ["A plain text.", {"text": "Another.", "tags": ["t"]}],
        )
        view = await memory.mem_node_read("node 3")
        there = await memory.mem_node_read()

    assert isinstance(view, NodeView)
    assert isinstance(there, NodeView)
    assert {entry.key: (entry.value, entry.importance) for entry in view.core} == {
        "lr": ("1e-3", 5)
    }
    assert [event.summary for event in view.recall] == ["begun", "half way"]
    assert [each.text for each in view.archival] == ["Another.", "A plain text.", "Adam diverges."]
    assert (there.node, there.core, there.events, there.archived) == ("main", (), 0, 0)


def test_a_script_needs_no_await(folder: Path, settings: dict[str, str]) -> None:
    """The same methods in a worker process."""
    with Memory.open_sync(folder, settings) as memory:
        memory.mem_node_fork(None, "n")
        memory.mem_core_set("a", "1", branch_id="n")
        memory.at("n").mem_core_set("b", "2")
        assert memory.mem_core_get(branch_id="n") == {"a": "1", "b": "2"}
        assert memory.at("n").mem_core_get(["b", "c"]) == {"b": "2"}
        memory.mem_core_del("a", "n")
        history = memory.mem_core_history("a", "n")
        assert isinstance(history, tuple)
        assert [each.value for each in history] == ["1", None]
    with pytest.raises(InvalidRequestError, match="closed"):
        memory.mem_core_get()


async def test_an_unknown_node_names_near_ones(folder: Path, settings: dict[str, str]) -> None:
    async with Memory.open(folder, settings) as memory:
        await memory.mem_node_fork(None, "stage1/node:3")
        with pytest.raises(UnknownTargetError, match="Did you mean 'stage1/node:3'"):
            await memory.mem_core_set("a", "1", branch_id="stage1/node:4")
        with pytest.raises(
            UnknownTargetError, match="Choose one, or give ancestor_chain: the nodes"
        ):
            await memory.mem_node_fork("stage1/node:4", "below")


UPDATES: dict[str, Any] = {
    "core": {"goal": "0.95", "seed": {"value": "7", "ttl": "2d"}},
    "mem_core_del": ["gone"],
    "mem_core_get": ["goal"],
    "mem_recall_append": [{"summary": "begun", "kind": "log"}, "a plain summary"],
    "mem_recall_search": {"query": "*", "k": None},
    "archival": ["Adam diverges."],
    "mem_archival_search": "adam",
    "mem_recall_evict": {"kind": "none"},
}


async def test_a_document_of_updates_is_carried_out_and_answered(
    folder: Path, settings: dict[str, str]
) -> None:
    """Legacy keys are what their present names say."""
    async with Memory.open(folder, settings) as memory:
        await memory.mem_node_fork(None, "n")
        done = await memory.apply_llm_memory_updates("n", UPDATES, phase="stage1")
        events = await memory.mem_recall_search(branch_id="n")

    assert isinstance(done, UpdatesApplied)
    assert done.receipt.core_set == ("goal", "seed")
    assert done.core == {"goal": "0.95"}
    assert [event.summary for event in done.recall] == ["a plain summary", "begun"]
    assert [each.text for each in done.archival] == ["Adam diverges."]
    assert isinstance(events, tuple)
    assert {event.phase for event in events} == {"stage1"}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"mem_core_sett": {}}, "'mem_core_sett' is no key .* Did you mean 'mem_core_set'"),
    ({"mem_core_set": {"a": 3}}, r"mem_core_set\.a\.value: give a text \(got 3\)"),
    ({"mem_archival_write": [{"txt": "a"}]}, "is no key .* mean 'text'.* Known: text, tags, meta"),
    ({"archival": [{"text": "a", "tag": 1}]}, r"'mem_archival_write\.0\.tag' is no key .*'tags'"),
    ({"mem_recall_search": {"k": 0}}, "give 1 or more"),
    ({"core": {"a": "1"}, "mem_core_set": [{"key": "b", "value": 1}]}, r"set\.b\.value: give a"),
    ({"core": {"a": "1"}, "mem_archival_update": {"id": "x", "text": "y"}}, "memory 'x'"),
    ({"mem_core_set": {"a": "1"}, "mem_recall_append": {"kind": "x"}}, "summary is empty"),
]


@pytest.mark.parametrize(("updates", "message"), WRONG)
async def test_what_is_wrong_with_it_is_named_and_nothing_is_written(
    folder: Path, settings: dict[str, str], updates: dict[str, Any], message: str
) -> None:
    async with Memory.open(folder, settings) as memory:
        with pytest.raises(InvalidRequestError, match=message):
            await memory.apply_llm_memory_updates(None, updates)
        assert await memory.mem_core_get() == {}


async def test_the_example_of_the_instructions_is_a_document(
    folder: Path, settings: dict[str, str]
) -> None:
    """A model that follows the example writes what can be carried out."""
    text = Memory.memory_operation_instructions()
    example = json.loads(text[text.rindex("example:") + len("example:") :])
    async with Memory.open(folder, settings) as memory:
        done = await memory.apply_llm_memory_updates(None, example)

    assert isinstance(done, UpdatesApplied)
    assert len(done.archival) == 1
    for key in example:
        assert f"- {key}" in text or f" {key}:" in text


async def test_a_join_names_what_both_changed_and_one_option_decides(
    folder: Path, settings: dict[str, str]
) -> None:
    """Nothing moves before somebody has said who goes first."""
    async with Memory.open(folder, settings) as memory:
        await memory.mem_core_set("lr", "1e-2")
        old = str(await memory.mem_archival_write("Adam diverges."))
        for node in ("a", "b", "c"):
            await memory.mem_node_fork(None, node)
            await memory.mem_core_set("lr", f"by {node}", branch_id=node)
            await memory.mem_core_set(f"only {node}", "1", branch_id=node)
            await memory.mem_archival_update(old, f"As {node} found.", branch_id=node)
        assert isinstance(first := await memory.mem_node_join("a"), NodeJoined)
        held = await memory.mem_node_join("b")
        assert isinstance(held, NodeJoined)
        mine = await memory.mem_node_join("b", prefer="parent")
        after_mine = await memory.mem_core_get()
        theirs = await memory.mem_node_join("c", prefer="child")
        core = await memory.mem_core_get()
        found = await memory.mem_archival_search("found")
        joined = await memory.mem_core_get(branch_id="a")

    assert (first.joined, first.conflicts) == (True, ())
    assert not held.joined
    assert [(c.what, c.name, c.parent, c.child) for c in held.conflicts] == [
        ("core", "lr", "by a", "by b"), ("memory", old, "As a found.", "As b found.")
    ]  # fmt: skip
    assert isinstance(mine, NodeJoined)
    assert mine.joined
    assert isinstance(theirs, NodeJoined)
    assert [(c.parent, c.child) for c in theirs.conflicts] == [
        ("by a", "by c"), ("As a found.", "As c found.")
    ]  # fmt: skip
    assert after_mine == {"lr": "by a", "only a": "1", "only b": "1"}
    assert core == {"lr": "by c", "only a": "1", "only b": "1", "only c": "1"}
    assert isinstance(found, tuple)
    assert [each.text for each in found] == ["As c found."]
    assert joined == {"lr": "by a", "only a": "1"}


async def test_a_discarded_node_leaves_a_lesson_for_all(
    folder: Path, settings: dict[str, str]
) -> None:
    """What it wrote is hidden from it; a node below it goes on as it was; prompts have it first."""
    async with Memory.open(folder, settings) as memory:
        await memory.mem_node_fork(None, "a")
        await memory.mem_core_set("lr", "1", branch_id="a")
        await memory.mem_node_fork("a", "below")
        done = await memory.mem_node_discard("a", "Learning rates of 1 diverge.")
        assert await memory.mem_core_get(branch_id="a") == {}
        assert await memory.mem_core_get(branch_id="below") == {"lr": "1"}
        found = await memory.mem_archival_search("learning rates")
        await memory.mem_node_fork(None, "b")
        for n in range(12):
            await memory.mem_archival_write(f"Widths of {n} were tried.", branch_id="b")
        prompts = [
            await memory.render_for_prompt(node, task, 700)
            for node in (None, "b", "below")
            for task in ("", "which widths were tried")
        ]

    assert isinstance(found, tuple)
    assert [each.text for each in found] == ["Learning rates of 1 diverge."]
    for prompt in prompts:
        assert f"[{done.lesson}] (lesson) Learning rates of 1 diverge." in prompt  # type: ignore[union-attr]
    assert done.hides == 1  # type: ignore[union-attr]  # no meta session


WORKER = """
import sys
from memory_mcp import Memory
folder, home, node = sys.argv[1:]
with Memory.open_sync(folder, {"MEMORY_HOME": home, "MEMORY_EMBEDDER": "none"}) as memory:
    memory.mem_node_fork(None, node)
    for n in range(8):
        memory.mem_node_write(node, {"step": str(n), f"k{n}": node}, {"summary": f"{node} {n}"})
"""


@pytest.mark.nightly
def test_two_processes_work_on_two_nodes(folder: Path, settings: dict[str, str]) -> None:
    """Neither loses a word, and neither sees the other's."""
    command = [sys.executable, "-c", WORKER, str(folder), settings["MEMORY_HOME"]]
    workers = [subprocess.Popen([*command, node]) for node in ("left", "right")]
    assert [worker.wait(60) for worker in workers] == [0, 0]

    with Memory.open_sync(folder, settings) as memory:
        for node in ("left", "right"):
            core = memory.mem_core_get(branch_id=node)
            assert core == {"step": "7", **{f"k{n}": node for n in range(8)}}
            events = memory.mem_recall_search(k=None, branch_id=node)
            assert isinstance(events, tuple)
            assert [e.summary for e in events] == [f"{node} {n}" for n in range(7, -1, -1)]
        assert memory.mem_core_get() == {}


async def test_a_joined_tree_is_made_anew_from_its_records(
    folder: Path, settings: dict[str, str]
) -> None:
    """The head is derived: losing it loses nothing."""
    async with Memory.open(folder, settings) as memory:
        await memory.mem_core_set("lr", "1")
        for node in ("a", "b"):
            await memory.mem_node_fork(None, node)
            await memory.mem_core_set("lr", node, branch_id=node)
        await memory.mem_node_join("a")
        await memory.mem_node_join("b", prefer="child")
        await memory.mem_node_discard("a", "b was better.")
        await memory.mem_core_set("after", "1", branch_id="b")
        before = [await memory.mem_node_read(node) for node in ("main", "a", "b")]
    lose_head(folder)
    async with Memory.open(folder, settings) as memory:
        assert [await memory.mem_node_read(node) for node in ("main", "a", "b")] == before

    views = [{e.key: e.value for e in v.core} for v in before if isinstance(v, NodeView)]
    assert views == [{"lr": "b"}, {"lr": "1"}, {"lr": "b", "after": "1"}]
