"""What Supermemory is asked (v5). Request bodies are closed: an unknown field is refused."""

from collections.abc import Sequence
from typing import Any

from memory_mcp.domain.cloud import Document, Test

__all__ = ["fields", "filtered", "task"]

Json = dict[str, Any]


def fields(document: Document) -> Json:
    """A document to add, under our id."""
    return {
        "id": document.id,
        "content": document.content,
        "metadata": dict(document.metadata),
        "date": document.date,
    }


def task(*, extract: bool) -> Json:
    """What to do with it: keep it verbatim, or draw facts from it at once."""
    return {"taskType": "memory", "dreaming": "instant"} if extract else {"taskType": "superrag"}


def filtered(tests: Sequence[Test]) -> Json:
    """The tests as the service's filter: all of them must hold."""
    operands = [part for test in tests for part in _operands(test)]
    match operands:
        case []:
            return {}
        case [one]:
            return {"filter": one}
        case _:
            return {"filter": {"operator": "and", "operands": operands}}


def _operands(test: Test) -> list[Json]:
    operator = "arrayContains" if test.contains else "neq" if test.unlike else "eq"
    parts: list[Json] = [
        {"field": test.field, "operator": operator, "value": value} for value in test.values
    ]
    if test.contains or test.unlike or len(parts) == 1:
        return parts
    return [{"operator": "or", "operands": parts}]
