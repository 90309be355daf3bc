"""What the use cases need from the world, as small Protocols.

Each docstring is the contract; tests/contracts proves it for every adapter. Adapters raise the
errors of `memory_mcp.errors` and nothing else on purpose.
"""

from memory_mcp.ports.cloud import Outbox, PulledRecords, Remote
from memory_mcp.ports.code import CodeFiles
from memory_mcp.ports.git import GitHistory
from memory_mcp.ports.index import (
    Erasures,
    IndexContent,
    LineageIndex,
    SearchIndex,
    TextSearch,
    VectorIndex,
    VisibleRecords,
)
from memory_mcp.ports.models import Embedder, LanguageModel
from memory_mcp.ports.records import (
    Clock,
    CloudTrust,
    ErasedLog,
    HeadStore,
    Ids,
    ImportJournal,
    ProjectTrust,
    Provenance,
    RecordStore,
    Reviews,
    StoreFolders,
)
from memory_mcp.ports.resources import ResourceFiles
from memory_mcp.ports.sessions import ChangeWatch, Inbox, NudgeQueue, SuggestionStore, Views

__all__ = [
    "ChangeWatch",
    "Clock",
    "CloudTrust",
    "CodeFiles",
    "Embedder",
    "ErasedLog",
    "Erasures",
    "GitHistory",
    "HeadStore",
    "Ids",
    "ImportJournal",
    "Inbox",
    "IndexContent",
    "LanguageModel",
    "LineageIndex",
    "NudgeQueue",
    "Outbox",
    "ProjectTrust",
    "Provenance",
    "PulledRecords",
    "RecordStore",
    "Remote",
    "ResourceFiles",
    "Reviews",
    "SearchIndex",
    "StoreFolders",
    "SuggestionStore",
    "TextSearch",
    "VectorIndex",
    "Views",
    "VisibleRecords",
]
