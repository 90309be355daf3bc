"""Keeps this machine and the cloud in step: pull, push, and both."""

from memory_mcp.sync.push import drain
from memory_mcp.sync.run import (
    SyncReport,
    erase_forgotten_elsewhere,
    keep_mirrored,
    report_sync,
    sync,
)

__all__ = [
    "SyncReport",
    "drain",
    "erase_forgotten_elsewhere",
    "keep_mirrored",
    "report_sync",
    "sync",
]
