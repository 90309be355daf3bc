"""The face to MCP clients: what is listed, what survives, and what a refusal says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from depth import depth
from doors import Era, Json, add, agent, call, failed, records, refused, seal, text_of
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memory_mcp.config.settings import Settings
from memory_mcp.server.calls import answer_fields
from memory_mcp.server.main import INSTRUCTIONS
from memory_mcp.server.tools import load_toolset

pytestmark = [pytest.mark.anyio, pytest.mark.protocol]

CHARS_PER_TOKEN = 4


async def test_the_default_tools_are_few_and_cheap(settings: Settings, era: Era) -> None:
    """Every session of every user pays for this list."""
    async with agent(settings, era) as client:
        listed = await client.list_tools()

    wire = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert [tool.name for tool in listed.tools] == [
        "add_memory", "search_memories", "memory_context", "memory_head", "checkpoint",
        "backtrack", "update_memory", "forget_memory", "consolidate",
    ]  # fmt: skip
    assert len(listed.tools) <= 9
    assert len(wire) <= 1_800 * CHARS_PER_TOKEN


async def test_every_tool_says_what_it_may_do(settings: Settings, era: Era) -> None:
    """Clients decide from the annotations whether to ask the user first."""
    async with agent(replace(settings, toolsets=("branches",)), era) as client:
        tools = (await client.list_tools()).tools

    hints = {t.name: t.annotations for t in tools if t.annotations is not None}
    assert len(hints) == len(tools) == 10
    reading = {name for name, hint in hints.items() if hint.read_only_hint}
    erasing = {name for name, hint in hints.items() if hint.destructive_hint}
    assert reading == {"search_memories", "memory_context", "memory_head"}
    assert erasing == {"backtrack", "forget_memory"}
    assert all(hint.open_world_hint is False for hint in hints.values())


async def test_schemas_are_plain_and_closed(settings: Settings, era: Era) -> None:
    """Clients differ in what they understand of JSON Schema; references and nulls are the traps."""
    async with agent(settings, era) as client:
        tools = (await client.list_tools()).tools

    for tool in tools:
        schema = tool.input_schema
        wire = json.dumps(schema)
        assert schema["additionalProperties"] is False, tool.name
        assert "$ref" not in wire, tool.name
        assert '"null"' not in wire, tool.name
        assert "title" not in schema, tool.name
        assert "ctx" not in schema.get("properties", {}), tool.name
        assert "answered" not in schema.get("properties", {}), tool.name
        assert tool.description
        assert tool.output_schema is None
    add_schema = tools[0].input_schema["properties"]
    assert add_schema["content"]["type"] == "string"
    assert add_schema["metadata"]["properties"]["title"] == {"type": "string"}


async def test_instructions_reach_the_client_and_are_short(settings: Settings, era: Era) -> None:
    """They are what makes a model use the memory; clients cut them at 2 or 4 kB."""
    async with agent(settings, era) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        said = client.instructions

    assert said == INSTRUCTIONS
    assert len(INSTRUCTIONS) < 2_000
    for name in ("memory_context", "search_memories", "add_memory", "update_memory", "checkpoint",
                 "backtrack"):  # fmt: skip
        assert name in INSTRUCTIONS
        assert name in tools


async def test_an_unknown_argument_is_refused_with_the_known_ones(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """The SDK would drop it in silence, and the memory would be stored without what it said."""
    async with agent(settings, era) as client:
        typo = await refused(client, "add_memory", content="x", suporsedes=["a"])
        odd = await refused(client, "memory_head", verbose=True)
        inner = await refused(client, "checkpoint", summary="x", answered={"action": "accept"})
        context = await refused(client, "memory_context", ctx=1)

    known = "Known: content, metadata, kind, scope, supersedes, phase, cites, gate, suggested."
    assert typo == f"add_memory has no argument 'suporsedes'. Did you mean 'supersedes'? {known}"
    assert "memory_head has no argument 'verbose'." in odd
    assert "no argument 'answered'. Known: summary, phase, decisions, artifacts, issues," in inner
    assert "no argument 'ctx'." in context
    assert records(tmp_path) == []


_WRONG: dict[str, tuple[str, Json, str]] = {
    "number": ("add_memory", {"content": 7}, "content must be a text (got 7)"),
    "missing": ("add_memory", {}, "content is missing"),
    "nested": ("add_memory", {"content": "x", "metadata": {"tags": "a"}}, "metadata.tags"),
    "long": ("search_memories", {"limit": "x" * 500}, "…)"),
    "text": ("search_memories", {"limit": "many"}, "limit must be a whole number (got 'many')"),
    "null": ("backtrack", {"to": None}, "to"),
}


@pytest.mark.parametrize(("tool", "arguments", "said"), _WRONG.values(), ids=_WRONG)
async def test_a_wrong_type_is_told_in_one_short_sentence(
    settings: Settings, tool: str, arguments: Json, said: str
) -> None:
    """A link to pydantic's pages helps no model."""
    async with agent(settings, "auto") as client:
        text = await refused(client, tool, **arguments)

    assert text.startswith(f"{tool}: ")
    assert said in text
    assert "http" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search_memories", {"since": "gestern"}, "since must be a time, such as 2026-01-31 or"),
        ("add_memory", {"content": "x", "kind": "idea"}, "'lesson'"),
        ("checkpoint", {"summary": "x", "decision": "maybe"}, "'save'"),
    ],
    ids=["time", "kind", "decision"],
)
async def test_a_text_that_means_nothing_is_answered_with_those_that_do(
    settings: Settings, era: Era, tool: str, arguments: Json, said: str
) -> None:
    """To an error clients add the whole schema, which says no more."""
    async with agent(settings, era) as client:
        told = await refused(client, tool, **arguments)

    assert told.startswith(f"{tool}: ")
    assert said in told


async def test_a_phase_may_be_any_whole_number(settings: Settings, era: Era) -> None:
    """Where all numbers are floats, 1 is 1.0."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        went = await call(client, "backtrack", to=1.0, mode="continue")
        odd = await refused(client, "backtrack", to=1.5)

    assert went["success"] is True
    assert "must be a text (got 1.5)" in odd


_CONTENTS = {
    "object": '{"a": 1, "b": [null, "c"]}',
    "list": "[1, 2]",
    "null": "null",
    "number": "1e400",
    "true": "true",
    "quoted": '"quoted"',
    "lines": "a\nb\n\n d \t",
    "astral": "🦩 \U0001d518 👩‍👩‍👧 \ufffd \uffff \U0010ffff",
    "html": "<b>&amp;</b> %s {0} \\n \\u0041 $(rm) `x`",
    "spaces": "  leading and trailing  \n",
    "full": "ü" * 8_000,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("content", _CONTENTS.values(), ids=_CONTENTS)
async def test_content_survives_unchanged(
    settings: Settings, era: Era, project: Path, content: str
) -> None:
    """A memory that was changed on the way is not what was said."""
    async with agent(settings, era) as client:
        memory_id = await add(client, content)
        found = await call(client, "search_memories")
        new = await call(client, "update_memory", memory_id=memory_id, content=content)

    assert found["results"][0]["content"] == content
    assert new["outcome"] == "replaced"
    assert [record["content"] for record in records(project)] == [content, content]


async def test_one_character_too_many_is_refused_with_both_figures(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """Cutting it would lose what was said at the end."""
    async with agent(settings, era) as client:
        said = await refused(client, "add_memory", content="x" * 8_001)

    assert said.startswith("content has 8,001 characters; the limit is 8,000.")
    assert "Split it" in said
    assert records(tmp_path) == []


async def test_structure_and_text_say_the_same_without_nulls(settings: Settings, era: Era) -> None:
    """Some clients show the model the one, some the other."""
    steps: list[tuple[str, Json]] = [
        ("add_memory", {"content": "Orders live in PostgreSQL.", "kind": "decision"}),
        ("search_memories", {"query": "orders"}),
        ("search_memories", {"query": "flamingo"}),
        ("checkpoint", {"summary": "One", "phase": 1}),
        ("checkpoint", {"summary": "One", "phase": 1}),
        ("add_memory", {"content": "Sessions live in Redis."}),
        ("backtrack", {"to": 1, "mode": "abort"}),
        ("backtrack", {"to": 1, "mode": "continue"}),
        ("backtrack", {"to": "start", "mode": "forget"}),
    ]
    async with agent(settings, era) as client:
        for tool, arguments in steps:
            result = await client.call_tool(tool, arguments)
            said = result.structured_content
            assert said is not None
            compact = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
            assert text_of(result) == compact, tool
            assert isinstance(said["success"], bool)
            hits = said.pop("results", None)
            assert hits is None or _empty_in(hits) == ([] if hits else [""])
            assert _empty_in(said) == [], tool


def _empty_in(value: Any, path: str = "") -> list[str]:
    """Where a value holds null, or an empty text, list or object."""
    if value is None or value in ("", [], {}):
        return [path]
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(f".{name}", held) for name, held in cast("Json", value).items()]
    elif isinstance(value, list):
        inner = [("[]", held) for held in cast("list[Any]", value)]
    return [found for name, held in inner for found in _empty_in(held, path + name)]


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), _values, max_size=5))
@hypothesis_settings(max_examples=depth(10, 60))
def test_any_answer_is_the_same_in_both_forms(fields: Json) -> None:
    """Whatever a use case answers, the text is the structure."""
    fields.pop("results", None)
    result = answer_fields(fields)

    assert result.structured_content is not None
    assert json.loads(text_of(result)) == result.structured_content
    assert None not in result.structured_content.values()


async def test_a_further_toolset_adds_its_tools_and_takes_none_away(
    settings: Settings, era: Era
) -> None:
    """What is not asked for is not paid for."""
    async with agent(settings, era) as client:
        unknown = await client.call_tool("switch_branch", {"name": "main"})
        few = {tool.name for tool in (await client.list_tools()).tools}
    async with agent(replace(settings, toolsets=("branches",)), era) as client:
        many = {tool.name for tool in (await client.list_tools()).tools}

    assert unknown.is_error
    assert many - few == {"switch_branch"}
    assert few < many
    with pytest.raises(AssertionError, match="nope"):
        load_toolset("nope")


async def test_a_broken_folder_is_told_in_one_sentence_and_is_no_crash(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """The agent goes on working; the person reads which path to mend."""
    blocked = tmp_path / "a-file"
    blocked.write_text("mine")
    async with agent(replace(settings, memory_dir=blocked), era) as client:
        said = await failed(client, "add_memory", content="x")
    async with agent(replace(settings, state_dir=blocked), era) as client:
        state = await failed(client, "add_memory", content="x")

    assert str(blocked) in said
    assert "a file stands where a folder must be" in said
    assert "MEMORY_DIR" in said
    assert str(blocked) in state
    assert blocked.read_text() == "mine"


async def test_a_bug_is_not_told_to_the_model(
    settings: Settings, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we did not foresee may hold anything; it belongs in the log."""

    async def broken(_: object) -> None:
        raise RuntimeError("a path, a key, a memory")

    monkeypatch.setattr("memory_mcp.branches.report_head", broken)
    async with agent(settings, era) as client:
        said = await failed(client, "memory_head")

    assert "a key" not in said
