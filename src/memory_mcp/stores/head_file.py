"""The shape of the head's file and of a line of its history."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memory_mcp.domain.forms import cycle_in, printable, reason_of
from memory_mcp.domain.ids import MAIN, ROOT, BranchName
from memory_mcp.domain.record import SCHEMA_VERSION, Record, without_empty
from memory_mcp.domain.strict_json import load_json
from memory_mcp.domain.timeline import Checkpoint, Head, Timeline
from memory_mcp.errors import NewerSchemaError, StoreDamagedError

__all__ = ["dump_head", "history_line", "parse_head"]


def history_line(record: Record) -> bytes:
    """A move as a line: ids and names only, so that a forget leaves no text here."""
    move = record.move
    fields = {
        "id": record.id,
        "at": record.as_json()["created_at"],
        "by": record.origin.model_dump(mode="json"),
        "move": move.model_dump(mode="json") if move else None,
    }
    return json.dumps(without_empty(fields), ensure_ascii=False).encode()


def parse_head(path: Path, data: bytes) -> Head:
    """The head in a file that holds these bytes.

    Raises:
        StoreDamagedError: it is no head, or one on which nothing could be written.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    try:
        fields = load_json(data)
        version = fields["schema_version"]
        if version > SCHEMA_VERSION:
            raise NewerSchemaError(str(path), version, SCHEMA_VERSION)
        head = Head(
            project=fields["project"],
            revision=fields["revision"],
            timeline=_timeline(fields),
            last=Record.model_validate(fields["last"]) if fields.get("last") else None,
            with_last=tuple(Record.model_validate(r) for r in fields.get("with_last", [])),
        )
        _require_tips(head.timeline)
        _require_order(head.timeline)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(
            f"{path} is damaged ({_reason(error)}). Nothing is lost: "
            "`memory-mcp doctor --repair` sets it aside and rebuilds it from the records."
        ) from error
    return head


def _require_tips(timeline: Timeline) -> None:
    """Every move opens a segment where it leaves one: a branch that ends nowhere lost some."""
    gone = timeline.left | timeline.forgotten
    standing = {s.branch for s in timeline.segments.values() if s.id not in gone}
    if ROOT not in gone:
        standing.add(MAIN)
    if lost := set(timeline.branches) - standing:
        raise ValueError(f"no segment is open on {', '.join(sorted(lost))}")


def _require_order(timeline: Timeline) -> None:
    """What comes of itself has no beginning, and whoever looks for one would never end."""
    if ring := cycle_in({s.id: s.parents for s in timeline.segments.values()}):
        raise ValueError(f"segment {ring} comes of itself")


def _reason(error: Exception) -> str:
    match error:
        case ValidationError():
            return reason_of(error)
        case ValueError():
            return printable(str(error))
        case _:
            return type(error).__name__


def _each(listed: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """What is listed, by its id; one of two of the same id would be lost without a word."""
    by_id = {one["id"]: one for one in listed}
    if len(by_id) != len(listed):
        raise ValueError("one id stands for two")
    return by_id


def _timeline(fields: dict[str, Any]) -> Timeline:
    every = [*fields.get("checkpoints", []), *fields.get("undecided", [])]
    return Timeline.model_validate(
        {
            "segments": _each(fields.get("segments", [])),
            "left": fields.get("left", []),
            "forgotten": fields.get("forgotten", []),
            "checkpoints": _each(every),
            "lines": _each(fields.get("lines", [])),
            "given_up": {g["move"]: g for g in fields.get("given_up", [])},
            "undone": fields.get("undone", []),
            "bases": fields.get("bases", {}),
            "moves": fields.get("moves", []),
        }
    )


def dump_head(head: Head) -> bytes:
    """The head as a file: what people and programs look for stands at the top."""
    timeline = head.timeline
    newest = next(reversed(timeline.valid(MAIN)), None)
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "project": head.project,
        "revision": head.revision,
        "head_phase": newest.phase if newest else None,
        "head_checkpoint": newest.id if newest else None,
        "checkpoints": [_shown(c, timeline) for c in timeline.decided()],
        "branches": {name: _branch(timeline, name) for name in timeline.branches},
        "segments": [s.model_dump(mode="json") for s in timeline.segments.values()],
        "left": sorted(timeline.left),
        "forgotten": sorted(timeline.forgotten),
        "lines": [line.model_dump(mode="json") for line in timeline.lines.values()],
        "given_up": [
            {"move": move, "branch": each.branch, "segments": sorted(each.segments)}
            for move, each in timeline.given_up.items()
        ],
        "undone": sorted(timeline.undone),
        "bases": {branch: sorted(base) for branch, base in timeline.bases.items()},
        "undecided": [
            c.model_dump(mode="json")
            for c in timeline.checkpoints.values()
            if c.approval in ("pending", "skipped")
        ],
        "moves": sorted(timeline.moves),
        "last": head.last.as_json() if head.last else None,
        "with_last": [record.as_json() for record in head.with_last],
    }
    return (json.dumps(fields, ensure_ascii=False, indent=1) + "\n").encode()


def _shown(checkpoint: Checkpoint, timeline: Timeline) -> dict[str, Any]:
    holds = timeline.chain(checkpoint.branch).issuperset(checkpoint.seals)
    fields = checkpoint.model_dump(mode="json")
    status = "valid" if holds else "invalidated"
    return {"id": fields.pop("id"), "phase": fields.pop("phase"), "status": status, **fields}


def _branch(timeline: Timeline, name: BranchName) -> dict[str, Any]:
    newest = next(reversed(timeline.valid(name)), None)
    return {
        "tips": list(timeline.tips(name)),
        "phase": newest.phase if newest else None,
        "checkpoint": newest.id if newest else None,
    }
