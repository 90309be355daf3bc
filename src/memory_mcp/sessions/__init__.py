"""A session: its context, its prompts, nudges, hand-overs, episodes, and the inbox of hooks."""

from memory_mcp.sessions.catch_up import catch_up, reindex
from memory_mcp.sessions.consolidate import consolidate, latest_consolidation
from memory_mcp.sessions.context import memory_context
from memory_mcp.sessions.episodes import episodic_capture
from memory_mcp.sessions.inbox import keep_worked_off, work_off
from memory_mcp.sessions.nudges import add_nudge, clear_nudges, waiting_nudges
from memory_mcp.sessions.prompting import note_branch, prompt_context

__all__ = [
    "add_nudge",
    "catch_up",
    "clear_nudges",
    "consolidate",
    "episodic_capture",
    "keep_worked_off",
    "latest_consolidation",
    "memory_context",
    "note_branch",
    "prompt_context",
    "reindex",
    "waiting_nudges",
    "work_off",
]
