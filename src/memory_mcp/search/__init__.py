"""Finding what holds: here, in the cloud, and among what came with a repository."""

from memory_mcp.search.search import search_memories

__all__ = ["search_memories"]
