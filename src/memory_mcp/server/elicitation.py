"""Ask the user: [save] / [edit] / [skip], [continue] / [forget] / [abort], and trust.

A resolver runs before its tool and may run twice. It has no side effects, and its question depends
only on the arguments and the state of the memory. A client that cannot ask gets `NotAsked`, and the
tool answers with a token for a second call. A cancelled question means no answer, never "no".
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import ClassVar, Final, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from memory_mcp.branches.backtrack import preview_backtrack
from memory_mcp.branches.checkpoint import clean_closeout, find_checkpoint_refusal
from memory_mcp.domain.json_input import InputForm
from memory_mcp.domain.outcomes import Closeout, ClosingDecision, MovePreview
from memory_mcp.engine.workspace import Caller, Workspace
from memory_mcp.render.outcomes import render_closeout, render_preview, render_trust_report
from memory_mcp.server.calls import with_deadline
from memory_mcp.text.drafts import check_branch
from memory_mcp.trust.strangers import find_strangers, report_trust

_NAME_DIGITS: Final = 32
"""Of a conversation: as many as those of a random UUID."""


class Approval(InputForm):
    """The user's word on a checkpoint."""

    decision: Literal["save", "edit", "skip"] = Field(
        default="save", description="save it, save it with the edited summary, or skip it"
    )
    summary: str = Field(default="", description="The summary; change it and choose edit")


class DecisionMade(InputForm):
    """One thing that was decided. Its text alone is one as well."""

    model_config = ConfigDict(extra="forbid")

    text: str
    rationale: str = ""

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: object) -> object:
        return {"text": given} if isinstance(given, str) else given


class BacktrackChoice(InputForm):
    """The user's word on a backtrack, and the token of the question it answers."""

    asked_about: ClassVar[str] = ""
    choice: Literal["continue", "forget", "abort"] = Field(
        default="continue",
        description="continue: hide it, restorable; forget: erase it for good; abort: do nothing",
    )


class TrustChoice(BaseModel):
    """The user's word on what came with a repository."""

    choice: Literal["not now", "trust"] = Field(
        default="not now", description="trust: it counts from now on, and what teammates add later"
    )


class NotAsked(BaseModel):
    """Nobody was asked: the answer came with the call, is not needed, or cannot be had."""


def workspace_for(ctx: Context[Workspace]) -> Workspace:
    """The workspace, as the calling client sees it.

    Over HTTP the address may name a branch (`/mcp?branch=NAME`): a request of the stateless
    revision belongs to no conversation that could be put on one.

    Raises:
        InvalidRequestError: what the address names cannot be a branch.
    """
    workspace = ctx.request_context.lifespan_context
    asked: Mapping[str, str] = getattr(ctx.request_context.request, "query_params", {})
    conversation = _conversation(ctx, asked)
    named = asked.get("branch", "")
    begun_on = check_branch(named) if named else workspace.conversations.begun_on
    branch = workspace.conversations.branch_of(conversation) or begun_on
    known = ctx.session.client_params
    client = f"{known.client_info.name}/{known.client_info.version}" if known else "cli"
    return replace(workspace, caller=Caller(workspace.scope, branch, client, conversation))


def _conversation(ctx: Context[Workspace], asked: Mapping[str, str]) -> str | None:
    """Which of a server's conversations a request belongs to.

    Over stdio there is one. Over HTTP the session says so, whose id goes no further: whoever knows
    it may speak in its place. A request of the stateless revision belongs to none.
    """
    headers = ctx.headers
    if headers is None:
        return ""
    known = headers.get("mcp-session-id") or asked.get("session_id")  # the latter over SSE
    return sha256(known.encode()).hexdigest()[:_NAME_DIGITS] if known else None


def can_ask(ctx: Context[Workspace]) -> bool:
    """Whether the client can show a form."""
    able = ctx.client_capabilities
    asks = able.elicitation if able else None
    return asks is not None and (asks.form is not None or asks.url is None)


def make_closeout(
    decisions: Sequence[DecisionMade],
    artifacts: Sequence[str],
    issues: Sequence[str],
    agents: Sequence[str],
) -> Closeout:
    """What the arguments of `checkpoint` say is to be written with it."""
    return Closeout(
        decisions=tuple(ClosingDecision(each.text, each.rationale) for each in decisions),
        artifacts=tuple(artifacts),
        issues=tuple(issues),
        agents=tuple(agents),
    )


@partial(with_deadline, name="checkpoint")
async def ask_approval(  # noqa: PLR0917  # filled by name by the SDK
    ctx: Context[Workspace],
    summary: str,
    phase: int | None,
    pending: str,
    again: bool,  # noqa: FBT001
    decisions: Sequence[DecisionMade],
    artifacts: Sequence[str],
    issues: Sequence[str],
    agents: Sequence[str],
) -> Elicit[Approval] | NotAsked:
    """Ask whether to seal the checkpoint and what goes with it, unless that is settled."""
    workspace = workspace_for(ctx)
    if pending or workspace.policy.approval == "auto" or not can_ask(ctx):
        return NotAsked()
    if await find_checkpoint_refusal(workspace, summary, phase, again=again):
        return NotAsked()
    closeout = make_closeout(decisions, artifacts, issues, agents)
    closeout, _ = await clean_closeout(workspace, closeout)
    shown = render_closeout(closeout)
    form = create_model(
        "Approval",
        __base__=Approval,
        summary=(str, Field(default=summary, description="Change it and choose edit")),
    )
    return Elicit("\n\n".join(filter(None, ("Save this checkpoint?", summary, shown))), form)


@partial(with_deadline, name="backtrack")
async def ask_backtrack(
    ctx: Context[Workspace], to: str, mode: str, lesson: str, confirm: str
) -> Elicit[BacktrackChoice] | NotAsked:
    """Ask what to do with what came after, unless the call says so."""
    workspace = workspace_for(ctx)
    if mode or confirm or workspace.policy.approval == "auto" or not can_ask(ctx):
        return NotAsked()
    match await preview_backtrack(workspace, to, lesson):
        case MovePreview() as preview:
            # the answer comes back as this very class: it counts for this question only
            form = type("BacktrackChoice", (BacktrackChoice,), {"asked_about": preview.token})
            return Elicit(render_preview(preview), form)
        case _:
            return NotAsked()


async def ask_trust(ctx: Context[Workspace]) -> Elicit[TrustChoice] | NotAsked:
    """Ask once whether what came with this repository may count, where the client can ask."""
    workspace = workspace_for(ctx)
    strangers = workspace.strangers
    if strangers is None or strangers.asked or workspace.policy.meta or not can_ask(ctx):
        return NotAsked()
    if await find_strangers(workspace) is None:
        return NotAsked()
    return Elicit(render_trust_report(await report_trust(workspace)), TrustChoice)
