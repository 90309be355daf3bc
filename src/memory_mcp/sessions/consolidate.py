"""What a long session hands on, written down while it runs and at its end."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Final

from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.outcomes import (
    Consolidation,
    ConsolidationDraft,
    ConsolidationReceipt,
    Skipped,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.cleaning import kept_text
from memory_mcp.engine.head import view_of, view_on, write_together, writing
from memory_mcp.engine.pending import pending_note
from memory_mcp.engine.reading import load
from memory_mcp.engine.receipts import still_on_line
from memory_mcp.engine.workspace import Workspace, reads_refused, writes_refused
from memory_mcp.errors import MemoryMcpError, StoreError
from memory_mcp.profile.sync import read_profile, zone_named
from memory_mcp.ranking.dates import find_leading_date
from memory_mcp.sessions.moved_back import GIVEN_UP, moved_back_since
from memory_mcp.text.closeouts import (
    HISTORY,
    build_consolidation_records,
    check_consolidation,
    find_role,
    finish_consolidation,
    join_lines,
)

_LOOKED_AT: Final = 20
"""Of a session: what it handed on last, and the entries that it may be about to repeat."""

_ALL: Final = 200
"""Of all sessions together: many may have learnt something since one said what is true."""

_NOT_FINAL: Final = (
    "This session never said what is true now (memory_update), so there is nothing to make final."
)

COMPACTED_BY: Final = "claude-code/hook"
"""Who writes what hooks left. Of those events the inbox keeps the order."""


async def consolidate(
    workspace: Workspace, given: ConsolidationDraft, *, compacted_at: datetime | None = None
) -> ConsolidationReceipt | Skipped:
    """Write down what happened, what is true now and what was learnt; what is known is left.

    Given nothing to write, it only answers what was handed on last. The summary of a conversation
    that was `compacted_at` some moment is no word of the agent: it gives way to what the agent has
    consolidated since, and to a backtrack; and the agent's next reminder comes no later for it.

    Raises:
        InvalidRequestError: it cannot be stored; the message says why.
    """
    if given.empty and not given.final:
        return await _asked(workspace, given)
    if skipped := writes_refused(workspace):
        return skipped
    check_consolidation(given)
    given, notes = await _cleaned(workspace, given)
    check_consolidation(given)  # a marker may be longer than what it stands for
    if given.session:
        workspace = replace(workspace, caller=replace(workspace.caller, conversation=given.session))
    given = replace(given, session=workspace.origin().session)
    ended = True

    async def plan(head: Head) -> tuple[Record, ...]:
        nonlocal ended
        now = workspace.clock.now()
        view = view_on(workspace, head.timeline)
        known = await _known(workspace, given.session, view)
        said = finish_consolidation(given, known)
        ended = bool(said.memory_update)
        await _refuse_late(workspace, head, view, given.session, compacted_at)
        new = build_consolidation_records(
            said,
            known,
            day=await _day(workspace, view),
            dated=lambda text: find_leading_date(text)[0] is not None,
            writing=partial(writing, workspace, head.timeline, now),
        )
        return tuple(new)

    try:
        async with workspace.project.writing:
            written = await write_together(workspace, plan)
    except _LateError as late:
        return Skipped(late.why)
    await _reminded(workspace, given.session, compacted_at)
    if given.empty and not ended:
        return ConsolidationReceipt(session=given.session, notes=(_NOT_FINAL,), nothing=True)
    if given.final and not ended:
        notes += (_NOT_FINAL,)
    if written:
        notes += await still_on_line(workspace, written[0], frozenset(r.id for r in written))
    return ConsolidationReceipt(
        session=given.session,
        written=written,
        notes=(*notes, *await pending_note(workspace)),
        latest=await latest_consolidation(workspace),
        due_turns=0 if given.final else workspace.policy.opening.interval,
    )


async def latest_consolidation(workspace: Workspace, session: str = "") -> Consolidation | None:
    """What was handed on last, by any session or by this one, and is visible from here.

    None if nothing was. Of all sessions the one counts that said last what is true now: of what
    another only learnt since, nobody can go on. Insights alone count while that is all there is.
    """
    view = await view_of(workspace)
    if not session:
        every = await _summaries(workspace, Filters(kinds=frozenset({"summary"})), view, _ALL)
        last = next((r for r in every if find_role(r) != "insights"), None) or next(
            iter(every), None
        )
        if last is None:
            return None
        session = last.origin.session
    own = await _summaries(workspace, Filters(kinds=frozenset({"summary"}), session=session), view)
    if not own:
        return None
    summary = next((r for r in own if find_role(r) in ("checkpoint", "final")), None)
    return Consolidation(
        session=session,
        final=summary is not None and find_role(summary) == "final",
        summary=summary,
        insights=next((r for r in own if find_role(r) == "insights"), None),
    )


class _LateError(Exception):
    """Carries out of a plan why the summary of a compaction is not written any more."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


async def _reminded(workspace: Workspace, session: str, compacted_at: datetime | None) -> None:
    """The agent has said where it stands: the next reminder is due as many turns from now."""
    if compacted_at is None:
        with suppress(MemoryMcpError):  # then the next reminder comes early
            await workspace.inbox.note_consolidated(session)


async def _refuse_late(
    workspace: Workspace, head: Head, view: View, session: str, at: datetime | None
) -> None:
    if at is None:
        return
    if await moved_back_since(workspace, head, at):
        raise _LateError(GIVEN_UP)
    mine = Filters(kinds=frozenset({"summary"}), session=session)
    for record in await _summaries(workspace, mine, view):
        by_agent = record.origin.client != COMPACTED_BY and find_role(record) != "insights"
        if by_agent and record.created_at >= at:
            raise _LateError("the agent has consolidated since")


async def _asked(workspace: Workspace, given: ConsolidationDraft) -> ConsolidationReceipt | Skipped:
    if skipped := reads_refused(workspace):
        return skipped
    session = workspace.named(given.session)
    latest = await latest_consolidation(workspace, session)
    return ConsolidationReceipt(session=session, latest=latest, asked=True)


async def _cleaned(
    workspace: Workspace, given: ConsolidationDraft
) -> tuple[ConsolidationDraft, tuple[str, ...]]:
    """As it may be stored, and sentences about what was left out of it."""
    history, notes = await kept_text(workspace, "history_entry", given.history_entry)
    update, said = await kept_text(workspace, "memory_update", given.memory_update)
    notes += said
    insights: list[str] = []
    for text in given.insights:
        own, said = await kept_text(workspace, "insights", text)
        notes += said
        insights += [own] if own else []
    cleaned = replace(
        given, history_entry=join_lines(history), memory_update=update, insights=tuple(insights)
    )
    return cleaned, tuple(dict.fromkeys(notes))


async def _known(workspace: Workspace, session: str, view: View) -> list[Record]:
    """What the session handed on, and its last entries of the history, as far as it is visible."""
    told = Filters(kinds=frozenset({"event"}), category=HISTORY, session=session)
    mine = Filters(kinds=frozenset({"summary"}), session=session)
    pool = workspace.project
    entries = await load(pool, await pool.index.find(view, told, _LOOKED_AT))
    return [*entries, *await _summaries(workspace, mine, view)]


async def _summaries(
    workspace: Workspace, filters: Filters, view: View, most: int = _LOOKED_AT
) -> list[Record]:
    """The consolidations among the newest summaries, newest first."""
    pool = workspace.project
    found = await load(pool, await pool.index.find(view, filters, most))
    return [record for record in found if find_role(record) is not None]


async def _day(workspace: Workspace, view: View) -> date:
    """Today, where the user is, if the profile knows that."""
    try:
        zone = zone_named((await read_profile(workspace, view)).zone) or UTC
    except StoreError:
        zone = UTC
    return workspace.clock.now().astimezone(zone).date()


_THOUGHTS: Final = re.compile(r"<analysis>.*?</analysis>", re.DOTALL)
_TAG: Final = re.compile(r"</?summary>")


async def keep_compacted(workspace: Workspace, summary: str, at: datetime) -> str:
    """Keep it, unless the session knows better by now; why not, if it is not kept.

    It was made at that moment: what the agent has consolidated since is newer.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse.
    """
    plain = _TAG.sub("", _THOUGHTS.sub("", summary)).encode(errors="replace").decode()
    text, _ = await kept_text(workspace, "compact_summary", plain)
    if not text:
        return "the summary says nothing"
    given = ConsolidationDraft(memory_update=_shortened(text), session=workspace.origin().session)
    outcome = await consolidate(workspace, given, compacted_at=at)
    return outcome.reason if isinstance(outcome, Skipped) else ""


def _shortened(text: str) -> str:
    """As much as one memory may hold, up to the end of a paragraph or a line."""
    if len(text) <= CONTENT_CHARS_MAX:
        return text
    cut = text[: CONTENT_CHARS_MAX - 1]
    end = max(cut.rfind("\n\n"), cut.rfind("\n", CONTENT_CHARS_MAX // 2))
    return f"{(cut[:end] if end > 0 else cut).rstrip()}…"
