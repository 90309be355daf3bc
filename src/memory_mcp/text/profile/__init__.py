"""Finds what a text says about the user, and plans the records of the profile."""

from memory_mcp.text.profile.records import (
    PUT_IN,
    SPEAKING_KINDS,
    TAKEN_OUT,
    KeptFact,
    build_fact_record,
    build_fact_tombstone,
    find_last_statement,
    order_entries,
    parse_correction,
    plan_profile,
    read_entry,
    read_memory,
    suggest_user_scope,
)

__all__ = [
    "PUT_IN",
    "SPEAKING_KINDS",
    "TAKEN_OUT",
    "KeptFact",
    "build_fact_record",
    "build_fact_tombstone",
    "find_last_statement",
    "order_entries",
    "parse_correction",
    "plan_profile",
    "read_entry",
    "read_memory",
    "suggest_user_scope",
]
