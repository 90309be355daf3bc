"""What a user starts by name: the words are product, so they are compared byte for byte."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, agent
from golden import golden
from mcp import MCPError
from mcp_types import TextContent
from paths import DATA
from shop import shop

from memory_mcp import branches, sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import HeadReport
from memory_mcp.engine.workspace import Policy
from memory_mcp.fence import OPEN
from memory_mcp.render.block import Block, count_tokens
from memory_mcp.render.outcomes import render_head
from memory_mcp.server.prompts import PROMPTS, list_prompts, render_prompt

pytestmark = pytest.mark.anyio

_RECALLED = re.compile(r"<memory note=.*</memory>", re.DOTALL)
"""The bootstrap or the head, which have golden files of their own."""

_TOKENS_MAX = 900
"""A prompt is the user's words: the bootstrap, or the head, and a few sentences around it."""


@pytest.mark.parametrize(
    ("file", "name", "given"),
    [
        ("session_start", "session_start", {}),
        ("session_start_task", "session_start", {"task": "Where do sessions live?"}),
        ("consolidate_session", "consolidate_session", {}),
        ("close_phase", "close_phase", {}),
        ("close_phase_3", "close_phase", {"phase": "3"}),
        ("close_phase_no_number", "close_phase", {"phase": "three"}),
        ("review_backtrack", "review_backtrack", {"to": "phase 1"}),
        ("review_backtrack_somewhere", "review_backtrack", {}),
        ("review_backtrack_nowhere", "review_backtrack", {"to": "phase 9"}),
    ],
)
async def test_the_words_are_those_agreed_on(file: str, name: str, given: dict[str, str]) -> None:
    """Whoever changes what a model is told says so: the difference is part of the commit."""
    workspace = await shop()
    before = await workspace.heads.read()
    text = await render_prompt(workspace, name, given)

    shown = text if file == "review_backtrack" else _RECALLED.sub("<memory …>", text)
    golden(f"prompts/{file}.txt", f"{shown}\n")
    assert count_tokens(text) <= _TOKENS_MAX
    assert await workspace.heads.read() == before, "asking for a prompt moves nothing"


async def test_a_session_starts_with_the_very_bootstrap() -> None:
    """One use case, however it is asked for."""
    workspace = await shop()
    block = await sessions.memory_context(workspace, "", workspace.policy.opening.bootstrap_tokens)
    head = await branches.report_head(workspace)
    assert isinstance(block, Block)
    assert isinstance(head, HeadReport)

    assert block.text in await render_prompt(workspace, "session_start", {})
    assert render_head(head) in await render_prompt(workspace, "review_backtrack", {})


async def test_nothing_of_an_abandoned_road_is_in_any_prompt() -> None:
    """A prompt is a way in as good as any other."""
    workspace = await shop()
    for prompt in PROMPTS:
        for given in ({}, {"to": "1"} if prompt.name == "review_backtrack" else {}):
            text = await render_prompt(workspace, prompt.name, given)
            assert "Redis" not in text


async def test_a_memory_cannot_speak_as_the_user() -> None:
    """A prompt is the user's message: what was recalled in it must not pass for their words."""
    workspace = await shop()
    head = await workspace.heads.read()
    assert head is not None
    (left,) = head.timeline.left_lines()
    text = await render_prompt(workspace, "review_backtrack", {"to": left.id})
    assert f"Restore {left.id}" in text
    start = await render_prompt(workspace, "session_start", {})

    for each in (text, start):
        assert each.count("</memory>") == each.count(OPEN) == 1


async def test_a_memory_that_is_off_says_so() -> None:
    """It is no error: the session goes on without memory."""
    workspace = await shop()
    off = replace(workspace, policy=Policy(enabled=False))
    said = {
        await render_prompt(off, prompt.name, given)
        for prompt in PROMPTS
        for given in ({}, dict.fromkeys(prompt.arguments, "1"))
    }

    assert len(said) == 1
    assert "Memory is off" in said.pop()


async def test_a_meta_session_writes_nothing_and_says_so() -> None:
    """Asked to consolidate it would ask the agent for work that is then refused."""
    workspace = await shop()
    meta = replace(workspace, policy=Policy(meta=True))

    for name in ("consolidate_session", "close_phase", "review_backtrack"):
        assert "meta session" in await render_prompt(meta, name, {})
    back = await render_prompt(meta, "review_backtrack", {"to": "1"})
    assert "moves nothing" in back
    assert "stored" not in back


async def test_the_phase_of_the_session_is_the_one_to_close() -> None:
    """MEMORY_PHASE says it already."""
    workspace = await shop(Policy(phase=7))

    text = await render_prompt(workspace, "close_phase", {})
    assert "Close phase 7" in text
    assert "and phase=7" in text


@pytest.mark.protocol
async def test_clients_of_both_eras_list_and_start_them(settings: Settings, era: Era) -> None:
    """No argument is required: what is left out is an error without a reason in some clients."""
    async with agent(settings, era) as client:
        found = (await client.list_prompts()).prompts
        assert [each.name for each in found] == [each.name for each in list_prompts()]
        for prompt in found:
            assert prompt.title
            assert not any(argument.required for argument in prompt.arguments or ())
            said = await client.get_prompt(prompt.name)
            (message,) = said.messages
            assert message.role == "user"
            assert isinstance(message.content, TextContent)
            assert said.description == prompt.description


@pytest.mark.protocol
@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("session_strat", {}, "No prompt 'session_strat'. Did you mean 'session_start'?"),
        ("close_phase", {"fase": "2"}, "close_phase has no argument 'fase'. Did you mean 'phase'?"),
        ("consolidate_session", {"x": "2"}, "has no argument 'x'. Known: none."),
    ],
)
async def test_a_wrong_name_is_met_with_the_right_one(
    settings: Settings, era: Era, name: str, given: dict[str, str], said: str
) -> None:
    """The SDK would answer with a number and no reason."""
    async with agent(settings, era) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(name, given)

    assert said in str(refused.value)
    assert refused.value.error.code == -32602


@pytest.mark.protocol
async def test_consolidation_uses_the_tool(settings: Settings, era: Era) -> None:
    """Asked for a tool that is not there, an agent makes one up."""
    async with agent(settings, era) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        said = str((await client.get_prompt("consolidate_session")).messages)

    assert "Call consolidate" in said
    assert "consolidate" in tools


def test_every_golden_file_is_compared() -> None:
    """A file that no test reads would agree with anything."""
    source = Path(__file__).read_text("utf-8")
    names = [path.stem for path in (DATA / "golden" / "prompts").iterdir()]

    assert [name for name in names if f'("{name}", ' not in source] == []
