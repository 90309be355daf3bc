"""A server that several clients reach opens once with each of them."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from dropping import HEADING
from fakes import START, FakeClock, called, fake_workspace
from nudges_in_memory import SlowlyRemoved, opened

from memory_mcp import sessions
from memory_mcp.domain.ids import BranchName

pytestmark = pytest.mark.anyio


async def test_every_conversation_of_a_server_opens_once() -> None:
    """Several clients of one process: each is told of what came since, none of another's."""
    workspace = fake_workspace()
    one, other = (called(workspace, conversation=name) for name in ("1", "2"))
    await sessions.add_nudge(workspace, "Tea?", 5, None)
    first = await opened(one)
    await sessions.add_nudge(workspace, "The build broke.", 10, None)

    assert "- Tea?" in first
    assert await opened(one) == first
    assert "- The build broke." in await opened(other)
    assert await opened(one) == first


async def test_a_request_of_no_conversation_opens_its_own() -> None:
    """Nothing tells stateless requests apart: what one has shown, none shows again."""
    workspace = called(fake_workspace(), conversation=None)
    await sessions.add_nudge(workspace, "Tea?", 5, None)
    assert HEADING not in await opened(workspace, budget_tokens=60)
    texts = [await opened(workspace) for _ in range(2)]
    await sessions.add_nudge(workspace, "The build broke.", 10, None)

    assert [HEADING in text for text in texts] == [True, False]
    assert "- The build broke." in await opened(workspace)


async def test_what_a_cancelled_request_of_no_conversation_took_is_not_lost() -> None:
    """The next one shows it."""
    slow = SlowlyRemoved()
    workspace = called(replace(fake_workspace(), nudges=slow), conversation=None)
    await sessions.add_nudge(workspace, "Tea?", 5, None)
    call = asyncio.create_task(opened(workspace))
    await slow.asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    slow.may_answer.set()

    assert [HEADING in await opened(workspace) for _ in range(2)] == [True, False]


async def test_what_has_expired_since_is_brought_up_no_more() -> None:
    """A session may be open for days."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    await sessions.add_nudge(
        workspace, "The meeting begins at three.", 5, START + timedelta(minutes=5)
    )
    assert HEADING in await opened(workspace)
    clock.advance(timedelta(minutes=5))

    assert "meeting" not in await opened(workspace)


async def test_a_server_forgets_the_conversation_that_was_silent_for_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It runs for months."""
    monkeypatch.setattr("memory_mcp.engine.workspace._CONVERSATIONS_MAX", 2)
    session = fake_workspace().conversations
    first = session.opening("1")
    session.opening("2")
    assert session.opening("1") is first
    session.opening("3")

    assert session.opening("1") is first


def test_a_conversation_at_work_keeps_its_branch_whoever_else_comes_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else what it writes next would go to the branch on which the server began."""
    monkeypatch.setattr("memory_mcp.engine.workspace._CONVERSATIONS_MAX", 2)
    conversations = fake_workspace().conversations
    for name in ("1", "2"):
        conversations.put_on(name, BranchName("try"))
    assert conversations.branch_of("1") == "try"
    conversations.put_on("3", BranchName("other"))

    assert conversations.branch_of("1") == "try"
    assert conversations.branch_of("2") is None
    assert conversations.branches == ("main", "other", "try")
