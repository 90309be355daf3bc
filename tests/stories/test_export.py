"""An export holds what holds, never more; and it never writes over what is not its own."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from command_line import Run, as_json, complaint
from fakes import FakeClock, close_workspace, fake_workspace, forked, real_workspace, switched
from moving import BOTH, Form, all_below, contents, exported, imported, read

from memory_mcp import branches, memories, transfer
from memory_mcp.domain.outcomes import CheckpointSaved, MemoryAdded, Skipped
from memory_mcp.domain.record import Draft
from memory_mcp.domain.transfer import SourceMaterial
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Policy
from memory_mcp.errors import StoreUnavailableError

pytestmark = pytest.mark.anyio

INDEX: Final = "index.md"


def text_of(material: SourceMaterial) -> str:
    """All that an export says, its index and the names of its files too."""
    return "\n".join(f"{document.name}\n{document.text}" for document in material.documents)


@pytest.mark.parametrize("form", ["json", "markdown"])
async def test_what_does_not_hold_from_here_does_not_leave(form: Form) -> None:
    """DESIGN 3.5: left roads with their summaries, corrections, what was forgotten or expired."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    old = await memories.add_memory(workspace, Draft("corrected zebra"))
    assert isinstance(old, MemoryAdded)
    await memories.update_memory(workspace, old.record.id, "newer otter")
    await memories.add_memory(
        workspace, Draft("brief yak", expires_at=clock.now() + timedelta(hours=1))
    )
    hidden = await memories.add_memory(workspace, Draft("hidden emu"))
    assert isinstance(hidden, MemoryAdded)
    await memories.forget_memory(workspace, hidden.record.id, "because of a newt", erase=False)
    sealed = await branches.checkpoint(
        workspace, "sealed lynx", 1, again=False, approval="approved"
    )
    assert isinstance(sealed, CheckpointSaved)
    await memories.add_memory(workspace, Draft("left gnu"))
    await branches.checkpoint(workspace, "left ibis", 2, again=False, approval="approved")
    await branches.backtrack(workspace, sealed.checkpoint.id, "continue", lesson="learnt koala")
    await branches.checkpoint(workspace, "pending wasp", 2, again=False, approval="pending")
    clock.advance(timedelta(hours=2))

    visible = text_of(await exported(workspace, form))
    whole = text_of(await exported(workspace, form, history=True))
    held = ["newer otter", "sealed lynx", "learnt koala"]
    gone = ["zebra", "yak", "emu", "newt", "gnu", "ibis", "wasp"]
    assert [word for word in held if word not in visible] == []
    assert [word for word in gone if word in visible] == []
    assert [word for word in held + gone if word not in whole] == []


async def test_the_branch_decides_what_holds() -> None:
    """Another branch's work is no part of this one's export."""
    workspace = fake_workspace()
    workspace = await forked(workspace, "side", "")
    workspace = await switched(workspace, "main")
    await memories.add_memory(workspace, Draft("on main"))
    workspace = await switched(workspace, "side")
    await memories.add_memory(workspace, Draft("on the side"))

    assert await contents(workspace) == ["on the side"]
    assert "on main" not in text_of(await exported(workspace))


async def test_the_user_scope_stays_unless_it_is_asked_for() -> None:
    """An export of a project is given to others."""
    workspace = fake_workspace()
    await memories.add_memory(workspace, Draft("I live in Berlin", reach="user"))
    await memories.add_memory(workspace, Draft("Orders rest in Postgres"))

    assert "Berlin" not in text_of(await exported(workspace, banks=("project",)))
    assert "Postgres" not in text_of(await exported(workspace, banks=("user",)))
    both = await exported(workspace, banks=BOTH)
    own = read(both).own
    assert own is not None
    # the city that the profile drew from it comes along
    assert len([record for record in own.records if record.scope.project is None]) == 2


async def test_a_move_without_its_record_is_in_the_history(tmp_path: Path) -> None:
    """A cut may have come between the head and the record: the head holds it."""
    workspace = real_workspace(tmp_path)
    await memories.add_memory(workspace, Draft("Orders rest in Postgres"))
    await branches.checkpoint(workspace, "the first", 1, again=False, approval="approved")
    head = await workspace.heads.read()
    assert head is not None
    assert head.last is None
    (move,) = await load_records(workspace.project, list(head.timeline.moves))
    cut = head.model_copy(update={"last": move})
    await workspace.heads.replace(cut, expected=head.revision)
    await workspace.project.records.erase({move.id})
    there = fake_workspace()
    await imported(there, await exported(workspace, history=True))

    assert [c.summary for c in (await there.heads.read() or head).timeline.decided()] == [
        "the first"
    ]
    await close_workspace(workspace)


@pytest.mark.files
async def test_records_that_went_away_are_no_empty_export(tmp_path: Path) -> None:
    """A backup of nothing over the last good one would be the worst of all."""
    workspace = real_workspace(tmp_path)
    await memories.add_memory(workspace, Draft("Orders rest in Postgres"))
    folder = tmp_path / "project" / ".claude" / "memory"
    folder.rename(tmp_path / "elsewhere")

    with pytest.raises(StoreUnavailableError, match="there is not one record"):
        await transfer.select_export(workspace, BOTH, history=False)
    await close_workspace(workspace)


async def test_a_memory_that_is_off_exports_nothing() -> None:
    """As every other read."""
    workspace = fake_workspace(policy=Policy(enabled=False))
    assert isinstance(await transfer.select_export(workspace, BOTH, history=False), Skipped)


# the command


def some_memories(run: Run) -> None:
    run("add", "Orders rest in Postgres", "--title", "Where do orders rest?")
    run("add", "Caf\u00e9 \u2713 \U0001f600", "--kind", "decision")


def test_an_export_to_stdout_is_json_and_nothing_else(run: Run) -> None:
    """It is piped into other programs; what a person reads goes elsewhere."""
    some_memories(run)
    status, out, error = run("export")

    assert (status, error) == (0, "")
    whole = json.loads(out)
    assert [r["content"] for r in whole["records"]] == [
        "Orders rest in Postgres",
        "Caf\u00e9 \u2713 \U0001f600",
    ]
    assert (whole["format"], whole["version"], whole["count"]) == ("memory-mcp", 1, 2)
    assert json.loads(run("--json", "export", "-")[1])["records"] == whole["records"]


def test_a_folder_is_for_people_and_comes_back_whole(run: Run, project: Path) -> None:
    """The names say what is in the files; what counts is within them."""
    some_memories(run)
    said = as_json(run, "export", "notes", "--format", "markdown")

    assert (said["records"], said["format"]) == (2, "markdown")
    notes = project / "notes"
    (orders,) = notes.glob("project/*/where-do-orders-rest-*.md")
    orders.rename(notes / "renamed.md")
    assert "[Where do orders rest?](project/" in (notes / INDEX).read_text("utf-8")
    assert as_json(run, "import", "notes")["known"] == 2


def test_a_second_export_into_a_folder_takes_the_first_ones_place(run: Run, project: Path) -> None:
    """What was forgotten since must not stay behind in it; what the user put there does."""
    some_memories(run)
    run("export", "notes/")
    (project / "notes" / "mine.md").write_text("mine", "utf-8")
    forgotten = json.loads(run("search", "Postgres", "--json")[1])["results"][0]["memoryId"]
    run("forget", forgotten)
    run("export", "notes")
    left = all_below(project / "notes")

    assert [name for name, data in left.items() if b"Postgres" in data] == []
    assert len(left) == 3
    assert as_json(run, "import", "notes")["leftOut"] == 1


@pytest.mark.parametrize("target", ["mine.json", "folder"])
def test_what_is_no_export_is_not_written_over(run: Run, project: Path, target: str) -> None:
    """A slip of the name must not cost a file."""
    some_memories(run)
    path = project / target
    if target == "folder":
        path.mkdir()
        path /= "letter.md"
    path.write_text('{"precious": true}', "utf-8")

    assert "is no export of this program" in complaint(run, "export", target)
    assert path.read_text("utf-8") == '{"precious": true}'
    assert run("export", target, "--force")[0] == 0
    assert run("export", target)[0] == 0  # it is one now


def test_an_export_that_was_cut_short_says_so(run: Run, project: Path) -> None:
    """Half of the memories must not pass for all."""
    some_memories(run)
    run("export", "notes/")
    index = project / "notes" / INDEX
    whole = index.read_text("utf-8")
    index.write_text(whole.replace("complete: true", "complete: false"), "utf-8")
    assert "was cut short: export again" in complaint(run, "import", "notes")

    index.write_text(whole.replace("count: 2", "count: 3"), "utf-8")
    assert "names 3 records, and there are 2" in complaint(run, "import", "notes")


@pytest.mark.files
def test_a_record_that_cannot_be_read_is_named(run: Run, project: Path) -> None:
    """The export is written, and says what is missing in it."""
    some_memories(run)
    damaged = next((project / ".claude" / "memory").glob("*/*.json"))
    damaged.write_text("{", "utf-8")
    status, out, error = run("export", "all.json")
    assert (status, out) == (1, "")
    assert f"1 could not be read and are missing in it: {damaged.stem}" in error

    status, out, error = run("export")
    assert (status, json.loads(out)["count"]) == (1, 1)
    assert damaged.stem in error


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("--format", "markdown"), "Markdown is a folder of files: name one", 2),
        (("there", "--format", "json"), "'there' is a folder, and JSON is one file", 1),
    ],
)
def test_a_target_that_cannot_be_is_said(
    run: Run, project: Path, arguments: tuple[str, ...], words: str, status: int
) -> None:
    """Before anything is read or written."""
    (project / "there").mkdir()
    assert words in complaint(run, "export", *arguments, expected=status)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("target", "blamed"),
    [
        ("d/e/", ""),
        ("d/e/x.json", "d/e"),
        ("d/e/../x.json", ""),
        ("x.json", ""),
        ("notes/", "notes/index.md"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_a_link_of_a_repository_is_named_and_not_written_through(
    run: Run, project: Path, tmp_path: Path, target: str, blamed: str, *, force: bool
) -> None:
    """What the user names may be anywhere, but no name in a clone leads out of it unsaid.

    The link is named where it is not the target itself, which the message begins with.
    """
    as_json(run, "add", "Orders live in PostgreSQL.")
    own = tmp_path / "own"  # a work tree as well: that makes the link to it no root of its own
    for folder in (own / "e" / ".git", project / "d", project / "notes"):
        folder.mkdir(parents=True)
    links = {
        project / "d" / "e": own / "e",
        project / "x.json": own / "x.json",
        project / "notes" / "index.md": own / "index.md",
    }
    for link, real in links.items():
        link.symlink_to(real)
    before = all_below(own)

    if ".." in target:  # lexically: beside the link, and no longer behind it
        as_json(run, "export", target)
        assert (project / "d" / "x.json").is_file()
    else:
        said = complaint(run, "export", target, *(["--force"] if force else []))
        where = f"{project / blamed}: " if blamed else ""
        why = f"{where}it is a link, which is not followed. Name the folder that is meant"
        assert f"{target!r} is not written: {why}" in said
    assert all_below(own) == before
    assert all(link.is_symlink() for link in links)


def test_outside_of_any_project_links_are_the_users_own(run: Run, tmp_path: Path) -> None:
    """A folder of backups is often a link to another disk."""
    as_json(run, "add", "Orders live in PostgreSQL.")
    (tmp_path / "disk").mkdir()
    (tmp_path / "backups").symlink_to(tmp_path / "disk")

    as_json(run, "export", str(tmp_path / "backups" / "x.json"))
    assert (tmp_path / "disk" / "x.json").is_file()
