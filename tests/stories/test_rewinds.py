"""What a user takes back by `/rewind` of the conversation is not recalled, or marked."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from doors import agent, call, history, machine_dir, read, seal
from git_world import GitWorld, in_git, make_world
from hooked import SESSION, entry, hook, transcript
from mcp_types import TextResourceContents

from memory_mcp import code, search, sessions
from memory_mcp.build import open_workspace
from memory_mcp.code.follow import GitMoved
from memory_mcp.config.settings import Settings
from memory_mcp.domain.git import GitMode
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.record import format_time
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.hooks.files import leave_event

pytestmark = pytest.mark.anyio

A = "Orders live in PostgreSQL."
B = "Sessions are kept in Redis."
C = "The search page needs a captcha."
RULE = "Commit messages are in English."
MARK = "written in a turn that was taken back"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a prompt is given up before it is answered, and so is git."""
    monkeypatch.setattr("memory_mcp.server.tools.PROMPT_SECONDS_MAX", 60.0)
    monkeypatch.setattr("memory_mcp.engine.git.WAIT_SECONDS_MAX", 60.0)


@asynccontextmanager
async def at_work(settings: Settings, project: Path, mode: GitMode) -> AsyncGenerator[GitWorld]:
    """A session that has written A, in a work tree."""
    make_world(project, ignored=True)
    hooked = replace(in_git(settings, mode), toolsets=("session", "hooks"), session="before")
    async with agent(hooked, "auto") as client:
        w = GitWorld(client, project)
        await prompted(w)
        await w.write(A)
        yield w


async def prompted(w: GitWorld, session: str = SESSION) -> str:
    """What the session is told with a prompt."""
    said = json.loads(await read(w.client, "prompt_context", prompt="go on", session_id=session))
    return said["hookSpecificOutput"]["additionalContext"] if said else ""


def go_back(project: Path, since: datetime, *ids: str) -> None:
    """What the hook leaves after the user went back over turns whose tools named these."""
    event: dict[str, Any] = {"event": "rewound", "session": SESSION, "branch": "main", "ids": ids}
    later = datetime.now(UTC) + timedelta(seconds=1)
    times = {"since": since.isoformat(), "until": later.isoformat()}
    leave_event(str(machine_dir(project)), {**event, **times})


def now() -> datetime:
    """The present, as the server stores it."""
    at = datetime.now(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


@asynccontextmanager
async def beside(settings: Settings, mode: GitMode) -> AsyncGenerator[Workspace]:
    """Another process of the same project, such as a command."""
    async with open_workspace(in_git(settings, mode)) as built:
        yield built.workspace


async def undo(settings: Settings, mode: GitMode) -> str:
    """What `memory-mcp undo` says."""
    async with beside(settings, mode) as workspace:
        undone = await code.undo_git(workspace)
    assert isinstance(undone, GitMoved)
    return undone.message


async def test_what_left_turns_wrote_is_hidden_in_one_move_and_undone(
    settings: Settings, project: Path
) -> None:
    """Exactly those of that session; what they had replaced holds again, and durable ones stay."""
    async with at_work(settings, project, "follow") as w:
        first = (await w.search())[0]["memoryId"]
        since = now()
        b = await w.write(B)
        changed = await call(w.client, "update_memory", memory_id=first, content="Orders moved.")
        rule = await w.write(RULE, kind="convention")
        await prompted(w, "another")
        c = await w.write(C)
        go_back(project, since, first, b, changed["memoryId"], rule, c)
        assert await prompted(w, "another") == ""
        told = await prompted(w)
        assert await prompted(w) == ""
        assert await w.recalled() == {A, C, RULE}
        head = await read(w.client, "memory_head")

        assert "2 memories of the turns that were left not recalled" in told
        assert RULE in told
        assert B not in told
        assert "2 memories: " + MARK in head
        assert "2 memories of turns" in await undo(settings, "follow")
        assert await w.recalled() == {"Orders moved.", B, C, RULE}
        assert "not recalled" in await undo(settings, "follow")
        assert await w.recalled() == {A, C, RULE}
        moves = [each for each in history(project) if each["by"]["client"] == "git"]
        assert [len(each["move"]["carries"]) for each in moves if "carries" in each["move"]] == [
            3, 1, 3,
        ]  # fmt: skip


async def test_a_prompt_that_was_given_up_is_followed_by_one_that_tells(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move is made once; whoever had asked for it may not be there any more."""
    moved, told = asyncio.Event(), asyncio.Event()

    async def follow_slowly(*arguments: Any) -> code.LeftMemories:
        left = await code.follow_rewind(*arguments)
        moved.set()
        await told.wait()
        return left

    async def leave_it(*_: object) -> None:
        """Nobody works off the inbox beside the prompts."""

    monkeypatch.setattr("memory_mcp.sessions.rewinds.follow_rewind", follow_slowly)
    monkeypatch.setattr("memory_mcp.sessions.inbox.note_rewinds", leave_it)
    async with at_work(settings, project, "follow") as w:
        since = now()
        go_back(project, since, await w.write(B))
        with monkeypatch.context() as hurried:
            hurried.setattr("memory_mcp.server.tools.PROMPT_SECONDS_MAX", 0.2)
            while not moved.is_set():
                assert await prompted(w) == ""
        told.set()
        assert "1 memory of the turns that were left" in await prompted(w)
        assert await w.recalled() == {A}
        assert await prompted(w) == ""


async def test_what_they_had_forgotten_holds_again(settings: Settings, project: Path) -> None:
    """By the same move, once, and of what they changed twice the text of before."""
    async with at_work(settings, project, "follow") as w:
        first = (await w.search())[0]["memoryId"]
        c = await w.write(C)
        since = now()
        await call(w.client, "forget_memory", memory_id=first, mode="hide")
        await call(w.client, "forget_memory", memory_id=c, mode="erase")
        b = await w.write(B)
        again = (await call(w.client, "update_memory", memory_id=b, content="In Redis."))[
            "memoryId"
        ]
        last = (await call(w.client, "update_memory", memory_id=again, content="No."))["memoryId"]
        assert await w.recalled() == {"No."}
        for _ in range(2):
            go_back(project, since, first, c, b, again, last)
        told = await prompted(w)

        assert await w.recalled() == {A}
        assert "1 memory of the turns that were left not recalled any more, and 1 that" in told
        assert "1 memory of turns" in await undo(settings, "follow")
        assert await w.recalled() == {"No."}
        await undo(settings, "follow")
        assert await w.recalled() == {A}


@pytest.mark.parametrize("mode", ["follow", "mark"])
async def test_a_checkpoint_of_left_turns_goes_with_them(
    settings: Settings, project: Path, mode: GitMode
) -> None:
    """In the same move, and back with it; it can still be named as a place to go back to."""
    async with at_work(settings, project, mode) as w:
        since = now()
        b = await w.write(B)
        await seal(w.client, "Redis chosen", phase=1)
        go_back(project, since, b)
        told = await prompted(w)
        if mode == "mark":
            assert await w.standing() == {A: "", B: MARK, "Redis chosen": MARK}
            assert MARK in await read(w.client, "memory_head")
            async with beside(settings, mode) as workspace:
                assert await code.hide_marked(workspace) == 2
        else:
            assert "1 memory and 1 checkpoint of the turns that were left not recalled" in told
        assert await w.recalled() == {A}
        (sealed,) = [line for line in (await read(w.client, "memory_head")).splitlines()
                     if "Redis chosen" in line]  # fmt: skip
        assert MARK in sealed
        await undo(settings, mode)
        assert await w.recalled() == {A, B, "Redis chosen"}
        assert MARK not in await read(w.client, "memory_head")


@pytest.mark.parametrize("answer", ["save", "skip", "edit"])
async def test_a_checkpoint_that_was_answered_later_was_not_taken_back(
    settings: Settings, project: Path, answer: str
) -> None:
    """Its own record was never recalled: its answer is."""
    async with at_work(replace(settings, approval="ask"), project, "mark") as w:
        asked = await call(w.client, "checkpoint", summary="Redis chosen", phase=1)
        assert asked["status"] == "pending"
        given = {"decision": answer, "summary": "Valkey chosen" if answer == "edit" else ""}
        await call(w.client, "checkpoint", pending=asked["checkpointId"], **given)
        assert MARK not in await read(w.client, "memory_head")


async def test_what_was_only_forgotten_is_offered_again(settings: Settings, project: Path) -> None:
    """Nothing is marked then, but the move is there."""
    async with at_work(settings, project, "mark") as w:
        first = (await w.search())[0]["memoryId"]
        since = now()
        await call(w.client, "forget_memory", memory_id=first, mode="hide")
        go_back(project, since, first)
        assert "memory-mcp git rewind" in await prompted(w)
        assert await w.recalled() == set()
        async with beside(settings, "mark") as workspace:
            assert await code.hide_marked(workspace) == 1

        assert await w.recalled() == {A}


async def test_by_default_they_are_marked_and_the_move_is_offered(
    settings: Settings, project: Path
) -> None:
    """Nothing is hidden before somebody says so."""
    async with at_work(settings, project, "mark") as w:
        since = now()
        b = await w.write(B)
        go_back(project, since, b)
        told = await prompted(w)
        assert await w.standing() == {A: "", B: MARK}
        assert [each["content"] for each in await w.search()] == [A, B]
        assert MARK in await w.context()

        assert "memory-mcp git rewind" in told
        assert B in told
        async with beside(settings, "mark") as workspace:
            assert await code.hide_marked(workspace) == 1
        assert await w.recalled() == {A}
        await undo(settings, "mark")
        assert await w.standing() == {A: "", B: ""}


async def test_a_session_that_ends_after_it_leaves_nothing_recalled(
    settings: Settings, project: Path
) -> None:
    """No prompt follows: whoever works the inbox off next sees to it."""
    async with at_work(settings, project, "follow") as w:
        since = now()
        b = await w.write(B)
        go_back(project, since, b)
    gone = {"event": "session-end", "session": SESSION, "transcript_path": "/gone", "reason": ""}
    leave_event(str(machine_dir(project)), gone)
    async with beside(settings, "follow") as workspace:
        await sessions.process_inbox(workspace)
        found = await search.search_memories(workspace, "", Filters(), 5)

    assert isinstance(found, SearchResults)
    assert [hit.record.content for hit in found.hits] == [A]


async def test_the_first_call_after_it_recalls_nothing_of_what_was_left(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """The prompt that shows it is not in the transcript when it is typed, but soon after."""
    async with at_work(settings, project, "follow") as w:
        story = [entry("p1", None, "user", "We begin."), entry("a1", "p1", "assistant", "Done.")]
        file = str(transcript(tmp_path, *story))
        hook("stop", {"transcript_path": file}, project, CLAUDE_CONFIG_DIR=str(tmp_path))
        at = format_time(now())
        told = json.dumps({"memoryId": await w.write(B)})
        story.append(entry("p2", "a1", "user", "And Redis?", timestamp=at))
        block = [{"type": "tool_result", "tool_use_id": "t", "content": told}]
        story.append(entry("r2", "p2", "user", block, toolUseResult=told, timestamp=at))
        transcript(tmp_path, *story)
        hook("stop", {"transcript_path": file}, project, CLAUDE_CONFIG_DIR=str(tmp_path))
        asked = {"prompt": "go on", "session_id": SESSION, "transcript_path": file}
        assert B not in await read(w.client, "prompt_context", **asked)
        assert await w.recalled() == {A, B}
        later = format_time(now() + timedelta(seconds=1))
        transcript(tmp_path, *story, entry("p3", "a1", "user", "Leave it.", timestamp=later))
        assert await w.recalled() == {A}
        hook("stop", {"transcript_path": file}, project, CLAUDE_CONFIG_DIR=str(tmp_path))
        again = await prompted(w)

        assert [told for told in w.told if "1 memory of the turns that were left" in told]
        assert "went back" not in again


@pytest.mark.parametrize("mode", ["follow", "mark"])
@pytest.mark.parametrize("where", ["tool", "resource"])
async def test_the_head_is_the_first_to_know_that_a_checkpoint_was_taken_back(
    settings: Settings, project: Path, tmp_path: Path, mode: GitMode, where: str
) -> None:
    """Whoever asks for the places to go back to is not offered one of turns that were left."""
    async with at_work(settings, project, mode) as w:
        at = format_time(now())
        told = json.dumps({"memoryId": await w.write(B)})
        await seal(w.client, "Redis chosen", phase=1)
        block = [{"type": "tool_result", "tool_use_id": "t", "content": told}]
        story = [
            entry("p1", None, "user", "We begin."),
            entry("a1", "p1", "assistant", "Done."),
            entry("p2", "a1", "user", "And Redis?", timestamp=at),
            entry("r2", "p2", "user", block, toolUseResult=told, timestamp=at),
        ]
        file = str(transcript(tmp_path, *story))
        hook("stop", {"transcript_path": file}, project, CLAUDE_CONFIG_DIR=str(tmp_path))
        asked = {"prompt": "go on", "session_id": SESSION, "transcript_path": file}
        await read(w.client, "prompt_context", **asked)
        later = format_time(now() + timedelta(seconds=1))
        transcript(tmp_path, *story, entry("p3", "a1", "user", "Leave it.", timestamp=later))
        if where == "tool":
            lines = (await read(w.client, "memory_head")).splitlines()
        else:
            (content,) = (await w.client.read_resource("memory://head")).contents
            assert isinstance(content, TextResourceContents)
            lines = content.text.splitlines()

    assert MARK in next(line for line in lines if "Redis chosen" in line)
