"""The contract of `ports.Remote`, for Supermemory over the fake cloud: what is there."""

from dataclasses import replace
from datetime import datetime

import pytest
from cloud import Cloud
from remotes import SPACE, document, fresh_id

from memory_mcp.domain.cloud import MetadataCondition as Condition
from memory_mcp.domain.cloud import StoredDocument
from memory_mcp.domain.limits import BATCH_IDS_MAX
from memory_mcp.storage.supermemory.client import Supermemory

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_ids")]


async def test_listing_pages_through_everything_in_order(cloud: Cloud, remote: Supermemory) -> None:
    """Nothing twice, nothing left out, from either end; a page past the end is empty."""
    ids = [fresh_id() for _ in range(2 * BATCH_IDS_MAX + 5)]
    for id_ in ids:
        cloud.add_document(SPACE, "x", id=id_, metadata={"memory_id": id_})

    for newest_first, expected in ((False, ids), (True, ids[::-1])):
        pages = [
            await remote.listing(SPACE, (), page, newest_first=newest_first) for page in range(1, 5)
        ]
        assert [d.id for page in pages for d in page.documents] == expected
        assert [len(page.documents) for page in pages] == [100, 100, 5, 0]
        assert [page.total for page in pages] == [205] * 4
        assert [page.more for page in pages] == [True, True, False, False]


async def test_a_full_last_page_is_the_last(cloud: Cloud, remote: Supermemory) -> None:
    """Else whoever pages asks once more for nothing, or for ever."""
    assert not (await remote.listing(SPACE, (), 1)).more
    for _ in range(BATCH_IDS_MAX):
        cloud.add_document(SPACE, "x", id=(id_ := fresh_id()), metadata={"memory_id": id_})
    listed = await remote.listing(SPACE, (), 1)

    assert (len(listed.documents), listed.more) == (BATCH_IDS_MAX, False)


async def test_listing_tells_the_content_only_if_asked(cloud: Cloud, remote: Supermemory) -> None:
    """A look at the states of a hundred documents need not carry their texts."""
    await remote.deliver(SPACE, [sent := document("Orders live in MySQL", kind="fact")])

    for tests in ((), [Condition("kind", ["fact"])]):
        (bare,) = (await remote.listing(SPACE, tests, 1)).documents
        assert bare == StoredDocument(sent.id, None, dict(sent.metadata), "done", bare.created_at)
        assert datetime.fromisoformat(bare.created_at).tzinfo
        (whole,) = (await remote.listing(SPACE, tests, 1, content=True)).documents
        assert whole == replace(bare, content=sent.content)
    assert (await remote.listing(SPACE, [Condition("kind", ["event"])], 1)).documents == ()
    assert cloud.requests[-1].namespace == SPACE


async def test_listing_looks_a_hundred_ids_up_at_once(cloud: Cloud, remote: Supermemory) -> None:
    """How a batch that was taken is confirmed."""
    ids = [fresh_id() for _ in range(BATCH_IDS_MAX)]
    for id_ in ids[::2]:
        cloud.add_document(SPACE, "x", id=id_, metadata={"memory_id": id_})
    found = await remote.listing(SPACE, [Condition("memory_id", ids)], 1)

    assert {d.id for d in found.documents} == set(ids[::2])


async def test_documents_of_others_are_not_listed(cloud: Cloud, remote: Supermemory) -> None:
    """A namespace may hold what other tools wrote; it has no id of ours, and is left alone."""
    ours = document()
    cloud.add_document(SPACE, "theirs", id="their-own")
    cloud.add_document(SPACE, "theirs", metadata={"memory_id": "mem_1"})
    cloud.add_document(SPACE, "theirs", metadata={"memory_id": 7})
    await remote.deliver(SPACE, [ours])
    listed = await remote.listing(SPACE, (), 1)

    assert [d.id for d in listed.documents] == [ours.id]
    assert (listed.total, listed.more) == (4, False)


async def test_a_page_of_nothing_but_strangers_is_not_the_end(
    cloud: Cloud, remote: Supermemory
) -> None:
    """Our documents may come after a hundred of others."""
    for n in range(BATCH_IDS_MAX):
        cloud.add_document(SPACE, "theirs", id=f"their-{n}")
    await remote.deliver(SPACE, [ours := document()])

    first = await remote.listing(SPACE, (), 1)
    assert (first.documents, first.more) == ((), True)
    second = await remote.listing(SPACE, (), 2)
    assert ([d.id for d in second.documents], second.more) == ([ours.id], False)
