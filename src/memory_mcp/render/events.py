"""Render what happens on the timeline, an event a line."""

from datetime import datetime
from typing import Final

from memory_mcp.domain.outcomes import RecordArrived, RecordGone, TimelineEvent
from memory_mcp.domain.record import Move, Record, cut_title
from memory_mcp.hints import name_id
from memory_mcp.render.log import Span
from memory_mcp.render.outcomes import Fields, render_record

_TEXT_CHARS_MAX: Final = 400
_COMMIT_CHARS: Final = 12
_NAME, _PLAIN, _DIM = "bold", "", "dim"
_STYLES: Final = {
    "memory": "green", "correction": "yellow", "checkpoint": "cyan", "decide": "cyan",
    "fork": "magenta", "join": "magenta", "backtrack": "red", "restore": "magenta",
    "anchor": "dim", "forget": "red", "hide": "red", "gone": "red",
}  # fmt: skip


def render_event_fields(event: TimelineEvent) -> Fields:
    """The event for a program."""
    match event:
        case RecordArrived(record, author):
            fields = {"event": _name_event(record), **render_record(record)}
            return {**fields, "author": author} if author else fields
        case RecordGone(record_id):
            return {"event": "gone", "memoryId": record_id}


def render_event(event: TimelineEvent) -> list[Span]:
    """The event for a person."""
    match event:
        case RecordGone(record_id):
            return [*_begin(None, "gone"), (name_id(record_id), _PLAIN)]
        case RecordArrived(record, author):
            where = (
                record.move.branch if record.move else record.branch or "durable",
                author or record.origin.by,
                record.origin.client,
                f"commit {record.origin.commit[:_COMMIT_CHARS]}" if record.origin.commit else "",
            )
            return [
                *_begin(record.created_at, _name_event(record)),
                *_describe(record),
                (f"  [{', '.join(filter(None, where))}]", _DIM),
            ]


def _begin(at: datetime | None, name: str) -> list[Span]:
    return [(f"{at:%H:%M:%S}" if at else " " * 8, _DIM), (f"  {name:10}  ", _STYLES[name])]


def _name_event(record: Record) -> str:
    if record.move is not None:
        return "forget" if record.move.forgets else record.move.act
    if record.kind in ("tombstone", "exclusion"):
        return "forget" if record.erases else "hide"
    return "correction" if record.supersedes else "memory"


def _describe(record: Record) -> list[Span]:
    text = cut_title(record, _TEXT_CHARS_MAX)
    if record.move is not None:
        return _describe_move(record.move, text)
    if record.kind in ("tombstone", "exclusion"):
        named = ", ".join(map(name_id, dict.fromkeys((*record.erases, *record.supersedes))))
        return [(named, _PLAIN), (f"  {text}" if text else "", _PLAIN)]
    was = f" for {', '.join(map(name_id, record.supersedes))}" if record.supersedes else ""
    return [(text, _PLAIN), (f"  {record.kind} {name_id(record.id)}{was}", _DIM)]


def _describe_move(move: Move, text: str) -> list[Span]:
    match move.act:
        case "checkpoint" | "decide":
            name = (move.checkpoint or "", _NAME)
            return [name, (f"  {move.approval or ''}", _DIM), (f"  {text}", _PLAIN)]
        case "fork" | "join":
            return [(text, _PLAIN)]
        case "backtrack" | "restore":
            left = f"  leaves {move.line}" if move.line else ""
            return [(text, _PLAIN), (left, _NAME)]
        case "anchor":
            commit = f"  commit {move.commit[:_COMMIT_CHARS]}" if move.commit else ""
            return [(text, _PLAIN), (commit, _NAME), (f"  {move.git_branch}", _DIM)]
