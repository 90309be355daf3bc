"""What the plugin's hooks do in the course of real sessions, and what happens when they cannot."""

from pathlib import Path

import pytest
from doors import Json, machine_dir, records
from driver import ClaudeCode, Turn
from messages_api import MessagesApi
from story import KEPT, context, read

pytestmark = pytest.mark.claude

FACTS = (
    "Deployments to staging start every Tuesday at nine.",
    "The invoice numbers are printed with a leading year.",
    "Thumbnails are rendered by a worker called Pixie.",
    "Parcels heavier than thirty kilos go by freight.",
    "Gift cards expire after three years.",
    "The warehouse in Bremen closes at noon on Fridays.",
    "Customer letters are translated by an agency in Graz.",
    "Refunds above two hundred euros need a second signature.",
    "The mobile app talks to the gateway over HTTP/2.",
    "Search synonyms are kept in a spreadsheet of the marketing team.",
    "Load tests run against a copy with forty thousand customers.",
    "The printer of the packing table is a Zebra.",
)
PARCELS = FACTS[3]


def remembered(claude: ClaudeCode) -> None:
    """A first session that leaves more than an opening has room for."""
    with claude.session() as session:
        session.ask("Note this.", *(claude.call("add_memory", content=text) for text in FACTS))
        read(claude)


def recalled(turn: Turn) -> str:
    """What was brought up with this prompt."""
    return context(turn, "UserPromptSubmit")


def told(turn: Turn) -> str:
    """Everything Claude Code says to the user beside the answer, as one text."""
    return "\n".join(
        str(event.get(name, ""))
        for event in turn.events
        for name in ("stdout", "stderr", "content", "output")
        if event["type"] == "system"
    )


def test_a_prompt_brings_up_what_bears_on_it_once(claude: ClaudeCode) -> None:
    """Recall without asking, and without a price: nothing for small talk, nothing twice."""
    claude.environment["MEMORY_BOOTSTRAP_TOKENS"] = "60"
    remembered(claude)
    with claude.session() as session:
        greeting = session.ask("Thanks, good morning to you!")
        first = session.ask("Which parcels go by freight, heavier than how many kilos?")
        again = session.ask("So which parcels go by freight, heavier than how many kilos?")
        unrelated = session.ask("Write a haiku about autumn leaves and the moon, please.")

    assert PARCELS not in greeting.first.text, "nothing to recall: it stands in the opening"
    assert PARCELS in recalled(first)
    assert len(recalled(first)) <= 300 * 4
    assert [recalled(turn) for turn in (greeting, again, unrelated)] == ["", "", ""]
    assert again.first.text.count(PARCELS) == 1


def test_the_hooks_that_install_writes_do_what_the_plugins_do(
    binary: Path, tmp_path: Path, repository: Path, api: MessagesApi
) -> None:
    """Without the plugin the server has the name of its entry, and the hooks have a whole path."""
    options = ["--allowedTools", "mcp__memory"]
    claude = ClaudeCode(binary, tmp_path / "user", repository, api, "mcp__memory__", options)
    claude.environment["MEMORY_BOOTSTRAP_TOKENS"] = "60"
    claude.memory("install", "claude-code", "--hooks")
    remembered(claude)
    questions = {
        PARCELS: "Which parcels go by freight, heavier than how many kilos?",
        FACTS[4]: "When do gift cards expire, after how many years?",
    }
    with claude.session() as session:
        opened = session.ask("Thanks, good morning to you!")
        fact = next(each for each in questions if each not in opened.first.text)
        asked = session.ask(questions[fact])

    assert context(opened, "SessionStart:startup")
    assert fact in recalled(asked)
    assert "memory-mcp: the hook" not in told(opened) + told(asked)


def test_what_was_left_is_not_brought_up_by_a_prompt(claude: ClaudeCode) -> None:
    """The road may be left while a session goes on: the next prompt knows."""
    claude.environment["MEMORY_BOOTSTRAP_TOKENS"] = "60"
    remembered(claude)
    with claude.session() as session:
        session.ask("Hello")
        claude.memory("backtrack", "start", "--mode", "continue")
        asked = session.ask("Which parcels go by freight, heavier than how many kilos?")

    assert recalled(asked) == ""


def test_a_long_session_is_asked_to_sum_up_once(claude: ClaudeCode) -> None:
    """Silent until it is due, then one reminder that ends with the turn it made longer."""
    claude.environment["MEMORY_CHECKPOINT_INTERVAL"] = "3"
    update = "The shop takes invoices next."
    with claude.session() as session:
        turns = [session.ask(f"Step {number}") for number in range(1, 7)]
        session.ask("Sum up.", claude.call("consolidate", memory_update=update))
        later = [session.ask(f"Step {number}") for number in range(8, 11)]

    due = [place for place, turn in enumerate(turns, 1) if len(turn.seen) > 1]
    assert due == [3, 6]
    assert all(len(turn.seen) <= 2 for turn in (*turns, *later)), "a reminder answered a reminder"
    assert "consolidate" in context(turns[2], "Stop")
    assert "consolidate" not in turns[2].first.messages[-1][1]


def test_a_session_leaves_an_episode(claude: ClaudeCode) -> None:
    """What it was about is written down when it is over, without anybody remembering to ask."""
    with claude.session() as session:
        session.ask(
            "We moved the invoice numbering into the billing service today, because the shop and "
            "the warehouse had counted differently since spring."
        )
        session.ask("Next we have to migrate the old invoices of the warehouse to the new numbers.")
        name = session.id
    claude.memory("status")  # works the inbox off

    episodes = [r for r in all_records(claude) if r["kind"] == "episode"]
    assert len(episodes) == 1
    assert episodes[0]["origin"]["session"] == name
    assert "invoice" in episodes[0]["content"]
    claude.memory("status")
    assert [r for r in all_records(claude) if r["kind"] == "episode"] == episodes


def all_records(claude: ClaudeCode) -> list[Json]:
    """Every record of the project, oldest first."""
    return records(claude.project / ".claude" / "memory")


def test_a_broken_machine_folder_does_not_break_the_session(claude: ClaudeCode) -> None:
    """The work goes on, the user reads one line at a time, and the model hears what to do."""
    machine = machine_dir(claude.project)
    machine.parent.mkdir(parents=True)
    machine.write_text("not a folder", "utf-8")
    with claude.session() as session:
        hello = session.ask("Hello")
        asked = session.ask("Go on.", claude.call("search_memories", query="orders"))

    said = [line for line in told(hello).splitlines() if line.startswith("Stop says: ")]
    assert (hello.answer, asked.answer) == ("DONE", "DONE")
    assert len(said) == 1
    assert "memory-mcp" in said[0]
    assert "a file stands where a folder must be" in asked.results()[0]
    assert "Traceback" not in told(hello) + told(asked)


def test_what_a_session_did_not_render_is_caught_up_with(claude: ClaudeCode) -> None:
    """Claude Code may end the server right after a write; no later session may miss it for that."""
    with claude.session() as session:
        session.ask("Hello", claude.call("add_memory", content=KEPT, kind="decision"))
        session.kill()
    claude.memory("status")
    with claude.session() as session:
        second = session.ask("Hello")

    assert KEPT in context(second, "SessionStart:startup")


def test_garbage_that_was_rendered_is_not_shown_and_heals(claude: ClaudeCode) -> None:
    """A derivative may be lost: the model is told to ask, and the next session opens well."""
    rendered = machine_dir(claude.project) / "rendered" / "main.json"
    rendered.parent.mkdir(parents=True)
    rendered.write_bytes(b"\xff{")
    with claude.session() as session:
        hello = session.ask("Hello", claude.call("add_memory", content=KEPT, kind="decision"))
        read(claude)
    with claude.session() as session:
        second = session.ask("Hello")

    assert "call memory_context" in context(hello, "SessionStart:startup")
    assert KEPT in context(second, "SessionStart:startup")


def test_a_missing_command_is_said_and_not_fatal(claude: ClaudeCode) -> None:
    """The plugin without the program: sessions work on, and the error names the command."""
    claude.environment["PATH"] = "/usr/bin:/bin"
    with claude.session() as session:
        turn = session.ask("Hello")

    assert turn.answer == "DONE"
    assert "memory-mcp" in told(turn)


def test_memory_switched_off_leaves_nothing(claude: ClaudeCode) -> None:
    """`MEMORY_ENABLED=false` is a promise: no hook writes, nothing is shown."""
    claude.environment["MEMORY_ENABLED"] = "false"
    with claude.session() as session:
        hello = session.ask("Hello", claude.call("add_memory", content=KEPT))

    assert context(hello, "SessionStart:startup") == ""
    assert not (claude.project / ".state").exists()
    assert not machine_dir(claude.project).exists()
    assert not (claude.project / ".claude").exists()
