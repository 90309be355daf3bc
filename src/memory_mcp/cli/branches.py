"""`memory-mcp status`, `log`, `diff`, `checkpoint`, `backtrack`, `undo` and `fork`."""

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Container
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from memory_mcp import branches, code
from memory_mcp.cli import output
from memory_mcp.cli.arguments import PHASE, parse_with, whole_within
from memory_mcp.cli.choose import Row, choose_row
from memory_mcp.cli.commands import Subcommand, in_workspace
from memory_mcp.cli.inputs import UsageError, read_form
from memory_mcp.cli.output import Fields, Output, ask_choice
from memory_mcp.domain.outcomes import (
    Backtracked,
    BranchReady,
    CheckpointDecided,
    Closeout,
    ClosingDecision,
    DecisionPreview,
    LogNode,
    MovePreview,
    Skipped,
    TimelineStart,
)
from memory_mcp.domain.timeline import Checkpoint, Line
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.render.outcomes import (
    render_effect,
    render_head,
    render_head_fields,
    render_later,
    render_preview,
    render_receipt,
)
from memory_mcp.text.drafts import check_branch
from memory_mcp.timeline.plans import START

_LOG_LIMIT: Final = 30
"""Rows of the log: about a screen, with the lines between them."""

_LOG_WIDTH: Final = 60
"""Of a narrower terminal, times and long commands would leave nothing for the words."""

_CHOICES: Final[tuple[branches.Choice, ...]] = ("continue", "forget", "abort")


async def status(workspace: Workspace, _args: Namespace) -> Output | Skipped:
    """Show where the project stands."""
    report = await branches.report_head(workspace)
    if isinstance(report, Skipped):
        return report
    text = render_head(report)
    return Output(
        {"success": True, **render_head_fields(report)}, lambda _: output.fit_lines([text])
    )


async def log(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show the timeline as a graph."""
    from memory_mcp.render.log import LOG_SIGNS, is_typed, render_log, render_log_fields

    if args.follow:
        return await _follow(workspace, as_json=args.json)
    read = await branches.read_log(workspace, args.limit, of_git=True)
    if isinstance(read, Skipped):
        return read
    if not args.json:
        narrow = output.find_width() < _LOG_WIDTH
        drawing = render_log(read, ascii_only=not output.can_show(LOG_SIGNS), narrow=narrow)
        output.print_styled(drawing, is_typed=is_typed)
    return Output(render_log_fields(read), silent=not args.json)


async def _follow(workspace: Workspace, *, as_json: bool) -> Skipped:
    """Print what happens until Ctrl-C, or until the reader of the pipe leaves."""
    if skipped := refuse_reads(workspace):
        return skipped
    from memory_mcp.render.events import render_event, render_event_fields

    begun = False
    async for events in branches.follow_timeline(workspace):
        output.refuse_lost_output()
        for event in events:
            if as_json:
                output.print_json_line(render_event_fields(event))
            else:
                output.print_styled([render_event(event)])
        if not begun:
            output.print_note("What any session writes is shown as it happens. Ctrl-C ends it.")
            begun = True
    raise AssertionError("there is always more to follow")


def _add_log_options(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=whole_within(0), default=_LOG_LIMIT, metavar="N",
                        help=f"rows at most (default {_LOG_LIMIT}); 0 shows all")  # fmt: skip
    parser.add_argument("--follow", action="store_true",
                        help="show what any session does, as it happens")  # fmt: skip


async def diff(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show what was known at one point and not at the other."""
    from memory_mcp.render.difference import render_difference, render_difference_fields

    found = await branches.compare_points(workspace, args.a, args.b)
    if isinstance(found, Skipped):
        return found
    if not args.json:
        output.print_styled(render_difference(found), whole=True)
    return Output(render_difference_fields(found), silent=not args.json)


def _add_diff_options(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="checkpoint, phase, left line, branch, head, start, "
                        "or a time: 2026-01-31, 2h (ago)")  # fmt: skip
    parser.add_argument("b", metavar="B", nargs="?", default="head", help="another (default: head)")


async def checkpoint(workspace: Workspace, args: Namespace) -> Output:
    """Seal a restore point, or decide a pending one. Whoever types the command approves it."""
    if args.decision and not args.pending:
        raise UsageError(
            f"--decision {args.decision} is about a checkpoint that is pending: name it with "
            "--pending ID (memory-mcp status lists them), or leave --decision out to seal a new "
            "one."
        )
    if not (args.summary.strip() or args.pending):
        raise UsageError("Say what was reached and decided: memory-mcp checkpoint SUMMARY.")
    if args.pending:
        decided = await branches.decide_checkpoint(
            workspace, args.pending, args.decision or "save", args.summary, again=args.again
        )
        return Output(render_receipt(decided))
    outcome = await branches.checkpoint(
        workspace,
        args.summary,
        args.phase,
        again=args.again,
        approval="approved",
        closeout=_read_closeout(args),
        cites=args.cites,
    )
    return Output(render_receipt(outcome))


def _read_closeout(args: Namespace) -> Closeout:
    closeout = _read_closeout_form(args.closeout) if args.closeout else Closeout()
    decided = [decision.partition("::") for decision in args.decided]
    if not all(text.strip() for text, _, _ in decided):
        raise UsageError("--decided is empty. Say what was decided, or leave it out.")
    return Closeout(
        decisions=(
            *closeout.decisions,
            *(ClosingDecision(text.strip(), why.strip()) for text, _, why in decided),
        ),
        artifacts=(*closeout.artifacts, *args.artifact),
        issues=(*closeout.issues, *args.issue),
        agents=(*closeout.agents, *args.agent),
    )


def _read_closeout_form(argument: str) -> Closeout:
    from memory_mcp.server.forms import CloseoutForm, make_closeout

    form = read_form(CloseoutForm, argument)
    return make_closeout(form.decisions, form.artifacts, form.issues, form.agents)


def _add_checkpoint_options(parser: ArgumentParser) -> None:
    parser.add_argument("summary", nargs="?", default="", help="what was reached and decided")
    parser.add_argument("--phase", type=PHASE, metavar="N", help="the phase that it seals")
    parser.add_argument("--again", action="store_true", help="seal a phase that is sealed already")
    parser.add_argument("--pending", default="", metavar="ID", help="decide this one instead")
    parser.add_argument(
        "--decision",
        choices=("save", "edit", "skip", "reopen"),
        default="",
        help="what to do with the pending one; reopen: the answer is taken back",
    )
    parser.add_argument("--decided", action="append", default=[], metavar="'TEXT :: WHY'",
                        help="a decision and its reason; may be repeated")  # fmt: skip
    parser.add_argument(
        "--artifact", action="append", default=[], metavar="NAME", help="a file or result made"
    )
    parser.add_argument("--issue", action="append", default=[], help="what is still open")
    parser.add_argument("--agent", action="append", default=[], help="who took part")
    parser.add_argument("--cite", action="append", default=[], dest="cites", metavar="PLACE",
                        help="code that it rests on: path:12-20, path#name")  # fmt: skip
    parser.add_argument("--closeout", default="", metavar="JSON",
                        help="all of these as one object with any of decisions, artifacts, "
                        "issues, agents; - reads it from stdin")  # fmt: skip


async def backtrack(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Go back to a checkpoint or restore a left line; without a mode, ask or show a preview."""
    choice: branches.Choice | Literal[""] = args.mode
    token: str = args.confirm
    to: str | Skipped = args.to or await _choose_target(workspace, as_json=args.json)
    if isinstance(to, Skipped):
        return to
    if not to:
        return Output({"success": False, "message": "Nothing was chosen, and nothing was changed."})
    if not choice:
        preview = await branches.preview_backtrack(workspace, to)
        if not isinstance(preview, MovePreview) or args.json or not output.can_ask():
            return Output(render_receipt(preview))
        choice, token = ask_choice(render_preview(preview), _CHOICES), preview.token
    outcome = await branches.backtrack(workspace, to, choice, lesson=args.lesson, token=token)
    if isinstance(outcome, Backtracked) and not args.to and choice == "continue":
        hint = "`memory-mcp undo` takes it back."
        return Output(render_receipt(outcome), lambda said: f"{output.message_text(said)}\n{hint}")
    return Output(render_receipt(outcome))


async def _choose_target(workspace: Workspace, *, as_json: bool) -> str | Skipped:
    """The checkpoint, left line or start that the user chooses on the graph; '' if none."""
    if as_json or not output.can_ask():
        raise UsageError(
            "It was not said where to go. Give a checkpoint id, a phase, a left line or start, "
            "which `memory-mcp log` shows; on a terminal they can be chosen from."
        )
    from memory_mcp.render.log import LOG_SIGNS, render_log_rows

    log = await branches.read_log(workspace, 0)
    if isinstance(log, Skipped):
        return log
    valid = {checkpoint.id for checkpoint in await branches.list_checkpoints(workspace)}
    ascii_only = not output.can_show(LOG_SIGNS)
    drawn = render_log_rows(log, ascii_only=ascii_only, narrow=output.find_width() < _LOG_WIDTH)
    return choose_row(
        [
            Row(lines, _name_target(node, valid, log.branch))
            for node, lines in zip(log.nodes, drawn, strict=True)
        ]
    )


def _name_target(node: LogNode, valid: Container[str], branch: str) -> str:
    """What a backtrack of this branch to the node is given; '' if there is none."""
    match node.shows:
        case Checkpoint(id=id_):
            return id_ if id_ in valid else ""
        case Line(id=id_) as line:
            return id_ if line.branch == branch else ""
        case TimelineStart():
            return START
        case _:
            return ""


def _add_backtrack_options(parser: ArgumentParser) -> None:
    parser.add_argument("to", metavar="TO", nargs="?", default="",
                        help="checkpoint id, phase, left line, or start (else: choose on the "
                        "graph)")  # fmt: skip
    parser.add_argument("--mode", choices=_CHOICES, default="",
                        help="without it you are asked")  # fmt: skip
    parser.add_argument("--lesson", default="", help="what was tried and why it failed")
    parser.add_argument("--confirm", default="", metavar="TOKEN", help="only if nothing changed")


async def undo(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Undo the last move.

    Whoever would lose sight of a newer memory by it is asked, and whoever did something to a memory
    since, which would stay as it is.
    """
    moved = await code.undo_git(workspace, older=args.older)
    if isinstance(moved, code.GitHeldBack):
        asked = render_later(moved.later, moved.takes_back)
        if left := _ask_to_undo(args, [asked], ["--older"], {"takesBack": moved.takes_back}):
            return left
        moved = await code.undo_git(workspace, older=True)
    if isinstance(moved, code.GitMoved):
        return Output({"success": True, "memories": moved.memories, "message": moved.message})
    preview = await branches.preview_undo(workspace)
    if isinstance(preview, Skipped):
        return preview
    asks, needed, fields = _list_questions(preview, args)
    if asks and (left := _ask_to_undo(args, asks, needed, fields)):
        return left
    outcome = await branches.undo(workspace, preview)
    if isinstance(outcome, Backtracked) and isinstance(preview, MovePreview):
        moved = replace(outcome.preview, takes_back=preview.takes_back)
        outcome = replace(outcome, preview=moved)
    receipt = render_receipt(outcome)
    if isinstance(outcome, CheckpointDecided):
        receipt["success"] = True  # a skip that is given again
    return Output(receipt)


def _list_questions(
    preview: MovePreview | DecisionPreview, args: Namespace
) -> tuple[list[str], list[str], Fields]:
    """What is asked before this is undone, the options that agree, and the fields of a refusal."""
    asks: list[str] = []
    needed: list[str] = []
    fields: Fields = {}
    if isinstance(preview, DecisionPreview):
        takes_back = f"the answer to checkpoint {preview.checkpoint.id}"
    else:
        takes_back = preview.takes_back
    if preview.later and not args.older:
        asks.append(render_later(preview.later, takes_back))
        needed.append("--older")
        fields["takesBack"] = takes_back
    if isinstance(preview, MovePreview) and (asks or (preview.hides and not args.yes)):
        asks.append(render_effect(preview))
        fields |= {"restores": preview.restores, "hidden": preview.hides}
        if preview.hides and not args.yes:
            needed.append("--yes")
    return asks, needed, fields


def _ask_to_undo(
    args: Namespace, asks: list[str], needed: list[str], fields: Fields
) -> Output | None:
    """Ask at a terminal; None if the answer is yes."""
    question = "\n".join(asks)
    if args.json or not output.can_ask():
        message = f"{question}\nNothing was done: to say yes, repeat with {' '.join(needed)}."
    elif ask_choice(question, ("yes", "no")) == "yes":
        return None
    else:
        message = "Nothing was changed."
    return Output({"success": False, "status": "undecided", **fields, "message": message})


def _add_undo_options(parser: ArgumentParser) -> None:
    parser.add_argument("--older", action="store_true",
                        help="also if a memory was hidden, erased or corrected since, which stays "
                        "so; after the choice of a git mode, also if anything was written "
                        "since")  # fmt: skip
    parser.add_argument(
        "--yes", action="store_true", help="hide newer memories without being asked"
    )


async def fork(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Begin a branch, here or at a checkpoint."""
    match await branches.fork_branch(workspace, args.name, args.at):
        case BranchReady(branch, at):
            given = f"--branch {shlex.quote(branch)} (MEMORY_BRANCH)"
            message = f"Branch {branch} begun. Work on it with {given}."
            return Output({"success": True, "branch": branch, "at": at, "message": message})
        case Skipped() as skipped:
            return skipped


def _add_fork_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NEW", type=partial(parse_with, check_branch), help="name of the new branch"
    )
    parser.add_argument("--at", default="", metavar="TO", help="checkpoint or phase (else: here)")


COMMANDS: Final = {
    "status": Subcommand(in_workspace(status)),
    "log": Subcommand(in_workspace(log), _add_log_options),
    "diff": Subcommand(in_workspace(diff), _add_diff_options),
    "checkpoint": Subcommand(in_workspace(checkpoint), _add_checkpoint_options),
    "backtrack": Subcommand(in_workspace(backtrack), _add_backtrack_options),
    "undo": Subcommand(in_workspace(undo), _add_undo_options),
    "fork": Subcommand(in_workspace(fork), _add_fork_options),
}
