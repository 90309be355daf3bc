"""Mirrored sessions on one project, killed again and again, with a cloud that misbehaves."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from arrived import (
    drained,
    handed_over,
    hands_over,
    later,
    project_documents,
    remembered,
    sent_of,
    stored_as_written,
    until,
)
from cloud import Cloud
from cloud_faults import PASSING, Faults, Kind
from crew import FAKES, Crew, crew_on
from mirrored import mirrored, mirrored_settings
from project import all_records, doctor_is_content, found, head_agrees_with_records, make_project

from memory_mcp import sessions
from memory_mcp.engine.cloud import count_outboxes

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("cloud_worker.py")
HALF_WRITTEN = Path(__file__).with_name("half_written.py")
PROCESSES = 3
KINDS: tuple[Kind, ...] = ("hang", "lost-hang", *PASSING)


@dataclass(frozen=True)
class Story:
    """How much happens: at least so many adds and forgets, so many kills and requests between."""

    seed: int
    adds: int
    forgets: int
    kills: int
    requests_max: int


def _goes_on(story: Story, crew: Crew, cloud: Cloud) -> None:
    """Three at work at any time; whoever has been there the longest is killed next."""
    chance = random.Random(story.seed)  # noqa: S311  # repeatable, not secret
    crew.start(PROCESSES)
    for _ in range(story.kills):
        asked = len(cloud.requests) + chance.randint(5, story.requests_max)
        while len(cloud.requests) < asked:
            crew.hear(1)
        crew.kill(1)
        crew.start(1)
    while len(crew.named("memory")) < story.adds or len(crew.named("forgot")) < story.forgets:
        crew.hear(1)
    crew.kill(PROCESSES)


async def _everything_arrived(crew: Crew, root: Path, cloud: Cloud) -> None:
    promised = dict(line.split(" ", 1) for line in crew.named("memory"))
    doubtful, gone = set(crew.named("forgetting")), set(crew.named("forgot"))
    async with mirrored(root, cloud.url) as built:
        await sessions.catch_up(built.workspace)
        tally = await drained(built)
        assert (tally.pending, tally.quiet, tally.checking, tally.dead) == (0, 0, 0, 0)

        records = {str(record.id): record for record in await all_records(built)}
        kept = {id_: text for id_, text in promised.items() if id_ not in doubtful}
        assert {id_: records[id_].content for id_ in kept if id_ in records} == kept
        assert gone.isdisjoint(records)

        documents = project_documents(cloud, built)
        assert documents.keys() == records.keys(), "nothing is missing, nothing was resurrected"
        assert [i for i, d in documents.items() if not stored_as_written(d, records[i])] == []
        await head_agrees_with_records(built)
        await doctor_is_content(built.workspace)
    assert cloud.appended == []
    assert [id_ for id_, texts in sent_of(cloud).items() if len(set(texts)) > 1] == []


async def _through_chaos(story: Story, root: Path, cloud: Cloud) -> dict[str, int]:
    """What it took, once everything is as it must be."""
    make_project(root)
    cloud.faults = Faults.chaos(story.seed, share=0.5, kinds=KINDS)
    cloud.processing_seconds = 0.1
    with crew_on(WORKER, str(root), cloud.url) as crew:
        _goes_on(story, crew, cloud)
    requests = len(cloud.requests)
    cloud.faults.heal()
    await _everything_arrived(crew, root, cloud)
    return {
        "seed": story.seed,
        "adds": len(crew.named("memory")),
        "forgets": len(crew.named("forgot")),
        "kills": story.kills + PROCESSES,
        "requests before healing": requests,
        "faults injected": cloud.faults.injected.total(),
        "documents posted": len(cloud.posted),
        "posts carried out": cloud.posted.total(),
        "posted more than once": sum(times > 1 for times in cloud.posted.values()),
    }


def _tell(figures: dict[str, int], record: Callable[[str, Any], None]) -> None:
    for name, figure in figures.items():
        record(name, figure)
    sys.stdout.write(f"\n{', '.join(f'{name} {figure}' for name, figure in figures.items())}\n")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
async def test_whatever_goes_wrong_each_memory_is_in_the_cloud_exactly_once(
    seed: int, tmp_path: Path, cloud: Cloud, record_property: Callable[[str, Any], None]
) -> None:
    """Half of all requests fail, in every way there is, and sessions die in the middle of them.

    In a long run most has been lost, asked for and confirmed many times over.
    """
    story = Story(
        seed,
        adds=150,
        forgets=30,
        kills=12,
        requests_max=60,
    )
    figures = await _through_chaos(story, tmp_path, cloud)
    _tell(figures, record_property)
    assert figures["posted more than once"] == 0, "it is asked whether it arrived before"


async def test_a_kill_between_the_note_and_the_record_leaves_nothing_that_matters(
    tmp_path: Path, cloud: Cloud
) -> None:
    """The other order would leave a memory that the cloud never gets."""
    with _half_written(make_project(tmp_path), cloud) as half:
        assert half.stdout is not None
        assert half.stdout.readline().strip() == b"noted"
        half.kill()
    async with mirrored(tmp_path, cloud.url) as built:
        await sessions.catch_up(built.workspace)
        assert (await count_outboxes(built.workspace)).pending == 1, "else this would test nothing"
        assert await found(built.workspace) == []
        kept = await remembered(built, "carts rest in Redis")
        await handed_over(built)
        assert cloud.posted == {kept.id: 1}, "it does not hold up what comes after it"
        assert cloud.violations == []
        await doctor_is_content(built.workspace)

        later(built, timedelta(hours=2))
        await handed_over(built)
        tally = await count_outboxes(built.workspace)
    assert (tally.pending, tally.checking, tally.dead, tally.delivered) == (0, 0, 0, 1)
    assert cloud.posted == {kept.id: 1}


@pytest.mark.parametrize("arrived", [pytest.param(False, marks=pytest.mark.nightly), True])
async def test_what_a_killed_process_was_handing_over_is_there_once(
    arrived: bool,  # noqa: FBT001  # the parameter's name is what is asked
    tmp_path: Path,
    cloud: Cloud,
) -> None:
    """It cannot tell anybody whether it arrived; the next session asks."""
    cloud.faults.always("lost-hang" if arrived else "hang", where=hands_over)
    async with mirrored(make_project(tmp_path), cloud.url) as built:
        record = await remembered(built, "orders rest in PostgreSQL")
        with _synchronising(tmp_path, cloud) as process:
            await until(lambda: cloud.posted if arrived else cloud.faults.injected)
            process.kill()
        cloud.faults.heal()
        later(built, timedelta(minutes=2))
        await handed_over(built)

        assert cloud.posted == {record.id: 1}
        assert project_documents(cloud, built).keys() == {record.id}
        assert (await count_outboxes(built.workspace)).delivered == 1


def _half_written(root: Path, cloud: Cloud) -> "AbstractContextManager[subprocess.Popen[bytes]]":
    """A session that says when it is between the two, and stays there."""
    return _running(str(HALF_WRITTEN), str(root), cloud.url)


def _synchronising(root: Path, cloud: Cloud) -> "AbstractContextManager[subprocess.Popen[bytes]]":
    """`memory-mcp cloud sync`, as a person would type it."""
    settings = mirrored_settings(root, cloud.url)
    return _running(
        *("-m", "memory_mcp", "cloud", "sync"),
        MEMORY_PROJECT_DIR=str(settings.project_dir),
        MEMORY_HOME=str(settings.home),
        MEMORY_USER=settings.user,
        SUPERMEMORY_API_KEY="sm_test",
        SUPERMEMORY_BASE_URL=cloud.url,
    )


@contextmanager
def _running(*arguments: str, **environment: str) -> Generator["subprocess.Popen[bytes]"]:
    """A process of Python that is gone after the block."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": FAKES, **environment},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
