"""Decides whether two statements are the same fact, and makes one text of those that are."""

from memory_mcp.text.merge.compose import (
    ForgetPlan,
    compose,
    find_replaced_value,
    keeps_content,
    plan_forget,
    recompose,
)
from memory_mcp.text.merge.similarity import Statement, compare_facts, score_similarity

__all__ = [
    "ForgetPlan",
    "Statement",
    "compare_facts",
    "compose",
    "find_replaced_value",
    "keeps_content",
    "plan_forget",
    "recompose",
    "score_similarity",
]
