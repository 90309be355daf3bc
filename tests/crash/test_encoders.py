"""Processes that encode one project's memories, killed in the middle of whatever they are doing."""

import asyncio
import random
from pathlib import Path

import pytest
from crew import Crew, crew_on
from depth import depth
from fake_embedder import FakeEmbedder, with_meaning
from project import doctor_is_content, make_project, opened

from memory_mcp import maintenance, sessions
from memory_mcp.build import BuiltWorkspace
from memory_mcp.domain.ids import RecordId
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("encoding_worker.py")
PATIENCE_SECONDS = 60
"""How long the leases of killed processes may take to run out: no measure of speed."""


def index_of(built: BuiltWorkspace) -> SqliteIndex:
    index = built.workspace.project.index.wrapped
    assert isinstance(index, SqliteIndex)
    return index


async def count(built: BuiltWorkspace, what: str) -> int:
    rows = await index_of(built).file.rows(f"SELECT count(*) FROM {what}")
    return rows[0][0]


async def kill_in_rounds(root: Path, rounds: int, seed: int) -> None:
    """One of three is killed again and again, at any moment, and another takes its place."""
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    make_project(root)
    with crew_on(WORKER, str(root)) as crew:
        crew.start(3)
        for _ in range(rounds):
            crew.hear(chance.randint(10, 60))
            crew.kill(1)
            crew.start(1)
        crew.hear(60)
        crew.kill(3)
        made = crew.named("made")
        assert len(made) > 10 * rounds
        assert len(made) < 2 * len(set(made)), "each once, but for what was lost with the killed"
        async with opened(root) as built:
            await everything_is_encoded_once(built, crew)


async def everything_is_encoded_once(built: BuiltWorkspace, crew: Crew) -> None:
    """By whoever is left, when the leases of the killed ones have run out."""
    workspace = with_meaning(built, model := FakeEmbedder())
    await sessions.catch_up(workspace)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await maintenance.count_unencoded(workspace):
            await maintenance.encode_all(workspace)
            await asyncio.sleep(0.1)
    meaning = workspace.project.meaning
    assert meaning is not None
    assert await index_of(built).file.check_integrity() == "ok"
    assert await meaning.vectors.damaged() == 0
    assert await count(built, "encoding") == 0
    assert await count(built, "embedder") == 1
    assert await count(built, "vector") == await count(built, "vector_whole")
    kept = {RecordId(name) for name in crew.named("memory")} - set(crew.named("forgetting"))
    read = await meaning.vectors.vectors(model.identity, kept)
    assert read.passages.keys() == kept
    every = [
        record
        async for record in workspace.project.records.scan(await workspace.project.index.ids())
    ]
    recalled = [record for record in every if record.recalled]
    afresh = await FakeEmbedder().passages([record.content for record in recalled])
    read = await meaning.vectors.vectors(model.identity, [record.id for record in recalled])
    assert read.passages == {r.id: passage for r, passage in zip(recalled, afresh, strict=True)}
    assert await count(built, "vector") == sum(map(len, afresh)), "nothing of what was forgotten"
    await doctor_is_content(workspace)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(depth(1, 4)))
async def test_everything_is_encoded_when_encoding_processes_are_killed(
    seed: int, tmp_path: Path
) -> None:
    """DESIGN 3.4, for what is made beside the calls: a kill costs a lease, and nothing else."""
    await kill_in_rounds(tmp_path, rounds=depth(1, 40), seed=seed)
