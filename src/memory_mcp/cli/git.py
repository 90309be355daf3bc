"""`memory-mcp git`: whether memory follows git, and where memories stand in it."""

from argparse import ArgumentParser, Namespace
from typing import Final

from memory_mcp import code
from memory_mcp.cli.commands import Subcommand, add_actions, in_workspace
from memory_mcp.cli.output import Output
from memory_mcp.code import GitReport
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.workspace import Workspace

_MODES: Final = {
    "off": "Git changes nothing about memory.",
    "mark": "Memories say where in git they stand; nothing is hidden.",
    "follow": "What does not stand on this commit is not recalled; it comes back with git.",
}


async def git(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show where memories stand, choose a mode, or bring memories here."""
    if args.action == "bring":
        moved = await code.bring_here(workspace, args.name)
        if isinstance(moved, Skipped):
            return moved
        return Output({"success": True, "memories": moved.memories, "message": moved.message})
    if args.action in _MODES:
        report = await code.choose_mode(workspace, args.action)
    else:
        report = await code.report_git(workspace)
    return report if isinstance(report, Skipped) else _render(report)


def _render(report: GitReport) -> Output:
    place, groups = report.place, report.groups
    lines = [f"{report.mode}: {_MODES[report.mode]}"]
    if place.commit:
        lines.append(f"Git is on {place.branch} at {place.commit[:8]}.")
    if report.pause:
        lines.append(f"Not followed at the moment: {report.pause}.")
    lines += code.describe_groups(groups, report.mode) or ["Every memory stands here."]
    fields = {
        "success": True, "mode": report.mode, "branch": place.branch, "commit": place.commit,
        "paused": report.pause,
        "elsewhere": [
            {"why": str(each.mark), "memories": each.memories, "bring": each.name}
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
    bring = add_action("bring", "let memories that stand elsewhere count here, too")
    bring.add_argument("name", metavar="NAME", help="the branch or commit they stand on")


COMMANDS: Final = {"git": Subcommand(in_workspace(git), _add_options)}
