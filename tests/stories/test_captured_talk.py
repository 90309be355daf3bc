"""What the user says is kept without being asked: named, agreed to, or dropped for good."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from doors import Era, agent, call, machine_dir, read, recalled, refused
from fake_language import FakeLanguage
from fakes import FakeClock, close_workspace, fake_workspace, real_workspace
from hooked import SESSION
from inbox_in_memory import MemoryInbox
from suggestions_in_memory import MemorySuggestions

from memory_mcp import branches, memories, sessions
from memory_mcp.config.settings import Settings
from memory_mcp.domain import limits
from memory_mcp.domain.captures import CaptureMode, CaptureReport, SuggestionsDecided
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.outcomes import CheckpointSaved, MemoryAdded, Skipped
from memory_mcp.domain.record import Draft
from memory_mcp.domain.sessions import Turn
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.render.block import Block
from memory_mcp.storage.files.suggestions import SUGGESTIONS_FILE

pytestmark = pytest.mark.anyio

SAID = "no, we always squash before merging in this repo, so don't rebase. now fix line 3"
RULE = "We always squash before merging in this repo, so don't rebase."
OTHER = "btw I'm allergic to default exports. fix that?"
ALLERGY = "The user is allergic to default exports."
DECIDED = "we decided that the logs are kept in Loki. can you wire it?"
DECISION = "We decided that the logs are kept in Loki."
OFFERED = "Kept if you agree: "


def at_work(mode: CaptureMode = "suggest", clock: FakeClock | None = None) -> Workspace:
    return fake_workspace(clock, policy=Policy(capture=mode))


async def said(workspace: Workspace, *texts: str) -> CaptureReport:
    """What becomes of these messages of the user."""
    report = await sessions.capture_turns(workspace, [Turn("user", text) for text in texts])
    assert isinstance(report, CaptureReport)
    return report


async def prompted(workspace: Workspace, prompt: str = "go on", transcript: str = "") -> str:
    return await sessions.prompt_context(workspace, prompt, SESSION, transcript)


async def kept(workspace: Workspace) -> list[str]:
    block = await sessions.memory_context(workspace)
    assert isinstance(block, Block)
    return [line for line in block.text.splitlines() if "[" in line and "- before" not in line]


async def listed(workspace: Workspace) -> list[str]:
    found = await sessions.list_suggestions(workspace)
    assert not isinstance(found, Skipped)
    return [each.statement for each in found]


def suggestions_of(workspace: Workspace) -> MemorySuggestions:
    assert isinstance(workspace.suggestions, MemorySuggestions)
    return workspace.suggestions


async def test_what_is_said_is_named_once_with_the_next_prompt_and_kept_on_a_word(
    settings: Settings, era: Era
) -> None:
    """By the plugin's hook: the prompt itself waits for nothing."""
    async with agent(replace(settings, toolsets=("hooks",)), era) as client:

        async def prompt(text: str) -> str:
            answer = await read(client, "prompt_context", prompt=text, session_id=SESSION)
            return json.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "")

        assert await prompt(SAID) == ""
        answers = [await prompt(f"and line {number}") for number in range(4, 9)]
        (named,) = filter(None, answers)  # the next one, unless the machine is very busy
        assert await recalled(client) == []
        decided = await call(client, "add_memory", content="", suggested="keep")
        assert await recalled(client) == [RULE]
        again = await refused(client, "add_memory", content="", suggested="keep")

    assert f'{OFFERED}"{RULE}"' in named
    assert 'add_memory(content="", suggested="keep")' in named
    assert decided["message"] == "1 suggestion kept."
    assert "give it to add_memory(content=…)" in again


async def test_what_is_dropped_is_not_asked_again_and_its_words_are_gone() -> None:
    """One word is enough; what was refused does not stay on the disk."""
    workspace = at_work()
    assert len((await said(workspace, SAID)).suggested) == 1
    assert OFFERED in await prompted(workspace)
    decided = await sessions.decide_suggestions(workspace, keep=False)

    assert isinstance(decided, SuggestionsDecided)
    assert decided.dropped == 1
    assert (await said(workspace, SAID)).suggested == ()
    assert await kept(workspace) == []
    assert RULE not in "".join(each.model_dump_json() for each in suggestions_of(workspace).known)


async def test_one_of_several_is_decided_by_a_part_of_it() -> None:
    """The other goes on waiting."""
    workspace = at_work()
    await said(workspace, SAID, OTHER)
    named = await prompted(workspace)
    await sessions.decide_suggestions(workspace, "allergic", keep=True)
    left = await listed(workspace)

    assert f'{OFFERED}"{RULE}"; "{ALLERGY}"' in named
    assert left == [RULE]
    assert [ALLERGY in line for line in await kept(workspace)] == [True]


async def test_a_word_is_about_what_was_shown_last() -> None:
    """What was passed over before is not agreed to by it; by its words it can be, still."""
    workspace = at_work()
    await said(workspace, SAID)
    assert RULE in await prompted(workspace)
    await said(workspace, OTHER)
    named = await prompted(workspace)
    assert (RULE in named, ALLERGY in named) == (False, True)
    await sessions.decide_suggestions(workspace, keep=True)
    first = [ALLERGY in line for line in await kept(workspace)]
    await sessions.decide_suggestions(workspace, RULE.split(maxsplit=1)[0], keep=True)

    assert first == [True]
    assert len(await kept(workspace)) == 2


async def test_who_is_asked_about_several_is_told_how_to_decide_one() -> None:
    """Its words choose it; where there is only one, nothing need be said."""
    workspace = at_work()
    await said(workspace, SAID, OTHER)

    assert "content: words of one, to decide it alone" in await prompted(workspace)


async def test_only_what_was_shown_is_decided() -> None:
    """The user agrees to what was named, not to what nobody has seen."""
    workspace = at_work()
    await said(workspace, SAID)

    with pytest.raises(InvalidRequestError, match="Nothing waits"):
        await sessions.decide_suggestions(workspace, keep=True)
    assert await listed(workspace) == [RULE]
    await sessions.decide_suggestions(workspace, keep=True)
    assert len(await kept(workspace)) == 1


async def test_auto_keeps_at_once_and_says_so_once() -> None:
    """With category, kind and importance, through the door of every other memory."""
    workspace = at_work("auto")
    report = await said(workspace, SAID)
    first, second = await prompted(workspace), await prompted(workspace)

    (record,) = report.kept
    assert (record.content, record.kind, record.category) == (RULE, "convention", "convention")
    assert (record.importance, record.tags) == (4, ("captured",))
    assert f'Kept just now: "{RULE}"' in first
    assert second == ""


TAKEN_BACK = "sorry, forget that, I was joking. now fix line 3"


async def test_what_the_user_takes_back_is_neither_asked_about_nor_kept() -> None:
    """Whether it waits, or was kept at once; said again, it is new."""
    for mode in ("suggest", "auto"):
        workspace = at_work(mode)
        await said(workspace, OTHER)
        await said(workspace, SAID)
        report = await said(workspace, SAID, TAKEN_BACK)

        assert (report.kept, report.suggested, report.retracted) == ((), (), (RULE,))
        assert RULE not in await prompted(workspace)
        assert [RULE in line for line in await kept(workspace)] == [False] * (mode == "auto")
        assert (await said(workspace, SAID)).retracted == ()
        assert RULE in await prompted(workspace)


async def test_what_holds_in_every_project_is_taken_back_as_well() -> None:
    """It stands with what is the user's own."""
    workspace = at_work("auto")
    everywhere = "don't add a dependency without asking me. That goes for all my projects."
    assert len((await said(workspace, everywhere)).kept) == 1
    await said(workspace, everywhere, TAKEN_BACK)

    assert await kept(workspace) == []


async def test_what_was_known_before_is_not_taken_back() -> None:
    """What is taken back is what was said, not what was kept in another way."""
    workspace = at_work()
    await memories.add_memory(workspace, Draft(content=RULE, kind="convention"))
    await said(workspace, SAID)
    await said(workspace, SAID, TAKEN_BACK)

    assert [RULE in line for line in await kept(workspace)] == [True]


async def test_the_prompt_that_takes_it_back_is_not_told_of_it() -> None:
    """By the hook, with the transcript for what was said before."""
    workspace = at_work()
    assert isinstance(workspace.inbox, MemoryInbox)
    message = {"type": "user", "message": {"role": "user", "content": SAID}}
    workspace.inbox.transcripts["/t.jsonl"] = json.dumps(message).encode()
    await prompted(workspace, SAID, "/t.jsonl")

    assert await prompted(workspace, TAKEN_BACK, "/t.jsonl") == ""
    assert await prompted(workspace) == ""
    assert await listed(workspace) == []


@pytest.mark.parametrize("mode", ["suggest", "auto"])
async def test_the_next_message_takes_it_back_without_a_transcript(mode: CaptureMode) -> None:
    """The session knows what it captured last; a message between the two makes it stand."""
    workspace = at_work(mode)
    await prompted(workspace, SAID)
    assert await prompted(workspace, TAKEN_BACK) == ""
    assert (await prompted(workspace), await listed(workspace), await kept(workspace)) == (
        "", [], [],
    )  # fmt: skip

    await prompted(workspace, SAID)
    assert RULE in await prompted(workspace, "now fix line 3")
    await prompted(workspace, TAKEN_BACK)
    await prompted(workspace)
    stands = await listed(workspace) if mode == "suggest" else await kept(workspace)
    assert [RULE in line for line in stands] == [True]


async def test_what_was_kept_and_said_is_taken_back_by_its_digest() -> None:
    """Its words are no longer noted once the agent was told of it."""
    workspace = at_work("auto")
    await said(workspace, SAID)
    assert await kept(workspace) != [], "and the agent is told of it"
    report = await said(workspace, TAKEN_BACK)

    assert report.retracted == (RULE,)
    assert await kept(workspace) == []


async def test_what_another_session_said_last_is_not_taken_back() -> None:
    """Each takes back its own words."""
    workspace = at_work()
    await said(workspace, SAID)
    other = replace(workspace, caller=replace(workspace.caller, conversation="another"))

    assert (await said(other, TAKEN_BACK)).retracted == ()
    assert await listed(workspace) == [RULE]


async def test_what_was_said_right_before_clear_is_of_the_session_before() -> None:
    """It is captured after `/clear`. The new session cannot take it back, and has not read it."""
    workspace = at_work("auto")
    await sessions.prompt_context(workspace, SAID, "before")
    await sessions.prompt_context(workspace, TAKEN_BACK, "after /clear")
    asked = "Do we squash before merging in this repo, or rebase?"
    given = await sessions.prompt_context(workspace, asked, "after /clear")

    assert len(await kept(workspace)) == 1
    assert f"- {RULE}" in given


async def test_a_look_by_the_user_leaves_it_to_be_named_to_the_agent() -> None:
    """Whoever lists it may decide it, and the agent is told of it all the same."""
    workspace = at_work()
    await said(workspace, SAID)
    assert await listed(workspace) == [RULE]
    looked = await sessions.memory_context(workspace, to_user=True)
    assert isinstance(looked, Block)
    assert OFFERED in looked.text

    assert RULE in await prompted(workspace)
    assert await prompted(workspace) == ""
    assert await listed(workspace) == [RULE]


async def test_auto_asks_where_it_is_not_sure() -> None:
    """A memory that nobody looked at must be worth it; a suggestion costs a word."""
    workspace = at_work("auto")
    report = await said(workspace, "We use pnpm in this project. now fix line 3")
    context = await prompted(workspace)

    assert report.kept == ()
    assert [each.statement for each in report.suggested] == ["We use pnpm in this project."]
    assert OFFERED in context
    assert await kept(workspace) == []


async def test_nothing_is_captured_twice() -> None:
    """Nor what is known, nor what was captured and forgotten."""
    workspace = at_work("auto")
    (record,) = (await said(workspace, SAID)).kept
    assert (await said(workspace, SAID)).kept == ()
    await memories.forget_memory(workspace, record.id, "", erase=True)
    assert (await said(workspace, SAID)).kept == ()

    asking = at_work()
    await memories.add_memory(asking, Draft(content=RULE, kind="convention"))
    assert (await said(asking, SAID)).suggested == ()


async def test_what_holds_in_every_project_is_the_user_s() -> None:
    """The rest belongs to the project."""
    workspace = at_work("auto")
    everywhere = "don't add a dependency without asking me. That goes for all my projects."
    report = await said(workspace, SAID, everywhere, "By the way, my name is Ada. go on")

    assert [record.scope.project for record in report.kept] == ["shop", None, None]
    assert "User: Ada" in await prompted(workspace)


async def test_off_and_meta_capture_nothing() -> None:
    """And say why, where somebody asked; to look is only reading."""
    turns = [Turn("user", SAID)]
    off = at_work("off")
    meta = fake_workspace(policy=Policy(meta=True))

    for workspace in (off, meta):
        assert isinstance(await sessions.capture_turns(workspace, turns), Skipped)
        await prompted(workspace, SAID)
        assert await prompted(workspace) == ""
    assert isinstance(await sessions.decide_suggestions(meta, keep=True), Skipped)
    assert await sessions.list_suggestions(meta) == ()


async def test_a_secret_is_taken_out_before_anything_is_written() -> None:
    """What holds one is not even suggested."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for secrets in ("redact", "refuse"):
        workspace = fake_workspace(policy=Policy(secrets=secrets))
        report = await said(workspace, f"we always use the token {key} here. fix it")

        assert report.suggested == ()
        assert key not in str(suggestions_of(workspace).known)


async def test_a_suggestion_of_a_left_line_is_gone() -> None:
    """It belongs to what the user gave up, also when it was named before."""
    workspace = at_work()
    sealed = await branches.checkpoint(workspace, "before", None, again=False, approval="approved")
    assert isinstance(sealed, CheckpointSaved)
    await said(workspace, SAID)
    assert OFFERED in await prompted(workspace)
    await branches.backtrack(workspace, sealed.checkpoint.id, "continue")

    with pytest.raises(InvalidRequestError):
        await sessions.decide_suggestions(workspace, keep=True)
    assert await kept(workspace) == []


async def test_what_was_kept_on_a_left_line_counts_anew_when_it_is_said_again() -> None:
    """What nobody can see was not kept; the way back makes one of it, not two."""
    for mode in ("suggest", "auto"):
        workspace = at_work(mode)
        sealed = await branches.checkpoint(
            workspace, "before", None, again=False, approval="approved"
        )
        assert isinstance(sealed, CheckpointSaved)
        await said(workspace, DECIDED)
        if mode == "suggest":
            assert await listed(workspace) == [DECISION]
            await sessions.decide_suggestions(workspace, keep=True)
        await branches.backtrack(workspace, sealed.checkpoint.id, "continue")
        assert await kept(workspace) == []
        report = await said(workspace, DECIDED)
        if mode == "suggest":
            assert [each.statement for each in report.suggested] == [DECISION]
            assert await listed(workspace) == [DECISION]
            await sessions.decide_suggestions(workspace, keep=True)
        assert [DECISION in line for line in await kept(workspace)] == [True]
        assert (await said(workspace, DECIDED)).suggested == ()

        last = await branches.preview_undo(workspace)
        assert not isinstance(last, Skipped)
        await branches.undo(workspace, last)
        assert [DECISION in line for line in await kept(workspace)] == [True]
        again = await said(workspace, DECIDED)
        assert (again.kept, again.suggested) == ((), ())
        assert await listed(workspace) == []


async def test_what_was_dropped_is_not_asked_on_any_line() -> None:
    """The user's word holds wherever it was said."""
    workspace = at_work()
    sealed = await branches.checkpoint(workspace, "before", None, again=False, approval="approved")
    assert isinstance(sealed, CheckpointSaved)
    await said(workspace, DECIDED)
    assert await listed(workspace) == [DECISION]
    await sessions.decide_suggestions(workspace, keep=False)
    await branches.backtrack(workspace, sealed.checkpoint.id, "continue")

    assert (await said(workspace, DECIDED)).suggested == ()


async def test_a_prompt_of_a_left_line_is_not_captured() -> None:
    """It was said before the backtrack, and is captured after it."""
    clock = FakeClock()
    workspace = at_work("auto", clock)
    sealed = await branches.checkpoint(workspace, "before", None, again=False, approval="approved")
    assert isinstance(sealed, CheckpointSaved)
    await prompted(workspace, SAID)
    clock.advance(timedelta(seconds=1))
    await branches.backtrack(workspace, sealed.checkpoint.id, "continue")

    assert await prompted(workspace) == ""
    assert await kept(workspace) == []


async def test_a_rewind_takes_back_what_was_said_after_it() -> None:
    """Nobody answered it, and it was never said."""
    clock = FakeClock()
    workspace = at_work(clock=clock)
    since = clock.now()
    clock.advance(timedelta(seconds=1))
    await prompted(workspace, SAID)
    assert isinstance(workspace.inbox, MemoryInbox)
    workspace.inbox.drop({"event": "rewound", "session": SESSION, "at": since.isoformat(),
                          "since": since.isoformat()})  # fmt: skip

    assert OFFERED not in await prompted(workspace)


async def test_another_branch_is_not_asked() -> None:
    """What is said on one line is decided there."""
    workspace = at_work()
    await said(workspace, SAID)
    await branches.fork_branch(workspace, "try", "")
    there = workspace.at(BranchName("try"))

    assert OFFERED not in await prompted(there)
    assert OFFERED in await prompted(workspace)


async def test_a_suggestion_that_nobody_answers_expires() -> None:
    """Nobody remembers what was said a week ago."""
    clock = FakeClock()
    workspace = at_work(clock=clock)
    await said(workspace, SAID)
    clock.advance(timedelta(days=limits.SUGGESTION_DAYS_MAX, seconds=1))

    assert OFFERED not in await prompted(workspace)
    assert len((await said(workspace, SAID)).suggested) == 1, "said again, it is asked again"


async def test_a_session_s_opening_names_it_too() -> None:
    """A session may end before its next prompt, and some clients have no hooks."""
    workspace = at_work()
    await said(workspace, SAID)
    first, second = [await sessions.memory_context(workspace) for _ in range(2)]

    assert isinstance(first, Block)
    assert isinstance(second, Block)
    assert OFFERED in first.text
    assert OFFERED not in second.text


async def test_a_short_answer_is_understood_with_the_transcript() -> None:
    """The hook names it; it is read beside the prompt, and only then."""
    workspace = at_work()
    assert isinstance(workspace.inbox, MemoryInbox)
    turns = [
        ("assistant", "The data are small. I'd use SQLite for it."),
        ("user", "agreed, let's do that"),
    ]
    workspace.inbox.transcripts["/t.jsonl"] = b"\n".join(
        json.dumps({"type": role, "message": {"role": role, "content": text}}).encode()
        for role, text in turns
    )
    await prompted(workspace, "agreed, let's do that", "/t.jsonl")

    assert f'{OFFERED}"Agreed: I\'d use SQLite for it."' in await prompted(workspace)


async def test_the_profile_line_heads_what_a_prompt_is_given() -> None:
    """Where there is something to say; alone it is not said."""
    workspace = at_work()
    await memories.add_memory(workspace, Draft(content="My name is Ada.", reach="user"))
    assert await prompted(workspace) == ""
    await said(workspace, SAID)

    assert (await prompted(workspace)).splitlines()[1] == "User: Ada"


async def test_a_language_model_decides_where_there_is_one() -> None:
    """It may keep what no rule knows; when it fails, the rules decide."""
    language = FakeLanguage()
    language.sorts["The lesson header is blue."] = "lesson"
    workspace = replace(at_work(), language=language)
    report = await said(workspace, "the lesson header is blue. make it green")
    assert [each.category for each in report.suggested] == ["lesson"]

    failing = FakeLanguage()
    failing.failing = "It is down."
    broken = replace(at_work(), language=failing)
    assert [each.statement for each in (await said(broken, SAID)).suggested] == [RULE]


async def test_a_fault_of_ours_costs_one_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is captured; the session never notices."""
    workspace = at_work()

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr("memory_mcp.sessions.capture.capture_turns", fail)
        await prompted(workspace, OTHER)
        assert await prompted(workspace, SAID) == ""
    assert f'{OFFERED}"{RULE}"' in await prompted(workspace)


@pytest.fixture
async def real(tmp_path: Path) -> AsyncGenerator[Workspace]:
    workspace = real_workspace(tmp_path)
    yield workspace
    await close_workspace(workspace)


async def test_suggestions_outlive_the_process_where_only_this_machine_writes(
    tmp_path: Path, real: Workspace
) -> None:
    """Never in the work tree: a repository could bring its own."""
    await said(real, SAID)
    file = machine_dir(tmp_path / "project", tmp_path / "home") / SUGGESTIONS_FILE
    assert RULE in file.read_text("utf-8")
    assert not [*(tmp_path / "project").rglob(SUGGESTIONS_FILE)]
    again = real_workspace(tmp_path)
    try:
        assert f'{OFFERED}"{RULE}"' in await prompted(again)
    finally:
        await close_workspace(again)
    file.write_bytes(b"{ nonsense")
    assert await sessions.list_suggestions(real) == ()
    outcome = await memories.add_memory(real, Draft(content="Something else."))
    assert isinstance(outcome, MemoryAdded)
