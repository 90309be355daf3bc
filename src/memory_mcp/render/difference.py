"""Render what two points of the timeline do not have in common, as a diff of words."""

from collections.abc import Iterator
from typing import Final, Literal

from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.outcomes import BranchTip, Correction, Point, PointComparison, TimelineStart
from memory_mcp.domain.record import Record, format_time
from memory_mcp.domain.timeline import Checkpoint, Line
from memory_mcp.hints import name_id
from memory_mcp.patterns import compile_later
from memory_mcp.render.log import Span
from memory_mcp.render.outcomes import Fields, render_record

Change = Literal["same", "removed", "added"]

_WORD: Final = compile_later(
    r"[\u3040-\u30ff\u3400-\u9fff]\s*|[^\W\u3040-\u30ff\u3400-\u9fff]+\s*|\W\s*"
)
"""A word with the gap after it; scripts without gaps are compared sign by sign."""

_SUMMARY_CHARS_MAX: Final = 200
_COMMIT_CHARS: Final = 12
_NAME, _PLAIN, _DIM, _REMOVED, _ADDED, _CHANGED = "bold", "", "dim", "red", "green", "yellow"
_INDENT: Final = "\n    "
_STYLES: Final[dict[Change, str]] = {"same": _PLAIN, "removed": _REMOVED, "added": _ADDED}
_MARKS: Final[dict[Change, str]] = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}


def compare_words(old: str, new: str) -> list[tuple[Change, str]]:
    """The pieces of both texts in order: the same in both, only in the old, only in the new one."""
    from difflib import SequenceMatcher  # noqa: PLC0415  # `status` compares nothing

    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(
        None, [word.rstrip() for word in before], [word.rstrip() for word in after], autojunk=False
    )
    pieces: list[tuple[Change, str]] = []
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(("same", "".join(after[b:b_end])))
            continue
        if a < a_end:
            pieces.append(("removed", "".join(before[a:a_end])))
        if b < b_end:
            pieces.append(("added", "".join(after[b:b_end])))
    return pieces


def render_difference_fields(found: PointComparison) -> Fields:
    """The comparison for a program."""
    return {
        "success": True,
        "a": _render_point(found.a),
        "b": _render_point(found.b),
        "onlyA": [_render_memory(found, record) for record in found.only_a],
        "onlyB": [_render_memory(found, record) for record in found.only_b],
        "corrected": [_render_correction(found, each) for each in found.corrected],
        "checkpointsOnlyA": [_render_checkpoint(each) for each in found.left],
        "checkpointsOnlyB": [_render_checkpoint(each) for each in found.reached],
        "same": found.same,
    }


def _render_point(point: Point) -> Fields:
    match point.shows:
        case Checkpoint(branch=branch):
            kind = {"kind": "checkpoint", "branch": branch}
        case Line(branch=branch):
            kind = {"kind": "line", "branch": branch}
        case BranchTip(branch):
            kind = {"kind": "branch", "branch": branch}
        case TimelineStart():
            return {"name": point.name, "kind": "start"}
        case _:
            kind = {"kind": "time"}
    return {"name": point.name, **kind, "at": format_time(point.at) if point.at else None}


def _render_memory(found: PointComparison, record: Record) -> Fields:
    author = found.authors.get(record.id)
    fields = {**render_record(record), "durable": record.segment is None}
    return {**fields, "author": author} if author else fields


def _render_correction(found: PointComparison, pair: Correction) -> Fields:
    words = compare_words(pair.before.content, pair.after.content)
    return {
        "before": _render_memory(found, pair.before),
        "after": _render_memory(found, pair.after),
        "words": [{"change": change, "text": text} for change, text in words],
    }


def _render_checkpoint(checkpoint: Checkpoint) -> Fields:
    fields = checkpoint.model_dump(mode="json", include={"id", "phase", "summary", "branch", "at"})
    return {**fields}


def render_difference(found: PointComparison) -> Iterator[list[Span]]:
    """The comparison for a person: `-` is at the first point alone, `+` at the second, `~` changed.

    What is added and removed is marked in words as well, for whoever sees no colours.
    """
    a, b = found.a.name, found.b.name
    yield [("--- ", _REMOVED), (_describe_point(found.a), _NAME)]
    yield [("+++ ", _ADDED), (_describe_point(found.b), _NAME)]
    signs = (("-", _REMOVED, found.left), ("+", _ADDED, found.reached))
    for sign, style, checkpoints in signs:
        for each in checkpoints:
            summary = cut(" ".join(each.summary.split()), _SUMMARY_CHARS_MAX)
            at = f"  {each.at:%Y-%m-%d %H:%M}"
            yield [(f"{sign} checkpoint {each.id}", style), (at, _DIM), (f"  {summary}", _PLAIN)]
    for pair in found.corrected:
        yield from _draw_correction(found, pair)
    for sign, style, records in (("-", _REMOVED, found.only_a), ("+", _ADDED, found.only_b)):
        for record in records:
            yield [(f"{sign} {_indent(record.content)}", style)]
            yield _draw_origin(found, name_id(record.id), record)
    if not (found.only_a or found.only_b or found.corrected):
        yield [(f"The same {pluralise(found.same)} at {a} and at {b}.", _PLAIN)]
        return
    counts = (
        f"{len(found.only_a)} only at {a}",
        f"{len(found.only_b)} only at {b}",
        f"{len(found.corrected)} corrected",
        f"{found.same} the same",
    )
    yield [(", ".join(counts), _DIM)]


def _describe_point(point: Point) -> str:
    match point.shows:
        case BranchTip(branch):
            what = "now" if point.name == branch else f"branch {branch}, now"
        case Checkpoint() | Line():
            what = f"{point.at:%Y-%m-%d %H:%M}"
        case TimelineStart():
            what = "before every checkpoint"
        case at:
            what = f"{at:%Y-%m-%d %H:%M} UTC"
    return f"{point.name} ({what})"


def _draw_correction(found: PointComparison, pair: Correction) -> Iterator[list[Span]]:
    words = compare_words(pair.before.content, pair.after.content)
    pieces = [(_indent(_MARKS[change].format(text)), _STYLES[change]) for change, text in words]
    yield [("~ ", _CHANGED), *pieces]
    yield _draw_origin(found, f"{name_id(pair.before.id)} -> {name_id(pair.after.id)}", pair.after)


def _draw_origin(found: PointComparison, ids: str, record: Record) -> list[Span]:
    origin = record.origin
    where = [
        record.kind,
        *(["durable"] if record.segment is None else []),
        *(f"phase {record.phase}" for _ in range(record.phase is not None)),
        f"{record.created_at:%Y-%m-%d %H:%M}",
        found.authors.get(record.id) or origin.by,
        origin.client,
        f"commit {origin.commit[:_COMMIT_CHARS]}" if origin.commit else "",
    ]
    return [(f"    [{', '.join(filter(None, where))}] {ids}", _DIM)]


def _indent(text: str) -> str:
    return _INDENT.join(text.splitlines())
