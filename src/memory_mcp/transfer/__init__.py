"""Memories on their way in and out: imports and exports."""

from memory_mcp.transfer.export import Chosen, choose_export, exported, unreadable
from memory_mcp.transfer.import_memories import complete_import, import_memories, preview_import
from memory_mcp.transfer.plan import Advance

__all__ = [
    "Advance",
    "Chosen",
    "choose_export",
    "complete_import",
    "exported",
    "import_memories",
    "preview_import",
    "unreadable",
]
