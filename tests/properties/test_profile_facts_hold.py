"""The profile says nothing that no memory says, whatever was done to the memories."""

from datetime import timedelta

import pytest
from depth import depth
from fakes import FakeClock, fake_workspace
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp import memories, profile, sessions
from memory_mcp.domain.outcomes import MemoryAdded
from memory_mcp.domain.profile import LABELS, MULTI_VALUED, find_profile_field
from memory_mcp.domain.record import Draft, Record
from memory_mcp.engine.head import load_view
from memory_mcp.engine.workspace import Workspace
from memory_mcp.text.user_facts import find_facts
from memory_mcp.timeline.visibility import select_visible

pytestmark = pytest.mark.anyio

PARTS = [
    "My name is Ada.", "Call me Max.", "I live in Berlin, Germany.", "I moved to Lisbon.",
    "I moved to Spain.", "I no longer live in Berlin.", "I speak German and Dutch.",
    "I speak Polish.", "I don't speak Dutch.", "My goal is to run a marathon.",
    "My time zone is Europe/Berlin.", "My time zone is Mars/Olympus.", "I like tea.",
    "Bob lives in Paris.", "The user works as a nurse at Charité.", "I'm not a nurse any more.",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map(" ".join)
ACTS = ["say", "say", "for a while", "later", "correct", "erase", "hide", "again", "elsewhere"]
WHICH = st.lists(st.integers(0, 9), max_size=2)
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), TEXTS, WHICH), max_size=12)


async def take(workspace: Workspace, act: str, text: str, which: list[int]) -> None:
    """One step; what it names are memories that can be seen."""
    there = [r for r in await seen(workspace) if find_profile_field(r) is None]
    named = [there[number % len(there)] for number in which] if there else []
    match act:
        case "say":
            old = tuple(sorted({record.id for record in named}))
            await memories.add_memory(workspace, Draft(text, reach="user", supersedes=old))
        case "for a while":
            until = workspace.clock.now() + timedelta(hours=2)
            await memories.add_memory(workspace, Draft(text, reach="user", expires_at=until))
        case "later":
            assert isinstance(workspace.clock, FakeClock)
            workspace.clock.advance(timedelta(hours=1))
        case "elsewhere":
            await memories.add_memory(workspace, Draft(text))
        case "correct" if named:
            await memories.update_memory(workspace, named[0].id, text)
        case "again" if named:  # as when the same is said a second time and not stored
            await profile.sync_profile(workspace, named[0])
        case "erase" | "hide" if named:
            await memories.forget_memory(workspace, named[0].id, "", erase=act == "erase")
        case _:
            pass


async def seen(workspace: Workspace) -> list[Record]:
    """What the pure rule shows of the user scope."""
    every = [r async for r in workspace.user.records.scan(await workspace.user.records.ids())]
    return [r for r in select_visible(every, await load_view(workspace)) if r.recalled]


async def holds(workspace: Workspace) -> None:
    """Every fact is said by a visible memory, and of one field no more than it can have."""
    there = {record.id: record for record in await seen(workspace)}
    facts = [record for record in there.values() if find_profile_field(record)]
    for fact in facts:
        (source,) = fact.derived_from
        assert source in there
        assert fact.content in {f.line for f in find_facts(there[source].content) if f.holds}
    for field in LABELS:  # beneath what is said for a while stands what lasts
        lasting = [fact for fact in facts if fact.expires_at is None]
        assert sum(find_profile_field(fact) == field for fact in lasting) <= MULTI_VALUED.get(
            field, 1
        )
    known = await profile.read_profile(workspace, await load_view(workspace))
    for field in LABELS:
        assert len(known.values(field)) <= MULTI_VALUED.get(field, 1)
    assert {e.memory_id for e in known.entries} <= {fact.id for fact in facts}
    assert {e.fact.field for e in known.entries} >= {find_profile_field(fact) for fact in facts} - {
        "country"
    }
    kept = await workspace.user.records.ids()
    erased = await workspace.user.index.erased()
    stored = [r async for r in workspace.user.records.scan(kept)]
    assert not [r for r in stored if find_profile_field(r) and erased.intersection(r.derived_from)]


async def lasting(workspace: Workspace) -> set[str]:
    """The facts that stand for good, those beneath a passing one included."""
    return {
        r.content for r in await seen(workspace) if find_profile_field(r) and r.expires_at is None
    }


async def agreed(workspace: Workspace, line: str) -> bool:
    """Whether all visible memories that say anything for good of its field say just this."""
    there = [r for r in await seen(workspace) if not find_profile_field(r) and r.expires_at is None]
    said = [fact for record in there for fact in find_facts(record.content)]
    field = next(f for f in LABELS if line.startswith(f"{LABELS[f]}: "))
    words = {fact.line if fact.holds else "" for fact in said if fact.field == field}
    return words == {line}


@given(STEPS)
@settings(max_examples=depth(10, 60))
async def test_every_visible_fact_is_said_by_a_visible_memory(
    steps: list[tuple[str, str, list[int]]],
) -> None:
    """A fact that outlives its memory is a leak; one that nobody said is a lie."""
    workspace = fake_workspace(FakeClock())
    await sessions.catch_up(workspace)
    for act, text, which in steps:
        stood = await lasting(workspace)
        await take(workspace, act, text, which)
        await holds(workspace)
        assert not [
            line for line in stood - await lasting(workspace) if await agreed(workspace, line)
        ]


async def test_the_statements_really_make_and_take_away_facts() -> None:
    """Otherwise nothing would be tested above."""
    workspace = fake_workspace()
    for part in PARTS:
        outcome = await memories.add_memory(workspace, Draft(part, reach="user"))
        assert isinstance(outcome, MemoryAdded)
    said = [
        e.fact.line
        for e in (await profile.read_profile(workspace, await load_view(workspace))).entries
    ]

    assert said == [
        "Name: Max", "Country: Spain", "Time zone: Europe/Berlin", "Employer: Charité",
        "Speaks: Polish", "Speaks: German", "Goal: run a marathon",
    ]  # fmt: skip
