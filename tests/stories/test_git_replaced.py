"""A replacement counts where the replacing memory stands: on its commit, and on what holds that."""

from pathlib import Path
from typing import Literal

import pytest
from doors import call
from git_world import A, B, GitWorld, parted

from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

NEW = "Orders live in MySQL."
ELSEWHERE = "written on feature, not merged here"

Kept = Literal["ignored", "committed"]
MODES: tuple[GitMode, ...] = ("mark", "follow")


async def _change(w: GitWorld, text: str, into: str) -> None:
    (found,) = [each for each in await w.search() if each["content"] == text]
    await call(w.client, "update_memory", memory_id=found["memoryId"], content=into)


async def _expect(w: GitWorld, here: set[str], marked: dict[str, str]) -> None:
    """What stands here, and what is found with a mark; contexts tell the same."""
    assert await w.standing() == {**dict.fromkeys(here, ""), **marked}
    context = await w.context()
    for text in (A, B, NEW):
        assert (text in context) == (text in here or text in marked), text


@pytest.mark.parametrize("kept", ["ignored", pytest.param("committed", marks=pytest.mark.files)])
@pytest.mark.parametrize("mode", MODES)
async def test_what_a_branch_replaced_is_still_recalled_on_main(
    settings: Settings, project: Path, mode: GitMode, kept: Kept
) -> None:
    """Until the branch is merged, the code of main is as the old memory says."""
    shows = mode == "mark" and kept == "ignored"
    async with parted(settings, project, mode, ignored=kept == "ignored") as w:
        await _change(w, A, NEW)
        w.commit("mysql")
        await _expect(w, {NEW, B}, {})

        w.git("switch", "-q", "main")
        await _expect(w, {A}, {NEW: ELSEWHERE, B: ELSEWHERE} if shows else {})
        w.git("switch", "-q", "feature")
        await _expect(w, {NEW, B}, {})

        w.git("switch", "-q", "main")
        await _expect(w, {A}, {NEW: ELSEWHERE, B: ELSEWHERE} if shows else {})
        w.git("merge", "-q", "--no-edit", "--no-ff", "feature")
        await _expect(w, {NEW, B}, {})


@pytest.mark.parametrize("event", ["reset", "revert"])
@pytest.mark.parametrize("mode", MODES)
async def test_what_was_replaced_holds_again_without_the_commit_that_replaced_it(
    settings: Settings, project: Path, mode: GitMode, event: str
) -> None:
    """A reset takes the replacing memory away; a revert marks it, in both modes."""
    async with parted(settings, project, mode) as w:
        await _change(w, A, NEW)
        w.commit("mysql")
        if event == "reset":
            w.git("reset", "-q", "--hard", "HEAD~1")
            marked = {NEW: "its commit was reset away"} if mode == "mark" else {}
        else:
            w.git("revert", "--no-edit", "HEAD")
            marked = {NEW: "its commit was reverted"}
        await _expect(w, {A, B}, marked)


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_branch_has_hidden_is_hidden_there_alone(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """To hide a memory is a memory's end on that line, and no other."""
    async with parted(settings, project, mode) as w:
        (found,) = [each for each in await w.search() if each["content"] == A]
        await call(w.client, "forget_memory", memory_id=found["memoryId"], mode="hide")
        w.commit("hidden")
        assert await w.recalled() == {B}

        w.git("switch", "-q", "main")
        assert (await w.standing())[A] == ""
        w.git("merge", "-q", "--no-edit", "feature")
        assert await w.recalled() == {B}


async def test_of_what_stands_elsewhere_the_newest_version_is_found(
    settings: Settings, project: Path
) -> None:
    """The branch has replaced its own memory: from main the old one is nowhere."""
    async with parted(settings, project, "mark") as w:
        await _change(w, B, NEW)
        w.commit("mysql")
        w.git("switch", "-q", "main")
        await _expect(w, {A}, {NEW: ELSEWHERE})
