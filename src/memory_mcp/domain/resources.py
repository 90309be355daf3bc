"""Resources of a program: local data, repositories and models that it works with.

They are JSON, because programs store a snapshot beside their results and compare its digest.
"""

from typing import Final, Literal, TypedDict

from memory_mcp.domain.json_input import JsonValue
from memory_mcp.frozen import frozen

ResourceClass = Literal["local_data", "github", "huggingface"]

FetchStatus = Literal["pending", "available", "failed"]
"""`pending`: not here yet. `failed`: it should be here, and it is missing or not to be read."""

UsageType = Literal["read", "reference", "include"]

RESOURCE_INDEX_KEY: Final = "resource_index"
"""The key of the core under which a node keeps the index of its resources."""

RESOURCE_EVENT_KIND: Final = "resource"
"""The kind of the events that say what was used."""


@frozen
class Seen:
    """What is at a path: its files, and how the most telling one begins.

    Without a `path` nothing is seen, for the reason `why`.
    """

    path: str = ""
    tree: str = ""
    excerpt: str = ""
    why: str = ""


ResourceItem = TypedDict(
    "ResourceItem",
    {
        "id": str,
        "class": ResourceClass,
        "name": str,
        "source": str,
        "fetch_status": FetchStatus,
        "path": str,
        "tree_summary": str,
        "content_excerpt": str,
        "note": str,
    },
)
"""A resource; `source` is where it comes from, `path` where it is here, `note` why it is not."""


class ResourceSnapshot(TypedDict):
    """What there is now. Equal digests mean that nothing has changed.

    `index` is for prompts: a line for each item. `note` says why there are no items.
    """

    digest: str
    resource_file_sha: str
    config_normalized: dict[str, JsonValue]
    items: list[ResourceItem]
    index: str
    note: str
