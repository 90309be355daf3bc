"""Going back around the ends of nodes: a join is taken back, and made again; so is a discard."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from postgres import lose_head

from memory_mcp import Memory
from memory_mcp.cli.main import main

JOINED = {"before": "0", "parent": "1", "child": "1"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    del home
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(project: Path) -> Generator[Any]:
    """A node that was forked from the root, and both wrote since."""
    with Memory.open_sync(project) as opened:
        opened.mem_core_set("before", "0")
        opened.checkpoint("Before the search.", 1)
        opened.mem_node_fork(None, "c")
        opened.mem_core_set("parent", "1")
        opened.mem_core_set("child", "1", branch_id="c")
        yield opened


def core(memory: Any, node: str | None = None) -> dict[str, str]:
    return dict(memory.mem_core_get(branch_id=node))


def without(*keys: str) -> dict[str, str]:
    return {key: value for key, value in JOINED.items() if key not in keys}


def test_a_join_is_taken_back_on_either_side_and_made_again(memory: Any) -> None:
    """Each side goes back by itself; what both wrote is there to be joined again."""
    joined = memory.mem_node_join("c")
    assert core(memory) == core(memory, "c") == JOINED

    back = memory.backtrack(joined.move)
    assert core(memory) == without("child")
    assert core(memory, "c") == JOINED
    memory.at("c").backtrack(joined.move)
    assert core(memory, "c") == without("parent")

    memory.backtrack(back.line)  # redone
    assert core(memory) == JOINED
    memory.backtrack(joined.move)

    memory.mem_core_set("late", "2")
    assert memory.mem_node_join("c").joined
    assert core(memory) == core(memory, "c") == {**JOINED, "late": "2"}


def test_what_a_backtrack_left_is_back_with_a_node_that_stands_on_it(memory: Any) -> None:
    """A line that does not reach what it was made of would show nothing of the join."""
    memory.mem_node_join("c")
    memory.mem_core_set("after", "2")
    memory.backtrack("1")
    assert core(memory) == {"before": "0"}
    memory.mem_core_set("again", "3")
    assert memory.mem_node_join("c").brings > 0
    assert core(memory) == {**JOINED, "again": "3"}  # what came after the join stays left

    memory.mem_node_fork(None, "d")
    memory.mem_core_set("d", "4", branch_id="d")
    memory.backtrack("1")
    memory.mem_node_join("d")
    assert core(memory) == {**JOINED, "again": "3", "d": "4"}


def test_a_node_that_went_back_behind_its_own_join_is_joined_without_what_it_left(
    memory: Any,
) -> None:
    """It holds again what its parent has of it; what it left stays left, also when it is back."""
    memory.mem_node_join("c")
    memory.mem_core_set("late", "2", branch_id="c")
    left = memory.at("c").backtrack("1")
    memory.mem_core_set("new", "3", branch_id="c")
    joined = memory.mem_node_join("c")
    assert core(memory) == core(memory, "c") == {**JOINED, "new": "3"}

    memory.at("c").backtrack(joined.move)
    assert core(memory, "c") == {"before": "0", "new": "3"}
    assert core(memory) == {**JOINED, "new": "3"}
    assert memory.mem_node_join("c").joined
    assert core(memory) == core(memory, "c") == {**JOINED, "new": "3"}
    memory.at("c").backtrack(left.line)
    assert core(memory, "c") == {**JOINED, "late": "2"}


def test_a_discard_is_taken_back(memory: Any) -> None:
    """The lesson stays: it is durable."""
    left = memory.mem_node_discard("c", "Do not widen.")
    assert core(memory, "c") == {"before": "0"}
    memory.at("c").backtrack(left.line)
    assert core(memory, "c") == without("parent")


def test_a_joined_tree_is_the_same_from_its_records(memory: Any, project: Path) -> None:
    """A clone has the records and no head."""
    memory.mem_node_join("c")
    memory.backtrack("1")
    memory.mem_node_join("c")
    found = core(memory), core(memory, "c")
    lose_head(project)
    with Memory.open_sync(project) as anew:
        assert (core(anew), core(anew, "c")) == found


def run(project: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(["--project", str(project), *words])
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_undo_takes_back_a_join_and_a_discard(
    memory: Any, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command of a person who joined too early."""
    memory.mem_node_join("c")
    assert "Undo the join? This hides 1 memory" in run(project, capsys, "undo")
    assert core(memory) == JOINED
    assert "Took back the join" in run(project, capsys, "undo", "--yes")
    assert core(memory) == without("child")
    run(project, capsys, "--branch", "c", "undo", "--yes")
    assert core(memory, "c") == without("parent")
    redone = run(project, capsys, "undo", "--yes")  # a second one redoes it
    assert "Took back the backtrack to before a join" in redone
    assert core(memory) == JOINED


def test_undo_names_the_branch_that_was_moved(
    memory: Any, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever discarded a node stands on another branch."""
    memory.mem_node_fork(None, "d e")
    memory.mem_core_set("d", "1", branch_id="d e")
    memory.mem_node_discard("d e")
    said = run(project, capsys, "--branch", "c", "undo")
    assert "branch c was never moved. The last move on branch d e was the discard of d e: " in said
    assert "`memory-mcp --branch 'd e' undo` takes it back." in said
    assert "the discard of d e" in run(project, capsys, "--branch", "d e", "undo", "--yes")
    assert core(memory, "d e")["d"] == "1"
    assert "--branch 'f g' (MEMORY_BRANCH)" in run(project, capsys, "fork", "f g")
