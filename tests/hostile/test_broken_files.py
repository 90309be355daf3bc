"""Records, heads, histories and indexes, broken at random: nothing but our own errors comes of it.

Each seed breaks the files of a project that holds a few memories, and then reads and writes it as a
session does. The project is trusted, so that whatever can be read counts.
"""

import shutil
from pathlib import Path
from random import Random

import anyio
import pytest
from depth import depth
from doors import machine_dir, trust
from mutations import mutated
from verdicts import differences, digest

from memory_mcp import bootstrap, branches, maintenance, memories, search, sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import MemoryMcpError

STEP_SECONDS_MAX = 20.0
SEEDS_A_TEST = depth(12, 40)
"""So many stories are told with one project, which is made once."""


async def _seal(workspace: Workspace, summary: str, phase: int | None) -> None:
    await branches.checkpoint(workspace, summary, phase, again=True, approval="approved")


async def _begin(settings: Settings) -> None:
    """A project with memories, two checkpoints, a road that was left, and an erased memory."""
    async with open_workspace(settings) as built:
        workspace = built.workspace
        await memories.add_memory(workspace, Draft("Orders are kept in PostgreSQL."))
        await _seal(workspace, "Storage is chosen.", 1)
        await memories.add_memory(workspace, Draft("Sessions are kept in Redis."))
        await _seal(workspace, "Sessions are done.", 2)
        await memories.add_memory(workspace, Draft("The cache is warmed by night."))
        await branches.backtrack(workspace, "1", "continue", lesson="Redis lost sessions.")
        await memories.add_memory(workspace, Draft("Sessions are signed cookies."))


async def _use(settings: Settings) -> None:
    """Read and write as a session does; whatever is refused is refused in our own words."""
    async with open_workspace(settings) as built:
        workspace = built.workspace
        for step in (
            lambda: sessions.catch_up(workspace),
            lambda: branches.report_head(workspace),
            lambda: sessions.memory_context(workspace),
            lambda: search.search_memories(workspace, "sessions orders cache", Filters(), 10),
            lambda: memories.add_memory(workspace, Draft("The build runs on two cores.")),
            lambda: _seal(workspace, "The build is settled.", None),
            lambda: branches.preview_backtrack(workspace, "1"),
            lambda: bootstrap.render_if_stale(workspace),
            lambda: maintenance.run_doctor(workspace, repair=True),
        ):
            with anyio.fail_after(STEP_SECONDS_MAX):
                try:
                    await step()
                except MemoryMcpError:
                    continue


def _targets(settings: Settings, project: Path) -> list[Path]:
    machine = machine_dir(project, settings.home or "")
    records = sorted((project / ".claude" / "memory").glob("*/*.json"))
    state = [project / ".state" / "memory-head.json", project / ".state" / "history.jsonl"]
    return [*records, *state, machine / "index.sqlite3"]


def _break(settings: Settings, project: Path, random: Random) -> str:
    """Break one to three of the files, two on average; which ones."""
    every = [path for path in _targets(settings, project) if path.exists()]
    alone = [[path] for path in every if path.suffix != ".json" or path.parent.name == ".state"]
    kinds = [*alone, [path for path in every if [path] not in alone]]
    chosen = {random.choice(random.choice(kinds)) for _ in range(random.randint(1, 3))}
    for path in chosen:
        data = path.read_bytes()
        path.write_bytes(mutated(data, random))
    return ", ".join(sorted(path.name for path in chosen))


def _tell(settings: Settings, project: Path, base: Path, seeds: range) -> None:
    """Break and use a copy of the project for each seed."""
    anyio.run(_begin, settings)
    trust(project, settings.home or "")
    but = (project, base / "home")
    (base / "outside").mkdir()
    (base / "outside" / "notes.txt").write_text("mine\n")
    before = digest(base, but)
    kept = base.with_name(f"{base.name}-kept")
    shutil.copytree(base, kept, symlinks=True)
    for seed in seeds:
        broken = "nothing"
        try:
            broken = _break(settings, project, Random(seed))  # noqa: S311  # no secret
            anyio.run(_use, settings)
        except BaseException as error:
            error.add_note(f"seed {seed}; broken: {broken}")
            raise
        assert differences(before, digest(base, but)) == [], f"seed {seed}"
        for name in (project.name, "home"):
            shutil.rmtree(base / name)
            shutil.copytree(kept / name, base / name, symlinks=True)


def _settings(base: Path) -> tuple[Settings, Path]:
    project = base / "shop"
    (project / ".git").mkdir(parents=True)
    return Settings(project_dir=project, home=base / "home", user="ada", approval="auto"), project


@pytest.mark.parametrize("first", range(0, depth(SEEDS_A_TEST, 5_000), SEEDS_A_TEST))
def test_broken_files_never_crash_or_lead_outside(tmp_path: Path, first: int) -> None:
    """A file can be cut, doubled, flipped or made up: it is named or looked past, no more."""
    settings, project = _settings(tmp_path / "base")

    _tell(settings, project, tmp_path / "base", range(first, first + SEEDS_A_TEST))
