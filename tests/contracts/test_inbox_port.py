"""The contract of `ports.Inbox`, for every adapter: memory, and files as hooks drop them."""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hooked import SESSION, entry, transcript
from inbox_in_memory import MemoryInbox

from memory_mcp.disk import Disk
from memory_mcp.domain import limits
from memory_mcp.domain.sessions import ConversationCompacted, SessionEnded
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.hooks import files
from memory_mcp.ports import Inbox
from memory_mcp.storage.files.inbox import LocalInbox

pytestmark = pytest.mark.anyio

AT = "2026-11-21T10:00:00.000Z"
ENDED = {"at": AT, "event": "session-end", "session": SESSION}


@dataclass
class Door:
    """The inbox, another process's way to it, and what hooks do outside."""

    inbox: Inbox
    other: Inbox
    drop: Callable[[Mapping[str, Any]], None]
    note_shown: Callable[[list[str]], None]
    keep_transcript: Callable[[Path], None]


@pytest.fixture(params=["memory", "local"])
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Door:
    if request.param == "memory":
        inbox = MemoryInbox()

        def note(ids: list[str]) -> None:
            inbox.read_at_start[SESSION] = frozenset(ids)

        def keep(file: Path) -> None:
            inbox.transcripts[str(file)] = file.read_bytes()

        return Door(inbox, inbox, inbox.drop, note, keep)
    state = tmp_path / ".state"
    return Door(
        LocalInbox(state, Disk()),
        LocalInbox(state, Disk()),
        lambda event: files.leave_event(str(state), event),
        lambda ids: files.write_session(str(state), SESSION, {"shown": ids}),
        lambda _: None,
    )


def compacted(text: str, session: str = SESSION) -> dict[str, Any]:
    return {"at": AT, "event": "post-compact", "session": session, "compact_summary": text}


def went_back(since: str = AT, session: str = SESSION) -> dict[str, Any]:
    return {"at": AT, "event": "rewound", "session": session, "since": since}


async def texts(inbox: Inbox) -> list[str]:
    waiting = [each.event for each in await inbox.waiting()]
    return [event.compact_summary for event in waiting if isinstance(event, ConversationCompacted)]


async def test_events_wait_oldest_first_until_they_are_done(door: Door) -> None:
    """What was not worked off is there again, for another process too."""
    assert await door.inbox.waiting() == []
    for text in ("one", "two", "three"):
        door.drop(compacted(text))
    first, *_ = await door.inbox.waiting()
    assert await texts(door.other) == ["one", "two", "three"]
    await door.inbox.done(first)
    await door.other.done(first)  # no error: it is gone already

    assert await texts(door.inbox) == ["two", "three"]


async def test_what_is_no_event_is_moved_aside_once_and_named(door: Door) -> None:
    """It never keeps the others waiting, and nobody reads it twice."""
    assert await door.inbox.findings() == []
    for strange in ({}, {"event": "unheard-of", "at": AT}, {"event": "session-end", "at": AT}):
        door.drop(strange)
    door.drop({**compacted("x"), "at": "yesterday"})
    door.drop({**compacted("x"), "v": 2})
    door.drop(compacted("one"))

    assert await texts(door.inbox) == ["one"]
    assert await texts(door.inbox) == ["one"]
    (finding,) = await door.other.findings()
    assert (finding.code, finding.severity) == ("inbox-strange", "should")
    assert finding.what.startswith("5 ")


async def test_what_cannot_be_worked_off_is_kept_for_a_person(door: Door) -> None:
    """A fault of ours costs one event, not all."""
    door.drop(compacted("one"))
    door.drop(compacted("two"))
    first, _ = await door.inbox.waiting()
    await door.inbox.put_aside(first)
    await door.inbox.put_aside(first)

    assert await texts(door.other) == ["two"]
    assert len(await door.inbox.findings()) == 1


async def test_one_works_at_a_time(door: Door) -> None:
    """Else two would do the same at once."""
    door.drop(compacted("one"))
    async with door.inbox.alone() as mine:
        async with door.other.alone() as others:
            assert (mine, others) == (True, False)
        async with door.other.alone() as others:
            assert not others, "who was not alone has not let go for the one who is"
    async with door.other.alone() as others:
        assert others


async def test_a_full_inbox_is_worked_off_in_goes(door: Door) -> None:
    """A command that works it off must come to an end."""
    for number in range(limits.EVENTS_AT_ONCE_MAX + 5):
        door.drop(compacted(str(number)))

    assert len(await door.inbox.waiting()) == limits.EVENTS_AT_ONCE_MAX


async def test_what_a_session_read_at_its_beginning_is_known(door: Door) -> None:
    """So that it is not told again."""
    assert await door.inbox.shown(SESSION) == frozenset()
    door.note_shown(["a", "b"])

    assert await door.other.shown(SESSION) == {"a", "b"}
    assert await door.other.shown("another") == frozenset()


async def test_what_goes_back_is_in_nobodys_way(door: Door) -> None:
    """A hundred sessions that went back and are gone must not stop what came after them."""
    for number in range(limits.EVENTS_AT_ONCE_MAX):
        door.drop(went_back(session=f"s{number}"))
    door.drop(compacted("one"))

    assert await texts(door.inbox) == ["one"]


async def test_what_a_session_was_given_is_known_to_the_next_server(door: Door) -> None:
    """Beside what it read when it began; it may be resumed."""
    door.note_shown(["a"])
    await door.inbox.note_given(SESSION, ["b"])
    await door.inbox.note_given(SESSION, ["c", "b"])

    assert await door.other.shown(SESSION) == {"a", "b", "c"}
    assert await door.other.shown("another") == frozenset()


async def test_what_is_noted_of_a_session_is_for_its_hooks(tmp_path: Path) -> None:
    """Where it is now; and that turns are counted anew, where they are counted at all."""
    state = str(tmp_path / ".state")
    inbox = LocalInbox(tmp_path / ".state", Disk())
    await inbox.note_consolidated(SESSION)
    assert not (tmp_path / ".state").exists()
    files.write_session(state, SESSION, {"turns": 7, "asked": 3})
    await inbox.note_branch(SESSION, "try/1")
    await inbox.note_consolidated(SESSION)
    await inbox.note_given(SESSION, [str(number) for number in range(9_000)])
    noted = files.read_session(state, SESSION)

    assert noted.pop("given") == [str(number) for number in range(8_500, 9_000)]
    assert noted == {"turns": 7, "asked": 7, "branch": "try/1"}


async def test_a_note_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """In our own words, as everything that the file system refuses."""
    (tmp_path / ".state").write_text("mine", "utf-8")
    inbox = LocalInbox(tmp_path / ".state", Disk())
    with pytest.raises(StoreUnavailableError):
        await inbox.note_branch(SESSION, "try/1")


async def test_notes_of_sessions_long_over_are_removed(tmp_path: Path) -> None:
    """With what their hooks were writing when they died."""
    sessions = tmp_path / ".state" / "sessions"
    for name, days in (("old.json", 31), ("new.json", 29), (".x.json.1.tmp", 1), (".y.tmp", 0)):
        files.write_session(str(tmp_path / ".state"), "any", {})
        (sessions / name).write_text("{}", "utf-8")
        then = time.time() - days * 86_400
        os.utime(sessions / name, (then, then))
    await LocalInbox(tmp_path / ".state", Disk()).waiting()

    assert sorted(file.name for file in sessions.iterdir()) == [".y.tmp", "any.json", "new.json"]


async def test_a_transcript_is_read_where_a_client_keeps_it(door: Door, tmp_path: Path) -> None:
    """And is None when it is gone, or was never one."""
    file = transcript(tmp_path, {"uuid": "a"})
    door.keep_transcript(file)

    def ended(path: object) -> SessionEnded:
        return SessionEnded.model_validate({**ENDED, "transcript_path": str(path)})

    assert await door.inbox.transcript(ended(file)) == file.read_bytes()
    assert await door.inbox.transcript(ended(tmp_path / "projects" / "x" / "no.jsonl")) is None


async def test_a_file_that_is_none_of_ours_is_looked_past_or_moved(tmp_path: Path) -> None:
    """Links, folders, what is too large or still being written: none of it is read."""
    state, inbox = tmp_path / ".state", LocalInbox(tmp_path / ".state", Disk())
    files.leave_event(str(state), compacted("one"))
    folder = state / "inbox"
    (folder / "link.json").symlink_to(tmp_path / "secret")
    (folder / "large.json").write_bytes(b" " * (limits.EVENT_BYTES_MAX + 1))
    (folder / "deep.json").write_bytes(b"[" * 100_000)
    (folder / "bytes.json").write_bytes(b"\xff\x00")
    (folder / "note.txt").write_text("mine", "utf-8")
    (folder / ".half.json.tmp").write_text("{", "utf-8")
    (folder / "folder.json").mkdir()

    assert await texts(inbox) == ["one"]
    aside = sorted(path.name for path in (folder / "aside").iterdir())
    assert aside == ["bytes.json", "deep.json", "large.json", "link.json", "note.txt"]
    assert (folder / ".half.json.tmp").exists()
    assert (folder / "folder.json").is_dir()


@pytest.mark.parametrize(
    "path",
    [
        f"elsewhere/-shop/{SESSION}.jsonl",
        f"projects/-shop/../-shop/{SESSION}.jsonl",
        "projects/-shop/another.jsonl",
        f"projects/\0/{SESSION}.jsonl",
        f"projects/-shop/{SESSION}.json",
        f"C:\\Users\\Ann\\.claude\\projects\\shop\\{SESSION}.jsonl",
        "",
        "\0",
    ],
)
async def test_no_other_file_is_read_as_a_transcript(tmp_path: Path, path: str) -> None:
    """An inbox may come with a folder from elsewhere; it must not name what is read."""
    for folder in ("elsewhere", "projects"):
        for name in (f"{SESSION}.jsonl", "another.jsonl", f"{SESSION}.json"):
            file = tmp_path / folder / "-shop" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"uuid": "a"}), "utf-8")
    given = {**ENDED, "transcript_path": f"{tmp_path}/{path}"}

    inbox = LocalInbox(tmp_path / ".state", Disk())
    assert await inbox.transcript(SessionEnded.model_validate(given)) is None


async def test_what_lies_in_a_work_tree_is_not_read_as_a_transcript(tmp_path: Path) -> None:
    """However it is named: a repository may have brought it."""
    file = transcript(tmp_path / "shop" / ".claude", {"uuid": "a"})
    (tmp_path / "way").symlink_to(tmp_path / "shop", target_is_directory=True)
    inbox = LocalInbox(tmp_path / ".state", Disk(), [tmp_path / "shop"])
    other = LocalInbox(tmp_path / ".state", Disk(), [tmp_path / "sho"])
    for path in (file, tmp_path / "way" / file.relative_to(tmp_path / "shop")):
        ended = SessionEnded.model_validate({**ENDED, "transcript_path": str(path)})
        assert await inbox.transcript(ended) is None
        assert await other.transcript(ended) == file.read_bytes()


async def test_a_transcript_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    """It may lead anywhere."""
    real = transcript(tmp_path, {"uuid": "a"}, session="real")
    link = real.with_name(f"{SESSION}.jsonl")
    link.symlink_to(real)
    given = {**ENDED, "transcript_path": str(link)}

    inbox = LocalInbox(tmp_path / ".state", Disk())
    assert await inbox.transcript(SessionEnded.model_validate(given)) is None


async def test_a_transcript_is_looked_back_at_when_it_has_changed(tmp_path: Path) -> None:
    """One that lies where no client keeps them is never read."""
    state = tmp_path / ".state"
    inbox = LocalInbox(state, Disk())
    first = entry("p1", None, "user", "We begin.")
    second = entry("p2", "p1", "user", "And Redis?")
    file = transcript(tmp_path, first, second)
    away = file.rename(tmp_path / file.name)
    looks = [await inbox.look_back(SESSION, "main", str(path)) for path in (file, away)]
    transcript(tmp_path, first, second)
    looks += [await inbox.look_back(SESSION, "main", str(file)) for _ in range(2)]
    transcript(tmp_path, first, second, entry("p3", None, "system", "nothing"))
    looks.append(await inbox.look_back(SESSION, "main", str(file)))
    transcript(tmp_path, first, second, entry("p3", "p1", "user", "Leave it."))
    looks.append(await inbox.look_back(SESSION, "main", str(file)))

    assert looks == [False, False, True, False, False, True]
    assert [each.event.event for each in await inbox.waiting()] == ["rewound"]
