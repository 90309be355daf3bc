"""The question before a backtrack: [continue], [forget] or [abort]."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import (
    Action,
    Era,
    User,
    add,
    agent,
    call,
    head_file,
    recalled,
    seal,
)

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A session that asks, which is the default."""
    return replace(settings, approval="ask")


@pytest.mark.protocol
async def test_a_backtrack_shows_what_it_would_do_before_it_asks(
    settings: Settings, era: Era
) -> None:
    """The choice is the user's, so the user sees the price of each."""
    name = await _on_the_way(settings)
    user = User("accept", {"choice": "continue"})
    async with agent(settings, era, user) as client:
        for number in range(11):
            await add(client, f"Note {number}.")
        said = await call(client, "backtrack", to=1)
        assert await recalled(client) == ["One"]

    (question,) = user.asked
    assert question.startswith(f"Go back to {name}? This hides 12 memories that came after:\n- ")
    assert "- Note 10." in question
    assert "- and 2 more" in question
    assert question.endswith(
        "[continue] hides them (restorable), [forget] erases 12 records for good, "
        "[abort] does nothing."
    )
    assert said["hidden"] == 12


@pytest.mark.sampled(3)
@pytest.mark.protocol
@pytest.mark.parametrize(
    ("action", "status"),
    [("accept", "aborted"), ("decline", "aborted"), ("cancel", "undecided")],
)
async def test_a_backtrack_that_nobody_agreed_to_changes_nothing(
    settings: Settings, era: Era, project: Path, action: Action, status: str
) -> None:
    """A wrong guess here would hide or erase what the user wanted."""
    await _on_the_way(settings)
    before = head_file(project)
    user = User(action, {"choice": "abort"} if action == "accept" else None)
    async with agent(settings, era, user) as client:
        said = await call(client, "backtrack", to=1)

    assert (said["success"], said["status"]) == (False, status)
    assert len(user.asked) == 1
    assert head_file(project) == before


async def test_the_user_can_choose_to_forget(settings: Settings, era: Era) -> None:
    """[forget] is one of the three, and the form says what it means."""
    await _on_the_way(settings)
    user = User("accept", {"choice": "forget"})
    async with agent(settings, era, user) as client:
        said = await call(client, "backtrack", to=1)

    assert said["erased"] == 1
    choice = user.forms[-1]["requestedSchema"]["properties"]["choice"]
    assert choice["enum"] == ["continue", "forget", "abort"]
    assert "erase it for good" in choice["description"]


async def test_a_mode_or_token_given_with_the_call_is_the_answer(
    settings: Settings, era: Era
) -> None:
    """The model asked in the conversation already; a form would ask twice."""
    await _on_the_way(settings)
    user = User("decline")
    async with agent(settings, era, user) as client:
        await call(client, "backtrack", to=1, mode="continue")

    assert user.asked == []


@pytest.mark.protocol
async def test_a_client_that_cannot_ask_takes_two_calls(settings: Settings, era: Era) -> None:
    """The first call shows the price and gives a token, the second carries it out."""
    name = await _on_the_way(settings)
    async with agent(settings, era) as client:
        first = await call(client, "backtrack", to=1)
        assert "Sessions live in Redis." in await recalled(client)
        second = await call(
            client, "backtrack", to=1, mode="continue", confirm=first["confirm"]
        )  # fmt: skip

    assert (first["success"], first["status"], first["hidden"]) == (False, "undecided", 1)
    assert "Nothing was done yet. Ask the user" in first["message"]
    assert f"confirm={first['confirm']!r}" in first["message"]
    assert second["backtrackedTo"] == name


async def test_a_token_holds_only_for_what_was_shown(settings: Settings, era: Era) -> None:
    """The user agreed to hide one memory, not the two there are by now."""
    await _on_the_way(settings)
    async with agent(settings, era) as client:
        shown = await call(client, "backtrack", to=1)
        await add(client, "Redis needs three nodes.")
        changed = await call(
            client, "backtrack", to=1, mode="forget", confirm=shown["confirm"]
        )  # fmt: skip
        assert len(await recalled(client, "redis")) == 2
        done = await call(
            client, "backtrack", to=1, mode="forget", confirm=changed["confirm"]
        )  # fmt: skip

    assert (changed["success"], changed["status"], changed["hidden"]) == (False, "changed", 2)
    assert changed["message"].startswith("The memory changed since you were asked.")
    assert changed["confirm"] != shown["confirm"]
    assert done["erased"] == 2


async def test_a_restore_is_asked_about_too(settings: Settings, era: Era) -> None:
    """Coming forward hides what was done since."""
    await _on_the_way(settings)
    async with agent(settings, era) as client:
        gone = await call(client, "backtrack", to=1, mode="continue")
        said = await call(client, "backtrack", to=gone["line"])

    assert said["message"].startswith(
        f"Restore {gone['line']} (1 memory will hold again)? This hides no memory.\n"
        "[continue] restores it, [abort] does nothing."
    )


async def _on_the_way(settings: Settings) -> str:
    """Phase 1 sealed in an earlier session, and one memory after it; the checkpoint's name."""
    async with agent(replace(settings, approval="auto"), "auto") as client:
        name = await seal(client, "One", phase=1)
        await add(client, "Sessions live in Redis.")
    return name
