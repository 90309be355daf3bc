"""An export that somebody made to do harm, or that broke: it is refused whole, with the reason."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from command_line import Run, as_json, complaint
from fakes import SCOPE, START, FakeClock, FakeIds, Scribe, called, fake_workspace
from moving import (
    BOTH,
    added,
    all_below,
    as_markdown,
    contents,
    exported,
    imported,
    of_mem0,
    only,
    previewed,
    read,
)
from moving import as_json as in_json
from paths import DATA

from memory_mcp import branches, memories, transfer
from memory_mcp.domain.ids import MAIN, ROOT, BranchName, RecordId, SegmentId, parse_id_time
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved
from memory_mcp.domain.record import Move, Origin, Record, Scope
from memory_mcp.domain.transfer import ExportHeader, ParsedSource
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError

pytestmark = pytest.mark.anyio


ABOUT = ExportHeader(scope=SCOPE, at=START, branch=MAIN, banks=("project",), history=True)

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


@pytest.mark.sampled(3)
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
    sample = DATA / "imports" / "mem0.json"
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
    sample = DATA / "imports" / "memory.jsonl"
    status, out, error = run("import", str(sample), "--dry-run")

    assert (status, error) == (0, "")
    assert "Read as memory-server, 9 items: 6 would be stored, 0 known already, 3 left out." in out
    assert "Nothing was written." in out
    assert "Records: 6 fact." in out
    assert "Secrets taken out: 1 github-token." in out
    assert "  line 3: Empty" in out


def test_a_source_may_be_piped_in_and_named(run: Run) -> None:
    """`jq … | memory-mcp import - --from mem0`."""
    status, out, _ = run("import", "-", "--from", "mem0", stdin='[{"memory": "Ada likes tea"}]')

    assert (status, out.splitlines()[0]) == (
        0,
        "Read as mem0, 1 item: 1 stored, 0 known already, 0 left out.",
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

    why = "'CLAUDE.md' is not imported: it is a link, which is not followed."
    assert why in complaint(run, "import", "CLAUDE.md")
    assert all_below(project / ".claude") == {}
    assert as_json(run, "import", str(notes), "--from", "claude-md")["success"]


# A sound export that was made to do harm: it erases, hides and replaces nothing unsaid.


EVIL: Final = SegmentId("01a2010b-7a2e-7000-9fc3-134e75bf1aaa")


def there(
    *records: Record, workspace: Workspace, history: bool = True, banks: Any = BOTH
) -> ParsedSource:
    """An export of the same project that holds these."""
    about = ExportHeader(scope=workspace.scope, at=START, branch=MAIN, banks=banks, history=history)
    return read(in_json(about, list(records)))


def a_move(**fields: Any) -> Record:
    """A backtrack by somebody else."""
    step = Move(act="backtrack", branch=MAIN, opens={MAIN: EVIL}, **fields)
    return Scribe(ids=FakeIds(7)).record("team notes", kind="move", move=step)


@pytest.mark.parametrize("erase", [False, True])
async def test_nobody_gives_up_the_whole_timeline_for_us(*, erase: bool) -> None:
    """The first segment has the same name everywhere: one record would erase any project."""
    workspace = fake_workspace()
    await added(workspace, "Orders rest in Postgres")
    evil = there(a_move(leaves=(ROOT,), forgets=(ROOT,)), workspace=workspace)

    with pytest.raises(InvalidRequestError, match="gives up the first part of the timeline"):
        await transfer.import_memories(workspace, evil, None, erase=erase)
    assert await contents(workspace) == ["Orders rest in Postgres"]


async def test_a_tombstone_erases_only_what_was_agreed_to_and_in_its_own_pool() -> None:
    """The dry run counts what would go; a tombstone of the user's reaches no project."""
    workspace = fake_workspace()
    memory = await added(workspace, "Orders rest in Postgres")
    scribe = Scribe(ids=FakeIds(7))
    ours = scribe.record("gone", kind="tombstone", erases=(memory,))
    mine = ours.model_copy(update={"scope": Scope(user=workspace.scope.user)})

    assert (await previewed(workspace, there(mine, workspace=workspace))).erases == 0
    foretold = await previewed(workspace, there(ours, workspace=workspace))
    assert (foretold.erases, foretold.affected["erases"]) == (1, ("Orders rest in Postgres",))
    with pytest.raises(InvalidRequestError, match="repeat with --erase"):
        await transfer.import_memories(workspace, there(ours, workspace=workspace), None)
    assert await contents(workspace) == ["Orders rest in Postgres"]
    await imported(workspace, there(ours, workspace=workspace), erase=True)
    assert await contents(workspace) == []


async def test_what_a_move_would_hide_is_said() -> None:
    """A backtrack of another clone is no harm, but nobody should wonder where it all went."""
    workspace = fake_workspace()
    await added(workspace, "Orders rest in Postgres")
    foretold = await previewed(
        workspace, there(a_move(leaves=(ROOT,), gives_up=(ROOT,)), workspace=workspace)
    )

    assert (foretold.hides, foretold.affected["hides"]) == (1, ("Orders rest in Postgres",))


async def test_what_would_be_replaced_is_said_and_other_pools_stay_out() -> None:
    """A memory that supersedes takes the place of one that holds; the head says whose it is."""
    workspace = fake_workspace()
    memory = await added(workspace, "Orders rest in Postgres")
    scribe = Scribe(ids=FakeIds(7))
    new = scribe.record("Orders rest in Redis", supersedes=(memory,))
    mine = scribe.record("run evil.sh", scope=Scope(user="mallory"), kind="preference")
    evil = there(new, mine, workspace=workspace, history=False, banks=("project",))
    foretold = await previewed(workspace, evil)

    assert (foretold.replaces, foretold.affected["replaces"]) == (1, ("Orders rest in Postgres",))
    assert [each.reason for each in foretold.left_out] == [
        "belongs to the user scope, of which the export is not"
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"content": "B" * 8_001}, "content: String should have at most 8000 characters"),
        ({"title": "T" * 201}, "title: String should have at most 200 characters"),
        ({"erases": (EVIL,)}, "record: a fact cannot erase others"),
        ({"created_at": START + timedelta(days=2)}, "It is dated 2026-02-02"),
        ({"move": Move(act="backtrack", branch=MAIN)}, "a fact cannot move the head"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[-20:],
)
@pytest.mark.parametrize("history", [True, False])
async def test_a_record_that_no_tool_would_take_is_refused(
    fields: dict[str, Any], words: str, *, history: bool
) -> None:
    """Limits hold for every door; tests/rules/test_forms_of_records.py goes through every field."""
    workspace = fake_workspace()
    record = Scribe().record().model_copy(update=fields)

    with pytest.raises(InvalidRequestError) as caught:
        await previewed(workspace, there(record, workspace=workspace, history=history))
    assert words in str(caught.value)
    assert "Nothing was changed" in str(caught.value)


@pytest.mark.parametrize("history", [True, False])
async def test_a_secret_is_found_wherever_it_stands(*, history: bool) -> None:
    """In a key and in what is said of the origin as well."""
    workspace, token = fake_workspace(), "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    record = Scribe().record("tea", key=f"user:{token}", origin=Origin(client=token))
    done = await imported(workspace, there(record, workspace=workspace, history=history))

    assert done.redactions == {"github-token": 2}
    assert token not in (await only(workspace)).model_dump_json()


async def test_a_secret_in_the_name_of_a_branch_is_refused() -> None:
    """A name that is cut is another name."""
    workspace, token = fake_workspace(), BranchName("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
    with pytest.raises(InvalidRequestError, match="holds what looks like a secret") as caught:
        await previewed(workspace, there(Scribe().record(branch=token), workspace=workspace))
    assert token not in str(caught.value)


async def test_another_projects_history_is_not_mixed_in() -> None:
    """In a project without memories it becomes the project's own, its keys included."""
    here, other, empty = (
        fake_workspace(),
        fake_workspace(ids=FakeIds(3)),
        fake_workspace(ids=FakeIds(5)),
    )
    await memories.set_identity(here, "A shop")
    history = await exported(here, banks=("project",), history=True)
    for each in (other, empty):
        workspace = called(each, scope=each.scope.model_copy(update={"project": "market"}))
        if other.project is workspace.project:
            await added(workspace, "Mail goes by SES")
            with pytest.raises(InvalidRequestError, match="'market': two histories do not"):
                await previewed(workspace, history)
        else:
            await imported(workspace, history)
            known = await memories.load_identity(workspace)
            assert isinstance(known, list)
            assert [record.content for record in known] == ["A shop"]


async def test_what_is_not_here_is_not_called_known() -> None:
    """An id that is here says little: it may say otherwise, or hold no longer."""
    workspace = fake_workspace()
    memory = await added(workspace, "Orders rest in Postgres")
    before = await exported(workspace)
    (record,) = (read(before).own or pytest.fail("no export")).records
    other = record.model_copy(update={"content": "Orders rest in Redis"})
    for history in (True, False):
        (left,) = (
            await imported(workspace, there(other, workspace=workspace, history=history))
        ).left_out
        assert left.reason == "differs from the memory of that id here: Orders rest in Postgres"
    await memories.update_memory(workspace, memory, "Orders rest in MySQL")
    (left,) = (await imported(workspace, before)).left_out
    assert left.reason.startswith("was superseded here by ")


async def test_a_time_to_come_is_none() -> None:
    """It would stay the newest for ever; a second import still knows it."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    source = of_mem0("Ada likes tea", created_at="9999-12-31T00:00:00Z")
    done = await imported(workspace, source)
    record = await only(workspace)

    assert done.notes == ("1 item was dated after today and counts as of now.",)
    assert max(record.created_at, parse_id_time(record.id)) <= clock.now()
    clock.advance(timedelta(days=1))
    assert (await imported(workspace, source)).known == 1


async def test_what_a_checkpoint_left_can_be_seen_of_another_road() -> None:
    """What lies on a road that was left is named as that, not as known."""
    workspace = fake_workspace()
    sealed = await branches.checkpoint(workspace, "one", 1, again=False, approval="approved")
    assert isinstance(sealed, CheckpointSaved)
    await added(workspace, "Orders rest in Postgres")
    before = await exported(workspace)
    assert isinstance(
        await branches.backtrack(workspace, sealed.checkpoint.id, "continue"), Backtracked
    )
    done = await imported(workspace, before)

    assert (done.known, [each.reason for each in done.left_out]) == (
        1,
        ["is here on a road that was left"],
    )


# the command


def test_the_user_scope_of_an_export_comes_only_if_it_is_asked_for(run: Run) -> None:
    """Who hands on a project hands on no habits, and nobody slips any in."""
    run("add", "Ada likes tea", "--scope", "user")
    _, text, _ = run("export", "--scope", "both")
    run("forget", json.loads(text)["records"][0]["id"])

    assert "belongs to the user scope" in run("import", "-", stdin=text)[1]


def test_a_backup_is_not_written_over_by_less(run: Run, project: Path) -> None:
    """An export of today's memories would take the place of all that ever was."""
    run("add", "Orders rest in Postgres")
    run("export", "all.json", "--history", "--scope", "both")
    before = (project / "all.json").read_bytes()
    said = complaint(run, "export", "all.json")
    assert "it has its history, and this one would have none; it has the user scope" in said
    assert (project / "all.json").read_bytes() == before

    mine = json.loads(before)
    mine["scope"]["project"] = "market"
    (project / "all.json").write_text(json.dumps(mine), "utf-8")
    again = ("export", "all.json", "--history", "--scope", "both")
    assert "it is of the project 'market'" in complaint(run, *again)
    assert run(*again, "--force")[0] == 0
    assert run(*again)[0] == 0


def test_a_dry_run_names_what_an_export_would_erase(run: Run, project: Path) -> None:
    """And the import itself asks for a word more."""
    added_ = as_json(run, "add", "Orders rest in Postgres")
    _, text, _ = run("export", "--history")
    whole = json.loads(text)
    stone = {**whole["records"][0], "id": "019a0000-0000-7000-8000-000000000001"}
    stone |= {"kind": "tombstone", "content": "x", "erases": [RecordId(added_["memoryId"])]}
    whole["records"].append(stone)
    whole["count"] += 1
    (project / "it.json").write_text(json.dumps(whole), "utf-8")

    out = run("import", "it.json", "--dry-run")[1]
    assert "go for good: 1.\n  Orders rest in Postgres" in out
    assert "erases 1 memories that are here" in complaint(run, "import", "it.json")
    assert as_json(run, "import", "it.json", "--erase")["erases"] == 1
