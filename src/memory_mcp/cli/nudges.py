"""`memory-mcp nudge`: add a nudge, list those that wait, remove them."""

import argparse
from typing import Any, Final

from memory_mcp import sessions
from memory_mcp.cli.memories import parse_time
from memory_mcp.cli.show import Fields, Output, read_stdin
from memory_mcp.domain.nudges import Nudge, NudgeReceipt, NudgeRemoval, WaitingNudges
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import format_time
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.outcomes import pluralise

_UNREAD_NAMED_MAX: Final = 20
"""A folder full of something else is known by its first files."""


async def nudge(workspace: Workspace, given: argparse.Namespace) -> Output:
    """Do what the first word after `nudge` says; without one: list."""
    match given.action:
        case "add":
            return await _add(workspace, given)
        case "clear":
            return await _clear(workspace, everything=given.all)
        case _:
            return await _list(workspace)


async def _add(workspace: Workspace, given: argparse.Namespace) -> Output:
    text = read_stdin() if given.text == "-" else given.text
    expires = parse_time("--expires", given.expires)
    match await sessions.add_nudge(workspace, text, given.priority, expires):
        case NudgeReceipt(left, notes):
            said = " ".join(("It waits for the next session that begins.", *notes))
            return Output({"success": True, **_fields(left), "message": said})
        case Skipped(reason):
            return Output({"success": False, "message": reason})


async def _list(workspace: Workspace) -> Output:
    match await sessions.list_nudges(workspace):
        case WaitingNudges(nudges, unread, strange):
            more = len(unread) - _UNREAD_NAMED_MAX
            fields = {
                "success": True,
                "nudges": [_fields(nudge) for nudge in nudges],
                "unread": [
                    *unread[:_UNREAD_NAMED_MAX],
                    *([f"And {more} more."] if more > 0 else []),
                ],
                "strange": list(strange[:_UNREAD_NAMED_MAX]),
                "place": workspace.nudges.place(workspace.scope.user),
            }
            return Output(fields, _as_text)
        case Skipped(reason):
            return Output({"success": False, "message": reason})


async def _clear(workspace: Workspace, *, everything: bool) -> Output:
    match await sessions.clear_nudges(workspace, everything=everything):
        case NudgeRemoval(removed, left):
            named = ("message is", "messages are") if everything else ("nudge is", "nudges are")
            said = f"{pluralise(removed, *named)} removed."
            if left:
                said += (
                    f" What is left ({left}) is no nudge: `memory-mcp nudge list` says why, "
                    "`memory-mcp nudge clear --all` removes it."
                )
            return Output({"success": True, "removed": removed, "left": left, "message": said})
        case Skipped(reason):
            return Output({"success": False, "message": reason})


def _fields(nudge: Nudge) -> dict[str, Any]:
    return {
        "nudgeId": nudge.id,
        "text": nudge.text,
        "priority": nudge.priority,
        "expiresAt": format_time(nudge.expires_at) if nudge.expires_at else None,
        "createdAt": format_time(nudge.created_at),
        "by": nudge.by or None,
    }


def _as_text(fields: Fields) -> str:
    lines = [_line(nudge) for nudge in fields["nudges"]] or ["No nudge waits."]
    said = [*fields["unread"], *fields["strange"]]
    return "\n".join([*lines, *said, f"Programs leave them in {fields['place']}"])


def _line(nudge: Fields) -> str:
    until = f", until {nudge['expiresAt']}" if nudge["expiresAt"] else ""
    by = f" by {nudge['by']}" if nudge["by"] else ""
    return f"{nudge['priority']:>2} {nudge['text']}\n   [left {nudge['createdAt']}{by}{until}]"
