"""Carries out a document of updates as a model writes it."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from reprlib import Repr
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError

from memory_mcp.domain.layers import (
    ArchivalRecord,
    LayerScope,
    MemoryUpdates,
    RecallAppend,
    RecallEvent,
    UpdatesApplied,
    Write,
    list_core_values,
)
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.engine.head import load_head
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.layers.nodes import write_node
from memory_mcp.layers.reading import load_core, search_archival, search_events
from memory_mcp.layers.selecting import require_same_node
from memory_mcp.text.drafts import check_tags

M = TypeVar("M", bound=BaseModel)

_OWN: Final[Mapping[str, str]] = {}

INSTRUCTIONS: Final = """\
You keep the memory of this node. Answer with one JSON object; every key may be left out:
- mem_core_set: what must stay in view, as {"key": "value"}, or
  [{"key", "value", "ttl" ("30m", "2d"), "importance" (1-5)}]
- mem_core_get: keys to read (["*"]: all); mem_core_del: keys that no longer hold
- mem_recall_append: what happened, as [{"summary", "text", "kind", "refs", "tags"}]
- mem_recall_search: [{"query" ("*": the newest), "k"}]
- mem_recall_evict: events to take out of the window, as [{"ids"}] or
  [{"kind", "older_than", "keep"}]
- mem_archival_write: what may be needed later, as [{"text", "tags", "meta"}]
- mem_archival_update: [{"id", "text", "tags", "meta"}]
- mem_archival_search: [{"query", "tags", "k"}]
- consolidate: one summary in place of what this node inherits, as {"summary"} or {"summary", "ids"}
All of it is written, or nothing. For example:
"""

EXAMPLE: Final = """\
{"mem_core_set": {"goal": "Beat 0.91 accuracy", "budget": {"value": "3 runs", "ttl": "2d"}},
 "mem_core_del": ["old_plan"],
 "mem_recall_append": [{"summary": "Dropout 0.3 gave 0.902", "kind": "result", "refs": ["run/7"]}],
 "mem_recall_evict": [{"kind": "log", "keep": 5}],
 "mem_archival_write": [{"text": "Learning rates above 1e-3 diverge.", "tags": ["training"]}],
 "mem_archival_search": [{"query": "what diverges?", "k": 3}]}
"""


def memory_operation_instructions() -> str:
    """The text that a prompt needs so that a model writes updates, with an example that is one."""
    return INSTRUCTIONS + EXAMPLE


def parse_form(form: type[M], fields: Mapping[str, Any], names: Mapping[str, str] = _OWN) -> M:
    """The form with these fields; `names` are what its own are called by who gave them.

    Raises:
        InvalidRequestError: an unknown field or a wrong type; names it and the right ones.
    """
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise InvalidRequestError(_explain(form, error, fields, names)) from error


def parse_node_write(
    core_updates: Mapping[str, Any],
    recall_event: Mapping[str, Any] | None,
    archival_records: Sequence[Mapping[str, Any] | str],
) -> list[Write]:
    """The writes to all layers of a node; a core value of None deletes its key.

    Raises:
        InvalidRequestError: an unknown field or a wrong type; names it and the right ones.
    """
    if not isinstance(core_updates, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidRequestError(
            f"core_updates is {_SHORT.repr(core_updates)}; give an object of keys and values."
        )
    document = {
        "mem_core_set": {k: v for k, v in core_updates.items() if v is not None},
        "mem_core_del": [key for key, value in core_updates.items() if value is None],
        "mem_recall_append": [] if recall_event is None else recall_event,
        "mem_archival_write": archival_records,
    }
    return list(parse_form(MemoryUpdates, document, _NODE_FIELDS).list_writes())


async def apply_updates(
    workspace: Workspace, updates: Mapping[str, Any], phase: str = "", node_id: str = ""
) -> UpdatesApplied | Skipped:
    """Write all of it in one step, or nothing; answer what it asks as of after that.

    Events that name no phase or `node_id` get these.

    Raises:
        InvalidRequestError: an unknown key or a wrong type; names it and the right ones.
    """
    document = parse_form(MemoryUpdates, updates)
    for asked in document.mem_archival_search:  # nothing is written if the answer would fail
        check_tags(asked.tags)
    labels = parse_form(RecallAppend, {"phase": phase, "node_id": node_id})
    require_same_node(workspace, (await load_head(workspace)).timeline, labels.node_id)
    writes = [_add_labels(write, labels) for write in document.list_writes()]
    receipt = await write_node(workspace, writes)
    if isinstance(receipt, Skipped):
        return receipt
    core: dict[str, str] = {}
    if (keys := document.mem_core_get) is not None:
        wanted = None if not keys or "*" in keys else keys
        entries = await load_core(workspace, wanted)
        core = {e.key: e.value for e in entries} if not isinstance(entries, Skipped) else {}
    recall: list[RecallEvent] = []
    for asked in document.mem_recall_search:
        recall += _list_found(await search_events(workspace, asked.query, asked.k))
    archival: list[ArchivalRecord] = []
    for asked in document.mem_archival_search:
        found = await search_archival(workspace, asked.query, asked.tags, asked.k)
        archival += _list_found(found)
    return UpdatesApplied(receipt, core, tuple(recall), tuple(archival), _list_asked(document))


def _list_asked(document: MemoryUpdates) -> tuple[LayerScope, ...]:
    """The layers that the document asks."""
    asks: dict[LayerScope, bool] = {
        "core": document.mem_core_get is not None,
        "recall": bool(document.mem_recall_search),
        "archival": bool(document.mem_archival_search),
    }
    return tuple(layer for layer, asked in asks.items() if asked)


T = TypeVar("T")


def _list_found(found: Sequence[T] | Skipped) -> Sequence[T]:
    return () if isinstance(found, Skipped) else found


def _add_labels(write: Write, labels: RecallAppend) -> Write:
    """Phase and node of the whole document are those of its events, unless they name their own."""
    if not isinstance(write, RecallAppend):
        return write
    return write.model_copy(
        update={
            "phase": str(write.phase) or labels.phase,
            "node_id": write.node_id or labels.node_id,
        }
    )


def _explain(
    form: type[BaseModel], error: ValidationError, fields: object, names: Mapping[str, str]
) -> str:
    wrong = error.errors(include_url=False)
    unknown = (each for each in wrong if each["type"] == "extra_forbidden")
    first = next(unknown, wrong[0])  # a misspelt field is told of before what is missing for it
    where = _name_place(first["loc"], fields, names) or form.__name__
    said = first["msg"].removeprefix("Value error, ")
    if plain := _PLAIN.get(first["type"]):
        said = plain.format_map(first.get("ctx", {}))
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        known = _list_fields(form, first["loc"][:-1])
        near = get_close_matches(name, known, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        return (
            f"{where!r} is no key that is known here.{guess} Known: {', '.join(known)}. "
            "Nothing was written."
        )
    shown = _SHORT.repr(first["input"])
    known = ", ".join(_list_fields(form, first["loc"][:-1]))
    return f"{where}: {said} (got {shown}). Known: {known}. Nothing was written."


def _name_place(loc: Sequence[int | str], fields: object, names: Mapping[str, str]) -> str:
    """The way to a value as who gave it knows it: a core value is found by its key."""
    steps = [*loc[:_STEPS_SHOWN]]
    if steps[:1] == ["mem_core_set"] and len(steps) > 1 and isinstance(fields, Mapping):
        given = cast("Mapping[str, object]", fields)
        both = [given[name] for name in ("core", "mem_core_set") if given.get(name) is not None]
        entry = [one for each in both for one in list_core_values(each)][int(steps[1])]
        key = cast("Mapping[str, object]", entry).get("key") if isinstance(entry, Mapping) else None
        steps[1] = key if isinstance(key, str) else steps[1]
    path = ".".join(map(str, steps))
    for name, called in names.items():
        if path == name or path.startswith(f"{name}."):
            return called + path.removeprefix(name)
    return path


_NODE_FIELDS: Final = {
    "mem_core_set": "core_updates",
    "mem_core_del": "core_updates",
    "mem_recall_append.0": "recall_event",
    "mem_archival_write": "archival_records",
}
"""What the parts of a document are called in a write to a node."""

_PLAIN: Final = {
    "model_type": "give an object with these keys",
    "tuple_type": "give a list",
    "dict_type": "give an object",
    "string_type": "give a text",
    "string_too_long": "give at most {max_length:,} characters",
    "string_too_short": "it is empty",
    "int_type": "give a whole number",
    "int_parsing": "give a whole number",
    "int_from_float": "give a whole number",
    "greater_than_equal": "give {ge:,} or more",
    "less_than_equal": "give {le:,} or less",
    "missing": "it is missing",
}
"""What is wrong with a value, without words of Python."""

_STEPS_SHOWN: Final = 6
"""Of the way to a value: a model may nest without end."""

_SHORT: Final = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def _list_fields(form: type[BaseModel], inside: Sequence[int | str]) -> list[str]:
    """The fields of the form, or of the form within it that a path leads to."""
    for step in inside:
        if isinstance(step, str) and step in form.model_fields:
            form = next(_find_forms(form.model_fields[step].annotation), form)
    return list(form.model_fields)


def _find_forms(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _find_forms(part)
