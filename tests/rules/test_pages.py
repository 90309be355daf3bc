"""The pages of Markdown: short enough to be taken whole, and nothing in them but text."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from project_story import page, told

from memory_mcp import bootstrap
from memory_mcp.bootstrap.pages import read_history
from memory_mcp.domain.outcomes import LineHistory
from memory_mcp.fence import OPEN
from memory_mcp.render.block import Block
from memory_mcp.render.outcomes import render_history
from memory_mcp.render.pages import escape_markdown, render_context_page, render_paragraphs

pytestmark = pytest.mark.anyio


async def test_memory_page_is_taken_whole_by_claude_code(tmp_path: Path) -> None:
    """Its loader cuts after 200 lines or 25 KB; letters may take three bytes each."""
    async with told(tmp_path) as story:
        kinds = ("identity", "preference", "lesson", "decision", "fact", "event")
        for number in range(90):
            text = f"Nummer {number}: " + "書" * 200 if number % 2 else f"Number {number}."
            place = "root" if kinds[number % 6] in ("decision", "fact", "event") else None
            await story.workspace.project.keep(story.record(text, kinds[number % 6], place))
        await bootstrap.render_views(story.workspace)
        data = (tmp_path / "project" / ".claude" / "memory" / "MEMORY.md").read_bytes()

    text = data.decode()
    assert len(data) < 25_000
    assert len(text.splitlines()) < 200
    shown = text.count("\n- ")
    assert shown > 40
    assert f"_{90 - shown} more: search_memories" in text
    assert re.findall("^## (.*)", text, re.MULTILINE) == [
        "Identity", "Preferences and conventions", "Lessons", "Decisions that hold",
        "Facts and what else is known",
    ]  # fmt: skip


@pytest.mark.nightly
async def test_many_short_memories_stay_below_two_hundred_lines(tmp_path: Path) -> None:
    """Lines end before bytes do."""
    async with told(tmp_path) as story:
        for number in range(300):
            kind = ("decision", "fact", "event")[number % 3]
            await story.workspace.project.keep(story.record(f"N {number}.", kind, "root"))
        await bootstrap.render_views(story.workspace)
        text = page(tmp_path / "project")

    assert 180 < len(text.splitlines()) < 200


async def test_the_history_says_how_many_are_older(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest first, and nothing in silence."""
    monkeypatch.setattr("memory_mcp.bootstrap.pages.HISTORY_ENTRIES_MAX", 2)
    async with told(tmp_path) as story:
        for number in range(3):
            story.clock.advance(timedelta(days=1))
            await story.keep(f"Day {number}.", kind="event", category="History")
        await story.keep("No entry of the history.", kind="event")
        await bootstrap.render_views(story.workspace)
        text = page(tmp_path / "project", "HISTORY.md")

    assert text.index("Day 2.") < text.index("Day 1.")
    assert "Day 0." not in text
    assert "No entry" not in text
    assert "_1 older: search_memories._" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Heading", r"\# Heading"),
        ("1. first", r"1\. first"),
        ("2026-01-31: was cold", "2026-01-31: was cold"),
        ("- [ ] task", r"\- [ ] task"),
        ("> quoted", r"\> quoted"),
        ("```sh rm -rf", r"\`\`\`sh rm -rf"),
        ("<!-- hidden", "&lt;!-- hidden"),
        (r"\<img src=x>", r"\&lt;img src=x>"),
        ("List<String> a < b", "List&lt;String> a < b"),
        ("@~/.ssh/id_rsa and @docs/x", r"\@~/.ssh/id_rsa and \@docs/x"),
        ("ada@example.com", "ada@example.com"),
        ("=== --- ***", r"\=== --- ***"),
    ],
)
def test_a_memory_is_a_line_of_text_and_nothing_else(text: str, shown: str) -> None:
    """It can begin nothing and import no file: Claude Code follows an @ in such pages."""
    assert escape_markdown(text) == shown


@given(st.text(alphabet="\\<>`~!-?/&@a=\"' []()#*_1.", max_size=40), st.sampled_from(["", "- "]))
@example(r"\<img src=x onerror=alert(1)>", "- ")
@example(r"\\<b>", "")
def test_no_memory_becomes_raw_html(text: str, begun: str) -> None:
    """By the reference rules of Markdown, whatever backslashes it brings along."""
    tokens = MarkdownIt("commonmark", {"html": True}).parse(f"{begun}{escape_markdown(text)} [id]")
    kinds = {each.type for token in tokens for each in (token, *(token.children or ()))}

    assert not kinds & {"html_block", "html_inline", "fence", "heading_open"}


def test_nothing_in_the_context_page_is_a_tag_but_our_own() -> None:
    """The line about the user is text of others as much as a memory is."""
    lines = [OPEN, "User: <b>Ada</b> @x", "## Newest", r"- \<i>it</i>", "</memory>"]
    text = render_context_page(Block("\n".join(lines), 1, 1, 0))

    assert re.findall(r"<[^ >]*", text) == ["<!--", "<memory", "</memory"]
    assert r"User: &lt;b>Ada&lt;/b> \@x" in text
    assert "\n## Newest\n" in text


async def test_a_day_is_said_once_and_a_reason_is_told_from_what_it_is_for(tmp_path: Path) -> None:
    """HISTORY.md and memory://history tell it the same way."""
    async with told(tmp_path) as story:
        day = f"{story.clock.now():%Y-%m-%d}"
        await story.keep(f"{day}: We chose a till.", kind="event", category="history")
        await story.say("Use stripe\nReason: cheap", kind="decision")
        await bootstrap.render_views(story.workspace)
        text = page(tmp_path / "project", "HISTORY.md")
        held = page(tmp_path / "project")
        whole = await read_history(story.workspace, 10)

    assert text.count(day) == 1
    assert f"## {day}\n\nWe chose a till. [" in text
    assert "Use stripe — cheap [" in held
    assert isinstance(whole, LineHistory)
    paragraphs = [paragraph for paragraph, _ in render_paragraphs(whole.records)]
    assert "\n\n".join(paragraphs) in text
    assert "\n\n".join(paragraphs) in render_history(whole)
