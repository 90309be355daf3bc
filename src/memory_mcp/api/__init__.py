"""The Python API: the memory of a project, for programs, with and without `await`."""

from memory_mcp.api.memory import Memory
from memory_mcp.api.sync import SyncMemory

__all__ = ["Memory", "SyncMemory"]
