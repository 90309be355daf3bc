"""A fact stands as long as anything says it, and never because of what was taken back."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes import FakeClock
from profile_doors import correct, fact_id, forget, found, lines, opened, repeat, say

from memory_mcp import branches, memories
from memory_mcp.domain.outcomes import HeadReport
from memory_mcp.domain.record import Draft
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.receipts import added_fields

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncGenerator[Workspace]:
    async with opened(tmp_path) as there:
        yield there


@pytest.mark.parametrize("erase", [True, False])
async def test_a_fact_stands_while_another_memory_says_it(
    workspace: Workspace, *, erase: bool
) -> None:
    """Whoever forgets one of three memories of a name still has the name."""
    first = await say(workspace, "My name is Ada and I live in Berlin.")
    again = await say(workspace, "My name is Ada.")
    called = await say(workspace, "Call me Ada.")
    told = await forget(workspace, first.record.id, erase=erase)
    assert await lines(workspace) == ["Name: Ada"]
    assert "In the profile now: Name: Ada." in " ".join(told.notes)

    await forget(workspace, called.record.id, erase=erase)
    assert await lines(workspace) == ["Name: Ada"]
    await forget(workspace, again.record.id, erase=erase)
    assert await lines(workspace) == []


async def test_a_corrected_or_superseded_source_does_not_take_what_others_say(
    workspace: Workspace,
) -> None:
    """A merge and a correction are losses as well."""
    first = await say(workspace, "My name is Ada and I live in Berlin.")
    second = await say(workspace, "I live in Berlin with my cat.")
    await say(workspace, "Call me Ada.")
    corrected = await correct(workspace, first.record.id, "I like tea.")
    assert corrected.notes == (), "nothing became of it"
    assert await lines(workspace) == ["Name: Ada", "City: Berlin"]

    await say(workspace, "I like cats.", instead_of=(second.record.id, corrected.record.id))
    assert await lines(workspace) == ["Name: Ada"]


async def test_what_was_denied_or_said_otherwise_since_does_not_come_back(
    workspace: Workspace,
) -> None:
    """The last word counts, not the last memory that agrees."""
    await say(workspace, "I live in Berlin.")
    await say(workspace, "I no longer live in Berlin.")
    again = await say(workspace, "I live in Berlin with my cat.")
    await forget(workspace, again.record.id, erase=False)
    assert await lines(workspace) == []

    await say(workspace, "I speak Dutch.")
    await say(workspace, "I don't speak Dutch.")
    spoken = await say(workspace, "I speak Dutch and German.")
    await forget(workspace, spoken.record.id, erase=True)
    assert await lines(workspace) == []


async def test_a_passing_statement_ends_no_lasting_fact(workspace: Workspace) -> None:
    """A month in Rome is over when it is over."""
    clock = workspace.clock
    assert isinstance(clock, FakeClock)
    until = clock.now() + timedelta(days=30)
    await say(workspace, "I live in Berlin, Germany.")
    await say(workspace, "I live in Rome.", until=until)
    assert await lines(workspace) == ["City: Rome"]
    await say(workspace, "I no longer live in Berlin.", until=until)

    clock.advance(timedelta(days=31))
    assert await lines(workspace) == ["City: Berlin", "Country: Germany"]


async def test_what_is_said_for_good_ends_what_was_said_for_a_while(workspace: Workspace) -> None:
    """News is news; but mending an old memory is none."""
    clock = workspace.clock
    assert isinstance(clock, FakeClock)
    until = clock.now() + timedelta(days=30)
    old = await say(workspace, "I live in Berlin and I like teaa.")
    rome = await say(workspace, "I live in Rome.", until=until)
    await correct(workspace, old.record.id, "I live in Berlin and I like tea.")
    assert await lines(workspace) == ["City: Rome"]
    await say(workspace, "I live in Oslo.")
    assert await lines(workspace) == ["City: Oslo"]

    await forget(workspace, rome.record.id, erase=False)
    assert await lines(workspace) == ["City: Oslo"]


async def test_a_rejected_fact_is_not_drawn_again(workspace: Workspace) -> None:
    """The user said that it is wrong: whoever repeats its source hears of it."""
    await say(workspace, "I live in Berlin.")
    await forget(workspace, await fact_id(workspace, "City: Berlin"), erase=False, reason="wrong")
    again = await repeat(workspace, "I live in Berlin.")
    other = await say(workspace, "I live in Berlin with my cat.")

    assert await lines(workspace) == []
    assert again.notes == other.notes
    assert "City: Berlin, which was rejected on" in again.notes[0]
    assert "(wrong)" in again.notes[0]


async def test_a_rejected_fact_can_be_said_anew(workspace: Workspace) -> None:
    """People change their minds, and say it in the same words."""
    await say(workspace, "I live in Berlin.")
    await forget(workspace, await fact_id(workspace, "City: Berlin"), erase=True, reason="wrong")
    note = (await repeat(workspace, "I live in Berlin.")).notes[0]
    await say(workspace, "I live in Berlin.", instead_of=(note.split("'")[1],))

    assert await lines(workspace) == ["City: Berlin"]


async def test_a_fact_that_was_hidden_by_itself_stays_hidden(workspace: Workspace) -> None:
    """Drawing it from its source at once would make the forget a joke."""
    await say(workspace, "I live in Berlin.")
    await say(workspace, "I live in Berlin with my cat.")
    await forget(workspace, await fact_id(workspace, "City: Berlin"), erase=False)

    assert await lines(workspace) == []


async def test_the_receipt_of_what_is_known_tells_what_became_of_the_profile(
    workspace: Workspace,
) -> None:
    """Nothing that is written goes without a word."""
    await say(workspace, "I live in Berlin.")
    moved = await say(workspace, "I moved to Hamburg.")
    again = await repeat(workspace, "I live in Berlin.")

    assert again.notes == (
        f"In the profile now: City: Berlin (instead of 'Hamburg' from {moved.record.id}).",
    )
    message = added_fields(again)["message"]
    assert message.startswith("Known already, so no memory was written. ")
    assert message.endswith(f" {again.notes[0]}")


async def test_facts_are_not_found_beside_their_sources(workspace: Workspace) -> None:
    """Three memories of one name are three results, and the head counts what was remembered."""
    await say(workspace, "My name is Ada and I live in Berlin.")
    report = await branches.memory_head(workspace)

    assert await found(workspace) == await found(workspace, "ada name city berlin")
    assert await found(workspace) == ["My name is Ada and I live in Berlin."]
    assert await found(workspace, category="Profile") == ["City: Berlin", "Name: Ada"]
    assert isinstance(report, HeadReport)
    assert report.durable == 1


async def test_a_memory_filed_under_profile_is_found(workspace: Workspace) -> None:
    """Only what we draw ourselves is left out."""
    await memories.add_memory(
        workspace, Draft("The user's avatar is a cat.", category="profile", reach="user")
    )

    assert await found(workspace, "avatar") == ["The user's avatar is a cat."]


@pytest.mark.parametrize(
    ("correction", "then"),
    [("I live in Hamburg.", ["Name: Ada", "City: Hamburg"]), ("I like tea.", ["Name: Ada"])],
)
async def test_no_read_shows_a_fact_whose_source_is_gone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, correction: str, then: list[str]
) -> None:
    """A cut may come between a correction and its consequences; the next write mends it."""
    old = await say(workspace, "I live in Berlin.")

    async def cut(*_: object) -> tuple[str, ...]:
        return ()

    with monkeypatch.context() as once:
        once.setattr("memory_mcp.memories.update.profile_sync", cut)
        await correct(workspace, old.record.id, correction)
    assert await lines(workspace) == []
    assert await found(workspace, category="profile") == []
    assert await found(workspace, "berlin", category="profile") == []
    await say(workspace, "My name is Ada.")

    assert await lines(workspace) == then
    cities = [line for line in then if line.startswith("City")]
    assert await found(workspace, "city berlin", category="profile") == cities
