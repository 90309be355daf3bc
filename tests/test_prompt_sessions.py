"""What a prompt brings depends on its session, and on how much the prompt says."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import add, agent, machine_dir
from fakes import called, fake_workspace
from hooked import SESSION
from test_prompt_context import ASKS, OTHERS, REDIS, filled, prompted

from memory_mcp import sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain.sessions import Turn
from memory_mcp.hooks.files import read_session

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A server as the plugin starts it."""
    return replace(settings, toolsets=("session", "hooks"), session="written-before")


async def test_what_a_session_was_given_is_known_to_the_server_after_this_one(
    settings: Settings,
) -> None:
    """A session that is resumed has it in its context."""
    async with agent(settings, "auto") as client:
        await add(client, REDIS)
        for text in OTHERS:
            await add(client, text)
        assert REDIS in await prompted(client, ASKS)
    async with agent(settings, "auto") as client:
        assert await prompted(client, ASKS) == ""
        assert REDIS in await prompted(client, ASKS, "another")


async def test_a_short_question_brings_the_one_memory_that_it_means() -> None:
    """Two words that tell much; without a question mark, or with two that fit, nothing."""
    jwt = "We sign tokens of the API with JWT, because there is no session store to run."
    workspace = await filled(fake_workspace(), jwt, "The worker Pixie renders invoices at night.")

    assert "Pixie" in await sessions.prompt_context(workspace, "What does Pixie render?", "one")
    assert await sessions.prompt_context(workspace, "render it with Pixie", "two") == ""
    assert await sessions.prompt_context(workspace, "Why was it so?", "three") == ""
    await filled(workspace, "The worker Pixie renders thumbnails of every upload too.")
    assert await sessions.prompt_context(workspace, "What does Pixie render?", "four") == ""


async def test_what_holds_comes_before_what_happened() -> None:
    """An episode repeats the words of a prompt, and says less."""
    workspace = await filled(fake_workspace())
    turns = [
        Turn("user", "Where do we keep the login sessions, in Redis or in PostgreSQL?"),
        Turn("assistant", "The login sessions are kept in PostgreSQL now, Redis lost them."),
    ]
    other = called(workspace, conversation="earlier")
    await sessions.episodic_capture(other, turns, None, final=True)
    said = await sessions.prompt_context(workspace, ASKS, SESSION)

    assert said.splitlines()[2].startswith(f"- {REDIS}")


async def test_hooks_hear_where_the_session_is(settings: Settings, project: Path) -> None:
    """Also after `/clear`, when the session has another name and the server is the same."""
    settings = replace(settings, toolsets=("branches", "hooks"))
    machine = str(machine_dir(project))
    async with agent(settings, "auto") as client:
        await prompted(client, "good morning to you", "one")
        assert read_session(machine, "one") == {}
        await client.call_tool("switch_branch", {"name": "try", "create": True})
        await prompted(client, "good morning to you", "two")

    assert read_session(machine, "one") == {"branch": "try"}
    assert read_session(machine, "two") == {"branch": "try"}
