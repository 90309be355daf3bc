"""Rendered files: they show what holds, follow backtracks, and never cost a call."""

import asyncio
import json
import os
import re
import time
from binascii import crc32
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from command_line import Run, as_json
from doors import Era, add, agent, call, files_with, machine_dir, names_in, read, seal
from fakes import FakeClock, FakeIds, another_session, fake_workspace, forked, switched
from hooked import context_of, hook
from project_story import Story, page, told
from views_in_memory import MemoryViews

from memory_mcp import bootstrap, branches, rendered
from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.outcomes import Backtracked, MemoryForgotten
from memory_mcp.engine.head import load_head
from memory_mcp.engine.workspace import Policy
from memory_mcp.hooks.opening import ASK_FIRST
from memory_mcp.memories import forget_memory
from memory_mcp.rendered import (
    Rendered,
    bootstrap_path,
    is_current,
    load_bootstrap,
    snapshot_sources,
)

pytestmark = pytest.mark.anyio


RENDERED: Final = (
    ".claude/memory/MEMORY.md", ".claude/session-context.md", "rendered/main.json",
)  # fmt: skip


def showing(project: Path, text: str) -> list[str]:
    """The rendered files that hold a text."""
    names = [*files_with(project, text), *files_with(machine_dir(project), text)]
    return [n for n in names if n.endswith(".md") or n.startswith("rendered/")]


async def rendered_anew(project: Path) -> None:
    """Wait until the server has rendered what holds now."""
    async with asyncio.timeout(20):
        while True:
            found = rendered.load_bootstrap(str(machine_dir(project)), "main")
            if found is not None and rendered.is_current(found):
                return
            await asyncio.sleep(0.05)


async def test_a_session_right_after_a_backtrack_reads_nothing_of_what_was_left(
    settings: Settings, era: Era, project: Path
) -> None:
    """A move does not wait for rendering: until then a session is sent to the server."""

    def opening() -> str:
        answer = hook(
            "session-start", {}, project, MEMORY_USER=settings.user, MEMORY_HOME=str(settings.home)
        )
        return context_of(answer, "SessionStart")

    async with agent(settings, era) as client:
        await seal(client, "Storage chosen", phase=1)
        gone = await add(client, "Carts rest in cookies.", kind="decision")
        await rendered_anew(project)
        assert gone in page(project, "session-context.md")
        assert gone in opening()
        await call(client, "backtrack", to="phase 1", mode="continue")
        opened = opening()
        context = page(project, "session-context.md")
        kept = page(project, "MEMORY.md")

    assert opened == ASK_FIRST
    assert gone not in context
    assert gone not in kept
    assert "Call the tool `memory_context`" in context
    assert showing(project, gone) == [], "the server renders at the latest when it ends"


async def test_a_backtrack_on_another_branch_leaves_the_page_of_main(tmp_path: Path) -> None:
    """CLAUDE.md is about main, where nothing was left."""
    async with told(tmp_path) as story:
        await story.phase_one()
        await branches.fork_branch(story.workspace, "try/redis", "")
        await bootstrap.render_views(story.workspace)
        project = tmp_path / "project"
        before = page(project, "session-context.md")
        await branches.backtrack(story.workspace.at(BranchName("try/redis")), "start", "continue")

        assert page(project, "session-context.md") == before


async def test_a_backtrack_that_forgets_renders_before_it_answers(tmp_path: Path) -> None:
    """Nothing may show the text that was erased when the call returns."""
    async with told(tmp_path) as story:
        await story.phase_one()
        await story.phase_two()
        await bootstrap.render_views(story.workspace)
        assert showing(tmp_path / "project", "cookies") != []
        await branches.backtrack(story.workspace, "phase 1", "forget")

        assert showing(tmp_path / "project", "cookies") == []


async def test_files_follow_what_is_added_and_what_is_given_up(
    settings: Settings, era: Era, project: Path
) -> None:
    """A real server: files follow a move in a moment; what was corrected is gone at the answer."""
    async with agent(settings, era) as client:
        await add(client, "Orders rest in PostgreSQL.", kind="decision")
        await seal(client, "Storage chosen", phase=1)
    assert showing(project, "PostgreSQL") == sorted(RENDERED)
    sealed = re.compile(r"\*\*Checkpoint phase1-[0-9-]+\*\* Storage chosen \[")
    assert sealed.search(page(project, "HISTORY.md"))

    async with agent(settings, era) as client:
        gone = await add(client, "Carts rest in cookies.", kind="decision")
        left = await call(client, "backtrack", to="phase 1", mode="continue")
        await rendered_anew(project)
        assert showing(project, gone) == []
        await call(client, "backtrack", to=left["line"], mode="continue")
        await rendered_anew(project)
        assert showing(project, "Carts rest in cookies.") == sorted(RENDERED)
        await call(client, "update_memory", memory_id=gone, content="Carts rest in files.")
        assert showing(project, "cookies") == []
        again = await call(client, "search_memories", query="carts files")
        last = again["results"][0]["memoryId"]
        await call(client, "forget_memory", memory_id=last, mode="hide")
        assert showing(project, "Carts") == []


async def test_what_lies_ready_is_what_the_tool_says(
    settings: Settings, project: Path, era: Era
) -> None:
    """A hook prints it without starting anything; it must not say anything else."""
    async with agent(settings, era) as client:
        await add(client, "Orders rest in PostgreSQL.", kind="decision")
        gone = await add(client, "Carts rest in cookies.")
        await call(client, "forget_memory", memory_id=gone)
        live = (await read(client, "memory_context")).splitlines()
    found = rendered.load_bootstrap(str(machine_dir(project)), "main")

    assert found is not None
    assert rendered.is_current(found)
    assert found["text"].splitlines() == [*live[:-2], live[-1]]
    assert found["tokens"] == -(-len(found["text"]) // 4)
    assert found["text"] in page(project, "session-context.md")


async def test_a_branch_has_its_own_bootstrap_and_the_pages_are_mains(
    settings: Settings, project: Path
) -> None:
    """CLAUDE.md cannot know on which branch a session is; a hook can."""
    async with agent(replace(settings, toolsets=("branches",)), "auto") as client:
        await add(client, "Orders rest in PostgreSQL.")
        await call(client, "switch_branch", name="try/redis", create=True)
        await add(client, "Carts rest in Redis.")
    machine = str(machine_dir(project))
    there, main = (
        rendered.load_bootstrap(machine, "try/redis"),
        rendered.load_bootstrap(machine, "main"),
    )

    assert there is not None
    assert main is not None
    assert "Carts rest in Redis." in there["text"]
    assert "branch try/redis" in there["text"]
    assert "Redis" not in main["text"] + page(project) + page(project, "session-context.md")
    assert rendered.is_current(there)
    assert rendered.is_current(main)


async def test_pages_in_a_folder_that_may_be_shared_show_nothing_of_the_users(
    settings: Settings, project: Path
) -> None:
    """The records beside them may be committed; a preference of Ada's is Ada's affair."""
    async with agent(settings, "auto") as client:
        await add(client, "Short sentences, please.", kind="preference", scope="user")
        await add(client, "Orders rest in PostgreSQL.")

    assert "Short sentences" in page(project, "session-context.md")
    assert "Short sentences" not in page(project) + page(project, "HISTORY.md")


async def test_what_the_user_takes_back_leaves_their_other_projects(
    settings: Settings, tmp_path: Path
) -> None:
    """A file that CLAUDE.md references is read before any server could render it anew."""
    other = tmp_path / "other"
    other.mkdir()
    async with agent(replace(settings, project_dir=other), "auto") as client:
        old = await add(client, "Spaces.", kind="preference", scope="user")
        await add(client, "Here is a bakery.")
    assert len(showing(other, "Spaces.")) == 2
    async with agent(settings, "auto") as client:
        new = await call(client, "update_memory", memory_id=old, content="Tabs.")
        assert showing(other, "Spaces.") == []
        assert "Call the tool `memory_context`" in page(other, "session-context.md")
    async with agent(replace(settings, project_dir=other), "auto") as client:
        await add(client, "It opens at six.")
    assert len(showing(other, "Tabs.")) == 2
    async with agent(settings, "auto") as client:
        await call(client, "forget_memory", memory_id=new["memoryId"])
        assert files_with(tmp_path, "Tabs.") == []


async def test_without_a_project_the_pages_lie_in_the_users_folder(
    settings: Settings, tmp_path: Path
) -> None:
    """There is no CLAUDE.md that could reference a session context."""
    async with agent(replace(settings, project_dir=None), "auto") as client:
        await add(client, "Orders rest in PostgreSQL.")

    assert [name for name in names_in(tmp_path) if name.endswith(".md")] == [
        "HISTORY.md", "MEMORY.md",
    ]  # fmt: skip
    assert (tmp_path / "home" / "user-ada" / "none" / "memory" / "MEMORY.md").exists()


@pytest.mark.parametrize("policy", [Policy(meta=True), Policy(enabled=False)])
async def test_a_session_that_writes_nothing_renders_nothing(policy: Policy) -> None:
    """Meta sessions leave no trace; a memory that is off touches nothing."""
    workspace = fake_workspace()
    await Story(workspace, FakeClock(), FakeIds()).say("Orders rest in PostgreSQL.")
    quiet = another_session(workspace, policy=policy)
    assert await bootstrap.render_views(quiet) == ()
    assert await bootstrap.render_if_stale(quiet) == ()
    await bootstrap.keep_rendered(quiet, asyncio.Event())

    assert await workspace.views.list_rendered() == []


async def test_a_server_that_is_only_started_leaves_no_files(
    settings: Settings, project: Path
) -> None:
    """Not in every folder that somebody opens."""
    async with agent(settings, "auto") as client:
        await client.list_tools()
        await read(client, "memory_context")

    assert not (project / ".claude").exists()


async def test_what_others_wrote_is_rendered_too(tmp_path: Path) -> None:
    """Another process may have been killed before it could; or git brought records."""
    async with told(tmp_path) as story, told(tmp_path) as other:
        await story.say("Orders rest in PostgreSQL.")
        await bootstrap.render_views(story.workspace)
        story.clock.advance(timedelta(minutes=5))
        other.clock.advance(timedelta(minutes=6))
        await other.say("Carts rest in cookies.")
        assert showing(tmp_path / "project", "cookies") == []
        await bootstrap.render_if_stale(story.workspace)

        assert len(showing(tmp_path / "project", "cookies")) == len(RENDERED)


@pytest.mark.files
async def test_only_what_others_write_later_is_a_change(tmp_path: Path) -> None:
    """Else every command that only reads would render at its end what is rendered already."""
    async with told(tmp_path) as story:
        await story.say("Orders rest in PostgreSQL.")
        async with told(tmp_path) as reading:
            changes = reading.workspace.project.changes
            await load_head(reading.workspace)
            before = changes.count
            await story.say("Carts rest in cookies.")
            await load_head(reading.workspace)

    assert (before, changes.count) == (0, 1)


async def test_the_background_renders_once_for_many_and_once_more_at_the_end() -> None:
    """Adding must not get slower, and nothing may be missing when the session ends."""
    workspace = fake_workspace()
    views = workspace.views
    assert isinstance(views, MemoryViews)
    story = Story(workspace, FakeClock(), FakeIds())
    leaving = asyncio.Event()
    task = asyncio.create_task(bootstrap.keep_rendered(workspace, leaving))
    for number in range(20):
        await story.say(f"Order {number} was sent.")
    assert views.written == [], "nobody waited for it"
    async with asyncio.timeout(60):
        while workspace.project.changes.shown < 20:  # noqa: ASYNC110  # the task tells nobody
            await asyncio.sleep(0.05)
    assert views.written.count("MEMORY.md") == 1
    await story.say("The last one.")
    leaving.set()
    await asyncio.wait_for(task, 20)

    assert "The last one." in views.pages["MEMORY.md"]


@pytest.mark.files
async def test_a_folder_that_refuses_costs_a_note_and_never_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Files are derivatives; the memory works without."""
    async with told(tmp_path) as story:
        memory_id = await story.say("Orders rest in PostgreSQL.")
        blocked = tmp_path / "project" / ".claude" / "memory" / "MEMORY.md"
        blocked.mkdir()
        gone = await forget_memory(story.workspace, memory_id, "", erase=True)
        assert showing(tmp_path / "project", "PostgreSQL") == [], "the others are written anew"
        leaving = asyncio.Event()
        story.workspace.project.changes.note()
        task = asyncio.create_task(bootstrap.keep_rendered(story.workspace, leaving))
        async with asyncio.timeout(60):
            while not caplog.records:  # noqa: ASYNC110  # the task tells nobody else
                await asyncio.sleep(0.05)
            leaving.set()
            await task

    assert isinstance(gone, MemoryForgotten)
    assert "may show the old state" in caplog.text


def test_a_command_renders_after_it_ran(run: Run, project: Path) -> None:
    """There is no server that would."""
    run("add", "Orders rest in PostgreSQL.")
    assert "Orders rest in PostgreSQL." in page(project)
    before = (project / ".claude" / "memory" / "MEMORY.md").stat().st_ino
    run("context")

    assert (project / ".claude" / "memory" / "MEMORY.md").stat().st_ino == before


@pytest.mark.usefixtures("lone_doctor")
def test_the_doctor_sees_a_file_that_shows_what_does_not_hold(run: Run, project: Path) -> None:
    """Somebody put an old copy back, or a disk lost a write."""
    memory_id = as_json(run, "add", "The door code is 4711.")["memoryId"]
    path = project / ".claude" / "memory" / "MEMORY.md"
    old = path.read_bytes()
    run("forget", memory_id)
    path.write_bytes(old)
    (machine_dir(project) / "rendered" / "gone.json").write_text(
        json.dumps({**read_json(project), "branch": "gone", "text": f"[{memory_id}]"}), "utf-8"
    )
    status, said, _ = run("doctor")
    assert (status, said.count("shows what does not hold: 1 record")) == (1, 2)
    run("doctor", "--repair")

    assert as_json(run, "doctor")["findings"] == []
    assert showing(project, memory_id) == []


def read_json(project: Path) -> dict[str, object]:
    return json.loads((machine_dir(project) / "rendered" / "main.json").read_bytes())


def test_notes_that_somebody_else_wrote_stay(run: Run, project: Path) -> None:
    """Claude Code's own memory has a file of that name, too."""
    path = project / ".claude" / "memory" / "MEMORY.md"
    path.parent.mkdir(parents=True)
    path.write_text("# My notes\n", "utf-8")
    run("add", "Orders rest in PostgreSQL.")
    status, said, _ = run("doctor")

    assert path.read_text("utf-8") == "# My notes\n"
    assert status == 0, "it is no fault"
    assert "was not written by memory-mcp" in said
    assert "PostgreSQL" in page(project, "session-context.md")


async def test_a_restore_brings_it_back_into_the_files(tmp_path: Path) -> None:
    """Byte for byte, as everything else."""
    async with told(tmp_path) as story:
        await story.phase_one()
        await story.phase_two()
        await bootstrap.render_views(story.workspace)
        project = tmp_path / "project"
        before = page(project), page(project, "HISTORY.md")
        story.clock.advance(timedelta(minutes=1))
        left = await branches.backtrack(story.workspace, "phase 1", "continue")
        assert isinstance(left, Backtracked)
        await bootstrap.render_if_stale(story.workspace)
        assert "cookies" not in page(project) + page(project, "HISTORY.md")
        await branches.backtrack(story.workspace, left.line or "", "continue")
        await bootstrap.render_if_stale(story.workspace)

        assert (page(project), page(project, "HISTORY.md")) == before


# Rendered files that end: by a date on a page, on another branch, or where one cannot be read.


@pytest.mark.files
@pytest.mark.anyio
async def test_what_expires_anywhere_on_a_page_ends_the_rendering(tmp_path: Path) -> None:
    """MEMORY.md shows more than the bootstrap has room to look at."""
    async with told(tmp_path) as story:
        ends = story.clock.now() + timedelta(hours=1)
        await story.say("The sale ends soon.", importance=1, expires_at=ends)
        for number in range(25):
            await story.say(f"Rule {number} of the shop: see shelf {number * 7}.")
        await bootstrap.render_views(story.workspace)
        assert "The sale ends soon." in page(tmp_path / "project")
        found = rendered.load_bootstrap(str(machine_dir(tmp_path / "project")), "main")
        story.clock.advance(timedelta(hours=1))
        await bootstrap.render_if_stale(story.workspace)

    assert found is not None
    assert "The sale" not in found["text"]
    assert found["until"] == ends.timestamp()
    assert "The sale ends soon." not in page(tmp_path / "project")


@pytest.mark.files
@pytest.mark.anyio
async def test_the_bootstraps_of_other_branches_keep_up(tmp_path: Path) -> None:
    """A session on one of them opens with what is rendered, whoever wrote last."""
    async with told(tmp_path) as story:
        await story.say("Orders rest in PostgreSQL.")
        story.workspace = await forked(story.workspace, "try/redis", "")
        await story.say("Carts rest in Redis.")
        await bootstrap.render_views(story.workspace)
        story.workspace = await switched(story.workspace, "main")
        gone = await story.say("Be brief.", reach="user", kind="preference")
        await bootstrap.render_views(story.workspace)
        machine = str(machine_dir(tmp_path / "project"))
        there = rendered.load_bootstrap(machine, "try/redis")
        assert there is not None
        assert rendered.is_current(there)
        assert "Be brief." in there["text"]
        await forget_memory(story.workspace, gone, "", erase=True)
        assert rendered.load_bootstrap(machine, "try/redis") is None, "nothing shows it any more"
        await bootstrap.render_views(story.workspace)
        later = rendered.load_bootstrap(machine, "try/redis")

    assert later is not None
    assert "Be brief." not in later["text"]
    assert "Carts rest in Redis." in later["text"]


@pytest.mark.usefixtures("lone_doctor")
def test_the_doctor_names_a_file_that_cannot_be_read(run: Run, project: Path) -> None:
    """Whoever wonders why a view is old hears it, and of the other files as well."""
    memory_id = as_json(run, "add", "The door code is 4711.")["memoryId"]
    path = project / ".claude" / "memory" / "MEMORY.md"
    context = project / ".claude" / "session-context.md"
    old = context.read_bytes()
    path.unlink()
    path.mkdir()
    run("forget", memory_id)
    assert "4711" not in context.read_text("utf-8")
    context.write_bytes(old)
    status, said, _ = run("doctor")

    assert status == 1
    assert str(path) in said
    assert "session-context.md shows what does not hold: 1 record" in said


# Whether what lies ready for a hook still holds: nothing abandoned may be printed.


def made(folder: Path, *, until: float | None = None) -> Rendered:
    """A bootstrap made from what is in the folder now."""
    memories = folder / "memory"
    (memories / "2026-01").mkdir(parents=True, exist_ok=True)
    (folder / "head.json").touch()
    return Rendered(
        branch="a/b",
        revision=3,
        text="It is so.",
        tokens=3,
        zone="",
        until=until,
        watched=snapshot_sources(str(folder / "head.json"), [str(memories)]),
    )


def test_it_holds_until_a_record_comes_or_goes(tmp_path: Path) -> None:
    """A month's folder changes with each file in it."""
    rendered = made(tmp_path)
    assert is_current(rendered)
    os.utime(tmp_path / "memory" / "2026-01", ns=(0, 0))

    assert not is_current(rendered)


def test_a_new_month_and_a_moved_head_are_changes(tmp_path: Path) -> None:
    """A backtrack writes the head; the first record of a month makes a folder."""
    (first, second) = (made(tmp_path), made(tmp_path))
    (tmp_path / "memory" / "2026-02").mkdir()
    assert not is_current(first)
    (tmp_path / "memory" / "2026-02").rmdir()
    (tmp_path / "head.json").write_text("{}", "utf-8")

    assert not is_current(second)


def test_other_files_beside_the_months_are_no_change(tmp_path: Path) -> None:
    """The rendered views themselves lie there."""
    rendered = made(tmp_path)
    (tmp_path / "memory" / "MEMORY.md").write_text("views", "utf-8")

    assert is_current(rendered)


def test_what_expires_in_it_ends_it(tmp_path: Path) -> None:
    """Nothing is written when a memory expires."""
    assert is_current(made(tmp_path, until=time.time() + 60))
    assert not is_current(made(tmp_path, until=time.time() - 1))


def test_what_is_read_is_what_was_written_for_that_branch(tmp_path: Path) -> None:
    """A damaged file, or one of another branch, is none."""
    rendered = made(tmp_path)
    path = Path(bootstrap_path(str(tmp_path), "a/b"))
    path.parent.mkdir()
    path.write_text(json.dumps(rendered), "utf-8")

    assert load_bootstrap(str(tmp_path), "a/b") == rendered
    assert load_bootstrap(str(tmp_path), "a") is None
    path.write_text(json.dumps({**rendered, "branch": "A/b"}), "utf-8")
    assert load_bootstrap(str(tmp_path), "a/b") is None
    path.write_text('{"branch": "a/b"', "utf-8")
    assert load_bootstrap(str(tmp_path), "a/b") is None


def test_no_branch_gives_a_file_that_windows_keeps_for_a_device() -> None:
    """A device swallows what is written to it, whatever follows behind a dot."""
    long = "\u8282" * 40
    names = ["CON", "nul", "com1", "aux.fixes", "PRN", "lpt9", "console", "main", "a/con",
             ".", "node 3", "é:%", long]  # fmt: skip
    files = [os.path.basename(bootstrap_path("state", name)) for name in names]  # noqa: PTH119

    assert files == [
        "%CON.json", "%nul.json", "%com1.json", "%aux.fixes.json", "%PRN.json", "%lpt9.json",
        "console.json", "main.json", "a%2Fcon.json",
        "%2E.json", "node%203.json", "%C3%A9%3A%25.json",
        f"{('%E8%8A%82' * 40)[:200]}%{crc32(long.encode()):08x}.json",
    ]  # fmt: skip
