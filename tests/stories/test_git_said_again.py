"""What is known only from elsewhere in git does not make a new memory superfluous."""

from pathlib import Path

import pytest
from doors import Json, call
from git_world import B, GitWorld, parted

from memory_mcp.config.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_git")]

_ELSEWHERE = "written on feature, not merged here"


async def _add(w: GitWorld, text: str, **arguments: object) -> Json:
    return await call(w.client, "add_memory", content=text, **arguments)


async def _standings(w: GitWorld, text: str) -> list[str]:
    """Where each memory that says this stands; the first is the one that a page would show."""
    return [each.get("standing", "") for each in await w.search() if each["content"] == text]


async def test_what_another_branch_said_is_stored_here_too(
    settings: Settings, project: Path
) -> None:
    """Else it would go with that branch, though it was stated here."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "main")

        said = await _add(w, B)
        assert said["outcome"] == "inserted"
        assert [each["relation"] for each in said["similar"]] == ["elsewhere"]
        assert said["similar"][0]["content"] == B
        assert said["similar"][0]["memoryId"] in said["message"]
        assert _ELSEWHERE in said["message"]
        assert await _standings(w, B) == ["", _ELSEWHERE]
        assert (await _add(w, B))["outcome"] == "known", "now it is"

        w.commit("sessions", in_file="main")
        w.git("branch", "-q", "-D", "feature")
        w.commit("more", in_file="main")
        assert (await _standings(w, B))[0] == ""


async def test_what_is_nearly_the_same_elsewhere_is_neither_merged_nor_refused(
    settings: Settings, project: Path
) -> None:
    """A merge here would take it from the branch that it holds on."""
    async with parted(settings, project, "mark") as w:
        w.git("switch", "-q", "main")

        said = await _add(w, "Sessions are kept in Redis")
        assert (said["outcome"], said.get("replaced", [])) == ("inserted", [])
        assert [each["relation"] for each in said["similar"]] == ["elsewhere"]

        changed = await _add(w, "Sessions are kept in Memcached.")
        assert B not in [each["content"] for each in changed["similar"]
                         if each["relation"] == "outdated"]  # fmt: skip
        w.git("switch", "-q", "feature")
        assert await _standings(w, B) == [""]


@pytest.mark.parametrize("event", ["reset", "revert"])
async def test_what_was_reset_away_or_reverted_can_be_said_again(
    settings: Settings, project: Path, event: str
) -> None:
    """It does not count for this commit, so saying it again says something."""
    async with parted(settings, project, "mark") as w:
        if event == "reset":
            w.git("reset", "-q", "--hard", "HEAD~1")
        else:
            w.git("revert", "--no-edit", "HEAD")
        word = "its commit was reset away" if event == "reset" else "its commit was reverted"
        assert await _standings(w, B) == [word]

        said = await _add(w, B)
        assert said["outcome"] == "inserted"
        assert word in said["message"]
        assert await _standings(w, B) == ["", word]


async def test_a_closeout_stores_a_decision_that_another_branch_made(
    settings: Settings, project: Path
) -> None:
    """A checkpoint asks in the same way what is known."""
    async with parted(settings, project, "mark") as w:
        await w.write("Search is paged by cursor.", kind="decision")
        w.commit("cursor")
        w.git("switch", "-q", "main")

        closeout = {"decisions": [{"text": "Search is paged by cursor."}]}
        await call(w.client, "checkpoint", summary="Paging", phase=1, **closeout)
        assert "" in await _standings(w, "Search is paged by cursor.")


async def test_git_that_is_off_knows_a_statement_wherever_it_was_made(
    settings: Settings, project: Path
) -> None:
    """Then branches of git are nothing to memory."""
    async with parted(settings, project, "off") as w:
        w.git("switch", "-q", "main")
        assert (await _add(w, B))["outcome"] == "known"
