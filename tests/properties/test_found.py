"""Stories that a search at random found first, told once more so that they stay true."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from fakes import (
    FakeClock,
    another_session,
    close_workspace,
    fake_workspace,
    forked,
    real_workspace,
)

from memory_mcp import branches, memories, search
from memory_mcp.domain.outcomes import (
    Backtracked,
    CheckpointSaved,
    HeadReport,
    MemoryAdded,
    MovePreview,
    SearchResults,
)
from memory_mcp.domain.record import Draft, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["real", "fake"])
async def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Workspace]:
    found = fake_workspace() if request.param == "fake" else real_workspace(tmp_path)
    yield found
    await close_workspace(found)


async def added(workspace: Workspace, content: str, **fields: object) -> Record:
    outcome = await memories.add_memory(workspace, Draft(content, **fields))  # pyright: ignore[reportArgumentType]  # given by name
    assert isinstance(outcome, MemoryAdded)
    return outcome.record


async def sealed(workspace: Workspace, summary: str) -> str:
    done = await branches.checkpoint(workspace, summary, None, again=False, approval="approved")
    assert isinstance(done, CheckpointSaved)
    return done.checkpoint.id


async def found(workspace: Workspace, query: str) -> list[str]:
    outcome = await search.search_memories(workspace, query, Filters(), 10)
    assert isinstance(outcome, SearchResults)
    return [hit.record.content for hit in outcome.hits]


async def test_a_restore_says_that_it_hides_what_the_road_corrected(workspace: Workspace) -> None:
    """The question and the deed cannot differ: what stops holding is counted and named."""
    old = await added(workspace, "We use Redis")
    checkpoint = await sealed(workspace, "before")
    await memories.update_memory(workspace, old.id, "We use Postgres")
    back = await branches.backtrack(workspace, checkpoint, "continue")
    assert isinstance(back, Backtracked)
    assert back.line is not None
    assert (back.preview.hides, back.preview.brings) == (1, 1)

    preview = await branches.preview_backtrack(workspace, back.line)

    assert isinstance(preview, MovePreview)
    assert (preview.hides, preview.titles, preview.brings) == (1, ("We use Redis",), 1)
    await branches.backtrack(workspace, back.line, "continue")
    assert await found(workspace, "use") == ["We use Postgres"]


async def test_two_lines_left_within_a_millisecond_have_two_names(workspace: Workspace) -> None:
    """Each is restored by the name that was told."""
    checkpoint = await sealed(workspace, "here")
    names: list[str | None] = []
    for road in ("first", "second"):
        await added(workspace, f"the {road} road")
        done = await branches.backtrack(workspace, checkpoint, "continue")
        assert isinstance(done, Backtracked)
        names.append(done.line)

    assert len(set(names)) == 2
    await branches.backtrack(workspace, names[0] or "", "continue")
    assert await found(workspace, "road") == ["the first road"]


async def test_checkpoints_keep_their_order_when_the_head_is_made_anew(tmp_path: Path) -> None:
    """Three within a millisecond, the head lost in between: the newest is still the newest."""
    clock = FakeClock()
    first = real_workspace(tmp_path, clock)
    names = [await sealed(first, "one"), await sealed(first, "two")]
    await close_workspace(first)
    (tmp_path / "project/.state/memory-head.json").unlink()

    second = real_workspace(tmp_path, clock)
    names.append(await sealed(second, "three"))

    report = await branches.report_head(second)
    assert isinstance(report, HeadReport)
    assert [state.checkpoint.id for state in report.checkpoints] == names
    history = (tmp_path / "project/.state/history.jsonl").read_text("utf-8").splitlines()
    assert len(history) == len(set(history)) == 3
    await close_workspace(second)


async def test_an_id_is_taken_with_the_blanks_around_it(workspace: Workspace) -> None:
    """A model may send them along; what it meant is superseded all the same."""
    old = await added(workspace, "We use Redis")
    await added(workspace, "We use Postgres", supersedes=(f" {old.id}\n",))

    assert await found(workspace, "use") == ["We use Postgres"]


async def test_scopes_do_not_supersede_each_other(workspace: Workspace) -> None:
    """Each scope has an index of its own, which cannot know what the other one hides."""
    mine = await added(workspace, "I like tabs", kind="preference", reach="user")

    with pytest.raises(InvalidRequestError, match="scope"):
        await added(workspace, "Here we use blanks", kind="convention", supersedes=(mine.id,))

    assert await found(workspace, "like use") == ["I like tabs"]


@pytest.mark.parametrize("year", [9999, 2026])
async def test_any_expiry_is_kept_to_the_millisecond_or_refused(
    workspace: Workspace, year: int
) -> None:
    """A time that is no time in UTC is the caller's to mend; microseconds are not kept."""
    at = datetime(year, 12, 31, 23, 59, 59, 123_456, tzinfo=timezone(timedelta(hours=-10)))
    if year == 9999:
        with pytest.raises(InvalidRequestError, match="expires_at"):
            await added(workspace, "for ever", expires_at=at)
        return
    record = await added(workspace, "until then", expires_at=at)

    assert record.expires_at == datetime(2027, 1, 1, 9, 59, 59, 123_000, tzinfo=UTC)
    assert await workspace.project.records.get(record.id) == record


async def test_another_branch_keeps_what_this_one_forgets(workspace: Workspace) -> None:
    """Forgetting on one branch must not take from another."""
    await added(workspace, "shared ground")
    other = another_session(workspace)
    other = await forked(other, "side", "")
    mine = await added(workspace, "only on main")

    done = await branches.backtrack(workspace, "start", "forget")

    assert isinstance(done, Backtracked)
    assert done.erased == 1
    assert await found(workspace, "shared ground main") == []
    assert await found(other, "shared ground main") == ["shared ground"]
    with pytest.raises(UnknownMemoryError):
        await memories.forget_memory(other, mine.id, "", erase=True)
