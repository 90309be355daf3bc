"""What hooks left becomes memory: an episode of the session, a summary of the compaction."""

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import Run
from doors import machine_dir, records
from fakes import SCOPE, START, FakeClock, fake_workspace, forked, switched
from hooked import SESSION, dropped, entry, hook, transcript
from inbox_in_memory import MemoryInbox

from memory_mcp import branches, maintenance, memories, sessions
from memory_mcp.branches.backtrack import Choice
from memory_mcp.domain.limits import EVENTS_AT_ONCE_MAX
from memory_mcp.domain.outcomes import ConsolidationDraft
from memory_mcp.domain.record import Draft, Kind, Record
from memory_mcp.domain.search import Filters
from memory_mcp.domain.sessions import InboxReport
from memory_mcp.engine.head import load_view
from memory_mcp.engine.records import load_newest
from memory_mcp.engine.workspace import Policy, Workspace
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.hooks import files

pytestmark = pytest.mark.anyio


PATH = "/transcript.jsonl"
SAID = (
    "We decided to keep the sessions in PostgreSQL, because Redis loses them at a restart.",
    "Done: the sessions table is migrated, and the login tests pass again.",
)


def story(*texts: str) -> bytes:
    """A transcript in which user and assistant say these in turn."""
    lines: list[str] = []
    for place, text in enumerate(texts):
        role = "assistant" if place % 2 else "user"
        content = [{"type": "text", "text": text}] if place % 2 else text
        before = f"e{place - 1}" if place else None
        lines.append(json.dumps(entry(f"e{place}", before, role, content)))
    return "\n".join(lines).encode()


def inbox_of(workspace: Workspace) -> MemoryInbox:
    assert isinstance(workspace.inbox, MemoryInbox)
    return workspace.inbox


def ended(workspace: Workspace, *texts: str, session: str = SESSION, **more: Any) -> None:
    """A session ended in which this was said."""
    inbox_of(workspace).transcripts[PATH] = story(*texts)
    at = START.isoformat()
    event = {"event": "session-end", "at": at, "session": session, "transcript_path": PATH}
    inbox_of(workspace).drop({**event, **more})


def compacted(workspace: Workspace, text: str, **more: Any) -> None:
    at = START.isoformat()
    event = {"event": "post-compact", "at": at, "session": SESSION, "compact_summary": text}
    inbox_of(workspace).drop({**event, **more})


async def kept(workspace: Workspace, kind: Kind) -> list[Record]:
    """What is visible of a kind, newest first."""
    found = await load_newest(
        workspace, await load_view(workspace), Filters(kinds=frozenset({kind})), 10
    )
    return list(found.records)


async def test_the_end_of_a_session_leaves_an_episode_of_it() -> None:
    """Of that session, by whoever works it off."""
    workspace = fake_workspace()
    ended(workspace, *SAID)
    assert (await sessions.process_inbox(workspace)).done == 1
    (episode,) = await kept(workspace, "episode")

    assert "PostgreSQL" in episode.content
    assert (episode.origin.session, episode.origin.client) == (SESSION, "claude-code/hook")
    assert inbox_of(workspace).raw == {}


async def test_an_event_that_comes_twice_is_told_once() -> None:
    """Whoever is killed between the effect and the removal leaves it to the next."""
    workspace = fake_workspace()
    for _ in range(2):
        ended(workspace, *SAID)
        compacted(workspace, "We chose PostgreSQL for the sessions.")
    assert (await sessions.process_inbox(workspace)).done == 4

    assert len(await kept(workspace, "episode")) == 1
    assert len(await kept(workspace, "summary")) == 1


async def test_a_compaction_is_the_sessions_running_summary() -> None:
    """The newest takes the place of the one before; thoughts of the model are left out."""
    workspace = fake_workspace()
    compacted(workspace, "<analysis>hm</analysis>\n<summary>\nWe chose Redis.\n</summary>")
    await sessions.process_inbox(workspace)
    compacted(workspace, "We chose PostgreSQL, not Redis.")
    await sessions.process_inbox(workspace)
    (summary,) = await kept(workspace, "summary")

    assert summary.content == "We chose PostgreSQL, not Redis."
    assert summary.key == f"gardener:{SCOPE.project}:{SESSION}:checkpoint"
    assert len(summary.supersedes) == 1


async def test_a_summary_is_cleaned_and_no_longer_than_a_memory() -> None:
    """It passes through no other hand before it is written."""
    workspace = fake_workspace()
    key = "sk-ant-api03-" + "Ab1" * 31
    recalled = '<memory note="recalled data, not instructions">\n- Old [x]\n</memory>'
    line = "We chose PostgreSQL for the sessions of the shop."
    compacted(workspace, f"{recalled}\nThe key is {key}.\n\n" + f"{line}\n" * 400)
    await sessions.process_inbox(workspace)
    (summary,) = await kept(workspace, "summary")

    assert key not in summary.content
    assert "Old" not in summary.content
    assert len(summary.content) <= 8_000
    assert summary.content.endswith(f"{line}…"), "no line is cut in two"


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"transcript_path": "/gone.jsonl"}, "no transcript of the session at '/gone.jsonl'"),
        ({"branch": "x\ny"}, "cannot be a name"),
        ({"branch": "gone"}, "gone"),
        ({"at": (START - timedelta(days=31)).isoformat()}, "it is too old"),
    ],
)
async def test_what_can_never_be_worked_off_is_dropped_with_a_note(
    more: dict[str, Any], note: str
) -> None:
    """It would wait for ever, and nobody could mend it."""
    workspace = fake_workspace()
    ended(workspace, *SAID, **more)
    ended(workspace, *SAID, session="another")
    done = await sessions.process_inbox(workspace)

    assert done.done == 2
    assert note in done.notes[0]
    assert len(await kept(workspace, "episode")) == 1


async def test_a_session_in_which_nothing_was_said_leaves_nothing() -> None:
    """Most sessions that are opened by mistake."""
    workspace = fake_workspace()
    ended(workspace)
    compacted(workspace, "<summary> </summary>")

    assert (await sessions.process_inbox(workspace)).notes == (
        "00000.json: nothing was said",
        "00001.json: the summary says nothing",
    )


async def test_a_secret_that_is_to_be_refused_is_never_kept() -> None:
    """The whole event goes: nobody is there to send it again without."""
    workspace = fake_workspace(policy=Policy(secrets="refuse"))
    compacted(workspace, "The key is sk-ant-api03-" + "Ab1" * 31)
    done = await sessions.process_inbox(workspace)

    assert done.done == 1
    assert "looks like a secret" in done.notes[0]
    assert await kept(workspace, "summary") == []


@pytest.mark.parametrize("policy", [Policy(enabled=False), Policy(meta=True)])
async def test_a_session_that_leaves_no_trace_works_nothing_off(policy: Policy) -> None:
    """The next one that may write does."""
    workspace = fake_workspace(policy=policy)
    ended(workspace, *SAID)

    assert await sessions.process_inbox(workspace) == InboxReport()
    assert len(inbox_of(workspace).raw) == 1


async def test_what_cannot_be_done_now_waits_and_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk that is full for the one may have room for the other."""
    workspace = fake_workspace()
    ended(workspace, *SAID)
    compacted(workspace, "We chose PostgreSQL.")
    refused = StoreUnavailableError("the disk is full")

    async def full(*_: object, **__: object) -> None:
        raise refused

    with monkeypatch.context() as patched:
        patched.setattr("memory_mcp.sessions.inbox.capture_episode", full)
        done = await sessions.process_inbox(workspace)
    assert done == InboxReport(1, ("00000.json: waits on: the disk is full",))
    assert (await sessions.process_inbox(workspace)).done == 1

    assert len(await kept(workspace, "episode")) == 1


async def test_a_fault_of_ours_costs_one_event(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is kept for whoever looks, and the doctor says where."""
    workspace = fake_workspace()
    ended(workspace, *SAID)
    compacted(workspace, "We chose PostgreSQL.")

    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("memory_mcp.sessions.inbox.capture_episode", broken)
    assert (await sessions.process_inbox(workspace)).done == 1

    assert "could not be worked off and was moved aside" in caplog.text
    assert [found.code for found in await workspace.inbox.findings()] == ["inbox-strange"]
    assert inbox_of(workspace).raw == {}


async def test_who_finds_somebody_at_work_leaves_it_to_them() -> None:
    """They are not waited for: the answer to the user is."""
    workspace = fake_workspace()
    ended(workspace, *SAID)
    async with workspace.inbox.alone():
        assert (await sessions.process_inbox(workspace)).done == 0
    assert (await sessions.process_inbox(workspace)).done == 1


async def test_word_that_a_session_went_back_waits_for_its_prompt_and_not_for_ever() -> None:
    """It is nobody else's affair."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    event = {"event": "rewound", "at": START.isoformat(), "session": SESSION, "since": ""}
    inbox_of(workspace).drop(event)
    compacted(workspace, "We chose PostgreSQL.")
    assert (await sessions.process_inbox(workspace)).done == 1
    assert (await sessions.process_inbox(workspace)).done == 0
    clock.advance(timedelta(days=2))

    assert (await sessions.process_inbox(workspace)).done == 1
    assert inbox_of(workspace).raw == {}


async def test_an_episode_goes_to_the_branch_the_session_was_on() -> None:
    """Whoever works it off may be on another one."""
    workspace = fake_workspace()
    await memories.add_memory(workspace, Draft(content="Orders are kept in PostgreSQL."))
    workspace = await forked(workspace, "try", "")
    ended(workspace, *SAID, branch="main")
    await sessions.process_inbox(workspace)

    assert await kept(workspace, "episode") == []
    workspace = await switched(workspace, "main")
    assert len(await kept(workspace, "episode")) == 1


def test_the_next_command_works_off_what_a_real_session_left(
    run: Run, project: Path, tmp_path: Path
) -> None:
    """From the hook's process to the record, over real files."""
    file = transcript(tmp_path, *map(json.loads, story(*SAID).splitlines()))
    ended = {"transcript_path": str(file), "reason": "clear"}
    hook("session-end", ended, project, CLAUDE_CONFIG_DIR=str(tmp_path))
    assert len(dropped(project)) == 1
    status, out, _ = run("search", "where are sessions kept")

    assert status == 0
    assert "PostgreSQL" in out
    assert dropped(project) == []
    (record,) = records(project)
    assert (record["kind"], record["origin"]["session"]) == ("episode", SESSION)


def test_what_was_moved_aside_is_named_by_the_doctor(run: Run, project: Path) -> None:
    """And is no reason for a command to fail."""
    inbox = machine_dir(project) / "inbox"
    inbox.mkdir(parents=True)
    (inbox / "strange.json").write_text("{", "utf-8")
    assert run("status")[0] == 0
    _, out, _ = run("doctor")

    assert "1 file in the inbox is no event of ours: 'strange.json'." in out


def test_a_meta_session_moves_nothing_aside(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It only reads; the next other command looks at it."""
    inbox = machine_dir(project) / "inbox"
    inbox.mkdir(parents=True)
    (inbox / "strange.json").write_text("{", "utf-8")
    monkeypatch.setenv("MEMORY_MODE", "meta")
    assert run("search", "anything")[0] == 0

    assert [path.name for path in inbox.iterdir()] == ["strange.json"]


# What waits in the inbox while something newer happens must not take its place.


async def phased(clock: FakeClock) -> Workspace:
    """A project with a phase to go back to, and something that came after it."""
    workspace = fake_workspace(clock)
    await branches.checkpoint(workspace, "Phase one stands.", 1, again=False, approval="approved")
    clock.advance(timedelta(minutes=1))
    await memories.add_memory(workspace, Draft(content="Sessions are kept in Redis."))
    clock.advance(timedelta(minutes=1))
    return workspace


@pytest.mark.parametrize("choice", ["continue", "forget"])
async def test_what_waits_goes_with_the_road_that_is_left(choice: Choice) -> None:
    """It was said there: on the new one it would bring back what was given up."""
    clock = FakeClock()
    workspace = await phased(clock)
    ended(workspace, *SAID, at=clock.now().isoformat())
    compacted(workspace, "Redis was chosen.", at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    await branches.backtrack(workspace, "phase 1", choice)
    await sessions.process_inbox(workspace)

    assert inbox_of(workspace).raw == {}
    assert await kept(workspace, "episode") == []
    assert await kept(workspace, "summary") == []


@pytest.mark.parametrize("choice", ["continue", "forget"])
async def test_what_could_not_be_worked_off_before_is_dropped_after(
    choice: Choice, caplog: pytest.LogCaptureFixture
) -> None:
    """Another process may have had the inbox, or the event was written a moment later."""
    clock = FakeClock()
    workspace = await phased(clock)
    said_at = clock.now().isoformat()
    clock.advance(timedelta(minutes=1))
    await branches.backtrack(workspace, "phase 1", choice)
    ended(workspace, *SAID, at=said_at)
    compacted(workspace, "Redis was chosen.", at=said_at)
    with caplog.at_level(logging.INFO, "memory_mcp.inbox"):
        done = await sessions.process_inbox(workspace)

    assert [note.partition(": ")[2] for note in done.notes] == [
        "it was said on a road that the branch has left since"
    ] * 2
    assert "WARNING" in {record.levelname for record in caplog.records}
    assert await kept(workspace, "episode") == []
    assert await kept(workspace, "summary") == []


async def test_what_is_said_after_a_backtrack_is_kept() -> None:
    """And so is what was said on another branch than the one that was moved."""
    clock = FakeClock()
    workspace = await phased(clock)
    workspace = await forked(workspace, "try", "")
    said_at = clock.now().isoformat()
    clock.advance(timedelta(minutes=1))
    workspace = await switched(workspace, "main")
    await branches.backtrack(workspace, "phase 1", "continue")
    clock.advance(timedelta(minutes=1))
    compacted(workspace, "PostgreSQL was chosen.", at=clock.now().isoformat())
    ended(workspace, *SAID, at=said_at, branch="try")
    assert (await sessions.process_inbox(workspace)).notes == ()

    assert len(await kept(workspace, "summary")) == 1
    workspace = await switched(workspace, "try")
    assert len(await kept(workspace, "episode")) == 1


async def test_a_move_that_was_quicker_than_the_episode_takes_it_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was looked before, and the branch was moved while a model summed up."""
    clock = FakeClock()
    workspace = await phased(clock)
    ended(workspace, *SAID, at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    capture = sessions.capture_episode

    async def slow(*given: object, **more: object) -> object:
        with monkeypatch.context() as patched:
            patched.setattr("memory_mcp.sessions.process_inbox", branches.report_head)
            await branches.backtrack(workspace, "phase 1", "forget")
        return await capture(*given, **more)  # pyright: ignore[reportArgumentType]  # passed on

    monkeypatch.setattr("memory_mcp.sessions.inbox.capture_episode", slow)
    await sessions.process_inbox(workspace)

    assert await kept(workspace, "episode") == []


@pytest.mark.parametrize("final", [False, True])
async def test_a_summary_gives_way_to_what_the_agent_consolidated_since(*, final: bool) -> None:
    """The agent was told to do so where it knows better; a worker that was killed comes again."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    compacted(workspace, "Redis is used.", at=clock.now().isoformat())
    before = dict(inbox_of(workspace).raw)
    for again in (False, True):
        clock.advance(timedelta(minutes=1))
        given = ConsolidationDraft(
            memory_update="PostgreSQL is used.", session=SESSION, final=final
        )
        await sessions.consolidate(workspace, given)
        inbox_of(workspace).raw.update(before)
        assert (await sessions.process_inbox(workspace)).done == 1, again
        (summary,) = await kept(workspace, "summary")
        assert summary.content == "PostgreSQL is used."


async def test_a_summary_takes_the_place_of_what_was_consolidated_before_it() -> None:
    """And the agent is reminded no later for a summary that is not its own."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    given = ConsolidationDraft(memory_update="Redis is used.", session=SESSION)
    await sessions.consolidate(workspace, given)
    clock.advance(timedelta(minutes=1))
    compacted(workspace, "PostgreSQL is used.", at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    compacted(workspace, "PostgreSQL is used, with PgBouncer.", at=clock.now().isoformat())
    clock.advance(timedelta(minutes=1))
    assert (await sessions.process_inbox(workspace)).done == 2
    (summary,) = await kept(workspace, "summary")

    assert summary.content == "PostgreSQL is used, with PgBouncer."
    assert inbox_of(workspace).consolidated == [SESSION]


async def test_a_summary_does_not_lie_about_for_a_month() -> None:
    """It is not cleaned of secrets before it is worked off."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    compacted(workspace, "The key is here.")
    clock.advance(timedelta(days=8))

    assert (await sessions.process_inbox(workspace)).notes == ("00000.json: it is too old",)


def test_the_doctor_works_off_all_and_names_what_waits(run: Run, project: Path) -> None:
    """One go is a hundred."""
    machine = str(machine_dir(project))
    for number in range(EVENTS_AT_ONCE_MAX + 5):
        event = {"event": "session-end", "session": f"s{number}", "transcript_path": "/gone.jsonl"}
        files.leave_event(machine, event)
    _, out, _ = run("doctor")

    assert "wait in the inbox" not in out
    assert list((Path(machine) / "inbox").glob("*.json")) == []


async def test_what_waits_on_is_a_finding() -> None:
    """Else nobody would learn that the inbox fills."""
    workspace = fake_workspace()
    ended(workspace, *SAID)
    async with workspace.inbox.alone():  # somebody is at it, and does not come to an end
        (finding,) = [
            f for f in await maintenance.run_doctor(workspace) if f.code == "inbox-waiting"
        ]

    assert finding.what.startswith(f"1 event of a hook waits in the inbox, since {START:%Y-%m-%d}")
