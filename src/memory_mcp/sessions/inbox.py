"""Working off what hooks left: a session's end becomes an episode, a compaction a summary.

The effect first, then the event is removed. Whoever is killed in between leaves the event, and the
next one finds the effect there already: an episode knows its turns again by their words, a summary
supersedes the one before it and is not written twice. One process works at a time.

What waited while its branch was moved back is dropped: it tells of a road that was given up, and
would come back on the new one. So whoever moves back works the inbox off first.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple, assert_never

from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import EpisodeSaved, Finding
from memory_mcp.domain.sessions import (
    ConversationCompacted,
    ConversationRewound,
    InboxEvent,
    InboxReport,
    SessionEnded,
)
from memory_mcp.engine.head import current
from memory_mcp.engine.workspace import Caller, Workspace, writes_refused
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.sessions.catch_up import catch_up
from memory_mcp.sessions.consolidate import COMPACTED_BY, keep_compacted
from memory_mcp.sessions.episodes import episodic_capture
from memory_mcp.sessions.moved_back import GIVEN_UP, moved_back_since
from memory_mcp.text.drafts import check_branch
from memory_mcp.text.transcript import read_turns

_LOG: Final = logging.getLogger("memory_mcp.inbox")
_LOOK_SECONDS: Final = 30.0
"""How often a server looks by itself; a prompt wakes it earlier."""


async def keep_worked_off(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Work off what hooks drop, until this session ends."""
    while not leaving.is_set():
        try:
            await work_off(workspace)
        except MemoryMcpError as error:
            _LOG.warning("%s", error)
        came = workspace.conversations.prompts.came
        waits = [asyncio.ensure_future(each.wait()) for each in (came, leaving)]
        await asyncio.wait(waits, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        came.clear()


async def work_off(workspace: Workspace) -> InboxReport:
    """Work off what waits, if nobody else does; a session that leaves no trace works off nothing.

    What cannot be done now (the disk, the index) waits on; what never can is dropped with a note,
    or moved aside where that is our own fault.

    Raises:
        StoreUnavailableError: the inbox itself cannot be read.
    """
    if writes_refused(workspace):
        return InboxReport()
    waiting = await workspace.inbox.waiting()
    if all(
        isinstance(dropped.event, ConversationRewound) and not _old(workspace, dropped)
        for dropped in waiting
    ):
        return InboxReport()
    done = 0
    notes: list[str] = []
    async with workspace.inbox.alone() as mine:
        if mine:  # what a killed worker wrote may not be in the index yet: it is to be known again
            await catch_up(workspace)
        for dropped in await workspace.inbox.waiting() if mine else ():
            became = await _worked_off(workspace, dropped)
            done += became.done
            if became.note:
                notes.append(f"{dropped.name}: {became.note}")
                _LOG.log(
                    logging.WARNING if became.lost else logging.INFO,
                    "dropped from the inbox: %s" if became.done else "%s",
                    notes[-1],
                )
    return InboxReport(done, tuple(notes))


async def inbox_findings(workspace: Workspace) -> list[Finding]:
    """Work off all that can be, and name what is left."""
    with suppress(MemoryMcpError):  # what waits is named below
        while (await work_off(workspace)).done:
            pass
    found = list(await workspace.inbox.findings())
    waiting = [
        each
        for each in await workspace.inbox.waiting()
        if not isinstance(each.event, ConversationRewound)
    ]
    if waiting:
        what = f"{len(waiting)} event(s) of hooks wait in the inbox, since {waiting[0].event.at}."
        remedy = "They are tried again with each command; the log says what keeps them."
        found.append(Finding("inbox-waiting", "should", what, remedy))
    return found


class _Became(NamedTuple):
    """What became of an event: why it left nothing, and whether something was lost by that."""

    note: str = ""
    lost: bool = False
    done: bool = True


_WAITS: Final = _Became(done=False)


async def _worked_off(workspace: Workspace, dropped: InboxEvent) -> _Became:
    """Its effect, then its removal."""
    try:
        became = await _effect(workspace, dropped)
    except MemoryMcpError as error:
        return _Became(f"waits on: {error}", done=False)
    except Exception:  # noqa: BLE001  # a fault of ours must not keep the others waiting
        _LOG.exception("%s could not be worked off and was moved aside", dropped.name)
        await workspace.inbox.aside(dropped)
        return _WAITS
    if became.done:
        await workspace.inbox.done(dropped)
    return became


async def _effect(workspace: Workspace, dropped: InboxEvent) -> _Became:
    event = dropped.event
    if _old(workspace, dropped):
        return _Became("it is too old", lost=True)
    try:
        match event:
            case SessionEnded():
                return await _ended(_as_then(workspace, event), event)
            case ConversationCompacted():
                then = _as_then(workspace, event)
                return _Became(await keep_compacted(then, event.compact_summary, event.at))
            case ConversationRewound():
                return _WAITS  # the session's next prompt takes it
            case _:
                assert_never(event)
    except InvalidRequestError as error:  # a branch that is gone, a secret that is to be refused
        return _Became(str(error), lost=True)


async def _ended(workspace: Workspace, event: SessionEnded) -> _Became:
    if await moved_back_since(workspace, await current(workspace), event.at):
        return _Became(GIVEN_UP, lost=True)
    data = await workspace.inbox.transcript(event)
    if data is None:
        return _Became(f"no transcript of the session at {event.transcript_path!r}", lost=True)
    turns = read_turns(data)
    if not turns:
        return _Became("nothing was said")
    outcome = await episodic_capture(workspace, turns, None, final=True)
    if not isinstance(outcome, EpisodeSaved):
        return _Became(outcome.reason)
    head = await current(workspace)
    if not await moved_back_since(workspace, head, event.at):
        return _Became()
    if outcome.record.segment in head.timeline.chain(workspace.caller.branch):  # it came too late
        await workspace.project.erase({outcome.record.id})
    return _Became(GIVEN_UP, lost=True)


def _as_then(workspace: Workspace, event: SessionEnded | ConversationCompacted) -> Workspace:
    """The workspace as that session has it: its own branch, where we are that session."""
    own = event.session == workspace.origin().session
    branch = workspace.caller.branch if own else check_branch(event.branch)
    caller = Caller(workspace.scope, branch, client=COMPACTED_BY, conversation=event.session)
    return replace(workspace, caller=caller)


def _old(workspace: Workspace, dropped: InboxEvent) -> bool:
    if isinstance(dropped.event, ConversationRewound):
        kept = timedelta(hours=limits.REWOUND_HOURS_MAX)
    elif isinstance(dropped.event, ConversationCompacted):
        kept = timedelta(days=limits.COMPACTION_DAYS_MAX)
    else:
        kept = timedelta(days=limits.EVENT_DAYS_MAX)
    return workspace.clock.now() - dropped.event.at > kept
