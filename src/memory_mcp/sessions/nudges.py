"""Leaving a nudge for the user, and bringing one up when a session begins.

A nudge is another program's text. One that comes through a command is cleaned before it is written,
and every one before it is shown: what lies in the queue may have come by another way.
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
from memory_mcp.engine.cleaning import clean, cleaned_text
from memory_mcp.engine.workspace import Opening, Workspace, reads_refused, writes_refused
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
    """Leave a nudge: it waits, durably, when this returns.

    Raises:
        InvalidRequestError: it cannot be brought up; the message says why and what would do.
    """
    if skipped := writes_refused(workspace):
        return skipped
    now = workspace.clock.now()
    text, notes = cleaned_text(workspace, text)
    text = _one_line(text)
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


async def waiting_nudges(workspace: Workspace) -> WaitingNudges | Skipped:
    """What waits for the user, best first; nothing is taken.

    Other programs wrote all of it, the names of files and of themselves as well.
    """
    if skipped := reads_refused(workspace):
        return skipped
    found = await workspace.nudges.waiting(workspace.scope.user, workspace.clock.now())
    shown = (
        n.model_copy(update={"text": _shown(workspace, n), "by": _plain(workspace, n.by)})
        for n in found.nudges
    )
    return WaitingNudges(
        tuple(shown),
        tuple(_plain(workspace, each) for each in found.unread),
        tuple(_plain(workspace, each) for each in found.strange),
    )


async def clear_nudges(workspace: Workspace, *, everything: bool = False) -> NudgeRemoval | Skipped:
    """Remove all that waits for the user, unseen; with `everything` what is no nudge as well."""
    if workspace.policy.meta and not reads_refused(workspace):
        return Skipped(
            "Nothing was removed: this is a meta session (MEMORY_MODE=meta), which leaves "
            "everything as it is. `nudge list` shows what waits."
        )
    if skipped := reads_refused(workspace):
        return skipped
    return await workspace.nudges.clear(workspace.scope.user, everything=everything)


async def brought_up(
    workspace: Workspace, before: Sequence[str], budget_tokens: int
) -> list[Section]:
    """The section with the conversation's icebreaker, the same in each of its calls.

    The first call takes it, or the next one if the queue failed or was too slow. What has expired
    since is not shown. A session that leaves no trace takes none, and nor does a call that might
    have no room for it: then the next one does.
    """
    if writes_refused(workspace):
        return []
    fits = not render_context(before, [_LONGEST], budget_tokens).left_out
    if not fits and workspace.caller.conversation is None:
        return []
    opening = workspace.conversations.opening(workspace.caller.conversation)
    if opening.task is None:
        if not fits:
            return []
        opening.taking = NudgeHandover()
        opening.task = asyncio.create_task(_icebreaker(workspace, opening.taking))
    try:
        found = await _found(opening, opening.task)
    except asyncio.CancelledError:
        if workspace.caller.conversation is None:
            workspace.conversations.shown_later(opening)
        raise
    said = {_HEADING: found.text_at(workspace.clock.now()), "Nudges": found.note}
    return [Section(heading, facts=(fact,), firm=True) for heading, fact in said.items() if fact]


async def _found(opening: Opening, task: asyncio.Task[SessionNudge]) -> SessionNudge:
    """What is brought up. Once the queue removes a nudge it is waited for: nobody else has it.

    The conversation keeps the task: what a cancelled call has taken is shown by the next one.
    """
    done, _ = await asyncio.wait({task}, timeout=limits.NUDGE_SECONDS_MAX)
    found = _SLOW if not done and opening.taking.leaves() else await asyncio.shield(task)
    if found.note and opening.task is task:
        opening.task = None  # the next call tries again
    return found


async def _icebreaker(workspace: Workspace, taking: NudgeHandover) -> SessionNudge:
    """What is brought up; a queue that fails is a note, never an error."""
    try:
        nudge = await workspace.nudges.take(workspace.scope.user, workspace.clock.now(), taking)
    except MemoryMcpError as error:
        return SessionNudge(note=f"The queue could not be asked: {error}")
    if nudge is None:
        return _SLOW if taking.left else SessionNudge()
    return SessionNudge(_shown(workspace, nudge), expires_at=nudge.expires_at)


def _shown(workspace: Workspace, nudge: Nudge) -> str:
    """The nudge as it may be read. It is taken already: a secret in it cannot refuse it."""
    return _plain(workspace, nudge.text)[: limits.NUDGE_CHARS_MAX]


def _plain(workspace: Workspace, text: str) -> str:
    """On one line, without what cannot be seen, and without secrets unless they are wanted."""
    secrets = "allow" if workspace.policy.secrets == "allow" else "redact"
    seen = text.encode(errors="replace").decode()  # a name may hold half a character
    return _one_line(clean(seen, secrets).text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
