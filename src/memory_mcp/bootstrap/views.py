"""Renders what holds into files: for hooks, for CLAUDE.md and for people.

They are derivatives, rendered anew after each write, a moment later and beside the calls. What
must not be shown for that moment is withdrawn before the call answers: after a backtrack what shows
its branch, and after a memory was erased, hidden or corrected everything. A file that cannot be
written is a note and fails no call.
"""

import asyncio
import logging
from typing import Final

from memory_mcp.deadlines import wait_for_first
from memory_mcp.domain.ids import MAIN, BranchName, RecordId
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.sessions import RENDER_IDLE_SECONDS_MAX, RenderedFile
from memory_mcp.engine.git import get_standing
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.records import gather_all
from memory_mcp.engine.workspace import MemoryBank, Workspace, refuse_writes
from memory_mcp.errors import MemoryMcpError, StoreError
from memory_mcp.patterns import compile_later

_LOG: Final = logging.getLogger("memory_mcp.views")

_PAUSE_SECONDS: Final = 0.3
"""Writes come in groups: rendering waits until none has come for this long."""

_PAUSES_MAX: Final = 10
"""Rendering is put off by no more than this many pauses."""

_SHOWN_ID: Final = compile_later(r"\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]")

_FAILED: Final = "The rendered files (session-context.md, MEMORY.md, …) may show the old state: {}"
_FOREIGN: Final = (
    "{} was not written by memory-mcp, so it is left as it is: no view is rendered there."
)


async def render_views(workspace: Workspace) -> tuple[str, ...]:
    """Write anew what the files show; a note if that fails.

    Of two processes that render at once, the one that reads later writes later.
    """
    if refuse_writes(workspace):
        return ()
    from memory_mcp.bootstrap.pages import render_files  # noqa: PLC0415  # most commands need none

    changes = workspace.project.changes
    try:
        async with workspace.views.alone():
            count = changes.count
            watched = await workspace.views.watch()
            rendering = await render_files(workspace, _session_branches(workspace), watched)
            foreign = await workspace.views.write(rendering)
            changes.shown = max(changes.shown, count)
    except MemoryMcpError as error:
        return (_FAILED.format(error),)
    for place in foreign:  # the doctor reports it; a receipt need not each time
        _LOG.info("%s", _FOREIGN.format(place))
    return ()


async def withdraw_removed(workspace: Workspace, bank: MemoryBank) -> tuple[str, ...]:
    """Take back what may show a record of this bank that was erased, hidden or corrected.

    What is not the project's is shown in other projects too: there it is taken back until a
    session renders it anew.
    """
    page = _make_withdrawn_page()
    notes = await _withdraw(workspace, None, page)
    if bank is not workspace.project:
        try:
            await workspace.views.withdraw_elsewhere(page)
        except MemoryMcpError as error:
            notes += (_FAILED.format(error),)
    return notes


async def withdraw_branch(workspace: Workspace) -> tuple[str, ...]:
    """Take back what shows the branch as it was before a move, until it is rendered anew.

    Clients read the pages without a check, so they must not show for a moment what was just left.
    """
    branch = workspace.caller.branch
    page = _make_withdrawn_page() if branch == MAIN else ""  # the pages show the main branch alone
    return await _withdraw(workspace, branch, page)


def _make_withdrawn_page() -> str:
    from memory_mcp.render.pages import render_withdrawn_page  # noqa: PLC0415  # few calls withdraw

    return render_withdrawn_page()


async def _withdraw(workspace: Workspace, branch: BranchName | None, page: str) -> tuple[str, ...]:
    try:
        async with workspace.views.alone():
            await workspace.views.withdraw(branch, page)
    except MemoryMcpError as error:
        return (_FAILED.format(error),)
    return ()


async def render_if_stale(workspace: Workspace) -> tuple[str, ...]:
    """Render unless the files show what holds: at a start, after a cut, after others wrote.

    Where the project has no head yet, no file appears.
    """
    if refuse_writes(workspace):
        return ()
    try:
        behind = workspace.project.changes.count > workspace.project.changes.shown
        if not behind and await workspace.views.are_current(*_session_branches(workspace)):
            return ()
        if await workspace.heads.read() is None:
            return ()
    except MemoryMcpError as error:
        return (_FAILED.format(error),)
    return await render_views(workspace)


async def keep_rendered(workspace: Workspace, leaving: asyncio.Event) -> None:
    """Render what any session writes until this one ends; then once more, if it wrote since."""
    if refuse_writes(workspace):
        return
    changes = workspace.project.changes
    logged: tuple[str, ...] = ()
    while not leaving.is_set():
        await _wait_for_changes(workspace, leaving, changes.count if logged else changes.shown)
        notes = await render_if_stale(workspace)
        for note in notes if notes != logged else ():  # once, not every half minute
            _LOG.warning("%s", note)
        logged = notes
    if changes.count > changes.shown:
        await render_views(workspace)


async def check_views(workspace: Workspace, *, repair: bool) -> list[Finding]:
    """The doctor's findings: files that show what does not hold, are foreign or unreadable."""
    found: list[Finding] = []
    for file in await workspace.views.list_rendered():
        if file.unreadable:
            remedy = "Move it away if it is no file of yours; the others are rendered without it."
            found.append(Finding("view-unreadable", "should", file.unreadable, remedy))
        elif not file.ours:
            remedy = "Move it away if the view is wanted; it is never overwritten."
            found.append(Finding("view-foreign", "should", _FOREIGN.format(file.place), remedy))
    for file, stale in (await _find_left_stale(workspace)).items():
        records = pluralise(len(stale), "record", "records")
        what = f"{file.place} shows what does not hold: {records}."
        remedy = "`memory-mcp doctor --repair` renders it anew; so does the next start of the "
        remedy += "server."
        weight = "should" if await _are_with_git(workspace, stale) else "must"
        found.append(Finding("view-stale", weight, what, remedy, repaired=repair))
    if repair and any(finding.repaired for finding in found):
        await render_views(workspace)
    return found


async def _find_left_stale(workspace: Workspace) -> dict[RenderedFile, set[RecordId]]:
    """The files that show what does not hold, though their session had the time to render them.

    It renders a moment after a write or a move of git's, and what was read before it did is
    compared with what holds after that. So a file counts if it stays as it is for that long.
    """
    stale = await _find_stale_files(workspace)
    for _ in range(_PAUSES_MAX if stale else 0):
        await asyncio.sleep(_PAUSE_SECONDS)
        now = await _find_stale_files(workspace)
        stale = {file: now[file] for file in stale if file in now}
        if not stale:
            break
    return stale


async def _find_stale_files(workspace: Workspace) -> dict[RenderedFile, set[RecordId]]:
    """The files that show records which do not hold, with these."""
    return {
        file: stale
        for file in await workspace.views.list_rendered()
        if file.ours and (stale := await _find_stale_records(workspace, file))
    }


async def _wait_for_changes(workspace: Workspace, leaving: asyncio.Event, shown: int) -> None:
    """Wait until writes came and then paused, or other processes may have written."""
    changes = workspace.project.changes
    await wait_for_first(changes.after(shown), leaving.wait(), seconds=RENDER_IDLE_SECONDS_MAX)
    for _ in range(_PAUSES_MAX):
        seen = changes.count
        await wait_for_first(leaving.wait(), seconds=_PAUSE_SECONDS)
        if leaving.is_set() or changes.count == seen:
            break


def _session_branches(workspace: Workspace) -> tuple[BranchName, ...]:
    return tuple(dict.fromkeys((MAIN, workspace.caller.branch, *workspace.conversations.branches)))


async def _find_stale_records(workspace: Workspace, file: RenderedFile) -> set[RecordId]:
    """The records that the file shows and that do not hold on its branch."""
    shown = {RecordId(id_) for id_ in _SHOWN_ID.findall(file.text)}
    try:
        timeline = (await load_head(workspace.at(MAIN))).timeline
        branch = BranchName(file.branch or MAIN)
        if branch not in timeline.branches:
            return shown
        view = make_view(workspace.at(branch), timeline)
        seen = await gather_all(bank.index.visible(shown, view) for bank in workspace.banks)
    except StoreError:  # an index that cannot be asked has its own finding
        return set()
    return shown.difference(*seen)


async def _are_with_git(workspace: Workspace, stale: set[RecordId]) -> bool:
    """Whether git took all of these out of sight since the file was rendered, by its last move."""
    git = workspace.git
    if git is None or git.mode == "off":
        return False
    index = workspace.project.index
    hides = get_standing(workspace.at(MAIN)).hides if git.mode == "follow" else ()
    hidden = set[RecordId]().union(*(await index.ids_by_segment(hides)).values())
    rest = stale - hidden
    if rest and git.history.load().with_code:  # their files went, and nobody has erased them
        rest -= rest - await index.ids() - await index.erased()
    return not rest
