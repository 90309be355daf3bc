"""The word that stands with a memory which may not hold for the code as it is here."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Hit
from memory_mcp.engine.git import find_mark
from memory_mcp.engine.workspace import Workspace


def make_marker(workspace: Workspace) -> Callable[[Record], str]:
    """What tells of a memory why it may not hold here; '' of one that stands on this commit."""

    def mark(record: Record) -> str:
        found = find_mark(workspace, record)
        return str(found) if found else ""

    return mark


def mark_standing(workspace: Workspace, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with their marks; those that stand on this commit come first, each as it ranked."""
    mark = make_marker(workspace)
    marked = [replace(hit, standing=mark(hit.record)) for hit in hits]
    return sorted(marked, key=lambda hit: bool(hit.standing))
