"""What every use case stands on: the workspace, the head, recovery, an index in step with it."""

from memory_mcp.engine.phases import find_phase, list_phases, move_to_phase
from memory_mcp.engine.workspace import refuse_reads, refuse_writes

__all__ = ["find_phase", "list_phases", "move_to_phase", "refuse_reads", "refuse_writes"]
