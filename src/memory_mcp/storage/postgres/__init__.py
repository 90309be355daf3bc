"""Records, heads, index and vectors in PostgreSQL: one memory for a team."""

from memory_mcp.storage.postgres.changes import describe_state, follow_changes
from memory_mcp.storage.postgres.database import Postgres, Principal
from memory_mcp.storage.postgres.heads import (
    PostgresErasedLog,
    PostgresHeads,
    PostgresImportJournal,
)
from memory_mcp.storage.postgres.index import PostgresIndex
from memory_mcp.storage.postgres.records import PostgresRecords
from memory_mcp.storage.postgres.rows import Bank
from memory_mcp.storage.postgres.schema import TEAM
from memory_mcp.storage.postgres.vectors import PostgresVectors

__all__ = [
    "TEAM",
    "Bank",
    "Postgres",
    "PostgresErasedLog",
    "PostgresHeads",
    "PostgresImportJournal",
    "PostgresIndex",
    "PostgresRecords",
    "PostgresVectors",
    "Principal",
    "describe_state",
    "follow_changes",
]
