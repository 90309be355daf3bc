"""What a node knows at the end of a run, as data and as a text to write a report from."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from memory_mcp.domain.layers import ArchivalRecord, CoreEntry, NodeView, RecallEvent
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.record import drop_empty, format_time
from memory_mcp.domain.resources import RESOURCE_EVENT_KIND, RESOURCE_INDEX_KEY
from memory_mcp.frozen import frozen

FINAL_HEADING: Final = "# Final memory of "
"""How every report begins."""


@frozen
class FinalMemory:
    """What goes into the report: `events` are all, the oldest first; `archive` newest first."""

    view: NodeView
    at: datetime
    events: Sequence[RecallEvent] = ()
    archive: Sequence[ArchivalRecord] = ()
    lessons: Sequence[str] = ()


def make_final_fields(final: FinalMemory) -> dict[str, Any]:
    """The report as data, for JSON."""
    view = final.view
    current = [event for event in final.events if not event.evicted]
    return {
        "node": view.node,
        "chain": list(view.chain),
        "exported_at": format_time(final.at),
        "core": {each.key: each.value for each in view.core if not each.durable},
        "preferences": {each.key: each.value for each in view.core if each.durable},
        "recall": [_make_event(event) for event in current],
        "archival_summary": {
            "count": view.archived,
            "tags": dict(sorted(Counter(t for each in final.archive for t in each.tags).items())),
            "records": [_make_archived(each) for each in final.archive],
        },
        "resources_used": list(_sum_up_usage(final.events)),
        "experiment_timeline": [_make_step(event) for event in final.events],
        "lessons": list(final.lessons),
    }


def render_final(final: FinalMemory) -> str:
    """The report as Markdown."""
    fields = make_final_fields(final)
    sections = {
        "Core": _list_core(final.view.core),
        "Lessons": [f"- {_indent(lesson)}" for lesson in final.lessons],
        "Experiment timeline": [_render_step(event) for event in final.events],
        "Events in detail": list(_list_details(final.events)),
        "Archive": [_render_archived(each) for each in final.archive],
        "Resources used": [_render_usage(each) for each in fields["resources_used"]],
    }
    chain = " < ".join(final.view.chain)
    archived = pluralise(final.view.archived, "text", "texts")
    events = pluralise(len(final.events), "event", "events")
    lines = [
        f"{FINAL_HEADING}{final.view.node}",
        f"{chain}\n\n{events}, {archived} in the archive. {format_time(final.at)}",
    ]
    for heading, items in sections.items():
        lines += [f"## {heading}", "\n".join(items) or "Nothing."]
    return "\n\n".join(lines) + "\n"


def _make_event(event: RecallEvent) -> dict[str, Any]:
    return drop_empty(
        {
            **_make_step(event),
            "text": event.text,
            "run_id": event.run_id,
            "task_hint": event.task_hint,
            "refs": list(event.refs),
            "tags": list(event.tags),
            "meta": dict(event.meta),
            "sums_up": event.sums_up,
        }
    )


def _make_step(event: RecallEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "ts": format_time(event.ts),
        "node": event.node,
        "phase": event.phase,
        "kind": event.kind,
        "summary": event.summary,
    }


def _make_archived(each: ArchivalRecord) -> dict[str, Any]:
    fields = {"tags": list(each.tags), "meta": dict(each.meta), "text": each.text}
    return drop_empty({"id": each.id, "node": each.node, "at": format_time(each.at), **fields})


def _sum_up_usage(events: Sequence[RecallEvent]) -> Iterator[dict[str, Any]]:
    """Each resource that was used: how, by which nodes, and for what."""
    used: dict[str, list[RecallEvent]] = {}
    for event in events:
        if event.kind == RESOURCE_EVENT_KIND and "resource_id" in event.meta:
            used.setdefault(str(event.meta["resource_id"]), []).append(event)
    for resource_id, each in sorted(used.items()):
        types = Counter(str(event.meta.get("usage_type", "")) for event in each)
        yield {
            "resource_id": resource_id,
            "usage": dict(sorted(types.items())),
            "nodes": list(dict.fromkeys(event.node for event in each)),
            "contexts": list(dict.fromkeys(event.text for event in each if event.text)),
            "first": format_time(each[0].ts),
            "last": format_time(each[-1].ts),
        }


def _list_core(core: Sequence[CoreEntry]) -> list[str]:
    return [
        f"- **{each.key}**{' (preference)' if each.durable else ''}: {_indent(each.value)}"
        for each in core
        if each.key != RESOURCE_INDEX_KEY
    ]


def _render_step(event: RecallEvent) -> str:
    labels = "/".join(label for label in (event.phase, event.kind) if label)
    return (
        f"- {event.ts:%Y-%m-%d %H:%M:%S} **{event.node}**"
        f"{f' [{labels}]' if labels else ''} {_indent(event.summary)}"
    )


def _list_details(events: Sequence[RecallEvent]) -> Iterator[str]:
    for event in events:
        if event.text and event.text != event.summary and event.kind != RESOURCE_EVENT_KIND:
            refs = f" ({', '.join(event.refs)})" if event.refs else ""
            yield f"- {_indent(event.summary)}{refs}\n\n  {_indent(event.text)}"


def _render_archived(each: ArchivalRecord) -> str:
    tags = f" ({', '.join(each.tags)})" if each.tags else ""
    return f"- **{each.node}**{tags}: {_indent(each.text)}"


def _render_usage(usage: Mapping[str, Any]) -> str:
    types = ", ".join(f"{name} {count}\u00d7" for name, count in usage["usage"].items())
    nodes, contexts = ", ".join(usage["nodes"]), "; ".join(usage["contexts"])
    return f"- **{usage['resource_id']}**: {types} by {nodes}{f'. {contexts}' if contexts else ''}"


def _indent(text: str) -> str:
    return text.strip().replace("\n", "\n  ")
