"""Searches here, in the cloud, and among untrusted records of the repository."""

from memory_mcp.search.disputes import find_outdated, list_disputes, load_bearing
from memory_mcp.search.explain import explain_memory
from memory_mcp.search.listing import find_disputes, list_memories, list_page
from memory_mcp.search.search import search_at, search_memories

__all__ = [
    "explain_memory",
    "find_disputes",
    "find_outdated",
    "list_disputes",
    "list_memories",
    "list_page",
    "load_bearing",
    "search_at",
    "search_memories",
]
