"""`memory-mcp git` and `stale`: where memories stand in git, and what they cite that moved."""

from argparse import ArgumentParser, Namespace
from typing import Final

from memory_mcp import code
from memory_mcp.cli.arguments import whole_within
from memory_mcp.cli.commands import Subcommand, add_actions, in_workspace
from memory_mcp.cli.output import Output
from memory_mcp.code import GitReport
from memory_mcp.domain.git import SHORT
from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace

_SHOWN_CHARS_MAX: Final = 200
_ANSWERS: Final = (
    "Still true: `memory-mcp update ID TEXT` with the same text cites the code as it is now. No "
    "longer: correct it with another text, or `memory-mcp forget ID`."
)
_MODES: Final = {
    "off": "Git changes nothing about memory.",
    "mark": "Memories say where in git they stand; nothing is hidden.",
    "follow": "What does not stand on this commit is not recalled; it comes back with git.",
}


async def git(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show where memories stand, choose a mode, bring memories here, or take turns back."""
    if args.action == "bring":
        moved = await code.bring_here(workspace, args.name)
        if isinstance(moved, Skipped):
            return moved
        return Output({"success": True, "memories": moved.memories, "message": moved.message})
    if args.action == "rewind":
        hidden = await code.hide_marked(workspace)
        if isinstance(hidden, Skipped):
            return hidden
        message = "Nothing is recalled that a turn wrote which was taken back."
        if hidden:
            counted = pluralise(hidden, "memory", "memories")
            message = (
                f"No longer recalled: {counted} of turns that were taken back. `memory-mcp undo` "
                "brings them back."
            )
        return Output({"success": True, "memories": hidden, "message": message})
    if args.action in _MODES:
        report = await code.choose_mode(workspace, args.action)
    else:
        report = await code.report_git(workspace)
    return report if isinstance(report, Skipped) else _render(report)


def _render(report: GitReport) -> Output:
    place, groups = report.place, report.groups
    lines = [f"{report.mode}: {_MODES[report.mode]}"]
    if place.commit:
        lines.append(f"Git is on {place.branch or 'no branch'} at {place.commit[:SHORT]}.")
    if report.pause:
        lines.append(f"Not followed at the moment: {report.pause}.")
    lines += code.describe_groups(groups) or ["Every memory stands here."]
    fields = {
        "success": True, "mode": report.mode, "branch": place.branch, "commit": place.commit,
        "paused": report.pause,
        "elsewhere": [
            {"why": str(each.mark), "memories": each.memories, "bring": each.name,
             "command": each.command}
            for each in groups
        ],
        "message": "\n".join(lines),
    }  # fmt: skip
    return Output(fields)


def _add_options(parser: ArgumentParser) -> None:
    add_action = add_actions(parser)
    add_action("status", "show where memories stand in git")
    for mode, summary in _MODES.items():
        add_action(mode, summary)
    add_action("rewind", "hide what turns wrote that /rewind took back")
    bring = add_action("bring", "let memories that stand elsewhere count here, too")
    bring.add_argument("name", metavar="NAME", help="the branch or commit they stand on")


async def stale(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """List the memories whose ground has moved, worst first, and what can be done."""
    found = await code.find_stale(workspace, args.limit)
    if isinstance(found, Skipped):
        return found
    listed = [
        {"memoryId": each.record.id, "content": each.record.content,
         "cites": [str(checked) for checked in each.checked], "commit": each.commit or None}
        for each in found.stale
    ]  # fmt: skip
    lines = [
        f"{code.describe_stale(each)}\n  {cut(each.record.content, _SHOWN_CHARS_MAX)} "
        f"[{each.record.id}]"
        for each in found.stale
    ]
    citing = pluralise(found.citing, "memory that cites", "memories that cite")
    rest = "rests" if found.total == 1 else "rest"
    summary = f"{found.total} of {citing} code {rest} on what moved."
    if len(found.stale) < found.total:
        summary += f" The worst {len(found.stale)} are shown; `--limit 0` shows all."
    if not found.citing:
        summary = (
            "No memory here cites code. `memory-mcp add TEXT --cite PLACE` adds one that does."
        )
    message = "\n".join([*lines, summary, *([_ANSWERS] if lines else [])])
    counts = {"total": found.total, "citing": found.citing}
    return Output({"success": True, "stale": listed, **counts, "message": message})


def _add_stale_options(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=whole_within(0), default=20, metavar="N",
                        help="memories at most (default 20); 0 shows all")  # fmt: skip


COMMANDS: Final = {
    "stale": Subcommand(in_workspace(stale), _add_stale_options),
    "git": Subcommand(in_workspace(git), _add_options),
}
