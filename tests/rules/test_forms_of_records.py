"""What no tool of ours would have written is not read, field by field, and the file is named."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from depth import depth
from fakes import Scribe, called, fake_workspace
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from memory_mcp import memories
from memory_mcp.disk import Disk
from memory_mcp.domain import limits
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.record import Draft, Record
from memory_mcp.errors import InvalidRequestError, NewerSchemaError, StoreDamagedError
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.records import LocalRecords, RecordFolder
from memory_mcp.storage.stored import load_record, parse_record

pytestmark = pytest.mark.anyio

UNSEEN: Final = ("\x00", "\x1b[2J", "\r", "\x85", "\u202e", "\u200b", "\u2028", "\ufeff", "\ud800")
TEXTS: Final = {
    "content": limits.CONTENT_CHARS_MAX,
    "title": limits.TITLE_CHARS_MAX,
    "category": limits.CATEGORY_CHARS_MAX,
    "key": limits.KEY_CHARS_MAX,
    "tags.0": limits.TAG_CHARS_MAX,
    "origin.client": limits.NAME_CHARS_MAX,
    "origin.session": limits.NAME_CHARS_MAX,
    "origin.git_branch": limits.NAME_CHARS_MAX,
    "scope.user": limits.NAME_CHARS_MAX,
    "scope.project": limits.NAME_CHARS_MAX,
}
OTHER: Final = "019c1476-4898-7000-8000-00000000000f"
LATE: Final = "7fffffff-ffff-7000-8000-000000000000"


def nested(depth: int) -> dict[str, Any]:
    """Labels within labels."""
    return {"k": nested(depth - 1)} if depth else {}


BAD: Final[dict[str, list[Any]]] = {
    "schema_version": [0, -1, True, "1", None],
    "id": ["", "x", OTHER.upper(), "../evil", LATE, 7, None],
    "kind": ["", "rumour", 1, None, "move", "checkpoint"],
    "layer": ["attic", 1],
    "content": ["", None, 7, []],
    "tags": [["t"] * 33, "abc", [7], {"a": 1}],
    "importance": [0, 6, -1, True, "3", 2.5, 10**40],
    "pinned": ["yes", 1, "true"],
    "expires_at": ["soon", "2026-01-01", "9999-12-31T23:59:59-12:00"],
    "phase": [-1, 10_000, "2", True, 1.5],
    "segment": ["../evil", "here", "ROOT", LATE, 7],
    "branch": ["a\nb", "e\u0301", "\x1b[31m", "b" * 201, "", " ", "a\u202eb"],
    "meta": [[], "x", {"k": "v" * 4_096}, {"k": "a\u202eb"}, nested(20)],
    "supersedes": [["x"], [OTHER] * 257, "abc"],
    "derived_from": [["x"], [OTHER] * 4_097],
    "erases": [[OTHER]],
    "stated_at": ["before", "2026-01-01T00:00:00", []],
    "holds_beside": [["x"], [OTHER] * 4_097],
    "move": [{"act": "backtrack", "branch": "main"}, {}, [], "back"],
    "scope": [{}, None, "ann", {"user": 7}],
    "origin": [{"by": "mallory"}, {"commit": "; rm"}, {"commit": "a" * 65}, []],
    "created_at": [None, "yesterday", "2026-01-01T00:00:00", "2150-01-01T00:00:00Z", []],
}


def changed(name: str, value: Any) -> dict[str, Any]:
    """A good record's fields with one of them as given."""
    fields = Scribe().record("A plain memory", tags=("t",), segment="root", branch="main").as_json()
    fields.setdefault("origin", {})
    outer, _, inner = name.partition(".")
    if inner == "0":
        fields[outer] = [value]
    elif inner:
        fields[outer] = {**fields[outer], inner: value}
    else:
        fields[outer] = value
    return fields


def refused(folder: Path, data: bytes) -> str:
    path = folder / "019c1476-4898-7000-8000-000000000000.json"
    path.write_bytes(data)
    with pytest.raises(StoreDamagedError) as caught:
        load_record(path.read_bytes(), str(path), path.stem)
    said = str(caught.value)
    assert said.startswith(f"{path} is damaged (")
    assert said.isprintable()
    assert len(said) < len(str(path)) + 500
    return said


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_no_field_takes_what_we_would_not_write(tmp_path: Path, name: str, value: Any) -> None:
    """Each is named, in one sentence."""
    refused(tmp_path, json.dumps(changed(name, value)).encode())


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_is_too_long_or_holds_what_nobody_sees(tmp_path: Path, name: str) -> None:
    """A terminal obeys such characters, and a model reads what its user cannot."""
    at_most = json.dumps(changed(name, "x" * TEXTS[name])).encode()
    assert parse_record(at_most, "a record")
    refused(tmp_path, json.dumps(changed(name, "x" * (TEXTS[name] + 1))).encode())
    for unseen in UNSEEN:
        refused(tmp_path, json.dumps(changed(name, f"a{unseen}b")).encode())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"schema_version": 1, "schema_version": 1}', "says something twice"),
        (b'{"schema_version": 1, "importance": NaN}', "NaN is no number"),
        (b'{"schema_version": -Infinity}', "-Infinity is no number"),
        (b'\xef\xbb\xbf{"schema_version": 1}', "BOM"),
        ('{"schema_version": 1}'.encode("utf-16"), "no UTF-8"),
        (b'{"schema_version": 1, "content": "\xff"}', "no UTF-8 at byte 34"),
        (b'{"schema_version": ' + b"9" * 5_000 + b"}", "limit"),
        (b"[" * 100_000 + b"]" * 100_000, "not a JSON object"),
        (b"[" + b"[]," * 1_000_000 + b"[]]", "values"),
        (b"[]", "not a JSON object"),
        (b"", "no JSON"),
    ],
    ids=[
        "twice", "NaN", "infinity", "a mark", "UTF-16", "no UTF-8", "a huge number", "deep", "many",
        "a list", "nothing",
    ],
)  # fmt: skip
def test_json_that_two_readers_read_differently_is_not_read(
    tmp_path: Path, data: bytes, words: str
) -> None:
    """What one takes for the first of two values, another takes for the last."""
    assert words in refused(tmp_path, data)


def test_what_takes_more_room_than_any_record_is_not_read(tmp_path: Path) -> None:
    """Neither of a file, which is not opened to its end, nor of what came another way."""
    path = tmp_path / f"{OTHER}.json"
    path.write_bytes(b" " * (limits.RECORD_BYTES_MAX + 1))
    with pytest.raises(UnsafeFileError, match=f"more than {limits.RECORD_BYTES_MAX:,} bytes"):
        read_file(str(path), limits.RECORD_BYTES_MAX)
    with pytest.raises(ValueError, match="bytes; a record has"):
        parse_record(path.read_bytes(), str(path))


async def test_what_would_not_be_read_again_is_not_acknowledged(tmp_path: Path) -> None:
    """Before a byte is written."""
    store = LocalRecords(RecordFolder(tmp_path), Disk())
    record = Scribe().record().model_copy(update={"title": "t" * 201})
    with pytest.raises(InvalidRequestError, match="title"):
        await store.put(record)
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


def test_what_the_quick_way_refuses_is_explained_as_ever() -> None:
    """A newer version of this program notes its files in the same ledger."""
    record = Scribe().record()
    newer = to_json({**record.as_json(), "schema_version": 2})
    strange = to_json({**record.as_json(), "schema_version": 2, "kind": "new"})
    for data in (newer, strange):
        with pytest.raises(NewerSchemaError, match="Update memory-mcp"):
            load_record(data, "a record", record.id, formatted=True)
    with pytest.raises(StoreDamagedError, match="title"):
        load_record(
            to_json({**record.as_json(), "title": 1}), "a record", record.id, formatted=True
        )


ANY = st.text(max_size=40)


@given(content=ANY, title=ANY, category=ANY, tags=st.lists(ANY, max_size=3), client=ANY)
@settings(max_examples=depth(4, 60))
async def test_whatever_a_tool_accepts_is_read_again_byte_for_byte(
    content: str, title: str, category: str, tags: list[str], client: str
) -> None:
    """The check on reading is never stricter than the one on writing."""
    workspace = called(fake_workspace(), client=client)
    draft = Draft(content, title=title, category=category, tags=tuple(tags))
    try:
        outcome = await memories.add_memory(workspace, draft)
    except InvalidRequestError:
        return
    if isinstance(outcome, MemoryAdded):
        data = to_json(outcome.record.as_json())
        again = parse_record(data, "a.json")
        assert again == outcome.record
        assert to_json(again.as_json()) == data
        assert Record.model_validate(again.model_dump()) == again
