"""Rendering: what holds, as files for hooks, for CLAUDE.md and for people.

They are derivatives, made anew after whatever was written. Whatever hides or erases renders before
it answers; whatever only adds is rendered a moment later, beside the calls. A file that could not
be written is a note, and never costs the call.
"""

import asyncio
import logging
import re
from dataclasses import replace
from typing import Final, Literal

from memory_mcp.bootstrap.history import happened_in
from memory_mcp.bootstrap.opening import Gathered, frame_of, gathered, shown_in, told
from memory_mcp.domain.ids import MAIN, BranchName, RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.sessions import HISTORY_ENTRIES_MAX, RENDER_IDLE_SECONDS_MAX, Lying, Page
from memory_mcp.engine.head import current, view_on
from memory_mcp.engine.reading import together
from memory_mcp.engine.workspace import Pool, Workspace, writes_refused
from memory_mcp.errors import MemoryMcpError, StoreError
from memory_mcp.ports.sessions import Shown
from memory_mcp.render.block import Block
from memory_mcp.render.pages import context_page, history_page, memory_page, withdrawn_context_page
from memory_mcp.render.sections import OPENING, PAGE, make_sections
from memory_mcp.rendered import Rendered, Watched

_LOG: Final = logging.getLogger("memory_mcp.views")

_TOGETHER_SECONDS: Final = 0.3
"""Who adds one memory often adds another; rendering waits until they have paused this long."""

_PAUSES_MAX: Final = 10
"""Who never pauses is not waited for longer than this many times."""

_BRANCHES_MAX: Final = 8
"""So many bootstraps are kept up with what is written; on other branches a session renders it."""

_PAGE_LOOKED_AT: Final = 120
"""How many of each kind compete for the lines of MEMORY.md."""

_NAMED: Final = re.compile(r"\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]")

_FAILED: Final = "The rendered files (session-context.md, MEMORY.md, …) may show the old state: {}"
_FOREIGN: Final = (
    "{} was not written by memory-mcp, so it is left as it is: no view is rendered there."
)


async def render_views(workspace: Workspace) -> tuple[str, ...]:
    """Write anew what the files show; what should be said about it, if it did not work.

    Of two processes that do so at once the one that reads later writes later.
    """
    if writes_refused(workspace):
        return ()
    changes = workspace.project.changes
    try:
        async with workspace.views.alone():
            count = changes.count
            watched = await workspace.views.watch()
            foreign = await workspace.views.write(await _rendered(workspace, watched))
            changes.shown = max(changes.shown, count)
    except MemoryMcpError as error:
        return (_FAILED.format(error),)
    for place in foreign:  # the doctor names it; whoever works here need not hear of it each time
        _LOG.info("%s", _FOREIGN.format(place))
    return ()


async def render_where_shown(workspace: Workspace, pool: Pool) -> tuple[str, ...]:
    """Render after something of this pool fell: what is the user's is shown in other projects too.

    There nothing can be rendered from here. What may show it goes, and their next session renders.
    """
    notes = await render_views(workspace)
    if pool is workspace.user:
        try:
            await workspace.views.strike(withdrawn_context_page())
        except MemoryMcpError as error:
            notes += (_FAILED.format(error),)
    return notes


async def render_if_behind(workspace: Workspace) -> tuple[str, ...]:
    """Render unless what lies there shows what holds: at a start, after a cut, after others wrote.

    Where nobody ever looked into the memory, no file appears.
    """
    if writes_refused(workspace):
        return ()
    try:
        behind = workspace.project.changes.count > workspace.project.changes.shown
        if not behind and await workspace.views.hold(*_branches(workspace)):
            return ()
        if await workspace.heads.read() is None:
            return ()
    except MemoryMcpError as error:
        return (_FAILED.format(error),)
    return await render_views(workspace)


async def keep_rendered(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Render what any session writes, until this one ends; then once more, if it wrote since."""
    if writes_refused(workspace):
        return
    changes = workspace.project.changes
    gone = asyncio.ensure_future(leaving.wait())
    said: tuple[str, ...] = ()
    try:
        while not leaving.is_set():
            await _something(workspace, gone, changes.count if said else changes.shown)
            notes = await render_if_behind(workspace)
            for note in notes if notes != said else ():  # once, not every half minute
                _LOG.warning("%s", note)
            said = notes
        if changes.count > changes.shown:
            await render_views(workspace)
    finally:
        gone.cancel()


async def view_findings(workspace: Workspace, *, repair: bool) -> list[Finding]:
    """What the doctor says of them: no file shows what does not hold, and none is in the way."""
    found: list[Finding] = []
    for file in await workspace.views.lying():
        if file.unreadable:
            found.append(
                Finding(
                    "view-unreadable", "should", file.unreadable,
                    "Move it away if it is no file of yours; the others are rendered without it.",
                )
            )  # fmt: skip
        elif not file.ours:
            found.append(
                Finding(
                    "view-foreign", "should", _FOREIGN.format(file.place),
                    "Move it away if the view is wanted; it is never overwritten.",
                )
            )  # fmt: skip
        elif stale := await _stale_if_known(workspace, file):
            found.append(
                Finding(
                    "view-stale", "must",
                    f"{file.place} shows {len(stale)} record(s) that do not hold.",
                    "`memory-mcp doctor --repair` renders it anew; so does the next start of the "
                    "server.",
                    repaired=repair,
                )
            )  # fmt: skip
    if repair and any(finding.repaired for finding in found):
        await render_views(workspace)
    return found


async def _something(workspace: Workspace, gone: asyncio.Future[Literal[True]], shown: int) -> None:
    """Until more is written here and then no more for a moment, or others may have."""
    changes = workspace.project.changes
    news = asyncio.ensure_future(changes.after(shown))
    try:
        await asyncio.wait(
            {news, gone}, timeout=RENDER_IDLE_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        news.cancel()
    for _ in range(_PAUSES_MAX):
        seen = changes.count
        await asyncio.wait({gone}, timeout=_TOGETHER_SECONDS)
        if gone.done() or changes.count == seen:
            break


def _branches(workspace: Workspace) -> tuple[BranchName, ...]:
    return tuple(dict.fromkeys((MAIN, workspace.caller.branch, *workspace.conversations.branches)))


async def _all_branches(workspace: Workspace) -> tuple[BranchName, ...]:
    """These, and those whose bootstrap lies ready for other sessions, if they are there still."""
    there = (await current(workspace)).timeline.branches
    others = [BranchName(each) for each in await workspace.views.branches() if each in there]
    return tuple(dict.fromkeys((*_branches(workspace), *others)))[:_BRANCHES_MAX]


async def _rendered(workspace: Workspace, watched: Watched) -> Shown:
    """Everything, read after it was noted how what is read looks."""
    branches = (
        await _all_branches(workspace) if await workspace.views.begun() else _branches(workspace)
    )
    bootstraps = [await _bootstrap(workspace, branch, watched) for branch in branches]
    if not await workspace.views.begun():
        return Shown({}, tuple(each for _, each in bootstraps))
    main = workspace.at(MAIN)
    view = view_on(main, (await current(main)).timeline)
    opened = await _for_memory(main, view)
    history = await happened_in(main, view, HISTORY_ENTRIES_MAX)
    total = await main.project.index.count(view, Filters())
    project = workspace.scope.project or "none"
    block, first = bootstraps[0]
    shown = [r.expires_at for each in (*opened.found.values(), history.records) for r in each]
    ends = [first["until"], *(end.timestamp() for end in shown if end)]
    first["until"] = min((end for end in ends if end is not None), default=None)
    pages: dict[Page, str] = {
        "session-context.md": context_page(block),
        "MEMORY.md": memory_page(opened.found, total, project),
        "HISTORY.md": history_page(history, project),
    }
    return Shown(pages, tuple(each for _, each in bootstraps))


async def _bootstrap(
    workspace: Workspace, branch: BranchName, watched: Watched
) -> tuple[Block, Rendered]:
    """What opens a session on the branch, with what it was made from.

    The phase that MEMORY_PHASE names is a session's own affair; here the project's is said.
    """
    there = replace(workspace.at(branch), policy=replace(workspace.policy, phase=None))
    frame = await frame_of(there)
    opened = await gathered(there, frame.view, OPENING)
    await told(there, frame, opened)
    sections = make_sections(OPENING, opened.found)
    block = shown_in(frame, sections, workspace.policy.opening.bootstrap_tokens)
    until = min((end for end in (opened.until, frame.until) if end), default=None)
    return block, Rendered(
        branch=branch,
        revision=frame.head.revision,
        text=block.text,
        tokens=block.tokens,
        zone=frame.zone,
        until=until.timestamp() if until else None,
        watched=watched,
    )


async def _for_memory(workspace: Workspace, view: View) -> Gathered:
    """What MEMORY.md may show: of the project alone, for its folder may be shared."""
    return await gathered(workspace, view, PAGE, _PAGE_LOOKED_AT, reach="project")


async def _stale_if_known(workspace: Workspace, file: Lying) -> set[RecordId]:
    try:
        return await _stale(workspace, file)
    except StoreError:  # an index that cannot be asked has its own finding
        return set()


async def _stale(workspace: Workspace, file: Lying) -> set[RecordId]:
    """The records that the file names and that do not hold where it is read."""
    named = {RecordId(id_) for id_ in _NAMED.findall(file.text)}
    timeline = (await current(workspace.at(MAIN))).timeline
    branch = BranchName(file.branch or MAIN)
    if branch not in timeline.branches:
        return named
    view = view_on(workspace.at(branch), timeline)
    seen = await together(pool.index.visible(named, view) for pool in workspace.pools)
    return named.difference(*seen)
