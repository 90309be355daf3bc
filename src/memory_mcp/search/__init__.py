"""Searches here, in the cloud, and among untrusted records of the repository."""

from memory_mcp.search.explain import explain_memory
from memory_mcp.search.search import search_at, search_memories

__all__ = ["explain_memory", "search_at", "search_memories"]
