"""`memory-mcp import`: what other programs remember, or an export of ours."""

import argparse
import asyncio

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli import show
from memory_mcp.context.moving_text import imported_fields, imported_text
from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.moving import Imported, Parsed
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.moving.claude_notes import CLAUDE_FILES
from memory_mcp.moving.reading import read_source
from memory_mcp.stores.sources import read_material


async def import_(rooms: Rooms, given: argparse.Namespace) -> show.Shown:
    """Take in a source, or say what would come of it."""
    if skipped := app.reads_refused(rooms) if given.dry_run else app.writes_refused(rooms):
        return show.Shown({"success": False, "message": skipped.reason})
    parsed = _parsed(given)
    reach = _reach(given.scope)
    with show.progress("Reading" if given.dry_run else "Importing") as advance:
        if given.dry_run:
            done = await app.preview_import(rooms, parsed, reach, advance)
        else:
            done = await _imported(rooms, parsed, reach, advance, erase=given.erase)
    if isinstance(done, Skipped):
        return show.Shown({"success": False, "message": done.reason})
    return show.Shown(imported_fields(done), imported_text)


def _parsed(given: argparse.Namespace) -> Parsed:
    """What is in the source; its text, which may be long, is let go of."""
    names = CLAUDE_FILES if given.kind == "claude-md" else ()
    material = read_material(given.source, names, str(given.project_dir or ""))
    return read_source(material, None if given.kind == "auto" else given.kind, given.source)


async def _imported(
    rooms: Rooms, parsed: Parsed, reach: Reach | None, advance: app.Advance, *, erase: bool
) -> Imported | Skipped:
    try:
        return await app.import_memories(rooms, parsed, reach, advance, erase=erase)
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
