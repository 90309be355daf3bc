"""What the use cases need from the world, as small Protocols.

Each docstring is the contract; tests/contracts proves it for every adapter. Adapters raise the
errors of `memory_mcp.errors` and nothing else on purpose.
"""

from memory_mcp.ports.cloud import Outbox, PulledRecords, Remote
from memory_mcp.ports.files import (
    Clock,
    CloudTrust,
    ErasedLog,
    HeadStore,
    Ids,
    ProjectTrust,
    Provenance,
    RecordStore,
)
from memory_mcp.ports.inbox import Inbox
from memory_mcp.ports.language import LanguageModel
from memory_mcp.ports.moving import ImportJournal
from memory_mcp.ports.nudges import NudgeQueue
from memory_mcp.ports.search import Embedder, SearchIndex, VectorIndex
from memory_mcp.ports.views import Views

__all__ = [
    "Clock",
    "CloudTrust",
    "Embedder",
    "ErasedLog",
    "HeadStore",
    "Ids",
    "ImportJournal",
    "Inbox",
    "LanguageModel",
    "NudgeQueue",
    "Outbox",
    "ProjectTrust",
    "Provenance",
    "PulledRecords",
    "RecordStore",
    "Remote",
    "SearchIndex",
    "VectorIndex",
    "Views",
]
