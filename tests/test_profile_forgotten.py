"""What was forgotten, on this machine or another, is in no profile and on no disk."""

import shutil
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from doors import files_with
from fakes import FakeClock
from profile_doors import correct, forget, found, lines, opened, repeat, say, stored

from memory_mcp import branches, maintenance, sessions
from memory_mcp.engine.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncGenerator[Workspace]:
    async with opened(tmp_path) as there:
        yield there


@pytest.mark.parametrize("erase", [True, False])
async def test_a_fact_falls_with_its_source_and_the_older_value_stays_gone(
    workspace: Workspace, *, erase: bool
) -> None:
    """Who forgets "Hamburg" did not say that they are back in Berlin."""
    await say(workspace, "I live in Berlin.")
    new = await say(workspace, "I moved to Hamburg.")
    await forget(workspace, new.record.id, erase=erase)

    assert await lines(workspace) == []
    assert await found(workspace, "city") == []
    assert await found(workspace, "live") == ["I live in Berlin."]
    await repeat(workspace, "I live in Berlin.")
    assert await lines(workspace) == ["City: Berlin"]


async def test_erasing_leaves_no_byte_of_what_was_drawn_from_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Forget means everywhere: the facts hold its words, hidden and superseded ones too."""
    secret = await say(workspace, "My name is Zebulon. I live in Kyoto.")
    await say(workspace, "I moved to Osaka.")  # supersedes the fact, which stays a file
    newer = await correct(workspace, secret.record.id, "My name is Zebulon.")
    assert files_with(tmp_path, "Kyoto") != []
    await forget(workspace, secret.record.id, erase=True)
    await forget(workspace, newer.record.id, erase=True)

    for word in ("Zebulon", "zebulon", "Kyoto", "kyoto"):
        assert files_with(tmp_path, word) == []
    assert await lines(workspace) == ["City: Osaka"]
    context = await sessions.memory_context(workspace, "who", 500)
    assert "Zebulon" not in str(context)
    assert await maintenance.doctor(workspace) is not None


async def test_a_clone_that_learns_of_the_forget_erases_the_facts_as_well(
    tmp_path: Path,
) -> None:
    """One tombstone names the memory and all that was drawn from it."""
    async with opened(tmp_path / "here") as here:
        said = await say(here, "I live in Kyoto.")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    async with opened(tmp_path / "here", process=1) as here, opened(tmp_path / "there") as there:
        assert await lines(there) == ["City: Kyoto"]
        await forget(here, said.record.id, erase=True)
        await _carry(here, there)
        assert await lines(there) == []
        assert [r.kind for r in await stored(there)] == ["tombstone"]

    assert files_with(tmp_path / "there", "Kyoto") == []


async def test_two_clones_that_learnt_otherwise_agree_on_the_newer_value(tmp_path: Path) -> None:
    """Both wrote a fact; the one said last counts, in both."""
    clock = FakeClock()
    async with (
        opened(tmp_path / "here", clock, process=1) as here,
        opened(tmp_path / "there", clock, process=2) as there,
    ):
        await say(here, "I live in Berlin.")
        clock.advance(timedelta(hours=1))
        await say(there, "I live in Oslo.")
        await _carry(here, there)
        await _carry(there, here)
        assert await lines(here) == await lines(there) == ["City: Oslo"]
        clock.advance(timedelta(hours=1))
        await say(here, "I live in Berlin again.")
        assert await lines(here) == ["City: Berlin"]
        shown = await found(here, "city", category="profile")
        assert shown == ["City: Berlin"]


async def _carry(here: Workspace, there: Workspace) -> None:
    """What git does: the files of the one are copied to the other."""
    for record in await stored(here):
        await there.user.records.put(record)
    await sessions.reindex(there)


async def test_a_backtrack_changes_nothing_of_it(workspace: Workspace) -> None:
    """The user is the same on every road."""
    await say(workspace, "I live in Berlin.")
    await branches.checkpoint(workspace, "One", 1, again=False, approval="approved")
    await say(workspace, "I moved to Hamburg.")
    await branches.backtrack(workspace, "1", "continue", lesson="", token="")

    assert await lines(workspace) == ["City: Hamburg"]


async def test_what_holds_again_when_a_merge_is_taken_apart_says_again_what_it_said(
    workspace: Workspace, tmp_path: Path
) -> None:
    """The fact of the merged memory goes with it; that of the one that comes back is drawn anew."""
    old = await say(workspace, "I live in Oslo. The gym opens at 7.")
    whole = await say(workspace, "The gym opens at 8.")
    assert whole.record.content == "I live in Oslo. The gym opens at 8."
    assert await lines(workspace) == ["City: Oslo"]
    (new,) = set(whole.record.derived_from) - {old.record.id}
    await forget(workspace, new, erase=True)
    assert await found(workspace, "gym") == ["I live in Oslo. The gym opens at 7."]
    assert await lines(workspace) == ["City: Oslo"]

    await forget(workspace, old.record.id, erase=True)
    assert await lines(workspace) == []
    assert files_with(tmp_path, "Oslo") == []


async def test_what_holds_again_overrides_nothing_that_was_said_since(workspace: Workspace) -> None:
    """It comes back as it was, and is no news."""
    await say(workspace, "I live in Oslo. The gym opens at 7.")
    whole = await say(workspace, "The gym opens at 8.")
    await say(workspace, "I moved to Kyoto.")
    new = whole.record.derived_from[1]
    await forget(workspace, new, erase=True)

    assert await lines(workspace) == ["City: Kyoto"]
