"""The commands around a session, from `memory-mcp context` to `memory-mcp suggestions`."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from memory_mcp import engine, memories, sessions
from memory_mcp.cli.arguments import PHASE, STATEMENT, parse_with, whole_within
from memory_mcp.cli.commands import Subcommand, in_workspace
from memory_mcp.cli.inputs import read_form, read_json, read_text
from memory_mcp.cli.output import Fields, Output
from memory_mcp.config.values import escape_name
from memory_mcp.domain.limits import CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN
from memory_mcp.domain.outcomes import ConsolidationDraft, Skipped
from memory_mcp.domain.profile import LABELS, Profile
from memory_mcp.domain.record import assume_utc, format_time
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.workspace import Workspace
from memory_mcp.hints import name_id
from memory_mcp.profile import get_profile
from memory_mcp.render.outcomes import (
    render_phases,
    render_receipt,
)
from memory_mcp.render.profile import render_profile_facts, render_profile_line
from memory_mcp.render.since import parse_since
from memory_mcp.text.closeouts import make_consolidation

_BUDGET: Final = whole_within(CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_MAX)


async def context(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show the block that opens a session or goes with a task."""
    block = await sessions.memory_context(
        workspace, args.task, args.budget_tokens, args.since, to_user=True
    )
    if isinstance(block, Skipped):
        return block
    fields = {"success": True, "context": block.text, "tokens": block.tokens,
              "shown": block.shown, "leftOut": block.left_out, "since": block.since}  # fmt: skip
    return Output(fields, lambda _: block.text)


def _check_moment(text: str) -> str:
    """The token or time, which is counted from now on when the context is made."""
    if text.strip():
        parse_since(text, datetime.now(UTC))
    return text


def _add_context_options(parser: ArgumentParser) -> None:
    parser.add_argument("--task", default="", help="what you are about to do")
    parser.add_argument(
        "--budget-tokens", type=_BUDGET, metavar="N", help="default: MEMORY_BOOTSTRAP_TOKENS (500)"
    )
    parser.add_argument(
        "--since",
        type=partial(parse_with, _check_moment),
        default="",
        metavar="MOMENT",
        help="only what has changed: what an earlier context ended with, or a time: 2026-01-31, "
        "2h (ago)",
    )


async def profile(workspace: Workspace, _args: Namespace) -> Output | Skipped:
    """Show the profile of the user, field by field."""
    known = await get_profile(workspace)
    return known if isinstance(known, Skipped) else Output(_profile_fields(known), _profile_text)


def _profile_fields(known: Profile) -> Fields:
    return {
        "success": True,
        "line": render_profile_line(known),
        "facts": render_profile_facts(known),
        "timeZone": known.zone or None,
        "impliedBy": known.value("city") if known.implied_zone else None,
        "message": (
            ""
            if known.entries
            else 'Nothing is known of the user yet: memory-mcp add --scope user "My name is …".'
        ),
    }


def _profile_text(fields: Fields) -> str:
    lines: list[str] = []
    for fact in fields["facts"]:
        origin = (
            f"from {', '.join(map(name_id, fact['from']))}" if fact["from"] else "as it was said"
        )
        lines.append(
            f"{LABELS[fact['field']]}: {fact['value']}\n     {name_id(fact['memoryId'])} {origin}"
        )
    if fields["impliedBy"]:
        lines.append(f"Time zone: {fields['timeZone']}, because of {fields['impliedBy']}")
    return "\n".join([*lines, *([fields["message"]] if fields["message"] else [])])


async def capture(workspace: Workspace, args: Namespace) -> Output:
    """Keep or suggest what the user's turns say that is worth it."""
    workspace, turns = _read_turns(workspace, args)
    return Output(render_receipt(await sessions.capture_turns(workspace, turns)))


async def suggestions(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show what waits for the user's word, or carry it out."""
    known = await sessions.list_suggestions(workspace)  # what is shown may be decided
    if args.word:
        keep = args.word == "keep"
        reviewed = await memories.review_memory(workspace, args.which, keep=keep)
        decided = reviewed or await sessions.decide_suggestions(workspace, args.which, keep=keep)
        return Output(render_receipt(decided))
    if isinstance(known, Skipped):
        return known
    fields = {
        "success": True,
        "suggestions": [{"content": each.statement, "category": each.category} for each in known],
    }
    return Output(fields, _suggestions_text)


def _suggestions_text(fields: Fields) -> str:
    lines = [f"{each['content']} [{each['category']}]" for each in fields["suggestions"]]
    if not lines:
        return "Nothing waits for your word."
    return "\n".join(
        [
            *lines,
            "Decide with `memory-mcp suggestions keep` or `drop`; for one alone, add words of it.",
        ]
    )


def _add_suggestions_options(parser: ArgumentParser) -> None:
    parser.add_argument("word", nargs="?", choices=("keep", "drop"), default=None,
                        help="keep or drop all that is listed; default: list it")  # fmt: skip
    parser.add_argument("which", nargs="?", default="",
                        help="words of the one that is meant; or, under MEMORY_APPROVAL=review, "
                             "the id of another member's")  # fmt: skip


def _read_turns(workspace: Workspace, args: Namespace) -> tuple[Workspace, list[Turn]]:
    """The turns that were given, and the workspace of the session whose they are."""
    from memory_mcp.cli.session_forms import TURNS

    expected = 'Give a JSON list of {"role": "user" or "assistant", "content": …}, oldest first.'
    turns = [
        replace(turn, at=assume_utc(turn.at))
        for turn in read_json(TURNS, args.turns, "The turns", expected)
    ]
    if args.session:
        caller = replace(workspace.caller, conversation=escape_name(args.session))
        workspace = replace(workspace, caller=caller)
    return workspace, turns


async def episode(workspace: Workspace, args: Namespace) -> Output:
    """Write down what the turns were about, as an episode."""
    workspace, turns = _read_turns(workspace, args)
    outcome = await sessions.capture_episode(workspace, turns, args.turn, final=args.final)
    return Output(render_receipt(outcome))


def _add_turns_options(parser: ArgumentParser) -> None:
    parser.add_argument("turns", help="JSON list of {role, content, at?}; - reads it from stdin")
    parser.add_argument("--session", default="", metavar="NAME",
                        help="whose they are (default: CLAUDE_CODE_SESSION_ID)")  # fmt: skip


def _add_episode_options(parser: ArgumentParser) -> None:
    _add_turns_options(parser)
    parser.add_argument("--turn", type=int, metavar="N",
                        help="number of the last one in the session; without it, those that "
                        "were told are known again by their words")  # fmt: skip
    parser.add_argument("--final", action="store_true", help="the session ends: wait for nothing")


async def consolidate(workspace: Workspace, args: Namespace) -> Output:
    """Hand on what a later session needs; without any text, show what was handed on last."""
    given = _read_consolidation(args.form) if args.form else ConsolidationDraft()
    proposed = make_consolidation(
        history_entry=args.history or given.history_entry,
        memory_update=args.update or given.memory_update,
        insights=[*given.insights, *args.insight],
        session_id=escape_name(args.session or given.session),
        final=args.final or given.final,
    )
    return Output(
        render_receipt(await sessions.consolidate(workspace, proposed)), _consolidation_text
    )


def _read_consolidation(argument: str) -> ConsolidationDraft:
    from memory_mcp.cli.session_forms import ConsolidationForm

    return make_consolidation(**vars(read_form(ConsolidationForm, argument)))


def _consolidation_text(fields: Fields) -> str:
    latest = fields.get("latest")
    if not latest:
        return str(fields["message"])
    whose = f"{latest['at'][:10]}, session {latest['session'] or '(unnamed)'}"
    heading = f"{fields['message']} ({whose}{', final' if latest['final'] else ''})"
    return "\n".join(
        [heading, *(latest[name] for name in ("memoryUpdate", "insights") if name in latest)]
    )


def _add_consolidate_options(parser: ArgumentParser) -> None:
    parser.add_argument("form", nargs="?", default="", metavar="JSON",
                        help="all of it as one object with any of history_entry, memory_update, "
                        "insights, session_id, final; - reads it from stdin")  # fmt: skip
    parser.add_argument("--history", default="", help="what happened, as one paragraph")
    parser.add_argument("--update", default="", help="what is true now")
    parser.add_argument("--insight", action="append", default=[],
                        help="what was learnt; may be repeated")  # fmt: skip
    parser.add_argument("--session", default="", metavar="NAME",
                        help="whose it is (default: CLAUDE_CODE_SESSION_ID)")  # fmt: skip
    parser.add_argument("--final", action="store_true", help="the session ends with it")


async def phase(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show the phase and how the project got there, or move to another one."""
    if args.number is not None:
        return Output(render_receipt(await engine.move_to_phase(workspace, args.number)))
    known = await engine.list_phases(workspace)
    if isinstance(known, Skipped):
        return known
    steps = [
        {"phase": step.number, "at": format_time(step.at), "sealed": step.sealed}
        for step in known.steps
    ]
    fields = {"success": True, "phase": known.now.number, "by": known.now.by or None,
              "history": steps}  # fmt: skip
    return Output(fields, lambda _: render_phases(known))


def _add_phase_options(parser: ArgumentParser) -> None:
    parser.add_argument("number", nargs="?", type=PHASE, metavar="N", help="the phase to move to")


async def identity(workspace: Workspace, args: Namespace) -> Output | Skipped:
    """Show what the project is, or say it anew."""
    if args.text is not None:
        text = read_text(args.text)
        return Output(render_receipt(await memories.set_identity(workspace, text)))
    known = await memories.load_identity(workspace)
    if isinstance(known, Skipped):
        return known
    records = [{"content": record.content, "memoryId": record.id} for record in known]
    message = "\n".join(record.content for record in known) or (
        "Nobody said yet what this project is: memory-mcp identity 'A web shop for …'."
    )
    fields = {"success": True, "identity": records, "message": message}
    return Output(fields)


def _add_identity_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "text",
        nargs="?",
        type=STATEMENT,
        metavar="TEXT",
        help="what the project is, in a sentence; - reads it from stdin; default: say "
        "what is known",
    )


COMMANDS: Final = {
    "context": Subcommand(in_workspace(context), _add_context_options),
    "profile": Subcommand(in_workspace(profile)),
    "episode": Subcommand(in_workspace(episode), _add_episode_options),
    "capture": Subcommand(in_workspace(capture), _add_turns_options),
    "suggestions": Subcommand(in_workspace(suggestions), _add_suggestions_options),
    "consolidate": Subcommand(in_workspace(consolidate), _add_consolidate_options),
    "phase": Subcommand(in_workspace(phase), _add_phase_options),
    "identity": Subcommand(in_workspace(identity), _add_identity_options),
}
