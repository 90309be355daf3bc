"""The timeline: checkpoints, branches, backtracks, and what stands where."""

from memory_mcp.branches.backtrack import Choice, backtrack, preview_backtrack
from memory_mcp.branches.checkpoint import Decision, checkpoint, decide, fork, switch
from memory_mcp.branches.report import memory_head

__all__ = [
    "Choice",
    "Decision",
    "backtrack",
    "checkpoint",
    "decide",
    "fork",
    "memory_head",
    "preview_backtrack",
    "switch",
]
