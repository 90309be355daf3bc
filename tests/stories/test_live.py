"""What the vendor's documents leave open, asked of the service itself.

    SUPERMEMORY_LIVE_API_KEY=… pytest -n 0 -s -m live tests/stories/test_live.py

Each test tells its answer and asserts what our design relies on, which is less. In the default run
the same questions go to the fake, with either of its answers, so that the questions are known to
work. SUPERMEMORY_BASE_URL is respected; SUPERMEMORY_LIVE_SCOPED_KEY adds one question.
"""

import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from vendor import LIVE_KEY, Vendor, a_document, fake_vendor, live_vendor

from memory_mcp import maintenance, memories, search, sync
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.domain.cloud import MetadataCondition as Condition
from memory_mcp.domain.outcomes import MemoryAdded, SearchResults
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.errors import RemoteError
from memory_mcp.storage.supermemory.documents import namespace_of

pytestmark = pytest.mark.anyio

Tell = Callable[[str, object], None]
TEXT = "The flamingo invoices are rendered in Lisbon. "


@pytest.fixture(
    params=[
        "fake",
        pytest.param("other fake", marks=pytest.mark.nightly),
        pytest.param("live", marks=pytest.mark.live),
    ]
)
async def vendor(request: pytest.FixtureRequest) -> AsyncGenerator[Vendor]:
    """A fake with one set of answers, with the other, and the real one if there is a key for it."""
    if request.param == "live" and not LIVE_KEY:
        pytest.skip("SUPERMEMORY_LIVE_API_KEY is not set")
    fake = fake_vendor(as_documented=request.param == "fake")
    async with live_vendor() if request.param == "live" else fake as found:
        yield found


@pytest.fixture
def tell(vendor: Vendor, record_property: Callable[[str, Any], None]) -> Tell:
    """Says and records an answer."""

    def told(question: str, answer: object) -> None:
        record_property(question, str(answer))
        sys.stdout.write(f"\n[{vendor.about}] {question}: {answer}")

    return told


async def searched(vendor: Vendor, *operands: dict[str, Any]) -> set[str]:
    """The categories of what a plain search with this filter finds."""
    status, said = await vendor.asked(
        "POST",
        f"/ns/{vendor.namespace}/search",
        {
            "query": TEXT,
            "searchMode": "chunks",
            "include": {"documents": True},
            "limit": 20,
            "filter": {"operator": "and", "operands": list(operands)},
        },
    )
    assert status == 200, said
    return {hit["included"]["document"]["metadata"]["category"] for hit in said["results"]}


async def test_whose_ids_are_in_the_answers(vendor: Vendor, tell: Tell) -> None:
    """Section 6.1. Whichever they are, each answer leads to our id."""
    one, *two = (a_document(f"{TEXT}{number}.") for number in range(3))
    status, added = await vendor.asked(
        "POST",
        f"/ns/{vendor.namespace}/document",
        {"id": one.id, "content": one.content, "metadata": dict(one.metadata),
         "date": one.date, "taskType": "superrag"},
    )  # fmt: skip
    assert status == 200, added
    await vendor.handed_over(*two)
    assert await vendor.eventually(lambda: vendor.done(one.id)) is not None
    _, got = await vendor.asked("GET", f"/ns/{vendor.namespace}/document/{one.id}")
    _, listed = await vendor.asked("POST", f"/ns/{vendor.namespace}/list/documents", {})
    _, found = await vendor.asked(
        "POST",
        f"/ns/{vendor.namespace}/search",
        {"query": TEXT, "searchMode": "chunks", "include": {"documents": True}},
    )
    ours = {one.id, *(document.id for document in two)}
    named = {
        "add": [added["id"]],
        "get": [got["id"]],
        "list": [row["id"] for row in listed["documents"]],
        "included.document": [hit["included"]["document"]["id"] for hit in found["results"]],
    }
    for answer, ids in named.items():
        tell(f"ids in the answer to {answer}", "ours" if ours.issuperset(ids) else "the vendor's")

    remote = vendor.remote()
    page = await remote.listing(vendor.namespace, [], 1)
    hits = await remote.search(vendor.namespace, TEXT, [Condition("recalled", [True])], 20)
    assert {document.id for document in page.documents} == ours
    assert {hit.id for hit in hits} == ours
    await remote.aclose()


async def test_whether_a_chunk_carries_our_metadata(vendor: Vendor, tell: Tell) -> None:
    """Section 6.2. Our id is found in the hit or in the document that comes with it."""
    document = a_document(TEXT)
    await vendor.handed_over(document)
    _, said = await vendor.asked(
        "POST",
        f"/ns/{vendor.namespace}/search",
        {"query": TEXT, "searchMode": "chunks", "include": {"documents": True}},
    )
    (hit,) = said["results"]
    tell("a chunk hit carries our metadata", hit["metadata"].get("memory_id") == document.id)
    assert "chunk" in hit
    assert hit["included"]["document"]["metadata"]["memory_id"] == document.id


async def test_whether_neq_matches_a_missing_key(vendor: Vendor, tell: Tell) -> None:
    """Section 6.3. We write every key that we filter on, so only what is there has to work."""
    kept = a_document(f"{TEXT}Kept.", category="kept", segment="one")
    left = a_document(f"{TEXT}Left.", category="left", segment="two")
    await vendor.handed_over(kept, left)
    missing = {"field": "nobody_wrote_this", "operator": "neq", "value": "x"}
    tell("neq matches a missing key", await searched(vendor, missing) == {"kept", "left"})

    assert await searched(
        vendor,
        {"field": "segment", "operator": "neq", "value": "two"},
        {"field": "recalled", "operator": "eq", "value": True},
        {"field": "phase", "operator": "eq", "value": -1},
    ) == {"kept"}


async def test_whether_a_change_of_metadata_reaches_the_filters(vendor: Vendor, tell: Tell) -> None:
    """Section 6.4. Nothing of ours relies on it: a record is never changed."""
    document = a_document(TEXT, category="before")
    await vendor.handed_over(document)
    status, said = await vendor.asked(
        "PATCH",
        f"/ns/{vendor.namespace}/document/{document.id}",
        {"metadata": {**document.metadata, "category": "after"}},
    )
    assert status == 200, said
    for value in ("after", "before"):
        found = await searched(vendor, {"field": "category", "operator": "eq", "value": value})
        tell(f"after a PATCH of the metadata, the filter {value!r} finds", found or "nothing")


async def test_what_an_identical_post_does_while_the_first_one_is_queued(
    vendor: Vendor, tell: Tell
) -> None:
    """Section 6.5. We ask before we send again; where nobody can know, it must be harmless."""
    document = a_document(TEXT)
    body = {"id": document.id, "content": TEXT, "metadata": dict(document.metadata),
            "taskType": "superrag"}  # fmt: skip
    for _ in range(2):
        status, said = await vendor.asked("POST", f"/ns/{vendor.namespace}/document", body)
        tell("an identical POST while it is queued answers", (status, said["status"]))
        assert status == 200, said
    assert await vendor.eventually(lambda: vendor.done(document.id)) is not None
    remote = vendor.remote()
    found = await remote.get(vendor.namespace, document.id)
    listed = await remote.listing(vendor.namespace, [], 1)
    await remote.aclose()
    assert found is not None
    assert found.content == TEXT, "nothing was appended"
    assert listed.total == 1


async def test_what_becomes_of_a_document_that_is_deleted_while_it_is_processed(
    vendor: Vendor, tell: Tell
) -> None:
    """Section 6.6. It may come up again once: a removal is looked after, and then repeated."""
    document = a_document(TEXT)
    remote = vendor.remote()
    await remote.deliver(vendor.namespace, [document])
    failed = await remote.erase(vendor.namespace, [document.id])
    tell("a delete during processing answers", failed or "that it is done")

    async def gone() -> bool:
        return await remote.get(vendor.namespace, document.id) is None

    tell("it is gone after seconds", await vendor.eventually(gone))
    await anyio.sleep(vendor.settle_seconds)
    tell("it came up again", not await gone())
    failed = await remote.erase(vendor.namespace, [document.id])
    tell("a second delete answers", failed or "that it is done")
    assert await vendor.eventually(gone) is not None
    await remote.aclose()


async def test_how_long_200_characters_take(vendor: Vendor, tell: Tell) -> None:
    """Section 6.7. For half an hour it counts as being processed, which must be far beyond."""
    document = a_document((TEXT * 5)[:200])
    remote = vendor.remote()
    await remote.deliver(vendor.namespace, [document])
    await remote.aclose()
    seconds = await vendor.eventually(lambda: vendor.done(document.id))
    tell("seconds until 200 characters are done", seconds)
    assert seconds is not None


async def test_whether_a_scoped_key_works(vendor: Vendor, tell: Tell) -> None:
    """Section 6.8. If it does not, it says so in a way that stops us from asking on."""
    if not vendor.scoped_key:
        pytest.skip("SUPERMEMORY_LIVE_SCOPED_KEY is not set")
    remote = vendor.remote(vendor.scoped_key)
    for what, asked in {
        "probe": remote.probe,
        "add": lambda: remote.deliver(vendor.namespace, [a_document(TEXT)]),
    }.items():
        try:
            await asked()
        except RemoteError as error:
            tell(f"a scoped key and {what}", f"{type(error).__name__}: {error}")
        else:
            tell(f"a scoped key and {what}", "works")
    await remote.aclose()


async def test_the_service_speaks_v5(vendor: Vendor, tell: Tell) -> None:
    """Section 6.9. The probe that tells it from a server that does not."""
    remote = vendor.remote()
    await remote.probe()
    assert await remote.get(vendor.namespace, a_document(TEXT).id) is None
    await remote.aclose()
    status, said = await vendor.asked("GET", "/ns?limit=1")
    tell("GET /ns answers", (status, sorted(said)))
    assert status == 200


@pytest.mark.nightly
async def test_a_memory_goes_to_another_machine_and_is_forgotten_everywhere(
    vendor: Vendor, tell: Tell, tmp_path: Path
) -> None:
    """Delivered here, found and forgotten there; the word of the user erases it here too."""
    settings = vendor.settings(tmp_path / "here"), vendor.settings(tmp_path / "there")
    async with open_workspace(settings[0]) as here, open_workspace(settings[1]) as there:
        mirror = here.workspace.project.mirror
        assert mirror is not None
        for project in (here.places.scope.project, None):
            vendor.using(namespace_of(vendor.user, project))
        added = await memories.add_memory(
            here.workspace, Draft(TEXT, category="billing", tags=("pdf",))
        )
        assert isinstance(added, MemoryAdded)
        await _synchronised(here)

        async def found_there() -> bool:
            found = await search.search_memories(
                there.workspace, "where are flamingo invoices rendered", Filters(tags=("pdf",)), 5
            )
            assert isinstance(found, SearchResults)
            assert not found.degraded
            return [hit.record for hit in found.hits] == [added.record]

        tell("seconds until another machine finds it", await vendor.eventually(found_there))
        assert await found_there(), "the record came back exactly as it was"

        await memories.forget_memory(there.workspace, added.record.id, "wrong", erase=True)
        await _synchronised(there)

        async def gone_over_there() -> bool:
            return await mirror.remote.get(mirror.namespace, added.record.id) is None

        assert await vendor.eventually(gone_over_there) is not None
        await _synchronised(here, pull_all=True)
        found = await search.search_memories(here.workspace, "flamingo invoices", Filters(), 5)
        assert isinstance(found, SearchResults)
        assert list(found.hits) == []
        assert [finding.code for finding in await maintenance.run_doctor(here.workspace)] == [
            "erasing-waits"
        ]
        erased = await sync.erase_forgotten_elsewhere(here.workspace)
        assert [gone.id for gone in erased.erased] == [added.record.id]
        assert added.record.id not in await here.workspace.project.records.ids()
        assert not await maintenance.run_doctor(here.workspace)


async def _synchronised(built: BuiltWorkspace, *, pull_all: bool = False) -> None:
    said = await sync.sync(built.workspace, lambda _done, _total: None, pull_all=pull_all)
    assert (said.stopped, said.counts.pending, said.counts.dead) == ("", 0, 0)
