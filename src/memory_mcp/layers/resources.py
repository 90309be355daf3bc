"""Takes a snapshot of a program's resources, and notes which of them a node used."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_mcp.domain.layers import LayerReceipt, RecallAppend
from memory_mcp.domain.limits import RESOURCE_EXCERPT_CHARS, RESOURCE_FILES_SHOWN
from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.resources import RESOURCE_EVENT_KIND, ResourceSnapshot, Seen, UsageType
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.formats.resources import (
    Resource,
    make_snapshot,
    normalise_config,
    parse_resources,
)
from memory_mcp.layers.nodes import write_node
from memory_mcp.ports import ResourceFiles
from memory_mcp.text.secrets import redact


async def take_snapshot(
    files: ResourceFiles, file: str, config: Mapping[str, Any], *, resolve_paths: bool
) -> ResourceSnapshot:
    """What there is of the resources that the file lists; without `resolve_paths` nobody looks.

    Raises:
        InvalidRequestError: the file may not be read, or is no list of resources.
    """
    normal = normalise_config(config)
    files_max = _read_limit(config, "max_files", RESOURCE_FILES_SHOWN)
    chars_max = _read_limit(config, "max_chars", RESOURCE_EXCERPT_CHARS)
    data = await files.read_list(file)
    if data is None:
        return make_snapshot(b"", normal, (), f"There is no file {file!r}.")
    found: list[tuple[Resource, Seen | None]] = []
    for resource in parse_resources(data, repr(file)):
        seen = None
        if resolve_paths and resource.path:
            seen = _redact(await files.look_at(resource.path, files_max, chars_max))
        source = redact(resource.source).text  # an address may hold a password
        found.append((replace(resource, source=source), seen))
    return make_snapshot(data, normal, found)


async def track_usage(
    workspace: Workspace, resource_id: str, usage: UsageType, context: str
) -> LayerReceipt | Skipped:
    """An event: the node read, cited or included this resource."""
    if not resource_id.strip():
        raise InvalidRequestError("resource_id is empty. Give the id of an item of the snapshot.")
    event = RecallAppend(
        kind=RESOURCE_EVENT_KIND,
        summary=f"{usage} {resource_id}",
        text=context,
        refs=(resource_id,),
        meta={"resource_id": resource_id, "usage_type": usage},
    )
    return await write_node(workspace, [event])


def _read_limit(config: Mapping[str, Any], name: str, default: int) -> int:
    value = config.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidRequestError(f"{name} is {value!r}; give a whole number from 0.")
    return value


def _redact(seen: Seen) -> Seen:
    """The same without secrets: an excerpt goes into prompts."""
    return Seen(seen.path, normalise(seen.tree), redact(normalise(seen.excerpt)).text, seen.why)
