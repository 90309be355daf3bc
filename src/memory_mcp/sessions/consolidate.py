"""Consolidates a long session: what happened, what is true now, and what was learnt."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Final

from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.outcomes import (
    Consolidation,
    ConsolidationDraft,
    ConsolidationReceipt,
    Skipped,
    find_consolidation_role,
    find_latest_consolidation,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Filters, View
from memory_mcp.domain.timeline import Head
from memory_mcp.engine.cloud import describe_pending
from memory_mcp.engine.head import load_view, make_view, make_writing, write_in_one_step
from memory_mcp.engine.records import describe_line, find_moves_back, load_records
from memory_mcp.engine.redaction import prepare_field
from memory_mcp.engine.workspace import Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import MemoryMcpError, StoreError
from memory_mcp.hints import address
from memory_mcp.patterns import compile_later
from memory_mcp.profile import read_profile
from memory_mcp.text.closeouts import (
    HISTORY_CATEGORY,
    build_consolidation_records,
    check_consolidation,
    finish_consolidation,
    join_lines,
)
from memory_mcp.words.dates import find_leading_date
from memory_mcp.zones import find_time_zone

_LOOKED_AT: Final = 20
"""Records of a session that are read to find its last consolidation and repeated entries."""

_ALL: Final = 200
"""Summaries of all sessions that are read: many may be insights alone."""

COMPACTED_BY: Final = "claude-code/hook"
"""The client that writes what hooks left in the inbox."""


GIVEN_UP: Final = "it was said on a road that the branch has left since"


async def consolidate(
    workspace: Workspace, given: ConsolidationDraft, *, compacted_at: datetime | None = None
) -> ConsolidationReceipt | Skipped:
    """Write what happened, what is true now and what was learnt, except what is known already.

    With nothing to write, it answers with the last consolidation. With `compacted_at` this is the
    summary of a compaction at that time: it is skipped if the agent has consolidated or the branch
    has moved back since, and it does not postpone the agent's next reminder.

    Raises:
        InvalidRequestError: it cannot be stored; the message says why.
    """
    if given.empty and not given.final:
        return await _answer_latest(workspace, given.session)
    if skipped := refuse_writes(workspace):
        return skipped
    check_consolidation(given)
    given, notes = await _prepare(workspace, given)
    check_consolidation(given)  # again: a marker may be longer than the secret
    if given.session:
        workspace = replace(workspace, caller=replace(workspace.caller, conversation=given.session))
    given = replace(given, session=workspace.origin().session)

    async def plan(head: Head) -> tuple[tuple[Record, ...], bool]:
        now = workspace.clock.now()
        view = make_view(workspace, head.timeline)
        known = await _load_known(workspace, given.session, view)
        finished = finish_consolidation(given, known)
        await _refuse_late(workspace, head, view, given.session, compacted_at)
        new = build_consolidation_records(
            finished,
            known,
            day=now.astimezone(await find_zone(workspace, view)).date(),
            dated=lambda text: find_leading_date(text)[0] is not None,
            writing=partial(make_writing, workspace, head.timeline, now),
        )
        return tuple(new), bool(finished.memory_update)

    try:
        async with workspace.project.writing:
            written, ended = await write_in_one_step(workspace, plan)
    except _LateError as late:
        return Skipped(late.why)
    if compacted_at is None:
        with suppress(MemoryMcpError):  # then the next reminder comes early
            await workspace.inbox.note_consolidated(given.session)
    if given.empty and not ended:
        return ConsolidationReceipt(
            session=given.session, notes=(_describe_no_final(),), nothing=True
        )
    if given.final and not ended:
        notes += (_describe_no_final(),)
    if written:
        notes += await describe_line(workspace, written[0], frozenset(r.id for r in written))
    return ConsolidationReceipt(
        session=given.session,
        written=written,
        notes=(*notes, *await describe_pending(workspace)),
        latest=await latest_consolidation(workspace),  # by the newest head: the line may be left
        due_turns=0 if given.final else workspace.policy.opening.interval,
    )


async def latest_consolidation(workspace: Workspace, session: str = "") -> Consolidation | None:
    """The last visible consolidation, of this session or of any.

    Of all sessions, the one counts that last said what is true now; insights alone count only if
    no session has said that.
    """
    kinds = Filters(kinds=frozenset({"summary"}), session=session or None)
    most = _LOOKED_AT if session else _ALL
    found = await _load_summaries(workspace, kinds, await load_view(workspace), most)
    return find_latest_consolidation(found)


class _LateError(Exception):
    """Carries the reason why a compaction's summary is too late out of a plan."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


async def _answer_latest(workspace: Workspace, session: str) -> ConsolidationReceipt | Skipped:
    if skipped := refuse_reads(workspace):
        return skipped
    session = workspace.named(session)
    latest = await latest_consolidation(workspace, session)
    return ConsolidationReceipt(session=session, latest=latest, asked=True)


async def _refuse_late(
    workspace: Workspace, head: Head, view: View, session: str, at: datetime | None
) -> None:
    if at is None:
        return
    if await find_moves_back(workspace, head, at):
        raise _LateError(GIVEN_UP)
    mine = Filters(kinds=frozenset({"summary"}), session=session)
    for record in await _load_summaries(workspace, mine, view):
        by_agent = (
            record.origin.client != COMPACTED_BY and find_consolidation_role(record) != "insights"
        )
        if by_agent and record.created_at >= at:
            raise _LateError("the agent has consolidated since")


async def _prepare(
    workspace: Workspace, given: ConsolidationDraft
) -> tuple[ConsolidationDraft, tuple[str, ...]]:
    """The texts without secrets and recalled text, and notes about what was taken out."""
    history, notes = await prepare_field(workspace, "history_entry", given.history_entry)
    update, more = await prepare_field(workspace, "memory_update", given.memory_update)
    notes += more
    insights: list[str] = []
    for text in given.insights:
        own, more = await prepare_field(workspace, "insights", text)
        notes += more
        insights += [own] if own else []
    prepared = replace(
        given, history_entry=join_lines(history), memory_update=update, insights=tuple(insights)
    )
    return prepared, tuple(dict.fromkeys(notes))


async def _load_known(workspace: Workspace, session: str, view: View) -> list[Record]:
    """The session's visible consolidations and its last entries of the history."""
    events = Filters(kinds=frozenset({"event"}), category=HISTORY_CATEGORY, session=session)
    mine = Filters(kinds=frozenset({"summary"}), session=session)
    bank = workspace.project
    entries = await load_records(bank, await bank.index.find(view, events, _LOOKED_AT))
    return [*entries, *await _load_summaries(workspace, mine, view)]


async def _load_summaries(
    workspace: Workspace, filters: Filters, view: View, most: int = _LOOKED_AT
) -> list[Record]:
    """The consolidations among the newest summaries, newest first."""
    bank = workspace.project
    found = await load_records(bank, await bank.index.find(view, filters, most))
    return [record for record in found if find_consolidation_role(record) is not None]


async def find_zone(workspace: Workspace, view: View) -> tzinfo:
    """The user's time zone, or UTC if the profile does not tell."""
    try:
        return find_time_zone((await read_profile(workspace, view)).zone) or UTC
    except StoreError:
        return UTC


_ANALYSIS: Final = compile_later(r"<analysis>.*?</analysis>", re.DOTALL)
_TAG: Final = compile_later(r"</?summary>")


async def write_compaction(workspace: Workspace, summary: str, at: datetime) -> str:
    """Write the summary of a compaction at that time; why not, if it is skipped.

    Raises:
        InvalidRequestError: it holds a secret, and MEMORY_SECRETS is refuse.
    """
    plain = _TAG.sub("", _ANALYSIS.sub("", summary)).encode(errors="replace").decode()
    text, _ = await prepare_field(workspace, "compact_summary", plain)
    if not text:
        return "the summary says nothing"
    given = ConsolidationDraft(memory_update=_shorten(text), session=workspace.origin().session)
    outcome = await consolidate(workspace, given, compacted_at=at)
    return outcome.reason if isinstance(outcome, Skipped) else ""


def _shorten(text: str) -> str:
    """The text, cut to what one memory may hold, at the end of a paragraph or line if possible."""
    if len(text) <= CONTENT_CHARS_MAX:
        return text
    cut = text[: CONTENT_CHARS_MAX - 1]
    end = max(cut.rfind("\n\n"), cut.rfind("\n", CONTENT_CHARS_MAX // 2))
    return f"{(cut[:end] if end > 0 else cut).rstrip()}…"


def _describe_no_final() -> str:
    given = address("memory_update", "--update")
    return f"This session never said what is true now ({given}), so there is nothing to make final."
