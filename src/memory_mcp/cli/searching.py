"""`memory-mcp search`: what is asked for on the command line, and what is found."""

import argparse
from datetime import UTC, datetime
from typing import cast, get_args

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.cli import show
from memory_mcp.context.words import found_fields
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.record import Kind
from memory_mcp.domain.views import Filters, Wish
from memory_mcp.errors import InvalidRequestError


async def search(rooms: Rooms, given: argparse.Namespace) -> show.Shown:
    """Find what holds."""
    filters = Filters(
        category=given.category,
        key=given.key.strip(),
        tags=tuple(given.tags),
        kinds=frozenset({kind_of(given.kind)} if given.kind else ()),
        phase=given.phase,
        branch=BranchName(given.on_branch) if given.on_branch else None,
        reach=given.scope,
        since=time_of("--since", given.since),
        until=time_of("--until", given.until),
    )
    wish = Wish(min_score=given.min_score, diverse=given.diverse)
    found = await app.search_memories(rooms, given.query, filters, given.limit, wish)
    return show.Shown(found_fields(found, why=given.why, keys=bool(given.key)), show.results)


def kind_of(given: str) -> Kind:
    """A kind of memory as given.

    Raises:
        InvalidRequestError: there is no such kind.
    """
    if given not in get_args(Kind):
        raise InvalidRequestError(f"--kind {given!r}: choose one of {', '.join(get_args(Kind))}.")
    return cast("Kind", given)


def time_of(option: str, given: str) -> datetime | None:
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
