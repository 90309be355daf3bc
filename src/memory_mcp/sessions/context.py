"""Builds the context block: for the start of a session, for a task, or for what has changed."""

from collections.abc import Iterable

from memory_mcp.bootstrap.opening import (
    OpeningFrame,
    add_notices,
    collect_records,
    make_frame,
    render_in_frame,
)
from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.cloud import describe_unpulled
from memory_mcp.engine.index_sync import takes_partial_answers
from memory_mcp.engine.members import present_records
from memory_mcp.engine.phases import describe_sealed_phase, find_phase
from memory_mcp.engine.records import describe_unindexed, gather_all, run_beside
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.errors import InvalidRequestError
from memory_mcp.fence import CLOSE, OPEN
from memory_mcp.render.block import Block, Section, count_tokens
from memory_mcp.render.sections import (
    EPISODIC,
    OPENING,
    SEMANTIC,
    WITH_TASK,
    make_sections,
    share_room,
)
from memory_mcp.render.since import parse_since
from memory_mcp.search.cloud import load_cloud_profile
from memory_mcp.search.search import search_for_task
from memory_mcp.sessions.capture import bring_up_captures
from memory_mcp.sessions.delta import collect_changes
from memory_mcp.sessions.nudges import bring_up_nudge
from memory_mcp.trust.strangers import describe_strangers_once
from memory_mcp.zones import render_now_line

_UNTOLD = "What is new since {} cannot be told (something came late): this is the whole opening."
_CLOUD = "What the cloud makes of it (derived, may be stale)"


@takes_partial_answers
async def memory_context(
    workspace: Workspace,
    task: str = "",
    budget_tokens: int | None = None,
    since: str = "",
    *,
    to_user: bool = False,
) -> Block | Skipped:
    """What matters now, best first, within the budget in tokens (characters / 4).

    With a task it is filled by memories that bear on it, with `since` by what has changed.
    `to_user`: the user alone looks at it, and no agent.

    Raises:
        InvalidRequestError: the budget is out of range, `since` is no moment, or it comes with a
            task.
        StoreUnavailableError: nothing can be shown because the records' folder is gone.
    """
    if skipped := refuse_reads(workspace):
        return skipped
    budget = _check_budget(workspace, budget_tokens)
    if task.strip() and since.strip():
        raise InvalidRequestError(
            "task and since are two questions: what is known for a task, and what has changed. "
            "Ask one after the other."
        )
    moment = parse_since(since, workspace.clock.now()) if since.strip() else None
    for bank in workspace.banks:
        if bank.mirror:
            bank.mirror.look_soon()
    frame = await make_frame(workspace)
    _add_notes(frame, filter(None, [describe_unindexed(workspace)]), budget)
    _add_notes(frame, await describe_strangers_once(workspace), budget)
    now = render_now_line(workspace.clock.now(), frame.zone)
    if moment:
        if delta := await collect_changes(workspace, frame, moment):
            return render_in_frame(*delta, budget, now)
        _add_notes(frame, [_UNTOLD.format(moment.said)], budget)
    phase = (await find_phase(workspace, frame.head.timeline)).worked_on
    _add_notes(frame, await describe_sealed_phase(workspace, frame.head.timeline, phase), budget)
    _add_notes(frame, await describe_unpulled(workspace), budget)
    async with run_beside(load_cloud_profile(workspace, frame.head.timeline)) as cloud_facts:
        if task.strip():
            sections = await _collect_for_task(workspace, frame, task)
        else:  # this opens a session
            opened = await collect_records(workspace, frame.view, OPENING)
            await add_notices(workspace, frame, opened)
            nudges = await bring_up_nudge(workspace, frame.opening, budget)
            captures = await bring_up_captures(workspace, frame.head.timeline, to_user=to_user)
            sections = [*nudges, *captures, *make_sections(OPENING, opened.found)]
        if facts := await cloud_facts:
            sections.append(Section(_CLOUD, facts=facts))
    return render_in_frame(frame, sections, budget, now)


def _add_notes(frame: OpeningFrame, notes: Iterable[str], budget: int) -> None:
    """Add the notes that still fit into the budget to the opening."""
    for note in notes:
        if count_tokens("\n".join([OPEN, *frame.opening, note, CLOSE])) <= budget:
            frame.opening.append(note)


def _check_budget(workspace: Workspace, asked: int | None) -> int:
    if asked is None:
        return workspace.policy.opening.bootstrap_tokens
    if not limits.CONTEXT_TOKENS_MIN <= asked <= limits.CONTEXT_TOKENS_MAX:
        raise InvalidRequestError(
            f"budget_tokens is {asked}; choose {limits.CONTEXT_TOKENS_MIN} to "
            f"{limits.CONTEXT_TOKENS_MAX}."
        )
    return asked


async def _collect_for_task(workspace: Workspace, frame: OpeningFrame, task: str) -> list[Section]:
    """What always counts, then facts and episodes for the task."""
    opened = await collect_records(workspace, frame.view, WITH_TASK)
    facts, episodes = await gather_all(
        search_for_task(workspace, frame.head, task, kinds, workspace.policy.opening)
        for kinds in (SEMANTIC, EPISODIC)
    )
    holding = present_records(
        workspace, (hit.excerpt for hit in facts.hits if hit.outdated_by is None)
    )
    outdated = {hit.record.id for hit in facts.hits if hit.outdated_by}
    for name, records in opened.found.items():
        opened.found[name] = [record for record in records if record.id not in outdated]
    many, few = share_room(len(holding), len(episodes.hits), workspace.policy.opening.topn)
    opened.found["task"] = holding[:many]
    opened.found["before"] = present_records(
        workspace, (hit.excerpt for hit in episodes.hits[:few])
    )
    opened.unreadable |= facts.unreadable | episodes.unreadable
    await add_notices(workspace, frame, opened)
    return make_sections(WITH_TASK, opened.found)
