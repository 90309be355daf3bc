"""What a node's layers answer where a program is mistaken, or asks for what has gone on."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from memory_mcp import Memory
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(project: Path) -> Generator[Any]:
    with Memory.open_sync(project) as opened:
        yield opened


def test_an_id_leads_to_what_stands_in_its_place(memory: Any) -> None:
    """Prompts and notes go on naming an id after its text was updated."""
    old = memory.mem_archival_write("Adam diverges.")
    memory.mem_node_fork(None, "n")
    middle = memory.mem_archival_update(old, "Adam diverges above 1e-3.", branch_id="n")
    new = memory.mem_archival_update(middle, "Adam diverges above 3e-3.", branch_id="n")
    assert memory.mem_archival_get(old, branch_id="n").id == new
    assert memory.mem_archival_get(old).id == old
    with pytest.raises(UnknownMemoryError, match=f"was replaced by {new}; nothing was written"):
        memory.mem_archival_update(old, "Adam works.", branch_id="n")
    memory.forget_memory(old)
    with pytest.raises(UnknownMemoryError):
        memory.mem_archival_get(old)


def test_an_update_that_changes_nothing_writes_nothing(memory: Any) -> None:
    """A version more that says the same would be a conflict of a join, and an id to follow."""
    old = memory.mem_archival_write("Adam diverges.", ["opt"], {"run": 1})
    assert memory.mem_archival_update(old) == old
    assert memory.mem_archival_update(old, "Adam diverges.", ["opt", "opt"], {"run": 1}) == old
    done = memory.apply_llm_memory_updates(None, {"mem_archival_update": {"id": old}})
    assert done.receipt.notes == (f"{old} says this already: nothing was changed.",)
    assert [each.id for each in memory.mem_archival_search("*")] == [old]
    assert memory.mem_archival_update(old, tags=[]) != old


def test_a_key_has_one_spelling_and_shows_something(memory: Any) -> None:
    """Two keys that look the same would have two values."""
    memory.mem_core_set("cafe\u0301", "1")
    memory.mem_core_set("caf\u00e9", "2")
    assert memory.mem_core_get(["cafe\u0301"]) == {"caf\u00e9": "2"}
    memory.mem_core_del("cafe\u0301")
    assert memory.mem_core_get() == {}
    for call in (memory.mem_core_set, memory.mem_node_fork):
        with pytest.raises(InvalidRequestError, match="shows nothing"):
            call(*((None, "\u3164") if call == memory.mem_node_fork else ("\u3164", "v")))


def test_a_label_that_is_given_twice_is_refused(memory: Any) -> None:
    """One of the two would be lost."""
    with pytest.raises(InvalidRequestError, match="'loss' is given twice: as a field"):
        memory.mem_recall_append({"summary": "s", "loss": 0.5, "meta": {"loss": 0.6}})
    memory.mem_recall_append({"summary": "s", "loss": 0.5, "meta": {"loss": 0.5}})
    assert memory.mem_recall_search("*")[0].meta == {"loss": 0.5}


def test_two_names_for_different_nodes_are_refused(memory: Any) -> None:
    """It would be written to one of them in silence; an id that is no node's is a label."""
    memory.mem_node_fork(None, "a")
    memory.mem_node_fork(None, "b")
    said = "branch_id is 'a' and node_id is 'b'"
    with pytest.raises(InvalidRequestError, match=said):
        memory.mem_recall_append({"summary": "s", "branch_id": "a", "node_id": "b"})
    with pytest.raises(InvalidRequestError, match=said):
        memory.apply_llm_memory_updates("a", {"mem_core_set": {"k": "v"}}, "b")
    assert memory.mem_core_get(branch_id="a") == {}
    assert memory.mem_recall_search("*", branch_id="a") == ()


def test_one_wrong_resource_costs_itself(memory: Any, project: Path) -> None:
    """The others are there all the same."""
    local = [{"name": "r", "path": "r.json"}, "text", {"name": "nameless"}]
    items = [{"name": "x", "class": "attic", "path": "x"}]
    (project / "r.json").write_text(json.dumps({"local_data": local, "items": items}))
    found = memory.build_resource_snapshot("r.json")["items"]
    assert {each["id"]: each["fetch_status"] for each in found} == {
        "local_data:r": "available",
        "local_data:entry 2 of local_data": "failed",
        "local_data:entry 3 of local_data": "failed",
        "local_data:entry 1 of items": "failed",
    }
    assert "its class is 'attic'; choose one of" in str(found)
    assert "no name or no path" in str(found)


def test_a_report_replaces_reports_alone(memory: Any, project: Path) -> None:
    """A paper may be called as the report is."""
    paths = memory.export_final_memory(project / "out")
    assert memory.export_final_memory(project / "out") == paths
    paths[1].write_text("{}")
    before = paths[0].read_bytes()
    with pytest.raises(InvalidRequestError, match=r"is no report of ours, so it is kept"):
        memory.export_final_memory(project / "out")
    assert (paths[0].read_bytes(), paths[1].read_text()) == (before, "{}")
    assert memory.export_final_memory(project / "out", json_name="data.json")


def test_erasing_what_was_inherited_says_who_loses_it(memory: Any) -> None:
    """A node cannot touch its parent, but to erase is to erase everywhere."""
    event = memory.mem_recall_append({"summary": "s"}).events[0]
    memory.mem_node_fork(None, "n")
    done = memory.at("n").forget_memory(event)
    assert "It was written on branch 'main', and is gone there" in " ".join(done.notes)
    assert memory.mem_recall_history() == ()


def test_compress_never_raises(memory: Any) -> None:
    """It stands in the middle of a loop that must not end by it."""
    wrong: tuple[Any, ...] = (None, 3, 2.5, b"x", object(), [], {}, True, -1, "\ud800", 10**30)
    for each in wrong:
        for args in ((each, 5), ("a long text", each), ("a long text", 5, each, each)):
            assert isinstance(memory.compress(*args), str)
        assert len(memory.compress("a long text", 5, max_iterations=each, use_cache=each)) <= 5
