"""Episodes through the tool: what a session leaves behind, and what it must not."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import Run
from doors import (
    Era,
    Json,
    add,
    agent,
    call,
    files_with,
    read,
    recalled,
    records,
    refused,
    seal,
)
from fake_language import FakeLanguage
from fakes import FakeClock, FakeIds, another_session, called, fake_workspace
from mcp import Client

from memory_mcp import branches, engine, memories, sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import EpisodeOutcome, EpisodePostponed, EpisodeSaved, Skipped
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.sessions import EpisodeSettings, Turn
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import ModelUnavailableError

pytestmark = pytest.mark.anyio


NO_PAUSE = EpisodeSettings(cooldown_turns=1, cooldown_minutes=0)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A session with a name that offers the tool, and need not pause."""
    return replace(settings, toolsets=("session",), session="s-1", episode_settings=NO_PAUSE)


def messages(*lines: str) -> list[Json]:
    """The user's and the assistant's in turn."""
    return [
        {"role": "assistant" if place % 2 else "user", "content": line}
        for place, line in enumerate(lines)
    ]


async def capture(client: Client, turn: int, *lines: str, **more: Any) -> Json:
    """What the tool says to these messages."""
    return await call(client, "episodic_capture", turns=messages(*lines), turn=turn, **more)


def episodes(folder: Path) -> list[Json]:
    """The episodes on disk, oldest first."""
    return [record for record in records(folder) if record["kind"] == "episode"]


async def test_an_episode_is_a_record_on_the_timeline_of_its_session(
    settings: Settings, era: Era, project: Path
) -> None:
    """Everything that the next capture must know stands in the record."""
    async with agent(settings, era) as client:
        said = await capture(
            client, 2, "Hi! Please move the cart to Redis.", "The cart lives in Redis now."
        )
        assert await recalled(client, "cart redis") == [
            "- user: Please move the cart to Redis.\n- assistant: The cart lives in Redis now."
        ]

    (record,) = episodes(project)
    assert said == {
        "success": True, "memoryId": record["id"], "outcome": "inserted",
        "title": record["title"], "message": "Captured.",
    }  # fmt: skip
    assert record["title"].startswith(record["created_at"][:10])
    assert (record["layer"], record["segment"], record["branch"]) == ("recall", "root", "main")
    assert record["origin"]["session"] == "s-1"
    assert record["key"].startswith("project:shop-")
    assert re.search(r":episode:s-1:2~[0-9a-f]{16}$", record["key"])


async def test_a_second_one_that_tells_little_new_is_merged(
    settings: Settings, era: Era, project: Path
) -> None:
    """One matter is one episode; the one before it can be restored."""
    async with agent(settings, era) as client:
        first = await capture(client, 1, "Please move the cart of the shop to Redis.")
        second = await capture(
            client, 2, "Please move the cart of the shop to Redis.", "The cart is in Redis now."
        )
        third = await capture(client, 3, "Please order toner for the printers of Leeds.")
        assert len(await recalled(client, kind=None)) == 2

    assert (first["outcome"], second["outcome"], third["outcome"]) == (
        "inserted", "merged", "inserted",
    )  # fmt: skip
    assert second["replaced"] == [first["memoryId"]]
    merged = episodes(project)[1]
    assert merged["supersedes"] == merged["derived_from"] == [first["memoryId"]]
    assert merged["content"].splitlines() == [
        "- user: Please move the cart of the shop to Redis.",
        "- assistant: The cart is in Redis now.",
    ]


async def test_forgetting_what_a_merged_episode_was_made_of_takes_it_along(
    settings: Settings, era: Era
) -> None:
    """Its words are the forgotten ones."""
    async with agent(settings, era) as client:
        first = await capture(client, 1, "Please move the cart of the shop to Redis.")
        await capture(client, 2, "", "The cart of the shop is in Redis now.")
        assert len(await recalled(client, "cart")) == 1
        await call(client, "forget_memory", memory_id=first["memoryId"])
        assert await recalled(client, "cart") == []


async def test_it_is_written_again_only_after_the_pauses(settings: Settings, era: Era) -> None:
    """Hooks call after every message."""
    async with agent(replace(settings, episode_settings=EpisodeSettings()), era) as client:
        early = await capture(client, 5, "Please move the cart to Redis.")
        first = await capture(client, 6, "Please move the cart to Redis.")
        soon = await capture(client, 20, "Please move the orders to Kafka.")
        end = await capture(client, 21, "Please move the orders to Kafka.", final=True)
        twice = await capture(client, 21, "Please move the orders to Kafka.", final=True)

    assert (early["outcome"], "5 turns" in early["message"]) == ("waited", True)
    assert first["outcome"] == "inserted"
    assert "EPISODIC_COOLDOWN_MINUTES" in soon["message"]
    assert end["outcome"] == "inserted"
    assert twice["message"] == "Turn 21 of this session was captured already."


async def test_small_talk_and_recalled_text_leave_no_episode(
    settings: Settings, era: Era, project: Path
) -> None:
    """What memory said must not come back as what happened."""
    async with agent(settings, era) as client:
        await add(client, "The shop sells coffee beans from Brazil.")
        block = await read(client, "memory_context")
        found = await call(client, "search_memories", query="coffee")
        waited = await capture(
            client, 4, "Hi!", f"Here is what I know:\n{block}", "Thanks!",
            f"{json.dumps(found)}\nThe shop sells coffee beans from Brazil.",
        )  # fmt: skip

    assert waited["outcome"] == "waited"
    assert episodes(project) == []


QUEUE = "Which queue do we use for sending the mails, Redis or RabbitMQ?"
TALK = (
    QUEUE,
    "Redis loses messages when the box restarts, RabbitMQ acknowledges each of them.",
    "then Rabbit, losing a password mail is worse than one more service",
)


async def test_an_exchange_without_an_answer_leaves_no_episode(
    settings: Settings, era: Era, project: Path
) -> None:
    """Whoever asks the same again would find the question and nothing else."""
    async with agent(settings, era) as client:
        alone = await capture(client, 1, QUEUE)
        waited = await capture(
            client, 5, QUEUE, "I can't find a rule for it. I would have to ask Dana.",
            "ok leave it for now", "Fine, I've left it as it is.",
        )  # fmt: skip

    assert alone["outcome"] == waited["outcome"] == "waited"
    assert episodes(project) == []


async def test_a_decision_goes_before_the_talk_in_which_it_was_made(
    settings: Settings, era: Era
) -> None:
    """The talk repeats the question word for word, and the decision answers it."""
    decision = "Mails are sent through RabbitMQ: the queue in Redis could lose messages."
    async with agent(settings, era) as client:
        await capture(client, 3, *TALK)
        assert (await recalled(client, QUEUE))[0].startswith("- user: Which queue")
        await add(client, decision, kind="decision")

        for asked in (QUEUE, "Which queue do we use for sending the mails?"):
            found = (await call(client, "search_memories", query=asked))["results"]
            assert [each["metadata"]["kind"] for each in found] == ["decision", "episode"]
            assert found[0]["score"] >= found[1]["score"]


async def test_a_secret_in_a_turn_is_gone_before_anything_is_written(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """People paste keys into conversations."""
    private = "<private>the code of the\nfront door is orchid-4711</private>"
    async with agent(settings, era) as client:
        await capture(client, 1, f"Please write the note for the cleaners: {private} it is new.")

    (record,) = episodes(tmp_path)
    assert "Please write the note for the cleaners" in record["content"]
    assert files_with(tmp_path, "orchid-4711") == files_with(tmp_path, "front door") == []


async def test_an_episode_belongs_to_the_phase_that_is_worked_on(
    settings: Settings, era: Era, project: Path
) -> None:
    """As everything else that is written in it; MEMORY_PHASE need not say so."""
    async with open_workspace(settings) as built:
        await engine.move_to_phase(built.workspace, 3)
    async with agent(settings, era) as client:
        await capture(client, 1, "Please move the cart service to SQLite.")

    assert [record["phase"] for record in episodes(project)] == [3]


async def test_a_backtrack_hides_the_episodes_of_the_road_that_is_left(
    settings: Settings, era: Era
) -> None:
    """And the turns of that road are not told on the next one."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        await capture(client, 1, "Please move the cart to Redis.")
        gone = await call(client, "backtrack", to=1, mode="continue")
        assert await recalled(client, "redis") == []
        told = await capture(
            client, 6, "Please move the cart to Redis.", "Redis needs three nodes here.",
            "Redis costs too much.", "Back at phase one.", "Please keep the cart in SQLite.",
        )  # fmt: skip
        assert told["outcome"] == "inserted"
        assert await recalled(client, "redis") == []
        assert await recalled(client, "sqlite") == ["- user: Please keep the cart in SQLite."]
        await call(client, "backtrack", to=gone["line"], mode="continue")
        assert await recalled(client, "redis") == ["- user: Please move the cart to Redis."]


async def test_turns_that_say_when_they_were_are_told_apart_by_it(
    settings: Settings, era: Era
) -> None:
    """A hook knows the times; with them nothing of the new road is lost."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        before = datetime.now(UTC)
        await call(client, "backtrack", to="start", mode="continue")
        after = datetime.now(UTC) + timedelta(seconds=5)
        turns = messages("Please use Redis for carts.", "Redis is used for carts now.")
        turns += messages("Please use SQLite.", "SQLite is used now.")
        times = [before, before, after, after.replace(tzinfo=None)]
        turns = [{**turn, "at": at.isoformat()} for turn, at in zip(turns, times, strict=True)]
        await call(client, "episodic_capture", turns=turns, turn=4)
        assert await recalled(client, "used") == [
            "- user: Please use SQLite.\n- assistant: SQLite is used now."
        ]


async def test_a_number_that_cannot_be_is_refused_with_what_it_means(
    settings: Settings, era: Era
) -> None:
    """Counted in exchanges instead of messages, the pauses would be twice as long."""
    async with agent(settings, era) as client:
        few = await refused(client, "episodic_capture", turns=messages("a", "b"), turn=1)
        negative = await refused(client, "episodic_capture", turns=[], turn=-1)
        role = await refused(
            client, "episodic_capture", turns=[{"role": "tool", "content": "x"}], turn=1
        )
        nothing = await call(client, "episodic_capture", turns=[], turn=1)

    assert "turn is 1, but 2 turns were given" in few
    assert "must be 0 to" in negative
    assert "turns.0.role" in role
    assert nothing["outcome"] == "waited"


async def test_a_meta_session_leaves_no_episode(settings: Settings, project: Path) -> None:
    """It reads and leaves no trace."""
    async with agent(replace(settings, meta=True), "auto") as client:
        said = await capture(client, 1, "Please move the cart to Redis.")

    assert said["success"] is False
    assert records(project) == []


@pytest.mark.protocol
async def test_the_tool_is_cheap(settings: Settings, era: Era) -> None:
    """Whoever switches it on pays for it in each session."""
    async with agent(settings, era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    wire = tools["episodic_capture"].model_dump_json(by_alias=True, exclude_none=True)
    assert len(wire) <= 1_200


def test_the_command_reads_turns_from_a_hook(run: Run, project: Path) -> None:
    """Hooks have a conversation as JSON and no MCP client."""
    turns = [
        {"role": "user", "content": "Please move the cart to Redis.", "at": "2026-01-31T10:00"}
    ]
    status, out, _ = run("episode", "-", "--final", "--json", stdin=json.dumps(turns))
    again, _, _ = run("episode", json.dumps(turns), "--turn", "1", "--final")
    wrong, _, error = run("episode", "-", stdin='[{"role": "tool", "content": "x"}]')
    broken, _, prose = run("episode", "-", stdin="hello")

    assert (status, json.loads(out)["outcome"], again) == (0, "inserted", 0)
    assert len(episodes(project)) == 1
    assert (wrong, broken) == (1, 1)
    assert "cannot be read: 0.role " in error
    assert "Give a JSON list" in prose


def test_windows_of_named_sessions_are_captured_each(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the help says it, a hook pipes the last messages and need not count."""
    for name, value in {"COOLDOWN_MINUTES": "0", "MERGE_WINDOW_HOURS": "0"}.items():
        monkeypatch.setenv(f"EPISODIC_{name}", value)
    lines = [f"Please write page {n} about {n * 7} {chr(97 + n) * 5}." for n in range(12)]
    for session in ("one", "two"):
        for end in (6, 12):
            turns = json.dumps([{"role": "user", "content": line} for line in lines[end - 6 : end]])
            status, out, error = run("episode", "-", "--session", session, "--json", stdin=turns)
            assert (status, json.loads(out)["outcome"]) == (0, "inserted"), out + error

    found = episodes(project)
    assert [each["origin"]["session"] for each in found] == ["one", "one", "two", "two"]
    assert [each["content"].count("\n") for each in found] == [5, 5, 5, 5]
    assert [each["key"].rpartition(":")[2].split("~")[0] for each in found] == ["6", "12"] * 2


async def test_a_server_without_a_session_has_one_of_its_own(
    settings: Settings, era: Era, project: Path
) -> None:
    """Else the messages of every new session would be taken for those of the last."""
    unnamed = replace(settings, session="", episode_settings=EpisodeSettings(merge_hours=0))
    lines = [f"Please write page {n} for the {n * 7} printers." for n in range(6)]
    for _ in range(2):
        async with agent(unnamed, era) as client:
            assert (await capture(client, 6, *lines))["outcome"] == "inserted"

    names = {each["origin"]["session"] for each in episodes(project)}
    assert len(names) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)


# Episodes in memory: the cap, captures that overlap, a model, and lines given up meanwhile.


def in_memory(pace: EpisodeSettings) -> tuple[Workspace, FakeClock]:
    """A workspace in memory and their clock."""
    clock = FakeClock()
    return fake_workspace(clock, FakeIds(), policy=Policy(episode_settings=pace)), clock


def about(subject: str) -> list[Turn]:
    """A request about something."""
    return [Turn("user", f"Please write the {subject} for {subject} customers.")]


async def episode_of(outcome: EpisodeOutcome) -> Record:
    """The record that was written."""
    assert isinstance(outcome, EpisodeSaved), outcome
    return outcome.record


async def test_the_cap_of_a_day_counts_roads_that_were_left_and_ends_at_midnight() -> None:
    """A backtrack must not double what a day may hold."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=2, merge_hours=0))
    await branches.checkpoint(workspace, "One", 1, again=False, approval="auto")
    for turn, subject in enumerate(("invoice", "label"), start=1):
        await episode_of(await sessions.capture_episode(workspace, about(subject), turn))
        clock.advance(timedelta(minutes=1))
    await branches.backtrack(workspace, "1", "continue")
    clock.advance(timedelta(minutes=1))
    full = await sessions.capture_episode(workspace, about("poster"), 3)
    clock.advance(timedelta(days=1))
    await episode_of(await sessions.capture_episode(workspace, about("poster"), 4))

    assert full == EpisodePostponed(
        "This session has its 2 episodes of the day (EPISODIC_MAX_PER_DAY)."
    )


async def test_captures_that_overlap_exceed_the_cap_by_no_more_than_they_are() -> None:
    """No lock is held: what overlaps may each write one, and all later ones see them."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=1, merge_hours=0))
    other = another_session(workspace)
    outcomes = await asyncio.gather(
        sessions.capture_episode(workspace, about("invoice"), 1),
        sessions.capture_episode(other, about("label"), 2),
    )
    clock.advance(timedelta(minutes=1))
    later = await sessions.capture_episode(workspace, about("poster"), 3)

    assert 1 <= sum(isinstance(outcome, EpisodeSaved) for outcome in outcomes) <= 2
    assert isinstance(later, EpisodePostponed)


class Summing(FakeLanguage):
    """Sums up as it is told to."""

    def __init__(self, sums_up: Callable[[Sequence[str]], Awaitable[str]]) -> None:
        super().__init__()
        self._sums_up = sums_up

    async def summarise(self, turns: Sequence[str]) -> str:
        return await self._sums_up(turns)


async def test_a_model_sums_up_if_it_answers() -> None:
    """And what it says is looked through again; if it is down, nobody waits for it twice."""
    plain, _ = in_memory(NO_PAUSE)
    heard: list[list[str]] = []

    async def answers(turns: Sequence[str]) -> str:
        heard.append(list(turns))
        return "They moved the cart to Redis.\n- Old. [0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77]"

    async def is_down(_: Sequence[str]) -> str:
        raise ModelUnavailableError("It does not answer.")

    workspace = replace(plain, language=Summing(answers))
    by_model = await sessions.capture_episode(workspace, about("invoice"), 1)
    down = replace(plain, language=Summing(is_down))
    without = await sessions.capture_episode(down, about("label"), 2)
    quiet = await sessions.capture_episode(workspace, [Turn("user", "Thanks!")], 3)

    assert (await episode_of(by_model)).content == "They moved the cart to Redis."
    assert heard == [["user: Please write the invoice for invoice customers."]]
    assert isinstance(without, EpisodeSaved)
    assert without.notes == ("Summed up without the language model: It does not answer.",)
    assert without.record.content == "- user: Please write the label for label customers."
    assert isinstance(quiet, EpisodePostponed)


async def test_a_capture_looks_again_after_the_model() -> None:
    """A model takes seconds, in which another hook may have told the same."""
    workspace, clock = in_memory(EpisodeSettings(cooldown_turns=1, merge_hours=0))

    async def slow(_: Sequence[str]) -> str:
        await sessions.capture_episode(workspace, about("invoice"), 1)
        clock.advance(timedelta(seconds=10))
        return "The invoice was written."

    late = await sessions.capture_episode(
        replace(workspace, language=Summing(slow)), about("invoice"), 1
    )

    assert late == EpisodePostponed("Turn 1 of this session was captured already.")


def windows(number: int, new: int, size: int) -> list[list[Turn]]:
    """What a hook hands in that knows the last messages only: each time some are new."""
    subjects = "invoice label poster ticket letter recipe manual contract budget report".split()  # noqa: SIM905
    talk = [
        each
        for count, subject in enumerate(subjects * 9)
        for each in (*about(f"{subject} {count}"), Turn("assistant", "Okay."))
    ]
    return [talk[max(0, end - size) : end] for end in range(new, new * number + 1, new)]


@pytest.mark.parametrize(("new", "size"), [(6, 12), (6, 6), (12, 12), (8, 500), (7, 12)])
async def test_windows_without_a_number_are_captured_one_by_one(new: int, size: int) -> None:
    """The last dozen messages, or all there were: either way each is told once."""
    workspace, clock = in_memory(EpisodeSettings(cooldown_minutes=0, merge_hours=0))
    told: list[str] = []
    for turns in windows(5, new, size):
        record = await episode_of(await sessions.capture_episode(workspace, turns, None))
        told += record.content.splitlines()
        clock.advance(timedelta(minutes=1))
        again = await sessions.capture_episode(workspace, turns, None)
        assert "captured already" in str(again)

    assert len(told) == len(set(told)) == -(-5 * new // 2)


async def test_without_a_number_the_pauses_hold_all_the_same() -> None:
    """Hooks call after every message."""
    workspace, clock = in_memory(EpisodeSettings(merge_hours=0, cooldown_minutes=5))
    first, early, later = (windows(3, new, 12)[-1] for new in (2, 3, 5))
    await episode_of(await sessions.capture_episode(workspace, first, None))
    clock.advance(timedelta(minutes=4))
    assert "COOLDOWN_MINUTES" in str(await sessions.capture_episode(workspace, later, None))
    clock.advance(timedelta(minutes=1))
    assert "3 turns since" in str(await sessions.capture_episode(workspace, early, None))

    await episode_of(await sessions.capture_episode(workspace, later, None))


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("erase", [True, False])
async def test_what_was_forgotten_is_not_told_again_and_frees_no_place(
    *, numbered: bool, erase: bool
) -> None:
    """Whoever forgets an episode does not want it back with the next message."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=2, merge_hours=0))
    turns = about("invoice")
    record = await episode_of(
        await sessions.capture_episode(workspace, turns, 1 if numbered else None)
    )
    clock.advance(timedelta(minutes=1))
    elsewhere = called(workspace, conversation="another")
    await memories.forget_memory(elsewhere, record.id, "It was a test.", erase=erase)
    clock.advance(timedelta(minutes=1))
    again = await sessions.capture_episode(workspace, turns, 1 if numbered else None)
    turns += about("label")
    more = await episode_of(
        await sessions.capture_episode(workspace, turns, 2 if numbered else None)
    )
    clock.advance(timedelta(minutes=1))
    turns += about("poster")
    full = await sessions.capture_episode(workspace, turns, 3 if numbered else None)

    assert again == EpisodePostponed("Turn 1 of this session was captured already.")
    assert more.content == "- user: Please write the label for label customers."
    assert full == EpisodePostponed(
        "This session has its 2 episodes of the day (EPISODIC_MAX_PER_DAY)."
    )


async def test_of_a_merged_episode_all_is_remembered_as_told() -> None:
    """What is forgotten by its first part goes up to its last turn."""
    workspace, clock = in_memory(NO_PAUSE)
    turns = about("invoice")
    first = await episode_of(await sessions.capture_episode(workspace, turns, 1))
    clock.advance(timedelta(minutes=1))
    turns += [Turn("assistant", "The invoice for invoice customers is written.")]
    merged = await episode_of(await sessions.capture_episode(workspace, turns, 2))
    assert merged.supersedes == (first.id,)
    await memories.forget_memory(workspace, first.id, "", erase=True)

    assert "Turn 2" in str(await sessions.capture_episode(workspace, turns, 2))
    assert "Turn 2" in str(await sessions.capture_episode(workspace, turns, None))


async def test_conversations_of_one_server_have_episodes_of_their_own() -> None:
    """Counted as one, a new conversation would be taken for a part of the old one."""
    workspace, _ = in_memory(EpisodeSettings(merge_hours=0))
    one, other = (called(workspace, conversation=name) for name in "12")
    turns = windows(1, 6, 12)[0]

    for each in (one, other):
        record = await episode_of(await sessions.capture_episode(each, turns, 6))
        assert record.origin.session == each.caller.conversation


async def test_the_title_is_in_the_users_time_zone_and_the_day_of_the_cap_in_utc() -> None:
    """ "Yesterday evening" is the user's; a cap that moves with the user is none."""
    workspace, clock = in_memory(replace(NO_PAUSE, per_day=1, merge_hours=0))
    draft = Draft(content="My time zone is Pacific/Auckland.", reach="user")
    await memories.add_memory(workspace, draft)
    record = await episode_of(await sessions.capture_episode(workspace, about("invoice"), 1))
    clock.advance(timedelta(hours=9))
    full = await sessions.capture_episode(workspace, about("label"), 2)

    assert clock.now().isoformat().startswith("2026-01-31T23:30")
    assert record.title == "2026-02-01 night"
    assert isinstance(full, EpisodePostponed)
    clock.advance(timedelta(hours=1))
    later = await episode_of(await sessions.capture_episode(workspace, about("label"), 2))
    assert later.title == "2026-02-01 afternoon"


async def test_a_line_that_is_given_up_meanwhile_keeps_no_episode() -> None:
    """What was forgotten for good must not come back a moment later."""
    workspace, clock = in_memory(NO_PAUSE)
    await branches.checkpoint(workspace, "One", 1, again=False, approval="auto")
    keep = type(workspace.project).keep
    modes: list[Any] = ["continue", "forget"]

    async def meanwhile(self: Any, record: Record) -> tuple[str, ...]:
        if record.kind == "episode":
            clock.advance(timedelta(seconds=1))
            await branches.backtrack(workspace, "1", modes.pop(0))
        return await keep(self, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(workspace.project), "keep", meanwhile)
        hidden = await sessions.capture_episode(workspace, about("invoice"), 1)
        clock.advance(timedelta(seconds=1))
        gone = await sessions.capture_episode(workspace, about("label"), 2)

    assert "line that was left" in " ".join(await episode_note(hidden))
    assert gone == EpisodePostponed(
        "Another session gave up this line for good: its episode went with it."
    )
    assert await sessions.capture_episode(
        replace(workspace, policy=Policy(enabled=False)), [], 0
    ) == Skipped("Memory is off (MEMORY_ENABLED=false): go on without it.")


async def episode_note(outcome: EpisodeOutcome) -> tuple[str, ...]:
    """What was said beside the episode."""
    assert isinstance(outcome, EpisodeSaved), outcome
    return outcome.notes
