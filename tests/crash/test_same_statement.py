"""Sessions of several processes that add the same statement in the same moment."""

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from crew import line_of, waiting
from depth import depth
from doors import trust
from project import all_records, make_project, opened

from memory_mcp import branches, memories, sessions
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.outcomes import CheckpointSaved, MemoryAdded

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("adder.py")
PROCESSES = depth(3, 8)
ROUNDS = depth(2, 40)


def adding(roots: list[Path]) -> AbstractContextManager[list[subprocess.Popen[str]]]:
    """Processes that wait for what to add, one on each of these projects in turn."""
    each = [[str(roots[number % len(roots)])] for number in range(PROCESSES)]
    return waiting(WORKER, each, "adder")


def add_at_once(crew: list[subprocess.Popen[str]], text: str) -> str:
    """The id under which all of them know it; one has added it."""
    for process in crew:
        assert process.stdin is not None
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
    found = sorted(line_of(process).split() for process in crew)
    (name,) = {id_ for _, id_ in found}
    assert [what for what, _ in found] == ["added"] + ["known"] * (len(crew) - 1)
    return name


async def add_rounds(built: BuiltWorkspace, crew: list[subprocess.Popen[str]]) -> None:
    """What was forgotten, replaced, or hidden on a left road is no statement that is known."""
    for number in range(ROUNDS):
        add_at_once(crew, f"Parcel {number} is kept in hall {number}.")
    text = "The gate of the yard is opened at six."
    forgotten = add_at_once(crew, text)
    await memories.forget_memory(built.workspace, forgotten, "", erase=True)
    replaced = add_at_once(crew, text)
    changed = await memories.update_memory(
        built.workspace, replaced, content="Nobody opens the gate before the guard is there."
    )
    assert isinstance(changed, MemoryAdded)
    saved = await branches.checkpoint(built.workspace, "A step.", None, again=True, approval="auto")
    assert isinstance(saved, CheckpointSaved)
    hidden = add_at_once(crew, text)
    await branches.backtrack(built.workspace, saved.checkpoint.id, "continue")
    again = add_at_once(crew, text)

    there = [r.id for r in await all_records(built) if r.content == text]
    assert sorted(there) == sorted([replaced, hidden, again])
    parcels = [r.content for r in await all_records(built) if r.content.startswith("Parcel ")]
    assert len(parcels) == len(set(parcels)) == ROUNDS


async def test_of_processes_that_add_the_same_one_stores_it(tmp_path: Path) -> None:
    """In files: the others wait for the lock, look again, and find it."""
    root = make_project(tmp_path)
    with adding([root]) as crew:
        async with opened(root) as built:
            await sessions.catch_up(built.workspace)
            await add_rounds(built, crew)


@pytest.mark.nightly
async def test_of_machines_that_add_the_same_one_stores_it(
    clean_postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a database: the statement that would store it a second time stores nothing."""
    monkeypatch.setenv("MEMORY_POSTGRES_URL", clean_postgres)
    roots = [make_project(tmp_path / name) for name in ("one", "two")]
    for root in roots:
        trust(root / "shop", root / "home")
    with adding(roots) as crew:
        async with opened(roots[0]) as built:
            await sessions.catch_up(built.workspace)
            await add_rounds(built, crew)
