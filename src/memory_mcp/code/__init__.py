"""Memories beside the code that they are about: where they stand in git, and what they cite."""

from memory_mcp.code.citations import check_cites, cite_again, cite_places, propose_citations
from memory_mcp.code.follow import (
    GitHeldBack,
    GitMoved,
    GitReport,
    bring_here,
    choose_mode,
    describe_groups,
    report_git,
    undo_git,
)
from memory_mcp.code.marks import count_moved, find_moved_ground, make_marker, mark_standing
from memory_mcp.code.rewinds import LeftMemories, follow_rewind, hide_marked
from memory_mcp.code.stale import StaleMemory, StaleReport, describe_stale, find_stale

__all__ = [
    "GitHeldBack",
    "GitMoved",
    "GitReport",
    "LeftMemories",
    "StaleMemory",
    "StaleReport",
    "bring_here",
    "check_cites",
    "choose_mode",
    "cite_again",
    "cite_places",
    "count_moved",
    "describe_groups",
    "describe_stale",
    "find_moved_ground",
    "find_stale",
    "follow_rewind",
    "hide_marked",
    "make_marker",
    "mark_standing",
    "propose_citations",
    "report_git",
    "undo_git",
]
