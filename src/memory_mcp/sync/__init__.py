"""This machine and the cloud: what is pulled, what is pushed, and when."""

from memory_mcp.sync.push import drain
from memory_mcp.sync.run import Synced, erase_forgotten_elsewhere, keep_mirrored, sync, sync_status

__all__ = ["Synced", "drain", "erase_forgotten_elsewhere", "keep_mirrored", "sync", "sync_status"]
