"""`memory-mcp reindex` and `doctor`: making anew what can be, and naming what is wrong."""

import argparse

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli import show
from memory_mcp.errors import ModelUnavailableError


async def reindex(rooms: Rooms, given: argparse.Namespace) -> show.Shown:
    """Make the index anew from the records, with its vectors."""
    del given
    if skipped := app.reads_refused(rooms):
        return show.Shown({"success": False, "message": skipped.reason})
    with show.progress("Indexing") as advance:
        done = await app.reindex(rooms, advance)
    said = [f"{done.adopted} records indexed, {done.erased} late forgets completed."]
    encoded = 0
    try:
        with show.progress("Encoding") as advance:
            encoded = await app.encode_all(rooms, advance)
    except ModelUnavailableError as error:
        said.append(f"Not encoded: {error}")
    if encoded:
        said.append(f"{encoded} records encoded.")
    return show.Shown(
        {
            "success": True,
            "indexed": done.adopted,
            "erased": done.erased,
            "encoded": encoded,
            "message": " ".join(said),
        }
    )


async def doctor(rooms: Rooms, given: argparse.Namespace) -> show.Shown:
    """Check every invariant, and prove how memories are found."""
    if skipped := app.reads_refused(rooms):
        return show.Shown({"success": False, "message": skipped.reason})
    found = await app.doctor(rooms, repair=given.repair)
    probed = await app.probe(rooms)
    found += probed.findings
    left = [finding for finding in found if not finding.repaired]
    fields = {
        "success": not any(finding.severity == "must" for finding in left),
        "findings": [vars(finding) for finding in found],
        "search": probed.mode,
        "proof": probed.proof,
        "message": show.bill(len(found), len(found) - len(left)),
    }
    return show.Shown(fields, show.findings)
