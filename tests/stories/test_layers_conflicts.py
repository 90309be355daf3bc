"""What two nodes changed differently is named before they are joined, whatever differs."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from memory_mcp import Memory
from memory_mcp.domain.limits import CORE_KEYS_MAX
from memory_mcp.errors import InvalidRequestError


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    with Memory.open_sync(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [({"meta": {"is": "held"}}, {"meta": {"is": "refuted"}}), ({"tags": ["a"]}, {"tags": ["b"]})],
)
def test_a_text_of_the_archive_with_other_labels_is_another_version(
    memory: Any, mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """Both would stand side by side, and contradict each other in silence."""
    text = memory.mem_archival_write("Depth helps.")
    memory.mem_node_fork(None, "c")
    memory.mem_archival_update(text, **mine)
    memory.mem_archival_update(text, **theirs, branch_id="c")

    refused = memory.mem_node_join("c")
    assert not refused.joined
    assert [each.name for each in refused.conflicts] == [text]
    assert memory.mem_node_join("c", prefer="child").joined
    (found,) = memory.mem_archival_search("*")
    assert theirs.items() <= {"meta": dict(found.meta), "tags": list(found.tags)}.items()


def test_the_same_change_on_both_sides_is_one(memory: Any) -> None:
    """Two who found out the same do not disagree, and a reader sees it once."""
    text = memory.mem_archival_write("Depth helps.")
    memory.mem_node_fork(None, "c")
    for node in (None, "c"):
        memory.mem_archival_update(text, "Depth helps up to five.", branch_id=node)

    assert memory.mem_node_join("c").conflicts == ()
    assert [each.text for each in memory.mem_archival_search("*")] == ["Depth helps up to five."]


def test_a_key_of_another_importance_is_another_value(memory: Any) -> None:
    """It decides what a prompt leaves out."""
    memory.mem_core_set("goal", "0.9")
    memory.mem_node_fork(None, "c")
    memory.mem_core_set("goal", "0.9", importance=5)
    memory.mem_core_set("goal", "0.9", importance=1, branch_id="c")

    assert [each.name for each in memory.mem_node_join("c").conflicts] == ["goal"]


def test_two_summaries_of_the_same_events_are_a_conflict(memory: Any) -> None:
    """Each stands in the place of the same events, so only one of them can."""
    for number in range(3):
        memory.mem_recall_append({"kind": "run", "summary": f"run {number}"})
    for node in ("c1", "c2"):
        memory.mem_node_fork(None, node)
        memory.mem_consolidate(f"Summary of {node}.", branch_id=node)
    assert memory.mem_node_join("c1").joined

    refused = memory.mem_node_join("c2")
    assert not refused.joined
    assert {(each.parent, each.child) for each in refused.conflicts} == {
        ("Summary of c1.", "Summary of c2.")
    }
    assert memory.mem_node_join("c2", prefer="child").joined
    assert [each.summary for each in memory.mem_recall_search("*")] == ["Summary of c2."]


def test_a_join_that_would_bring_too_many_keys_is_refused_whole(memory: Any) -> None:
    """Afterwards nobody could set another one, and the core would not fit a prompt."""
    memory.mem_node_fork(None, "c")
    half = CORE_KEYS_MAX // 2 + 1
    for node, letter in ((None, "p"), ("c", "c")):
        updates = {"mem_core_set": [{"key": f"{letter}{n}", "value": "1"} for n in range(half)]}
        memory.apply_llm_memory_updates(node or "main", updates)

    with pytest.raises(InvalidRequestError, match=f"would have {2 * half}"):
        memory.mem_node_join("c")
    assert len(memory.mem_core_get()) == half
    memory.mem_core_del("c0", branch_id="c")
    memory.mem_core_del("c1", branch_id="c")
    assert memory.mem_node_join("c").joined
    assert len(memory.mem_core_get()) == CORE_KEYS_MAX


def test_an_address_in_a_snapshot_holds_no_password(memory: Any, tmp_path: Path) -> None:
    """A program puts the index into a prompt."""
    listed = '{"github": [{"name": "x", "repo": "https://ada:zebra-zebra-1@github.com/x/y"}]}'
    (tmp_path / "resources.json").write_text(listed)

    snapshot = memory.build_resource_snapshot(tmp_path / "resources.json", {})

    assert "zebra" not in str(snapshot)
    assert "github.com/x/y" in snapshot["index"]


def test_a_join_that_is_taken_back_shows_again_what_it_hid(memory: Any) -> None:
    """Each side has its own version again, also the one that was not preferred."""
    memory.mem_node_fork(None, "c")
    memory.mem_core_set("goal", "parent's")
    memory.mem_core_set("goal", "child's", branch_id="c")
    joined = memory.mem_node_join("c", prefer="child")
    assert memory.mem_core_get() == {"goal": "child's"}
    memory.backtrack(joined.move)
    assert memory.mem_core_get() == {"goal": "parent's"}
    assert memory.mem_core_get(branch_id="c") == {"goal": "child's"}


def test_a_text_that_was_changed_twice_is_one_version(memory: Any) -> None:
    """What counts is what it became; the losing one does not stand beside the winner."""
    text = memory.mem_archival_write("Depth helps.")
    memory.mem_node_fork(None, "c")
    once = memory.mem_archival_update(text, "Depth helps up to five.")
    memory.mem_archival_update(once, "Depth helps up to six.")
    memory.mem_archival_update(text, "Depth hurts.", branch_id="c")
    (conflict,) = memory.mem_node_join("c").conflicts
    assert (conflict.parent, conflict.child) == ("Depth helps up to six.", "Depth hurts.")
    assert memory.mem_node_join("c", prefer="child").joined
    assert [each.text for each in memory.mem_archival_search("*")] == ["Depth hurts."]


@pytest.mark.parametrize("prefer", ["parent", "child"])
@pytest.mark.parametrize("first", [None, "c"])
def test_an_old_id_leads_to_the_version_that_a_join_let_stand(
    memory: Any, prefer: str, first: str | None
) -> None:
    """Whichever of the two was written first: a prompt may still name what both replaced."""
    text = memory.mem_archival_write("Depth helps.")
    memory.mem_node_fork(None, "c")
    for node in (first, None if first else "c"):
        said = "The child's." if node else "The parent's."
        memory.mem_archival_update(text, said, branch_id=node)

    assert memory.mem_node_join("c", prefer=prefer).joined
    for node in (None, "c"):
        assert memory.mem_archival_get(text, branch_id=node).text == f"The {prefer}'s."


def test_a_summary_that_loses_gives_back_what_it_alone_summed_up(memory: Any) -> None:
    """Else these events were out of sight, and nothing stood in their place."""
    events = [memory.mem_recall_append({"summary": f"run {n}"}).events[0] for n in range(3)]
    memory.mem_node_fork(None, "c")
    memory.mem_consolidate("Parent's.", events[:2])
    memory.mem_consolidate("Child's.", events[1:], branch_id="c")
    assert memory.mem_node_join("c", prefer="parent").joined
    assert [each.summary for each in memory.mem_recall_search("*")] == ["Parent's.", "run 2"]
