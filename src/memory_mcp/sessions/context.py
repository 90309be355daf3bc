"""The block for the start of a session, for a task, or for what has changed since."""

from collections.abc import Iterable

from memory_mcp.bootstrap.opening import (
    OpeningFrame,
    collect_records,
    make_frame,
    note_missing_records,
    render_in_frame,
)
from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.pending import unseen
from memory_mcp.engine.phases import phase_now, redoing
from memory_mcp.engine.reading import beside, together
from memory_mcp.engine.workspace import Workspace, reads_refused
from memory_mcp.errors import InvalidRequestError
from memory_mcp.fence import CLOSE, OPEN
from memory_mcp.profile.sync import zone_named
from memory_mcp.render.block import Block, Section, count_tokens
from memory_mcp.render.profile import render_now_line
from memory_mcp.render.sections import (
    EPISODIC,
    OPENING,
    SEMANTIC,
    WITH_TASK,
    make_sections,
    share_room,
)
from memory_mcp.render.since import parse_since
from memory_mcp.search.recall import cloud_profile
from memory_mcp.search.search import recalled_for
from memory_mcp.sessions.delta import changed_since
from memory_mcp.sessions.nudges import brought_up
from memory_mcp.trust.strangers import mention_strangers

_UNTOLD = "What is new since {} cannot be told (something came late): this is the whole opening."
_CLOUD = "What the cloud makes of it (derived, may be stale)"


async def memory_context(
    workspace: Workspace, task: str = "", budget_tokens: int | None = None, since: str = ""
) -> Block | Skipped:
    """What matters now, best first, within the budget (characters / 4); else the usual one.

    With a task it is filled by what is recalled for it, with `since` by what has changed.

    Raises:
        InvalidRequestError: the budget is out of range, `since` is no moment, or it comes with a
            task.
        StoreUnavailableError: nothing can be shown because the records' folder is not there.
    """
    if skipped := reads_refused(workspace):
        return skipped
    budget = _budget(workspace, budget_tokens)
    if task.strip() and since.strip():
        raise InvalidRequestError(
            "task and since are two questions: what is known for a task, and what has changed. "
            "Ask one after the other."
        )
    asked = parse_since(since, workspace.clock.now()) if since.strip() else None
    for pool in workspace.pools:
        if pool.mirror:
            pool.mirror.look_soon()
    frame = await make_frame(workspace)
    _note(frame, await mention_strangers(workspace), budget)
    now = _now(workspace, frame)
    if asked:
        if delta := await changed_since(workspace, frame, asked):
            return render_in_frame(*delta, budget, now)
        _note(frame, [_UNTOLD.format(asked.said)], budget)
    phase = (await phase_now(workspace, frame.head.timeline)).worked_on
    _note(frame, redoing(workspace, frame.head.timeline, phase), budget)
    _note(frame, await unseen(workspace), budget)
    async with beside(cloud_profile(workspace, frame.head.timeline)) as asking:
        if task.strip():
            sections = await _for_task(workspace, frame, task)
        else:  # this opens a session
            opened = await collect_records(workspace, frame.view, OPENING)
            await note_missing_records(workspace, frame, opened)
            nudges = await brought_up(workspace, frame.opening, budget)
            sections = [*nudges, *make_sections(OPENING, opened.found)]
        if facts := await asking:
            sections.append(Section(_CLOUD, facts=facts))
    return render_in_frame(frame, sections, budget, now)


def _note(frame: OpeningFrame, notes: Iterable[str], budget: int) -> None:
    """Say these at the opening, as far as the budget goes; of the least one nothing is left."""
    for note in notes:
        if count_tokens("\n".join([OPEN, *frame.opening, note, CLOSE])) <= budget:
            frame.opening.append(note)


def _budget(workspace: Workspace, asked: int | None) -> int:
    if asked is None:
        return workspace.policy.opening.bootstrap_tokens
    if not limits.CONTEXT_TOKENS_MIN <= asked <= limits.CONTEXT_TOKENS_MAX:
        raise InvalidRequestError(
            f"budget_tokens is {asked}; choose {limits.CONTEXT_TOKENS_MIN} to "
            f"{limits.CONTEXT_TOKENS_MAX}."
        )
    return asked


async def _for_task(workspace: Workspace, frame: OpeningFrame, task: str) -> list[Section]:
    """What always counts, and what is recalled for the task: what is so, and what happened."""
    opened = await collect_records(workspace, frame.view, WITH_TASK)
    so, happened = await together(
        recalled_for(workspace, task, kinds, workspace.policy.opening)
        for kinds in (SEMANTIC, EPISODIC)
    )
    many, few = share_room(len(so.hits), len(happened.hits), workspace.policy.opening.topn)
    opened.found["task"] = [hit.record for hit in so.hits[:many]]
    opened.found["before"] = [hit.record for hit in happened.hits[:few]]
    opened.unreadable |= so.unreadable | happened.unreadable
    await note_missing_records(workspace, frame, opened)
    return make_sections(WITH_TASK, opened.found)


def _now(workspace: Workspace, frame: OpeningFrame) -> str:
    return render_now_line(workspace.clock.now(), zone_named(frame.zone), frame.zone)
