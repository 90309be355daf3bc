"""A record goes to the cloud and comes back as it was, or it does not come back."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest
from fakes import FakeClock, FakeIds, Scribe
from hypothesis import example, given
from hypothesis import strategies as st
from test_round_trips import NAME, TEXT, records

from memory_mcp.domain.cloud import RemoteDocument, StoredDocument
from memory_mcp.domain.ids import BranchName, SegmentId
from memory_mcp.domain.record import Kind, Move, Record, Scope
from memory_mcp.storage.supermemory.documents import from_document, to_document

KINDS = st.sampled_from([kind for kind in get_args(Kind) if kind not in ("checkpoint", "move")])
URLS = st.sampled_from(
    ["https://example.com/a?b=c#d", "HTTP://X", " http://a.b\n", "ftp://x", "mailto:a@b", "x:y"]
)
TEXTS = st.one_of(
    NAME, URLS, TEXT.map(lambda t: f"Link: {t}"), URLS.map(lambda u: f"Link: {u}"),
    URLS.map(lambda u: f"Link: Link: {u}"), st.just("Link: "), st.just("{}"), st.just("null"),
)  # fmt: skip
SCRIBE = Scribe()


@st.composite
def any_records(draw: st.DrawFn) -> Record:
    """Records of every kind, with texts that look like what we add or the service fetches."""
    made = draw(records())
    changed = {
        "id": SCRIBE.ids.new(SCRIBE.clock.now()),
        "kind": made.kind if made.move or made.kind == "tombstone" else draw(KINDS),
        "content": draw(TEXTS),
        "layer": draw(st.sampled_from(["core", "recall", "archival"])),
        "scope": Scope(user=draw(NAME), project=draw(st.none() | NAME)),
    }
    return made.model_copy(update=changed)


def through(document: RemoteDocument) -> StoredDocument:
    """As it comes back: what was sent, through JSON."""
    sent = {"content": document.content, "metadata": dict(document.metadata)}
    back: dict[str, Any] = json.loads(json.dumps(sent))
    return StoredDocument(document.id, back["content"], back["metadata"], "done")


MOVE = Move(
    act="backtrack",
    branch=BranchName("b"),
    opens={BranchName("b"): SegmentId("019c1476-2cb8-7000-8000-000000000000")},
    phase=0,
)


@example(record=SCRIBE.record("\n\t\u200d\U0010ffff \\u0041 \\ud800 null {}"))
@example(record=SCRIBE.record("https://example.com/a"))
@example(record=SCRIBE.record("Link: https://example.com/a"))
@example(record=SCRIBE.record("a move", kind="move", move=MOVE, phase=0))
@example(
    record=SCRIBE.record(
        "forgotten", kind="tombstone", erases=("019c1476-2cb8-7000-8000-000000000000",)
    )
)
@given(record=any_records())
def test_a_record_comes_back_from_the_cloud_as_it_was(record: Record) -> None:
    """Another machine must take in the very same file, byte for byte."""
    for extract in (False, True):
        back = from_document(through(to_document(record, extract=extract)))
        assert back is not None
        assert back == record
        assert back.as_json() == record.as_json()


@given(record=any_records())
def test_a_document_is_what_the_service_takes(record: Record) -> None:
    """Flat metadata of four types of value, under keys that it indexes; and no bare URL."""
    document = to_document(record, extract=True)

    for name, value in document.metadata.items():
        assert re.fullmatch(r"(?!sm_)[A-Za-z0-9_.-]{1,64}", name)
        assert isinstance(value, str | bool | int | float) or all(isinstance(v, str) for v in value)
    assert {type(value) for value in document.metadata.values()} <= {str, bool, int, list}
    assert document.content.strip() or record.content.isspace()
    assert not re.fullmatch(r"\s*[a-z]+://\S+\s*", document.content, re.IGNORECASE)
    assert document.content.endswith(record.content)
    assert document.extract is record.recalled
    json.dumps(document.metadata, allow_nan=False)


@given(one=any_records(), two=any_records())
def test_every_field_that_is_asked_for_is_always_there(one: Record, two: Record) -> None:
    """Whether a filter matches a key that is missing is not documented."""
    first, second = (to_document(record, extract=False).metadata for record in (one, two))

    assert first.keys() == second.keys()
    assert {n: type(v) for n, v in first.items()} == {n: type(v) for n, v in second.items()}


def asked_for(record: Record) -> dict[str, object]:
    """The flat fields of its document that searches ask for."""
    metadata = to_document(record, extract=False).metadata
    return {n: v for n, v in metadata.items() if n not in ("memory_id", "digest", "record")}


def test_the_flat_fields_are_what_searches_ask_for() -> None:
    """In the form in which they are asked: folded, and never absent."""
    rich = SCRIBE.record(
        "x", kind="decision", category="Straße", tags=("Deploy", "ÖPS"), phase=0, segment="s"
    )
    assert asked_for(rich) == {
        "kind": "decision", "recalled": True, "category": "strasse", "tags": ["deploy", "öps"],
        "phase": 0, "segment": "s",
    }  # fmt: skip
    assert asked_for(SCRIBE.record("x", kind="tombstone")) == {
        "kind": "tombstone", "recalled": False, "category": "none", "tags": [], "phase": -1,
        "segment": "none",
    }  # fmt: skip


def test_only_what_is_recalled_is_worth_extracting() -> None:
    """Bookkeeping has no facts, and each extraction is paid for."""
    fact, move = SCRIBE.record(), SCRIBE.record(kind="move", move=MOVE)
    assert [to_document(r, extract=True).extract for r in (fact, move)] == [True, False]
    assert not to_document(fact, extract=False).extract


def test_a_late_delivery_keeps_its_time() -> None:
    """It is told when it was written, not when it was sent."""
    clock = FakeClock()
    clock.advance(timedelta(milliseconds=1))
    record = Scribe(clock, FakeIds()).record()
    assert to_document(record, extract=False).date == "2026-01-31T14:30:22.105Z"


@given(record=any_records(), content=TEXTS | st.just(""), extra=TEXT)
def test_a_changed_text_is_no_record(record: Record, content: str, extra: str) -> None:
    """What the service appended, rewrote, cut or fetched is not what was acknowledged."""
    stored = through(to_document(record, extract=False))
    assert stored.content is not None
    for changed in (content, stored.content + extra, extra + stored.content, stored.content[1:]):
        same = changed in (record.content, f"Link: {record.content}")
        assert from_document(replace(stored, content=changed)) == (record if same else None)
    assert from_document(replace(stored, content=None)) is None


@given(record=any_records(), title=TEXT, cut=st.integers(0, 400))
def test_a_changed_rest_is_no_record(record: Record, title: str, cut: int) -> None:
    """Another record under the same id would be a second truth, which no store takes."""
    stored = through(to_document(record, extract=False))
    whole: str = stored.metadata["record"]
    fields = json.loads(whole)
    for changed in (
        whole[:cut], f"{whole} ", json.dumps({**fields, "title": title}),
        json.dumps({**fields, "scope": {"user": "eve"}}), json.dumps({**fields, "new": 1}),
        json.dumps({**fields, "phase": 7}),
    ):  # fmt: skip
        back = from_document(replace(stored, metadata={**stored.metadata, "record": changed}))
        assert back is None or changed == whole


@given(record=any_records(), other=any_records(), version=st.integers(2, 10**9))
def test_another_id_or_a_newer_schema_is_no_record(
    record: Record, other: Record, version: int
) -> None:
    """The document's name is the record's; what a newer program wrote is not ours to judge."""
    stored = through(to_document(record, extract=False))
    assert from_document(replace(stored, id=other.id)) is None
    newer = to_document(record.model_copy(update={"schema_version": version}), extract=False)
    assert from_document(through(newer)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@example(name="record", value="[" * 100_000)
@example(name="record", value='{"id": 1e999, "created_at": 1e999, "importance": 1e999}')
@example(name="record", value="9" * 5_000)
@example(name="record", value=[[[]]])
@example(name="digest", value=None)
@given(name=st.sampled_from(["record", "digest"]), value=JSON | JSON.map(json.dumps))
def test_metadata_of_any_shape_is_no_record_and_no_error(name: str, value: object) -> None:
    """The namespace is open to other tools, and to whoever has the key."""
    stored = through(to_document(SCRIBE.record(), extract=False))
    for metadata in ({**stored.metadata, name: value}, {name: value}, {}):
        assert from_document(replace(stored, metadata=metadata)) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"id": None}, {"id": 5}, {"created_at": "0001-01-01T00:00:00+10:00"}, {"kind": "poem"},
        {"created_at": 10**30}, {"importance": 9}, {"phase": -1}, {"scope": {}}, {"tags": "abc"},
        {"expires_at": "9999-12-31T23:59:59-10:00"}, {"schema_version": None}, {"move": {}},
        {"schema_version": "2"}, {"tags": ["\ud800"]}, {"supersedes": ["\udfff"]},
    ],
    ids=repr,
)  # fmt: skip
def test_a_record_that_could_not_be_is_none(fields: dict[str, object]) -> None:
    """Also where whoever changed it made the digest fit."""
    record = SCRIBE.record()
    metadata = to_document(record, extract=False).metadata
    rest = str(metadata["record"])
    assert metadata["digest"] == digest(record.content, rest)
    for changed in ({}, fields):
        fake = json.dumps({**json.loads(rest), **changed})
        given = {**metadata, "record": fake, "digest": digest(record.content, fake)}
        back = from_document(StoredDocument(record.id, record.content, given, "done"))
        assert back == (None if changed else record)


def digest(content: str, rest: str) -> str:
    return hashlib.sha256(f"{len(content)}:{content}{rest}".encode()).hexdigest()
