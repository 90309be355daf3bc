"""Render the log of the timeline: as a drawing for a person, as nodes and edges for a program.

Of a checkpoint that a backtrack left only the name is shown, as everywhere: it restores the line.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from memory_mcp.domain.git import SHORT
from memory_mcp.domain.ids import MAIN, BranchName
from memory_mcp.domain.normalise import cut, pluralise
from memory_mcp.domain.outcomes import (
    BranchTip,
    GitMove,
    LogNode,
    OlderNodes,
    TimelineLog,
    TimelineStart,
)
from memory_mcp.domain.record import format_time
from memory_mcp.domain.timeline import Checkpoint, Line
from memory_mcp.fence import disarm
from memory_mcp.frozen import frozen
from memory_mcp.render.graph import GraphNode, draw_graph, use_ascii
from memory_mcp.render.outcomes import Fields

Span = tuple[str, str]
"""A text and its style, in the words of `rich`."""

LOG_SIGNS: Final = "│├─╯╮╰╭┤┴┬┼○●◌◆◇\xd7…"
"""What a drawing consists of, if it need not be ASCII."""

_SUMMARY_CHARS_MAX: Final = 200
_CROSS: Final = "\xd7"
_NAME, _PLAIN, _DIM = "bold", "", "dim"
_COMMAND: Final = "dim not bold"
"""Looks like what is dim, and is known as what somebody may have to type."""
_HERE, _BRANCH, _LEFT, _PENDING, _SEALED = "bold green", "magenta", "red", "yellow", "cyan"


def is_typed(style: str) -> bool:
    """Whether a text of that style is a name or a command: it means nothing when it is cut."""
    return style == _COMMAND or style.startswith(_NAME)


@frozen
class _Row:
    """The sign of a node in its colour, and the lines of text beside it."""

    sign: Span
    lines: tuple[tuple[Span, ...], ...]


def render_log(log: TimelineLog, *, ascii_only: bool, narrow: bool) -> Iterator[list[Span]]:
    """The lines of the drawing, newest first; a `narrow` one leaves room for names and commands."""
    for lines in render_log_rows(log, ascii_only=ascii_only, narrow=narrow):
        yield from lines


def render_log_rows(
    log: TimelineLog, *, ascii_only: bool, narrow: bool
) -> Iterator[list[list[Span]]]:
    """The lines of the drawing, those of each node together."""
    rows = [_render_row(log, node, narrow=narrow) for node in log.nodes]
    nodes = [
        GraphNode(node.key, node.parents, row.sign[0], len(row.lines))
        for node, row in zip(log.nodes, rows, strict=True)
    ]
    for row, lines in zip(rows, draw_graph(nodes), strict=True):
        texts = iter(row.lines)
        drawn: list[list[Span]] = []
        for line in lines:
            edges = [(line.left, _DIM), (line.sign, row.sign[1]), (line.right, _DIM)]
            spans = [(use_ascii(text) if ascii_only else text, style) for text, style in edges]
            if line.takes_text:
                spans += [("  ", _PLAIN), *next(texts)]
            drawn.append([span for span in spans if span[0]])
        yield drawn


def render_log_fields(log: TimelineLog) -> Fields:
    """The nodes, newest first, each with the keys of those that it follows."""
    older = [node.shows.count for node in log.nodes if isinstance(node.shows, OlderNodes)]
    nodes = [_render_node(log, node) for node in log.nodes]
    return {"success": True, "branch": log.branch, "nodes": nodes, "older": sum(older)}


def _render_row(log: TimelineLog, node: LogNode, *, narrow: bool) -> _Row:
    at = ("" if narrow else _render_time(node.at), _DIM)
    memories = log.memories[node.key]
    match node.shows:
        case BranchTip(branch):
            sign = ("@", _HERE) if branch == log.branch else ("●", _BRANCH)
            since = (f"  {pluralise(memories) if memories else 'nothing'} since", _PLAIN)
            parent = log.parents.get(branch, MAIN)
            below = (f"  below {parent}" if parent != MAIN else "", _DIM)
            name = (branch, f"bold {sign[1]}")
            row = _Row(sign, ((("branch ", _PLAIN), name, below, at, since),))
        case Checkpoint() as sealed:
            row = _render_checkpoint(log, sealed, at, memories, left=node.left, narrow=narrow)
        case Line() as line:
            what = f"hides {pluralise(memories)}"
            if not memories:
                what = "holds no memory, only hides or checkpoints"
            hides = (f"  {what}", _PLAIN)
            command = f"backtrack {line.id}"
            restore = _render_command(log, line.branch, command, "restores it", narrow=narrow)
            row = _Row((_CROSS, _LEFT), (((line.id, _NAME), at, hides), ((restore, _COMMAND),)))
        case TimelineStart():
            row = _Row(("◆", _DIM), ((("start", _NAME),),))
        case OlderNodes(count):
            row = _Row(("…", _DIM), (((f"{count:,} older (--limit 0 shows all)", _DIM),),))
        case GitMove():
            count = "" if narrow else f"  {pluralise(memories)}"
            who, what = _describe_git_move(log, node.key, node.shows)
            row = _Row(("◇", _DIM), (((who, _NAME), at, (count, _PLAIN), (f"  {what}", _DIM)),))
    return row


def _render_checkpoint(
    log: TimelineLog, sealed: Checkpoint, at: Span, memories: int, *, left: bool, narrow: bool
) -> _Row:
    count = "" if narrow else f"  {pluralise(memories)}"
    first = ((sealed.id, _NAME), at, (count, _PLAIN))
    if left:
        return _Row((_CROSS, _LEFT), ((*first, ("  left", _LEFT)),))
    ground = f" ({log.ground[sealed.id]})" if sealed.id in log.ground else ""
    summary = (f"  {_shorten(sealed.summary)}{ground}", _PLAIN)
    if sealed.approval != "pending":
        return _Row(("○", _SEALED), ((*first, summary),))
    save = f"checkpoint --pending {sealed.id} --decision save"
    approve = _render_command(log, sealed.branch, save, "approves it", narrow=narrow)
    return _Row(
        ("◌", _PENDING), ((*first, ("  pending", _PENDING), summary), ((approve, _COMMAND),))
    )


def _describe_git_move(log: TimelineLog, key: str, shown: GitMove) -> tuple[str, str]:
    """Who made it, and what holds where."""
    record = log.of_git.get(key)
    who = record.origin.client or record.origin.by if record else "git"
    what = record.content.removeprefix("git: ") if record else f"on {shown.anchor.commit[:SHORT]}"
    on = f", on {shown.anchor.git_branch}" if shown.anchor.git_branch else ""
    return disarm(who), _shorten(f"{what}{on}")


def _render_time(at: datetime | None) -> str:
    return f"  {at:%Y-%m-%d %H:%M}" if at else ""


def _render_command(
    log: TimelineLog, branch: BranchName, command: str, effect: str, *, narrow: bool
) -> str:
    """The command as it has to be typed here to concern that branch, and what it does."""
    option = "" if branch == log.branch else f"--branch {branch} "
    return f"{option}{command}" if narrow else f"memory-mcp {option}{command} {effect}"


def _shorten(summary: str) -> str:
    """The first line, which is data: no fence is closed by it."""
    first = next(iter(summary.strip().splitlines()), "")
    return disarm(cut(" ".join(first.split()), _SUMMARY_CHARS_MAX))


def _render_node(log: TimelineLog, node: LogNode) -> dict[str, Any]:
    fields: dict[str, Any] = {"key": node.key, "parents": list(node.parents)}
    match node.shows:
        case BranchTip(branch):
            fields |= {"kind": "branch", "name": branch, "here": branch == log.branch}
            fields |= {"parent": log.parents[branch]} if branch in log.parents else {}
        case Checkpoint() as sealed:
            pending = "pending" if sealed.approval == "pending" else "valid"
            fields |= {"kind": "checkpoint", "name": sealed.id, "branch": sealed.branch}
            fields |= {"status": "invalidated" if node.left else pending, "phase": sealed.phase}
            fields |= {} if node.left else {"summary": sealed.summary}
            fields |= {"ground": log.ground[sealed.id]} if sealed.id in log.ground else {}
        case Line() as line:
            fields |= {"kind": "line", "name": line.id, "branch": line.branch}
        case GitMove(move, anchor):
            who, what = _describe_git_move(log, node.key, node.shows)
            fields |= {"kind": "git", "name": move, "gitBranch": anchor.git_branch}
            fields |= {"commit": anchor.commit, "by": who, "summary": what}
        case TimelineStart():
            return {**fields, "kind": "start", "name": "start"}
        case OlderNodes(count):
            return {**fields, "kind": "older", "count": count}
    at = format_time(node.at) if node.at else None
    return {**fields, "at": at, "memories": log.memories[node.key]}
