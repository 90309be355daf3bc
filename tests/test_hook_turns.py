"""The hook `stop`: it counts, asks seldom, never loops, and notices when the user went back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from doors import machine_dir
from hooked import SESSION, context_of, dropped, entry, hook, transcript

from memory_mcp.disk import Disk
from memory_mcp.hooks.transcript import find_left_branch, parse_entries, read_tail
from memory_mcp.storage.files.inbox import LocalInbox

ASKED = "Call the memory tool consolidate once now"


def stops(project: Path, number: int, interval: str = "3", **given: Any) -> list[bool]:
    """At which of so many stops the agent is asked to consolidate."""
    asked: list[bool] = []
    for _ in range(number):
        answer = hook("stop", given, project, MEMORY_CHECKPOINT_INTERVAL=interval)
        asked.append(bool(answer) and ASKED in context_of(answer, "Stop"))
    return asked


def test_a_reminder_comes_once_in_an_interval_and_else_nothing(project: Path) -> None:
    """Silent unless due: each word here continues the turn."""
    assert stops(project, 7) == [False, False, True, False, False, True, False]


@pytest.mark.parametrize(("interval", "asked"), [("0", []), ("nonsense", [10]), ("", [10])])
def test_the_interval_is_the_setting(project: Path, interval: str, asked: list[int]) -> None:
    """Zero is never. What means nothing counts as the usual: the server says that it is wrong."""
    found = stops(project, 11, interval)

    assert [number for number, each in enumerate(found, 1) if each] == asked


def test_a_stop_that_a_hook_caused_is_no_turn_and_is_never_answered(project: Path) -> None:
    """Else the reminder would continue the turn for ever."""
    assert stops(project, 4, "1", stop_hook_active=True) == [False] * 4
    assert not (project / ".state").exists()
    assert not machine_dir(project).exists()


def test_sessions_are_counted_apart_and_a_new_one_begins_at_nothing(project: Path) -> None:
    """Names that no file could have are told apart as well."""
    names = ("one", "../../one", "one/ö", "\ud800", "x" * 500)
    for name in names:
        assert stops(project, 1, "2", session_id=name) == [False]
    for name in names:
        assert stops(project, 1, "2", session_id=name) == [True]
    hook("session-end", {"session_id": "one"}, project)

    assert stops(project, 1, "2", session_id="one") == [False]
    assert (
        sorted(file.parent.name for file in machine_dir(project).rglob("*.json"))
        == ["sessions"] * 5
    )


def test_what_cannot_be_noted_is_not_asked(project: Path) -> None:
    """It would be asked again at each turn."""
    machine_dir(project).mkdir(parents=True)
    (machine_dir(project) / "sessions").write_text("mine", "utf-8")
    answer = hook("stop", {}, project, MEMORY_CHECKPOINT_INTERVAL="1")

    assert list(answer) == ["systemMessage"]


def test_a_consolidation_counts_anew(project: Path) -> None:
    """The receipt says after how many turns the next one is due."""
    assert stops(project, 2) == [False, False]
    inbox = LocalInbox(machine_dir(project), Disk())
    asyncio.run(inbox.note_consolidated(SESSION))

    assert stops(project, 3) == [False, False, True]


def conversation(*prompts: tuple[str, str | None]) -> list[dict[str, Any]]:
    """Prompts with an answer each: `(name, the entry before it)`."""
    entries: list[dict[str, Any]] = []
    for name, before in prompts:
        entries.append(entry(name, before, "user", f"prompt {name}"))
        entries.append(entry(f"{name}-a", name, "assistant", [{"type": "text", "text": "done"}]))
    return entries


def at_stop(project: Path, home: Path, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What lies in the inbox after a stop with this transcript."""
    file = transcript(home, *entries)
    here = {"CLAUDE_CONFIG_DIR": str(home)}
    assert hook("stop", {"transcript_path": str(file)}, project, **here) == {}
    return dropped(project)


def test_going_back_is_noticed_at_the_next_stop_and_told_once(
    project: Path, tmp_path: Path
) -> None:
    """The prompt noted last is not on the way to the newest one: what came since is left."""
    story = conversation(("p1", None), ("p2", "p1-a"), ("p3", "p2-a"))
    assert at_stop(project, tmp_path, story) == []
    story += conversation(("p4", "p1-a"))
    (event,) = at_stop(project, tmp_path, story)
    event.pop("at")

    left = next(each["timestamp"] for each in story if each["uuid"] == "p2")
    assert event == {
        "v": 1, "event": "rewound", "session": SESSION, "branch": "main", "since": left,
    }  # fmt: skip
    story += conversation(("p5", "p4-a"))
    assert len(at_stop(project, tmp_path, story)) == 1


def test_going_on_is_not_taken_for_going_back(project: Path, tmp_path: Path) -> None:
    """Not with tools side by side, subagents, a compaction, or entries of the program."""
    told = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]
    story = [
        *conversation(("p1", None)),
        entry("call-1", "p1-a", "assistant", [{"type": "tool_use", "id": "t", "name": "x"}]),
        entry("call-2", "call-1", "assistant", [{"type": "tool_use", "id": "u", "name": "x"}]),
        entry("result-1", "call-1", "user", told),
        entry("result-2", "call-2", "user", told),
        entry("deep", None, "user", "a subagent's prompt", isSidechain=True),
    ]
    assert at_stop(project, tmp_path, story) == []
    story += [
        entry("note", "result-2", "user", "caveat", isMeta=True),
        *conversation(("p2", "note")),
        {"uuid": "cut", "parentUuid": None, "logicalParentUuid": "p2-a", "type": "system"},
        entry("sum", "cut", "user", "summary", isCompactSummary=True),
        *conversation(("p3", "sum")),
    ]

    assert at_stop(project, tmp_path, story) == []


def test_what_the_end_of_the_file_does_not_show_is_not_claimed(
    project: Path, tmp_path: Path
) -> None:
    """A way that leads out of what is read may lead anywhere."""
    story = conversation(("p1", None), ("p2", "p1-a"))
    assert at_stop(project, tmp_path, story) == []
    assert at_stop(project, tmp_path, conversation(("p9", "unknown"))) == []
    apart = [*story, *conversation(("p9", "unknown"))]

    assert find_left_branch(parse_entries("\n".join(map(str, apart)).encode()), "p2") is None


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    """From the beginning of a line: half an entry is none."""
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"a" * 70 + b"\n" + b"b" * 20 + b"\n")

    assert read_tail(str(file), 50) == (b"b" * 20 + b"\n", False)
    assert read_tail(str(file), 500) == (file.read_bytes(), True)


def test_a_transcript_full_of_anything_is_read_past(project: Path, tmp_path: Path) -> None:
    """The format is the client's own affair, and changes."""
    file = transcript(tmp_path)
    file.write_bytes(
        b'\xff\xfe\n{"uuid": 3}\n{"uuid"\n[]\n"uuid"\n'
        b'{"uuid": "a", "type": "user", "message": []}\n{"uuid": "b", "parentUuid": "b"}\n'
        b'{"uuid": "c", "parentUuid": "c", "type": "user", "message": {"content": "hi"}}\n'
    )

    for path in (str(file), str(tmp_path), 3):
        here = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
        assert hook("stop", {"transcript_path": path}, project, **here) == {}
    assert dropped(project) == []
