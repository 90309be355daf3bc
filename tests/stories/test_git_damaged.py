"""What was seen of git is damaged: the mode that the user chose stays, or its loss is told."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Run
from doors import Json, agent, machine_dir
from git_world import A, B, GitWorld, in_git, make_world
from real_git import commit_all, git

from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.files, pytest.mark.usefixtures("patient_git")]

DAMAGES = {
    "empty": b"",
    "cut short": b'{\n "mode": "fol',
    "garbage": b"\x00\xff\xfegarbage",
    "no object": b"[]",
    "wrong types": b'{"mode": 5, "trees": "none"}',
    "nothing in it": b"{}",
}
UNREADABLE = "What was remembered of git cannot be read"
LOST = "Which mode of git was chosen for this project cannot be read"
NOT_MERGED = "written on feature, not merged here"


@pytest.fixture
def chosen(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A on main, B on feature; HEAD is on main, and the user chose to follow. The state's file."""
    monkeypatch.delenv("MEMORY_GIT", raising=False)
    make_world(project, ignored=True)
    assert run("add", A)[0] == 0
    commit_all(project, "a")
    git(project, "switch", "-q", "-c", "feature")
    assert run("add", B)[0] == 0
    (project / "b.py").write_text("b", "utf-8")
    commit_all(project, "b")
    assert run("git", "follow")[0] == 0
    git(project, "switch", "-q", "main")
    assert recall(run) == ({A}, {})
    return machine_dir(project) / "git.json"


def recall(run: Run) -> tuple[set[str], dict[str, str]]:
    """What is recalled, and the marks of those that have one."""
    found = json.loads(run("search", "", "--json")[1])["results"]
    marks = {each["content"]: each["standing"] for each in found if "standing" in each}
    return {each["content"] for each in found}, marks


def examine(run: Run, *options: str) -> dict[str, Json]:
    """What the doctor finds, by its code."""
    found = json.loads(run("doctor", "--json", *options)[1])["findings"]
    return {each["code"]: each for each in found}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("data", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_state_does_not_drop_the_chosen_mode(chosen: Path, run: Run, data: bytes) -> None:
    """What stands elsewhere stays out of sight; that much is to be seen anew is told once."""
    chosen.write_bytes(data)
    told = run("search", "")[2]
    assert told.count(UNREADABLE) == (data != b"{}")
    assert recall(run) == ({A}, {})
    assert run("config", "MEMORY_GIT")[1].count("follow")
    assert UNREADABLE not in run("search", "")[2]
    assert examine(run) == {}


def test_a_lost_state_does_not_drop_the_chosen_mode(chosen: Path, run: Run) -> None:
    """Somebody deletes what can be seen again."""
    chosen.unlink()
    assert recall(run) == ({A}, {})


@pytest.mark.anyio
async def test_a_running_server_keeps_the_mode(
    settings: Settings, project: Path, chosen: Path
) -> None:
    """The file is damaged between two of its calls."""
    async with agent(in_git(settings, None), "auto") as client:
        w = GitWorld(client, project)
        assert await w.recalled() == {A}
        damage(chosen)
        assert await w.recalled() == {A}
        assert await w.recalled() == {A}
    assert len([note for note in w.told if UNREADABLE in note]) == 1


@pytest.mark.parametrize("data", [b"", b"{}"], ids=["empty", "no mode"])
def test_a_choice_that_cannot_be_read_hides_nothing_and_is_told(
    chosen: Path, run: Run, data: bytes
) -> None:
    """Both copies are damaged: memories are marked, until the user chooses again."""
    chosen.write_bytes(data)
    chosen.with_name("git-mode").write_bytes(data)
    assert LOST in run("search", "")[2]
    assert recall(run) == ({A, B}, {B: NOT_MERGED})
    found = examine(run, "--repair")
    assert found["git-mode-lost"]["severity"] == "must"
    assert "memory-mcp git follow" in found["git-mode-lost"]["remedy"]
    assert not found["git-mode-lost"]["repaired"]
    assert run("git", "follow")[0] == 0
    assert LOST not in run("search", "")[2]
    assert recall(run) == ({A}, {})
    assert examine(run) == {}


def damage(path: Path) -> None:
    path.write_bytes(b"?")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["git.json", "git-mode"])
@pytest.mark.parametrize("harm", [replace_by_folder, damage])
def test_the_doctor_finds_and_mends_a_damaged_state(
    chosen: Path, run: Run, name: str, harm: Callable[[Path], object]
) -> None:
    """What is damaged is set aside, and the choice is written anew from the other copy."""
    harm(chosen.with_name(name))
    found = examine(run)
    assert list(found) == ["git-state-damaged"]
    assert name in found["git-state-damaged"]["what"]
    if name == "git.json":  # the doctor has looked at git, too, and so it is there again
        assert recall(run) == ({A}, {})
        harm(chosen)
    assert examine(run, "--repair")["git-state-damaged"]["repaired"]
    assert examine(run) == {}
    assert recall(run) == ({A}, {})
    damage(chosen if name == "git-mode" else chosen.with_name("git-mode"))
    assert recall(run) == ({A}, {}), "each copy has the choice again"


def test_a_mode_that_the_settings_set_needs_no_choice(
    chosen: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was chosen does not count then, and nothing is told of it."""
    for path in (chosen, chosen.with_name("git-mode")):
        damage(path)
    monkeypatch.setenv("MEMORY_GIT", "follow")
    assert LOST not in run("search", "")[2]
    assert recall(run) == ({A}, {})
    assert examine(run) == {}
