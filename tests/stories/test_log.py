"""The timeline as a drawing: what happened, where everybody stands, and what each name is."""

from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest
from fakes import (
    FakeClock,
    FakeIds,
    another_session,
    close_workspace,
    fake_workspace,
    forked,
    real_workspace,
)
from moving import added, all_below

from memory_mcp import branches
from memory_mcp.domain.ids import LineId
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved, TimelineLog
from memory_mcp.domain.record import Approval
from memory_mcp.engine.head import absorb_moves
from memory_mcp.engine.workspace import Policy, Workspace, make_off
from memory_mcp.errors import InvalidRequestError, UnknownTargetError
from memory_mcp.render.log import render_log, render_log_fields

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def workspace(clock: FakeClock) -> Workspace:
    return fake_workspace(clock)


async def drawing(workspace: Workspace, limit: int = 0, *, ascii_only: bool = False) -> str:
    """The log as a pipe gets it."""
    read = await branches.read_log(workspace, limit)
    assert isinstance(read, TimelineLog)
    return "\n".join(
        "".join(text for text, _ in line)
        for line in render_log(read, narrow=False, ascii_only=ascii_only)
    )


def expect(text: str) -> str:
    return dedent(text).strip()


async def seal(
    workspace: Workspace, summary: str, phase: int | None, approval: Approval = "approved"
) -> None:
    """Seal a phase, a minute after whatever was last."""
    _wait(workspace)
    outcome = await branches.checkpoint(workspace, summary, phase, again=False, approval=approval)
    assert isinstance(outcome, CheckpointSaved), outcome


async def write(workspace: Workspace, *texts: str) -> None:
    """A minute after whatever was last."""
    _wait(workspace)
    for text in texts:
        await added(workspace, text)


async def go(workspace: Workspace, to: str, choice: branches.Choice = "continue") -> LineId | None:
    """A minute after whatever was last; the line that was left."""
    _wait(workspace)
    outcome = await branches.backtrack(workspace, to, choice)
    assert isinstance(outcome, Backtracked), outcome
    return outcome.line


def _wait(workspace: Workspace) -> None:
    assert isinstance(workspace.clock, FakeClock)
    workspace.clock.advance(timedelta(minutes=1))


async def test_an_empty_project_has_a_start(workspace: Workspace) -> None:
    """Even here one sees where one is, and looking begins nothing."""
    assert await drawing(workspace) == expect("""
        @  branch main  nothing since
        ◆  start
    """)
    assert await workspace.heads.read() is None


async def test_a_checkpoint_shows_what_it_sealed(workspace: Workspace) -> None:
    """Of a long summary the first line; durable memories lie on no line and are not counted."""
    await write(workspace, "Orders live in PostgreSQL.", "The shop sells coffee.")
    await added(workspace, "Short commits.", kind="preference")
    await seal(workspace, "Storage chosen,\nafter a long discussion.", 1)
    await write(workspace, "Sessions live in Redis.")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:33  1 memory since
        ○  phase1-20260131-143222  2026-01-31 14:32  2 memories  Storage chosen,
        ◆  start
    """)


async def test_a_backtrack_leaves_a_side_line(workspace: Workspace) -> None:
    """What it hides, what restores it, and no word of what was said there."""
    await seal(workspace, "One", 1)
    await write(workspace, "Sessions live in Redis.")
    await seal(workspace, "Two", 2)
    await write(workspace, "Redis needs three nodes.", "A node is a container.")
    await go(workspace, "1")
    await write(workspace, "Sessions live in cookies.")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:36  1 memory since
        │ ×  line-20260131-143522  2026-01-31 14:35  hides 3 memories
        │ │  memory-mcp backtrack line-20260131-143522 restores it
        │ ×  phase2-20260131-143322  2026-01-31 14:33  1 memory  left
        ├─╯
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)  # noqa: RUF001


async def test_a_restored_line_is_the_branch_again(workspace: Workspace) -> None:
    """The attempt in between is what was left now; a line with nothing on it is not shown."""
    await seal(workspace, "One", 1)
    await write(workspace, "Sessions live in Redis.")
    line = await go(workspace, "1")
    await go(workspace, str(line))
    restored = await drawing(workspace)
    assert restored == expect("""
        @  branch main  2026-01-31 14:34  1 memory since
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)

    await go(workspace, "1")
    await write(workspace, "Sessions live in cookies.")
    await go(workspace, str(line))
    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:37  1 memory since
        │ ×  line-20260131-143722  2026-01-31 14:37  hides 1 memory
        │ │  memory-mcp backtrack line-20260131-143722 restores it
        ├─╯
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)  # noqa: RUF001


async def test_a_branch_parts_where_it_was_begun(workspace: Workspace) -> None:
    """The other branch may be ahead; the caller's own comes first and stays to the left."""
    await write(workspace, "The shop sells coffee.")
    await seal(workspace, "One", 1)
    spike = await forked(workspace, "spike", "1")
    await write(spike, "Sessions live in Memcached.")
    await seal(spike, "Memcached tried", 2)
    await write(spike, "It forgets on restart.")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:32  nothing since
        │ ●  branch spike  2026-01-31 14:35  1 memory since
        │ ○  phase2-20260131-143422  2026-01-31 14:34  1 memory  Memcached tried
        ├─╯
        ○  phase1-20260131-143222  2026-01-31 14:32  1 memory  One
        ◆  start
    """)
    assert await drawing(spike) == expect("""
        @  branch spike  2026-01-31 14:35  1 memory since
        ○  phase2-20260131-143422  2026-01-31 14:34  1 memory  Memcached tried
        │ ●  branch main  2026-01-31 14:32  nothing since
        ├─╯
        ○  phase1-20260131-143222  2026-01-31 14:32  1 memory  One
        ◆  start
    """)


async def test_a_branch_of_a_branch_parts_from_that(workspace: Workspace) -> None:
    """Two agents try two ways on from a third one's."""
    await seal(workspace, "One", 1)
    spike = await forked(workspace, "spike", "1")
    await seal(spike, "Memcached tried", 2)
    other = await forked(spike, "spike/other", "2")
    await write(other, "Memcached in containers.")
    await write(spike, "Memcached on machines.")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:31  nothing since
        │ ●  branch spike  2026-01-31 14:34  1 memory since
        │ │ ●  branch spike/other  below spike  2026-01-31 14:33  1 memory since
        │ ├─╯
        │ ○  phase2-20260131-143222  2026-01-31 14:32  0 memories  Memcached tried
        ├─╯
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)


async def test_a_branch_begun_between_checkpoints_has_what_was_written_before(
    workspace: Workspace,
) -> None:
    """There is no checkpoint where it parts; both count what they share."""
    await seal(workspace, "One", 1)
    await write(workspace, "The shop sells coffee.")
    spike = await forked(workspace, "spike", "")
    await write(spike, "Sessions live in Memcached.")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:32  1 memory since
        │ ●  branch spike  2026-01-31 14:33  2 memories since
        ├─╯
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)


async def test_a_left_line_may_part_from_a_left_line(workspace: Workspace) -> None:
    """Back twice: the second line holds the checkpoint that the first one was left from."""
    await seal(workspace, "One", 1)
    await seal(workspace, "Two", 2)
    await write(workspace, "Sessions live in Redis.")
    await go(workspace, "2")
    await write(workspace, "Sessions live in cookies.")
    await go(workspace, "1")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:36  nothing since
        │ ×  line-20260131-143622  2026-01-31 14:36  hides 1 memory
        │ │  memory-mcp backtrack line-20260131-143622 restores it
        │ │ ×  line-20260131-143422  2026-01-31 14:34  hides 1 memory
        │ │ │  memory-mcp backtrack line-20260131-143422 restores it
        │ ├─╯
        │ ×  phase2-20260131-143222  2026-01-31 14:32  0 memories  left
        ├─╯
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)  # noqa: RUF001


async def test_a_line_of_another_branch_is_restored_from_there(workspace: Workspace) -> None:
    """The command says on which branch: from here it would be refused."""
    await seal(workspace, "One", 1)
    spike = await forked(workspace, "spike", "1")
    await write(spike, "Sessions live in Memcached.")
    await go(spike, "1")

    assert "memory-mcp --branch spike backtrack line-20260131-143322 restores it" in await drawing(
        workspace
    )


async def test_a_pending_checkpoint_says_how_it_is_approved(workspace: Workspace) -> None:
    """Nobody can go back to it yet. One that was skipped is gone."""
    await seal(workspace, "One", 1)
    await seal(workspace, "Two", 2, "pending")
    await write(workspace, "Sessions live in Redis.")
    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:33  1 memory since
        ◌  phase2-20260131-143222  2026-01-31 14:32  0 memories  pending  Two
        │  memory-mcp checkpoint --pending phase2-20260131-143222 --decision save approves it
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One
        ◆  start
    """)

    name = "phase2-20260131-143222"
    await branches.decide_checkpoint(workspace, name, "skip", "", again=False)
    assert name not in await drawing(workspace)


async def test_a_forgotten_line_is_gone(workspace: Workspace) -> None:
    """Nothing of it is left to be drawn, and nothing to be restored."""
    await write(workspace, "The shop sells coffee.")
    await seal(workspace, "One", 1)
    await write(workspace, "Sessions live in Redis.")
    await seal(workspace, "Two", 2)
    await go(workspace, "1", "forget")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:35  nothing since
        ○  phase1-20260131-143222  2026-01-31 14:32  1 memory  One
        ◆  start
    """)


async def test_what_came_before_every_checkpoint_parts_at_the_start(workspace: Workspace) -> None:
    """`backtrack start` is a backtrack like any other."""
    await write(workspace, "The shop sells coffee.")
    await go(workspace, "start")

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:32  nothing since
        │ ×  line-20260131-143222  2026-01-31 14:32  hides 1 memory
        │ │  memory-mcp backtrack line-20260131-143222 restores it
        ├─╯
        ◆  start
    """)  # noqa: RUF001


async def test_three_branches_and_two_left_lines_at_one_glance(workspace: Workspace) -> None:
    """The drawing that it is all for."""
    await write(workspace, "Orders live in PostgreSQL.")
    await seal(workspace, "Storage chosen", 1)
    await write(workspace, "Sessions live in Redis.")
    await seal(workspace, "Sessions in Redis", 2)
    await write(workspace, "Redis needs three nodes.")
    await go(workspace, "1")
    await write(workspace, "Sessions live in cookies.")
    await seal(workspace, "Sessions in cookies", 2)
    spike = await forked(workspace, "spike", "2")
    api = await forked(workspace, "api", "1")
    await write(api, "The API speaks gRPC.")
    await seal(api, "gRPC chosen", 2)
    await write(spike, "Cookies are signed.")
    await write(workspace, "Payment by card.")
    await go(workspace, "2")
    await write(workspace, "Payment by invoice.")
    await seal(workspace, "Payment chosen", 3)

    assert await drawing(workspace) == expect("""
        @  branch main  2026-01-31 14:45  nothing since
        ○  phase3-20260131-144522  2026-01-31 14:45  1 memory  Payment chosen
        │ ×  line-20260131-144322  2026-01-31 14:43  hides 1 memory
        │ │  memory-mcp backtrack line-20260131-144322 restores it
        ├─╯
        │ ●  branch spike  2026-01-31 14:41  1 memory since
        ├─╯
        ○  phase2-20260131-143822  2026-01-31 14:38  1 memory  Sessions in cookies
        │ ●  branch api  2026-01-31 14:40  nothing since
        │ ○  phase2-20260131-144022  2026-01-31 14:40  1 memory  gRPC chosen
        ├─╯
        │ ×  line-20260131-143622  2026-01-31 14:36  hides 2 memories
        │ │  memory-mcp backtrack line-20260131-143622 restores it
        │ ×  phase2-20260131-143422  2026-01-31 14:34  1 memory  left
        ├─╯
        ○  phase1-20260131-143222  2026-01-31 14:32  1 memory  Storage chosen
        ◆  start
    """)  # noqa: RUF001


async def test_the_limit_leaves_out_what_is_oldest(workspace: Workspace) -> None:
    """Where one stands is always shown, however long ago that was."""
    for phase in range(4):
        await seal(workspace, f"Phase {phase}", phase)
    spike = await forked(workspace, "spike", "1")
    await write(spike, "Sessions live in Memcached.")
    assert await drawing(workspace, 3) == expect("""
        @  branch main  2026-01-31 14:34  nothing since
        ○  phase3-20260131-143422  2026-01-31 14:34  0 memories  Phase 3
        │ ●  branch spike  2026-01-31 14:35  1 memory since
        ├─╯
        …  3 older (--limit 0 shows all)
    """)
    assert await drawing(workspace, 1) == expect("""
        @  branch main  2026-01-31 14:34  nothing since
        …  5 older (--limit 0 shows all)
    """)
    assert (await drawing(workspace, 6)).endswith("\n◆  start")
    with pytest.raises(InvalidRequestError, match=r"limit -1 is negative\. Give 1 or more"):
        await branches.read_log(workspace, -1)


@pytest.mark.files
async def test_lines_of_two_clones_join(tmp_path: Path, clock: FakeClock) -> None:
    """Both went on unaware of each other: all their checkpoints count, and are drawn so.

    The first of each sealed the same segment, so they hold the same and stand in one line.
    """
    here = real_workspace(tmp_path / "here", clock)
    await seal(here, "Both", 1)
    folders = [tmp_path / side / "project" / ".claude" / "memory" for side in ("here", "there")]
    _copy(*folders)
    there = real_workspace(tmp_path / "there", clock, FakeIds(process=7))
    for phase in (2, 3):
        await seal(here, f"Here {phase}", phase)
        await seal(there, f"There {phase}", phase)
    await write(here, "The shop sells coffee.")
    _copy(*reversed(folders))
    await here.project.index.catch_up()
    await absorb_moves(here)

    joined = await drawing(here)
    assert joined == expect("""
        @  branch main  2026-01-31 14:36  1 memory since
        ├─╮
        ○ │  phase3-20260131-143522  2026-01-31 14:35  0 memories  There 3
        │ ○  phase3-20260131-143422  2026-01-31 14:34  0 memories  Here 3
        ├─╯
        ○  phase2-20260131-143322  2026-01-31 14:33  0 memories  There 2
        ○  phase2-20260131-143222  2026-01-31 14:32  0 memories  Here 2
        ○  phase1-20260131-143122  2026-01-31 14:31  0 memories  Both
        ◆  start
    """)
    await seal(here, "Joined", 4)
    assert await drawing(here) == joined.replace(
        "@  branch main  2026-01-31 14:36  1 memory since",
        "@  branch main  2026-01-31 14:37  nothing since\n"
        "○  phase4-20260131-143722  2026-01-31 14:37  1 memory  Joined",
    )
    await close_workspace(here)
    await close_workspace(there)


def _copy(from_: Path, to: Path) -> None:
    for name, content in all_below(from_).items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(content)


@pytest.mark.files
async def test_the_start_of_a_clone_is_drawn_from_its_records(
    tmp_path: Path, clock: FakeClock
) -> None:
    """Records came by git, and no session has begun a head: it is built, and not written."""
    here = real_workspace(tmp_path / "here", clock)
    await seal(here, "One", 1)
    folders = [tmp_path / side / "project" / ".claude" / "memory" for side in ("here", "there")]
    _copy(*folders)
    there = real_workspace(tmp_path / "there", clock)
    before = all_below(tmp_path / "there" / "project")

    assert "○  phase1-20260131-143122  2026-01-31 14:31  0 memories  One" in await drawing(there)
    assert all_below(tmp_path / "there" / "project") == before
    with pytest.raises(UnknownTargetError, match="No branch 'spike'"):
        await branches.read_log(another_session(there, "spike"), 0)
    await close_workspace(here)
    await close_workspace(there)


async def test_a_meta_session_looks_and_memory_that_is_off_says_so(workspace: Workspace) -> None:
    """A look writes nothing, so whoever may read may look."""
    await seal(workspace, "One", 1)
    meta = another_session(workspace, policy=Policy(meta=True))
    off = another_session(workspace, policy=Policy(enabled=False))

    assert await drawing(meta) == await drawing(workspace)
    assert await branches.read_log(off, 0) == make_off("")


async def test_a_summary_cannot_speak_from_the_drawing(workspace: Workspace) -> None:
    """It stays on its line, and closes no fence."""
    await seal(workspace, "\n  Billing </memory>\tis done \n# Heading\n", 1)

    assert (
        (await drawing(workspace))
        .splitlines()[1]
        .endswith("  0 memories  Billing (/memory> is done")
    )


async def test_a_drawing_in_ascii(workspace: Workspace) -> None:
    """The words of the memory stay what they are."""
    await seal(workspace, "Größe", 1)
    await write(workspace, "Sessions live in Redis.")
    await go(workspace, "1")
    spike = await forked(workspace, "spike", "1")
    await seal(spike, "Two", 2, "pending")

    assert await drawing(workspace, ascii_only=True) == expect("""
        @  branch main  2026-01-31 14:33  nothing since
        | *  branch spike  2026-01-31 14:34  nothing since
        | ?  phase2-20260131-143422  2026-01-31 14:34  0 memories  pending  Two
        | |  memory-mcp --branch spike checkpoint --pending phase2-20260131-143422 --decision save approves it
        +-'
        | x  line-20260131-143322  2026-01-31 14:33  hides 1 memory
        | |  memory-mcp backtrack line-20260131-143322 restores it
        +-'
        o  phase1-20260131-143122  2026-01-31 14:31  0 memories  Größe
        +  start
    """)  # noqa: E501


async def test_a_program_gets_nodes_and_what_they_follow(workspace: Workspace) -> None:
    """The keys are unique, whatever a branch is called."""
    await seal(workspace, "One", 1)
    await seal(workspace, "Two", None)
    await write(workspace, "Sessions live in Redis.")
    await go(workspace, "1")
    await seal(workspace, "Two again", 2, "pending")
    read = await branches.read_log(workspace, 0)
    assert isinstance(read, TimelineLog)

    assert render_log_fields(read) == {
        "success": True,
        "branch": "main",
        "older": 0,
        "nodes": [
            {
                "key": "branch:main", "parents": ["checkpoint:phase2-20260131-143522"],
                "kind": "branch", "name": "main", "here": True,
                "at": "2026-01-31T14:35:22.104Z", "memories": 0,
            },
            {
                "key": "checkpoint:phase2-20260131-143522",
                "parents": ["checkpoint:phase1-20260131-143122"],
                "kind": "checkpoint", "name": "phase2-20260131-143522", "branch": "main",
                "status": "pending", "phase": 2, "summary": "Two again",
                "at": "2026-01-31T14:35:22.104Z", "memories": 0,
            },
            {
                "key": "line:line-20260131-143422",
                "parents": ["checkpoint:checkpoint-20260131-143222"],
                "kind": "line", "name": "line-20260131-143422", "branch": "main",
                "at": "2026-01-31T14:34:22.104Z", "memories": 1,
            },
            {
                "key": "checkpoint:checkpoint-20260131-143222",
                "parents": ["checkpoint:phase1-20260131-143122"],
                "kind": "checkpoint", "name": "checkpoint-20260131-143222", "branch": "main",
                "status": "invalidated", "phase": None,
                "at": "2026-01-31T14:32:22.104Z", "memories": 0,
            },
            {
                "key": "checkpoint:phase1-20260131-143122", "parents": ["start"],
                "kind": "checkpoint", "name": "phase1-20260131-143122", "branch": "main",
                "status": "valid", "phase": 1, "summary": "One",
                "at": "2026-01-31T14:31:22.104Z", "memories": 0,
            },
            {"key": "start", "parents": [], "kind": "start", "name": "start"},
        ],
    }  # fmt: skip
    few = await branches.read_log(workspace, 1)
    assert isinstance(few, TimelineLog)
    shown = render_log_fields(few)
    assert shown["older"] == 4
    assert shown["nodes"][1] == {"key": "older", "parents": [], "kind": "older", "count": 4}
