"""The use cases: one async function each, over a frozen record of ports."""

from memory_mcp.bootstrap.opening import bootstrap
from memory_mcp.bootstrap.views import keep_rendered, render_if_behind, render_views
from memory_mcp.branches.backtrack import Choice, backtrack, preview_backtrack
from memory_mcp.branches.checkpoint import Decision, checkpoint, decide, fork, switch
from memory_mcp.branches.report import memory_head
from memory_mcp.engine.phases import move_to_phase, phase_now, phases
from memory_mcp.engine.workspace import reads_refused, writes_refused
from memory_mcp.maintenance.doctor import doctor
from memory_mcp.maintenance.encode import encode_all, keep_encoded, unencoded
from memory_mcp.maintenance.probe import Probe, probe
from memory_mcp.memories.add import add_memory
from memory_mcp.memories.forget import forget_memory
from memory_mcp.memories.identity import project_identity, set_identity
from memory_mcp.memories.update import update_memory
from memory_mcp.profile.sync import profile_sync, read_profile, user_profile
from memory_mcp.search.search import search_memories
from memory_mcp.sessions.catch_up import catch_up, reindex
from memory_mcp.sessions.consolidate import consolidate, latest_consolidation
from memory_mcp.sessions.context import memory_context
from memory_mcp.sessions.episodes import episodic_capture
from memory_mcp.sessions.inbox import keep_worked_off, work_off
from memory_mcp.sessions.nudges import add_nudge, clear_nudges, waiting_nudges
from memory_mcp.sessions.prompting import note_branch, prompt_context
from memory_mcp.sync.push import drain
from memory_mcp.sync.run import Synced, erase_forgotten_elsewhere, keep_mirrored, sync, sync_status
from memory_mcp.transfer.export import Chosen, choose_export, exported, unreadable
from memory_mcp.transfer.import_memories import complete_import, import_memories, preview_import
from memory_mcp.transfer.plan import Advance
from memory_mcp.trust.strangers import (
    leave_untrusted,
    revoke_trust,
    strangers_note,
    trust_project,
    trust_report,
)

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
