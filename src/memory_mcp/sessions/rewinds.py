"""Follows a conversation in which the user went back: what the turns that were left had written."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from memory_mcp.code import LeftMemories, follow_rewind
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.record import Record, cut_title
from memory_mcp.domain.sessions import ConversationRewound, InboxEvent
from memory_mcp.engine.workspace import Workspace, refuse_writes
from memory_mcp.errors import MemoryMcpError
from memory_mcp.sessions.capture import withdraw_captures

_NAMED_MAX: Final = 8
"""Memories that are named after a rewind; the answer says if there are more."""
_TITLE_CHARS_MAX: Final = 60
_WENT_BACK: Final = "The user went back to an earlier point of this conversation (/rewind). "
_ASK: Final = (
    "Memory stays as it is until somebody says otherwise: what the turns that were left had "
    "written is named below. If it no longer holds, ask the user whether to forget it."
)
_MARKED: Final = (
    "What the turns that were left had written is named below, and marked. If it no longer holds, "
    "ask the user: `memory-mcp git rewind` takes it out of sight in one move, `memory-mcp undo` "
    "brings it back."
)
_HIDDEN: Final = (
    "{} of the turns that were left not recalled any more{}; `memory-mcp undo` brings that back."
)
_KEPT: Final = " What is named below lies outside of the timeline, and stays."


async def note_rewinds(workspace: Workspace, session: str) -> None:
    """Follow what hooks saw of this session, and keep for its next prompt what is to be said.

    It goes on if the call is cancelled: what was moved is told once, and by nobody else.
    """
    if not session or refuse_writes(workspace):
        return
    following = workspace.conversations.prompts.following
    task = asyncio.create_task(_follow_waiting(workspace, session))
    following.add(task)
    task.add_done_callback(following.discard)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.shield(task)


async def _follow_waiting(workspace: Workspace, session: str) -> None:
    async with workspace.conversations.prompts.rewinding:
        for entry in await workspace.inbox.waiting():
            event = entry.event
            if isinstance(event, ConversationRewound) and event.session == session:
                await _follow(workspace, entry, event)


async def follow_conversation(workspace: Workspace) -> None:
    """Follow a rewind with the first call after it, and have the answer to that tell it.

    The prompt that shows it stands in the transcript when its turn calls a tool; that is looked
    for until it is there, once a turn.
    """
    prompts = workspace.conversations.prompts
    transcript, session = prompts.watched, prompts.session
    if not transcript or workspace.caller.conversation != "" or refuse_writes(workspace):
        return
    with suppress(MemoryMcpError):  # the next call tries again
        if not await workspace.inbox.look_back(session, workspace.caller.branch, transcript):
            return
        if prompts.watched == transcript:
            prompts.watched = ""
        await note_rewinds(workspace, session)
    shown = prompts.of(session)
    said, named = shown.left
    if said and workspace.git is not None:
        workspace.git.tell("\n- ".join([said, *named]))
        shown.left = "", ()


async def take_rewinds(workspace: Workspace, session: str) -> tuple[str, Sequence[str]]:
    """What the prompt is told of turns that were left: a sentence, and what they wrote. Once."""
    try:
        await note_rewinds(workspace, session)
    except MemoryMcpError:  # the next prompt tries again
        return "", ()
    shown = workspace.conversations.prompts.of(session)
    left, shown.left = shown.left, ("", ())
    return left


async def _follow(workspace: Workspace, entry: InboxEvent, event: ConversationRewound) -> None:
    if isinstance(event.since, datetime):
        await withdraw_captures(workspace, event.session, event.since)
    left = await follow_rewind(workspace, event)
    await workspace.inbox.done(entry)
    shown = workspace.conversations.prompts.of(event.session)
    said, named = _describe(left)
    shown.left = said or shown.left[0], (*shown.left[1], *named)


def _describe(left: LeftMemories) -> tuple[str, tuple[str, ...]]:
    if not (left.records or left.durable or left.sealed or left.forgot):
        return "", ()
    if left.hidden:
        again = f", and {left.forgot} that they had forgotten recalled again" * bool(left.forgot)
        kept = _KEPT if left.durable else ""
        many = pluralise(len(left.records))
        if left.sealed:
            many += f" and {pluralise(len(left.sealed), 'checkpoint', 'checkpoints')}"
        hidden = _HIDDEN.format(many, again)
        return f"{_WENT_BACK}{hidden}{kept}", _name(left.durable)
    named = _name([*left.records, *left.sealed, *left.durable])
    return _WENT_BACK + (_MARKED if left.marked else _ASK), named


def _name(records: Sequence[Record]) -> tuple[str, ...]:
    named = tuple(
        f"{cut_title(record, _TITLE_CHARS_MAX)} [{record.id}]" for record in records[:_NAMED_MAX]
    )
    return (*named, "… and more") if len(records) > _NAMED_MAX else named
