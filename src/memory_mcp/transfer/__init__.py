"""Imports and exports memories, and moves them to another store."""

from memory_mcp.transfer.export import (
    ExportSelection,
    find_unreadable,
    read_selected,
    select_export,
)
from memory_mcp.transfer.import_memories import complete_import, import_memories, preview_import
from memory_mcp.transfer.move import move_memories
from memory_mcp.transfer.plan import ReportProgress

__all__ = [
    "ExportSelection",
    "ReportProgress",
    "complete_import",
    "find_unreadable",
    "import_memories",
    "move_memories",
    "preview_import",
    "read_selected",
    "select_export",
]
