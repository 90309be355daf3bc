"""Null says what leaving it out says: in every tool, at every depth, and in JSON for commands."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from command_line import Run, as_json
from doors import Era, Json, User, agent, call, records

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio

_LEAST: dict[str, Json] = {
    "add_memory": {"content": "The kitchen tap drips", "metadata": {}},
    "backtrack": {"to": "start", "mode": "abort"},
    "checkpoint": {"summary": "Plan agreed", "decisions": [{"text": "JWT for auth"}]},
    "consolidate": {},
    "episodic_capture": {"turns": [{"role": "user", "content": "We chose JWT"}], "turn": 1},
    "forget_memory": {"mode": "hide"},
    "memory_context": {},
    "memory_head": {},
    "prompt_context": {"prompt": "ok"},
    "search_memories": {},
    "switch_branch": {"name": "main"},
    "update_memory": {"content": "The kitchen tap is mended"},
}
"""What each tool needs; `memory_id` is added where it is asked for."""


def _with_null(schema: Json, given: Any) -> Any:
    """The arguments with null for all that was left out, as deep as the schema goes."""
    if isinstance(given, list):
        items = cast("list[Any]", given)
        return [*(_with_null(schema["items"], each) for each in items), None]
    if not isinstance(given, dict):
        return given
    known = cast("Json", given)
    fields: Json = schema.get("properties", {})
    return {name: _with_null(inner, known.get(name)) for name, inner in fields.items()}


@pytest.mark.protocol
async def test_null_is_absent_in_every_argument_of_every_tool(
    settings: Settings, era: Era, project: Path
) -> None:
    """A model that fills in every field with null must not lose the memory for it."""
    every = replace(settings, toolsets=("branches", "session", "hooks"))
    async with agent(every, era) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= _LEAST.keys()
        for tool in tools:
            given = _LEAST.get(tool.name, {})
            if "memory_id" in tool.input_schema["properties"]:
                known = await call(client, "add_memory", content=f"Something to {tool.name}")
                given = {"memory_id": known["memoryId"], **given}

            result = await client.call_tool(tool.name, _with_null(tool.input_schema, given))

            assert not result.is_error, (tool.name, result.content)
    stored = [record["content"] for record in records(project / ".claude")]
    assert "The kitchen tap drips" in stored


async def test_the_metadata_that_was_all_null_is_none(
    settings: Settings, era: Era, project: Path
) -> None:
    """The case that lost a memory; and the same as JSON in a text, which the SDK takes as well."""
    empty = {"title": None, "category": None, "tags": None}
    async with agent(settings, era) as client:
        one = await call(client, "add_memory", content="The tap drips", metadata=empty)
        two = await call(client, "add_memory", content="Ada likes tea", metadata=json.dumps(empty))
        tagged = {"tags": ["tea", None], "importance": None}
        three = await call(client, "add_memory", content="Bob likes rum", metadata=tagged)

    assert one["success"] is two["success"] is three["success"] is True
    stored = {record.get("content"): record for record in records(project / ".claude")}
    assert stored["Bob likes rum"]["tags"] == ["tea"]


async def test_null_where_nothing_else_was_needed(settings: Settings, era: Era) -> None:
    """One field that says nothing must not cost what the others say."""
    turns: list[Json] = [
        {"role": "user", "content": "We chose JWT for auth"},
        {"role": "assistant", "content": None},
        {"role": None, "content": "Noted: JWT it is, because sessions do not scale"},
    ]
    session = replace(settings, toolsets=("session",))
    async with agent(session, era) as client:
        one = await call(client, "add_memory", content="The tap drips", bogus=None)
        two = await call(client, "episodic_capture", turns=turns, turn=3, final=True)
        three = await call(client, "checkpoint", summary="Auth", decisions=[{"text": None}])

    assert one["success"] is two["success"] is three["success"] is True


@pytest.mark.protocol
async def test_null_in_a_form_that_the_user_filled_in(settings: Settings, era: Era) -> None:
    """Clients send null for a field that the user did not touch."""
    user = User("accept", {"decision": None, "summary": None})
    async with agent(replace(settings, approval="ask"), era, user) as client:
        sealed = await call(client, "checkpoint", summary="Plan agreed")

    assert sealed["status"] == "approved"


def test_null_in_the_json_of_a_command(run: Run) -> None:
    """`consolidate`, `episode` and a closeout are JSON that programs write."""
    said = {"history_entry": None, "memory_update": "Auth is done", "insights": [None, "JWT holds"]}
    assert as_json(run, "consolidate", json.dumps({**said, "final": None}))["outcome"] == "stored"
    turns = [{"role": "user", "content": "We chose JWT for auth", "at": None}, None]
    turns += [{"role": "assistant", "content": None}, {"role": None, "content": "Noted"}]
    assert as_json(run, "episode", json.dumps(turns), "--final")["success"]
    closeout = {"decisions": [{"text": "JWT", "rationale": None}], "issues": None}
    assert as_json(run, "checkpoint", "Auth", "--closeout", json.dumps(closeout))["checkpointId"]


def test_null_in_an_export(run: Run, tmp_path: Path) -> None:
    """An export that passed through a program which writes every field comes back whole."""
    as_json(run, "add", "The tap drips", "--title", "Tap")
    out = tmp_path / "export.json"
    run("export", str(out))
    exported: Json = json.loads(out.read_bytes())
    for record in exported["records"]:
        record |= {"category": None, "expires_at": None, "tags": None, "move": None}
        record["origin"]["client"] = None
    out.write_text(json.dumps(exported))
    as_json(run, "forget", exported["records"][0]["id"], "--hide")

    assert run("import", str(out), "--dry-run")[0] == 0
