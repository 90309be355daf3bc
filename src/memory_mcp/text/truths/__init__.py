"""Decides whether a later statement brings an earlier one up to date, or contradicts it."""

from memory_mcp.text.truths.compare import (
    Disputes,
    Independent,
    Outdates,
    Related,
    Truth,
    compare_statements,
    find_contradicted,
    list_other_values,
    says_change,
)
from memory_mcp.text.truths.marks import Marks, drop_outdated, mark_truths
from memory_mcp.text.truths.outlines import may_bear, may_relate, pack_outline

__all__ = [
    "Disputes",
    "Independent",
    "Marks",
    "Outdates",
    "Related",
    "Truth",
    "compare_statements",
    "drop_outdated",
    "find_contradicted",
    "list_other_values",
    "mark_truths",
    "may_bear",
    "may_relate",
    "pack_outline",
    "says_change",
]
