"""What a session hands on: whole or not at all, once, and never on the wrong road."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from closing import handed_on
from command_line import Run, as_json, complaint
from doors import Era, Json, add, agent, call, files_with, read, recalled, records, refused, seal
from fakes import FakeClock, FakeIds, another_session, close_workspace, real_workspace

from memory_mcp import memories, sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import ConsolidationDraft, ConsolidationReceipt
from memory_mcp.domain.record import Draft
from memory_mcp.domain.sessions import ContextSettings

pytestmark = pytest.mark.anyio

GIVEN: Json = {
    "history_entry": "2026-03-01: The login was moved to OAuth.",
    "memory_update": "Login works with OAuth; the recovery mails are missing.",
    "insights": ["The portals cannot do OAuth.", "Postmark is slow on Mondays."],
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A session with a name that offers the tool."""
    return replace(settings, toolsets=("session",), session="s-1")


async def test_a_consolidation_is_three_records_with_keys_of_their_session(
    settings: Settings, era: Era, project: Path
) -> None:
    """Whoever opens the next session finds them by kind and key."""
    async with agent(settings, era) as client:
        said = await call(client, "consolidate", **GIVEN, session_id="s-9")

    history, summary, insights = records(project)
    ours = history["container_tags"][1].removeprefix("tag:project:")
    assert (history["kind"], history["category"], history["layer"]) == (
        "event",
        "history",
        "recall",
    )
    assert history["content"] == GIVEN["history_entry"]
    assert (summary["kind"], summary["key"]) == ("summary", f"gardener:{ours}:s-9:checkpoint")
    assert insights["key"] == f"gardener:{ours}:s-9:insights"
    assert insights["content"] == "The portals cannot do OAuth.\nPostmark is slow on Mondays."
    assert {r["origin"]["session"] for r in (history, summary, insights)} == {"s-9"}
    assert said == {
        "success": True,
        "outcome": "stored",
        "session": "s-9",
        "written": {
            "history": history["id"], "checkpoint": summary["id"], "insights": insights["id"],
        },
        "latestId": summary["id"],
        "message": "Consolidated. The next one is due after 10 more turns.",
    }  # fmt: skip


async def test_a_summary_that_another_session_corrects_keeps_what_was_learnt(
    tmp_path: Path,
) -> None:
    """The opening shows both; so does the answer to whoever asks for the last one."""
    workspace = real_workspace(tmp_path)
    given = ConsolidationDraft(memory_update="Mails are missing.", insights=("Slow.",), session="a")
    done = await sessions.consolidate(workspace, given)
    assert isinstance(done, ConsolidationReceipt)
    await memories.update_memory(workspace, done.written[0].id, "Mails are sent.")
    latest = await sessions.latest_consolidation(workspace)
    await close_workspace(workspace)

    assert latest is not None
    found = latest.summary, latest.insights
    assert [record and record.content for record in found] == ["Mails are sent.", "Slow."]


async def test_the_same_call_again_changes_nothing(
    settings: Settings, era: Era, project: Path
) -> None:
    """A client that repeats a call after a timeout must not repeat what happened."""
    undated = GIVEN | {"history_entry": "The login was moved\nto OAuth."}
    async with agent(settings, era) as client:
        await call(client, "consolidate", **undated)
        before = records(project)
        again = await call(client, "consolidate", **undated)

    assert again["outcome"] == "known"
    assert again["message"].startswith("All of it is known already: nothing changed.")
    assert "written" not in again
    assert records(project) == before
    assert re.fullmatch(r"\d{4}-\d\d-\d\d: The login was moved to OAuth\.", before[0]["content"])


async def test_the_newest_of_a_session_takes_the_place_of_the_one_before(
    settings: Settings, era: Era
) -> None:
    """A running summary runs: a later session must not read what was true an hour ago."""
    async with agent(settings, era) as client:
        await call(client, "consolidate", **GIVEN)
        await call(client, "consolidate", memory_update="Half done.", insights="One thing.")
        final = await call(client, "consolidate", memory_update="All done.", final=True)
        assert {*await recalled(client)} == {"One thing.", GIVEN["history_entry"], "All done."}
        latest = (await call(client, "consolidate"))["latest"]

    assert "due" not in final["message"]
    assert len(final["replaced"]) == 1
    assert (latest["session"], latest["final"]) == ("s-1", True)
    assert (latest["memoryUpdate"], latest["insights"]) == ("All done.", "One thing.")


async def test_what_another_session_only_learnt_does_not_hide_what_is_true(
    settings: Settings,
) -> None:
    """Several agents work at once: from a helper's insight alone nobody can go on."""
    async with agent(settings, "auto") as client:
        await call(client, "consolidate", session_id="lead", memory_update="Login works.")
        await call(client, "consolidate", session_id="helper", insights=["Tests are slow."])
        latest = (await call(client, "consolidate"))["latest"]
        helper = (await call(client, "consolidate", session_id="helper"))["latest"]
        nobody = await call(client, "consolidate", session_id="nobody")
        opened = await read(client, "memory_context")

    assert (latest["session"], latest["memoryUpdate"]) == ("lead", "Login works.")
    assert (helper["session"], helper["insights"]) == ("helper", "Tests are slow.")
    assert "latest" not in nobody
    assert nobody["message"] == "Session 'nobody' handed nothing on yet."
    left_off = opened.partition("## Where the last session left off\n")[2]
    assert left_off.startswith("- Login works. [")
    assert "- Tests are slow. [" in opened
    assert "- - " not in opened


async def test_final_alone_makes_the_last_update_final(settings: Settings, era: Era) -> None:
    """A session that has said all need not say it again to end."""
    async with agent(settings, era) as client:
        none = await call(client, "consolidate", session_id="lead", final=True)
        await call(client, "consolidate", session_id="lead", memory_update="Login works.")
        ended = await call(client, "consolidate", session_id="lead", final=True)
        again = await call(client, "consolidate", session_id="lead", final=True)
        latest = (await call(client, "consolidate"))["latest"]

    assert (none["success"], none["outcome"]) == (False, "nothing")
    assert "there is nothing to make final" in none["message"]
    assert list(ended["written"]) == ["final"]
    assert again["outcome"] == "known"
    assert (latest["final"], latest["memoryUpdate"]) == (True, "Login works.")


async def test_a_final_word_without_an_update_is_told_that_it_says_nothing(
    settings: Settings,
) -> None:
    """`final` is about what is true now."""
    async with agent(settings, "auto") as client:
        said = await call(client, "consolidate", insights=["One"], final=True)

    assert "so there is nothing to make final" in said["message"]


async def test_sessions_that_consolidate_at_once_lose_none(tmp_path: Path) -> None:
    """Ten agents on one project, in two processes: each keeps its own series."""
    first, second = real_workspace(tmp_path), real_workspace(tmp_path, ids=FakeIds(1))
    try:
        texts = {f"agent-{n}": f"Agent {n} is done." for n in range(10)}
        outcomes = await asyncio.gather(
            *(
                sessions.consolidate(
                    another_session((first, second)[n % 2]),
                    ConsolidationDraft(f"Agent {n} began.", text, ("It works.",), session=name),
                )
                for n, (name, text) in enumerate(texts.items())
            )
        )
        assert all(
            isinstance(one, ConsolidationReceipt) and len(one.written) == 3 for one in outcomes
        )
        assert await handed_on(first) == sorted(texts.values())
    finally:
        await close_workspace(first)
        await close_workspace(second)


async def test_a_backtrack_hides_what_was_consolidated_on_its_road(
    settings: Settings, era: Era
) -> None:
    """The summary of an abandoned road would lead the next session onto it."""
    async with agent(settings, era) as client:
        await call(client, "consolidate", memory_update="Planned.")
        await seal(client, "Planned", 1)
        await call(client, "consolidate", memory_update="Carts are in Redis.")
        left = (await call(client, "backtrack", to=1, mode="continue"))["line"]
        assert (await call(client, "consolidate"))["latest"]["memoryUpdate"] == "Planned."
        again = await call(client, "consolidate", memory_update="Carts are in cookies.")
        await call(client, "backtrack", to=left, mode="continue")
        latest = (await call(client, "consolidate"))["latest"]

    assert len(again["replaced"]) == 1
    assert latest["memoryUpdate"] == "Carts are in Redis."


async def test_nothing_was_handed_on_yet(settings: Settings, era: Era, project: Path) -> None:
    """To ask leaves no trace, and "nothing" is an answer."""
    async with agent(settings, era) as client:
        said = await call(client, "consolidate")

    assert (said["outcome"], "latest" in said) == ("latest", False)
    assert not (project / ".claude").exists()


async def test_secrets_and_recalled_text_stay_out(
    settings: Settings, era: Era, project: Path
) -> None:
    """A summary is written from what the session saw, our own block among it."""
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    async with agent(settings, era) as client:
        known = await add(client, "Orders live in PostgreSQL.")
        said = await call(
            client,
            "consolidate",
            memory_update=f"Deploys need {key}.",
            history_entry=f"- Orders live in PostgreSQL. [{known}]",
            insights=["Keys rotate."],
        )

    assert files_with(project.parent, key) == []
    assert sorted(said["written"]) == ["checkpoint", "insights"]
    assert "Taken out of memory_update before anything was written" in said["message"]
    assert "What memory itself had recalled was left out of history_entry." in said["message"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"memory_update": "x" * 8_001}, "memory_update has 8,001 characters; the limit is 8,000"),
        ({"history_entry": "x" * 2_001}, "history_entry has 2,001 characters"),
        ({"insights": ["x"] * 16}, "16 insights; the limit is 15"),
        ({"insights": ["x" * 501]}, "one of insights has 501 characters; the limit is 500"),
        ({"insights": "x", "session_id": "a\nb"}, "cannot be a name"),
        ({"insights": "x", "session_id": "s" * 129}, "one line of 1 to 128 characters"),
    ],
)
async def test_what_cannot_be_stored_is_refused(
    settings: Settings, project: Path, given: Json, complaint: str
) -> None:
    """Whole, and before a byte is written."""
    async with agent(settings, "auto") as client:
        said = await refused(client, "consolidate", **given)

    assert complaint in said
    assert not (project / ".claude").exists()


async def test_a_meta_session_hands_nothing_on_but_may_ask(settings: Settings) -> None:
    """It reads the project's memory without writing to it."""
    async with agent(settings, "auto") as client:
        await call(client, "consolidate", memory_update="Planned.")
    async with agent(replace(settings, meta=True), "auto") as client:
        said = await call(client, "consolidate", memory_update="Observed.")
        asked = await call(client, "consolidate")
    async with agent(replace(settings, enabled=False), "auto") as client:
        off = await call(client, "consolidate")

    assert "meta session" in said["message"]
    assert asked["latest"]["memoryUpdate"] == "Planned."
    assert off["success"] is False


async def test_the_day_is_that_of_the_user(tmp_path: Path) -> None:
    """Half past two in the afternoon in UTC is tomorrow in Auckland."""
    workspace = real_workspace(tmp_path, FakeClock())
    try:
        await memories.add_memory(
            workspace, Draft("My time zone is Pacific/Auckland.", reach="user")
        )
        outcome = await sessions.consolidate(workspace, ConsolidationDraft("Begun."))
    finally:
        await close_workspace(workspace)

    assert isinstance(outcome, ConsolidationReceipt)
    assert outcome.written[0].content == "2026-02-01: Begun."


async def test_no_reminder_is_promised_where_there_is_none(settings: Settings) -> None:
    """MEMORY_CHECKPOINT_INTERVAL=0 switches them off."""
    quiet = replace(settings, opening=ContextSettings(interval=0))
    async with agent(quiet, "auto") as client:
        said = await call(client, "consolidate", memory_update="Planned.")

    assert said["message"] == "Consolidated."


def test_the_command_hands_on_as_the_tool_does(run: Run, project: Path) -> None:
    """By options for people, by JSON from stdin for programs; without either it shows the last."""
    as_json(run, "consolidate", "--update", "Planned.", "--insight", "One", "--session", "s-1")
    status, out, _ = run("consolidate", "-", stdin=json.dumps(GIVEN | {"session_id": "s-2"}))
    shown = run("consolidate")[1]

    assert (status, out) == (0, "Consolidated. The next one is due after 10 more turns.\n")
    assert len(records(project)) == 5
    assert shown.startswith("This was handed on last. (")
    assert "session s-2)\nLogin works with OAuth; the recovery mails are missing.\n" in shown
    wrong = complaint(run, "consolidate", '{"memory_update": 7}', expected=2)
    assert "memory_update must be a text (got 7)" in wrong
    assert "any of: history_entry, memory_update, insights, session_id, final." in wrong
