"""The contract of `ports.Remote`, for Supermemory over the fake cloud: what is found."""

import pytest
from cloud import Cloud
from remotes import SPACE, document, fresh_id, remote_of

from memory_mcp.domain.cloud import MetadataCondition as Condition
from memory_mcp.domain.cloud import RemoteDocument
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import REMOTE_EXCLUDED_MAX, REMOTE_HITS_MAX, TAGS_MAX
from memory_mcp.domain.record import SEARCHABLE_KINDS
from memory_mcp.storage.supermemory.client import Supermemory

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_ids")]


async def found(remote: Supermemory, *tests: Condition, query: str = "orders") -> list[RecordId]:
    """The ids of the hits, in order."""
    return [hit.id for hit in await remote.search(SPACE, query, tests, REMOTE_HITS_MAX)]


async def test_hits_are_passages_of_our_records_best_first(
    cloud: Cloud, remote: Supermemory
) -> None:
    """Whatever the service calls them: id, text, and a similarity that can be compared."""
    both, one, none = (
        document("orders live in mysql"), document("orders are sent"), document("tea"),
    )  # fmt: skip
    await remote.deliver(SPACE, [one, none, both])
    await remote.deliver("other", [document("orders live in mysql")])
    hits = await remote.search(SPACE, "orders mysql", (), 10)

    assert [(hit.id, hit.text, hit.similarity) for hit in hits] == [
        (both.id, both.content, 1.0),
        (one.id, one.content, 0.5),
    ]
    assert await remote.search(SPACE, "orders mysql", (), 1) == hits[:1]
    assert await remote.search(SPACE, "nowhere", (), 10) == []
    assert await remote.search("empty", "orders", (), 10) == []
    assert cloud.requests[-1].body["searchMode"] == "chunks"


@pytest.mark.parametrize("told", [True, False], ids=["hit-tells", "only-its-document-tells"])
async def test_a_long_document_is_several_hits_of_one_id(
    cloud: Cloud,
    remote: Supermemory,
    told: bool,  # noqa: FBT001  # parametrised
) -> None:
    """Each with its passage. Whose they are may be said of the hit or of its document alone."""
    cloud.hits_have_metadata = told
    await remote.deliver(SPACE, [long := document("orders " * 300)])
    hits = await remote.search(SPACE, "orders", (), 10)

    assert len(hits) > 2
    assert {hit.id for hit in hits} == {long.id}
    assert all(0 < len(hit.text) <= 500 for hit in hits)


async def test_what_has_no_id_of_ours_is_dropped(cloud: Cloud, remote: Supermemory) -> None:
    """Other tools may write to the namespace; a hit that belongs to no record is none."""
    cloud.add_document(SPACE, "orders of others", id="their-own")
    cloud.add_document(SPACE, "orders of others", metadata={"memory_id": "mem_1"})
    cloud.add_document(SPACE, "orders of others", metadata={"memory_id": ["x"]})
    await remote.deliver(SPACE, [ours := document("orders")])

    assert await found(remote) == [ours.id]


async def test_extracted_facts_are_hits_of_their_record(cloud: Cloud) -> None:
    """With extraction the service answers with facts and passages, and both count."""
    remote = remote_of(cloud.url, extraction=True)
    await remote.deliver(
        SPACE, [fact := document("orders", extract=True), plain := document("orders")]
    )
    hits = await remote.search(SPACE, "orders", (), 10)
    await remote.aclose()

    assert sorted(hit.id for hit in hits) == sorted([fact.id, fact.id, plain.id])
    assert {hit.text for hit in hits} == {"orders"}


@pytest.fixture
async def three(remote: Supermemory) -> list[RemoteDocument]:
    """An old fact, a new decision, and a preference that lies outside the timeline."""
    documents = [
        document("orders", kind="fact", segment="a", phase=1, recalled=True, tags=["x", "y"]),
        document("orders", kind="decision", segment="b", phase=2, recalled=True, tags=["x"]),
        document("orders", kind="preference", segment="none", phase=-1, recalled=False, tags=[]),
    ]
    await remote.deliver(SPACE, documents)
    return documents


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ([Condition("kind", ["fact"])], {0}),
        ([Condition("kind", ["Fact"])], set[int]()),
        ([Condition("kind", ["fact", "preference"])], {0, 2}),
        ([Condition("kind", ["fact"], negated=True)], {1, 2}),
        ([Condition("segment", ["a", "b"], negated=True)], {2}),
        ([Condition("segment", [], negated=True)], {0, 1, 2}),
        ([Condition("tags", ["x"], contains=True)], {0, 1}),
        ([Condition("tags", ["x", "y"], contains=True)], {0}),
        ([Condition("tags", [], contains=True)], {0, 1, 2}),
        ([Condition("recalled", [True])], {0, 1}),
        ([Condition("recalled", [False])], {2}),
        ([Condition("recalled", [True], negated=True)], {2}),
        ([Condition("phase", [1])], {0}),
        ([Condition("phase", [-1, 2])], {1, 2}),
        ([Condition("phase", [1], negated=True)], {1, 2}),
        ([Condition("phase", [1, 2]), Condition("segment", ["a"], negated=True)], {1}),
        ([Condition("kind", ["fact"]), Condition("kind", ["decision"])], set[int]()),
        ([], {0, 1, 2}),
    ],
)  # fmt: skip
async def test_every_test_must_be_met(
    remote: Supermemory, three: list[RemoteDocument], tests: list[Condition], expected: set[int]
) -> None:
    """A filter that is written wrong is silent: it lets everything through, or nothing."""
    assert set(await found(remote, *tests)) == {three[n].id for n in expected}
    listed = await remote.listing(SPACE, tests, 1)
    assert {d.id for d in listed.documents} == {three[n].id for n in expected}


async def test_as_much_is_excluded_as_may_be_asked_for(
    cloud: Cloud, remote: Supermemory, three: list[RemoteDocument]
) -> None:
    """The most that a search of ours can ask is within what the service takes."""
    segments = [fresh_id() for _ in range(REMOTE_EXCLUDED_MAX - 1)]
    tests = [
        Condition("recalled", [True]),
        Condition("phase", [1]),
        Condition("kind", sorted(SEARCHABLE_KINDS)),
        Condition("tags", [*["x"] * (TAGS_MAX - 1), "y"], contains=True),
        Condition("segment", [*segments, "b"], negated=True),
    ]

    assert await found(remote, *tests) == [three[0].id]
    assert (
        await found(remote, *tests[:-1], Condition("segment", [*segments, "a"], negated=True)) == []
    )
    assert cloud.violations == []
