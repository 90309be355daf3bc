"""`sync`: what is still to be delivered, and delivering it now."""

import argparse
from collections.abc import Iterator

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli import show
from memory_mcp.cli.show import Fields, Shown
from memory_mcp.context.words import counted


async def sync(rooms: Rooms, given: argparse.Namespace) -> Shown:
    """Show what the outboxes hold, or empty them."""
    if skipped := app.reads_refused(rooms) if given.status else app.writes_refused(rooms):
        return Shown({"success": False, "message": skipped.reason})
    if given.erase:  # what came from a cloud may wait here long after it was left
        return Shown(_fields(await app.erase_forgotten_elsewhere(rooms)), _as_text)
    if not rooms.mirrored:
        why = " ".join(await app.strangers_note(rooms))
        why = f"Nothing is mirrored. {why or '`memory-mcp status` says why.'}"
        return Shown({"success": False, "message": why})
    if given.status:
        return Shown(_fields(await app.sync_status(rooms)), _as_text)
    with show.progress("Supermemory") as advance:
        done = await app.sync(rooms, advance, push_all=given.push_all, pull_all=given.pull)
    fields = _fields(done)
    if given.pull and done.kept_out:  # what was asked for did not happen
        fields = {**fields, "success": False}
    return Shown(fields, _as_text)


def _fields(done: app.Synced) -> Fields:
    tally = done.tally
    return {
        "success": not done.stopped,
        "pending": tally.pending,
        "quiet": tally.quiet,
        "checking": tally.checking,
        "delivered": tally.delivered,
        "refused": tally.dead,
        "undelivered": [
            {"memoryId": u.record, "op": u.op, "error": u.error} for u in tally.undelivered
        ],
        "unmirrored": done.unmirrored,
        "takenIn": done.taken_in.records,
        "unreadable": list(done.taken_in.unreadable),
        "waitingToBeErased": [{"memoryId": w.id, "title": w.title} for w in done.waiting],
        "erased": [{"memoryId": w.id, "title": w.title} for w in done.erased],
        "keptOut": done.kept_out or None,
        "blocked": tally.standing.blocked or None,
        "stopped": done.stopped or None,
    }


def _as_text(fields: Fields) -> str:
    return "\n".join(_lines(fields))


def _records(number: int) -> str:
    return counted(number, "record", "records")


def _lines(fields: Fields) -> Iterator[str]:
    if fields["takenIn"]:
        yield f"{_records(fields['takenIn'])} taken in."
    if fields["unreadable"]:
        names = ", ".join(fields["unreadable"])
        yield f"Left there, changed or not of this version: {names}."
    if fields["erased"]:
        yield f"{_records(len(fields['erased']))} erased:"
        yield from (f"- {each['memoryId']}: {each['title']}" for each in fields["erased"])
    if fields["waitingToBeErased"]:
        waiting = fields["waitingToBeErased"]
        yield (
            f"{_records(len(waiting))} that another machine forgot, hidden here and still on this "
            "disk. `memory-mcp sync --erase` erases:"
        )
        yield from (f"- {each['memoryId']}: {each['title']}" for each in waiting)
    if fields["keptOut"]:
        yield fields["keptOut"]
    state = f"sync pending ({fields['pending']})" if fields["pending"] else "Nothing is pending"
    working = counted(fields["checking"], "change", "changes")
    also = f", and is processing {working}" if fields["checking"] else ""
    yield f"{state}. Supermemory holds {_records(fields['delivered'])}{also}."
    if fields["quiet"]:
        yield f"{counted(fields['quiet'], 'move', 'moves')} will go along with the next memory."
    if fields["refused"]:
        yield f"Refused for good ({fields['refused']}); the memories are safe here:"
        yield from (
            f"- {dead['op']} of {dead['memoryId']}: {dead['error']}"
            for dead in fields["undelivered"]
        )
    if fields["unmirrored"]:
        yield (
            f"{_records(fields['unmirrored'])} written without the cloud stay here only: "
            "`memory-mcp sync --push-all` sends them too."
        )
    if fields["stopped"] or fields["blocked"]:
        yield f"Stopped: {fields['stopped'] or fields['blocked']}"
