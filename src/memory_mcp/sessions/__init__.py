"""A session: context, prompts, nudges, consolidations, episodes, and the inbox of hooks."""

from memory_mcp.sessions.capture import (
    capture_turns,
    decide_suggestions,
    list_suggestions,
    suggest_again,
)
from memory_mcp.sessions.catch_up import catch_up, reindex
from memory_mcp.sessions.consolidate import consolidate, latest_consolidation
from memory_mcp.sessions.context import memory_context
from memory_mcp.sessions.episodes import capture_episode
from memory_mcp.sessions.inbox import keep_inbox_processed, process_inbox
from memory_mcp.sessions.nudges import add_nudge, clear_nudges, list_nudges
from memory_mcp.sessions.prompting import note_branch, prompt_context
from memory_mcp.sessions.rewinds import follow_conversation

__all__ = [
    "add_nudge",
    "capture_episode",
    "capture_turns",
    "catch_up",
    "clear_nudges",
    "consolidate",
    "decide_suggestions",
    "follow_conversation",
    "keep_inbox_processed",
    "latest_consolidation",
    "list_nudges",
    "list_suggestions",
    "memory_context",
    "note_branch",
    "process_inbox",
    "prompt_context",
    "reindex",
    "suggest_again",
]
