"""An import brings in what was remembered elsewhere: once, clean, and where one stands."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from fakes import FakeClock, FakeIds, called, close_workspace, fake_workspace, real_workspace
from moving import (
    BOTH,
    Form,
    added,
    all_below,
    contents,
    exported,
    files_below,
    imported,
    of_mem0,
    only,
    previewed,
    read,
    records_of,
)

from memory_mcp import branches, maintenance, memories, sessions, transfer
from memory_mcp.domain import limits
from memory_mcp.domain.ids import parse_id_time
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, Skipped
from memory_mcp.domain.record import Draft
from memory_mcp.domain.transfer import ImportReport, ParsedSource, SourceFile, SourceMaterial
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.profile import get_profile
from memory_mcp.render.block import Block

pytestmark = pytest.mark.anyio


SECRET: Final = "the token is ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105  # invented


def note(text: str, name: str = "CLAUDE.md") -> ParsedSource:
    return read(SourceMaterial((SourceFile(name, text, datetime(2025, 1, 1, tzinfo=UTC)),)))


async def test_a_memory_keeps_its_time_its_labels_and_says_where_it_came_from() -> None:
    """What was learnt in May is not news of today."""
    workspace = fake_workspace()
    await imported(workspace, of_mem0("Ada likes tea", categories=["drinks", "habits"]))

    record = await only(workspace)
    assert record.created_at == datetime(2025, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert (record.category, record.tags) == ("drinks", ("habits",))
    assert record.origin.client == "import:mem0"
    assert (record.segment, record.branch) == ("root", "main")
    assert parse_id_time(record.id) == record.created_at


async def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    """Also of a source without ids and times, from another place, on another day."""
    clock = FakeClock()
    workspace = real_workspace(tmp_path, clock)
    text = "# Rules\n\n- Use tabs\n- Test first\n\nA paragraph."
    await imported(workspace, note(text))
    before = files_below(tmp_path)
    clock.advance(clock.now() - datetime(2026, 1, 1, tzinfo=UTC).replace(microsecond=104_000))
    done = await imported(workspace, note(text))

    assert (done.stored, done.known) == (0, 3)
    assert files_below(tmp_path) == before
    await close_workspace(workspace)


async def test_what_lies_outside_the_timeline_is_put_there() -> None:
    """A rule of CLAUDE.md holds on every branch; a fact holds where it was learnt."""
    workspace = fake_workspace()
    await imported(workspace, note("- Use tabs"))
    await imported(workspace, of_mem0("Orders rest in Postgres"))
    durable = {record.content: record.durable for record in await records_of(workspace)}

    assert durable == {"Use tabs": True, "Orders rest in Postgres": False}


async def test_a_backtrack_hides_what_was_imported_after_the_checkpoint() -> None:
    """It is an import like any step of work: going back undoes it, restoring brings it back."""
    workspace = fake_workspace()
    sealed = await branches.checkpoint(workspace, "one", 1, again=False, approval="approved")
    assert isinstance(sealed, CheckpointSaved)
    await imported(workspace, of_mem0("Orders rest in Postgres"))
    left = await branches.backtrack(workspace, sealed.checkpoint.id, "continue")
    assert isinstance(left, Backtracked)

    assert "Orders rest in Postgres" not in await contents(workspace)
    (there,) = (await imported(workspace, of_mem0("Orders rest in Postgres"))).left_out
    assert there.reason == "is here on a road that was left"
    assert left.line is not None
    await branches.backtrack(workspace, left.line, "continue")
    assert "Orders rest in Postgres" in await contents(workspace)


async def test_what_was_forgotten_since_is_not_brought_back() -> None:
    """The user has decided; an import of the same file is no other decision."""
    workspace = fake_workspace()
    source = of_mem0("Ada likes tea", "Bo likes rum", "Cy likes ale")
    await imported(workspace, source)
    erased, hidden, rejected = [record.id for record in await records_of(workspace)]
    await memories.forget_memory(workspace, erased, "", erase=True)
    await memories.forget_memory(workspace, hidden, "", erase=False)
    await memories.forget_memory(workspace, rejected, "not true", erase=True)
    before = await records_of(workspace)
    done = await imported(workspace, source)

    assert (done.stored, done.known) == (0, 0)
    assert [each.reason for each in done.left_out] == ["was forgotten here"] * 3
    assert await records_of(workspace) == before
    assert await contents(workspace) == []


async def test_a_rejected_statement_is_not_imported_from_elsewhere() -> None:
    """Another source may say what the user has denied."""
    workspace = fake_workspace()
    memory = await added(workspace, "Ada likes tea")
    await memories.forget_memory(workspace, memory, "she hates it", erase=True)
    done = await imported(workspace, of_mem0("Ada likes tea"))

    assert done.stored == 0
    assert [each.reason for each in done.left_out] == [
        "was rejected here on 2026-01-31: she hates it"
    ]


async def test_what_is_known_already_is_not_stored_twice() -> None:
    """Known here, or said twice in the source itself."""
    workspace = fake_workspace()
    await added(workspace, "Ada likes tea")
    done = await imported(workspace, of_mem0("ada likes tea.", "Bo likes rum", "Bo likes rum!"))

    assert (done.stored, done.known) == (1, 2)
    assert await contents(workspace) == [
        "Bo likes rum",
        "Ada likes tea",
    ]  # in the order of their times


async def test_a_secret_is_taken_out_before_the_first_byte(tmp_path: Path) -> None:
    """Other programs have stored them; the report must not repeat them either."""
    workspace = real_workspace(tmp_path)
    done = await imported(workspace, of_mem0(SECRET, categories=[SECRET[13:]]))

    assert done.redactions == {"github-token": 2}
    assert "ghp_16C7" not in repr(done)
    assert [name for name, data in all_below(tmp_path).items() if b"ghp_16C7" in data] == []
    await close_workspace(workspace)


async def test_a_secret_is_refused_or_left_as_the_setting_says() -> None:
    """MEMORY_SECRETS holds for every door."""
    refusing = fake_workspace(policy=Policy(secrets="refuse"))
    done = await imported(refusing, of_mem0(SECRET, "Ada likes tea"))
    assert (done.stored, len(done.left_out)) == (1, 1)
    assert done.left_out[0].reason == "holds what looks like a secret (MEMORY_SECRETS=refuse)"
    assert "ghp_" not in repr(done)

    allowing = fake_workspace(policy=Policy(secrets="allow"))
    await imported(allowing, of_mem0(SECRET))
    assert (await only(allowing)).content == SECRET


async def test_nothing_but_a_secret_is_no_memory() -> None:
    """A marker alone says nothing."""
    done = await imported(fake_workspace(), of_mem0(SECRET[13:]))

    assert [each.reason for each in done.left_out] == ["is nothing but a secret, which is not kept"]


async def test_our_own_recall_is_not_stored_again() -> None:
    """Another memory beside ours hears what ours recalls: it would come back as its own."""
    workspace = fake_workspace()
    known = await added(workspace, "Orders rest in Postgres", title="Orders")
    block = await sessions.memory_context(workspace, "", 500)
    assert isinstance(block, Block)
    done = await imported(
        workspace,
        of_mem0(
            block.text, f"{block.text}\nBo likes rum", f"- Orders rest here [{known}]\nIt rained."
        ),
    )

    assert [each.reason for each in done.left_out] == ["came out of this memory's own recall"]
    assert sorted(await contents(workspace)) == [
        "Bo likes rum",
        "It rained.",
        "Orders rest in Postgres",
    ]


async def test_a_long_text_is_split_at_its_paragraphs_and_nothing_of_it_is_lost() -> None:
    """Each piece fits, says which it is, and is found by itself."""
    workspace = fake_workspace()
    paragraphs = [f"Paragraph {n} says. {'It goes on and on. ' * 60}".strip() for n in range(20)]
    parsed = of_mem0("\n\n".join(paragraphs))
    done = await imported(workspace, parsed)
    pieces = await records_of(workspace)

    assert (done.stored, done.records) == (1, len(pieces))
    assert 3 <= len(pieces) <= 5
    assert all(len(record.content) <= limits.CONTENT_CHARS_MAX for record in pieces)
    told = {title: record.content for record in pieces if (title := record.title)}
    whole = "\n\n".join(told[f"({n}/{len(pieces)})"] for n in range(1, len(pieces) + 1))
    assert whole == "\n\n".join(paragraphs)
    assert done.notes[-1] == "1 item was too long for one memory and split."
    assert (await imported(workspace, parsed)).known == 1


async def test_what_is_too_long_to_be_a_memory_is_refused_with_the_figure() -> None:
    """A book in a graph is a book."""
    done = await imported(fake_workspace(), of_mem0("word " * 20_000))

    assert done.stored == 0
    assert "100,000 characters" not in done.left_out[0].item
    assert done.left_out[0].reason.startswith("has 99,999 characters; up to 80,000")


async def test_titles_and_tags_that_do_not_fit_are_not_lost_in_silence() -> None:
    """The whole title goes into the text, a tag is counted."""
    workspace = fake_workspace()
    name = "Entity " * 40
    entity = {"type": "entity", "name": name, "entityType": "t" * 65, "observations": ["is odd"]}
    line = json.dumps(entity)
    done = await imported(workspace, note(line, "memory.jsonl"))

    record = await only(workspace)
    assert len(record.title) <= limits.TITLE_CHARS_MAX
    assert record.title.endswith("\u2026")
    assert name.strip() in record.content
    assert record.category == ""
    assert done.notes == ("1 tag or category was too long or too many.",)


async def test_what_has_expired_is_left_out() -> None:
    """It would be stored and never be seen."""
    done = await imported(fake_workspace(), of_mem0("A trial", expiration_date="2025-09-01"))

    assert [each.reason for each in done.left_out] == ["expired on 2025-09-01"]


async def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    """Not even a head: it is looked before anything is begun."""
    workspace = real_workspace(tmp_path)
    done = await previewed(workspace, of_mem0("Ada likes tea"))

    assert (done.dry, done.stored, done.kinds, done.first) == (
        True,
        1,
        {"fact": 1},
        ("Ada likes tea",),
    )
    names = [name.rpartition("/")[2] for name in all_below(tmp_path)]
    assert [n for n in names if not n.startswith(("index.sqlite3", "trusted.json"))] == []
    await close_workspace(workspace)


async def test_the_user_scope_gets_what_it_is_said_to_get() -> None:
    """And the profile is drawn from it, as from any memory of the user."""
    workspace = fake_workspace()
    await imported(workspace, of_mem0("My name is Ada", "Ada likes tea"), "user")

    assert await workspace.project.records.ids() == set()
    profile = await get_profile(workspace)
    assert not isinstance(profile, Skipped)
    assert [entry.fact.value for entry in profile.entries] == ["Ada"]


async def test_each_where_it_belongs_puts_notes_about_the_user_to_the_user() -> None:
    """Claude Code marks them."""
    workspace = fake_workspace()
    text = "---\nname: role\nmetadata:\n  type: {}\n---\nThe {} likes Go"
    await imported(workspace, note(text.format("user", "user"), "role.md"))
    await imported(workspace, note(text.format("project", "project"), "work.md"))

    assert len(await workspace.user.records.ids()) == 1
    assert len(await workspace.project.records.ids()) == 1


@pytest.mark.parametrize("policy", [Policy(meta=True), Policy(enabled=False)])
async def test_a_session_that_may_not_write_does_not_import(policy: Policy) -> None:
    """A meta session reads and leaves no trace."""
    workspace = fake_workspace(policy=policy)

    assert isinstance(
        await transfer.import_memories(workspace, of_mem0("Ada likes tea"), None), Skipped
    )
    assert await workspace.project.records.ids() == set()


async def test_a_second_import_at_once_is_refused() -> None:
    """Two journals would be one too many to complete."""
    workspace = fake_workspace()
    async with workspace.journal.alone():
        with pytest.raises(StoreUnavailableError, match="Another import"):
            await transfer.import_memories(workspace, of_mem0("Ada likes tea"), None)
    assert await workspace.project.records.ids() == set()


# An export of ours comes in as it was, with its timeline, or as what holds where one stands.


async def a_story(workspace: Workspace) -> None:
    """A project that has something to hide: corrected, forgotten and left roads."""
    await added(workspace, "Ada is 3 years old")
    await memories.add_memory(workspace, Draft("Ada is 4 years old"))
    await added(workspace, "I live in Berlin", reach="user")
    await added(workspace, "Use tabs", kind="convention")
    sealed = await branches.checkpoint(workspace, "the first", 1, again=False, approval="approved")
    assert isinstance(sealed, CheckpointSaved)
    gone = await added(workspace, "Orders rest in Redis")
    await memories.forget_memory(workspace, gone, "", erase=True)
    await added(workspace, "Carts rest in cookies")
    await branches.checkpoint(workspace, "the left one", 2, again=False, approval="approved")
    await branches.backtrack(workspace, sealed.checkpoint.id, "continue")
    await added(workspace, "Carts rest in Postgres")


@pytest.mark.files
@pytest.mark.parametrize("form", ["json", "markdown"])
async def test_a_project_moves_with_its_history(tmp_path: Path, form: Form) -> None:
    """The same records byte for byte, the same timeline, from which one can go back and restore."""
    here, there = real_workspace(tmp_path / "a"), real_workspace(tmp_path / "b", ids=FakeIds(3))
    await a_story(here)
    done = await imported(there, await exported(here, form, history=True))

    assert done.stored == done.read == done.records
    assert files_below(tmp_path / "b") == files_below(tmp_path / "a")
    assert await contents(there) == await contents(here)
    left = await branches.backtrack(there, "phase2-20260131-143022", "continue")
    assert isinstance(left, Backtracked)
    assert "Carts rest in cookies" in await contents(there)
    assert await maintenance.run_doctor(there) == []
    for workspace in (here, there):
        await close_workspace(workspace)


async def test_histories_become_one_as_two_clones_do(tmp_path: Path) -> None:
    """What both did before is seen together; nothing of either is lost."""
    here, there = real_workspace(tmp_path / "a"), real_workspace(tmp_path / "b", ids=FakeIds(3))
    await a_story(here)
    await added(there, "Mail goes by SES")
    await branches.checkpoint(there, "mail works", 1, again=False, approval="approved")
    await added(there, "Mail has a footer")
    await imported(there, await exported(here, history=True))
    seen = await contents(there)

    assert set(await contents(here)) | {
        "Mail goes by SES",
        "mail works",
        "Mail has a footer",
    } == set(seen)
    assert await maintenance.run_doctor(there) == []
    for workspace in (here, there):
        await close_workspace(workspace)


async def test_a_forget_comes_along_with_a_history(tmp_path: Path) -> None:
    """Erased there, it is erased here; the dry run says that something goes."""
    here, there = real_workspace(tmp_path / "a"), real_workspace(tmp_path / "b", ids=FakeIds(3))
    memory = await added(here, "Orders rest in Redis")
    await imported(there, await exported(here, history=True))
    await memories.forget_memory(here, memory, "", erase=True)
    later = await exported(here, history=True)

    foretold = await previewed(there, later)
    assert (foretold.erases, foretold.affected) == (1, {"erases": ("Orders rest in Redis",)})
    before = files_below(tmp_path / "b")
    with pytest.raises(InvalidRequestError, match="erases 1 memories that are here"):
        await transfer.import_memories(there, read(later), None)
    assert files_below(tmp_path / "b") == before
    await imported(there, later, erase=True)
    assert files_below(tmp_path / "b") == files_below(tmp_path / "a")
    assert await contents(there) == []
    for workspace in (here, there):
        await close_workspace(workspace)


async def test_what_was_forgotten_here_does_not_come_back_with_a_history() -> None:
    """Nor what was made of it."""
    here, there = fake_workspace(), fake_workspace(ids=FakeIds(3))
    memory = await added(here, "Orders rest in Redis")
    whole, visible = await exported(here, history=True), await exported(here)
    await imported(there, whole)
    await memories.forget_memory(there, memory, "", erase=True)

    for material in (whole, visible):
        done = await imported(there, material)
        assert [each.reason for each in done.left_out] == ["was forgotten here"]
    assert await contents(there) == []


async def test_what_holds_is_placed_where_one_stands() -> None:
    """Without its history an export is knowledge: it holds from here on, with its ids."""
    here, there = fake_workspace(), fake_workspace(ids=FakeIds(3))
    there = called(there, scope=there.scope.model_copy(update={"project": "market"}))
    await a_story(here)
    await added(here, "JWT for auth", kind="decision")
    await branches.checkpoint(there, "before", 1, again=False, approval="approved")
    done = await imported(there, await exported(here))

    assert done.left_out == ()
    assert sorted([*await contents(here), "before"]) == sorted(await contents(there))
    brought = {r.content: r for r in await records_of(there)}
    decision = brought["JWT for auth"]
    assert decision.scope.project == "market"
    assert decision.key.startswith("project:market:decision:")
    assert decision.id in {r.id for r in await records_of(here)}
    assert decision.segment != "root"
    assert (brought["the first"].kind, brought["the first"].move) == ("event", None)
    assert (await imported(there, await exported(here))).stored == 0


async def test_only_one_scope_of_an_export_may_be_wanted() -> None:
    """A colleague's project, without what the colleague is called."""
    here, there = fake_workspace(), fake_workspace(ids=FakeIds(3))
    await a_story(here)
    for history in (False, True):
        done = await imported(there, await exported(here, history=history), "project")
        assert {each.reason for each in done.left_out} == {
            "belongs to the user scope, which was not asked for"
        }
    assert await there.user.records.ids() == set()


async def test_a_secret_in_an_export_of_ours_is_taken_out_too() -> None:
    """It may come from a session that allowed them."""
    here = fake_workspace(policy=Policy(secrets="allow"))
    await added(here, SECRET, title=SECRET, tags=(SECRET[13:],))
    for history in (False, True):
        there = fake_workspace(ids=FakeIds(3))
        done = await imported(there, await exported(here, history=history))
        assert done.redactions == {"github-token": 3}
        assert "ghp_" not in (await only(there)).model_dump_json()
        refusing = fake_workspace(policy=Policy(secrets="refuse"))
        if history:
            with pytest.raises(InvalidRequestError, match="holds what looks like a secret"):
                await previewed(refusing, await exported(here, history=True))
        else:
            assert (await imported(refusing, await exported(here))).stored == 0


async def test_an_export_of_the_same_project_is_known_there(tmp_path: Path) -> None:
    """A backup of what one has changes nothing, on whatever branch one is."""
    workspace = real_workspace(tmp_path)
    await a_story(workspace)
    before = files_below(tmp_path)
    for history in (False, True):
        done = await imported(workspace, await exported(workspace, banks=BOTH, history=history))
        assert done.stored == 0
    assert isinstance(done, ImportReport)
    assert files_below(tmp_path) == before
    await close_workspace(workspace)


def dated(*texts: str, year: int = 2024) -> ParsedSource:
    """A source with these memories, a month after each other."""
    items = [
        {"id": f"y{year}-{n}", "memory": text, "created_at": f"{year}-{n:02}-01T00:00:00Z"}
        for n, text in enumerate(texts, 1)
    ]
    then = datetime(2025, 1, 1, tzinfo=UTC)
    return read(SourceMaterial((SourceFile("mem0.json", json.dumps(items), then),)))


async def test_a_value_that_returns_is_imported_as_the_newest() -> None:
    """Known from before the other value, it would count as outdated for ever."""
    yarn, pnpm = "The repo uses yarn.", "The repo uses pnpm."
    workspace = fake_workspace()
    within = await imported(workspace, dated(yarn, pnpm, yarn))
    repeated = await imported(workspace, dated(yarn, year=2022))
    later = await imported(workspace, dated(pnpm, year=2025))
    known = await imported(workspace, dated(pnpm, year=2026))

    assert (within.stored, repeated.stored, later.stored, known.stored) == (3, 0, 1, 0)
    assert await contents(workspace) == [yarn, pnpm, yarn, pnpm]
