"""Ask the user to approve a checkpoint, to choose what a backtrack does, and to trust a project.

An `ask_…` function is a resolver of the SDK: it runs before its tool and may run twice. It has no
side effects, and its question depends only on the arguments and the state of the memory. Where the
client cannot ask it gives `NotAsked`, and the tool answers with a token for a second call. A
cancelled question means no answer, never "no".
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit
from pydantic import BaseModel, Field, create_model

from memory_mcp.branches.backtrack import preview_backtrack
from memory_mcp.branches.checkpoint import clean_closeout, find_checkpoint_refusal
from memory_mcp.domain.input_form import InputForm
from memory_mcp.domain.outcomes import MovePreview
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.outcomes import render_closeout, render_preview, render_trust_report
from memory_mcp.server.calls import bind_caller, with_deadline
from memory_mcp.server.forms import DecisionForm, make_closeout
from memory_mcp.trust.strangers import find_strangers, report_trust


class Approval(InputForm):
    """The user's word on a checkpoint."""

    decision: Literal["save", "edit", "skip"] = Field(
        default="save", description="save it, save it with the edited summary, or skip it"
    )
    summary: str = Field(default="", description="The summary; change it and choose edit")


class BacktrackChoice(InputForm):
    """The user's word on a backtrack, and the token of the question it answers."""

    token: ClassVar[str] = ""
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
    """The user was not asked: the answer came with the call, is not needed, or cannot be had."""


def can_ask(ctx: Context[Workspace]) -> bool:
    """Whether the client can show a form."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


@partial(with_deadline, name="checkpoint")
async def ask_approval(  # noqa: PLR0917  # filled by name by the SDK
    ctx: Context[Workspace],
    summary: str,
    phase: int | None,
    pending: str,
    again: bool,  # noqa: FBT001
    decisions: Sequence[DecisionForm],
    artifacts: Sequence[str],
    issues: Sequence[str],
    agents: Sequence[str],
) -> Elicit[Approval] | NotAsked:
    """Ask whether to seal the checkpoint and what goes with it, unless no question is needed."""
    workspace = bind_caller(ctx)
    if pending or workspace.policy.approval == "auto" or not can_ask(ctx):
        return NotAsked()
    if await find_checkpoint_refusal(workspace, summary, phase, again=again):
        return NotAsked()
    closeout = make_closeout(decisions, artifacts, issues, agents)
    closeout, _ = await clean_closeout(workspace, closeout)
    form = create_model(
        "Approval",
        __base__=Approval,
        summary=(str, Field(default=summary, description="Change it and choose edit")),
    )
    return Elicit(
        "\n\n".join(filter(None, ("Save this checkpoint?", summary, render_closeout(closeout)))),
        form,
    )


@partial(with_deadline, name="backtrack")
async def ask_backtrack(
    ctx: Context[Workspace], to: str, mode: str, lesson: str, confirm: str
) -> Elicit[BacktrackChoice] | NotAsked:
    """Ask what to do with what came after, unless the call says so and it is all the user's own."""
    workspace = bind_caller(ctx)
    if mode == "abort" or confirm or not can_ask(ctx):
        return NotAsked()
    answered = bool(mode) or workspace.policy.approval == "auto"
    match await preview_backtrack(workspace, to, lesson):
        case MovePreview() as preview if preview.others or not answered:
            # the answer comes back as this very class: it counts for this question only
            form = type("BacktrackChoice", (BacktrackChoice,), {"token": preview.token})
            return Elicit(render_preview(preview), form)
        case _:
            return NotAsked()


async def ask_trust(ctx: Context[Workspace]) -> Elicit[TrustChoice] | NotAsked:
    """Ask once whether what came with this repository may count, where the client can ask."""
    workspace = bind_caller(ctx)
    strangers = workspace.strangers
    if strangers is None or strangers.asked or workspace.policy.meta or not can_ask(ctx):
        return NotAsked()
    if await find_strangers(workspace) is None:
        return NotAsked()
    return Elicit(render_trust_report(await report_trust(workspace)), TrustChoice)
