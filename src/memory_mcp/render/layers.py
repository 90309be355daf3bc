"""What is read from a node's layers, as the fields of an answer: short, and nothing empty."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, cast

from memory_mcp.domain.layers import (
    LayerReceipt,
    NodeForked,
    NodeView,
    RecallEvent,
    UpdatesApplied,
)
from memory_mcp.domain.limits import IMPORTANCE_DEFAULT
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import drop_empty, format_time

_LEFT_OUT = frozenset({"chain", "durable", "evicted"})
"""Fields of entries and events that say nothing in a view of what holds."""


def render_layers(
    outcome: NodeForked | NodeView | LayerReceipt | UpdatesApplied | Skipped,
) -> Mapping[str, Any]:
    """The fields of what a call of a node returned."""
    match outcome:
        case Skipped(reason):
            return {"success": False, "message": reason}
        case NodeForked():
            return _list_fields(outcome)
        case NodeView(node=node):
            shown = _list_fields(outcome)
            core = {entry.key: entry.value for entry in outcome.core}
            return {**shown, "node": node, "chain": list(outcome.chain), "core": core}
        case LayerReceipt():
            return _list_fields(outcome)
        case UpdatesApplied(receipt=receipt):
            return {**_list_fields(outcome), **_list_fields(receipt), "receipt": None}


def _list_fields(value: Any) -> dict[str, Any]:
    named = {each.name: _make_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, RecallEvent):  # where it is told from its parts, the whole is there
        named["text"] = value.text or None
    if named.get("importance") == IMPORTANCE_DEFAULT:
        del named["importance"]
    return {name: each for name, each in named.items() if name not in _LEFT_OUT}


def _make_plain(value: Any) -> Any:
    match value:
        case datetime():
            return format_time(value)
        case str():
            return value
        case Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case Sequence():
            return [_make_plain(each) for each in cast("Sequence[Any]", value)]
        case _ if is_dataclass(value):
            return drop_empty(_list_fields(value))
        case _:
            return value
