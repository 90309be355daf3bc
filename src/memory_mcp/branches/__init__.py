"""The timeline: checkpoints, branches, backtracks, and what stands where."""

from memory_mcp.branches.backtrack import Choice, backtrack, preview_backtrack
from memory_mcp.branches.checkpoint import (
    checkpoint,
    decide_checkpoint,
    fork_branch,
    preview_decision,
    switch_branch,
)
from memory_mcp.branches.compare import compare_points, resolve_point
from memory_mcp.branches.follow import follow_timeline
from memory_mcp.branches.get import get_checkpoint, get_memory, list_checkpoints
from memory_mcp.branches.log import read_log
from memory_mcp.branches.report import report_head
from memory_mcp.branches.undo import preview_undo, undo
from memory_mcp.domain.outcomes import Decision

__all__ = [
    "Choice",
    "Decision",
    "backtrack",
    "checkpoint",
    "compare_points",
    "decide_checkpoint",
    "follow_timeline",
    "fork_branch",
    "get_checkpoint",
    "get_memory",
    "list_checkpoints",
    "preview_backtrack",
    "preview_decision",
    "preview_undo",
    "read_log",
    "report_head",
    "resolve_point",
    "switch_branch",
    "undo",
]
