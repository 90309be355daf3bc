"""Untrusted records of a repository, and erasures that the cloud asks for."""

from memory_mcp.trust.strangers import (
    describe_strangers,
    note_trust_declined,
    report_trust,
    revoke_trust,
    trust_project,
)

__all__ = [
    "describe_strangers",
    "note_trust_declined",
    "report_trust",
    "revoke_trust",
    "trust_project",
]
