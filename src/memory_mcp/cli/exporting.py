"""`memory-mcp export`: to a JSON file, to stdout, or to a folder of Markdown."""

import argparse
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli import show
from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.moving import Export, ExportFormat
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Record
from memory_mcp.errors import InvalidRequestError
from memory_mcp.moving import own_text
from memory_mcp.moving.own import head_of, is_head_of_ours

__all__ = ["export"]

_STDOUT: Final = "-"
_HEAD_BYTES: Final = 8_000
_SCOPES: Final[dict[str, tuple[Reach, ...]]] = {
    "project": ("project",),
    "user": ("user",),
    "both": ("project", "user"),
}

Put = Callable[[str], object]


async def export(rooms: Rooms, given: argparse.Namespace) -> show.Shown:
    """Write what holds, or all there is."""
    target: str = given.target
    form = _format(target, given.format)
    path = _path(target)
    there = None if path is None or given.force else _refuse_strange(path, form)
    chosen = await app.choose_export(rooms, _SCOPES[given.scope], history=given.history)
    if isinstance(chosen, Skipped):
        return show.Shown({"success": False, "message": chosen.reason})
    if there is not None:
        _refuse_loss(target, there, chosen.about)
    written: set[RecordId] = set()
    with show.progress("Exporting") as advance:
        async with aclosing(app.exported(chosen)) as records:
            told = _noting(records, written, lambda: advance(len(written), chosen.count))
            if path is None:
                await _write_json(sys.stdout.write, chosen, told)
            elif form == "json":
                with Disk().writing(path) as put:
                    await _write_json(lambda text: put(text.encode()), chosen, told)
            else:
                await _write_folder(path, chosen, told)
    lost = await app.unreadable(chosen, written)
    return _shown(path, form, written, lost)


def _path(target: str) -> Path | None:
    return None if target == _STDOUT else Path(target).expanduser().absolute()


def _shown(
    path: Path | None, form: ExportFormat, written: set[RecordId], lost: list[RecordId]
) -> show.Shown:
    where = "to stdout" if path is None else f"to {path}"
    message = f"{len(written)} record(s) exported {where}."
    if lost:
        message += (
            f" {len(lost)} could not be read and are missing in it: {', '.join(lost)}. "
            "`memory-mcp doctor` says why."
        )
    if path is None:  # stdout holds the export and nothing else
        sys.stdout.flush()
        if lost:
            sys.stderr.write(f"memory-mcp: {message}\n")
    fields = {
        "success": not lost,
        "records": len(written),
        "format": form,
        "path": None if path is None else str(path),
        "unreadable": lost,
        "message": message,
    }
    return show.Shown(fields, silent=path is None)


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


def _refuse_loss(target: str, there: Export, about: Export) -> None:
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


def _refuse_strange(path: Path, form: ExportFormat) -> Export | None:
    """Refuse to write over what is no export of ours; what the one says that is there."""
    try:
        if not path.exists():
            return None
        index = path / own_text.INDEX_NAME if form == "markdown" else path
        if path.is_dir() and not any(path.iterdir()):
            return None
        if index.is_file():
            with index.open("rb") as file:
                head = file.read(_HEAD_BYTES).decode(errors="replace")
            if is_head_of_ours(head) and (there := head_of(head)):
                return there
    except OSError as error:
        raise unavailable(error, path, "read") from error
    raise InvalidRequestError(
        f"{str(path)!r} is there, and is no export of this program. Name another, or repeat with "
        "--force to write it all the same."
    )


async def _noting(
    records: AsyncIterator[Record], written: set[RecordId], advance: Callable[[], None]
) -> AsyncIterator[Record]:
    async for record in records:
        yield record
        written.add(record.id)
        advance()


async def _write_json(put: Put, chosen: app.Chosen, records: AsyncIterator[Record]) -> None:
    put(own_text.json_start(chosen.about))
    count = 0
    async for record in records:
        put(own_text.json_line(record, first=count == 0))
        count += 1
    put(own_text.json_end(count))


async def _write_folder(folder: Path, chosen: app.Chosen, records: AsyncIterator[Record]) -> None:
    """The index says first that the folder is not complete, and last that it is."""
    disk, index = Disk(), folder / own_text.INDEX_NAME
    disk.write(index, own_text.index_text(chosen.about, 0, (), complete=False).encode())
    lines: list[str] = []
    names: set[str] = set()
    async for record in records:
        name = own_text.note_name(record)
        disk.write(folder / name, own_text.note_text(record).encode())
        names.add(name)
        lines += own_text.index_lines([record])
    for path in _of_earlier(folder, names):
        disk.remove(path)
    text = own_text.index_text(chosen.about, len(lines), lines, complete=True)
    disk.write(index, text.encode())


def _of_earlier(folder: Path, names: set[str]) -> list[Path]:
    """The files that an earlier export into this folder left."""
    found = {path: path.relative_to(folder).as_posix() for path in folder.glob("*/*/*.md")}
    return [p for p, name in found.items() if name not in names and own_text.is_file_of_ours(name)]
