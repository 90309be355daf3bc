"""What opens a session: the same text at every door, and in the files that hooks print.

Nothing here depends on the moment, but for what has expired: the same memories give the same bytes.
What is the moment's affair (a nudge, the time) is put around it by whoever answers a caller.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import DURABLE_KINDS, Kind, Reach, Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.phases import phase_now
from memory_mcp.engine.reading import newest, require_records, together
from memory_mcp.engine.workspace import Workspace
from memory_mcp.profile.sync import read_profile, zone_named
from memory_mcp.render.block import Block, BudgetLine, Section, render_context
from memory_mcp.render.profile import now_chars, profile_line
from memory_mcp.render.receipts import unreadable_note
from memory_mcp.render.sections import (
    OPENING,
    Part,
    latest_consolidation,
    make_sections,
    open_issues,
    without_bookkeeping,
)
from memory_mcp.render.since import make_token

_LOOKED_AT: Final = 20
"""How many of each kind compete for the budget."""

_CLOSEOUTS_LOOKED_AT: Final = 200
"""Among so many records of closed phases the open issues are looked for."""

_SUMMARIES_LOOKED_AT: Final = 40


@dataclass(frozen=True)
class Frame:
    """What every context has, whatever it is filled with."""

    head: Head
    view: View
    user: str
    zone: str
    figure: BudgetLine
    opening: list[str]
    until: datetime | None = None  # when the first fact about the user ends


@dataclass
class Gathered:
    """The records of each section by its name, and what could not be read."""

    found: dict[str, Sequence[Record]] = field(default_factory=dict[str, Sequence[Record]])
    unreadable: frozenset[RecordId] = frozenset()

    @property
    def until(self) -> datetime | None:
        """When the first of them expires."""
        ends = [r.expires_at for each in self.found.values() for r in each if r.expires_at]
        return min(ends, default=None)


async def bootstrap(workspace: Workspace, budget_tokens: int | None = None) -> Block:
    """The text that opens a session, without a nudge and without the time.

    Raises:
        StoreUnavailableError: nothing can be shown because the records' folder is not there.
    """
    frame = await frame_of(workspace)
    opened = await gathered(workspace, frame.view, OPENING)
    await told(workspace, frame, opened)
    return shown_in(frame, make_sections(OPENING, opened.found), budget_tokens or _usual(workspace))


def shown_in(frame: Frame, sections: Sequence[Section], budget_tokens: int, now: str = "") -> Block:
    """The sections in their frame. There is room for the time, whether or not it is shown."""
    return render_context(
        frame.opening,
        sections,
        budget_tokens,
        user=frame.user,
        now=now,
        now_chars=now_chars(frame.zone),
        figure=frame.figure,
    )


async def frame_of(workspace: Workspace) -> Frame:
    """Where the project stands, who the user is, and how much is known."""
    ids = await together(
        pool.index.ids() for pool in workspace.pools
    )  # first: what comes now is news
    head = await current(workspace)
    view = view_on(workspace, head.timeline)
    known = await read_profile(workspace, view)
    counts = await together(pool.index.count(view, Filters()) for pool in workspace.pools)
    since = make_token(head.revision, set[RecordId]().union(*ids), view.now, sum(counts))
    zone = known.zone if zone_named(known.zone) else ""
    phase = (await phase_now(workspace, head.timeline)).worked_on
    opening = [_stands(workspace, head.timeline, phase)]
    until = min((entry.until for entry in known.entries if entry.until), default=None)
    figure = BudgetLine(sum(counts), since)
    return Frame(head, view, profile_line(known), zone, figure, opening, until)


async def gathered(
    workspace: Workspace,
    view: View,
    parts: Sequence[Part],
    most: int = _LOOKED_AT,
    reach: Reach | None = None,
) -> Gathered:
    """What fills each section by its kinds: the pinned, the important and the newest of them."""
    done = Gathered()

    async def first(limit: int, *kinds: Kind, best: bool = True) -> Sequence[Record]:
        # said so that the index need not look through the timeline for what is never there
        outside = True if kinds and DURABLE_KINDS.issuperset(kinds) else None
        wanted = Filters(kinds=frozenset(kinds), durable=outside, reach=reach)
        read = await newest(workspace, view, wanted, limit, best=best)
        done.unreadable |= read.unreadable
        return read.records

    for part in parts:
        match part.name:
            case "issues":
                found = open_issues(await first(_CLOSEOUTS_LOOKED_AT, "closeout"))
            case "latest":
                found = latest_consolidation(await first(_SUMMARIES_LOOKED_AT, "summary"))
            case "newest":
                pinned = [r for r in await first(most) if r.pinned]
                late = without_bookkeeping(await first(2 * most, best=False))[:most]
                found = [*pinned, *sorted(late, key=_worth, reverse=True)]
            case _ if part.kinds:
                found = await first(most, *part.kinds)
            case _:
                continue
        done.found[part.name] = found
    return done


async def told(workspace: Workspace, frame: Frame, done: Gathered) -> None:
    """Say in the frame what is missing; nothing at all must not come of a folder that is gone.

    Raises:
        StoreUnavailableError: the index knows memories, and there is not one record.
    """
    if not any(done.found.values()):
        await require_records(workspace, frame.view)
    if done.unreadable:
        frame.opening.append(unreadable_note(len(done.unreadable)))


def _worth(record: Record) -> tuple[bool, int]:
    return record.pinned, record.importance


def _usual(workspace: Workspace) -> int:
    return workspace.policy.opening.bootstrap_tokens


def _stands(workspace: Workspace, timeline: Timeline, phase: int | None) -> str:
    branch = workspace.caller.branch
    sealed = timeline.valid(branch)
    at = f"last checkpoint {sealed[-1].id}" if sealed else "no checkpoint yet"
    working = f", working on phase {phase}" if phase is not None else ""
    waiting = len(timeline.pending(branch))
    pending = f", {waiting} checkpoint(s) pending approval" if waiting else ""
    return f"Head: branch {branch}, {at}{working}{pending}."
