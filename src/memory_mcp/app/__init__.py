"""The use cases: one async function each, over a frozen record of ports."""

from memory_mcp.app.add import add_memory
from memory_mcp.app.backtrack import Choice, backtrack, preview_backtrack
from memory_mcp.app.checkpoint import Decision, checkpoint, decide, fork, switch
from memory_mcp.app.consolidate import consolidate, latest_consolidation
from memory_mcp.app.context import memory_context
from memory_mcp.app.correct import update_memory
from memory_mcp.app.deliver import drain
from memory_mcp.app.doctor import doctor
from memory_mcp.app.encode import encode_all, keep_encoded, unencoded
from memory_mcp.app.episodes import episodic_capture
from memory_mcp.app.export_memories import Chosen, choose_export, exported, unreadable
from memory_mcp.app.forget import forget_memory
from memory_mcp.app.head import memory_head
from memory_mcp.app.identity import project_identity, set_identity
from memory_mcp.app.import_memories import complete_import, import_memories, preview_import
from memory_mcp.app.import_plan import Advance
from memory_mcp.app.inbox import keep_worked_off, work_off
from memory_mcp.app.nudges import add_nudge, clear_nudges, waiting_nudges
from memory_mcp.app.opening import bootstrap
from memory_mcp.app.phases import move_to_phase, phase_now, phases
from memory_mcp.app.probe import Probe, probe
from memory_mcp.app.profile import profile_sync, read_profile, user_profile
from memory_mcp.app.prompting import note_branch, prompt_context
from memory_mcp.app.rooms import reads_refused, writes_refused
from memory_mcp.app.search import search_memories
from memory_mcp.app.strangers import (
    leave_untrusted,
    revoke_trust,
    strangers_note,
    trust_project,
    trust_report,
)
from memory_mcp.app.sync import (
    Synced,
    erase_forgotten_elsewhere,
    keep_mirrored,
    sync,
    sync_status,
)
from memory_mcp.app.upkeep import catch_up, reindex
from memory_mcp.app.views import keep_rendered, render_if_behind, render_views

__all__ = [
    "Advance",
    "Choice",
    "Chosen",
    "Decision",
    "Probe",
    "Synced",
    "add_memory",
    "add_nudge",
    "backtrack",
    "bootstrap",
    "catch_up",
    "checkpoint",
    "choose_export",
    "clear_nudges",
    "complete_import",
    "consolidate",
    "decide",
    "doctor",
    "drain",
    "encode_all",
    "episodic_capture",
    "erase_forgotten_elsewhere",
    "exported",
    "forget_memory",
    "fork",
    "import_memories",
    "keep_encoded",
    "keep_mirrored",
    "keep_rendered",
    "keep_worked_off",
    "latest_consolidation",
    "leave_untrusted",
    "memory_context",
    "memory_head",
    "move_to_phase",
    "note_branch",
    "phase_now",
    "phases",
    "preview_backtrack",
    "preview_import",
    "probe",
    "profile_sync",
    "project_identity",
    "prompt_context",
    "read_profile",
    "reads_refused",
    "reindex",
    "render_if_behind",
    "render_views",
    "revoke_trust",
    "search_memories",
    "set_identity",
    "strangers_note",
    "switch",
    "sync",
    "sync_status",
    "trust_project",
    "trust_report",
    "unencoded",
    "unreadable",
    "update_memory",
    "user_profile",
    "waiting_nudges",
    "work_off",
    "writes_refused",
]
