"""The profile through the use cases: drawn from memories, kept in step, gone with its sources."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fakes import FakeClock, fake_workspace
from profile_doors import correct, fact_id, forget, found, lines, opened, say, stored

from memory_mcp import branches, memories, profile
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Added
from memory_mcp.domain.profile import PROFILE_CATEGORY, key_of
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters, View
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.profile.sync import zone_named

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncGenerator[Workspace]:
    async with opened(tmp_path) as there:
        yield there


async def test_what_is_said_of_the_user_becomes_a_fact_that_names_its_source(
    workspace: Workspace,
) -> None:
    """Whoever asks why we believe it is shown the memory."""
    said = await say(workspace, "My name is Ada and I live in Berlin.")

    assert await lines(workspace) == ["Name: Ada", "City: Berlin"]
    _, name, city = await stored(workspace)
    assert (city.kind, city.layer, city.category, city.key) == (
        "fact", "core", "profile", key_of("city"),
    )  # fmt: skip
    assert (city.title, city.content, city.segment) == ("City", "City: Berlin", None)
    assert city.derived_from == name.derived_from == (said.record.id,)
    assert (city.scope, city.origin.by) == (said.record.scope, "system")
    assert said.notes == ("In the profile now: Name: Ada.", "In the profile now: City: Berlin.")


async def test_a_newer_value_takes_the_place_of_the_older_one_and_the_receipt_says_so(
    workspace: Workspace,
) -> None:
    """A contradiction is replaced and reported, never kept side by side."""
    old = await say(workspace, "I live in Berlin, Germany.")
    new = await say(workspace, "I moved to Lisbon.")

    assert await lines(workspace) == ["City: Lisbon"], "a country of the old place would be wrong"
    assert f"City: Lisbon (instead of 'Berlin' from {old.record.id})." in " ".join(new.notes)
    assert "Taken out of the profile: Country: Germany." in new.notes
    assert await found(workspace, category="profile") == ["City: Lisbon"]


async def test_what_is_known_is_not_written_again(workspace: Workspace) -> None:
    """Thirty memories that name the user are thirty memories, and one fact."""
    await say(workspace, "My name is Ada.")
    again = await say(workspace, "I'm Ada and I like tea.")

    assert again.notes == ()
    assert len([r for r in await stored(workspace) if r.key]) == 1
    assert await profile.profile_sync(workspace, again.record) == (), "twice is once"


async def test_a_memory_that_says_nothing_of_the_user_costs_no_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most memories say nothing, and writing them must stay as quick as it was."""
    workspace = fake_workspace()

    find = workspace.user.index.find

    async def no_facts(view: View, filters: Filters, limit: int) -> list[RecordId]:
        assert filters.category != PROFILE_CATEGORY
        return await find(view, filters, limit)

    monkeypatch.setattr(workspace.user.index, "find", no_facts)
    await say(workspace, "The build needs Python 3.12.")
    told = await say(workspace, "I live in Berlin.", reach="project")

    assert told.notes == (
        "About the user (City: Berlin): add it with scope=user to have it in the user's profile.",
    )


async def test_a_project_memory_is_never_drawn_from(workspace: Workspace) -> None:
    """A backtrack could hide it, and what a project says of its user stays with the project."""
    await say(workspace, "My name is Ada.", reach="project")
    lesson = await say(workspace, "My name is Bob.", kind="lesson")

    assert await lines(workspace) == []
    assert lesson.notes == (), "a lesson tells what others said"


async def test_several_goals_stand_side_by_side_up_to_a_limit(workspace: Workspace) -> None:
    """Everything has a limit: the oldest gives way."""
    for number in range(7):
        await say(workspace, f"My goal is to finish book number {number}.")

    assert await lines(workspace) == [f"Goal: finish book number {n}" for n in (6, 5, 4, 3, 2)]


async def test_a_denial_takes_the_fact_away_and_no_other(workspace: Workspace) -> None:
    """Unknown is better than wrong."""
    await say(workspace, "I live in Berlin and work as a nurse.")
    assert (await say(workspace, "I no longer live in Paris.")).notes == ()
    denied = await say(workspace, "I no longer live in Berlin.")

    assert await lines(workspace) == ["Occupation: nurse"]
    contradicted, taken_out = denied.notes
    assert contradicted.startswith("It contradicts 'I live in Berlin.' in ")
    assert taken_out == "Taken out of the profile: City: Berlin."
    await say(workspace, "I live in Berlin.")
    assert await lines(workspace) == ["City: Berlin", "Occupation: nurse"]


async def test_a_correction_renews_what_it_still_says_and_drops_the_rest(
    workspace: Workspace,
) -> None:
    """Derived facts fall with their sources; the visibility rule alone lets them outlive it."""
    old = await say(workspace, "My name is Ada and I live in Berlin.")
    new = await correct(workspace, old.record.id, "My name is Ada and I like tea.")

    assert await lines(workspace) == ["Name: Ada"]
    assert "Taken out of the profile: City: Berlin." in new.notes
    assert await found(workspace, "berlin") == []
    visible = [r for r in await stored(workspace) if r.id == await fact_id(workspace, "Name: Ada")]
    assert visible[0].derived_from == (new.record.id,)


async def test_a_correction_does_not_bring_back_what_was_said_otherwise_since(
    workspace: Workspace,
) -> None:
    """Mending a typo in an old memory is no news about where the user lives."""
    old = await say(workspace, "I live in Berlin and I like teaa.")
    await say(workspace, "I moved to Hamburg.")
    await correct(workspace, old.record.id, "I live in Berlin and I like tea.")
    assert await lines(workspace) == ["City: Hamburg"]

    assert await found(workspace, "berlin", category="profile") == []


async def test_a_memory_that_supersedes_several_takes_their_facts_over(
    workspace: Workspace,
) -> None:
    """A merge is one memory in the place of two."""
    one = await say(workspace, "My name is Ada.")
    two = await say(workspace, "I speak German and Dutch.")
    both = (one.record.id, two.record.id)
    await say(workspace, "My name is Ada Lovelace. I speak German.", instead_of=both)

    assert await lines(workspace) == ["Name: Ada Lovelace", "Speaks: German"]


async def test_a_fact_ends_when_its_source_does(workspace: Workspace) -> None:
    """What was said until a day is not believed after it."""
    clock = workspace.clock
    assert isinstance(clock, FakeClock)
    until = clock.now() + timedelta(days=1)
    await memories.add_memory(workspace, Draft("I live in Rome.", reach="user", expires_at=until))
    assert await lines(workspace) == ["City: Rome"]
    clock.advance(timedelta(days=2))

    assert await lines(workspace) == []


async def test_a_statement_that_lasts_longer_renews_the_fact(workspace: Workspace) -> None:
    """Otherwise it would end with the first one."""
    clock = workspace.clock
    assert isinstance(clock, FakeClock)
    until = clock.now() + timedelta(days=1)
    await memories.add_memory(workspace, Draft("I live in Rome.", reach="user", expires_at=until))
    await say(workspace, "I live in Rome with my cat.")
    clock.advance(timedelta(days=2))

    assert await lines(workspace) == ["City: Rome"]


async def test_a_fact_can_be_corrected_and_forgotten_like_any_memory(workspace: Workspace) -> None:
    """The profile names its id, so it will be named to update_memory."""
    await say(workspace, "I live in Berlin.")
    fixed = await correct(workspace, await fact_id(workspace, "City: Berlin"), "City: Potsdam")
    assert await lines(workspace) == ["City: Potsdam"]
    reworded = await correct(workspace, fixed.record.id, "The user lives in Werder now.")
    assert await lines(workspace) == ["City: Werder"]
    await forget(workspace, reworded.record.id, erase=False)

    assert await lines(workspace) == []


async def test_an_unknown_time_zone_is_not_kept(workspace: Workspace) -> None:
    """The clock of every session would stand on it."""
    said = await say(workspace, "My time zone is Mars/Olympus.")

    assert await lines(workspace) == []
    assert said.notes == (
        "'Mars/Olympus' is no time zone that is known here; name one like Europe/Berlin.",
    )


@pytest.mark.parametrize(
    ("name", "hours"), [("Europe/Berlin", 1), ("UTC", 0), ("UTC+2", 2), ("GMT-3:30", -3.5)]
)
def test_time_zones_are_known_by_name_or_offset(name: str, hours: float) -> None:
    """Both are what people say."""
    zone = zone_named(name)

    assert zone is not None
    assert zone.utcoffset(FakeClock().now().replace(tzinfo=None)) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "name", ["", "Europe", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "UTC+99", "\0"]
)
def test_what_is_no_time_zone_is_none(name: str) -> None:
    """Names come from memories: anything may stand there."""
    assert zone_named(name) is None


async def test_a_profile_that_cannot_be_kept_does_not_cost_the_memory(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Success is said of the memory, which is durable."""
    put = workspace.user.records.put
    kept = 0

    async def full(record: object) -> None:
        nonlocal kept
        kept += 1
        if kept > 1:
            raise StoreUnavailableError("The disk is full.")
        await put(record)  # pyright: ignore[reportArgumentType]  # as it came

    monkeypatch.setattr(workspace.user.records, "put", full)
    said = await say(workspace, "My name is Ada.")

    assert said.notes == ("The profile was not brought up to date: The disk is full.",)
    assert await found(workspace, "ada") == ["My name is Ada."]


async def test_memory_that_is_off_or_meta_writes_no_fact(workspace: Workspace) -> None:
    """Off means off, whoever asks."""
    off = replace(workspace, policy=replace(workspace.policy, enabled=False))
    await memories.add_memory(off, Draft("My name is Ada.", reach="user"))

    assert await stored(workspace) == []
    assert await profile.user_profile(off) == await branches.memory_head(off)


async def test_a_fact_is_nothing_to_merge_a_memory_into(workspace: Workspace) -> None:
    """It follows from a memory; merged into, it would have two."""
    await say(workspace, "I work as a nurse at Charité.")
    draft = Draft("Occupation: nurse, since 2019", category="profile", reach="user")
    told = await memories.add_memory(workspace, draft)

    assert isinstance(told, Added)
    assert told.replaced == ()
