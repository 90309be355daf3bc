"""Builds the bootstrap: the text that opens a session, for callers and for rendered files.

The same memories give the same bytes, until one of them expires. It holds neither the time nor a
nudge: whoever answers a caller adds those.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import chain
from typing import Final

from memory_mcp.code import count_moved, make_marker
from memory_mcp.domain.comparisons import Comparisons
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.outcomes import find_latest_consolidation
from memory_mcp.domain.record import DURABLE_KINDS, Kind, Reach, Record
from memory_mcp.domain.search import Filters, View, Wanted
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.git import list_elsewhere
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.members import present_records
from memory_mcp.engine.phases import find_phase
from memory_mcp.engine.records import gather_all, load_here_first, require_records_folder
from memory_mcp.engine.workspace import Workspace
from memory_mcp.frozen import frozen, mutable
from memory_mcp.profile import read_profile
from memory_mcp.render.block import Block, BudgetLine, Marker, Section, render_context
from memory_mcp.render.outcomes import describe_unreadable
from memory_mcp.render.profile import render_profile_line
from memory_mcp.render.sections import (
    OPENING,
    SectionPlan,
    count_repeating,
    drop_bookkeeping,
    make_sections,
    rank_newest,
    select_open_issues,
)
from memory_mcp.render.since import make_bound, make_token
from memory_mcp.text.truths import drop_outdated
from memory_mcp.timeline.plans import require_branch
from memory_mcp.zones import count_now_chars, find_time_zone

_CANDIDATES_MAX: Final = 20
"""How many of each kind compete for the budget."""

_CLOSEOUTS_MAX: Final = 200
"""The newest closeouts, among which open issues are looked for."""

_SUMMARIES_MAX: Final = 40

_MOVED: Final = (
    "The code under at least {} has moved on: `memory-mcp stale` lists all (prompt review_stale)."
)
"""Said of the memories that compete for the opening: to look at every one takes too long."""

_BRANCH_CHARS_MAX: Final = 64
"""Shown of a branch's name, so that the least budget has room for the head."""


@frozen
class OpeningFrame:
    """What every context has around its sections. `until`: when the first profile fact ends."""

    head: Head
    view: View
    user: str
    zone: str
    figure: BudgetLine
    opening: list[str]
    mark: Marker
    until: datetime | None = None


@mutable
class SectionRecords:
    """The records of each section by its name, and the ids that could not be read.

    `repeating` counts those that were left out because the block says the same.
    """

    found: dict[str, Sequence[Record]] = field(default_factory=dict[str, Sequence[Record]])
    unreadable: frozenset[RecordId] = frozenset()
    repeating: int = 0

    @property
    def until(self) -> datetime | None:
        """When the first record expires."""
        ends = [r.expires_at for each in self.found.values() for r in each if r.expires_at]
        return min(ends, default=None)


async def build_bootstrap(workspace: Workspace) -> Block:
    """The text that opens a session, without a nudge and without the time.

    Raises:
        StoreUnavailableError: the index knows memories, and there is not one record.
    """
    frame = await make_frame(workspace)
    collected = await collect_records(workspace, frame.view, OPENING)
    await add_notices(workspace, frame, collected)
    sections = make_sections(OPENING, collected.found)
    return render_in_frame(frame, sections, workspace.policy.opening.bootstrap_tokens)


def render_in_frame(
    frame: OpeningFrame, sections: Sequence[Section], budget_tokens: int, now: str = ""
) -> Block:
    """The sections in their frame. Room for the time is kept, whether or not it is shown."""
    return render_context(
        frame.opening,
        sections,
        budget_tokens,
        user=frame.user,
        now=now,
        now_chars=count_now_chars(frame.zone),
        figure=frame.figure,
        mark=frame.mark,
    )


async def make_frame(workspace: Workspace, head: Head | None = None) -> OpeningFrame:
    """Where the project stands, who the user is, and how much is known; without a head, by now."""
    # ids first: what is written while the rest is read counts as new the next time
    bound = make_bound(workspace.clock.now())
    known = await gather_all(bank.index.summarise_ids(bound) for bank in workspace.banks)
    if head is None:
        head = await load_head(workspace)
    require_branch(head.timeline, workspace.caller.branch)
    view = make_view(workspace, head.timeline)
    profile = await read_profile(workspace, view)
    counts = await gather_all(bank.index.count(view, Filters()) for bank in workspace.banks)
    since = make_token(head.revision, known, sum(counts))
    phase = (await find_phase(workspace, head.timeline)).worked_on
    return OpeningFrame(
        head,
        view,
        user=render_profile_line(profile),
        zone=profile.zone if find_time_zone(profile.zone) else "",
        figure=BudgetLine(sum(counts), since),
        opening=[await _describe_head(workspace, head.timeline, phase)],
        mark=make_marker(workspace),
        until=min((entry.until for entry in profile.entries if entry.until), default=None),
    )


async def collect_records(
    workspace: Workspace,
    view: View,
    parts: Sequence[SectionPlan],
    limit: int = _CANDIDATES_MAX,
    reach: Reach | None = None,
) -> SectionRecords:
    """The records for each section: the pinned, the important and the newest of its kinds."""

    def want(limit: int, *kinds: Kind, best: bool = True) -> Wanted:
        # durable kinds are never on the timeline: the index need not look through it
        durable = True if kinds and DURABLE_KINDS.issuperset(kinds) else None
        return Wanted(Filters(kinds=frozenset(kinds), durable=durable, reach=reach), limit, best)

    special = {
        "issues": [("issues", want(_CLOSEOUTS_MAX, "closeout"))],
        "latest": [("latest", want(_SUMMARIES_MAX, "summary"))],
        "newest": [("pinned", want(limit)), ("newest", want(2 * limit, best=False))],
    }
    wanted: list[tuple[str, Wanted]] = []
    for part in parts:
        if part.name in special:
            wanted += special[part.name]
        elif part.kinds:
            wanted.append((part.name, want(limit, *part.kinds)))
    reads = await load_here_first(workspace, view, [each for _, each in wanted])
    found = {name: read.records for (name, _), read in zip(wanted, reads, strict=True)}
    pinned = [record for record in found.pop("pinned", ()) if record.pinned]
    repeating = count_repeating(found.get("newest", ()))
    for name, records in found.items():
        match name:
            case "issues":
                found[name] = select_open_issues(records)
            case "latest":
                last = find_latest_consolidation(records)
                found[name] = last.records if last else ()
            case "newest":
                found[name] = [*pinned, *rank_newest(drop_bookkeeping(records)[:limit])]
            case _:
                pass
    away = list_elsewhere(workspace, chain.from_iterable(found.values()))
    outlines = await _load_outlines(workspace, chain.from_iterable(found.values()))
    comparisons = await _load_comparisons(workspace)
    presented: dict[str, Sequence[Record]] = {
        name: present_records(workspace, records)
        for name, records in drop_outdated(found, away, outlines, comparisons).items()
    }
    unreadable = frozenset[RecordId]().union(*(r.unreadable for r in reads))
    return SectionRecords(presented, unreadable, repeating)


async def _load_outlines(
    workspace: Workspace, records: Iterable[Record]
) -> Mapping[RecordId, bytes]:
    """What the statements of these are compared by, as the indexes have it."""
    asked_of: dict[Reach, list[RecordId]] = {reach: [] for reach in workspace.reaches}
    for record in records:
        asked_of.get(record.scope.reach, []).append(record.id)
    asked = (workspace.bank_of(of).index.outlines(ids) for of, ids in asked_of.items() if ids)
    return {id_: outline for each in await gather_all(asked) for id_, outline in each.items()}


async def _load_comparisons(workspace: Workspace) -> Comparisons:
    """What was compared before, by this process or by the one that rendered last."""
    comparisons = workspace.comparisons
    if not comparisons.loaded:
        comparisons.load(await workspace.views.load_compared())
    return comparisons


async def add_notices(workspace: Workspace, frame: OpeningFrame, collected: SectionRecords) -> None:
    """Add to the frame how many records could not be read, and under how many the code moved on.

    What only repeats what the block says is no memory that it leaves out.

    Raises:
        StoreUnavailableError: the index knows memories, and there is not one record.
    """
    if not any(collected.found.values()):
        await require_records_folder(workspace, frame.view)
    frame.figure.repeating = collected.repeating
    if collected.unreadable:
        frame.opening.append(describe_unreadable(len(collected.unreadable)))
    if moved := count_moved(workspace, chain.from_iterable(collected.found.values())):
        frame.opening.append(_MOVED.format(pluralise(moved)))


async def _describe_head(workspace: Workspace, timeline: Timeline, phase: int | None) -> str:
    branch = workspace.caller.branch
    valid, pending = timeline.valid(branch), timeline.pending(branch)
    places = await place_checkpoints(workspace, [*valid, *pending])
    last = next(iter(places.order_shown(valid)[-1:]), None)
    mark = places.marks.get(last.id) if last else None
    where = f" ({mark.describe('made')})" if mark else ""
    at = f"last checkpoint {last.id}{where}" if last else "no checkpoint yet"
    working = f", working on phase {phase}" if phase is not None else ""
    waiting = len(places.select_here(pending))
    checkpoints = pluralise(waiting, "checkpoint", "checkpoints")
    asked = f", {checkpoints} pending approval" if waiting else ""
    return f"Head: branch {cut(branch, _BRANCH_CHARS_MAX)}, {at}{working}{asked}."
