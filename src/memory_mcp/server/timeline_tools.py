"""The tools that show and move the head. Descriptions are written for the model."""

from collections.abc import Sequence
from typing import Annotated, Literal

from mcp.server.elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
)
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import CallToolResult
from pydantic import BeforeValidator, Field, WithJsonSchema

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.context.head_text import head_text
from memory_mcp.context.words import backtrack_fields, checkpoint_fields
from memory_mcp.domain.outcomes import Branched, HeadReport, Preview, Skipped
from memory_mcp.domain.record import Approval as RecordApproval
from memory_mcp.errors import InvalidRequestError
from memory_mcp.server.asks import (
    Approval,
    BacktrackChoice,
    DecisionMade,
    NotAsked,
    TrustChoice,
    ask_approval,
    ask_backtrack,
    ask_trust,
    closeout_of,
    rooms_of,
)
from memory_mcp.server.speak import answer, prose

Rs = Context[Rooms]


def _as_text(given: object) -> object:
    """A phase as it is written; some clients know no whole numbers."""
    if isinstance(given, float) and given.is_integer():
        return str(int(given))
    return str(given) if isinstance(given, int) else given


# exactly `str` to the SDK, which would parse "null" or "[1]" for any other type
Target = Annotated[
    str,
    BeforeValidator(_as_text),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    Field(description="checkpoint id, phase, left line, or 'start'"),
]


# one is given bare as often as in a list; the schema need not say so
Several = BeforeValidator(lambda given: [given] if isinstance(given, str | dict) else given)


async def memory_head(
    *, ctx: Rs, answered: Annotated[ElicitationResult[TrustChoice | NotAsked], Resolve(ask_trust)]
) -> CallToolResult:
    """Where the project stands.

    Phase, checkpoints and what a backtrack to each would hide, approvals pending, lines to restore.
    """
    rooms = rooms_of(ctx)
    match answered:
        case AcceptedElicitation(data=NotAsked()):
            pass
        case AcceptedElicitation(data=TrustChoice(choice="trust")):
            await app.trust_project(rooms)
        case _:
            app.leave_untrusted(rooms)
    match await app.memory_head(rooms):
        case HeadReport() as report:
            return prose(head_text(report))
        case Skipped(reason):
            return prose(reason)


async def checkpoint(
    *,
    ctx: Rs,
    answered: Annotated[ElicitationResult[Approval | NotAsked], Resolve(ask_approval)],
    summary: Annotated[str, Field(description="What was reached and decided")] = "",
    phase: int | None = None,
    decisions: Annotated[
        Sequence[DecisionMade],
        Several,
        Field(description="Decided in it, worth recalling, with why"),
    ] = (),
    artifacts: Annotated[Sequence[str], Several, Field(description="Files and results made")] = (),
    issues: Annotated[Sequence[str], Several, Field(description="Still open")] = (),
    agents: Annotated[Sequence[str], Several, Field(description="Who took part")] = (),
    pending: Annotated[str, Field(description="Decide this pending checkpoint instead")] = "",
    decision: Annotated[
        Literal["save", "edit", "skip", ""], Field(description="The user's word on it")
    ] = "",
    again: Annotated[bool, Field(description="Seal a phase sealed before")] = False,
) -> CallToolResult:
    """Seal a restore point when a phase or a piece of work is done. The user approves it."""
    rooms = rooms_of(ctx)
    if bool(pending) != bool(decision):
        raise InvalidRequestError(
            "pending and decision go together: pending names the checkpoint, decision is what the "
            "user chose (save, edit with the new summary, or skip). A new checkpoint takes neither."
        )
    closeout = closeout_of(decisions, artifacts, issues, agents)
    if pending and closeout:
        raise InvalidRequestError(
            "decisions, artifacts, issues and agents belong to a new checkpoint. What came with a "
            "pending one is stored already; add what is new with add_memory."
        )
    if pending and decision:
        return answer(
            checkpoint_fields(await app.decide(rooms, pending, decision, summary, again=again))
        )
    approval, summary = _verdict(answered, summary, auto=rooms.policy.approval == "auto")
    if approval == "skipped":
        return answer({"success": True, "status": approval, "message": "Skipped by the user."})
    sealed = await app.checkpoint(
        rooms, summary, phase, again=again, approval=approval, closeout=closeout
    )
    rooms.session.handed_on(rooms.conversation)
    return answer(checkpoint_fields(sealed))


def _verdict(
    answered: ElicitationResult[Approval | NotAsked], summary: str, *, auto: bool
) -> tuple[RecordApproval, str]:
    """What the user's answer means for the checkpoint, and the summary to seal it with.

    A summary that was changed counts, whether or not edit was chosen as well.
    """
    match answered:
        case AcceptedElicitation(data=Approval(decision="skip")) | DeclinedElicitation():
            return "skipped", summary
        case AcceptedElicitation(data=Approval(decision=decision, summary=edited)):
            if decision == "edit" and not edited.strip():
                raise InvalidRequestError(
                    "The user chose edit and left the summary empty. Ask again, or call "
                    "checkpoint with the summary they want."
                )
            return "approved", edited if edited.strip() else summary
        case AcceptedElicitation() | CancelledElicitation():
            return ("auto" if auto else "pending"), summary


async def backtrack(
    *,
    to: Target,
    ctx: Rs,
    answered: Annotated[ElicitationResult[BacktrackChoice | NotAsked], Resolve(ask_backtrack)],
    mode: Annotated[
        Literal["continue", "forget", "abort", ""],
        Field(description="The user's choice; leave out to ask"),
    ] = "",
    lesson: Annotated[
        str, Field(description="What was tried and why it failed; kept for good")
    ] = "",
    confirm: Annotated[str, Field(description="Token of the earlier answer")] = "",
) -> CallToolResult:
    """Go back to a checkpoint or phase when the user gives up what came after it.

    That is no longer recalled anywhere. Naming an invalidated checkpoint or a left line restores
    it.
    """
    rooms = rooms_of(ctx)
    choice, token = mode, confirm
    match answered:
        case AcceptedElicitation(data=BacktrackChoice(choice=chosen) as given):
            choice, token = chosen, given.asked_about
        case DeclinedElicitation():
            choice = "abort"
        case AcceptedElicitation() | CancelledElicitation():
            if not mode and rooms.policy.approval == "auto":
                choice = "continue"
    if choice:
        outcome = await app.backtrack(rooms, to, choice, lesson=lesson, token=token)
    else:
        outcome = await app.preview_backtrack(rooms, to, lesson)
    fields = backtrack_fields(outcome)
    if lesson.strip() and isinstance(outcome, Preview):
        fields["message"] += " Give the lesson again with it."
    return answer(fields)


async def switch_branch(
    *,
    name: str,
    ctx: Rs,
    create: bool = False,
    at: Annotated[str, Field(description="checkpoint or phase to begin at; empty: here")] = "",
) -> CallToolResult:
    """Put this session on another branch of the memory, or begin one."""
    rooms = rooms_of(ctx)
    match await (app.fork(rooms, name, at) if create else app.switch(rooms, name)):
        case Branched(branch, begun):
            await app.note_branch(rooms)
            message = f"This session is on branch {branch} now."
            return answer({"success": True, "branch": branch, "at": begun, "message": message})
        case Skipped(reason):
            return answer({"success": False, "message": reason})
