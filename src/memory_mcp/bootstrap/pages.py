"""Makes the files that show what holds: the bootstrap of each branch, and the pages for people."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from memory_mcp.bootstrap.opening import (
    add_notices,
    collect_records,
    make_frame,
    render_in_frame,
)
from memory_mcp.domain.ids import MAIN, BranchName
from memory_mcp.domain.outcomes import LineHistory, Skipped
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.sessions import HISTORY_ENTRIES_MAX, Page
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.head import load_head, load_view, make_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.ports.sessions import Rendering
from memory_mcp.render.block import Block
from memory_mcp.render.pages import render_context_page, render_history_page, render_memory_page
from memory_mcp.render.sections import OPENING, PAGE, make_sections
from memory_mcp.rendered import Rendered, Watched

_BRANCHES_MAX: Final = 8
"""The bootstraps of so many branches are rendered after a write; others at a session's start."""

_PAGE_CANDIDATES_MAX: Final = 120
"""How many of each kind compete for the lines of MEMORY.md."""

_HISTORY_FILTERS: Final = (
    Filters(kinds=frozenset({"event"}), category="history", reach="project"),
    Filters(kinds=frozenset({"checkpoint", "episode"}), reach="project"),
)


async def render_files(
    workspace: Workspace, sessions: Sequence[BranchName], watched: Watched
) -> Rendering:
    """All files: those of the `sessions`' branches first. `watched` was taken before any read."""
    workspace.comparisons.used.clear()  # of what is shown no more nothing is kept
    head = await load_head(workspace)
    begun = await workspace.views.has_records()
    branches = await _list_branches(workspace, sessions, head.timeline) if begun else sessions
    bootstraps = [await _render_bootstrap(workspace, head, branch, watched) for branch in branches]
    if not begun:
        return Rendering(
            {}, tuple(each for _, each in bootstraps), tuple(workspace.comparisons.used)
        )
    main = workspace.at(MAIN)
    view = make_view(main, head.timeline)
    # of the project alone: the folder of MEMORY.md may be shared
    memory = await collect_records(main, view, PAGE, _PAGE_CANDIDATES_MAX, reach="project")
    history = await _find_history(main, view, HISTORY_ENTRIES_MAX)
    total = await main.project.index.count(view, Filters())
    project = workspace.scope.project or "none"
    block, of_main = bootstraps[0]
    ends = [of_main["until"], memory.until and memory.until.timestamp()]
    ends += [r.expires_at.timestamp() for r in history.records if r.expires_at]
    of_main["until"] = min((end for end in ends if end is not None), default=None)
    pages: dict[Page, str] = {
        "session-context.md": render_context_page(block),
        "MEMORY.md": render_memory_page(memory.found, total, project),
        "HISTORY.md": render_history_page(history, project),
    }
    return Rendering(
        pages, tuple(each for _, each in bootstraps), tuple(workspace.comparisons.used)
    )


async def _list_branches(
    workspace: Workspace, sessions: Sequence[BranchName], timeline: Timeline
) -> tuple[BranchName, ...]:
    """The branches of this server's sessions, then others whose bootstrap is kept for sessions."""
    kept = await workspace.views.branches()
    others = [BranchName(b) for b in kept if b in timeline.branches]
    return tuple(dict.fromkeys((*sessions, *others)))[:_BRANCHES_MAX]


async def _render_bootstrap(
    workspace: Workspace, head: Head, branch: BranchName, watched: Watched
) -> tuple[Block, Rendered]:
    """The bootstrap of a branch, with what it was made from.

    It names the project's phase: the one in MEMORY_PHASE is a session's own.
    """
    session = replace(workspace.at(branch), policy=replace(workspace.policy, phase=None))
    frame = await make_frame(session, head)
    collected = await collect_records(session, frame.view, OPENING)
    await add_notices(session, frame, collected)
    sections = make_sections(OPENING, collected.found)
    block = render_in_frame(frame, sections, workspace.policy.opening.bootstrap_tokens)
    seconds = workspace.views.valid_seconds
    valid = workspace.clock.now() + timedelta(seconds=seconds) if seconds else None
    until = min((end for end in (collected.until, frame.until, valid) if end), default=None)
    return block, Rendered(
        branch=branch,
        revision=frame.head.revision,
        text=block.text,
        tokens=block.tokens,
        zone=frame.zone,
        until=until.timestamp() if until else None,
        watched=watched,
    )


async def read_history(workspace: Workspace, limit: int) -> LineHistory | Skipped:
    """The newest of what happened on this session's branch."""
    if skipped := refuse_reads(workspace):
        return skipped
    return await _find_history(workspace, await load_view(workspace), limit)


async def _find_history(workspace: Workspace, view: View, limit: int) -> LineHistory:
    """History entries, checkpoints and episodes, newest first, and how many there are in all.

    Of the project alone: HISTORY.md may lie in a folder that is shared.
    """
    found: list[Record] = []
    total = 0
    for filters in _HISTORY_FILTERS:
        read = await load_newest(workspace, view, filters, limit)
        found += read.records
        every = len(read.records) + len(read.unreadable)
        total += await workspace.project.index.count(view, filters) if every >= limit else every
    found.sort(key=lambda record: record.id, reverse=True)
    return LineHistory(found[:limit], total)
