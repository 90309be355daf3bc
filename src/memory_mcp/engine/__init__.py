"""What every use case stands on: the workspace, the head, recovery, an index in step with it."""

from memory_mcp.engine.phases import move_to_phase, phase_now, phases
from memory_mcp.engine.workspace import reads_refused, writes_refused

__all__ = ["move_to_phase", "phase_now", "phases", "reads_refused", "writes_refused"]
