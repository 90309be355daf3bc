"""The tools, and the toolsets that list them. Their docstrings are written for the model.

A new tool is a function here and a line in `load_default_tools` or `load_toolset`.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Literal

from mcp.server.elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
)
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import to_json

from memory_mcp import branches, memories, search, sessions, trust
from memory_mcp.branches.backtrack import Choice
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.input_form import InputForm
from memory_mcp.domain.json_input import keep_spoken_messages
from memory_mcp.domain.limits import PROMPT_SECONDS_MAX, RESULTS_DEFAULT
from memory_mcp.domain.outcomes import BacktrackOutcome, BranchReady, MovePreview, Skipped
from memory_mcp.domain.record import Approval as RecordApproval
from memory_mcp.domain.record import Draft, Reach, assume_utc
from memory_mcp.domain.search import Filters, SelectionOptions
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.render.outcomes import (
    render_hits,
    render_receipt,
    render_text,
)
from memory_mcp.server import nodes
from memory_mcp.server.apps import LINK
from memory_mcp.server.calls import MemoryTool, answer_fields, answer_text, bind_caller, make_tool
from memory_mcp.server.elicitation import (
    Approval,
    BacktrackChoice,
    NotAsked,
    TrustChoice,
    ask_approval,
    ask_backtrack,
    ask_trust,
)
from memory_mcp.server.forms import SEVERAL, DecisionForm, make_closeout
from memory_mcp.text.closeouts import make_consolidation

WritableKind = Literal[
    "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event"
]
SearchableKind = Literal[WritableKind, "checkpoint", "closeout", "summary", "episode"]
"""One list of names in the schema: a union of two would be longer, and every session reads it."""
Request = Context[Workspace]

REMINDER: Final = (
    "Much was stored without a restore point: if a piece of work is done, call checkpoint; if not, "
    "consolidate."
)
"""What receipts say now and then, where no hook says it."""


def about(text: str) -> Any:
    """Describe an argument to the model."""
    return Field(description=text)


class Metadata(InputForm):
    """What describes a memory."""

    model_config = ConfigDict(extra="forbid")

    title: str = ""
    category: str = ""
    tags: list[str] = Field(default_factory=list[str])
    importance: int = Field(default=3, description="1-5")
    pinned: bool = False
    expires_at: datetime | None = None


async def add_memory(
    *,
    content: Annotated[str, about("One self-contained statement, ≤ 8000 chars")],
    ctx: Request,
    metadata: Metadata | None = None,
    kind: WritableKind = "fact",
    scope: Annotated[Reach, about("user, team: in each project")] = "project",
    supersedes: Annotated[list[str] | None, about("memoryIds it replaces")] = None,
    phase: int | None = None,
    cites: Annotated[list[str] | None, about("code: path:12-20, path#name")] = None,
    gate: Annotated[bool, about("only if worth keeping")] = False,
    suggested: Literal["keep", "drop"] | None = None,
) -> CallToolResult:
    """Remember one thing: a decision with its reason, a fact, a preference, a lesson.

    preference, convention, pattern, identity and lesson are durable: no backtrack hides them.
    A newer version of a known fact replaces it; read the receipt.
    """
    if suggested:
        keep = suggested == "keep"
        if reviewed := await memories.review_memory(bind_caller(ctx), content, keep=keep):
            return answer_fields(render_receipt(reviewed))
        decided = await sessions.decide_suggestions(bind_caller(ctx), content, keep=keep)
        return _answer_write(bind_caller(ctx), render_receipt(decided))
    data = metadata or Metadata()
    draft = Draft(
        content=content,
        kind=kind,
        title=data.title,
        category=data.category,
        tags=tuple(data.tags),
        importance=data.importance,
        pinned=data.pinned,
        expires_at=assume_utc(data.expires_at),
        phase=phase,
        supersedes=tuple(supersedes or ()),
        cites=tuple(cites or ()),
        reach=scope,
    )
    workspace = bind_caller(ctx)
    return _answer_write(
        workspace, render_receipt(await memories.add_memory(workspace, draft, gate=gate))
    )


async def search_memories(
    *,
    ctx: Request,
    query: Annotated[str, about("empty: the newest")] = "",
    limit: Annotated[int, about("1-10")] = RESULTS_DEFAULT,
    category: str = "",
    tags: Annotated[list[str] | None, about("all must match")] = None,
    key: Annotated[str, about("user:preferences:name or user:*")] = "",
    kind: SearchableKind | None = None,
    phase: int | None = None,
    scope: Annotated[Reach | None, about("default: all")] = None,
    branch: Annotated[str, about("written on it")] = "",
    since: datetime | None = None,
    until: datetime | None = None,
    min_score: Annotated[float, about("0.5: likely relevant")] = 0.0,
    diverse: Annotated[bool, about("no near twins")] = False,
    why: Annotated[bool, about("what spoke for each")] = False,
) -> CallToolResult:
    """Recall what holds now, before you assume or ask. Ask as you would a person.

    Never returns what was abandoned, superseded, forgotten or has expired. Empty: nothing
    relevant is known.
    """
    filters = Filters(
        category=category,
        key=key.strip(),
        tags=tuple(tags or ()),
        kinds=frozenset({kind} if kind else ()),
        phase=phase,
        branch=BranchName(branch) if branch else None,
        reach=scope,
        since=assume_utc(since),
        until=assume_utc(until),
    )
    wish = SelectionOptions(min_score=min_score, diverse=diverse)
    found = await search.search_memories(bind_caller(ctx), query, filters, limit, wish)
    return answer_fields(render_hits(found, why=why, keys=bool(key)))


async def memory_context(
    *,
    ctx: Request,
    task: Annotated[str, about("What you are about to do")] = "",
    budget_tokens: int | None = None,
    since: Annotated[
        str, about("Only what changed: since=… of an earlier context, or a time")
    ] = "",
) -> CallToolResult:
    """What matters now, within a token budget. Call it first in a session.

    Decisions that hold, preferences, lessons, open issues, and what fits the task.
    """
    return answer_text(
        render_text(await sessions.memory_context(bind_caller(ctx), task, budget_tokens, since))
    )


async def update_memory(
    *,
    memory_id: str,
    content: Annotated[str, about("The whole new text")],
    ctx: Request,
    title: str = "",
    reason: Annotated[str, about("Why the old text is wrong")] = "",
) -> CallToolResult:
    """Correct a memory: the new text replaces the old one."""
    workspace = bind_caller(ctx)
    outcome = await memories.update_memory(workspace, memory_id, content, title, reason)
    return _answer_write(workspace, render_receipt(outcome))


async def forget_memory(
    *,
    memory_id: str,
    ctx: Request,
    mode: Annotated[Literal["erase", "hide"], about("hide: keep it, no longer true")] = "erase",
    reason: Annotated[str, about("Why it is wrong, if it is")] = "",
) -> CallToolResult:
    """Erase one memory everywhere, for good; or hide it from here on."""
    workspace = bind_caller(ctx)
    outcome = await memories.forget_memory(workspace, memory_id, reason, erase=mode == "erase")
    return _answer_write(workspace, render_receipt(outcome))


def _answer_write(workspace: Workspace, fields: Mapping[str, Any]) -> CallToolResult:
    """The receipt of a write; every now and then with a reminder to sum up."""
    interval = workspace.policy.opening.interval if workspace.policy.reminds else 0
    if fields.get("success", True) and interval:
        written = workspace.conversations.wrote(workspace.caller.conversation)
        if written and written % interval == 0:
            return answer_fields({**fields, "reminder": REMINDER})
    return answer_fields(fields)


def _phase_as_text(value: object) -> object:
    """A phase as it is written; some clients send whole numbers as floats."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int) else value


# exactly `str` to the SDK, which would parse "null" or "[1]" for any other type
Target = Annotated[
    str,
    BeforeValidator(_phase_as_text),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    about("checkpoint id, phase, left line or 'start'"),
]


async def memory_head(
    *,
    ctx: Request,
    user_choice: Annotated[ElicitationResult[TrustChoice | NotAsked], Resolve(ask_trust)],
) -> CallToolResult:
    """Where the project stands.

    Phase, checkpoints and what a backtrack to each would hide, approvals pending, lines to restore.
    """
    workspace = bind_caller(ctx)
    match user_choice:
        case AcceptedElicitation(data=NotAsked()):
            pass
        case AcceptedElicitation(data=TrustChoice(choice="trust")):
            await trust.trust_project(workspace)
        case _:
            trust.note_trust_declined(workspace)
    return answer_text(render_text(await branches.report_head(workspace)))


async def checkpoint(
    *,
    ctx: Request,
    user_choice: Annotated[ElicitationResult[Approval | NotAsked], Resolve(ask_approval)],
    summary: Annotated[str, about("What was reached and decided")] = "",
    phase: int | None = None,
    decisions: Annotated[Sequence[DecisionForm], SEVERAL, about("Decided in it, with why")] = (),
    artifacts: Annotated[Sequence[str], SEVERAL, about("Files and results made")] = (),
    issues: Annotated[Sequence[str], SEVERAL, about("Still open")] = (),
    agents: Annotated[Sequence[str], SEVERAL] = (),
    pending: Annotated[str, about("Decides this one")] = "",
    decision: Annotated[
        Literal["save", "edit", "skip", "reopen", ""], about("The user's word on it")
    ] = "",
    again: Annotated[bool, about("Seal a sealed phase")] = False,
    cites: Annotated[Sequence[str], SEVERAL] = (),
) -> CallToolResult:
    """Seal a restore point when a phase or a piece of work is done. The user approves it."""
    workspace = bind_caller(ctx)
    if bool(pending) != bool(decision):
        raise InvalidRequestError(
            "pending and decision go together: pending names the checkpoint, decision is what the "
            "user chose (save, edit with the new summary, skip, or reopen, which takes the choice "
            "back). A new checkpoint takes neither."
        )
    closeout = make_closeout(decisions, artifacts, issues, agents)
    if pending and (closeout or cites):
        raise InvalidRequestError(
            "decisions, artifacts, issues, agents and cites belong to a new checkpoint. What came "
            "with a pending one is stored already; add what is new with add_memory."
        )
    if pending and decision:
        return answer_fields(
            render_receipt(
                await branches.decide_checkpoint(workspace, pending, decision, summary, again=again)
            )
        )
    approval, summary = _read_approval(
        user_choice, summary, auto=workspace.policy.approval == "auto"
    )
    if approval == "skipped":
        return answer_fields(
            {"success": True, "status": approval, "message": "Skipped by the user."}
        )
    sealed = await branches.checkpoint(
        workspace, summary, phase, again=again, approval=approval, closeout=closeout, cites=cites
    )
    workspace.conversations.handed_on(workspace.caller.conversation)
    return answer_fields(render_receipt(sealed))


def _read_approval(
    user_choice: ElicitationResult[Approval | NotAsked], summary: str, *, auto: bool
) -> tuple[RecordApproval, str]:
    """What the user's answer means for the checkpoint, and the summary to seal it with.

    A summary that was changed counts, whether or not edit was chosen as well.
    """
    match user_choice:
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
    ctx: Request,
    user_choice: Annotated[ElicitationResult[BacktrackChoice | NotAsked], Resolve(ask_backtrack)],
    mode: Annotated[
        Literal["continue", "forget", "abort", ""], about("The user's choice; leave out to ask")
    ] = "",
    lesson: Annotated[str, about("What was tried and why it failed")] = "",
    confirm: Annotated[str, about("Token of that answer")] = "",
) -> CallToolResult:
    """Go back to a checkpoint or phase when the user gives up what came after it.

    That is no longer recalled anywhere. Naming an invalidated checkpoint or a left line restores
    it.
    """
    workspace = bind_caller(ctx)
    choice, token = mode, confirm
    match user_choice:
        case AcceptedElicitation(data=BacktrackChoice(choice=chosen) as form):
            choice, token = chosen, form.token
        case DeclinedElicitation():
            choice = "abort"
        case AcceptedElicitation() | CancelledElicitation():
            if not mode and workspace.policy.approval == "auto":
                choice = "continue"
    outcome = await _carry_out(workspace, to, choice, lesson, token)
    fields = render_receipt(outcome)
    if lesson.strip() and isinstance(outcome, MovePreview):
        fields["message"] += " Give the lesson again with it."
    return answer_fields(fields)


async def _carry_out(
    workspace: Workspace, to: str, choice: Choice | Literal[""], lesson: str, token: str
) -> BacktrackOutcome:
    """Move, or say what would be hidden: without a choice, and first if others wrote some of it."""
    if not choice or (choice != "abort" and not token):
        preview = await branches.preview_backtrack(workspace, to, lesson)
        if not choice or (isinstance(preview, MovePreview) and preview.others):
            return preview
    return await branches.backtrack(workspace, to, choice, lesson=lesson, token=token)


async def switch_branch(
    *,
    name: str,
    ctx: Request,
    create: bool = False,
    at: Annotated[str, about("checkpoint or phase to begin at; empty: here")] = "",
) -> CallToolResult:
    """Put this session on another branch of the memory, or begin one."""
    workspace = bind_caller(ctx)
    outcome = await (
        branches.fork_branch(workspace, name, at)
        if create
        else branches.switch_branch(workspace, name)
    )
    match outcome:
        case BranchReady(branch, begun):
            conversation = workspace.caller.conversation
            if conversation is None:
                return answer_fields(_sessionless_fields(branch, begun, created=create))
            workspace.conversations.put_on(conversation, branch)
            await sessions.note_branch(workspace.at(branch))
            message = f"This session is on branch {branch} now."
            return answer_fields(
                {"success": True, "branch": branch, "at": begun, "message": message}
            )
        case Skipped(reason):
            return answer_fields({"success": False, "message": reason})


def _sessionless_fields(branch: str, begun: str | None, *, created: bool) -> dict[str, Any]:
    """The answer to a client whose requests belong to no session that could be on a branch."""
    result = f"Branch {branch} is there now, but" if created else "Nothing was changed:"
    message = (
        f"{result} this client keeps no session that could be put on it. Connect to the server's "
        f"address with ?branch={branch} to work there."
    )
    return {"success": created, "branch": branch, "at": begun, "message": message}


class Message(InputForm):
    """One message of the session."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: str
    at: datetime | None = None


async def episodic_capture(
    *,
    turns: Annotated[
        list[Message],
        BeforeValidator(keep_spoken_messages),
        about("The last dozen messages, oldest first, without tool output"),
    ],
    turn: Annotated[int, about("Number of the last one in the session, from 1")],
    ctx: Request,
    final: Annotated[bool, about("The session ends here")] = False,
) -> CallToolResult:
    """Write down what the last messages were about, as an episode.

    Call it now and then, and at the end: it sums up, leaves out small talk and what was recalled,
    and waits by itself if it is too early.
    """
    messages = [Turn(each.role, each.content, assume_utc(each.at)) for each in turns]
    outcome = await sessions.capture_episode(bind_caller(ctx), messages, turn, final=final)
    return answer_fields(render_receipt(outcome))


async def consolidate(
    *,
    ctx: Request,
    history_entry: Annotated[str, about("What happened, as one paragraph")] = "",
    memory_update: Annotated[str, about("What is true now")] = "",
    insights: Annotated[str | list[str], about("All that was learnt")] = "",
    session_id: Annotated[str, about("If not yours")] = "",
    final: Annotated[bool, about("It ends here")] = False,
) -> CallToolResult:
    """Hand on what a later session needs, now and then and at the end.

    memory_update and insights replace this session's earlier ones. Without text it answers
    what was handed on last.
    """
    proposed = make_consolidation(
        history_entry=history_entry,
        memory_update=memory_update,
        insights=insights,
        session_id=session_id,
        final=final,
    )
    workspace = bind_caller(ctx)
    outcome = await sessions.consolidate(workspace, proposed)
    if history_entry or memory_update or proposed.insights:
        workspace.conversations.handed_on(workspace.caller.conversation)
    return answer_fields(render_receipt(outcome))


_LOG: Final = logging.getLogger("memory_mcp.hooks")


async def prompt_context(
    *,
    prompt: Annotated[str, about("As the user typed it")],
    session_id: Annotated[str, about("The client's name for the session")] = "",
    transcript_path: Annotated[str, about("Where the client keeps what was said")] = "",
    ctx: Request,
) -> CallToolResult:
    """Called by hooks with each prompt, never by you: use search_memories or memory_context."""
    recalled = ""
    try:
        async with asyncio.timeout(PROMPT_SECONDS_MAX):
            recalled = await sessions.prompt_context(
                bind_caller(ctx), prompt, session_id, transcript_path
            )
    except MemoryMcpError as error:
        _LOG.warning("nothing was recalled for a prompt: %s", error)
    except Exception:  # noqa: BLE001  # whatever it is, the prompt goes on without memory
        _LOG.warning("nothing was recalled for a prompt", exc_info=True)
    if not recalled:
        return answer_text("{}")
    context = {"hookEventName": "UserPromptSubmit", "additionalContext": recalled}
    return answer_text(to_json({"hookSpecificOutput": context}).decode())


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(destructive_hint=False, open_world_hint=False)
_ERASES = ToolAnnotations(destructive_hint=True, open_world_hint=False)


@cache
def load_default_tools() -> tuple[MemoryTool, ...]:
    """The tools every client gets. They keep no state, so all servers of a process share them."""
    return (
        make_tool(add_memory, _ADDS),
        make_tool(search_memories, _READS),
        make_tool(memory_context, _READS, "prose"),
        make_tool(memory_head, _READS, "prose", LINK),
        make_tool(checkpoint, _ADDS),
        make_tool(backtrack, _ERASES, meta=LINK),
        make_tool(update_memory, _ADDS),
        make_tool(forget_memory, _ERASES),
        make_tool(consolidate, _ADDS),
    )


def load_tools(toolsets: Sequence[str]) -> list[MemoryTool]:
    """The default tools, and those of these toolsets."""
    return [*load_default_tools(), *(tool for name in toolsets for tool in load_toolset(name))]


@cache
def load_toolset(name: str) -> tuple[MemoryTool, ...]:
    """The tools of a further toolset."""
    match name:
        case "branches":
            return (make_tool(switch_branch, _ADDS),)
        case "session":
            return (make_tool(episodic_capture, _ADDS),)
        case "layers":
            return (
                make_tool(nodes.mem_node_fork, _ADDS),
                make_tool(nodes.mem_node_read, _READS),
                make_tool(nodes.mem_node_write, _ADDS),
                make_tool(nodes.apply_llm_memory_updates, _ADDS),
                make_tool(nodes.mem_node_render, _READS, "prose"),
            )
        case "hooks":
            return (make_tool(prompt_context, _READS, "prose"),)
        case _:
            raise AssertionError(name)  # the settings know the toolsets
