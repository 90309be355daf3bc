"""The contract of `ports.Remote`, for Supermemory over the fake cloud: what is written and read.

Searching is in `test_remote_search`, what goes wrong in `test_remote_errors` and `test_wire`.
"""

import pytest
from cloud import Cloud
from remotes import SPACE, document, fresh_id

from memory_mcp.domain.cloud import MetadataCondition as Condition
from memory_mcp.domain.cloud import RemoteDocument, RemoteProfile, StoredDocument
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.limits import BATCH_ADDS_MAX, BATCH_IDS_MAX
from memory_mcp.errors import RemoteBlockedError, RemoteRejectedError
from memory_mcp.storage.supermemory.client import Supermemory

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_ids")]


def asked(cloud: Cloud) -> list[tuple[str, str]]:
    return [(r.method, r.path.removeprefix(f"/ns/{SPACE}")) for r in cloud.requests]


async def test_one_document_is_kept_as_it_was_handed_over(
    cloud: Cloud, remote: Supermemory
) -> None:
    """Byte for byte, under our id, with its fields and its date."""
    sent = document("  Wörter\r\n\0 und 🦊 ", tags=["a", "B"], recalled=True, phase=-1, ratio=0.5)
    assert await remote.deliver(SPACE, [sent]) == {sent.id: None}

    kept = cloud.documents(SPACE)[sent.id]
    assert (kept.content, kept.metadata, kept.given["date"]) == (
        sent.content, dict(sent.metadata), sent.date,
    )  # fmt: skip
    assert kept.task_type == "superrag"
    assert await remote.get(SPACE, sent.id) == StoredDocument(
        sent.id, sent.content, dict(sent.metadata), "done"
    )


async def test_nothing_to_deliver_asks_nothing(cloud: Cloud, remote: Supermemory) -> None:
    """An empty batch is one that the service refuses."""
    assert await remote.deliver(SPACE, []) == {}
    assert cloud.requests == []


async def test_several_documents_are_one_request(
    cloud: Cloud,
    remote: Supermemory,
    own_ids: bool,  # noqa: FBT001  # a fixture
) -> None:
    """An answer by the service's own ids names none of ours: they may or may not be there."""
    sent = [document(f"Fact {n}", n=n) for n in range(BATCH_ADDS_MAX)]
    answers = await remote.deliver(SPACE, sent)

    assert answers == (dict.fromkeys([d.id for d in sent]) if own_ids else {})
    assert asked(cloud) == [("POST", "/document/batch")]
    kept = cloud.documents(SPACE)
    assert {id_: (d.content, d.metadata) for id_, d in kept.items()} == {
        d.id: (d.content, dict(d.metadata)) for d in sent
    }


async def test_what_is_to_be_extracted_goes_by_itself(cloud: Cloud, remote: Supermemory) -> None:
    """One request says one thing about all of its documents."""
    sent = [document(f"Fact {n}", extract=n % 2 == 0) for n in range(5)]
    await remote.deliver(SPACE, sent)
    await remote.deliver(SPACE, [alone := document("alone", extract=True)])
    await remote.deliver(SPACE, mixed := [document("one"), document("two", extract=True)])

    kept = cloud.documents(SPACE)
    for given in (*sent, alone, *mixed):
        assert kept[given.id].task_type == ("memory" if given.extract else "superrag")
        assert kept[given.id].given.get("dreaming") == ("instant" if given.extract else None)
    paths = [path for _, path in asked(cloud)]
    assert paths == ["/document/batch", "/document/batch", "/document", "/document", "/document"]


async def test_one_refused_document_of_a_batch_is_named(
    cloud: Cloud,
    remote: Supermemory,
    own_ids: bool,  # noqa: FBT001  # a fixture
) -> None:
    """By its id: the service tells the accepted first, whatever the order was."""
    sent = [document(f"Fact {n}") for n in range(4)]
    cloud.refused_in_batch = {sent[1].id}
    answers = await remote.deliver(SPACE, sent)

    taken = {d.id: None for d in sent if d is not sent[1]} if own_ids else {}
    assert answers == {**taken, sent[1].id: "Not accepted"}
    assert cloud.documents(SPACE).keys() == {d.id for d in sent} - {sent[1].id}


async def test_a_delivery_twice_is_one_document(cloud: Cloud, remote: Supermemory) -> None:
    """An answer that was lost is asked for again."""
    sent = [document("one"), document("two")]
    for _ in range(2):
        await remote.deliver(SPACE, sent)
        await remote.deliver(SPACE, sent[:1])

    assert {d.content for d in cloud.documents(SPACE).values()} == {"one", "two"}
    assert cloud.appended == []


async def test_get_tells_what_is_there_and_how_far_it_is(cloud: Cloud, remote: Supermemory) -> None:
    """Accepted is not stored: the state is what decides."""
    cloud.processing_seconds = 3_600
    waiting, failing = document(), document()
    cloud.fails_processing = {failing.id}
    await remote.deliver(SPACE, [waiting])
    cloud.processing_seconds = 0
    await remote.deliver(SPACE, [failing])

    states = [await remote.get(SPACE, d.id) for d in (waiting, failing)]
    assert [found and found.state for found in states] == ["processing", "failed"]


async def test_get_of_what_is_not_there_is_none(cloud: Cloud, remote: Supermemory) -> None:
    """Never written, in a namespace that is or is not there, or in another one."""
    assert await remote.get(SPACE, fresh_id()) is None
    await remote.deliver("other", [there := document()])

    assert await remote.get("other", there.id) is not None
    assert await remote.get(SPACE, there.id) is None
    await remote.deliver(SPACE, [document()])
    assert await remote.get(SPACE, there.id) is None
    assert cloud.documents("other").keys() == {there.id}


async def test_erase_removes_for_good_and_names_what_was_not_there(
    cloud: Cloud, remote: Supermemory
) -> None:
    """Each id is tried on its own; the others are gone."""
    sent = [document(f"Fact {n}") for n in range(4)]
    await remote.deliver(SPACE, sent)
    missing = fresh_id()

    assert await remote.erase(SPACE, [sent[0].id]) == {}
    assert await remote.erase(SPACE, [missing]) == {missing: "Document not found"}
    mixed = await remote.erase(SPACE, [sent[1].id, missing, sent[2].id, sent[0].id])
    assert mixed.keys() == {missing, sent[0].id}
    assert cloud.documents(SPACE).keys() == {sent[3].id}
    assert await remote.search(SPACE, "fact", (), 10) != []
    assert await remote.erase("other", [sent[3].id]) == {sent[3].id: "Document not found"}
    assert await remote.get(SPACE, sent[3].id) is not None


async def test_a_hundred_are_erased_at_once(cloud: Cloud, remote: Supermemory) -> None:
    """As many as the service takes."""
    ids = [fresh_id() for _ in range(BATCH_IDS_MAX)]
    for id_ in ids:
        cloud.add_document(SPACE, "x", id=id_)
    assert await remote.erase(SPACE, ids) == {}

    assert cloud.documents(SPACE) == {}
    assert len(cloud.requests) == 1
    with pytest.raises(RemoteRejectedError):
        await remote.erase(SPACE, [*ids, fresh_id()])
    cloud.violations.clear()  # one too many: asked on purpose


async def test_profile_is_what_the_cloud_made_of_what_meets_the_tests(
    remote: Supermemory,
) -> None:
    """Facts come of extracted documents only, and not of abandoned segments."""
    sent = [
        document("Ada likes tea", extract=True, segment="a"),
        document("Bob likes tea", extract=True, segment="b"),
        document("verbatim", segment="a"),
    ]
    assert await remote.profile(SPACE, ()) == RemoteProfile()
    await remote.deliver(SPACE, sent)

    assert set((await remote.profile(SPACE, ())).dynamic) == {"Ada likes tea", "Bob likes tea"}
    left = await remote.profile(SPACE, [Condition("segment", ["b", "c"], negated=True)])
    assert left == RemoteProfile(static=(), dynamic=("Ada likes tea",))


async def test_probe_is_content_with_an_answer_and_changes_nothing(
    cloud: Cloud, remote: Supermemory
) -> None:
    """It is what finds out whether a person has acted."""
    await remote.probe()
    assert asked(cloud) == [("GET", "/ns")]
    assert cloud.namespaces() == []

    cloud.keys.clear()
    with pytest.raises(RemoteBlockedError):
        await remote.probe()


async def test_a_client_that_was_closed_opens_again(cloud: Cloud, remote: Supermemory) -> None:
    """Closing frees the connections; it is no state."""
    await remote.aclose()
    await remote.probe()
    await remote.aclose()
    await remote.aclose()
    await remote.probe()
    assert len(cloud.requests) == 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "bad", ["..", ".", "", "../../organization", "a/b", "a?b=c", "a#b", "%2e%2e", "/", "\\", "a\nb"]
)
async def test_an_id_cannot_leave_its_path(cloud: Cloud, remote: Supermemory, bad: str) -> None:
    """Whatever a file that came by git says: it can name no other route of the service."""
    cloud.add_document(SPACE, "x", id=(kept := fresh_id()))
    assert await remote.get(SPACE, RecordId(bad)) is None
    with_it = RemoteDocument(RecordId(bad or "-"), "x", {}, "2026-01-31T14:30:22.104Z")
    await remote.deliver(SPACE, [with_it])
    await remote.erase(SPACE, [RecordId(bad or "-")])

    assert cloud.documents(SPACE).keys() == {kept}
    assert {path for _, path in asked(cloud)} <= {"/document"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bad", ["", "..", "a/b", "a b", "a\n", "ä", "x" * 101, "a?b"])
async def test_a_namespace_cannot_leave_its_path(
    cloud: Cloud, remote: Supermemory, bad: str
) -> None:
    """Isolation is by namespace: a wrong one is a bug of ours, and is asked for nothing."""
    with pytest.raises(AssertionError):
        await remote.get(bad, fresh_id())
    with pytest.raises(AssertionError):
        await remote.erase(bad, [fresh_id()])
    assert cloud.requests == []
