"""A resumed session asks what has changed: new things whole, and of what fell only ids."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import Run, as_json, complaint
from doors import Era, add, agent, call, read, refused, seal
from fakes import START, FakeClock, FakeIds, Scribe, fake_workspace, forked, switched
from project_story import Story, told
from stores_in_memory import MemoryIndex

from memory_mcp import branches, memories, sessions
from memory_mcp.bootstrap.opening import build_bootstrap
from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Backtracked
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.block import Block
from memory_mcp.render.since import make_bound, make_token, parse_since

pytestmark = pytest.mark.anyio


async def token(story: Story) -> str:
    return (await build_bootstrap(story.workspace)).since


async def token_of(known: set[RecordId], now: datetime) -> str:
    """The token of who knows these, at revision 1."""
    index = MemoryIndex()
    await index.add([Scribe().record(id=id_) for id_ in known])
    return make_token(1, [await index.summarise_ids(make_bound(now))], 9)


async def changed(story: Story, since: str, budget: int = 500) -> list[str]:
    """The lines between the head and the figure."""
    block = await sessions.memory_context(story.workspace, "", budget, since)
    assert isinstance(block, Block)
    return [line for line in block.text.splitlines()[2:-2] if " tokens, " not in line]


async def test_a_session_that_resumes_hears_what_is_new_and_what_fell(
    settings: Settings, era: Era
) -> None:
    """Both revisions of the protocol, as a client asks."""
    async with agent(settings, era) as client:
        old = await add(client, "We deploy on Fridays.")
        gone = await add(client, "Carts rest in cookies.")
        await seal(client, "One", phase=1)
        before = await read(client, "memory_context")
        since = before.split(" since=")[1].split()[0]
        nothing = await read(client, "memory_context", since=since)
        await call(client, "update_memory", memory_id=old, content="We deploy on Mondays.")
        await call(client, "forget_memory", memory_id=gone)
        brief = await add(client, "It was said and taken back.")
        await call(client, "forget_memory", memory_id=brief)
        text = await read(client, "memory_context", since=since)
        both = await refused(client, "memory_context", since=since, task="deploy")
        nonsense = await refused(client, "memory_context", since="yesterday")

    assert f"Nothing changed since {since}." in nothing
    assert "We deploy on Mondays." in text
    assert "Fridays" not in text, "what fell may have been wrong: only its id is said"
    assert f"## No longer holds\n- {old}, {gone}." in text
    assert "cookies" not in text
    assert brief not in text, "the session never knew it"
    assert "task and since are two questions" in both
    assert nonsense.startswith("since 'yesterday' is neither what an earlier context ended with")


async def test_a_backtrack_is_counted_and_a_restore_brings_back_by_name(tmp_path: Path) -> None:
    """The count tells that something is missing; the text would bring it back into heads."""
    async with told(tmp_path) as story:
        await story.say("Orders rest in files.")
        await story.seal("One", phase=1)
        since = await token(story)
        await story.say("Carts rest in cookies.")
        await story.say("Carts expire after a day.")
        later = await token(story)
        story.clock.advance(timedelta(minutes=1))
        left = await branches.backtrack(story.workspace, "phase 1", "continue")
        assert await changed(story, since) == [f"Nothing changed since {since}."]
        after = await changed(story, later)
        hidden = await token(story)
        assert isinstance(left, Backtracked)
        await branches.backtrack(story.workspace, left.line or "", "continue")
        again = await changed(story, hidden)
        whole = await changed(story, later)

    assert after == ["## No longer holds", "- A backtrack took 2 memories out of view."]
    assert again[0] == "## Holds again"
    assert sorted(line.split(" [")[0] for line in again[1:]) == [
        "- Carts expire after a day.", "- Carts rest in cookies.",
    ]  # fmt: skip
    assert whole == [f"Nothing changed since {later}."]


async def test_what_a_backtrack_erased_is_counted_too(tmp_path: Path) -> None:
    """There is no record any more that could be counted."""
    async with told(tmp_path) as story:
        await story.seal("One", phase=1)
        await story.say("Carts rest in cookies.")
        since = await token(story)
        story.clock.advance(timedelta(minutes=1))
        await branches.backtrack(story.workspace, "phase 1", "forget")
        assert await changed(story, since) == [
            "## No longer holds", "- A backtrack took 1 memory out of view.",
        ]  # fmt: skip


async def test_what_expired_and_what_was_said_for_another_branch(tmp_path: Path) -> None:
    """Time alone changes what holds; what another branch does is no news here."""
    async with told(tmp_path) as story:
        soon = await story.say("The sale ends soon.", expires_at=START + timedelta(hours=1))
        await story.say("Orders rest in files.")
        story.workspace = await forked(story.workspace, "try", "")
        since = await token(story)
        elsewhere = await story.say("Only here.")
        story.workspace = await switched(story.workspace, "main")
        story.clock.advance(timedelta(hours=2))
        lines = await changed(story, since)

    assert lines == ["## No longer holds", f"- {soon}."]
    assert elsewhere not in "".join(lines)


async def test_a_branch_that_was_not_there_yet_hides_nothing(tmp_path: Path) -> None:
    """What it stands on was there before it."""
    async with told(tmp_path) as story:
        await story.say("Orders rest in files.")
        since = await token(story)
        story.clock.advance(timedelta(minutes=1))
        story.workspace = await forked(story.workspace, "try", "")
        assert await changed(story, since) == [f"Nothing changed since {since}."]


@pytest.mark.nightly
async def test_many_changes_keep_the_budget_and_are_counted(tmp_path: Path) -> None:
    """The best of them first; nobody is told that this is all."""
    async with told(tmp_path) as story:
        since = await token(story)
        for number in range(30):
            await story.say(f"Rule {number} of the house: " + "word " * 30)
        first = await story.say("The vital one.", importance=5)
        gone = [await story.say(f"Gone {number}.") for number in range(14)]
        then = await token(story)
        for record_id in gone:
            await memories.forget_memory(story.workspace, record_id, "", erase=True)
        block = await sessions.memory_context(story.workspace, "", 300, since)
        fell = await changed(story, then)

    assert isinstance(block, Block)
    assert len(block.text) <= 1_200
    assert block.text.splitlines()[3].endswith(f"[{first}]")
    assert f"{31 - block.shown} more: search_memories" in block.text
    assert fell[1].endswith(" and 2 more.")


async def test_who_was_away_for_too_much_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The opening says it better than the first few hundred of thousands of changes."""
    monkeypatch.setattr("memory_mcp.sessions.delta.CHANGES_MAX", 2)
    async with told(tmp_path) as story:
        since = await token(story)
        for number in range(3):
            await story.say(f"Number {number}.")
        with pytest.raises(InvalidRequestError, match="3 records were written since"):
            await changed(story, since)


async def test_a_moment_is_a_token_or_a_time() -> None:
    """A time without a zone is UTC, and what is written at it is not new."""
    newest = FakeIds().new(START)
    by_token = parse_since(await token_of({newest}, START), START)
    by_time = parse_since("2026-01-31T14:30:22.104", START)

    assert (by_token.at, by_token.revision, by_token.total) == (START, 1, 9)
    assert not by_token.precedes(newest)
    assert by_token.precedes(FakeIds().new(START + timedelta(milliseconds=1)))
    assert (by_time.at, by_time.revision) == (START, None)
    assert not by_time.precedes(newest)
    assert parse_since("2026-01-31", START).precedes(newest)
    assert make_token(0, [], 0) == "r0-000000000000000-00000000-0"
    assert parse_since("R0-000000000000000-00000000-0 ", START).precedes(newest)


async def test_what_came_late_is_told_from_what_was_known() -> None:
    """An id is older than the moment at which it appears; the digest says what was known."""
    ids = FakeIds()
    known = {ids.new(START + timedelta(seconds=n)) for n in range(40)}
    ahead = ids.new(START + timedelta(days=300))
    old, older = (ids.new(datetime(2000, 1, day, tzinfo=UTC)) for day in (1, 2))
    slow, slower = (ids.new(START + timedelta(seconds=n, milliseconds=5)) for n in (20, 30))
    new = ids.new(START + timedelta(minutes=2))
    now = START + timedelta(minutes=3)
    since = parse_since(await token_of({*known, ahead}, START + timedelta(minutes=1)), now)

    def said(*came: RecordId, without: RecordId | None = None) -> set[RecordId] | None:
        return since.new_among({*known, ahead, *came} - {without}, (), now)

    assert said() == set(), "a date to come makes nobody blind"
    assert said(new) == {new}
    assert said(new, old) == {new, old}, "imported"
    assert said(slow, slower) == {slow, slower}, "two processes that were slow"
    assert said(old, older, slow) is None
    assert said(without=min(known)) is None, "lost without a word"
    assert since.new_among({*known, ahead, new} - {min(known)}, {min(known)}, now) == {new}


@pytest.mark.parametrize(
    "said",
    [
        "r",
        "r1",
        "r1-xyz",
        "r1-" + "f" * 15 + "-00000000-0",
        "r1-019c147d9b98000",
        "12",
        "tomorrow",
        "2026-13-01",
        "r1-0" * 9,
    ],
)
def test_nonsense_is_refused_with_what_would_do(said: str) -> None:
    """Guessing a moment would hide changes."""
    with pytest.raises(InvalidRequestError, match="neither what an earlier context ended with"):
        parse_since(said, START)


async def test_a_moment_to_come_and_another_projects_token_are_refused() -> None:
    """ "Nothing changed" would be wrong."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    with pytest.raises(InvalidRequestError, match="is yet to come"):
        parse_since("2027-01-01", START)
    with pytest.raises(InvalidRequestError, match="names revision 99 of the head"):
        await sessions.memory_context(workspace, since="r99-019c147d9b98000-00000000-0")


def test_the_command_asks_the_same(run: Run) -> None:
    """Typed by a person or run by a hook."""
    run("add", "Orders rest in files.")
    since = as_json(run, "context")["since"]
    run("add", "Carts rest in cookies.")
    _, text, _ = run("context", "--since", since)

    assert "- Carts rest in cookies. [" in text
    assert "Orders" not in text
    assert "is neither" in complaint(run, "context", "--since", "x", expected=2)
