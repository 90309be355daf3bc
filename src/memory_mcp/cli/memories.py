"""`memory-mcp add`, `search`, `update` and `forget`."""

import argparse
from datetime import UTC, datetime
from typing import cast, get_args

from memory_mcp import memories
from memory_mcp.cli import show
from memory_mcp.cli.show import Output, read_stdin
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.record import Draft, Kind
from memory_mcp.domain.search import Filters, SelectionOptions
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.outcomes import render_fields, render_hits
from memory_mcp.search import search_memories


async def search(workspace: Workspace, given: argparse.Namespace) -> show.Output:
    """Find what holds."""
    filters = Filters(
        category=given.category,
        key=given.key.strip(),
        tags=tuple(given.tags),
        kinds=frozenset({parse_kind(given.kind)} if given.kind else ()),
        phase=given.phase,
        branch=BranchName(given.on_branch) if given.on_branch else None,
        reach=given.scope,
        since=parse_time("--since", given.since),
        until=parse_time("--until", given.until),
    )
    wish = SelectionOptions(min_score=given.min_score, diverse=given.diverse)
    found = await search_memories(workspace, given.query, filters, given.limit, wish)
    return show.Output(render_hits(found, why=given.why, keys=bool(given.key)), show.results)


def parse_kind(given: str) -> Kind:
    """A kind of memory as given.

    Raises:
        InvalidRequestError: there is no such kind.
    """
    if given not in get_args(Kind):
        raise InvalidRequestError(f"--kind {given!r}: choose one of {', '.join(get_args(Kind))}.")
    return cast("Kind", given)


def parse_time(option: str, given: str) -> datetime | None:
    """A time as given; without a zone it is UTC.

    Raises:
        InvalidRequestError: it is no time.
    """
    if not given:
        return None
    try:
        time = datetime.fromisoformat(given)
    except ValueError as error:
        raise InvalidRequestError(
            f"{option} {given!r} is no time. Write it like 2026-12-31 or 2026-12-31T18:00+01:00."
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


Given = argparse.Namespace


async def add(workspace: Workspace, given: Given) -> Output:
    """Remember one thing."""
    draft = Draft(
        content=read_text(given.content),
        kind=parse_kind(given.kind),
        title=given.title,
        category=given.category,
        tags=tuple(given.tags),
        importance=given.importance,
        pinned=given.pinned,
        expires_at=parse_time("--expires", given.expires),
        phase=given.phase,
        supersedes=tuple(given.supersedes),
        reach=given.scope,
    )
    return Output(render_fields(await memories.add_memory(workspace, draft, gate=given.gate)))


async def update(workspace: Workspace, given: Given) -> Output:
    """Replace what a memory says."""
    outcome = await memories.update_memory(
        workspace, given.memory_id, read_text(given.content), given.title, given.reason
    )
    return Output(render_fields(outcome))


async def forget(workspace: Workspace, given: Given) -> Output:
    """Erase one memory for good, or hide it."""
    erase = not given.hide
    outcome = await memories.forget_memory(workspace, given.memory_id, given.reason, erase=erase)
    return Output(render_fields(outcome))


def read_text(given: str) -> str:
    """What was typed, or piped in for a dash."""
    return read_stdin() if given == "-" else given
