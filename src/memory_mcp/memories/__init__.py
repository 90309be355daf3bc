"""Use cases on one memory: add, correct, forget."""

from memory_mcp.memories.add import add_memory
from memory_mcp.memories.forget import forget_memory
from memory_mcp.memories.identity import load_identity, set_identity
from memory_mcp.memories.review import review_memory, withdraw_review
from memory_mcp.memories.update import pin_memory, put_back_memory, update_memory
from memory_mcp.memories.waiting import deliver_waiting, find_waiting_writes, keep_delivered

__all__ = [
    "add_memory",
    "deliver_waiting",
    "find_waiting_writes",
    "forget_memory",
    "keep_delivered",
    "load_identity",
    "pin_memory",
    "put_back_memory",
    "review_memory",
    "set_identity",
    "update_memory",
    "withdraw_review",
]
