"""One walk through the cloud service with the vendor's own client: every call that we rely on."""

from collections.abc import Generator
from contextlib import contextmanager

import httpx
from supermemory import Supermemory
from supermemory.requests.filter_string_equals import FilterStringEqualsParams
from supermemory.requests.metadata_value import MetadataValueParams

__all__ = ["tour", "vendor_client"]

SPACE = "cc_u-ada_p-shop"


@contextmanager
def vendor_client(url: str, key: str = "sm_test") -> Generator[Supermemory]:
    """The official SDK on that address; it neither tries again nor follows anybody."""
    with httpx.Client(timeout=20, follow_redirects=False) as http:
        yield Supermemory(base_url=url, api_key=key, max_retries=0, httpx_client=http)


def tour(sdk: Supermemory) -> None:
    """Add, read, change, find, list and delete; asserts what each call must have brought about.

    Starts and ends with an empty service which answers with the ids that it was given.
    """
    _add(sdk)
    _find(sdk)
    _list(sdk)
    _delete(sdk)


def _add(sdk: Supermemory) -> None:
    text = "The deploy script lives in tools/deploy.sh"
    metadata: dict[str, MetadataValueParams] = {
        "memory_id": "mem_1",
        "category": "fact",
        "tags": ["deploy", "ops"],
        "seq": 1,
    }
    added = sdk.add(
        SPACE,
        content=text,
        id="mem_1",
        metadata=metadata,
        date="2026-11-21T08:00:00Z",
        task_type="superrag",
    )
    assert (added.id, added.status) == ("mem_1", "queued")
    assert sdk.add(SPACE, content=text, id="mem_1", task_type="superrag").status == "done"

    many = sdk.documents.batch_add(
        SPACE,
        documents=[
            {
                "id": "mem_2",
                "content": "Orders live in PostgreSQL",
                "metadata": {"category": "fact"},
            },
            {
                "id": "mem_3",
                "content": "Ada likes short commits",
                "metadata": {"category": "taste"},
            },
        ],
        task_type="memory",
    )
    assert (many.count, many.failed) == (2, 0)
    assert {result.id for result in many.results} == {"mem_2", "mem_3"}

    found = sdk.documents.get(SPACE, "mem_1", include="chunks")
    assert (found.id, found.content, found.metadata) == ("mem_1", text, metadata)
    assert found.system.status == "done"
    assert [chunk.content for chunk in found.chunks or []] == [text]

    changed = sdk.documents.update(SPACE, "mem_2", content="Orders live in MySQL")
    assert changed.id == "mem_2"
    assert sdk.documents.get(SPACE, "mem_2").content == "Orders live in MySQL"


def _find(sdk: Supermemory) -> None:
    found = sdk.search(
        SPACE,
        query="where is the deploy script",
        search_mode="chunks",
        threshold=0.1,
        limit=20,
        include={"documents": True},
        filter={
            "operator": "and",
            "operands": [
                {"field": "category", "operator": "eq", "value": "fact"},
                {"field": "tags", "operator": "arrayContains", "value": "deploy"},
                {"field": "seq", "operator": "lte", "value": 1},
            ],
        },
    )
    (hit,) = found.results
    assert hit.chunk == "The deploy script lives in tools/deploy.sh"
    assert hit.id != "mem_1"
    assert hit.included is not None
    assert hit.included.document is not None
    assert hit.included.document.id == "mem_1"

    profile = sdk.profile(SPACE, buckets=["people"]).profile
    assert {fact.memory for fact in profile.dynamic} == {
        "Orders live in MySQL",
        "Ada likes short commits",
    }


def _list(sdk: Supermemory) -> None:
    listed = sdk.list(SPACE, "documents", page=2, limit=2, sort="createdAt", order="asc")
    assert [row.id for row in listed.documents] == ["mem_3"]
    assert (listed.pagination.total_items, listed.pagination.total_pages) == (3, 2)

    taste: FilterStringEqualsParams = {"field": "category", "operator": "eq", "value": "taste"}
    whole = sdk.list(SPACE, "documents", filter=taste, include={"content": True})
    assert [row.content for row in whole.documents] == ["Ada likes short commits"]
    assert len(sdk.list(SPACE, "chunks").chunks) == 3

    facts = sdk.list(SPACE, "memories", filter=taste).memories
    assert sdk.memories.forget(SPACE, ids=[fact.id for fact in facts]).count == 1
    assert [row.namespace for row in sdk.namespaces.list(limit=1).namespaces] == [SPACE]


def _delete(sdk: Supermemory) -> None:
    deleted = sdk.documents.delete(SPACE, ids=["mem_1", "mem_gone"])
    assert deleted.count == 1
    assert [(e.id, e.error) for e in deleted.errors] == [("mem_gone", "Document not found")]
    assert sdk.namespaces.delete(SPACE).status == "deleted"
    assert sdk.namespaces.list().namespaces == []
