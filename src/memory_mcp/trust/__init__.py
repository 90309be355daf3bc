"""What came with a repository, and whose word erases."""

from memory_mcp.trust.strangers import (
    leave_untrusted,
    revoke_trust,
    strangers_note,
    trust_project,
    trust_report,
)

__all__ = ["leave_untrusted", "revoke_trust", "strangers_note", "trust_project", "trust_report"]
