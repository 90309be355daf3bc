"""The life of a session in the real Claude Code: what the model sees, and what it never sees again.

`pytest -rs -m claude`; with `-n 0 -s -k transcript` it prints what the model saw.
"""

import json
import sys
from pathlib import Path

import pytest
from doors import records
from driver import ClaudeCode, Turn, cancelling
from story import (
    ABANDONED,
    KEPT,
    LESSON,
    SUMMARY,
    TRACES,
    answers,
    context,
    excerpt,
    first_session,
    read,
)

from memory_mcp.hooks.opening import COMPACTED
from memory_mcp.server.main import INSTRUCTIONS
from memory_mcp.server.tools import load_default_tools

pytestmark = pytest.mark.claude


def test_the_first_session_knows_how_to_use_its_memory(claude: ClaudeCode) -> None:
    """Nobody has to ask: instructions, tools and the opening are there before the first word."""
    worked = first_session(claude)

    seen = worked.hello.first
    assert INSTRUCTIONS.strip() in seen.text, "cut or left out"
    for tool in load_default_tools():
        assert f"{claude.prefix}{tool.name}" in seen.text
    assert "memory_context" in context(worked.hello, "SessionStart:startup")
    assert len(worked.hello.seen) == 1, "a greeting costs one request"


def test_a_checkpoint_waits_for_the_user_and_a_backtrack_hides(claude: ClaudeCode) -> None:
    """Headless nobody answers the form: it stays pending until a second call decides it."""
    worked = first_session(claude)

    decided, preference, pending = answers(worked.sealed)
    assert decided["outcome"] == preference["outcome"] == "inserted"
    assert pending["status"] == "pending"
    assert answers(worked.approved)[0]["status"] == "approved"
    back = answers(worked.back)[0]
    assert (back["hidden"], back["backtrackedTo"]) == (2, pending["checkpointId"])


def test_the_second_session_opens_with_what_holds(claude: ClaudeCode) -> None:
    """What was decided, preferred and learnt is there at once, as data, within its budget."""
    first_session(claude)
    with claude.session() as session:
        opened = context(session.ask("Hello"), "SessionStart:startup")

    assert opened.startswith("<memory")
    assert opened.endswith("</memory>")
    for text in (KEPT, LESSON, "Short commit messages."):
        assert text in opened
    assert "Storage chosen" in opened
    assert len(opened) <= 500 * 4 + 100  # the line of the present time comes on top


def test_nothing_that_was_left_reaches_the_model_again(claude: ClaudeCode) -> None:
    """The product's promise, asserted over every byte that any request of the session held."""
    left = answers(first_session(claude).back)[0]["line"]
    claude.api.forget()

    claude.api.summary = "Nothing new."
    lookup = claude.call("search_memories", query="where do sessions live, cart host port", limit=9)
    with claude.session() as session:
        session.ask("Where do sessions live, and what of the cart and its host?")
        asked = session.ask(
            "Look it up.",
            lookup,
            claude.call("memory_context", task="speed up the cart with a cache"),
            claude.call("memory_context"),
            claude.call("memory_head"),
        )
        session.ask("/compact")
        session.ask("And the cache?")
        read(claude)
    with claude.session() as session:
        later = session.ask("Once more.", lookup, claude.call("memory_context"))

    assert len(asked.results()) == 4
    assert KEPT in asked.last.text
    assert len(claude.api.requests) > 10
    for seen in claude.api.requests:
        assert not TRACES.search(seen.everything)
    claude.memory("backtrack", left, "--mode", "continue")
    with claude.session() as session:
        restored = session.ask("I changed my mind.", lookup)
    assert all(text in restored.results()[0] for text in ABANDONED), "or it proved nothing"
    assert not TRACES.search("".join(later.results()))


def test_compaction_brings_the_opening_again_and_keeps_the_summary(claude: ClaudeCode) -> None:
    """What a compaction drops is what the memory is for; its summary is worth keeping too."""
    first_session(claude)
    claude.api.summary = "Invoices are next: one table, numbered by year."
    with claude.session() as session:
        opened = context(session.ask("Hello"), "SessionStart:startup")
        again = context(session.ask("/compact"), "SessionStart:compact", shown=False)
        after = session.ask("And now?")
        read(claude)
        name = session.id

    assert KEPT in again
    assert bodies(opened) == bodies(again)
    assert again.endswith(COMPACTED)
    assert again in after.first.text
    kept = [
        record
        for record in records(claude.project / ".claude" / "memory")
        if record["kind"] == "summary" and name in record.get("key", "")
    ]
    assert any("Invoices are next" in record["content"] for record in kept)
    assert not any("<analysis>" in record["content"] for record in kept)
    with claude.session() as session:
        assert "Invoices are next" in context(session.ask("Hello"), "SessionStart:startup")


def bodies(opened: str) -> list[str]:
    """The lines of an opening that do not depend on the moment."""
    lines = opened.partition("</memory>")[0].splitlines()
    return [line for line in lines if not line.startswith("Now:")]


def test_a_summary_made_on_a_road_is_left_with_it(claude: ClaudeCode) -> None:
    """A compaction sums up what was believed then; going back must take its summary along."""
    with claude.session() as session:
        session.user = lambda _: {"action": "accept", "content": {"decision": "save"}}
        session.ask("Seal it.", claude.call("checkpoint", summary=SUMMARY, phase=1))
        session.ask("Let us try a cache.", claude.call("add_memory", content=ABANDONED[0]))
        claude.api.summary = "The sessions of the shop live in Valkey, on the host kingfisher."
        session.ask("/compact")
        session.ask("Scrap it.", claude.call("backtrack", to=1, mode="continue", lesson=LESSON))
        read(claude)
    claude.api.forget()

    with claude.session() as session:
        session.ask("Hello")
        asked = session.ask(
            "Look it up.",
            claude.call("search_memories", query="where do sessions of the shop live, host"),
            claude.call("memory_context"),
        )

    assert LESSON in asked.last.text
    for seen in claude.api.requests:
        assert not TRACES.search(seen.everything)


def test_a_cleared_session_opens_anew(claude: ClaudeCode) -> None:
    """`/clear` is a new session in the same process: it knows what holds, and nothing was lost."""
    first_session(claude)
    with claude.session() as session:
        session.ask("Hello")
        old = session.id
        opened = context(session.ask("/clear"), "SessionStart:clear", shown=False)
        after = session.ask("And now?")

    assert session.id != old
    assert KEPT in opened
    assert opened in after.first.text
    assert "Hello" not in after.first.text


def test_a_resumed_session_hears_how_things_stand_now(claude: ClaudeCode) -> None:
    """Its own history is old: meanwhile somebody may have gone back, or on."""
    with claude.session() as session:
        session.ask("Hello", claude.call("add_memory", content=KEPT, kind="decision"))
        name = session.id
    claude.memory("add", "Invoices are numbered by year.", "--kind", "decision")
    with claude.session("--resume", name) as session:
        resumed = session.ask("And now?")

    assert session.id == name
    assert "Invoices are numbered by year." in context(resumed, "SessionStart:resume")


def test_a_user_who_is_there_answers_the_form(claude: ClaudeCode) -> None:
    """One form, one answer, and the checkpoint is sealed in the same call."""
    with claude.session() as session:
        session.user = lambda _: {"action": "accept", "content": {"decision": "save"}}
        sealed = session.ask("Seal it.", claude.call("checkpoint", summary=SUMMARY, phase=1))
        (question,) = session.questions
        session.user = cancelling
        undecided = session.ask("Go back.", claude.call("backtrack", to=1))

    assert SUMMARY in question["message"]
    assert answers(sealed)[0]["status"] == "approved"
    assert "backtrackedTo" not in answers(undecided)[0]
    assert len(session.questions) == 2


def test_a_hook_may_answer_for_the_user(claude: ClaudeCode, tmp_path: Path) -> None:
    """Unattended users approve by a rule of their own; a plain `claude -p` then works, too."""
    accepted = {
        "hookEventName": "Elicitation",
        "action": "accept",
        "content": {"decision": "edit", "summary": "Storage it is."},
    }
    script = tmp_path / "approve.py"
    script.write_text(f"print({json.dumps({'hookSpecificOutput': accepted})!r})", "utf-8")
    hook = {"type": "command", "command": sys.executable, "args": [str(script)]}
    settings = json.dumps({"hooks": {"Elicitation": [{"hooks": [hook]}]}})
    prompt = "Seal it.\n" + claude.call("checkpoint", summary=SUMMARY, phase=1)
    told = claude.command("-p", prompt, "--settings", settings, *claude.options)
    claude.command("-p", "--continue", "And now?", *claude.options)

    assert told.stdout == "DONE\n"
    (sealed,) = [r for r in records(claude.project / ".claude/memory") if r["kind"] == "checkpoint"]
    assert (sealed["move"]["approval"], sealed["content"]) == ("approved", "Storage it is.")
    assert "And now?" in claude.api.turns[-1].text
    assert "Checkpoint saved." in claude.api.turns[-1].text


def test_the_opening_is_there_without_hooks(plain: ClaudeCode) -> None:
    """Who wants no plugin has CLAUDE.md name the file, and Claude Code reads it in."""
    (plain.project / "CLAUDE.md").write_text("@.claude/session-context.md\n", "utf-8")
    with plain.session() as session:
        session.ask("Hello", plain.call("add_memory", content=KEPT, kind="decision"))
        read(plain)
    with plain.session() as session:
        second = session.ask("Hello")

    assert KEPT in second.first.messages[0][1]


def test_transcript(claude: ClaudeCode, capsys: pytest.CaptureFixture[str]) -> None:
    """What the model saw: first session, second session, after `/compact`; `-s` shows it."""
    worked = first_session(claude)
    claude.api.summary = "Orders are done. Invoices are next."
    shown: list[tuple[str, Turn]] = [("first session", worked.hello)]
    with claude.session() as session:
        shown.append(("second session", session.ask("Hello")))
        session.ask("/compact")
        shown.append(("after /compact", session.ask("Where do orders live?")))
    with capsys.disabled():
        for title, turn in shown:
            print(f"\n===== {title}\n{excerpt(turn)}")  # noqa: T201  # this is what it is for

    assert all(excerpt(turn) for _, turn in shown)
    assert not any(TRACES.search(excerpt(turn)) for _, turn in shown)
