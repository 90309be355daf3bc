"""What the page reads: each of these is a use case that the tools and commands call as well.

A read has a name and arguments in text, and answers in fields. The page over HTTP, the exported
file and the page inside a client ask for the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory_mcp import branches, sessions
from memory_mcp.code import make_marker
from memory_mcp.code.citations import check_cites
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.limits import QUERY_CHARS_MAX
from memory_mcp.domain.nudges import WaitingNudges
from memory_mcp.domain.outcomes import HeadReport, MemoryList, Skipped
from memory_mcp.domain.record import MEMORY_KINDS, Kind, Record, format_time
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_head, load_view
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace, refuse_reads, refuse_writes
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError
from memory_mcp.frozen import frozen
from memory_mcp.listing import find_outdated, list_page
from memory_mcp.maintenance import probe_recall, run_doctor
from memory_mcp.profile import get_profile
from memory_mcp.render.difference import compare_words
from memory_mcp.render.graph import GraphNode, place_nodes
from memory_mcp.render.log import render_log_fields
from memory_mcp.render.outcomes import render_head_fields, render_hits, render_record
from memory_mcp.render.profile import render_profile_facts, render_profile_line
from memory_mcp.render.reasons import render_provenance
from memory_mcp.search import explain_memory, search_at, search_memories
from memory_mcp.server.page.figures import read_figures
from memory_mcp.server.page.live import read_news
from memory_mcp.server.page.points import NOW, find_point, read_diff, read_point, view_point
from memory_mcp.server.page.waiting import read_disputes, read_stale, read_waiting
from memory_mcp.text.drafts import check_branch

Fields = dict[str, Any]

ROWS_MAX: Final = 200
"""Rows of a list that are read at once: several screens."""

FOUND_MAX: Final = 50
"""What a search shows: further down nothing is likely meant."""

_EXCERPT_CHARS_MAX: Final = 400
"""Of a text in a list; the whole is one step away."""

_LETTERS_MAX: Final = 20
"""Entries that the cloud refused, named one by one."""

_EPISODES_MAX: Final = 50


class _ReadForm(BaseModel):
    """The arguments of a read."""

    model_config = ConfigDict(extra="forbid")

    branch: str = ""


class _TimelineForm(_ReadForm):
    limit: int = Field(default=200, ge=0, le=100_000)


class _PointForm(_ReadForm):
    point: str = Field(max_length=300)


class _DiffForm(_ReadForm):
    a: str = Field(max_length=300)
    b: str = Field(default=NOW, max_length=300)


class _MemoriesForm(_ReadForm):
    query: str = Field(default="", max_length=QUERY_CHARS_MAX)
    category: str = ""
    tag: str = ""
    kind: str = ""
    written: str = ""
    """The branch it was written on."""
    state: str = ""
    at: str = Field(default=NOW, max_length=300)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    limit: int = Field(default=100, ge=1, le=ROWS_MAX)


class _DisputesForm(_ReadForm):
    offset: int = Field(default=0, ge=0, le=1_000_000)


class _NewsForm(_ReadForm):
    after: str = Field(default="", max_length=64)


class _MemoryForm(_ReadForm):
    id: str = Field(max_length=64)


async def read_head(workspace: Workspace, _form: _ReadForm) -> Fields | Skipped:
    """Where the project stands, and whether this session may write."""
    report = await branches.report_head(workspace)
    if isinstance(report, Skipped):
        return report
    refused = refuse_writes(workspace)
    timeline = (await load_head(workspace)).timeline
    return {
        **render_head_fields(report),
        "branches": list(timeline.branches),  # of which one can be chosen
        "user": workspace.scope.user,
        "reads": refused.reason if refused else "",
        "cloud": _describe_cloud(report),
        "database": workspace.policy.database,
    }


def _describe_cloud(report: HeadReport) -> Fields | None:
    counts = report.mirrored
    if counts is None:
        return None
    dead = [str(each) for each in counts.dead_letters[:_LETTERS_MAX]]
    return {"pending": counts.pending, "checking": counts.checking, "refused": counts.dead,
            "delivered": counts.delivered, "letters": dead,
            "trouble": counts.circuit.reason}  # fmt: skip


async def read_timeline(workspace: Workspace, form: _TimelineForm) -> Fields | Skipped:
    """The graph of the timeline, each node in its column, with who moved it and at which commit."""
    log = await branches.read_log(workspace, form.limit)
    if isinstance(log, Skipped):
        return log
    fields = render_log_fields(log)
    placed = place_nodes([GraphNode(node.key, node.parents, "") for node in log.nodes])
    moves = [move for node in log.nodes if (move := getattr(node.shows, "move", None))]
    known = {record.id: record for record in await load_records(workspace.project, moves)}
    nodes = [
        {**shown, "column": place.column, "edges": place.edges}
        | _describe_origin(known.get(getattr(node.shows, "move", RecordId(""))))
        for node, shown, place in zip(log.nodes, fields["nodes"], placed, strict=True)
    ]
    return {**fields, "nodes": nodes}


def _describe_origin(record: Record | None) -> Fields:
    if record is None:
        return {}
    origin = record.origin
    who = {"user": record.scope.user, "by": origin.by, "client": origin.client,
           "session": origin.session, "commit": origin.commit[:12], "gitBranch": origin.git_branch,
           "written": record.branch}  # fmt: skip
    return {name: value for name, value in who.items() if value}


async def read_memories(workspace: Workspace, form: _MemoriesForm) -> Fields | Skipped:
    """Memories, best or newest first: those that hold, or those of an earlier point."""
    if form.state not in _STATES:
        known = ", ".join(filter(None, _STATES))
        raise InvalidRequestError(f"state {form.state!r:.40} is none of: {known}, or leave it out.")
    kinds = frozenset[Kind]([kind for kind in MEMORY_KINDS if kind == (form.kind or kind)])
    if not kinds:
        known = ", ".join(sorted(MEMORY_KINDS))
        raise InvalidRequestError(f"kind {form.kind!r:.40} is none of: {known}, or leave it out.")
    point = await find_point(workspace, form.at)
    view = view_point(workspace, point)
    filters = Filters(
        category=form.category.strip(),
        tags=tuple(filter(None, [form.tag.strip()])),
        kinds=kinds,
        branch=BranchName(form.written) if form.written else None,
        durable=_STATES[form.state],
        until=point.at,
        history=form.state == "gone",
    )
    if form.query.strip() and form.state != "gone":
        if point.at is None:
            found = await search_memories(
                workspace, form.query, filters, FOUND_MAX, limit_max=FOUND_MAX
            )
        else:
            found = await search_at(workspace, view, form.query, filters, FOUND_MAX)
        fields = render_hits(found, why=True)
        rows = [_shorten(each) for each in fields.get("results", ())]
        return {**fields, "results": rows, "total": len(rows), "offset": 0}
    listed = await list_page(workspace, view, filters, form.offset, form.limit)
    if isinstance(listed, Skipped):
        return listed
    if not filters.history:
        outdated = await find_outdated(workspace, view, listed.records)
        listed = replace(listed, outdated=outdated)
    return {**await _render_rows(workspace, listed), "offset": form.offset}


_STATES: Final[Mapping[str, bool | None]] = {
    "": None,
    "durable": True,
    "timeline": False,
    "gone": None,
}
"""What the filter of states lets through, and whether that is durable."""


async def _render_rows(workspace: Workspace, listed: MemoryList) -> Fields:
    mark = make_marker(workspace)

    def render() -> list[Fields]:
        return [
            _shorten(render_record(each, mark(each), listed.outdated.get(each.id, "")))
            for each in listed.records
        ]

    # citations are compared with the work tree
    rows = await asyncio.to_thread(render)
    return {"results": rows, "total": listed.total, "unreadable": listed.unreadable,
            "message": listed.degraded}  # fmt: skip


def _shorten(fields: Fields) -> Fields:
    """A row of a list: the beginning of a long text, under the names that tools use."""
    whole: Fields = {**fields.pop("metadata", {}), **fields}
    kept = {name: value for name, value in whole.items() if name in _ROW and value}
    content = str(kept.get("content", ""))
    if len(content) > _EXCERPT_CHARS_MAX:
        kept |= {"content": content[:_EXCERPT_CHARS_MAX], "more": len(content)}
    return kept


_ROW: Final = frozenset(
    {
        "memoryId", "content", "title", "category", "tags", "kind", "phase", "importance", "pinned",
        "createdAt", "branch", "segment", "score", "why", "place", "by", "cites", "standing",
        "outdated_by", "outdated_for", "disputed_with", "expires_at",
    }
)  # fmt: skip


async def read_memory(workspace: Workspace, form: _MemoryForm) -> Fields | Skipped:
    """One memory with all that is known of it, also if it no longer holds here."""
    if skipped := refuse_reads(workspace):
        return skipped
    why = ""
    try:
        found = await branches.get_memory(workspace, form.id)
    except UnknownMemoryError as error:
        found, why = await find_any(workspace, form.id), str(error)
        if found is None:
            raise
    if isinstance(found, Skipped):
        return found
    known = await explain_memory(workspace, found)
    checked = await asyncio.to_thread(check_cites, workspace, found)
    marked = await asyncio.to_thread(make_marker(workspace), found)
    replaced = [render_record(each) for each in known.replaced]
    changed = [compare_words(each.content, found.content) for each in known.replaced[:1]]
    return {
        **render_record(found),
        "durable": found.durable,
        "gone": why,
        "standing": marked,
        "cited": [{"place": each.place, "state": each.state, "now": each.now} for each in checked],
        "words": changed[0] if changed else [],
        "why": {**render_provenance(known), "replaced": replaced},
    }


async def find_any(workspace: Workspace, memory_id: str) -> Record | None:
    """The memory of that id, also one that holds no more, which is shown in no other way."""
    for bank in workspace.banks:
        record = await bank.records.get(RecordId(memory_id.strip().casefold()))
        if record is not None and record.recalled:
            return record
    return None


async def read_profile(workspace: Workspace, _form: _ReadForm) -> Fields | Skipped:
    """Who the user is, and what is durable: no backtrack hides it."""
    known = await get_profile(workspace)
    if isinstance(known, Skipped):
        return known
    return {"line": render_profile_line(known), "facts": render_profile_facts(known)}


async def read_sessions(workspace: Workspace, _form: _ReadForm) -> Fields | Skipped:
    """Episodes and consolidations of sessions, newest first, and the nudges that wait."""
    wanted = Filters(kinds=frozenset({"episode", "summary"}))
    told = await list_page(workspace, await load_view(workspace), wanted, 0, _EPISODES_MAX)
    if isinstance(told, Skipped):
        return told
    waiting = await sessions.list_nudges(workspace)
    nudges = waiting.nudges if isinstance(waiting, WaitingNudges) else ()
    return {
        "episodes": [render_record(each) for each in told.records],
        "total": told.total,
        "nudges": [
            {"text": each.text, "priority": each.priority, "by": each.by,
             "createdAt": format_time(each.created_at)}
            for each in nudges
        ],
        "place": workspace.nudges.place(workspace.scope.user),
    }  # fmt: skip


async def read_health(workspace: Workspace, _form: _ReadForm) -> Fields | Skipped:
    """What the doctor finds, without mending anything."""
    if skipped := refuse_reads(workspace):
        return skipped
    findings = await run_doctor(workspace, repair=False)
    probe = await probe_recall(workspace, findings)
    return {
        "findings": [vars(each) for each in (*findings, *probe.findings)],
        "search": probe.mode,
        "proof": probe.proof,
    }


@frozen
class Read:
    """What answers a read, and the form of its arguments."""

    answer: Callable[..., Awaitable[Fields | Skipped]]
    form: type[_ReadForm] = _ReadForm


READS: Final[Mapping[str, Read]] = {
    "head": Read(read_head),
    "timeline": Read(read_timeline, _TimelineForm),
    "point": Read(read_point, _PointForm),
    "diff": Read(read_diff, _DiffForm),
    "memories": Read(read_memories, _MemoriesForm),
    "memory": Read(read_memory, _MemoryForm),
    "waiting": Read(read_waiting),
    "stale": Read(read_stale),
    "disputes": Read(read_disputes, _DisputesForm),
    "profile": Read(read_profile),
    "sessions": Read(read_sessions),
    "figures": Read(read_figures),
    "health": Read(read_health),
    "news": Read(read_news, _NewsForm),
}
"""The reads by their names."""


async def read_page(workspace: Workspace, name: str, arguments: Mapping[str, str]) -> Fields:
    """The answer to one read of the page.

    Raises:
        InvalidRequestError: no such read, or wrong arguments.
        MemoryMcpError: it could not be read.
    """
    read = READS.get(name)
    if read is None:
        raise InvalidRequestError(f"There is no {name!r:.40} here. Known: {', '.join(READS)}.")
    try:
        form = read.form.model_validate(arguments)
    except ValidationError as error:
        raise InvalidRequestError(describe_invalid(error)) from error
    if form.branch:
        workspace = workspace.at(check_branch(form.branch))
    answer = await read.answer(workspace, form)
    if isinstance(answer, Skipped):
        return {"skipped": answer.reason}
    return answer


def describe_invalid(error: ValidationError) -> str:
    """What is wrong with the first field that cannot be taken."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(each) for each in first["loc"]) or "the request"
    return f"{place}: {first['msg']}."
