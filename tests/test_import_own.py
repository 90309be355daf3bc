"""An export of ours comes in as it was, with its timeline, or as what holds where one stands."""

from pathlib import Path
from typing import Final

import pytest
from fakes import FakeIds, called, close_workspace, fake_workspace, real_workspace
from moving import (
    BOTH,
    Form,
    added,
    contents,
    exported,
    files_below,
    imported,
    only,
    previewed,
    read,
    records_of,
)

from memory_mcp import branches, maintenance, memories, transfer
from memory_mcp.domain.outcomes import Backtracked, Saved
from memory_mcp.domain.record import Draft
from memory_mcp.domain.transfer import Imported
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import InvalidRequestError

pytestmark = pytest.mark.anyio

SECRET: Final = "the token is ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105  # invented


async def a_story(workspace: Workspace) -> None:
    """A project that has something to hide: corrected, forgotten and left roads."""
    await added(workspace, "Ada is 3 years old")
    await memories.add_memory(workspace, Draft("Ada is 4 years old"))
    await added(workspace, "I live in Berlin", reach="user")
    await added(workspace, "Use tabs", kind="convention")
    sealed = await branches.checkpoint(workspace, "the first", 1, again=False, approval="approved")
    assert isinstance(sealed, Saved)
    gone = await added(workspace, "Orders rest in Redis")
    await memories.forget_memory(workspace, gone, "", erase=True)
    await added(workspace, "Carts rest in cookies")
    await branches.checkpoint(workspace, "the left one", 2, again=False, approval="approved")
    await branches.backtrack(workspace, sealed.checkpoint.id, "continue")
    await added(workspace, "Carts rest in Postgres")


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
    assert await maintenance.doctor(there) == []
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
    assert await maintenance.doctor(there) == []
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
    assert (foretold.erases, foretold.touched) == (1, {"erases": ("Orders rest in Redis",)})
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
        done = await imported(workspace, await exported(workspace, pools=BOTH, history=history))
        assert done.stored == 0
    assert isinstance(done, Imported)
    assert files_below(tmp_path) == before
    await close_workspace(workspace)
