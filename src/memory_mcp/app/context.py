"""The block for the start of a session or for a task."""

from functools import partial
from typing import Final

from memory_mcp.app.heads import current, view_on
from memory_mcp.app.nudges import brought_up
from memory_mcp.app.pending import unseen
from memory_mcp.app.profile import read_profile, zone_named
from memory_mcp.app.reading import Read, newest, require_records
from memory_mcp.app.recall import cloud_profile
from memory_mcp.app.rooms import Rooms, reads_refused
from memory_mcp.app.search import search_memories
from memory_mcp.app.together import beside
from memory_mcp.context.profile import now_line, profile_line
from memory_mcp.context.render import Block, Section, render_context
from memory_mcp.context.words import unread
from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Found, Skipped
from memory_mcp.domain.record import DURABLE_KINDS, Kind
from memory_mcp.domain.timeline import Timeline
from memory_mcp.domain.views import Filters, Wish
from memory_mcp.errors import InvalidRequestError

__all__ = ["memory_context"]

_LIKELY: Final = Wish(min_score=0.1)
"""What is hardly meant by the task must not take the room of what always matters."""

_LOOKED_AT: Final = 20
"""How many of each kind compete for the budget."""


async def memory_context(rooms: Rooms, task: str, budget_tokens: int) -> Block | Skipped:
    """What matters now, best first, within the budget (characters / 4).

    Raises:
        InvalidRequestError: the budget is out of range.
        StoreUnavailableError: nothing can be shown because the records' folder is not there.
    """
    if skipped := reads_refused(rooms):
        return skipped
    if not limits.CONTEXT_TOKENS_MIN <= budget_tokens <= limits.CONTEXT_TOKENS_MAX:
        raise InvalidRequestError(
            f"budget_tokens is {budget_tokens}; choose {limits.CONTEXT_TOKENS_MIN} to "
            f"{limits.CONTEXT_TOKENS_MAX}."
        )
    head = await current(rooms)
    for pool in rooms.pools:
        if pool.mirror:
            pool.mirror.look_soon()
    async with beside(cloud_profile(rooms, head.timeline)) as asked:
        known = await read_profile(rooms, view_on(rooms, head.timeline))
        sections, opening = await _recalled(rooms, head.timeline, task)
        if not task.strip():  # this opens a session
            sections[:0] = await brought_up(rooms, opening, budget_tokens)
        facts = await asked
    if facts:
        sections.append(Section("What the cloud makes of it (derived, may be stale)", facts=facts))
    zone = zone_named(known.zone)
    now = now_line(rooms.clock.now(), zone, known.zone)
    return render_context(opening, sections, budget_tokens, user=profile_line(known), now=now)


async def _recalled(rooms: Rooms, timeline: Timeline, task: str) -> tuple[list[Section], list[str]]:
    """The sections, best first, and what is to be said before them."""
    of_kinds = partial(_of_kinds, rooms, timeline)
    sections = {
        "Identity": await of_kinds("identity"),
        "Preferences and conventions": await of_kinds("preference", "convention", "pattern"),
        "Lessons": await of_kinds("lesson"),
        "For this task": await _for_task(rooms, task),
        "Decisions that hold": await of_kinds("decision"),
        "Newest": await of_kinds(),
    }
    if not any(read.records for read in sections.values()):
        await require_records(rooms, view_on(rooms, timeline))
    opening = [_opening(rooms, timeline), *await unseen(rooms)]
    lost = frozenset[RecordId]().union(*(read.unreadable for read in sections.values()))
    if lost:
        opening.append(unread(len(lost)))
    return [Section(heading, read.records) for heading, read in sections.items()], opening


async def _of_kinds(rooms: Rooms, timeline: Timeline, *kinds: Kind) -> Read:
    """The newest of these kinds, pinned and important ones first."""
    view = view_on(rooms, timeline)
    # said so that the index need not look through the timeline for what is never there
    outside = True if kinds and DURABLE_KINDS.issuperset(kinds) else None
    found = await newest(rooms, view, Filters(kinds=frozenset(kinds), durable=outside), _LOOKED_AT)
    best = sorted(found.records, key=lambda r: (r.pinned, r.importance), reverse=True)
    return Read(best, found.unreadable)


async def _for_task(rooms: Rooms, task: str) -> Read:
    if task.strip():
        match await search_memories(rooms, task, Filters(), limits.RESULTS_MAX, _LIKELY):
            case Found(hits=hits, unreadable=unreadable):
                return Read([hit.record for hit in hits], unreadable)
            case Skipped():
                pass
    return Read((), frozenset())


def _opening(rooms: Rooms, timeline: Timeline) -> str:
    branch = rooms.session.branch
    sealed = timeline.valid(branch)
    at = f"last checkpoint {sealed[-1].id}" if sealed else "no checkpoint yet"
    phase = rooms.policy.phase
    working = f", working on phase {phase}" if phase is not None else ""
    waiting = len(timeline.pending(branch))
    pending = f", {waiting} checkpoint(s) pending approval" if waiting else ""
    return f"Head: branch {branch}, {at}{working}{pending}."
