"""A small project to break, and the questions asked of it afterwards."""

import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postgres import provider_settings

from memory_mcp import maintenance, search
from memory_mcp.branches import report_head
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import AlreadyKnown, HeadReport, MemoryAdded, SearchResults
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.timeline import Timeline
from memory_mcp.engine.workspace import Workspace
from memory_mcp.locations import find_machine_folder, find_state_home
from memory_mcp.memories import add_memory
from memory_mcp.storage.files.heads import HISTORY_FILE
from memory_mcp.timeline.moves import fold_moves

__all__ = [
    "WORD",
    "Seen",
    "add",
    "all_records",
    "copy_project",
    "doctor_is_content",
    "found",
    "head_agrees_with_records",
    "head_of",
    "machine_of",
    "make_project",
    "opened",
    "record_files",
    "see",
    "settings_in",
    "text_on_disk",
    "told",
]

WORD = "ledger"
"""Stands in every text, so that one search must find them all."""


def make_project(root: Path) -> Path:
    """A project that says who it is, so that its copies are the same project."""
    git = root / "shop" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = https://git.example/acme/shop.git\n')
    (root / "home").mkdir()
    return root


def settings_in(root: Path) -> Settings:
    """The settings of a session on the project that `make_project` made."""
    return Settings(
        project_dir=root / "shop", home=root / "home", user="ann", **provider_settings()
    )


def machine_of(root: Path) -> Path:
    """Where this machine keeps what it writes about that project."""
    shop = root / "shop"
    return Path(
        find_machine_folder(
            find_state_home({}, str(root / "home")), str(shop / ".state"), str(shop)
        )
    )


def copy_project(template: Path, copy: Path) -> Path:
    """The whole machine once more: the project and all that is known of it, in another place."""
    shutil.copytree(template, copy)
    moved = copy / machine_of(template).relative_to(template)
    if moved.exists():
        moved.rename(machine_of(copy))
    return copy


@asynccontextmanager
async def opened(root: Path, disk: Disk | None = None) -> AsyncGenerator[BuiltWorkspace]:
    """A fresh session: nothing in memory of those before it."""
    async with open_workspace(settings_in(root), disk=disk) as built:
        yield built


async def add(workspace: Workspace, text: str, kind: Kind = "fact") -> RecordId:
    """Remember a text; the id is an acknowledgement."""
    outcome = await add_memory(workspace, Draft(f"{text} {WORD}", kind=kind))
    assert isinstance(outcome, MemoryAdded | AlreadyKnown)
    assert isinstance(outcome, AlreadyKnown) or not outcome.notes, outcome.notes
    return outcome.record.id


async def found(workspace: Workspace, query: str = "") -> list[Record]:
    """What a search returns (without a query: the newest)."""
    outcome = await search.search_memories(workspace, query, Filters(), 10)
    assert isinstance(outcome, SearchResults)
    return [hit.record for hit in outcome.hits]


async def head_of(workspace: Workspace) -> HeadReport:
    """What `memory_head` reports."""
    report = await report_head(workspace)
    assert isinstance(report, HeadReport)
    return report


@dataclass(frozen=True)
class Seen:
    """All that a user can tell of a project: what is recalled, and where it stands."""

    recalled: tuple[str, ...]
    branches: tuple[str, ...]
    valid: tuple[str, ...]
    invalidated: tuple[str, ...]
    pending: tuple[str, ...]
    lines: tuple[int, ...]
    memories: int
    durable: int

    @property
    def position(self) -> tuple[object, ...]:
        """Where the project stands, apart from what is recalled there."""
        return self.branches, self.valid, self.invalidated, self.pending, self.lines


async def see(workspace: Workspace) -> Seen:
    """Look with the newest, with words, and at the head: they must agree.

    What only counts what was closed holds no word of it.
    """
    newest = await found(workspace)
    recalled = sorted(r.content for r in newest)
    worded = [text for text in recalled if WORD in text]
    assert sorted(r.content for r in await found(workspace, WORD)) == worded
    report = await head_of(workspace)
    assert report.memories + report.durable == sum(r.kind != "checkpoint" for r in newest)
    return Seen(
        recalled=tuple(recalled),
        branches=report.branches,
        valid=tuple(c.checkpoint.summary for c in report.checkpoints),
        invalidated=tuple(c.summary for c in report.invalidated),
        pending=tuple(c.summary for c in report.pending),
        lines=tuple(line.memories for line in report.lines),
        memories=report.memories,
        durable=report.durable,
    )


async def all_records(built: BuiltWorkspace) -> list[Record]:
    """Every record of the project, read from the files; each must be readable."""
    store = built.workspace.project.records
    ids = await store.ids()
    records = [record async for record in store.scan(ids)]
    assert {r.id for r in records} == ids
    return records


async def head_agrees_with_records(built: BuiltWorkspace) -> None:
    """The head is what folding the move records gives, so it could be rebuilt from them."""
    head = await built.workspace.heads.read()
    assert head is not None
    assert _shape(head.timeline) == _shape(fold_moves(await all_records(built)))


def _shape(timeline: Timeline) -> dict[str, Any]:
    """What a timeline means. Segments that were forgotten may be named or not."""
    return {
        "branches": {
            b: (timeline.tips(b), timeline.chain(b), [c.id for c in timeline.valid(b)])
            for b in timeline.branches
        },
        "checkpoints": {c.id: (c.summary, c.approval) for c in timeline.checkpoints.values()},
        "lines": {line.id: line.tips for line in timeline.left_lines()},
        "forgotten": timeline.forgotten,
    }


def told(built: BuiltWorkspace) -> list[str]:
    """The moves in the history, as whoever reads it line by line finds them."""
    ids: list[str] = []
    path = built.places.state_dir / HISTORY_FILE
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValueError):  # a torn line
            ids.append(json.loads(line)["id"])
    return ids


async def doctor_is_content(workspace: Workspace) -> None:
    """What the doctor finds it can repair, and then it finds nothing."""
    await maintenance.run_doctor(workspace, repair=True)
    found = await maintenance.run_doctor(workspace)
    assert found == [], found


def record_files(root: Path) -> list[Path]:
    """The project's record files."""
    return sorted((root / "shop" / ".claude" / "memory").glob("*/*.json"))


def text_on_disk(root: Path, text: str) -> list[Path]:
    """The files that hold the text, as it is or as JSON or SQLite would keep it."""
    files = (path for path in root.rglob("*") if path.is_file())
    return [path for path in files if json.dumps(text)[1:-1].encode() in path.read_bytes()]
