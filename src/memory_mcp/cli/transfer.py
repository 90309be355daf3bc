"""`memory-mcp import`, `export` and `move`.

An import reads what another program remembers, or an export of ours. An export writes a JSON file,
stdout, or a folder of Markdown; inside a project it follows no link.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, get_args

from memory_mcp import engine, sessions, transfer
from memory_mcp.build import open_workspace
from memory_mcp.cli.arguments import parse_path
from memory_mcp.cli.commands import Subcommand, in_workspace
from memory_mcp.cli.inputs import UsageError, find_target
from memory_mcp.cli.output import Output, flush_output, print_note, show_progress, write_json
from memory_mcp.config.load import LoadedSettings
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import IMPORT_BYTES_MAX, IMPORT_ITEMS_MAX, IMPORT_OWN_FACTOR
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Reach, Record
from memory_mcp.domain.transfer import ExportFormat, ExportHeader, ParsedSource
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.formats import own
from memory_mcp.formats.claude_md import CLAUDE_FILES
from memory_mcp.formats.importers import read_source
from memory_mcp.formats.own import is_export_head, parse_export_head
from memory_mcp.formats.sources import SOURCES
from memory_mcp.render.moved import render_move_fields, render_move_text
from memory_mcp.render.outcomes import render_import, render_import_text
from memory_mcp.safe_files import read_start, refuse_links
from memory_mcp.shutdown import run_to_end
from memory_mcp.storage.files.imports import read_material
from memory_mcp.storage.files.reports import explain_links, make_guarded_disk

_STDIN: Final = "-"
_STDOUT: Final = "-"
_HEAD_BYTES: Final = 8_000
_OTHER_FOLDER: Final = "Name the folder that is meant itself, or another one."
_SCOPES: Final = (*get_args(Reach), "both", "all")

Write = Callable[[str], object]


async def import_(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Take in a source, or say what would come of it."""
    refuse = engine.refuse_reads if args.dry_run else engine.refuse_writes
    if skipped := refuse(workspace):
        return skipped
    parsed = _parse_source(args)
    # without a scope all of it is the project's; with all, each record goes where it belongs
    reach: Reach | None = None if args.scope in ("both", "all") else args.scope or "project"
    with show_progress("Reading" if args.dry_run else "Importing") as advance:
        if args.dry_run:
            done = await transfer.preview_import(workspace, parsed, reach, advance)
        else:
            try:
                done = await transfer.import_memories(
                    workspace, parsed, reach, advance, erase=args.erase
                )
            except asyncio.CancelledError as error:  # Ctrl-C
                notes = " ".join(getattr(error, "__notes__", ("Nothing was changed.",)))
                raise StoreUnavailableError(f"Interrupted. {notes}") from error
    return done if isinstance(done, Skipped) else Output(render_import(done), render_import_text)


def _parse_source(args: Namespace) -> ParsedSource:
    """Read and parse the source; its text, which may be long, is not kept."""
    names = CLAUDE_FILES if args.kind == "claude-md" else ()
    with show_progress("Looking for notes") if args.source != _STDIN else nullcontext():
        material = read_material(args.source, names, str(args.project_dir or ""))
    kind = None if args.kind == "auto" else args.kind
    parsed = read_source(material, kind, args.source)
    if kind and parsed.own is None and not parsed.memories:
        first = parsed.left_out[:1]  # without its words, among which a secret could stand
        why = "".join(f" {each.item.partition(': ')[0]} {each.reason}." for each in first)
        raise InvalidRequestError(
            f"Nothing in {args.source!r} is of the form of {kind} ({SOURCES[kind].title}).{why} "
            "Nothing was stored. If it is of another program, say which with --from."
        )
    return parsed


def _add_import_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "source", type=parse_path, help="a file or folder; - reads a file from stdin"
    )
    parser.add_argument("--from", dest="kind", choices=("auto", *SOURCES), default="auto",
                        help="whose it is (default: told from what is in it)")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would come, no more")
    parser.add_argument("--scope", choices=_SCOPES,
                        help="whose it is to be (default: project; of an export of ours: what "
                        "of it was the project's); all, both: each where it belongs")  # fmt: skip
    parser.add_argument("--erase", action="store_true",
                        help="erase here what an export of ours says was forgotten")  # fmt: skip


async def export(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Write what holds, or all there is; or a node's report at the end of a run."""
    if args.final:
        return await _export_final(workspace, args)
    form = _choose_format(args.target, args.format)
    path = None if args.target == _STDOUT else find_target(args.target)
    # outside of any project all links on the way are the user's choice
    disk = make_guarded_disk(path, str(args.project_dir or "")) if path else Disk()
    with explain_links(args.target, _OTHER_FOLDER):
        if path is not None:
            for root in disk.roots:
                refuse_links(str(root), str(path / own.INDEX_NAME if form == "markdown" else path))
        existing = None if path is None or args.force else _load_existing(path, form)
        reaches = _list_reaches(workspace, args.scope)
        chosen = await transfer.select_export(workspace, reaches, history=args.history)
        if isinstance(chosen, Skipped):
            return chosen
        if existing is not None:
            _refuse_loss(args.target, existing, chosen.about)
        written = await _write_export(chosen, disk, path, form)
        lost = await transfer.find_unreadable(chosen, written)
        return _export_output(path, form, written, lost)


def _list_reaches(workspace: Workspace, scope: str) -> tuple[Reach, ...]:
    """Whose memories an export is of."""
    match scope:
        case "project" | "team" | "user":
            return (scope,)
        case "both":
            return ("project", "user")
        case _:
            return workspace.reaches


async def _export_final(workspace: Workspace, args: Namespace) -> Output:
    """Write the report of the branch as two files into a folder."""
    from memory_mcp.api.final import export_final_memory  # not for other exports

    if args.format or args.history or args.scope != "project":
        raise UsageError(
            "--final is a report of one branch: it goes with no --format, --history or --scope."
        )
    if args.target == _STDOUT:
        raise UsageError("--final writes two files. Name a folder: export --final DIR.")
    paths = await export_final_memory(workspace, args.target, str(args.project_dir or ""))
    markdown, data = map(str, paths)
    message = f"The final memory of {workspace.caller.branch} is in {markdown} and {data}."
    return Output({"success": True, "markdown": markdown, "json": data, "message": message})


async def _write_export(
    chosen: transfer.ExportSelection, disk: Disk, path: Path | None, form: ExportFormat
) -> set[RecordId]:
    """Write the records and return the ids of those that were written."""
    written: set[RecordId] = set()
    with show_progress("Exporting", printing=path is None) as advance:
        async with aclosing(transfer.read_selected(chosen)) as exported:
            records = _track_written(exported, written, lambda: advance(len(written), chosen.count))
            if path is None:
                await _write_json(write_json, chosen, records)
            elif form == "json":
                with disk.writing(path) as write:
                    await _write_json(lambda text: write(text.encode()), chosen, records)
            else:
                await _write_folder(disk, path, chosen, records)
    return written


def _export_output(
    path: Path | None, form: ExportFormat, written: set[RecordId], lost: list[RecordId]
) -> Output:
    warnings: list[str] = []
    if lost:
        warnings.append(
            f"{len(lost)} could not be read and are missing in it: {', '.join(lost)}. "
            "`memory-mcp doctor` says why."
        )
    size = path.stat().st_size if path is not None and form == "json" else 0
    bytes_max, items_max = (
        IMPORT_OWN_FACTOR * IMPORT_BYTES_MAX,
        IMPORT_OWN_FACTOR * IMPORT_ITEMS_MAX,
    )
    if size > bytes_max or len(written) > items_max:
        warnings.append(
            f"It is larger than one import takes ({bytes_max:,} bytes, {items_max:,} records): "
            "as a backup, copy the folders of the records instead."
        )
    where = "stdout" if path is None else str(path)
    message = " ".join(
        [f"{pluralise(len(written), 'record', 'records')} exported to {where}.", *warnings]
    )
    if path is None:  # stdout holds the export and nothing else
        flush_output()
        if warnings:
            print_note(message)
    fields = {
        "success": not lost,
        "records": len(written),
        "format": form,
        "path": None if path is None else str(path),
        "unreadable": lost,
        "message": message,
    }
    return Output(fields, silent=path is None)


def _choose_format(target: str, wanted: ExportFormat | None) -> ExportFormat:
    folder = target != _STDOUT and (target.endswith(("/", "\\")) or Path(target).is_dir())
    form: ExportFormat = wanted or ("markdown" if folder else "json")
    if form == "markdown" and target == _STDOUT:
        raise UsageError(
            "Markdown is a folder of files: name one, as in `export --format markdown notes`."
        )
    if form == "json" and folder:
        raise InvalidRequestError(f"{target!r} is a folder, and JSON is one file: name a file.")
    return form


def _refuse_loss(target: str, existing: ExportHeader, about: ExportHeader) -> None:
    """Refuse to write over an export that has what the new one would not have.

    Raises:
        InvalidRequestError: with what would be lost.
    """
    lost: list[str] = []
    if "project" in existing.banks and existing.scope.project != about.scope.project:
        lost.append(f"it is of the project {existing.scope.project!r}")
    if "team" in existing.banks and existing.scope.team != about.scope.team:
        lost.append(f"it is of the team {existing.scope.team!r}")
    if "user" in existing.banks and existing.scope.user != about.scope.user:
        lost.append(f"it is of the user {existing.scope.user!r}")
    if existing.history and not about.history:
        lost.append("it has its history, and this one would have none")
    lost += [f"it has the {bank} scope" for bank in existing.banks if bank not in about.banks]
    if lost:
        raise InvalidRequestError(
            f"{target!r} is another export: {'; '.join(lost)}. Name another file, or repeat with "
            "--force to write over it."
        )


def _load_existing(path: Path, form: ExportFormat) -> ExportHeader | None:
    """What the export says that is there already; anything else there is refused."""
    try:
        if not path.exists():
            return None
        index = path / own.INDEX_NAME if form == "markdown" else path
        if path.is_dir() and not any(path.iterdir()):
            return None
        if index.is_file():
            head = read_start(str(index), _HEAD_BYTES).decode(errors="replace")
            if is_export_head(head) and (existing := parse_export_head(head)):
                return existing
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
    write: Write, chosen: transfer.ExportSelection, records: AsyncIterator[Record]
) -> None:
    write(own.render_json_start(chosen.about))
    count = 0
    async for record in records:
        write(own.render_json_line(record, first=count == 0))
        count += 1
    write(own.render_json_end(count))


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


def _add_export_options(parser: ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", default="-", metavar="FILE|DIR", type=parse_path,
                        help="where to; without it, or -: JSON to stdout")  # fmt: skip
    parser.add_argument("--format", choices=("json", "markdown"),
                        help="default: json; markdown if the target is a folder")  # fmt: skip
    parser.add_argument("--history", action="store_true",
                        help="all there is, with the timeline: also what was left, corrected "
                        "or hidden")  # fmt: skip
    parser.add_argument(
        "--scope",
        choices=_SCOPES,
        default="project",
        help="both: project, user; all: the team's too (default: project)",
    )
    parser.add_argument("--final", action="store_true",
                        help="into the folder DIR, what the branch knows at the end of a run: a "
                        "text to write a report from, and data")  # fmt: skip
    parser.add_argument("--force", action="store_true",
                        help="overwrite what is no export of ours, or is one of more, or of "
                        "another project")  # fmt: skip


def move(loaded: LoadedSettings, args: Namespace) -> Output | Skipped:
    """Carry all memories to files or to the database, and prove that they arrived."""
    settings = loaded.settings
    if settings.enabled and settings.postgres_url is None:
        raise InvalidRequestError(
            "MEMORY_POSTGRES_URL is not set: it names the database that memories move to or from. "
            "Set it to postgresql://user@host:port/database, and repeat."
        )
    return run_to_end(_move(settings, args.to))


async def _move(settings: Settings, to: Literal["files", "postgres"]) -> Output | Skipped:
    sides = replace(settings, provider="local"), replace(settings, provider="postgres")
    source, target = sides if to == "postgres" else reversed(sides)
    async with open_workspace(source) as one, open_workspace(target) as other:
        for built in (one, other):
            await sessions.catch_up(built.workspace, render=False)
        with show_progress("Moving") as advance:
            report = await transfer.move_memories(one.workspace, other.workspace, advance)
    if isinstance(report, Skipped):
        return report
    return Output(render_move_fields(report, to), render_move_text)


def _add_move_options(parser: ArgumentParser) -> None:
    parser.add_argument("--to", choices=("files", "postgres"), required=True,
                        help="where they are to be; what is here stays where it is")  # fmt: skip


COMMANDS: Final = {
    "move": Subcommand(move, _add_move_options),
    "import": Subcommand(in_workspace(import_), _add_import_options),
    "export": Subcommand(in_workspace(export), _add_export_options),
}
