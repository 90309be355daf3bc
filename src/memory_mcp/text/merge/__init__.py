"""Decides whether two statements are the same fact, and makes one text of those that are."""

from memory_mcp.text.merge.clauses import find_conflict, find_contradicted
from memory_mcp.text.merge.compose import (
    ForgetPlan,
    compose,
    find_parts,
    find_replaced_value,
    keeps_content,
    plan_forget,
    recompose,
)
from memory_mcp.text.merge.decision import (
    Decision,
    Insert,
    Merge,
    Refuse,
    Skip,
    choose_band,
    is_comparable,
    makes_superfluous,
)
from memory_mcp.text.merge.similarity import Statement, compare_facts, score_similarity

__all__ = [
    "Decision",
    "ForgetPlan",
    "Insert",
    "Merge",
    "Refuse",
    "Skip",
    "Statement",
    "choose_band",
    "compare_facts",
    "compose",
    "find_conflict",
    "find_contradicted",
    "find_parts",
    "find_replaced_value",
    "is_comparable",
    "keeps_content",
    "makes_superfluous",
    "plan_forget",
    "recompose",
    "score_similarity",
]
