"""Processes the events that hooks left: a session's end becomes an episode, a compaction a summary.

An event is removed after its effect. A process that is killed in between leaves the event, and the
next one finds the effect: an episode recognises its turns, and a summary is not written twice. One
process works at a time.

An event is entry if its branch was moved back since, because it tells of the line that was left.
So a backtrack processes the inbox first.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple, assert_never

from memory_mcp.domain import limits
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import EpisodeSaved, Finding
from memory_mcp.domain.sessions import (
    ConversationCompacted,
    ConversationRewound,
    InboxEvent,
    InboxReport,
    SessionEnded,
)
from memory_mcp.engine.head import load_head
from memory_mcp.engine.records import find_moves_back
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.sessions.capture import capture_heard
from memory_mcp.sessions.catch_up import catch_up
from memory_mcp.sessions.consolidate import COMPACTED_BY, GIVEN_UP, write_compaction
from memory_mcp.sessions.episodes import capture_episode
from memory_mcp.sessions.rewinds import note_rewinds
from memory_mcp.text.drafts import check_branch
from memory_mcp.text.transcript import read_turns

_LOG: Final = logging.getLogger("memory_mcp.inbox")
_LOOK_SECONDS: Final = 30.0
"""How often a server looks into the inbox; a prompt wakes it earlier."""


async def keep_inbox_processed(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Process the inbox now and then, until this session ends."""
    while not leaving.is_set():
        await capture_heard(workspace)
        try:
            await note_rewinds(workspace, workspace.conversations.prompts.session)
            await process_inbox(workspace)
        except MemoryMcpError as error:
            _LOG.warning("%s", error)
        came = workspace.conversations.prompts.came
        waits = [asyncio.ensure_future(each.wait()) for each in (came, leaving)]
        await asyncio.wait(waits, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        came.clear()


async def process_inbox(workspace: Workspace) -> InboxReport:
    """Process the waiting events, unless another process does; a meta session processes none.

    An event that cannot be processed now stays. One that never can be is dropped with a note, or
    moved aside if it met a fault of ours.

    Raises:
        StoreUnavailableError: the inbox itself cannot be read.
    """
    if refuse_writes(workspace):
        return InboxReport()
    waiting = await workspace.inbox.waiting()
    if all(
        isinstance(entry.event, ConversationRewound) and not _is_too_old(workspace, entry)
        for entry in waiting
    ):
        return InboxReport()
    done = 0
    notes: list[str] = []
    async with workspace.inbox.alone() as mine:
        if mine:  # what a killed process wrote may not be indexed yet, and must be recognised
            await catch_up(workspace)
        for entry in await workspace.inbox.waiting() if mine else ():
            result = await _process_event(workspace, entry)
            done += result.done
            if result.note:
                notes.append(f"{entry.name}: {result.note}")
                _LOG.log(
                    logging.WARNING if result.lost else logging.INFO,
                    "dropped from the inbox: %s" if result.done else "%s",
                    notes[-1],
                )
    return InboxReport(done, tuple(notes))


async def inbox_findings(workspace: Workspace) -> list[Finding]:
    """Process all events that can be processed, and report the others."""
    with suppress(MemoryMcpError):  # what still waits is reported below
        while (await process_inbox(workspace)).done:
            pass
    found = list(await workspace.inbox.findings())
    entries = await workspace.inbox.waiting()
    waiting = [entry for entry in entries if not isinstance(entry.event, ConversationRewound)]
    if waiting:
        events = pluralise(len(waiting), "event of a hook waits", "events of hooks wait")
        what = f"{events} in the inbox, since {waiting[0].event.at}."
        remedy = "They are tried again with each command; the log says what keeps them."
        found.append(Finding("inbox-waiting", "should", what, remedy))
    return found


class _Result(NamedTuple):
    """Whether an event is done, why it had no effect, and whether that lost something."""

    note: str = ""
    lost: bool = False
    done: bool = True


_WAITS: Final = _Result(done=False)


async def _process_event(workspace: Workspace, entry: InboxEvent) -> _Result:
    try:
        result = await _apply_event(workspace, entry)
    except MemoryMcpError as error:
        return _Result(f"waits on: {error}", done=False)
    except Exception:  # noqa: BLE001  # a fault of ours must not keep the others waiting
        _LOG.exception("%s could not be worked off and was moved aside", entry.name)
        await workspace.inbox.put_aside(entry)
        return _WAITS
    if result.done:
        await workspace.inbox.done(entry)
    return result


async def _apply_event(workspace: Workspace, entry: InboxEvent) -> _Result:
    event = entry.event
    if _is_too_old(workspace, entry):
        return _Result("it is too old", lost=True)
    try:
        match event:
            case SessionEnded():
                then = _workspace_of_event(workspace, event)
                await note_rewinds(then, event.session)  # no prompt follows that would
                return await _capture_session(then, event)
            case ConversationCompacted():
                then = _workspace_of_event(workspace, event)
                return _Result(await write_compaction(then, event.compact_summary, event.at))
            case ConversationRewound():
                return _WAITS  # the session itself takes it
            case _:
                assert_never(event)
    except InvalidRequestError as error:  # the branch is gone, or a secret is refused
        return _Result(str(error), lost=True)


async def _capture_session(workspace: Workspace, event: SessionEnded) -> _Result:
    if await find_moves_back(workspace, await load_head(workspace), event.at):
        return _Result(GIVEN_UP, lost=True)
    data = await workspace.inbox.transcript(event)
    if data is None:
        return _Result(f"no transcript of the session at {event.transcript_path!r}", lost=True)
    turns = read_turns(data)
    if not turns:
        return _Result("nothing was said")
    outcome = await capture_episode(workspace, turns, None, final=True)
    if not isinstance(outcome, EpisodeSaved):
        return _Result(outcome.reason)
    # The head is read again on purpose: a backtrack during the capture outdates the episode.
    head = await load_head(workspace)
    if not await find_moves_back(workspace, head, event.at):
        return _Result()
    if outcome.record.segment in head.timeline.chain(workspace.caller.branch):
        await workspace.project.erase({outcome.record.id})
    return _Result(GIVEN_UP, lost=True)


def _workspace_of_event(
    workspace: Workspace, event: SessionEnded | ConversationCompacted
) -> Workspace:
    """The workspace of the event's session, on its branch."""
    own = event.session == workspace.origin().session
    branch = workspace.caller.branch if own else check_branch(event.branch)
    caller = replace(
        workspace.caller, branch=branch, client=COMPACTED_BY, conversation=event.session
    )
    return replace(workspace, caller=caller)


def _is_too_old(workspace: Workspace, entry: InboxEvent) -> bool:
    match entry.event:
        case ConversationRewound():
            age_max = timedelta(hours=limits.REWOUND_HOURS_MAX)
        case ConversationCompacted():
            age_max = timedelta(days=limits.COMPACTION_DAYS_MAX)
        case SessionEnded():
            age_max = timedelta(days=limits.EVENT_DAYS_MAX)
    return workspace.clock.now() - entry.event.at > age_max
