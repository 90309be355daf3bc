"""No nudge is shown twice: not by sessions that begin together, nor after a cut or a kill."""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from crew import crew_on, line_of, waiting
from depth import depth
from fakes import START, FakeIds
from nudge_worker import begin, leave
from power import FailingDisk, PowerCut, Remembered
from project import make_project
from sqs import Queues

from memory_mcp.disk import Disk
from memory_mcp.domain.nudges import Nudge, NudgeId
from memory_mcp.storage.files.nudges import LocalNudges

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("nudge_worker.py")
PROCESSES = 8
STEPS_MIN = 5
"""A file, or three removals, with their fsyncs; fewer would mean that nothing was cut."""

FORGETFUL = pytest.mark.parametrize(
    "forgetful",
    [
        pytest.param(False, id="keeping all that was written"),
        pytest.param(
            True,
            id="keeping only what was synced",
            marks=pytest.mark.skipif(
                sys.platform == "win32", reason="folders cannot be synced on Windows"
            ),
        ),
    ],
)


def queue_in(root: Path, disk: Disk | None = None) -> LocalNudges:
    return LocalNudges(lambda user: root / user / "nudges", disk or Disk())


def nudges() -> list[Nudge]:
    ids = FakeIds()
    return [
        Nudge(
            id=NudgeId(ids.new(START)),
            text=f"number {number}",
            created_at=START + timedelta(minutes=number),
            user="ann",
        )
        for number in range(3)
    ]


@contextmanager
def synced_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """After the block the folder holds what the disk was bound to keep, and no more."""
    with Remembered(root) as remembered:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", remembered.watching(os.fsync))
            yield
        remembered.forget_the_rest()


@FORGETFUL
async def test_a_power_cut_at_any_step_of_taking_shows_nothing_twice(
    *, forgetful: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was returned is gone for good, and the queue with it; else some of it still waits."""
    template = tmp_path / "template"
    for nudge in nudges():
        await queue_in(template).add(nudge)

    for cut_at in itertools.count():
        root = tmp_path / f"cut-{cut_at}"
        shutil.copytree(template, root)
        taken: Nudge | None = None
        kept = synced_only(root, monkeypatch) if forgetful else nullcontext()
        with kept, suppress(PowerCut):
            taken = await queue_in(root, FailingDisk(cut_at)).take("ann", START)
        left = (await queue_in(root).waiting("ann", START)).nudges
        assert set(left) <= set(nudges())
        again = await queue_in(root).take("ann", START)
        assert again == (left[0] if left else None), "what is left still works"
        assert await queue_in(root).take("ann", START) is None
        if taken:
            assert left == ()
            assert cut_at >= STEPS_MIN
            return


@FORGETFUL
async def test_a_power_cut_at_any_step_of_leaving_leaves_a_whole_one_or_none(
    *, forgetful: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Success is durable here too, and half a sentence is never shown."""
    nudge = nudges()[0]
    for cut_at in itertools.count():
        root = tmp_path / f"cut-{cut_at}"
        root.mkdir()
        left = False
        with synced_only(root, monkeypatch) if forgetful else nullcontext():
            try:
                await queue_in(root, FailingDisk(cut_at)).add(nudge)
                left = True
            except PowerCut:
                pass
        found = await queue_in(root).waiting("ann", START)
        assert found.nudges in ((nudge,), ())
        assert found.unread == ()
        if left:
            assert found.nudges == (nudge,)
            assert cut_at >= STEPS_MIN
            return


def tell(crew: list[subprocess.Popen[str]]) -> list[str]:
    """What each of their sessions showed, where one did; all begin at once."""
    for process in crew:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    lines = [line_of(process) for process in crew]
    assert all(line.startswith("shown ") for line in lines)
    return [text for line in lines if (text := line.removeprefix("shown "))]


@pytest.mark.nightly
async def test_of_processes_that_begin_together_one_shows_the_best(tmp_path: Path) -> None:
    """Round after round: never two, never none, and nothing is left for the next."""
    make_project(tmp_path)
    with waiting(WORKER, [[str(tmp_path), "told"]] * depth(3, PROCESSES), "told") as crew:
        for number in range(6):
            await leave(tmp_path, f"best {number}", f"second {number}", f"third {number}")
            assert tell(crew) == [f"best {number}"]
        assert tell(crew) == []


@pytest.mark.nightly
async def test_of_processes_that_ask_sqs_together_one_shows_the_best(
    tmp_path: Path, sqs: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same where the queue is far away, for the sessions of one machine."""
    make_project(tmp_path)
    monkeypatch.setenv("MEMORY_NUDGE_QUEUE", sqs())
    with waiting(WORKER, [[str(tmp_path), "told"]] * 3, "told") as crew:
        for number in range(3):
            await leave(tmp_path, f"best {number}", f"second {number}")
            assert tell(crew) == [f"best {number}"]
        assert tell(crew) == []


@pytest.mark.nightly
async def test_no_nudge_is_shown_twice_when_processes_are_killed_in_the_middle(
    tmp_path: Path,
) -> None:
    """A kill may lose one. It never brings one back, and never keeps the next session waiting."""
    make_project(tmp_path)
    with crew_on(WORKER, str(tmp_path)) as crew:
        for _ in range(4):
            crew.start(PROCESSES // 2)
            crew.hear(12)
            crew.kill(PROCESSES // 4)
            crew.hear(8)
            crew.kill(PROCESSES // 4)
        shown = crew.named("shown")
    assert len(shown) >= 80
    assert len(shown) == len(set(shown))

    before = await begin(tmp_path)
    assert before not in shown
    await leave(tmp_path, "the last one")
    assert await begin(tmp_path) == "the last one"
    assert await begin(tmp_path) == ""
