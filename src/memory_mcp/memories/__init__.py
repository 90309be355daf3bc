"""One memory: added, corrected, forgotten."""

from memory_mcp.memories.add import add_memory
from memory_mcp.memories.forget import forget_memory
from memory_mcp.memories.identity import project_identity, set_identity
from memory_mcp.memories.update import update_memory

__all__ = ["add_memory", "forget_memory", "project_identity", "set_identity", "update_memory"]
