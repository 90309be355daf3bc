"""`memory-mcp nudge`: add a nudge, list those that wait, remove them."""

from argparse import ArgumentParser, Namespace
from typing import Any, Final

from memory_mcp import sessions
from memory_mcp.cli.arguments import not_empty, parse_time, whole_within
from memory_mcp.cli.commands import Subcommand, add_actions, in_workspace
from memory_mcp.cli.inputs import read_text
from memory_mcp.cli.output import Fields, Output
from memory_mcp.domain.limits import NUDGE_PRIORITY_MAX, NUDGE_PRIORITY_MIN
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.nudges import Nudge, NudgeReceipt, NudgeRemoval, WaitingNudges
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import format_time
from memory_mcp.engine.workspace import Workspace

_PRIORITY: Final = whole_within(NUDGE_PRIORITY_MIN, NUDGE_PRIORITY_MAX)
_UNREAD_NAMED_MAX: Final = 20
"""A folder full of something else is known by its first files."""


async def nudge(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Carry out the action after `nudge`; without one: list."""
    match args.action:
        case "add":
            return await _add_nudge(workspace, args)
        case "clear":
            return await _clear_nudges(workspace, everything=args.all)
        case _:
            return await _list_nudges(workspace)


async def _add_nudge(workspace: Workspace, args: Namespace) -> Output | Skipped:
    text = read_text(args.text)
    match await sessions.add_nudge(workspace, text, args.priority, args.expires):
        case NudgeReceipt(left, notes):
            message = " ".join(("It waits for the next session that begins.", *notes))
            return Output({"success": True, **_nudge_fields(left), "message": message})
        case Skipped() as skipped:
            return skipped


async def _list_nudges(workspace: Workspace) -> Output | Skipped:
    match await sessions.list_nudges(workspace):
        case WaitingNudges(nudges, unread, strange):
            more = len(unread) - _UNREAD_NAMED_MAX
            fields = {
                "success": True,
                "nudges": [_nudge_fields(nudge) for nudge in nudges],
                "unread": [
                    *unread[:_UNREAD_NAMED_MAX],
                    *([f"And {more} more."] if more > 0 else []),
                ],
                "strange": list(strange[:_UNREAD_NAMED_MAX]),
                "place": workspace.nudges.place(workspace.scope.user),
            }
            return Output(fields, _nudges_text)
        case Skipped() as skipped:
            return skipped


async def _clear_nudges(workspace: Workspace, *, everything: bool) -> Output | Skipped:
    match await sessions.clear_nudges(workspace, everything=everything):
        case NudgeRemoval(removed, left):
            nouns = ("message is", "messages are") if everything else ("nudge is", "nudges are")
            message = f"{pluralise(removed, *nouns)} removed."
            if left:
                message += (
                    f" What is left ({left}) is no nudge: `memory-mcp nudge list` says why, "
                    "`memory-mcp nudge clear --all` removes it."
                )
            return Output({"success": True, "removed": removed, "left": left, "message": message})
        case Skipped() as skipped:
            return skipped


def _nudge_fields(nudge: Nudge) -> dict[str, Any]:
    return {
        "nudgeId": nudge.id,
        "text": nudge.text,
        "priority": nudge.priority,
        "expiresAt": format_time(nudge.expires_at) if nudge.expires_at else None,
        "createdAt": format_time(nudge.created_at),
        "by": nudge.by or None,
    }


def _nudges_text(fields: Fields) -> str:
    lines = [_nudge_text(nudge) for nudge in fields["nudges"]] or ["No nudge waits."]
    lines += [*fields["unread"], *fields["strange"]]
    return "\n".join([*lines, f"Programs leave them in {fields['place']}"])


def _nudge_text(nudge: Fields) -> str:
    until = f", until {nudge['expiresAt']}" if nudge["expiresAt"] else ""
    by = f" by {nudge['by']}" if nudge["by"] else ""
    return f"{nudge['priority']:>2} {nudge['text']}\n   [left {nudge['createdAt']}{by}{until}]"


def _add_nudge_options(parser: ArgumentParser) -> None:
    action = add_actions(parser)
    action("list", "what waits, best first, and where programs leave it (the default)")
    add = action("add", "leave a sentence that the next session brings up with the user")
    add.add_argument("text", type=not_empty("say what is to be brought up"),
                     help="one or two sentences; - reads them from stdin")  # fmt: skip
    add.add_argument("--priority", type=_PRIORITY, default=5, metavar="N",
                     help="1 to 10, the highest comes first (default 5)")  # fmt: skip
    add.add_argument("--expires", type=parse_time, metavar="TIME",
                     help="ISO 8601, e.g. 2026-12-31")  # fmt: skip
    clear = action("clear", "remove what waits, unseen")
    clear.add_argument("--all", action="store_true", help="what is no nudge as well")


COMMANDS: Final = {"nudge": Subcommand(in_workspace(nudge), _add_nudge_options)}
