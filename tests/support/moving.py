"""Exporting and importing as tests do it: by the use cases, through real text."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from memory_mcp import memories, transfer
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import MemoryAdded, Skipped
from memory_mcp.domain.record import Draft, Reach, Record
from memory_mcp.domain.transfer import (
    ExportHeader,
    ImportReport,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.engine.workspace import Workspace
from memory_mcp.formats import own
from memory_mcp.formats.importers import read_source

__all__ = [
    "BOTH",
    "Form",
    "added",
    "all_below",
    "as_json",
    "as_markdown",
    "contents",
    "exported",
    "files_below",
    "imported",
    "of_mem0",
    "only",
    "previewed",
    "read",
    "records_of",
]

BOTH: tuple[Reach, ...] = ("project", "user")
Form = Literal["json", "markdown"]

_THEN = datetime(2026, 1, 2, tzinfo=UTC)


def as_json(about: ExportHeader, records: list[Record]) -> SourceMaterial:
    """The records as our JSON."""
    lines = [own.render_json_line(r, first=n == 0) for n, r in enumerate(records)]
    text = own.render_json_start(about) + "".join(lines) + own.render_json_end(len(records))
    return SourceMaterial((SourceFile("export.json", text, _THEN),))


def as_markdown(about: ExportHeader, records: list[Record]) -> SourceMaterial:
    """The records as our folder of Markdown."""
    index = own.render_index(
        about, len(records), list(own.render_index_lines(records)), complete=True
    )
    notes = [SourceFile(own.make_note_name(r), own.render_note(r), _THEN) for r in records]
    return SourceMaterial((SourceFile(own.INDEX_NAME, index, _THEN), *notes), folder=True)


async def exported(
    workspace: Workspace,
    form: Form = "json",
    banks: tuple[Reach, ...] = BOTH,
    *,
    history: bool = False,
) -> SourceMaterial:
    """What an export of this workspace holds."""
    chosen = await transfer.select_export(workspace, banks, history=history)
    assert not isinstance(chosen, Skipped)
    records = [record async for record in transfer.read_selected(chosen)]
    assert await transfer.find_unreadable(chosen, {record.id for record in records}) == []
    return (as_json if form == "json" else as_markdown)(chosen.about, records)


def read(material: SourceMaterial) -> ParsedSource:
    """A material, told from what is in it."""
    return read_source(material, None, "it")


async def imported(
    workspace: Workspace,
    source: SourceMaterial | ParsedSource,
    reach: Reach | None = None,
    *,
    erase: bool = False,
) -> ImportReport:
    """Take it in; the counts must add up, and a dry run must have foretold them."""
    parsed = read(source) if isinstance(source, SourceMaterial) else source
    foretold = await previewed(workspace, parsed, reach)
    done = await transfer.import_memories(workspace, parsed, reach, erase=erase)
    assert isinstance(done, ImportReport)
    assert done.read == done.stored + done.known + len(done.left_out)
    assert foretold.notes == done.notes[: len(foretold.notes)]
    assert vars(foretold) == {**vars(done), "dry": True, "notes": foretold.notes}
    assert not await workspace.journal.waiting()
    return done


async def previewed(
    workspace: Workspace, source: SourceMaterial | ParsedSource, reach: Reach | None = None
) -> ImportReport:
    """What would come of it."""
    parsed = read(source) if isinstance(source, SourceMaterial) else source
    done = await transfer.preview_import(workspace, parsed, reach)
    assert isinstance(done, ImportReport)
    return done


def of_mem0(*texts: str, **fields: object) -> ParsedSource:
    """A source with these memories, each with an id and a time of its own."""
    items = [
        {"id": f"m{number}", "memory": text, "created_at": "2025-05-06T07:08:09Z", **fields}
        for number, text in enumerate(texts)
    ]
    return read(SourceMaterial((SourceFile("mem0.json", json.dumps(items), _THEN),)))


async def contents(workspace: Workspace) -> list[str]:
    """What is visible from here, in both banks, oldest first."""
    chosen = await transfer.select_export(workspace, BOTH, history=False)
    assert not isinstance(chosen, Skipped)
    return [record.content async for record in transfer.read_selected(chosen)]


def all_below(folder: Path) -> dict[str, bytes]:
    """Every file there is."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def files_below(folder: Path) -> dict[str, bytes]:
    """Every record's file."""
    return {path.stem: path.read_bytes() for path in folder.rglob("????-??/*.json")}


async def records_of(workspace: Workspace) -> list[Record]:
    found: list[Record] = []
    for bank in workspace.banks:
        found += [record async for record in bank.records.scan(await bank.records.ids())]
    return sorted(found, key=lambda record: record.id)


async def only(workspace: Workspace) -> Record:
    (record,) = await records_of(workspace)
    return record


async def added(workspace: Workspace, content: str, **fields: Any) -> RecordId:
    done = await memories.add_memory(workspace, Draft(content, **fields))
    assert isinstance(done, MemoryAdded)
    return done.record.id
