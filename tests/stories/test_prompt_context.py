"""Recall at a prompt: what bears on it, once, and nothing for all the others."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from doors import Era, add, agent, machine_dir, read, records
from dropping import HEADING, Drop
from fake_embedder import FakeEmbedder, meaningful
from fakes import FakeClock, called, close_workspace, fake_workspace
from hooked import SESSION, hook
from inbox_in_memory import MemoryInbox
from mcp import Client
from nudges_in_memory import SlowNudges

from memory_mcp import maintenance, memories, search, sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain import limits
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Chunk, Filters, PassageVectors, QueryVectors
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.head import load_head, make_view
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.fence import OPEN
from memory_mcp.hooks.files import read_session
from memory_mcp.render.block import count_tokens
from memory_mcp.search.local import find_local
from memory_mcp.server.tools import load_default_tools, prompt_context
from memory_mcp.sessions.prompting import find_likeliest

pytestmark = pytest.mark.anyio

WIDTH = 384
"""Figures of a vector of the model of which figures were learnt."""


REDIS = "Login sessions are kept in PostgreSQL, because Redis lost them at every restart."
ASKS = "Where do we keep the login sessions, Redis or PostgreSQL?"
OTHERS = (
    "The shop sells coffee beans in three roasts, and tea since last spring.",
    "Invoices are numbered by year and never reused, as the tax office demands.",
    "Deploys run on Fridays only after the smoke tests have passed twice.",
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A server as the plugin starts it."""
    return replace(settings, toolsets=("session", "hooks"), session="written-before")


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No busy machine passes for a slow queue, or for one that has nothing to say."""
    monkeypatch.setattr("memory_mcp.server.tools.PROMPT_SECONDS_MAX", 60.0)
    monkeypatch.setattr(limits, "PROMPT_NUDGE_SECONDS_MAX", 60.0)


async def prompted(client: Client, prompt: str, session: str = SESSION) -> str:
    """What Claude Code would show the model with this prompt."""
    said = json.loads(await read(client, "prompt_context", prompt=prompt, session_id=session))
    if not said:
        return ""
    assert list(said) == ["hookSpecificOutput"]
    assert said["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    return said["hookSpecificOutput"]["additionalContext"]


async def filled(workspace: Workspace, *more: str) -> Workspace:
    for text in (REDIS, *OTHERS, *more):
        await memories.add_memory(workspace, Draft(content=text))
    return workspace


def inbox_of(workspace: Workspace) -> MemoryInbox:
    assert isinstance(workspace.inbox, MemoryInbox)
    return workspace.inbox


async def test_a_prompt_brings_what_bears_on_it_once_in_a_session(
    settings: Settings, era: Era
) -> None:
    """Fenced, with the id that leads to the whole of it; the next session hears it again."""
    async with agent(settings, era) as client:
        id_ = await add(client, REDIS)
        for text in OTHERS:
            await add(client, text)
        first = await prompted(client, ASKS)
        again = await prompted(client, ASKS)
        other = await prompted(client, ASKS, "another")

    assert first.splitlines() == [
        OPEN,
        "## From memory, for this prompt",
        f"- {REDIS} [{id_}]",
        "</memory>",
    ]
    assert again == ""
    assert other == first


@pytest.mark.parametrize(
    "prompt",
    [
        "/clear", "/memory-mcp:remember login sessions PostgreSQL Redis restart",
        "! grep login sessions PostgreSQL Redis", "# login sessions PostgreSQL Redis", "", "  ",
        "ok", "go on", "sessions?", "PostgreSQL", "thanks, that is it",
        "Write a poem about the sea and the wind in autumn",
        "rename the variable foo to total everywhere", '{"a": 1}', "null", "\ud800",
    ],
)  # fmt: skip
async def test_most_prompts_bring_nothing(prompt: str) -> None:
    """What is shown is paid for with each prompt after it."""
    workspace = await filled(fake_workspace())

    assert await sessions.prompt_context(workspace, prompt, SESSION) == ""


async def test_the_tool_takes_a_prompt_that_looks_like_json(settings: Settings) -> None:
    """It is text, whatever it looks like."""
    async with agent(settings, "auto") as client:
        for prompt in ('{"a": 1}', "null", "[1]", "3"):
            assert await prompted(client, prompt) == ""


@pytest.mark.nightly
async def test_what_is_shown_never_costs_more_than_its_limit() -> None:
    """However long the memories are, and however many bear on the prompt."""
    more = [f"{REDIS} {'It was measured over and over. ' * 40} Nr {n} of {n}." for n in range(8)]
    workspace = await filled(fake_workspace(), *more)
    said = await sessions.prompt_context(workspace, ASKS, SESSION)

    assert said
    assert count_tokens(said) <= limits.PROMPT_TOKENS_MAX


async def test_what_the_session_read_when_it_began_or_wrote_itself_is_not_repeated() -> None:
    """It is in its context already."""
    workspace = fake_workspace()
    added = await memories.add_memory(workspace, Draft(content=REDIS))
    inbox_of(workspace).read_at_start["one"] = frozenset({getattr(added, "record").id})  # noqa: B009

    assert await sessions.prompt_context(workspace, ASKS, "one") == ""
    assert await sessions.prompt_context(workspace, ASKS, "a-session") == "", (
        "FakeProvenance wrote it"
    )
    assert REDIS in await sessions.prompt_context(workspace, ASKS, "two")


async def test_what_a_hook_printed_is_known_to_the_server(
    settings: Settings, project: Path
) -> None:
    """The hook notes what it showed; it is another process."""
    async with agent(settings, "auto") as client:
        await add(client, REDIS, kind="decision")
        said = ""
        for _ in range(200):
            opened = hook("session-start", {}, project, MEMORY_USER=settings.user)
            said = opened["hookSpecificOutput"]["additionalContext"]
            if REDIS in said:
                break
            await asyncio.sleep(0.05)  # it is rendered beside the calls

        assert REDIS in said
        assert await prompted(client, ASKS) == ""
        assert REDIS in await prompted(client, ASKS, "another")


async def test_what_is_hidden_or_off_is_not_recalled() -> None:
    """A prompt is a read path like any other."""
    workspace = await filled(fake_workspace())
    (hit, *_) = (await _found(workspace)).hits
    await memories.forget_memory(workspace, hit.record.id, "", erase=False)

    assert await sessions.prompt_context(workspace, ASKS, SESSION) == ""
    off = replace(workspace, policy=Policy(enabled=False))
    assert await sessions.prompt_context(off, ASKS, SESSION) == ""


async def _found(workspace: Workspace) -> Any:
    from memory_mcp.domain.search import Filters  # noqa: PLC0415

    return await search.search_memories(workspace, ASKS, Filters(), 3)


async def test_a_meta_session_is_given_what_it_may_read() -> None:
    """It reads without leaving a trace."""
    workspace = replace(await filled(fake_workspace()), policy=Policy(meta=True))

    assert REDIS in await sessions.prompt_context(workspace, ASKS, SESSION)


async def test_the_first_prompt_brings_up_the_nudge_that_waits(
    settings: Settings, drop: Drop
) -> None:
    """Once in a session, and another one in the session after it."""
    drop("tea.txt", "Is there any tea left?\n")
    async with agent(settings, "auto") as client:
        first = await prompted(client, "/head")
        later = await prompted(client, "hello there my friend")
        drop("milk.txt", "Is there any milk left?\n")
        same = await prompted(client, "and now to something else")
        cleared = await prompted(client, "good morning to you", "after /clear")

    assert first.splitlines() == [OPEN, HEADING, "- Is there any tea left?", "</memory>"]
    assert later == same == ""
    assert "milk" in cleared


async def test_a_slow_queue_keeps_no_prompt_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes in the end is shown with the next prompt."""
    monkeypatch.setattr(limits, "PROMPT_NUDGE_SECONDS_MAX", 0.01)
    workspace = replace(await filled(fake_workspace()), nudges=SlowNudges())
    said = await sessions.prompt_context(workspace, ASKS, SESSION)

    assert REDIS in said
    assert HEADING not in said


async def test_a_record_after_clear_names_the_session_it_was_written_in(
    settings: Settings, project: Path
) -> None:
    """The process stays, and its environment names the session that it was started for."""
    async with agent(settings, "auto") as client:
        await prompted(client, "good morning to you", "the-second")
        id_ = await add(client, REDIS)

    assert [each["origin"]["session"] for each in records(project) if each["id"] == id_] == [
        "the-second"
    ]


async def test_going_back_is_told_once_with_what_was_written_since() -> None:
    """Only what that session wrote, and only after that point; the user decides."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    before = await memories.add_memory(workspace, Draft(content="Orders are kept in MariaDB."))
    clock.advance(timedelta(seconds=1))
    since = clock.now()
    left = await memories.add_memory(
        workspace, Draft(content="Sessions are kept in Redis.", title="Sessions")
    )
    event = {"event": "rewound", "session": "a-session", "at": since.isoformat()}
    ids = [getattr(each, "record").id for each in (before, left)]  # noqa: B009
    times = {"since": since.isoformat(), "until": since.isoformat()}
    inbox_of(workspace).drop({**event, **times, "ids": ids})
    other = await sessions.prompt_context(workspace, "go on", "another")
    first = await sessions.prompt_context(workspace, "go on", "a-session")

    assert other == ""
    assert first.startswith("The user went back to an earlier point of this conversation")
    assert "- Sessions [" in first
    assert count_tokens(first) <= limits.PROMPT_TOKENS_MAX
    assert await sessions.prompt_context(workspace, "go on", "a-session") == ""


async def test_going_back_where_nothing_was_written_is_not_worth_a_word() -> None:
    """Nothing in memory is touched by it."""
    workspace = await filled(fake_workspace())
    event = {"event": "rewound", "session": SESSION, "at": workspace.clock.now().isoformat()}
    inbox_of(workspace).drop({**event, "since": workspace.clock.now().isoformat()})

    assert await sessions.prompt_context(workspace, "go on", SESSION) == ""
    assert inbox_of(workspace).raw == {}


async def test_whatever_fails_the_prompt_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty object is an answer that changes nothing."""

    async def broken(*_: object) -> str:
        raise StoreUnavailableError("the disk is gone")

    async def endless(*_: object) -> str:
        await asyncio.sleep(60)
        return "never"

    async with agent(settings, "auto") as client:
        for fault in (broken, endless):
            monkeypatch.setattr("memory_mcp.server.tools.PROMPT_SECONDS_MAX", 0.05)
            monkeypatch.setattr(sessions, "prompt_context", fault)
            assert await prompted(client, ASKS) == ""


async def test_what_is_remembered_of_sessions_is_bounded() -> None:
    """A server may run for months."""
    workspace = fake_workspace()
    prompts = workspace.conversations.prompts
    for number in range(1_100):
        prompts.of(str(number)).note("an id")
    given = prompts.of("1099")
    for number in range(1_100):
        given.note(str(number))

    assert "an id" not in prompts.of("5")
    assert "1099" in given
    assert "5" not in given


def test_the_model_is_told_that_the_tool_is_none_of_its_own() -> None:
    """It is offered with a toolset only, and its description sends the model elsewhere."""
    assert "prompt_context" not in [tool.name for tool in load_default_tools()]
    assert (prompt_context.__doc__ or "").startswith("Called by hooks")


# What a prompt brings depends on its session, and on how much the prompt says.


async def test_what_a_session_was_given_is_known_to_the_server_after_this_one(
    settings: Settings,
) -> None:
    """A session that is resumed has it in its context."""
    async with agent(settings, "auto") as client:
        await add(client, REDIS)
        for text in OTHERS:
            await add(client, text)
        assert REDIS in await prompted(client, ASKS)
    async with agent(settings, "auto") as client:
        assert await prompted(client, ASKS) == ""
        assert REDIS in await prompted(client, ASKS, "another")


async def test_a_short_question_brings_the_one_memory_that_it_means() -> None:
    """Two words that tell much; with two memories that fit, nothing."""
    jwt = "We sign tokens of the API with JWT, because there is no session store to run."
    workspace = await filled(fake_workspace(), jwt, "The worker Pixie renders invoices at night.")

    assert "Pixie" in await sessions.prompt_context(workspace, "What does Pixie render?", "one")
    assert await sessions.prompt_context(workspace, "Why was it so?", "three") == ""
    await filled(workspace, "The worker Pixie renders thumbnails of every upload too.")
    assert await sessions.prompt_context(workspace, "What does Pixie render?", "four") == ""


PNPM = "Use pnpm in this repository; npm breaks the lock file."


@pytest.mark.parametrize(
    ("prompt", "is_shown"),
    [
        ("install lodash with npm", True),
        ("could you install lodash with npm?", True),
        ("npm install lodash", True),
        (
            "install lodash",
            True,
        ),  # of which no memory knows anything: the rule for the act is meant
        ("install the invoices", False),
        ("does npm break it?", False),  # a question is searched for
        ("explain what npm is good for", False),
        ("what is npm good for?", False),
        ("undo your last change to the npm script", False),
        ("fix the typo in the npm script", False),
        ("thanks, npm works now", False),
        ("übersetze den Kommentar zu npm", False),
    ],
)
async def test_an_instruction_brings_what_it_may_break(prompt: str, *, is_shown: bool) -> None:
    """Nobody asks before it is done; what needs no memory is left alone."""
    others = ("The shop's invoices are rendered at night.", "Redis holds the rate limits.")
    workspace = await filled(fake_workspace(), PNPM, *others)

    assert (PNPM in await sessions.prompt_context(workspace, prompt, SESSION)) is is_shown


@pytest.mark.parametrize(
    ("told", "prompt", "is_shown"),
    [
        ("Recipes come from 14 partner kitchens.", "show a text if there are no recipes", False),
        ("`E_0x2A` after a reset is a missing cable.", "E_0x2A again, find the bug please", True),
        ("Recipes must have a photo.", "add three recipes without a photo", True),
        ("Recipes must have a photo.", "add three recipes without a photo, ok?", True),
        ("Recipes must have a photo.", "¿add three recipes without a photo?", False),
        ("Recipes must have a photo.", "show me the log of the recipes branch", False),
    ],
)
async def test_an_instruction_breaks_rules_and_no_facts(
    told: str, prompt: str, *, is_shown: bool
) -> None:
    """What merely is, is worth a line only if the prompt names the very thing."""
    workspace = await filled(fake_workspace(), told, "Redis holds the rate limits.")

    assert (told in await sessions.prompt_context(workspace, prompt, SESSION)) is is_shown


async def test_an_instruction_brings_nothing_where_two_fit_alike() -> None:
    """One that stands out is worth its tokens; a guess is not."""
    one = "The nightly build signs the images of the billing service."
    two = "The nightly build signs the images of the search service."
    workspace = await filled(fake_workspace(), one, two)

    assert await sessions.prompt_context(workspace, "upload the images today", "a") == ""


async def test_what_holds_comes_before_what_happened() -> None:
    """An episode repeats the words of a prompt, and says less."""
    workspace = await filled(fake_workspace())
    turns = [
        Turn("user", "Where do we keep the login sessions, in Redis or in PostgreSQL?"),
        Turn("assistant", "The login sessions are kept in PostgreSQL now, Redis lost them."),
    ]
    other = called(workspace, conversation="earlier")
    await sessions.capture_episode(other, turns, None, final=True)
    said = await sessions.prompt_context(workspace, ASKS, SESSION)

    assert said.splitlines()[2].startswith(f"- {REDIS}")


async def test_hooks_hear_where_the_session_is(settings: Settings, project: Path) -> None:
    """Also after `/clear`, when the session has another name and the server is the same."""
    settings = replace(settings, toolsets=("branches", "hooks"))
    machine = str(machine_dir(project))
    async with agent(settings, "auto") as client:
        await prompted(client, "good morning to you", "one")
        assert read_session(machine, "one") == {}
        await client.call_tool("switch_branch", {"name": "try", "create": True})
        await prompted(client, "good morning to you", "two")

    assert read_session(machine, "one") == {"branch": "try"}
    assert read_session(machine, "two") == {"branch": "try"}


class StrangeEmbedder(FakeEmbedder):
    """A model of which figures were learnt, to which all texts are the same."""

    def __init__(self) -> None:
        super().__init__("minilm-l6-v2/strange", tokens=False)

    @property
    def here(self) -> bool:
        return True

    async def question(self, text: str) -> QueryVectors:
        self.asked.append(text)
        return QueryVectors(bytes(4 * WIDTH), b"", ())

    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]:
        return [(Chunk(bytes(WIDTH), b""),) for _ in texts]


async def test_what_the_words_say_clearly_is_shown_where_the_model_sees_nothing(
    tmp_path: Path,
) -> None:
    """Whoever adds a model loses nothing that was shown without it."""
    prompt = "restart the barge service now, the config changed"
    rule = "Never restart the barge service between 06:00 and 18:00 because feeding is running."
    more = (
        "Maps are rendered from cached tiles.",
        "Telemetry is shipped every night at 02:00.",
        "The winch is driven by a PLC.",
        "Alarms go out by SMS.",
        "Times are stored in UTC.",
    )
    workspace = await filled(meaningful(tmp_path, StrangeEmbedder()), rule, *more)
    await maintenance.encode_all(workspace)
    view = make_view(workspace, (await load_head(workspace)).timeline)
    matches = await find_local(workspace, prompt, view, Filters())
    _, likely = await find_likeliest(matches, prompt, view)

    assert matches.wholes
    assert likely < 0.5
    assert rule in await sessions.prompt_context(workspace, prompt, SESSION)
    await close_workspace(workspace)


async def test_one_word_is_enough_for_a_step_of_the_work() -> None:
    """Nobody says more when it is time to commit, and a rule may be broken."""
    rule = "Commit messages follow Conventional Commits."
    depots = [f"The depot at gate {gate} opens at {gate} o'clock." for gate in range(40)]
    workspace = fake_workspace()
    for other in (*OTHERS, *depots):
        await memories.add_memory(workspace, Draft(content=other))
    await memories.add_memory(workspace, Draft(content=rule, kind="convention"))

    assert rule in await sessions.prompt_context(workspace, "commit this", SESSION)
    assert await sessions.prompt_context(workspace, "see this", SESSION) == ""


async def test_the_memory_that_names_the_file_comes_with_it() -> None:
    """Whoever names a file gets what is known of it, and nobody who only looks at a change."""
    named = "plausi.ex liest die Grenzwerte beim Start, danach ist ein Neustart der Halle nötig."
    workspace = fake_workspace()
    for other in (*OTHERS, named, "Fehler werden in Sentry gesammelt und am Montag besprochen."):
        await memories.add_memory(workspace, Draft(content=other))

    assert await sessions.prompt_context(workspace, "diff plausi.ex against main", "a") == ""
    said = await sessions.prompt_context(workspace, "plausi.ex meldet einen Fehler", "b")
    assert named in said
