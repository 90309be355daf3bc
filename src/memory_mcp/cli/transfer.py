"""`memory-mcp import` and `export`.

An import reads what another program remembers, or an export of ours. An export writes a JSON file,
stdout, or a folder of Markdown; inside a project it follows no link.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Final

from memory_mcp import engine, transfer
from memory_mcp.cli import show
from memory_mcp.cli.show import readable_json, say
from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX, IMPORT_OWN_FACTOR
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.transfer import ExportFormat, ExportHeader, ImportReport, ParsedSource
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.formats import own
from memory_mcp.formats.claude_md import CLAUDE_FILES
from memory_mcp.formats.importers import read_source
from memory_mcp.formats.own import is_export_head, parse_export_head
from memory_mcp.locations import find_untrusted_roots
from memory_mcp.render.outcomes import render_import, render_import_text
from memory_mcp.safe_files import UnsafeFileError, read_start, refuse_links
from memory_mcp.storage.files.imports import read_material


async def import_(workspace: Workspace, given: argparse.Namespace) -> show.Output:
    """Take in a source, or say what would come of it."""
    if (
        skipped := engine.refuse_reads(workspace)
        if given.dry_run
        else engine.refuse_writes(workspace)
    ):
        return show.Output({"success": False, "message": skipped.reason})
    parsed = _parse(given)
    reach = _reach(given.scope)
    with show.progress("Reading" if given.dry_run else "Importing") as advance:
        if given.dry_run:
            done = await transfer.preview_import(workspace, parsed, reach, advance)
        else:
            done = await _import(workspace, parsed, reach, advance, erase=given.erase)
    if isinstance(done, Skipped):
        return show.Output({"success": False, "message": done.reason})
    return show.Output(render_import(done), render_import_text)


def _parse(given: argparse.Namespace) -> ParsedSource:
    """What is in the source; its text, which may be long, is let go of."""
    names = CLAUDE_FILES if given.kind == "claude-md" else ()
    material = read_material(given.source, names, str(given.project_dir or ""))
    return read_source(material, None if given.kind == "auto" else given.kind, given.source)


async def _import(
    workspace: Workspace,
    parsed: ParsedSource,
    reach: Reach | None,
    advance: transfer.ReportProgress,
    *,
    erase: bool,
) -> ImportReport | Skipped:
    try:
        return await transfer.import_memories(workspace, parsed, reach, advance, erase=erase)
    except asyncio.CancelledError as error:  # Ctrl-C
        said = " ".join(getattr(error, "__notes__", ("Nothing was changed.",)))
        raise StoreUnavailableError(f"Interrupted. {said}") from error


def _reach(scope: Reach | str | None) -> Reach | None:
    """Whose all of it is to be; None: each where it belongs."""
    match scope:
        case "project" | "user":
            return scope
        case None:
            return "project"
        case _:
            return None


_STDOUT: Final = "-"
_HEAD_BYTES: Final = 8_000
_SCOPES: Final[dict[str, tuple[Reach, ...]]] = {
    "project": ("project",),
    "user": ("user",),
    "both": ("project", "user"),
}

Put = Callable[[str], object]


async def export(workspace: Workspace, given: argparse.Namespace) -> show.Output:
    """Write what holds, or all there is."""
    target: str = given.target
    form = _format(target, given.format)
    path = _path(target)
    with _explain_links(target):
        return await _export(workspace, given, form, path)


async def _export(
    workspace: Workspace, given: argparse.Namespace, form: ExportFormat, path: Path | None
) -> show.Output:
    target: str = given.target
    disk = _disk(path, given)
    if path is not None:
        _refuse_links(disk, path / own.INDEX_NAME if form == "markdown" else path)
    there = None if path is None or given.force else _refuse_foreign_target(path, form)
    chosen = await transfer.select_export(workspace, _SCOPES[given.scope], history=given.history)
    if isinstance(chosen, Skipped):
        return show.Output({"success": False, "message": chosen.reason})
    if there is not None:
        _refuse_loss(target, there, chosen.about)
    written: set[RecordId] = set()
    with show.progress("Exporting", printing=path is None) as advance:
        async with aclosing(transfer.read_selected(chosen)) as records:
            told = _track_written(records, written, lambda: advance(len(written), chosen.count))
            if path is None:
                await _write_json(lambda text: sys.stdout.write(readable_json(text)), chosen, told)
            elif form == "json":
                with disk.writing(path) as put:
                    await _write_json(lambda text: put(text.encode()), chosen, told)
            else:
                await _write_folder(disk, path, chosen, told)
    lost = await transfer.find_unreadable(chosen, written)
    return _export_output(path, form, written, lost)


def _path(target: str) -> Path | None:
    """Where to; without `..`, which behind a link leads elsewhere than it says."""
    if target == _STDOUT:
        return None
    return Path(os.path.abspath(Path(target).expanduser()))  # noqa: PTH100  # follows no link


def _disk(path: Path | None, given: argparse.Namespace) -> Disk:
    """Outside of any project the place is the user's choice, with all links on the way to it."""
    disk = Disk()
    if path is not None:
        around = find_untrusted_roots(str(path), str(given.project_dir or ""))
        disk.roots = tuple(Path(root) for root in around)
    return disk


def _refuse_links(disk: Disk, path: Path) -> None:
    for root in disk.roots:
        refuse_links(str(root), str(path))


@contextmanager
def _explain_links(target: str) -> Generator[None]:
    """Say of a link in a project that it is not written through, and what to do."""
    try:
        yield
    except (UnsafeFileError, StoreUnavailableError) as error:
        link = error if isinstance(error, UnsafeFileError) else error.__cause__
        if not isinstance(link, UnsafeFileError):
            raise
        raise InvalidRequestError(
            f"{target!r} is not written: {link.filename}: {link.why}. Name the folder that is "
            "meant itself, or another one."
        ) from error


def _export_output(
    path: Path | None, form: ExportFormat, written: set[RecordId], lost: list[RecordId]
) -> show.Output:
    where = "to stdout" if path is None else f"to {path}"
    exported = message = f"{len(written)} record(s) exported {where}."
    if lost:
        message += (
            f" {len(lost)} could not be read and are missing in it: {', '.join(lost)}. "
            "`memory-mcp doctor` says why."
        )
    size = path.stat().st_size if path is not None and form == "json" else 0
    bytes_max, items_max = (
        IMPORT_OWN_FACTOR * most for most in (IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX)
    )
    if size > bytes_max or len(written) > items_max:
        message += (
            f" It is larger than one import takes ({bytes_max:,} bytes, {items_max:,} records): "
            "as a backup, copy the folders of the records instead."
        )
    if path is None:  # stdout holds the export and nothing else
        sys.stdout.flush()
        if len(message) > len(exported):
            say(f"memory-mcp: {message}", to=sys.stderr)
    fields = {
        "success": not lost,
        "records": len(written),
        "format": form,
        "path": None if path is None else str(path),
        "unreadable": lost,
        "message": message,
    }
    return show.Output(fields, silent=path is None)


def _format(target: str, wanted: ExportFormat | None) -> ExportFormat:
    folder = target != _STDOUT and (target.endswith(("/", "\\")) or Path(target).is_dir())
    form: ExportFormat = wanted or ("markdown" if folder else "json")
    if form == "markdown" and target == _STDOUT:
        raise InvalidRequestError(
            "Markdown is a folder of files: name one, as in `export --format markdown notes`."
        )
    if form == "json" and folder:
        raise InvalidRequestError(f"{target!r} is a folder, and JSON is one file: name a file.")
    return form


def _refuse_loss(target: str, there: ExportHeader, about: ExportHeader) -> None:
    """Refuse to write over an export that has what the new one would not have.

    Raises:
        InvalidRequestError: with what would be lost.
    """
    lost: list[str] = []
    if "project" in there.pools and there.scope.project != about.scope.project:
        lost.append(f"it is of the project {there.scope.project!r}")
    if "user" in there.pools and there.scope.user != about.scope.user:
        lost.append(f"it is of the user {there.scope.user!r}")
    if there.history and not about.history:
        lost.append("it has its history, and this one would have none")
    lost += [f"it has the {pool} scope" for pool in there.pools if pool not in about.pools]
    if lost:
        raise InvalidRequestError(
            f"{target!r} is another export: {'; '.join(lost)}. Name another file, or repeat with "
            "--force to write over it."
        )


def _refuse_foreign_target(path: Path, form: ExportFormat) -> ExportHeader | None:
    """Refuse to write over what is no export of ours; what the one says that is there."""
    try:
        if not path.exists():
            return None
        index = path / own.INDEX_NAME if form == "markdown" else path
        if path.is_dir() and not any(path.iterdir()):
            return None
        if index.is_file():
            head = read_start(str(index), _HEAD_BYTES).decode(errors="replace")
            if is_export_head(head) and (there := parse_export_head(head)):
                return there
    except OSError as error:
        raise unavailable(error, path, "read") from error
    raise InvalidRequestError(
        f"{str(path)!r} is there, and is no export of this program. Name another, or repeat with "
        "--force to write it all the same."
    )


async def _track_written(
    records: AsyncIterator[Record], written: set[RecordId], advance: Callable[[], None]
) -> AsyncIterator[Record]:
    async for record in records:
        yield record
        written.add(record.id)
        advance()


async def _write_json(
    put: Put, chosen: transfer.ExportSelection, records: AsyncIterator[Record]
) -> None:
    put(own.render_json_start(chosen.about))
    count = 0
    async for record in records:
        put(own.render_json_line(record, first=count == 0))
        count += 1
    put(own.render_json_end(count))


async def _write_folder(
    disk: Disk, folder: Path, chosen: transfer.ExportSelection, records: AsyncIterator[Record]
) -> None:
    """The index says first that the folder is not complete, and last that it is."""
    index = folder / own.INDEX_NAME
    disk.write(index, own.render_index(chosen.about, 0, (), complete=False).encode())
    lines: list[str] = []
    names: set[str] = set()
    async for record in records:
        name = own.make_note_name(record)
        disk.write(folder / name, own.render_note(record).encode())
        names.add(name)
        lines += own.render_index_lines([record])
    for path in _list_stale_notes(folder, names):
        disk.remove(path)
    text = own.render_index(chosen.about, len(lines), lines, complete=True)
    disk.write(index, text.encode())


def _list_stale_notes(folder: Path, names: set[str]) -> list[Path]:
    """The files that an earlier export into this folder left."""
    found = {path: path.relative_to(folder).as_posix() for path in folder.glob("*/*/*.md")}
    return [p for p, name in found.items() if name not in names and own.is_export_file(name)]
