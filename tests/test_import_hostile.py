"""An export that somebody made to do harm, or that broke: it is refused whole, with the reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, as_json, complaint
from fakes import SCOPE, START, FakeIds, Scribe, fake_workspace
from moving import all_below, as_markdown, of_mem0
from moving import as_json as in_json

from memory_mcp import transfer
from memory_mcp.domain.ids import MAIN, SegmentId
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.transfer import Export

ABOUT = Export(SCOPE, START, MAIN, ("project",), history=True)

Fields = dict[str, Any]


def export_of(*records: Record) -> Fields:
    """A sound export, to be spoilt."""
    return json.loads(in_json(ABOUT, list(records)).documents[0].text)


def first(change: Fields) -> Callable[[Fields], None]:
    """Change the first record."""
    return lambda whole: whole["records"][0].update(change)


def twice_with_other_words(whole: Fields) -> None:
    whole["records"].append({**whole["records"][0], "content": "another"})
    whole["count"] += 1


HOSTILE: list[tuple[str, Callable[[Fields], None], str]] = [
    ("a way out in the id", first({"id": "../../../etc/passwd"}), "record 1 is no record: id: has"),
    ("an id of another kind", first({"id": "7"}), "record 1 is no record: id: has"),
    ("a number for a text", first({"content": 7}), "record 1 is no record: content"),
    ("a kind that is none", first({"kind": "virus"}), "is no record: kind"),
    ("a later schema", first({"schema_version": 2}), "schema version 2; this memory-mcp knows"),
    ("no text", first({"content": ""}), "is no record: content"),
    ("half a character", first({"content": "\ud800"}), "is no record: content: holds half a"),
    ("itself", lambda w: first({"supersedes": [w["records"][0]["id"]]})(w), "cannot supersede"),
    ("an id twice", twice_with_other_words, "and so has another record in it"),
    ("no object", lambda w: w["records"].__setitem__(0, 7), "record 1 is no object"),
    ("records that are none", lambda w: w.update(records={}), "has no list `records`"),
    ("another count", lambda w: w.update(count=9), "names 9 records, and has 2"),
    ("a later version", lambda w: w.update(version=2), "version 2; this memory-mcp knows up to 1"),
    ("nobody's", lambda w: w.pop("scope"), "does not say what it is of: scope"),
]


@pytest.mark.parametrize(("spoil", "words"), [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_an_export_that_cannot_be_is_refused_whole(
    run: Run, project: Path, spoil: Callable[[Fields], None], words: str
) -> None:
    """One record that is not right makes the others doubtful; nothing of it is written."""
    scribe = Scribe()
    whole = export_of(scribe.record("one"), scribe.record("two"))
    spoil(whole)
    (project / "it.json").write_text(json.dumps(whole), "utf-8")

    assert words in complaint(run, "import", "it.json")
    assert "Nothing was changed" in complaint(run, "import", "it.json")
    assert list(all_below(project / ".claude")) == []


@pytest.mark.parametrize("relation", ["supersedes", "derived_from"])
def test_a_circle_is_refused(run: Run, project: Path, relation: str) -> None:
    """Each took the other's place: then nothing would hold."""
    scribe = Scribe()
    one, two = scribe.record("one"), scribe.record("two")
    whole = export_of(
        one.model_copy(update={relation: (two.id,)}), two.model_copy(update={relation: (one.id,)})
    )
    (project / "it.json").write_text(json.dumps(whole), "utf-8")

    assert f"{relation} goes round in a circle" in complaint(run, "import", "it.json")


def test_a_timeline_that_begins_in_itself_is_refused(run: Run, project: Path) -> None:
    """No head could come of it."""
    scribe = Scribe()
    one, two = (SegmentId(FakeIds(each).new(scribe.clock.now())) for each in (7, 8))
    steps = [
        Move(act="backtrack", branch=MAIN, opens={MAIN: place}, parents=(before,))
        for place, before in ((one, two), (two, one))
    ]
    whole = export_of(*(scribe.record("m", kind="move", move=step) for step in steps))
    (project / "it.json").write_text(json.dumps(whole), "utf-8")

    assert "parents goes round in a circle" in complaint(run, "import", "it.json")


def test_a_folder_with_a_spoilt_line_is_refused(run: Run, project: Path) -> None:
    """A line that is no field was a field once."""
    for document in as_markdown(ABOUT, [Scribe().record("one")]).documents:
        path = project / "notes" / document.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document.text.replace('kind: "fact"', "kind: fact"), "utf-8")

    assert "has a line that is no `name: JSON`: 'kind: fact'" in complaint(run, "import", "notes")


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"format": "memory-mcp", "version": 1,'])
def test_what_is_no_json_is_said_with_its_place(run: Run, project: Path, text: str) -> None:
    """A file that was cut short is the most frequent of all."""
    (project / "it.json").write_text(text, "utf-8")

    assert "is no JSON" in complaint(run, "import", "it.json", "--from", "memory-mcp")


@pytest.mark.anyio
async def test_a_line_without_end_is_left_out_with_its_figure() -> None:
    """Ten million characters are no memory, and no reason to run out of it."""
    done = await transfer.preview_import(
        fake_workspace(ids=FakeIds()), of_mem0("x" * 10_000_000), None
    )
    assert "10,000,000 characters" in repr(done)


# the command


def test_a_dry_run_says_what_will_come_and_the_import_does_it(run: Run, project: Path) -> None:
    """What is left out is counted by its reason, with examples."""
    sample = Path(__file__).parent / "data" / "imports" / "mem0.json"
    foretold = as_json(run, "import", str(sample), "--dry-run")
    assert foretold["dryRun"] is True
    assert list((project / ".claude").rglob("*.json")) == []
    done = as_json(run, "import", str(sample))

    told = ("source", "read", "stored", "known", "leftOut", "kinds", "reasons", "first", "notes")
    assert {name: foretold[name] for name in told} == {name: done[name] for name in told}
    assert (done["read"], done["stored"], done["known"], done["leftOut"]) == (7, 3, 0, 4)
    assert {reason["items"] for reason in done["reasons"]} == {1}
    assert as_json(run, "import", str(sample))["stored"] == 0


def test_a_person_reads_counts_reasons_and_the_first_few(run: Run) -> None:
    """Before agreeing to it."""
    sample = Path(__file__).parent / "data" / "imports" / "memory.jsonl"
    status, out, error = run("import", str(sample), "--dry-run")

    assert (status, error) == (0, "")
    assert "memory-server: of 9 items 6 would be stored, 0 known already, 3 left out." in out
    assert "Nothing was written." in out
    assert "Records: 6 fact." in out
    assert "Secrets taken out: 1 github-token." in out
    assert "  line 3: Empty" in out


def test_a_source_may_be_piped_in_and_named(run: Run) -> None:
    """`jq … | memory-mcp import - --from mem0`."""
    status, out, _ = run("import", "-", "--from", "mem0", stdin='[{"memory": "Ada likes tea"}]')

    assert (status, out.splitlines()[0]) == (
        0,
        "mem0: of 1 items 1 stored, 0 known already, 0 left out.",
    )
    assert "Ada likes tea" in run("search", "tea")[1]


def test_a_source_that_is_not_there_is_said(run: Run) -> None:
    """The name is repeated: it is a slip of the pen."""
    assert "There is no file or folder 'memroy.jsonl'" in complaint(run, "import", "memroy.jsonl")


def test_an_import_follows_no_link_of_a_repository(run: Run, project: Path, tmp_path: Path) -> None:
    """CLAUDE.md of a clone may be a link to a key; named by itself, the same file is the user's."""
    notes = tmp_path / "private.md"
    notes.write_text("- The launch word is pelican.\n", "utf-8")
    (project / "CLAUDE.md").symlink_to(notes)

    assert "it is a link, which is not followed" in complaint(run, "import", "CLAUDE.md")
    assert all_below(project / ".claude") == {}
    assert as_json(run, "import", str(notes), "--from", "claude-md")["success"]
