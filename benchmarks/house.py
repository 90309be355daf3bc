"""A project with a deep timeline and as many memories as wanted, filled without waiting for fsync.

The files are the real ones (`LocalRecords` writes them), only the fsync is left out; the index is
filled by `SqliteIndex.add` in batches. What is measured afterwards is done by the real workspace.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from corpus import Corpus

from memory_mcp import branches, sessions
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.settings import EmbedderName, EmbedderSettings, Settings
from memory_mcp.disk import Access, Disk
from memory_mcp.domain.ids import MAIN, RecordId, SegmentId
from memory_mcp.domain.outcomes import CheckpointSaved
from memory_mcp.domain.record import Origin, Record, RecordContext
from memory_mcp.domain.secret import Secret
from memory_mcp.engine.head import load_head
from memory_mcp.engine.workspace import Workspace
from memory_mcp.storage.files.host import SystemIds
from memory_mcp.text.drafts import build_record, is_durable

__all__ = ["CHAIN", "QuickDisk", "filled", "lay_project", "lend_model", "settings_in"]

CHAIN: Final = 200
"""Segments on the visible chain."""
_LEFT_SHARE: Final = 0.10
_SUPERSEDED_SHARE: Final = 0.05
_USER_SHARE: Final = 0.01
_BATCH: Final = 1_000
_AT_ONCE: Final = 8
"""Records put at once: a database commits them together."""
_USERS: Final = SegmentId("the user's")
_DAYS: Final = 300
"""The memories were written over so many days, up to an hour ago: ten folders, one a month."""


class QuickDisk(Disk):
    """Writes files that a power cut would lose. For filling only."""

    def write(self, path: Path, data: bytes, access: Access | None = None) -> None:
        del access
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def append(self, path: Path, line: bytes) -> None:
        with path.open("ab") as log:
            log.write(line + b"\n")


def settings_in(folder: Path, embedder: EmbedderName = "none", database: str = "") -> Settings:
    """A project and a user of their own under this folder, or with their memories in a database."""
    return Settings(
        provider="postgres" if database else "auto",
        postgres_url=Secret(database) if database else None,
        project_dir=folder / "project",
        home=folder / "home",
        user="bench",
        approval="auto",
        embedder=EmbedderSettings(embedder),
    )


def lend_model(folder: Path, model_home: Path) -> None:
    """Let the user under this folder have the models of another home."""
    models = folder / "home" / "models"
    models.parent.mkdir(parents=True, exist_ok=True)
    if not models.exists():
        models.symlink_to((model_home / "models").absolute(), target_is_directory=True)


@asynccontextmanager
async def filled(
    folder: Path, size: int, *, chain: int = CHAIN, forks: int = 0, database: str = ""
) -> AsyncGenerator[BuiltWorkspace]:
    """The real workspace over a project of that many memories; filled if this is the first time.

    `chain` is the number of segments on the visible chain, `forks` that of further branches. The
    memories are in files, or in the `database` of this URL.
    """
    done = folder / "filled"
    if not done.exists():
        _work_tree(folder / "project")
        begun = settings_in(folder, database=database)
        async with open_workspace(begun, disk=QuickDisk()) as built:
            await _lay_timeline(built.workspace, chain, forks)
            await _fill(built, size)
        done.touch()
    async with open_workspace(settings_in(folder, database=database)) as built:
        await sessions.catch_up(built.workspace)  # a kept project may be of another version's index
        yield built


async def lay_project(folder: Path, built: BuiltWorkspace) -> None:
    """The work tree of the project under this folder, and its timeline, without memories."""
    _work_tree(folder / "project")
    await _lay_timeline(built.workspace, CHAIN, 0)


def _work_tree(project: Path) -> None:
    """As much of a git work tree as every write looks at."""
    branch = project / ".git" / "refs" / "heads" / "main"
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{'c0ffee12' * 5}\n", "utf-8")
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")


async def _lay_timeline(workspace: Workspace, chain: int, forks: int) -> None:
    """A chain of segments; at every tenth checkpoint a road that was given up; and the forks."""
    number = begun = 0
    while (length := len((await load_head(workspace)).timeline.chain(MAIN))) < chain:
        number += 1
        sealed = await _sealed(workspace, f"Step {number} is done.", number // 20)
        if number % 10 == 0:
            await _sealed(workspace, "A wrong turn.", number // 20)
            await branches.backtrack(workspace, sealed, "continue")
        while begun < forks * length // chain:
            begun += 1
            await branches.fork_branch(workspace, f"try-{begun}", "")


async def _sealed(workspace: Workspace, summary: str, phase: int) -> str:
    match await branches.checkpoint(workspace, summary, phase, again=True, approval="auto"):
        case CheckpointSaved(checkpoint=checkpoint):
            return checkpoint.id
        case other:
            raise AssertionError(other)


async def _fill(built: BuiltWorkspace, size: int) -> None:
    timeline = (await load_head(built.workspace)).timeline
    chain = sorted(timeline.chain(MAIN))
    left = sorted(frozenset(timeline.segments) - timeline.chain(MAIN))
    corpus, chance = Corpus(seed=size), random.Random(size)
    ids = SystemIds()  # the workspace' own only rise, and the moves were made today
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(days=_DAYS, hours=1)
    older: dict[SegmentId | None, list[RecordId]] = {}
    batches: tuple[list[Record], list[Record]] = ([], [])
    for number in range(size):
        now = begin + timedelta(days=_DAYS) * number / size
        draft = corpus.draft()
        if chance.random() < _USER_SHARE:
            draft = replace(draft, kind="preference", reach="user")
        segment = _segment(chain, left, number / size, chance)
        home = None if is_durable(draft) else segment
        known = older.setdefault(home if draft.reach == "project" else _USERS, [])
        if known and chance.random() < _SUPERSEDED_SHARE:
            draft = replace(draft, supersedes=(known.pop(),))
        writing = RecordContext(
            id=ids.new(now),
            at=now,
            scope=built.places.scope,
            origin=Origin(client="bench/1"),
            segment=segment,
            branch=MAIN,
        )
        record = build_record(draft, writing)
        known.append(record.id)
        batches[draft.reach == "user"].append(record)
        if number % _BATCH == _BATCH - 1 or number == size - 1:
            for bank, batch in zip(built.workspace.banks, batches, strict=True):
                for start in range(0, len(batch), _AT_ONCE):
                    some = batch[start : start + _AT_ONCE]
                    await asyncio.gather(*(bank.records.put(each) for each in some))
                await bank.index.wrapped.add(batch)
                batch.clear()


def _segment(
    chain: Sequence[SegmentId], left: Sequence[SegmentId], along: float, chance: random.Random
) -> SegmentId:
    """Where a memory written at that part of the time was written: mostly on the chain."""
    line = left if left and chance.random() < _LEFT_SHARE else chain
    return line[int(along * len(line))]
