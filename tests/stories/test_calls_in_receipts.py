"""What a receipt tells an agent to call does exactly that, and nothing said before is lost."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from command_line import Run, as_json
from doors import Era, Json, add, agent, call, files_with, read, recalled, records
from fakes import FakeClock, fake_workspace
from mcp import Client
from receipts import list_calls, list_commands, make_call

from memory_mcp import Memory, memories, sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain.captures import CaptureMode, CaptureReport
from memory_mcp.domain.deduplication import MergePolicy
from memory_mcp.domain.outcomes import MemoryAdded, MemoryForgotten, SearchResults
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.render.outcomes import render_receipt
from memory_mcp.search import search_memories

pytestmark = pytest.mark.anyio

YARN = "The repo uses yarn."
PNPM = "The repo uses pnpm."
QUESTION = "which package manager does the repo use"


@pytest.fixture
def eager(settings: Settings) -> Settings:
    """The rule decides where the likeness of a short text and a long one would not do."""
    return replace(settings, merging=MergePolicy(check_low=0.3))


async def _marks(client: Client, query: str) -> dict[str, str | None]:
    """What a search finds, and what each is said to be outdated by."""
    found = await call(client, "search_memories", query=query)
    return {hit["content"]: hit.get("outdated_by") for hit in found["results"]}


def _relations(told: Json) -> dict[str, str]:
    return {each["content"]: each["relation"] for each in told.get("similar", [])}


@pytest.mark.parametrize(
    ("rest", "relations"),
    [("The repo uses yarn for publishing.", {}), (YARN, {PNPM: "beside"})],
)
async def test_what_still_holds_stands_beside_what_was_said_since(
    settings: Settings, era: Era, rest: str, relations: dict[str, str]
) -> None:
    """A part of the older one or both: the receipt asks for it, so it outdates nothing."""
    async with agent(settings, era) as client:
        await add(client, YARN)
        told = await call(client, "add_memory", content=PNPM)
        said = await make_call(client, told["message"], content=rest)
        marks = await _marks(client, QUESTION)
        opening = await read(client, "memory_context")

    assert marks == {PNPM: None, rest: None}
    assert _relations(said) == relations
    assert PNPM in opening
    assert rest in opening


async def test_that_both_hold_is_remembered_of_what_takes_their_places(
    settings: Settings, era: Era
) -> None:
    """A correction of either, or a pin, says nothing against it; and what is newer than both does.

    It stands in the record, so each clone sees it.
    """
    async with agent(settings, era) as client:
        await add(client, YARN)
        told = await call(client, "add_memory", content=PNPM)
        both = await make_call(client, told["message"], content=YARN)
        one = await call(
            client, "update_memory", memory_id=told["memoryId"], content="The repo uses pnpm 9."
        )
        again = await call(
            client, "update_memory", memory_id=one["memoryId"], content="The repo uses pnpm, v9."
        )
        marks = await _marks(client, QUESTION)
        newest = await call(client, "add_memory", content="The repo uses bun.")
        later = await _marks(client, QUESTION)

    assert set(marks.values()) == {None}
    assert YARN in marks
    assert both["memoryId"] in str(again) or _relations(again) == {}
    assert later["The repo uses bun."] is None
    assert later[YARN] == newest["memoryId"]


async def test_what_an_update_leaves_of_an_older_memory_is_no_newer_than_that(
    settings: Settings, era: Era
) -> None:
    """Less of what was said first is not said last; that both are there now, the receipt says."""
    async with agent(settings, era) as client:
        old = await add(client, "The repo uses yarn for publishing.")
        new = await add(client, PNPM)
        told = await call(client, "update_memory", memory_id=old, content=YARN)
        marks = await _marks(client, QUESTION)

    assert _relations(told) == {PNPM: "beside"}
    assert list_calls(told["message"]) == [
        ("update_memory", {"memory_id": id_, "content": "…"}) for id_ in (new, told["memoryId"])
    ]
    assert marks == {PNPM: None, YARN: None}


PORTS = "The API listens on port 8080. The API has 4 workers."
PORT = "The API listens on port 9090."


@pytest.mark.parametrize("by", ["add_memory", "update_memory"])
async def test_what_is_kept_beside_a_new_value_is_no_newer_than_that(
    eager: Settings, era: Era, by: str
) -> None:
    """A merge and an update may change one statement, and keep another that was outdated since."""
    async with agent(eager, era) as client:
        old = await add(client, PORTS)
        await add(client, PORT, metadata={"category": "net"})
        both = "The API listens on port 8080. The API has 8 workers."
        if by == "update_memory":
            told = await call(client, by, memory_id=old, content=both)
        else:
            told = await call(client, by, content="The API has 8 workers.")
            assert told["outcome"] == "merged"
        marks = await _marks(client, "on which port does the API listen")

    assert marks == {PORT: None, both: None}
    assert by == "add_memory" or _relations(told) == {PORT: "beside"}


async def test_an_update_that_disputes_says_with_whom(settings: Settings, era: Era) -> None:
    """By whatever call it comes: the user must say."""
    async with agent(settings, era) as client:
        wiki = await add(client, "According to the wiki, uploads are kept for 30 days.")
        other = await add(client, "The cat is called Mo.")
        told = await call(
            client, "update_memory", memory_id=other,
            content="The handbook gives 90 days as the time for which uploads are kept.",
        )  # fmt: skip

    assert [(each["memoryId"], each["relation"]) for each in told["similar"]] == [
        (wiki, "disputed")
    ]


async def test_an_update_of_what_was_outdated_to_a_third_value_is_the_newest(
    settings: Settings, era: Era
) -> None:
    """It keeps nothing of the older one, and the receipt says whom it contradicts."""
    async with agent(settings, era) as client:
        old = await add(client, YARN)
        await add(client, PNPM)
        told = await call(
            client, "update_memory", memory_id=old, content="The repo uses bun.", reason=""
        )
        marks = await _marks(client, QUESTION)

    assert _relations(told) == {PNPM: "outdated"}
    assert marks == {"The repo uses bun.": None, PNPM: told["memoryId"]}


async def test_an_update_says_which_other_memory_it_contradicts(
    settings: Settings, era: Era
) -> None:
    """None is outdated in silence, whichever call does it."""
    async with agent(settings, era) as client:
        mondays = await add(client, "Invoices are sent on Mondays.")
        other = await add(client, "The cat is called Mo.")
        told = await call(
            client, "update_memory", memory_id=other, content="Invoices are sent on Fridays."
        )
        calls = list_calls(told["message"])
        kept = await make_call(client, told["message"], content="Invoices are sent on Mondays.")
        marks = await _marks(client, "when are invoices sent")

    assert _relations(told) == {"Invoices are sent on Mondays.": "outdated"}
    assert calls == [("update_memory", {"memory_id": mondays, "content": "…"})]
    assert marks == {"Invoices are sent on Mondays.": None, "Invoices are sent on Fridays.": None}
    assert kept["success"]


async def test_who_pins_what_is_outdated_does_not_say_that_it_holds(
    workspace: Workspace, clock: FakeClock
) -> None:
    """A pin is no word on what is true; nor is what was replaced and is put back as it was."""
    old = await memories.add_memory(workspace, Draft(YARN))
    clock.advance(timedelta(seconds=1))
    new = await memories.add_memory(workspace, Draft(PNPM))
    clock.advance(timedelta(seconds=1))
    assert isinstance(old, MemoryAdded)
    assert isinstance(new, MemoryAdded)
    pinned = await memories.pin_memory(workspace, old.record.id, pinned=True)
    assert isinstance(pinned, MemoryAdded)
    assert await _outdated(workspace) == {YARN: new.record.id}
    bun = await memories.update_memory(workspace, pinned.record.id, "The repo uses bun.")
    assert isinstance(bun, MemoryAdded)
    assert await _outdated(workspace) == {PNPM: bun.record.id}
    await memories.put_back_memory(workspace, pinned.record.id, bun.record.id)
    assert await _outdated(workspace) == {YARN: new.record.id}


async def _outdated(workspace: Workspace) -> dict[str, str]:
    found = await search_memories(workspace, QUESTION, Filters(), 5)
    assert isinstance(found, SearchResults)
    return {hit.record.content: hit.outdated_by for hit in found.hits if hit.outdated_by}


@pytest.mark.parametrize(
    ("old", "new", "rest"),
    [
        ("The backup runs at 02:00 and is kept for 30 days.", "The backup runs at 03:30.",
         "The backup is kept for 30 days."),
        ("Mia is 3 years old and loves dogs.", "Mia is 4 years old.", "Mia loves dogs."),
        ("Mia ist 3 Jahre alt und liebt Hunde.", "Mia ist 4 Jahre alt.", "Mia liebt Hunde."),
    ],
)  # fmt: skip
async def test_the_advice_for_what_is_near_keeps_what_else_it_said(
    settings: Settings, era: Era, old: str, new: str, rest: str
) -> None:
    """Who takes the receipt at its word loses no statement; and nothing stands there twice."""
    async with agent(settings, era) as client:
        memory_id = await add(client, old)
        told = await call(client, "add_memory", content=new)
        assert _relations(told) == {old: "similar"}
        assert "with this and all else that one says" in told["message"]
        both = f"{new} {rest}"
        said = await make_call(client, told["message"], memory_id=memory_id, content=both)
        assert await recalled(client) == [both]

    assert set(said["replaced"]) == {memory_id, told["memoryId"]}


async def test_forgetting_a_merged_memory_forgets_nothing_that_was_said_elsewhere(
    eager: Settings, era: Era, project: Path
) -> None:
    """One id was named. What it was made of is hidden as what a correction replaced is, and the
    receipt says what brings each back and what erases it."""
    old, new = "Mia is 3 years old. She loves dogs.", "Mia is 4 years old."
    async with agent(eager, era) as client:
        await add(client, old)
        whole = await call(client, "add_memory", content=new)
        assert whole["outcome"] == "merged"
        said = await call(client, "forget_memory", memory_id=whole["memoryId"])
        assert await recalled(client) == []
        calls = list_calls(said["message"])
        await make_call(client, said["message"], 0)
        assert await recalled(client) == [old]
        for place in (1, 3):
            await make_call(client, said["message"], place)
        assert await recalled(client) == [old]

    assert [tool for tool, _ in calls] == ["add_memory", "forget_memory"] * 2
    assert [each["content"] for _, each in calls[::2]] == [old, new]
    assert [r["content"] for r in records(project) if r["kind"] == "fact"] == [old]


@pytest.mark.parametrize("mode", ["erase", "hide"])
@pytest.mark.parametrize("kind", ["fact", "decision"])
async def test_the_receipt_of_a_forget_says_what_brings_the_older_value_back(
    settings: Settings, era: Era, mode: str, kind: str
) -> None:
    """The wrong value goes. Nobody has to know whether the right one was replaced or outdated."""
    old, new = "The tech lead is Anna.", "The tech lead is Bert."
    async with agent(settings, era) as client:
        await add(client, old, kind=kind)
        told = await call(client, "add_memory", content=new, kind=kind)
        assert told["outcome"] == "replaced"
        said = await call(client, "forget_memory", memory_id=told["memoryId"], mode=mode)
        assert await recalled(client) == []
        back = await make_call(client, said["message"])
        assert await recalled(client, "", kind=kind) == [old]

    assert back["outcome"] == "inserted"


async def test_of_a_long_memory_the_receipt_says_where_its_text_is(
    settings: Settings, era: Era
) -> None:
    """A receipt is no place for thousands of characters."""
    long = "The port is 8000. " + "It is open to the office. " * 30
    async with agent(settings, era) as client:
        old = await add(client, long)
        new = await call(client, "update_memory", memory_id=old, content="The port is 9000.")
        said = await call(client, "forget_memory", memory_id=new["memoryId"])

    assert list_calls(said["message"])[0] == ("add_memory", {"content": "…"})
    assert f"memory://memory/{old}" in said["message"]
    assert len(said["message"]) < 500


async def test_what_happened_is_not_stated_again(settings: Settings, era: Era) -> None:
    """A corrected event has no older value that may hold again; its text can be erased."""
    async with agent(settings, era) as client:
        old = await add(client, "We shipped on Monday.", kind="event")
        new = await call(client, "update_memory", memory_id=old, content="We shipped on Friday.")
        said = await call(client, "forget_memory", memory_id=new["memoryId"])

    assert list_calls(said["message"]) == [("forget_memory", {"memory_id": old})]


async def test_each_call_in_a_receipt_works_as_it_is_written(settings: Settings, era: Era) -> None:
    """With an id and a text: who disputes can correct either."""
    async with agent(settings, era) as client:
        old = await add(client, "According to the wiki, uploads are kept for 30 days.")
        told = await call(
            client, "add_memory",
            content="The handbook gives 90 days as the time for which uploads are kept.",
        )  # fmt: skip
        calls = list_calls(told["message"])
        await make_call(client, told["message"], 1, content="Uploads are kept for 90 days.")

        lead = await add(client, "The tech lead is Anna.")
        replaced = await call(client, "add_memory", content="The tech lead is Bert.")
        again = await make_call(client, replaced["message"])

    assert calls == [
        ("update_memory", {"memory_id": id_, "content": "…"}) for id_ in (old, told["memoryId"])
    ]
    assert list_calls(replaced["message"]) == [
        ("update_memory", {"memory_id": replaced["memoryId"], "content": "The tech lead is Anna."})
    ]
    assert again["outcome"] == "replaced"
    assert lead != again["memoryId"]


def test_the_commands_in_a_receipt_work_as_they_are_written(run: Run) -> None:
    """A person at a shell reads a command where an agent reads a call."""
    as_json(run, "add", YARN)
    told = as_json(run, "add", PNPM)
    ((*update, content),) = list_commands(told["message"])
    assert content == "CONTENT"
    as_json(run, *update, "The repo uses yarn for publishing.")

    as_json(run, "add", "The tech lead is Anna.", "--kind", "decision")
    bert = as_json(run, "add", "The tech lead is Bert.", "--kind", "decision")
    forgot = as_json(run, "forget", bert["memoryId"])
    again, erase = list_commands(forgot["message"])
    back = as_json(run, *again)
    as_json(run, *erase)

    listed = as_json(run, "list")["memories"]
    assert {each["content"] for each in listed} == {
        PNPM, "The repo uses yarn for publishing.", "The tech lead is Anna.",
    }  # fmt: skip
    assert (back["outcome"], back["memoryId"] in str(listed)) == ("inserted", True)


AUTO = "By the way, our office is in Hamburg. fix that?"


@pytest.mark.parametrize("mode", ["auto", "suggest"])
async def test_what_was_kept_of_a_prompt_says_what_it_contradicts(
    clock: FakeClock, mode: CaptureMode
) -> None:
    """It comes in by another door, and outdates nothing in silence either."""
    workspace = fake_workspace(clock, policy=Policy(capture=mode))
    old = await memories.add_memory(workspace, Draft("Our office is in Berlin."))
    assert isinstance(old, MemoryAdded)
    clock.advance(timedelta(seconds=1))
    report = await sessions.capture_turns(workspace, [Turn("user", AUTO)])
    assert isinstance(report, CaptureReport)
    if mode == "suggest":
        await sessions.list_suggestions(workspace)
        decided = await sessions.decide_suggestions(workspace, keep=True)
        told = [render_receipt(decided)["message"]]
    else:
        context = await sessions.prompt_context(workspace, "go on", "one", "")
        told = [render_receipt(report)["message"], context]

    for message in told:
        assert f"It contradicts {old.record.id}" in message
        expected = ("update_memory", {"memory_id": old.record.id, "content": "…"})
        assert list_calls(message) == [expected]


async def test_a_context_says_nothing_of_what_was_erased_since(clock: FakeClock) -> None:
    """What was kept waits on this machine to be named; no word of another memory waits with it."""
    workspace = fake_workspace(clock, policy=Policy(capture="auto"))
    old = await memories.add_memory(workspace, Draft("Our office is in Berlin."))
    assert isinstance(old, MemoryAdded)
    clock.advance(timedelta(seconds=1))
    await sessions.capture_turns(workspace, [Turn("user", AUTO)])
    await memories.forget_memory(workspace, old.record.id, "", erase=True)

    assert "Berlin" not in str(await workspace.suggestions.load())
    context = await sessions.prompt_context(workspace, "go on", "one", "")
    assert 'Kept just now: "Our office is in Hamburg."' in context
    assert "contradicts" not in context


async def test_a_suggestion_that_was_not_stored_is_not_counted_as_kept(clock: FakeClock) -> None:
    """It was rejected: the answer says so, and what to call."""
    workspace = fake_workspace(clock, policy=Policy(capture="suggest"))
    await sessions.capture_turns(workspace, [Turn("user", AUTO)])
    await sessions.list_suggestions(workspace)
    wrong = await memories.add_memory(workspace, Draft("Our office is in Hamburg."))
    assert isinstance(wrong, MemoryAdded)
    await memories.forget_memory(workspace, wrong.record.id, "we left", erase=True)
    decided = await sessions.decide_suggestions(workspace, keep=True)

    message = render_receipt(decided)["message"]
    assert message.startswith("0 suggestions kept. Nothing was stored: this was rejected")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def workspace(clock: FakeClock) -> Workspace:
    return fake_workspace(clock)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"MEMORY_HOME": str(tmp_path / "home"), "MEMORY_EMBEDDER": "none"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    return made


async def test_a_program_reads_the_same_receipts(folder: Path, home: dict[str, str]) -> None:
    """By the Python API: what both hold beside, and what a forget leaves hidden."""
    async with Memory.open(folder, home) as memory:
        old = await memory.add_memory(YARN)
        new = await memory.add_memory(PNPM)
        assert isinstance(old, MemoryAdded)
        assert isinstance(new, MemoryAdded)
        rest = await memory.update_memory(old.record.id, "The repo uses yarn for publishing.")
        assert isinstance(rest, MemoryAdded)
        assert rest.record.holds_beside == (new.record.id,)
        assert rest.record.stated_at == old.record.created_at
        found = await memory.search_memories(QUESTION)
        gone = await memory.forget_memory(rest.record.id)

    assert isinstance(found, SearchResults)
    assert [hit.outdated_by for hit in found.hits] == [None, None]
    assert isinstance(gone, MemoryForgotten)
    again, erase = list_calls(" ".join(gone.notes))
    assert again == ("add_memory", {"content": YARN})
    assert erase == ("forget_memory", {"memory_id": old.record.id})


def test_no_file_of_what_was_erased_is_left(run: Run, project: Path) -> None:
    """Both calls of the receipt together leave no byte, as before the whole did alone."""
    old = as_json(run, "add", "The key is zebra-42.")
    new = as_json(run, "update", old["memoryId"], "The key is zebra-43.")
    said = as_json(run, "forget", new["memoryId"])
    as_json(run, *list_commands(said["message"])[1])

    assert files_with(project, "zebra-4") == []
