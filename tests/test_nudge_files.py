"""The drop-box: any program may put anything there, at any moment."""

import asyncio
import json
import os
import sys
from datetime import datetime

import pytest
from doors import agent, read
from dropping import Drop, waiting

from memory_mcp import sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain import limits
from memory_mcp.domain.nudges import Cleared

KEYS = "text, priority, expires_at (or expires), by, user, id"

pytestmark = pytest.mark.anyio


async def test_what_is_no_nudge_is_left_named_and_in_nobodys_way(
    settings: Settings, drop: Drop
) -> None:
    """Any program may put anything there."""
    odd = {
        "half.json": '{"text": "half wr',
        "list.json": "[1]",
        "deep.json": "[" * 8_000,
        "empty.txt": "",
        "latin.txt": b"caf\xe9",
        "blank.json": "\n",
        "wide.json": '{"text": "x"}'.encode("utf-16"),
        "wide.txt": "x".encode("utf-16-le"),
        "no-text.json": "{}",
        "half-character.json": '{"text": "\\ud800"}',
        "long.txt": "x" * (limits.NUDGE_CHARS_MAX + 1),
        "large.json": " " * limits.NUDGE_BYTES_MAX + '{"text": "x"}',
        "loud.json": '{"text": "x", "priority": 11}',
        "when.json": '{"text": "x", "expires_at": "soon"}',
        "who.json": '{"text": "x", "id": "1"}',
    }
    paths = [drop(name, content) for name, content in odd.items()]
    ignored = [drop(n, "Not yet whole.") for n in (".x.txt", "x.txt.tmp", "x.part", "README")]
    (paths[0].parent / "folder.txt").mkdir()
    if sys.platform != "win32":
        secret = drop("../secret", "A secret of the user's.")
        (paths[0].parent / "link.txt").symlink_to(secret)
        os.mkfifo(paths[0].parent / "pipe.json")
    drop("good.txt", "\ufeffGood  morning.\r\n")

    found = await waiting(settings)
    assert [(nudge.text, nudge.priority) for nudge in found.nudges] == [("Good morning.", 5)]
    named = "\n".join(found.unread)
    assert all(f"{path} is no nudge: " in named for path in paths)
    assert "half.json is no nudge: it is no JSON object in UTF-8." in named
    assert "large.json is no nudge: it has 8,205 bytes; the limit is 8,192." in named
    assert "folder.txt is no nudge: it is no plain file." in named
    assert "loud.json is no nudge: priority: Input should be less than or equal to 10." in named
    assert "latin.txt is no nudge: it is no text in UTF-8." in named
    for name in ("empty.txt", "blank.json", "no-text.json"):
        assert f"{name} is no nudge: it is empty." in named
    for name in ("wide.json", "wide.txt"):
        assert f"{name} is no nudge: it is written in UTF-16; write it in UTF-8." in named
    assert "README" not in named

    async with agent(settings, "auto") as client:
        assert "- Good morning." in await read(client, "memory_context")
    assert all(path.exists() for path in (*paths, *ignored))
    assert (await waiting(settings)).nudges == ()


async def test_a_dropped_file_may_say_all_that_the_command_can(
    settings: Settings, drop: Drop
) -> None:
    """And may leave out all but the text. Without a zone a time is UTC, as on the command line."""
    fields = {"text": "Lunch?", "priority": 8, "expires_at": "2999-01-01T12:00", "by": "cook",
              "created_at": None, "user": "bob", "colour": "red"}  # fmt: skip
    drop("a.JSON", json.dumps(fields))
    drop("b.txt", "Plain.")
    lunch, plain = (await waiting(settings)).nudges
    again = (await waiting(settings)).nudges

    assert (lunch.priority, lunch.by, lunch.user) == (8, "cook", "ada")
    assert lunch.expires_at == datetime.fromisoformat("2999-01-01T12:00Z")
    assert (plain.priority, plain.by, plain.expires_at) == (5, "b.txt", None)
    assert again == (lunch, plain), "ids and all"


async def test_the_words_of_the_command_are_understood_and_unknown_ones_are_named(
    settings: Settings, drop: Drop
) -> None:
    """A time that is silently ignored is an icebreaker of last year."""
    drop("a.json", json.dumps({"text": "Lunch?", "expires": "2999-01-01T12:00", "prio": 9}))
    drop("b.json", json.dumps({"text": "Tea?", "expires": "soon"}))
    found = await waiting(settings)

    (lunch,) = found.nudges
    assert lunch.expires_at == datetime.fromisoformat("2999-01-01T12:00Z")
    assert [said.split("a.json ")[1] for said in found.strange] == [
        f"says prio, which nobody reads; a nudge has {KEYS}."
    ]
    assert "expires_at: " in found.unread[0]


async def test_files_that_are_no_nudges_keep_no_nudge_back(
    settings: Settings, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and whatever they are called."""
    monkeypatch.setattr(limits, "NUDGES_MAX", 10)
    for number in range(50):
        drop(f"{number:02}.json", "{")
    drop("z.txt", "Tea?")
    async with open_workspace(settings) as built:
        await sessions.add_nudge(built.workspace, "Coffee?", 9, None)  # it counts the real ones
        assert await built.workspace.nudges.clear("ada") == Cleared(2, left=50)
        drop("z.txt", "Tea?")
        async with agent(settings, "auto") as client:
            assert "- Tea?" in await read(client, "memory_context")
        assert await built.workspace.nudges.clear("ada", everything=True) == Cleared(50)
    assert (await waiting(settings)).unread == ()


async def test_a_file_that_grows_while_it_is_watched_is_left(
    settings: Settings, drop: Drop
) -> None:
    """Not every program renames: half of a sentence is not shown, nor is the rest thrown away."""
    old = drop("old.txt", "Whole.")
    growing = drop("growing.txt", "The first half", age=0)

    async def write_on() -> None:
        while old.exists():
            with growing.open("a", encoding="utf-8") as file:
                file.write("…")
            await asyncio.sleep(0.01)

    async with agent(settings, "auto") as client:
        writing = asyncio.create_task(write_on())
        text = await read(client, "memory_context")
        await writing

    assert "- Whole." in text
    assert growing.exists()
    assert [nudge.text[:14] for nudge in (await waiting(settings)).nudges] == ["The first half"]


async def test_a_file_that_was_just_dropped_is_taken(settings: Settings, drop: Drop) -> None:
    """Most programs write in one go."""
    drop("new.txt", "Just now.", age=0)
    async with agent(settings, "auto") as client:
        assert "- Just now." in await read(client, "memory_context")
