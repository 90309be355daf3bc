"""What programs and models hand to the layers by mistake: refused by name, and nothing written."""

from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_mcp import Memory
from memory_mcp.errors import InvalidRequestError

DEEP: dict[str, Any] = {}
_inner = DEEP
for _ in range(3_000):
    _inner["a"] = {}
    _inner = _inner["a"]


@pytest.fixture
def memory(tmp_path: Path) -> Generator[Any]:
    folder = tmp_path / "project"
    folder.mkdir()
    with Memory.open_sync(folder, {"MEMORY_HOME": str(tmp_path / "home")}) as opened:
        opened.mem_node_fork(None, "n")
        yield opened


def test_what_could_not_be_read_again_never_gets_into_the_head(memory: Any) -> None:
    """The head is read by every call: a record in it that nobody can read stops them all."""
    with pytest.raises(InvalidRequestError, match=r"phase has 10,000 characters; the limit is 64"):
        memory.mem_node_fork(None, "a", phase="p" * 10_000)
    rlo = {"text": "a", "tags": ["\u202e"]}
    with pytest.raises(InvalidRequestError, match="a tag is empty"):
        memory.mem_node_write("n", {"key": "v"}, {"summary": "s"}, [rlo])
    assert memory.mem_node_fork(None, "a").created == ("a",)
    assert memory.mem_core_get(branch_id="n") == {}


def test_the_phase_of_a_fork_holds_no_secret(memory: Any, tmp_path: Path) -> None:
    """It is written with the move."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"  # noqa: S105  # of nobody
    memory.mem_node_fork(None, "a", phase=f"token {secret}")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if secret.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("parent", "child", "chain", "said"),
    [
        ("w3", "leaf", ["w1", "leaf", "w3"], "'leaf' cannot be its own ancestor"),
        ("n", "n", None, "'n' cannot be its own ancestor"),
        ("n", "main", None, "'main' is the root"),
        ("q", "leaf", ["new", "n", "q"], "'n' exists already, below 'main' and not below 'new'"),
        ("q", "n", ["q"], "'n' exists already, below 'main' and not below 'q'"),
        (3, "leaf", None, "branch 3 cannot be a name. Give a text"),
        (None, ["leaf"], None, r"branch \['leaf'\] cannot be a name"),
        ("q", "leaf", [None], "an item of ancestor_chain is None; give a text"),
        ("q", "leaf", "main", "ancestor_chain is the text 'main'"),
    ],
)
def test_a_chain_that_cannot_be_begins_no_node(
    memory: Any, parent: Any, child: Any, chain: Any, said: str
) -> None:
    """Half of a chain would be in the way of the right one."""
    with pytest.raises(InvalidRequestError, match=said):
        memory.mem_node_fork(parent, child, chain)
    assert memory.mem_node_fork(None, None).created == ("node-1",)
    assert {*memory.memory_head().branches} == {"main", "n", "node-1"}


def test_a_chain_may_begin_at_any_node(memory: Any) -> None:
    """A program may know the part below the node that it works on."""
    forked = memory.mem_node_fork("b", "c", ["n", "a", "b"])
    assert forked.created == ("a", "b", "c")
    assert memory.mem_node_read("c").chain == ("c", "b", "a", "n", "main")


CALLS: dict[str, Callable[[Any], object]] = {
    "scope is None; choose one of: all": lambda m: m.mem_node_read("n", None),
    "keys is 3; give a list": lambda m: m.mem_core_get(3),
    "item of keys is 3; give a text": lambda m: m.mem_core_get([3]),
    "key is None; give a text": lambda m: m.mem_core_history(None),
    "value is empty": lambda m: m.mem_core_set("k", " \n"),
    "value has 8,001 characters": lambda m: m.mem_core_set(
        "k", f"{'y' * 7_975} AKIAABCDEFGHIJKLMNOP"
    ),
    "holds U\\+000A": lambda m: m.mem_core_set("a\nb", "v"),
    "ttl is '0s', which ends at once": lambda m: m.mem_core_set("k", "v", "0s"),
    "ttl is '5months'; give a duration": lambda m: m.mem_core_set("k", "v", "5months"),
    "ttl: give a duration .*got 60": lambda m: m.mem_core_set("k", "v", 60),
    "ttl: .*got True": lambda m: m.mem_core_set("k", "v", ttl=True),
    "ttl is '0:00:00', which": lambda m: m.mem_core_set("k", "v", timedelta(0)),
    "ttl is '2001-01-01 00:00:00', which": lambda m: m.mem_core_set(
        "k",
        "v",
        datetime(2001, 1, 1),  # noqa: DTZ001
    ),
    "importance: true is no number": lambda m: m.mem_core_set("k", "v", importance=True),
    "meta.x": lambda m: m.mem_recall_append({"summary": "s", "meta": {"x": {1}}}),
    "meta holds what is no JSON, in 'x'": lambda m: m.mem_recall_append({"summary": "s", "x": {1}}),
    "meta is nested": lambda m: m.mem_recall_append({"summary": "s", "x": DEEP}),
    "meta.a.dict.a.dict.a: Recursion error": lambda m: m.mem_archival_write("a", meta=DEEP),
    "ts: is beyond the calendar": lambda m: m.mem_recall_append(
        {"summary": "s", "ts": "9999-12-31T23:59:59-12:00"}
    ),
    "phase: true is no number": lambda m: m.mem_recall_append({"summary": "s", "phase": True}),
    "keep: true is no number": lambda m: m.mem_recall_evict(keep=True),
    "k: .*got 0": lambda m: m.mem_recall_search("word", 0),
    "k: give 1,000 or less": lambda m: m.mem_recall_search("*", 10**30),
    "k: give a whole number": lambda m: m.mem_recall_search("*", 2.5),
    "query: .*got 3": lambda m: m.mem_recall_search(3),
    "tags is None": lambda m: m.mem_archival_search("a", None),
    "text is empty": lambda m: m.mem_archival_write(" "),
    "id is None": lambda m: m.mem_archival_get(None),
    "summary is empty": lambda m: m.mem_consolidate(
        " ",
        [m.mem_recall_append({"summary": "e"}).events[0]],
    ),
    "core_updates is .* give an object": lambda m: m.mem_node_write("n", ["a"]),
    "^core_updates.a.value: give a text .got 5": lambda m: m.mem_node_write(
        "n", {"z": "1", "a": 5}
    ),
    "^recall_event.ts: ": lambda m: m.mem_node_write("n", recall_event={"ts": "soon"}),
    "^'archival_records.0.txt' is no key": lambda m: m.mem_node_write(
        "n", archival_records=[{"txt": "x"}]
    ),
    "lesson is 3": lambda m: m.mem_node_discard("n", 3),
    "branch 3 cannot": lambda m: m.mem_node_join("n", 3),
    "budget_chars is '9'": lambda m: m.render_for_prompt("n", "", "9"),
    "task_hint is None": lambda m: m.render_for_prompt("n", None),
    "roots is the text '/'": lambda m: m.build_resource_snapshot("r.json", {"roots": "/"}),
    "config is 'x'": lambda m: m.build_resource_snapshot("r.json", "x"),
    "usage_type is None; choose one of: read, reference, include": lambda m: m.track_resource_usage(
        "x", None
    ),
    "resource_id is empty": lambda m: m.track_resource_usage("", "read"),
    "output_dir is ''": lambda m: m.export_final_memory(""),
    "is no name of a file": lambda m: m.export_final_memory("out", None, "a\0"),
    "test_layers_refused.py' is no folder": lambda m: m.export_final_memory(__file__),
    "Both files are called": lambda m: m.export_final_memory("out", None, "Same", "same"),
}


def test_a_wrong_value_is_named(memory: Any, subtests: pytest.Subtests) -> None:
    """A program reads the message; an error from within tells it nothing."""
    for said, call in CALLS.items():
        with subtests.test(said), pytest.raises(InvalidRequestError, match=said):
            call(memory)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"mem_core_set": DEEP}, "'mem_core_set.a.a' is no key"),
        ({"mem_recall_evict": {"keep": False}}, "keep: false is no number"),
        ({"mem_archival_search": {"query": "x", "k": 5_000}}, "k: .* 1,000"),
        ({"mem_recall_search": {"query": "x", "k": 10**9}}, "k: .* 1,000"),
        ({"mem_recall_search": {"query": "\ud800"}}, "query: .* unicode"),
        ({"mem_archival_search": {"query": "x", "tags": [" "]}}, "a tag is empty"),
    ],
)
def test_a_question_that_cannot_be_answered_writes_nothing(
    memory: Any, document: dict[str, Any], said: str
) -> None:
    """Who reads an error repeats the document, and would write it twice."""
    writes = {"mem_archival_write": "written", **document}
    with pytest.raises(InvalidRequestError, match=said):
        memory.apply_llm_memory_updates("n", writes)
    assert memory.mem_archival_search("*", branch_id="n") == ()


def test_both_spellings_of_a_document_are_one(memory: Any) -> None:
    """A model that knows both may write both."""
    document = {"core": {"a": "1", "b": "1"}, "mem_core_set": {"b": "2"}, "archival": "old"}
    memory.apply_llm_memory_updates("n", {**document, "mem_archival_write": ["new"]})
    assert memory.mem_core_get(branch_id="n") == {"a": "1", "b": "2"}
    assert {r.text for r in memory.mem_archival_search("*", branch_id="n")} == {"old", "new"}


def test_node_and_phase_of_a_document_go_to_its_events(memory: Any) -> None:
    """The program knows them, the model need not."""
    memory.apply_llm_memory_updates("n", {"mem_recall_append": ["e"]}, "exp-7", "stage2")
    event = memory.mem_recall_search("*", 1, branch_id="n")[0]
    assert (event.phase, event.meta, event.node) == ("stage2", {"node_id": "exp-7"}, "n")


def test_labels_of_a_program_that_are_called_as_fields_are_kept(memory: Any) -> None:
    """Nothing that was given is dropped in silence."""
    meta = {"kind": "other", "ts": "noon", "refs": "none", "meta": {"x": None}, "loss": 0.5}
    memory.mem_recall_append({"summary": "s", "kind": "log", "meta": meta})
    event = memory.mem_recall_search("*", 1)[0]
    assert event.kind == "log"
    assert event.meta == meta


def test_an_event_is_as_old_as_it_says(memory: Any) -> None:
    """A program may write down later what happened long ago."""
    memory.mem_recall_append({"summary": "old", "ts": "2001-01-01T00:00:00"})
    memory.mem_recall_append({"summary": "now", "ts": datetime.now(UTC)})
    assert memory.mem_recall_evict(older_than="1h").evicted == 1
    assert [event.summary for event in memory.mem_recall_search()] == ["now"]


def test_a_full_core_takes_one_key_for_another(memory: Any) -> None:
    """What counts is what the whole step leaves."""
    memory.mem_node_write("n", {f"k{n}": "v" for n in range(200)})
    memory.apply_llm_memory_updates("n", {"mem_core_set": {"new": "v"}, "mem_core_del": "k3"})
    assert len(memory.mem_core_get(branch_id="n")) == 200


def test_resources_of_strange_names_are_a_state(memory: Any, tmp_path: Path) -> None:
    """One of them must not cost the snapshot."""
    project = tmp_path / "project"
    (project / "data").mkdir()
    (project / "data" / "a\nb").write_text("x")
    local = '[{"name": "a\\n## b", "path": "data"}, {"name": "nul", "path": "a\\u0000b"}]'
    (project / "r.json").write_text(f'{{"local_data": {local}}}')
    snapshot = memory.build_resource_snapshot("r.json")
    items = [(each["id"], each["fetch_status"]) for each in snapshot["items"]]
    assert items == [("local_data:a ## b", "available"), ("local_data:nul", "failed")]
    assert snapshot["items"][0]["tree_summary"] == "a\\nb"
    assert len(snapshot["index"].splitlines()) == 2
    twice = '{"local_data": [{"name": "d", "path": "x"}, {"name": "d", "path": "y"}]}'
    (project / "r.json").write_text(twice)
    with pytest.raises(InvalidRequestError, match="two resources 'local_data:d'"):
        memory.build_resource_snapshot("r.json")
