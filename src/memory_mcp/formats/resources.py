"""Reads a program's list of resources, and makes a snapshot of what was found of them.

The list is JSON: an object of the sections `local_data` (or `local`), `github` and `huggingface`,
each a list of objects with a `name` and a path or a repository; or `items`, each with its `class`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from memory_mcp.domain.json_input import JsonValue, load_json
from memory_mcp.domain.limits import RESOURCE_ITEMS_MAX
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.resources import (
    FetchStatus,
    ResourceClass,
    ResourceItem,
    ResourceSnapshot,
    Seen,
)
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen

_SECTIONS: Final[Mapping[str, ResourceClass]] = {
    "local": "local_data",
    "local_data": "local_data",
    "github": "github",
    "huggingface": "huggingface",
}
_ITEMS: Final = "items"
_PATHS: Final = ("path", "host_path", "dest")
_SOURCES: Final = ("repo", "repo_id", "url")
_VERSIONS: Final = ("ref", "revision")


@frozen
class Resource:
    """A resource as the list has it; `path` is where it is, or is to be, on this machine."""

    name: str
    class_: ResourceClass
    path: str = ""
    source: str = ""
    fault: str = ""
    """Why its entry in the list cannot be read."""

    @property
    def id(self) -> str:
        return f"{self.class_}:{self.name}"


def parse_resources(data: bytes, name: str) -> list[Resource]:
    """The resources of a list, in the order of their ids.

    Raises:
        InvalidRequestError: it is no such list; says what is wrong, and what would do.
    """
    try:
        value = load_json(data)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"{name} is no JSON: {error}. Mend it.") from None
    found: dict[str, Resource] = {}
    for each in _read_sections(value, name):
        if found.setdefault(each.id, each) != each:
            raise InvalidRequestError(f"{name} lists two resources {each.id!r}. Rename one.")
    if len(found) > RESOURCE_ITEMS_MAX:
        raise InvalidRequestError(
            f"{name} lists {len(found):,} resources; {RESOURCE_ITEMS_MAX:,} can be. "
            "List folders instead of files."
        )
    return [found[each] for each in sorted(found)]


def _read_sections(value: object, name: str) -> Iterator[Resource]:
    listed: object = {_ITEMS: cast("object", value)} if isinstance(value, list) else value
    if not isinstance(listed, dict):
        raise InvalidRequestError(f"{name} is no object of sections: {', '.join(_SECTIONS)}.")
    for section, entries in cast("dict[str, object]", listed).items():
        if section not in (*_SECTIONS, _ITEMS):
            raise InvalidRequestError(
                f"{name} has the section {section!r}; there are {', '.join((*_SECTIONS, _ITEMS))}."
            )
        if not isinstance(entries, list):
            raise InvalidRequestError(f"{section} in {name} is no list of resources.")
        for place, entry in enumerate(cast("list[object]", entries), 1):
            yield _read_entry(entry, section, place)


def _read_entry(entry: object, section: str, place: int) -> Resource:
    """The resource; a wrong entry costs itself and nothing else."""
    known = _SECTIONS.get(section, "local_data")
    stand_in = f"entry {place} of {section}"
    if not isinstance(entry, dict):
        why = "its entry is no object with a name and a path or repository"
        return Resource(stand_in, known, fault=why)
    fields = cast("dict[str, object]", entry)
    class_ = _SECTIONS.get(str(fields.get("class", "")) if section == _ITEMS else section)
    if class_ is None:
        choices = ", ".join(dict.fromkeys(_SECTIONS.values()))
        why = f"its class is {fields.get('class')!r:.80}; choose one of: {choices}"
        return Resource(stand_in, known, fault=why)
    path, source = _first(fields, _PATHS), _first(fields, _SOURCES)
    version = _first(fields, _VERSIONS)
    name = _first(fields, ("name", "id")) or (source or path).rstrip("/").rpartition("/")[2]
    if not name or not (path or source):
        needed = " or ".join(_PATHS[:1] if class_ == "local_data" else _SOURCES[:2])
        return Resource(stand_in, class_, fault=f"its entry has no name or no {needed}")
    name = " ".join(normalise(name).split())  # a line of the index
    return Resource(name, class_, path, f"{source}@{version}" if source and version else source)


def _first(fields: Mapping[str, object], names: Sequence[str]) -> str:
    return next((str(fields[name]) for name in names if fields.get(name)), "")


def normalise_config(config: Mapping[str, Any]) -> dict[str, JsonValue]:
    """The configuration as JSON with its keys in order, so that equal ones have equal digests.

    Raises:
        InvalidRequestError: it cannot be written as JSON.
    """
    try:
        return json.loads(json.dumps(dict(config), sort_keys=True, default=str))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"config is no JSON: {error}. Mend it.") from None


def make_snapshot(
    data: bytes,
    config: Mapping[str, JsonValue],
    found: Sequence[tuple[Resource, Seen | None]],
    note: str = "",
) -> ResourceSnapshot:
    """A snapshot of the list, with what was seen of each resource; None: nobody looked."""
    items = [_make_item(resource, seen) for resource, seen in found]
    sha = hashlib.sha256(data).hexdigest() if data else ""
    covered = json.dumps([sha, config, items], sort_keys=True)
    return {
        "digest": f"sha256:{hashlib.sha256(covered.encode()).hexdigest()}",
        "resource_file_sha": sha,
        "config_normalized": dict(config),
        "items": items,
        "index": "\n".join(map(_render_item, items)),
        "note": note,
    }


def _make_item(resource: Resource, seen: Seen | None) -> ResourceItem:
    found = Seen(why=resource.fault) if resource.fault else seen or Seen()
    status: FetchStatus = "available" if found.path else "pending"
    if resource.fault or (seen and not found.path and resource.class_ == "local_data"):
        status = "failed"  # what is to be fetched is not missing yet
    return {
        "id": resource.id,
        "class": resource.class_,
        "name": resource.name,
        "source": resource.source,
        "fetch_status": status,
        "path": found.path or resource.path,
        "tree_summary": found.tree,
        "content_excerpt": found.excerpt,
        "note": found.why,
    }


def _render_item(item: ResourceItem) -> str:
    parts = (item["id"], item["fetch_status"], item["path"], item["source"], item["note"])
    return " | ".join(" ".join(part.split()) for part in parts if part)
