"""Leaves nudges for the user, and brings one up when a session begins.

A nudge is another program's text. A command redacts it before it is written. Every nudge is
redacted again before it is shown, because it may have reached the queue by another way.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.nudges import (
    Nudge,
    NudgeHandover,
    NudgeId,
    NudgeReceipt,
    NudgeRemoval,
    SessionNudge,
    WaitingNudges,
)
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.redaction import redact_text, redact_with_note
from memory_mcp.engine.workspace import Opening, Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import MemoryMcpError
from memory_mcp.render.block import Section, render_context
from memory_mcp.text.drafts import check_nudge

_HEADING: Final = "Left for the user by a program: bring it up once"
_LONGEST: Final = Section(_HEADING, facts=("x" * limits.NUDGE_CHARS_MAX,), firm=True)
_SLOW: Final = SessionNudge(
    note=f"Nothing was heard from the queue within {limits.NUDGE_SECONDS_MAX:g} s. Nothing was "
    "taken from it; the next call asks again."
)


async def add_nudge(
    workspace: Workspace, text: str, priority: int, expires_at: datetime | None
) -> NudgeReceipt | Skipped:
    """Leave a nudge; it is durable when this returns.

    Raises:
        InvalidRequestError: it cannot be brought up; the message says why and what would do.
    """
    if skipped := refuse_writes(workspace):
        return skipped
    now = workspace.clock.now()
    text, notes = redact_with_note(workspace, text)
    text = _join_lines(text)
    check_nudge(text, priority, expires_at, now)
    nudge = Nudge(
        id=NudgeId(workspace.ids.new(now)),
        text=text,
        priority=priority,
        expires_at=expires_at,
        created_at=now,
        user=workspace.scope.user,
        by=workspace.caller.client[: limits.NUDGE_BY_CHARS_MAX],
    )
    await workspace.nudges.add(nudge)
    return NudgeReceipt(nudge, notes)


async def list_nudges(workspace: Workspace) -> WaitingNudges | Skipped:
    """The nudges that wait for the user, best first; none is taken.

    Other programs wrote all of it, file names and program names included, so all is sanitised.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    found = await workspace.nudges.waiting(workspace.scope.user, workspace.clock.now())
    shown = (
        n.model_copy(
            update={"text": _sanitise_nudge(workspace, n), "by": _sanitise(workspace, n.by)}
        )
        for n in found.nudges
    )
    return WaitingNudges(
        tuple(shown),
        tuple(_sanitise(workspace, each) for each in found.unread),
        tuple(_sanitise(workspace, each) for each in found.strange),
    )


async def clear_nudges(workspace: Workspace, *, everything: bool = False) -> NudgeRemoval | Skipped:
    """Remove all nudges that wait for the user; with `everything` also files that are no nudge."""
    if workspace.policy.meta and not refuse_reads(workspace):
        return Skipped(
            "Nothing was removed: this is a meta session (MEMORY_MODE=meta), which leaves "
            "everything as it is. `nudge list` shows what waits."
        )
    if skipped := refuse_reads(workspace):
        return skipped
    return await workspace.nudges.clear(workspace.scope.user, everything=everything)


async def bring_up_nudge(
    workspace: Workspace, before: Sequence[str], budget_tokens: int
) -> list[Section]:
    """The section with the conversation's icebreaker, the same in each of its calls.

    The first call takes it, or the next one if the queue failed or was too slow, or if the budget
    had no room. It is not shown after it expired. A session that writes nothing takes none.
    """
    if refuse_writes(workspace):
        return []
    fits = not render_context(before, [_LONGEST], budget_tokens).left_out
    if not fits and workspace.caller.conversation is None:
        return []
    opening = workspace.conversations.opening(workspace.caller.conversation)
    if opening.task is None:
        if not fits:
            return []
        opening.taking = NudgeHandover()
        opening.task = asyncio.create_task(_take_icebreaker(workspace, opening.taking))
    try:
        found = await _await_icebreaker(opening, opening.task)
    except asyncio.CancelledError:
        if workspace.caller.conversation is None:
            workspace.conversations.return_opening(opening)
        raise
    facts = {_HEADING: found.text_at(workspace.clock.now()), "Nudges": found.note}
    return [Section(heading, facts=(fact,), firm=True) for heading, fact in facts.items() if fact]


async def _await_icebreaker(opening: Opening, task: asyncio.Task[SessionNudge]) -> SessionNudge:
    """The icebreaker, or a note that the queue is slow.

    A nudge that the queue is removing is waited for, because nobody else has it. The conversation
    keeps the task, so the next call shows what a cancelled one has taken.
    """
    done, _ = await asyncio.wait({task}, timeout=limits.NUDGE_SECONDS_MAX)
    found = _SLOW if not done and opening.taking.leaves() else await asyncio.shield(task)
    if found.note and opening.task is task:
        opening.task = None  # the next call tries again
    return found


async def _take_icebreaker(workspace: Workspace, taking: NudgeHandover) -> SessionNudge:
    """Take a nudge from the queue; a failure becomes a note."""
    try:
        nudge = await workspace.nudges.take(workspace.scope.user, workspace.clock.now(), taking)
    except MemoryMcpError as error:
        return SessionNudge(note=f"The queue could not be asked: {error}")
    if nudge is None:
        return _SLOW if taking.left else SessionNudge()
    return SessionNudge(_sanitise_nudge(workspace, nudge), expires_at=nudge.expires_at)


def _sanitise_nudge(workspace: Workspace, nudge: Nudge) -> str:
    """The text without secrets: the nudge is taken already, so it cannot be refused."""
    return _sanitise(workspace, nudge.text)[: limits.NUDGE_CHARS_MAX]


def _sanitise(workspace: Workspace, text: str) -> str:
    """The text on one line, without invisible characters, and without secrets unless allowed."""
    secrets = "allow" if workspace.policy.secrets == "allow" else "redact"
    seen = text.encode(errors="replace").decode()  # a name may hold half a character
    return _join_lines(redact_text(seen, secrets).text)


def _join_lines(text: str) -> str:
    return " ".join(text.split())
