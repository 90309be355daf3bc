"""Memories beside the code that they are about: where they stand in git, and what they cite."""

from memory_mcp.code.follow import (
    GitReport,
    bring_here,
    choose_mode,
    describe_groups,
    report_git,
    undo_git,
)
from memory_mcp.code.marks import make_marker, mark_standing

__all__ = [
    "GitReport",
    "bring_here",
    "choose_mode",
    "describe_groups",
    "make_marker",
    "mark_standing",
    "report_git",
    "undo_git",
]
