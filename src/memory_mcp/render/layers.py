"""What is read from a node's layers, as the fields of an answer: short, and nothing empty."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Final, TypeVar, cast

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
from memory_mcp.render.node import share_room

T = TypeVar("T")

_NOTHING: Final[Mapping[str, Any]] = {"core": {}, "recall": [], "archival": []}
"""The answer of a layer that has nothing of what it was asked for."""

_LEFT_OUT = frozenset({"chain", "durable"})
"""Fields of entries and events that say nothing in a view of what holds."""

_COUNTS = frozenset({"evicted", "sums_up"})
"""Fields of events and receipts that say nothing where they are 0."""


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
        case UpdatesApplied(receipt=receipt, asked=asked):
            answers = drop_empty(_list_fields(outcome))
            found = {layer: answers.get(layer, _NOTHING[layer]) for layer in asked}
            return {**_list_fields(receipt), **({"results": found} if found else {})}


def render_view(view: NodeView, budget_chars: int) -> Mapping[str, Any]:
    """The fields of a view within a budget: whole items, and how many were left out.

    The important keys of the core go first, the newest events, and the archive as it was listed.
    """
    shown = dict(render_layers(view))
    keys = sorted(shown["core"], key=_rank_keys(view))
    ranked: dict[str, list[Any]] = {
        "core": [(key, shown["core"][key]) for key in keys],
        "recall": shown["recall"][::-1],
        "archival": shown["archival"],
    }
    sizes = {
        name: [len(json.dumps(each, ensure_ascii=False)) + 1 for each in items]
        for name, items in ranked.items()
    }
    shares = share_room([sum(each) for each in sizes.values()], _WEIGHTS, budget_chars)
    kept = {
        name: _keep_within(items, sizes[name], share)
        for (name, items), share in zip(ranked.items(), shares, strict=True)
    }
    left_out = {n: gone for n, items in ranked.items() if (gone := len(items) - len(kept[n]))}
    shown |= {
        "core": dict(sorted(kept["core"])),
        "recall": kept["recall"][::-1],
        "archival": kept["archival"],
    }
    if left_out:
        shown |= {"left_out": left_out, "message": _LEFT_OUT_HINT.format(budget_chars)}
    return shown


_WEIGHTS: Final = (4, 3, 2)
"""Of core, events and archive, as in a prompt."""

_LEFT_OUT_HINT: Final = (
    "Not all of it fits budget_chars={}. Name a scope, give a larger budget_chars, or look up what "
    "you need with apply_llm_memory_updates: mem_core_get, mem_recall_search, mem_archival_search."
)


def _rank_keys(view: NodeView) -> Callable[[str], tuple[int, str]]:
    importance = {entry.key: entry.importance for entry in view.core}
    return lambda key: (-importance[key], key)


def _keep_within(items: Sequence[T], sizes: Sequence[int], room: int) -> list[T]:
    """Those that fit, the first ones first; a smaller one may fit where a larger did not."""
    kept: list[T] = []
    for each, size in zip(items, sizes, strict=True):
        if size <= room:
            kept.append(each)
            room -= size
    return kept


def _list_fields(value: Any) -> dict[str, Any]:
    named = {each.name: _make_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, RecallEvent):  # where it is told from its parts, the whole is there
        named["text"] = value.text or None
    if named.get("importance") == IMPORTANCE_DEFAULT:
        del named["importance"]
    silent = _LEFT_OUT | {name for name in _COUNTS if not named.get(name)}
    return {name: each for name, each in named.items() if name not in silent}


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
