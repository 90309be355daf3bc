"""Episodes through the tool: what a session leaves behind, and what it must not."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import Run
from doors import (
    Era,
    Json,
    add,
    agent,
    call,
    files_with,
    read,
    recalled,
    records,
    refused,
    seal,
)
from mcp import Client

from memory_mcp import engine
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.sessions import Pace

pytestmark = pytest.mark.anyio

NO_PAUSE = Pace(cooldown_turns=1, cooldown_minutes=0)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A session with a name that offers the tool, and need not pause."""
    return replace(settings, toolsets=("session",), session="s-1", pace=NO_PAUSE)


def messages(*lines: str) -> list[Json]:
    """The user's and the assistant's in turn."""
    return [
        {"role": "assistant" if place % 2 else "user", "content": line}
        for place, line in enumerate(lines)
    ]


async def capture(client: Client, turn: int, *lines: str, **more: Any) -> Json:
    """What the tool says to these messages."""
    return await call(client, "episodic_capture", turns=messages(*lines), turn=turn, **more)


def episodes(folder: Path) -> list[Json]:
    """The episodes on disk, oldest first."""
    return [record for record in records(folder) if record["kind"] == "episode"]


async def test_an_episode_is_a_record_on_the_timeline_of_its_session(
    settings: Settings, era: Era, project: Path
) -> None:
    """Everything that the next capture must know stands in the record."""
    async with agent(settings, era) as client:
        said = await capture(
            client, 2, "Hi! Please move the cart to Redis.", "The cart lives in Redis now."
        )
        assert await recalled(client, "cart redis") == [
            "- user: Please move the cart to Redis.\n- assistant: The cart lives in Redis now."
        ]

    (record,) = episodes(project)
    assert said == {
        "success": True, "memoryId": record["id"], "outcome": "inserted",
        "title": record["title"], "message": "Captured.",
    }  # fmt: skip
    assert record["title"].startswith(record["created_at"][:10])
    assert (record["layer"], record["segment"], record["branch"]) == ("recall", "root", "main")
    assert record["origin"]["session"] == "s-1"
    assert record["key"].startswith("project:shop-")
    assert re.search(r":episode:s-1:2~[0-9a-f]{16}$", record["key"])


async def test_a_second_one_that_tells_little_new_is_merged(
    settings: Settings, era: Era, project: Path
) -> None:
    """One matter is one episode; the one before it can be restored."""
    async with agent(settings, era) as client:
        first = await capture(client, 1, "Please move the cart of the shop to Redis.")
        second = await capture(
            client, 2, "Please move the cart of the shop to Redis.", "The cart is in Redis now."
        )
        third = await capture(client, 3, "Which printers does the warehouse in Leeds have?")
        assert len(await recalled(client, kind=None)) == 2

    assert (first["outcome"], second["outcome"], third["outcome"]) == (
        "inserted", "merged", "inserted",
    )  # fmt: skip
    assert second["replaced"] == [first["memoryId"]]
    merged = episodes(project)[1]
    assert merged["supersedes"] == merged["derived_from"] == [first["memoryId"]]
    assert merged["content"].splitlines() == [
        "- user: Please move the cart of the shop to Redis.",
        "- assistant: The cart is in Redis now.",
    ]


async def test_forgetting_what_a_merged_episode_was_made_of_takes_it_along(
    settings: Settings, era: Era
) -> None:
    """Its words are the forgotten ones."""
    async with agent(settings, era) as client:
        first = await capture(client, 1, "Please move the cart of the shop to Redis.")
        await capture(client, 2, "", "The cart of the shop is in Redis now.")
        assert len(await recalled(client, "cart")) == 1
        await call(client, "forget_memory", memory_id=first["memoryId"])
        assert await recalled(client, "cart") == []


async def test_it_is_written_again_only_after_the_pauses(settings: Settings, era: Era) -> None:
    """Hooks call after every message."""
    async with agent(replace(settings, pace=Pace()), era) as client:
        early = await capture(client, 5, "Please move the cart to Redis.")
        first = await capture(client, 6, "Please move the cart to Redis.")
        soon = await capture(client, 20, "Please move the orders to Kafka.")
        end = await capture(client, 21, "Please move the orders to Kafka.", final=True)
        twice = await capture(client, 21, "Please move the orders to Kafka.", final=True)

    assert (early["outcome"], "5 turn(s)" in early["message"]) == ("waited", True)
    assert first["outcome"] == "inserted"
    assert "EPISODIC_COOLDOWN_MINUTES" in soon["message"]
    assert end["outcome"] == "inserted"
    assert twice["message"] == "Turn 21 of this session was captured already."


async def test_small_talk_and_recalled_text_leave_no_episode(
    settings: Settings, era: Era, project: Path
) -> None:
    """What memory said must not come back as what happened."""
    async with agent(settings, era) as client:
        await add(client, "The shop sells coffee beans from Brazil.")
        block = await read(client, "memory_context")
        found = await call(client, "search_memories", query="coffee")
        waited = await capture(
            client, 4, "Hi!", f"Here is what I know:\n{block}", "Thanks!",
            f"{json.dumps(found)}\nThe shop sells coffee beans from Brazil.",
        )  # fmt: skip

    assert waited["outcome"] == "waited"
    assert episodes(project) == []


async def test_a_secret_in_a_turn_is_gone_before_anything_is_written(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """People paste keys into conversations."""
    private = "<private>the code of the\nfront door is orchid-4711</private>"
    async with agent(settings, era) as client:
        await capture(client, 1, f"Please write the note for the cleaners: {private} it is new.")

    (record,) = episodes(tmp_path)
    assert "Please write the note for the cleaners" in record["content"]
    assert files_with(tmp_path, "orchid-4711") == files_with(tmp_path, "front door") == []


async def test_an_episode_belongs_to_the_phase_that_is_worked_on(
    settings: Settings, era: Era, project: Path
) -> None:
    """As everything else that is written in it; MEMORY_PHASE need not say so."""
    async with open_workspace(settings) as built:
        await engine.move_to_phase(built.workspace, 3)
    async with agent(settings, era) as client:
        await capture(client, 1, "Please move the cart service to SQLite.")

    assert [record["phase"] for record in episodes(project)] == [3]


async def test_a_backtrack_hides_the_episodes_of_the_road_that_is_left(
    settings: Settings, era: Era
) -> None:
    """And the turns of that road are not told on the next one."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        await capture(client, 1, "Please move the cart to Redis.")
        gone = await call(client, "backtrack", to=1, mode="continue")
        assert await recalled(client, "redis") == []
        told = await capture(
            client, 6, "Please move the cart to Redis.", "Redis needs three nodes here.",
            "Redis costs too much.", "Back at phase one.", "Please keep the cart in SQLite.",
        )  # fmt: skip
        assert told["outcome"] == "inserted"
        assert await recalled(client, "redis") == []
        assert await recalled(client, "sqlite") == ["- user: Please keep the cart in SQLite."]
        await call(client, "backtrack", to=gone["line"], mode="continue")
        assert await recalled(client, "redis") == ["- user: Please move the cart to Redis."]


async def test_turns_that_say_when_they_were_are_told_apart_by_it(
    settings: Settings, era: Era
) -> None:
    """A hook knows the times; with them nothing of the new road is lost."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        before = datetime.now(UTC)
        await call(client, "backtrack", to="start", mode="continue")
        after = datetime.now(UTC) + timedelta(seconds=5)
        turns = messages("Please use Redis for carts.", "Redis is used for carts now.")
        turns += messages("Please use SQLite.", "SQLite is used now.")
        times = [before, before, after, after.replace(tzinfo=None)]
        turns = [{**turn, "at": at.isoformat()} for turn, at in zip(turns, times, strict=True)]
        await call(client, "episodic_capture", turns=turns, turn=4)
        assert await recalled(client, "used") == [
            "- user: Please use SQLite.\n- assistant: SQLite is used now."
        ]


async def test_a_number_that_cannot_be_is_refused_with_what_it_means(
    settings: Settings, era: Era
) -> None:
    """Counted in exchanges instead of messages, the pauses would be twice as long."""
    async with agent(settings, era) as client:
        few = await refused(client, "episodic_capture", turns=messages("a", "b"), turn=1)
        negative = await refused(client, "episodic_capture", turns=[], turn=-1)
        role = await refused(
            client, "episodic_capture", turns=[{"role": "tool", "content": "x"}], turn=1
        )
        nothing = await call(client, "episodic_capture", turns=[], turn=1)

    assert "turn is 1, but 2 turns were given" in few
    assert "must be 0 to" in negative
    assert "turns.0.role" in role
    assert nothing["outcome"] == "waited"


async def test_a_meta_session_leaves_no_episode(settings: Settings, project: Path) -> None:
    """It reads and leaves no trace."""
    async with agent(replace(settings, meta=True), "auto") as client:
        said = await capture(client, 1, "Please move the cart to Redis.")

    assert said["success"] is False
    assert records(project) == []


@pytest.mark.protocol
async def test_the_tool_is_cheap(settings: Settings, era: Era) -> None:
    """Whoever switches it on pays for it in each session."""
    async with agent(settings, era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    wire = tools["episodic_capture"].model_dump_json(by_alias=True, exclude_none=True)
    assert len(wire) <= 1_200


def test_the_command_reads_turns_from_a_hook(run: Run, project: Path) -> None:
    """Hooks have a conversation as JSON and no MCP client."""
    turns = [
        {"role": "user", "content": "Please move the cart to Redis.", "at": "2026-01-31T10:00"}
    ]
    status, out, _ = run("episode", "-", "--final", "--json", stdin=json.dumps(turns))
    again, _, _ = run("episode", json.dumps(turns), "--turn", "1", "--final")
    wrong, _, error = run("episode", "-", stdin='[{"role": "tool", "content": "x"}]')
    broken, _, prose = run("episode", "-", stdin="hello")

    assert (status, json.loads(out)["outcome"], again) == (0, "inserted", 0)
    assert len(episodes(project)) == 1
    assert (wrong, broken) == (1, 1)
    assert "at 0.role" in error
    assert "Give a JSON list" in prose


def test_windows_of_named_sessions_are_captured_each(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the help says it, a hook pipes the last messages and need not count."""
    for name, value in {"COOLDOWN_MINUTES": "0", "MERGE_WINDOW_HOURS": "0"}.items():
        monkeypatch.setenv(f"EPISODIC_{name}", value)
    lines = [f"Please write page {n} about {n * 7} {chr(97 + n) * 5}." for n in range(12)]
    for session in ("one", "two"):
        for end in (6, 12):
            turns = json.dumps([{"role": "user", "content": line} for line in lines[end - 6 : end]])
            status, out, error = run("episode", "-", "--session", session, "--json", stdin=turns)
            assert (status, json.loads(out)["outcome"]) == (0, "inserted"), out + error

    found = episodes(project)
    assert [each["origin"]["session"] for each in found] == ["one", "one", "two", "two"]
    assert [each["content"].count("\n") for each in found] == [5, 5, 5, 5]
    assert [each["key"].rpartition(":")[2].split("~")[0] for each in found] == ["6", "12"] * 2


async def test_a_server_without_a_session_has_one_of_its_own(
    settings: Settings, era: Era, project: Path
) -> None:
    """Else the messages of every new session would be taken for those of the last."""
    unnamed = replace(settings, session="", pace=Pace(merge_hours=0))
    lines = [f"Please write page {n} for the {n * 7} printers." for n in range(6)]
    for _ in range(2):
        async with agent(unnamed, era) as client:
            assert (await capture(client, 6, *lines))["outcome"] == "inserted"

    names = {each["origin"]["session"] for each in episodes(project)}
    assert len(names) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)
