"""Lists what holds, and which of it another memory contradicts; a search is not loaded for that."""

from memory_mcp.listing.disputes import find_outdated, find_rivals, list_disputes, load_bearing
from memory_mcp.listing.newest import find_disputes, list_memories, list_page

__all__ = [
    "find_disputes",
    "find_outdated",
    "find_rivals",
    "list_disputes",
    "list_memories",
    "list_page",
    "load_bearing",
]
