"""`memory-mcp add`, `update` and `forget`."""

import argparse

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli.searching import kind_of, time_of
from memory_mcp.cli.show import Shown, typed
from memory_mcp.context.receipts import added_fields, forgotten_fields
from memory_mcp.domain.drafts import Draft

Given = argparse.Namespace


async def add(rooms: Rooms, given: Given) -> Shown:
    """Remember one thing."""
    draft = Draft(
        content=text_of(given.content),
        kind=kind_of(given.kind),
        title=given.title,
        category=given.category,
        tags=tuple(given.tags),
        importance=given.importance,
        pinned=given.pinned,
        expires_at=time_of("--expires", given.expires),
        phase=given.phase,
        supersedes=tuple(given.supersedes),
        reach=given.scope,
    )
    return Shown(added_fields(await app.add_memory(rooms, draft, gate=given.gate)))


async def update(rooms: Rooms, given: Given) -> Shown:
    """Replace what a memory says."""
    outcome = await app.update_memory(
        rooms, given.memory_id, text_of(given.content), given.title, given.reason
    )
    return Shown(added_fields(outcome))


async def forget(rooms: Rooms, given: Given) -> Shown:
    """Erase one memory for good, or hide it."""
    erase = not given.hide
    outcome = await app.forget_memory(rooms, given.memory_id, given.reason, erase=erase)
    return Shown(forgotten_fields(outcome))


def text_of(given: str) -> str:
    """What was typed, or piped in for a dash."""
    return typed() if given == "-" else given
