"""Searches here, in the cloud, and among untrusted records of the repository."""

from memory_mcp.search.search import search_memories

__all__ = ["search_memories"]
