"""What was said in a transcript of Claude Code, and nothing that was not."""

import json
from typing import Any

import pytest
from hooked import entry

from memory_mcp.domain.sessions import Turn
from memory_mcp.text.transcript import read_turns


def said(*entries: dict[str, Any]) -> list[tuple[str, str]]:
    """Who said what."""
    data = "\n".join(json.dumps(each) for each in entries).encode()
    return [(turn.role, turn.content) for turn in read_turns(data)]


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def test_messages_are_told_with_their_time() -> None:
    """A text, or blocks of text; both are what was said."""
    one = entry("a", None, "user", "Where are sessions kept?")
    other = entry("bb", "a", "assistant", [*text("In PostgreSQL."), *text("Since May.")])
    turns = read_turns(f"{json.dumps(one)}\r\n{json.dumps(other)}\r\n".encode())

    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "Where are sessions kept?"),
        ("assistant", "In PostgreSQL.\n\nSince May."),
    ]
    assert [turn.at.isoformat() for turn in turns if turn.at] == [
        "2026-11-21T10:00:01+00:00",
        "2026-11-21T10:00:02+00:00",
    ]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "tool_result", "tool_use_id": "t", "content": "secret output"}],
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}],
        "<system-reminder>\nBe good.\n</system-reminder>",
        "<command-name>/clear</command-name>\n<command-args></command-args>",
        "<local-command-stdout>done</local-command-stdout>",
        "[Request interrupted by user]",
        "",
        None,
        3,
        [3, None, {"type": "text", "text": 3}, {"type": "text"}],
    ],
)
def test_what_nobody_said_is_left_out(content: object) -> None:
    """Output of tools may hold anything; reminders are the program's own."""
    assert said(entry("a", None, "user", content)) == []


def test_a_reminder_within_a_message_is_cut_out_of_it() -> None:
    """The message is the user's all the same."""
    words = "Keep it short.<system-reminder>Be good.</system-reminder> Please."

    assert said(entry("a", None, "user", words)) == [("user", "Keep it short. Please.")]


@pytest.mark.parametrize(
    "mark", [{"isMeta": True}, {"isSidechain": True}, {"isCompactSummary": True},
             {"isApiErrorMessage": True}, {"type": "system"}, {"message": "x"}]
)  # fmt: skip
def test_entries_of_the_program_are_no_messages(mark: dict[str, Any]) -> None:
    """Subagents, summaries and errors speak for themselves elsewhere."""
    assert said({**entry("a", None, "user", "Hello"), **mark}) == []


def test_only_the_way_to_the_end_is_told() -> None:
    """What the user went back on is still in the file."""
    assert said(
        entry("a", None, "user", "Use Redis."),
        entry("b", "a", "assistant", text("Redis it is.")),
        entry("c", "b", "user", "And add a cache."),
        entry("d", "a", "assistant", text("PostgreSQL it is.")),
    ) == [("user", "Use Redis."), ("assistant", "PostgreSQL it is.")]


def test_a_compaction_is_no_end_of_the_way() -> None:
    """What was said before it was said in this session too."""
    cut = {"uuid": "x", "parentUuid": None, "logicalParentUuid": "a", "type": "system"}

    assert said(entry("a", None, "user", "Use Redis."), cut, entry("b", "x", "user", "Go on.")) == [
        ("user", "Use Redis."),
        ("user", "Go on."),
    ]


def test_anything_else_in_the_file_is_looked_past() -> None:
    """The format is the client's own affair; a part of a file begins anywhere."""
    lines = [
        b'half": 1}',
        b"\xff\xfe",
        b"[" * 50_000,
        b"[]",
        b'{"type": "user", "message": {"content": "no name"}}',
        json.dumps(entry("a", "a", "user", "A ring.", timestamp="yesterday")).encode(),
        b'{"type": "cost-state"}',
    ]

    assert read_turns(b"\n".join(lines)) == [Turn("user", "A ring.", None)]
    assert [turn.content for turn in read_turns(lines[4])] == ["no name"]
    assert read_turns(b"") == []
