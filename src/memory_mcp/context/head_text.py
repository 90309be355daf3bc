"""The head as prose: for a model through `memory_head`, for a person on the command line.

Summaries of checkpoints that a backtrack left are not shown: they are what was learnt on the
abandoned road. Their names are, because a name is what restores them.
"""

from collections.abc import Iterator
from typing import Final

from memory_mcp.context.words import counted
from memory_mcp.domain.cloud import Tally
from memory_mcp.domain.cutting import cut
from memory_mcp.domain.outcomes import CheckpointState, HeadReport, LineState
from memory_mcp.fence import disarmed

_LINE_CHARS_MAX: Final = 200


def head_text(report: HeadReport) -> str:
    """The report, a few lines long, the most important first.

    Names and summaries are data: none of them begins a line, or closes a fence around all this.
    """
    return disarmed("\n".join(" ".join(line.split()) for line in _lines(report)))


def _lines(report: HeadReport) -> Iterator[str]:
    newest = report.checkpoints[-1].checkpoint.id if report.checkpoints else "none yet"
    said = "phase {} is sealed" if report.phase_sealed else "working on phase {}"
    phase = "" if report.phase is None else f", {said.format(report.phase)}"
    yield f"Project {report.project}, branch {report.branch}{phase}. Last checkpoint: {newest}."
    beside = f"{counted(report.durable)} outside of it (durable)"
    yield f"{counted(report.memories)} on this line, {beside}."
    for warning in report.warnings:
        yield f"WARNING: {warning}"
    if report.mirrored:
        yield _mirrored(report.mirrored)
    if len(report.branches) > 1:
        yield f"Branches: {', '.join(report.branches)}."
    if report.checkpoints:
        yield "Checkpoints (newest first):"
        yield from (_checkpoint(state) for state in reversed(report.checkpoints))
    if report.earlier_checkpoints:
        yield f"- and {report.earlier_checkpoints} earlier ones"
    if report.pending:
        yield "Pending approval (ask the user, then checkpoint(pending=…, decision=…)):"
        yield from (f"- {c.id}: {_line(c.summary)}" for c in report.pending)
    if report.invalidated:
        names = ", ".join(c.id for c in report.invalidated)
        yield f"Invalidated by a backtrack: {names}. backtrack(to=…) with such a name restores it."
    if report.lines:
        yield "Left lines that can be restored with backtrack(to=…):"
        yield from (_left(state) for state in report.lines)


def _mirrored(tally: Tally) -> str:
    state = f"sync pending ({tally.pending})" if tally.pending else "nothing is pending"
    dead = f", {tally.dead} refused (memory-mcp sync --status)" if tally.dead else ""
    why = f" {tally.standing.reason}" if tally.standing.reason else ""
    return f"Supermemory: {state}{dead}.{why}"


def _checkpoint(state: CheckpointState) -> str:
    known = state.checkpoint
    phase = "" if known.phase is None else f", phase {known.phase}"
    hides = f"a backtrack to it would hide {counted(state.would_hide)}"
    return f"- {known.id} (valid{phase}): {_line(known.summary)} [{hides}]"


def _left(state: LineState) -> str:
    hides = f", hides {counted(state.hides)}" if state.hides else ""
    return f"- {state.line.id}: {counted(state.memories)}{hides}"


def _line(text: str) -> str:
    """What a memory says stays on its own line, and short: the rest is one search away."""
    return cut(" ".join(text.split()), _LINE_CHARS_MAX)
