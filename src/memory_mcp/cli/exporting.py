"""`memory-mcp export`: to a JSON file, to stdout, or to a folder of Markdown."""

import argparse
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Final

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli import show
from memory_mcp.cli.terminal import readable_json, say
from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX, IMPORT_OWN_TIMES
from memory_mcp.domain.moving import Export, ExportFormat
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Record
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.locations import roots_around
from memory_mcp.moving import own_text
from memory_mcp.moving.own import head_of, is_head_of_ours
from memory_mcp.safe_files import UnsafeFileError, read_start, refuse_links

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
    with _no_links(target):
        return await _export(rooms, given, form, path)


async def _export(
    rooms: Rooms, given: argparse.Namespace, form: ExportFormat, path: Path | None
) -> show.Shown:
    target: str = given.target
    disk = _disk(path, given)
    if path is not None:
        _refuse_links(disk, path / own_text.INDEX_NAME if form == "markdown" else path)
    there = None if path is None or given.force else _refuse_strange(path, form)
    chosen = await app.choose_export(rooms, _SCOPES[given.scope], history=given.history)
    if isinstance(chosen, Skipped):
        return show.Shown({"success": False, "message": chosen.reason})
    if there is not None:
        _refuse_loss(target, there, chosen.about)
    written: set[RecordId] = set()
    with show.progress("Exporting", printing=path is None) as advance:
        async with aclosing(app.exported(chosen)) as records:
            told = _noting(records, written, lambda: advance(len(written), chosen.count))
            if path is None:
                await _write_json(lambda text: sys.stdout.write(readable_json(text)), chosen, told)
            elif form == "json":
                with disk.writing(path) as put:
                    await _write_json(lambda text: put(text.encode()), chosen, told)
            else:
                await _write_folder(disk, path, chosen, told)
    lost = await app.unreadable(chosen, written)
    return _shown(path, form, written, lost)


def _path(target: str) -> Path | None:
    """Where to; without `..`, which behind a link leads elsewhere than it says."""
    if target == _STDOUT:
        return None
    return Path(os.path.abspath(Path(target).expanduser()))  # noqa: PTH100  # follows no link


def _disk(path: Path | None, given: argparse.Namespace) -> Disk:
    """Outside of any project the place is the user's choice, with all links on the way to it."""
    disk = Disk()
    if path is not None:
        around = roots_around(str(path), str(given.project_dir or ""))
        disk.roots = tuple(Path(root) for root in around)
    return disk


def _refuse_links(disk: Disk, path: Path) -> None:
    for root in disk.roots:
        refuse_links(str(root), str(path))


@contextmanager
def _no_links(target: str) -> Generator[None]:
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


def _shown(
    path: Path | None, form: ExportFormat, written: set[RecordId], lost: list[RecordId]
) -> show.Shown:
    where = "to stdout" if path is None else f"to {path}"
    exported = message = f"{len(written)} record(s) exported {where}."
    if lost:
        message += (
            f" {len(lost)} could not be read and are missing in it: {', '.join(lost)}. "
            "`memory-mcp doctor` says why."
        )
    size = path.stat().st_size if path is not None and form == "json" else 0
    bytes_max, items_max = (
        IMPORT_OWN_TIMES * most for most in (IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX)
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
            head = read_start(str(index), _HEAD_BYTES).decode(errors="replace")
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


async def _write_folder(
    disk: Disk, folder: Path, chosen: app.Chosen, records: AsyncIterator[Record]
) -> None:
    """The index says first that the folder is not complete, and last that it is."""
    index = folder / own_text.INDEX_NAME
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
