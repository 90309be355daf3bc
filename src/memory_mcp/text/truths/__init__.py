"""Decides whether a later statement brings an earlier one up to date, or contradicts it."""

from memory_mcp.text.truths.asked import (
    answers_anew,
    describe_answers,
    hints_change,
    tells_change,
    weigh_answers,
    weigh_most,
)
from memory_mcp.text.truths.compare import (
    Disputes,
    Independent,
    Outdates,
    Related,
    Truth,
    compare_statements,
    find_contradicted,
    list_other_values,
    list_renames,
    may_exclude,
    says_change,
    split_outdated,
)
from memory_mcp.text.truths.marks import (
    Marks,
    compare_records,
    drop_outdated,
    join_title,
    mark_truths,
)
from memory_mcp.text.truths.outlines import may_bear, may_relate, pack_outline, tells_changes
from memory_mcp.text.truths.renames import mentions_name

__all__ = [
    "Disputes",
    "Independent",
    "Marks",
    "Outdates",
    "Related",
    "Truth",
    "answers_anew",
    "compare_records",
    "compare_statements",
    "describe_answers",
    "drop_outdated",
    "find_contradicted",
    "hints_change",
    "join_title",
    "list_other_values",
    "list_renames",
    "mark_truths",
    "may_bear",
    "may_exclude",
    "may_relate",
    "mentions_name",
    "pack_outline",
    "says_change",
    "split_outdated",
    "tells_change",
    "tells_changes",
    "weigh_answers",
    "weigh_most",
]
