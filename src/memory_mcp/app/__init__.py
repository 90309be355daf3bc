"""The use cases: one async function each, over a frozen record of ports."""

from memory_mcp.app.add import add_memory
from memory_mcp.app.backtrack import Choice, backtrack, preview_backtrack
from memory_mcp.app.checkpoint import Decision, checkpoint, decide, fork, switch
from memory_mcp.app.context import memory_context
from memory_mcp.app.correct import update_memory
from memory_mcp.app.deliver import drain
from memory_mcp.app.doctor import doctor
from memory_mcp.app.encode import encode_all, keep_encoded, unencoded
from memory_mcp.app.episodes import episodic_capture
from memory_mcp.app.forget import forget_memory
from memory_mcp.app.head import memory_head
from memory_mcp.app.nudges import add_nudge, clear_nudges, waiting_nudges
from memory_mcp.app.probe import Probe, probe
from memory_mcp.app.profile import profile_sync, read_profile, user_profile
from memory_mcp.app.rooms import reads_refused, writes_refused
from memory_mcp.app.search import search_memories
from memory_mcp.app.sync import Synced, keep_mirrored, sync, sync_status
from memory_mcp.app.upkeep import catch_up, reindex

__all__ = [
    "Choice",
    "Decision",
    "Probe",
    "Synced",
    "add_memory",
    "add_nudge",
    "backtrack",
    "catch_up",
    "checkpoint",
    "clear_nudges",
    "decide",
    "doctor",
    "drain",
    "encode_all",
    "episodic_capture",
    "forget_memory",
    "fork",
    "keep_encoded",
    "keep_mirrored",
    "memory_context",
    "memory_head",
    "preview_backtrack",
    "probe",
    "profile_sync",
    "read_profile",
    "reads_refused",
    "reindex",
    "search_memories",
    "switch",
    "sync",
    "sync_status",
    "unencoded",
    "update_memory",
    "user_profile",
    "waiting_nudges",
    "writes_refused",
]
