"""Going back and coming forward again: what is hidden, what stays, what it says."""

from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from pathlib import Path

import pytest
from doors import (
    Era,
    User,
    add,
    agent,
    call,
    files_with,
    head_file,
    read,
    recalled,
    records,
    refused,
    seal,
)
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from memory_mcp import branches, memories
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId, SegmentId
from memory_mcp.domain.outcomes import Backtracked, CheckpointSaved
from memory_mcp.domain.record import Draft, Record
from memory_mcp.storage.files.records import LocalRecords
from memory_mcp.storage.sqlite.index import SqliteIndex

pytestmark = pytest.mark.anyio


KEPT = "Orders live in PostgreSQL."
LEFT = "Sessions live in Redis."


async def test_a_backtrack_hides_what_came_after_and_says_what_that_was(
    settings: Settings, era: Era
) -> None:
    """Nothing abandoned is recalled; the user is told by name what went out of sight."""
    async with agent(settings, era) as client:
        await add(client, KEPT)
        name = await seal(client, "Storage chosen", phase=1)
        await add(client, LEFT)
        await add(client, "Redis needs three nodes.", metadata={"title": "Cluster size"})
        said = await call(client, "backtrack", to=name, mode="continue")

        assert await recalled(client, "sessions redis orders") == [KEPT]
        assert LEFT not in await read(client, "memory_context", task="redis sessions")

    assert said["success"] is True
    assert said["backtrackedTo"] == name
    assert said["hidden"] == 2
    assert said["titles"] == ["Cluster size", LEFT]
    assert said["message"].startswith(f"Back at {name}: 2 memories hidden.")
    assert repr(said["line"]) in said["message"]


@pytest.mark.files
async def test_a_backtrack_looks_at_what_it_hides_and_reads_nothing_of_what_it_might_erase(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project may hold two thousand segments and a hundred thousand records."""
    asked: list[object] = []
    read: list[RecordId] = []
    holding, scan = SqliteIndex.holding, LocalRecords.scan

    async def look(self: SqliteIndex, among: Collection[SegmentId] | None = None) -> set[SegmentId]:
        asked.append(among)
        return await holding(self, among)

    async def note(self: LocalRecords, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        read.extend(record_ids)
        async for record in scan(self, record_ids):
            yield record

    async with open_workspace(settings) as built:
        workspace = built.workspace
        await memories.add_memory(workspace, Draft(KEPT))
        sealed = await branches.checkpoint(workspace, "Chosen", 1, again=False, approval="auto")
        assert isinstance(sealed, CheckpointSaved)
        for number in range(limits.TITLES_REPORTED_MAX + 5):
            await memories.add_memory(workspace, Draft(f"Shard {number} lives on host {number}."))
        monkeypatch.setattr(SqliteIndex, "holding", look)
        monkeypatch.setattr(LocalRecords, "scan", note)
        monkeypatch.setattr(limits, "AUTHORS_COUNTED_MAX", 3)
        done = await branches.backtrack(workspace, sealed.checkpoint.id, "continue")

    assert isinstance(done, Backtracked)
    assert done.preview.erases == limits.TITLES_REPORTED_MAX + 5
    assert len(asked) == 1, "what a line may be named by is not looked for"
    assert asked[0] is not None
    assert len(set(read)) < limits.TITLES_REPORTED_MAX + 5, "only what the answer names is read"
    assert len(read) == len(set(read)), "and once"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("to", ["1", 1, "phase 1", "Phase-1", "phase1", " 1 "], ids=repr)
async def test_a_phase_names_its_newest_checkpoint_as_text_or_number(
    settings: Settings, era: Era, to: str | int
) -> None:
    """A user says "go back to phase 1"; nobody remembers an id."""
    async with agent(settings, era) as client:
        await seal(client, "First attempt", phase=1)
        await add(client, KEPT)
        second = await call(client, "checkpoint", summary="Second attempt", phase=1, again=True)
        await seal(client, "Sessions", phase=2)
        await add(client, LEFT)
        said = await call(client, "backtrack", to=to, mode="continue")

        assert await recalled(client, "sessions orders") == [KEPT]
    assert said["backtrackedTo"] == second["checkpointId"]


async def test_the_start_lies_before_every_checkpoint(settings: Settings, era: Era) -> None:
    """Scrapping everything must be possible, and must be as restorable as the rest."""
    async with agent(settings, era) as client:
        await add(client, KEPT)
        await seal(client, "One", phase=1)
        gone = await call(client, "backtrack", to="Start", mode="continue")
        assert gone["backtrackedTo"] == "start"
        assert await recalled(client) == []
        await call(client, "backtrack", to=gone["line"], mode="continue")
        assert KEPT in await recalled(client)


@pytest.mark.parametrize("by", ["line", "checkpoint"])
async def test_a_restore_brings_the_road_back_byte_for_byte(
    settings: Settings, era: Era, project: Path, by: str
) -> None:
    """Changing one's mind costs nothing: the same ids, the same text, the same checkpoints."""
    async with agent(settings, era) as client:
        await add(client, KEPT)
        await seal(client, "One", phase=1)
        await add(client, LEFT, metadata={"tags": ["redis"]})
        two = await seal(client, "Two", phase=2)
        await add(client, "Redis needs three nodes.")
        before = await call(client, "search_memories", limit=10)
        gone = await call(client, "backtrack", to=1, mode="continue")
        await add(client, "Sessions live in cookies.")
        back = await call(
            client, "backtrack", to=gone["line"] if by == "line" else two, mode="continue"
        )
        after = await call(client, "search_memories", limit=10)

    assert after == before
    assert back["restored"] == gone["line"]
    assert (back["again"], back["hidden"], back["titles"]) == (2, 1, ["Sessions live in cookies."])
    assert back["message"].startswith(
        f"Restored {gone['line']}: 1 memory hidden, 2 memories back in force."
    )
    statuses = {c["id"]: c["status"] for c in head_file(project)["checkpoints"]}
    assert set(statuses.values()) == {"valid"}


async def test_two_roads_can_be_left_and_taken_up_in_turn(settings: Settings, era: Era) -> None:
    """Every road that was left keeps its own name."""
    async with agent(settings, era) as client:
        await seal(client, "Base", phase=1)
        lines: dict[str, str] = {}
        for road in ("Redis", "cookies", "tokens"):
            await add(client, f"Sessions live in {road}.")
            lines[road] = (await call(client, "backtrack", to=1, mode="continue"))["line"]
        assert len(set(lines.values())) == 3
        for road in ("cookies", "Redis", "tokens", "cookies"):
            await call(client, "backtrack", to=lines[road], mode="continue")
            assert await recalled(client, "sessions") == [f"Sessions live in {road}."]


async def test_durable_memories_and_lessons_are_untouched(settings: Settings, era: Era) -> None:
    """What holds about the user or was learnt for good does not belong to the road."""
    durable = {
        "preference": "Tabs.", "convention": "English names.", "pattern": "Reviews on Monday.",
        "identity": "A coffee shop.", "lesson": "Redis needs a plan.",
    }  # fmt: skip
    async with agent(settings, era) as client:
        await seal(client, "Base", phase=1)
        for kind, content in durable.items():
            await add(client, content, kind=kind)
        await add(client, "Short commits.", scope="user")
        await add(client, LEFT)
        said = await call(
            client, "backtrack", to=1, mode="forget", lesson="Redis was one cluster too many."
        )
        left = await recalled(client)
        lessons = await recalled(client, kind="lesson")

    kept = {*durable.values(), "Short commits.", "Redis was one cluster too many.", "Base"}
    assert set(left) == kept
    assert lessons == ["Redis was one cluster too many.", "Redis needs a plan."]
    assert len(said["lessonId"]) == 36


async def test_forget_leaves_no_byte_of_what_came_after(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """Erasing is a promise: file, index, head and history."""
    async with agent(settings, era) as client:
        await add(client, KEPT)
        await seal(client, "Base", phase=1)
        await add(client, "The password is flamingo-17.", metadata={"title": "flamingo-17"})
        await seal(client, "flamingo-17 works", phase=2)
        await add(client, "flamingo-17 again.")
        assert files_with(tmp_path, "flamingo-17") != []
        said = await call(client, "backtrack", to=1, mode="forget")

        assert said["erased"] == 3
        assert "line" not in said
        assert files_with(tmp_path, "flamingo-17") == []
        assert await recalled(client, "flamingo password orders") == [KEPT]
        assert "line-" not in await refused(client, "backtrack", to="phase 2", mode="continue")
    assert files_with(tmp_path, "flamingo-17") == []


async def test_forget_takes_the_roads_that_grew_from_it_along(
    settings: Settings, tmp_path: Path
) -> None:
    """A left line that builds on what is given up cannot be restored without it."""
    async with agent(settings, "auto") as client:
        await seal(client, "Base", phase=1)
        await add(client, "flamingo one.")
        await seal(client, "Two", phase=2)
        await add(client, "flamingo two.")
        line = (await call(client, "backtrack", to=2, mode="continue"))["line"]
        await call(client, "backtrack", to=1, mode="forget")

        assert files_with(tmp_path, "flamingo") == []
        assert f"No checkpoint, phase or line {line!r}." in await refused(
            client, "backtrack", to=line
        )


async def test_abort_does_nothing(settings: Settings, era: Era, project: Path) -> None:
    """The user said no."""
    async with agent(settings, era) as client:
        await seal(client, "Base", phase=1)
        await add(client, LEFT)
        before = head_file(project)
        said = await call(client, "backtrack", to=1, mode="abort")
        assert LEFT in await recalled(client)

    assert said == {"success": False, "status": "aborted", "message": "Aborted: nothing changed."}
    assert head_file(project) == before


async def test_a_backtrack_undoes_a_correction_made_after_it(settings: Settings, era: Era) -> None:
    """What was corrected on the abandoned road is true again as it was before."""
    async with agent(settings, era) as client:
        memory_id = await add(client, "Port 8000.")
        hidden = await add(client, "Port scans run nightly.")
        await seal(client, "Base", phase=1)
        await call(client, "update_memory", memory_id=memory_id, content="Port 9000.")
        await call(client, "forget_memory", memory_id=hidden, mode="hide")
        assert await recalled(client, "port") == ["Port 9000."]
        said = await call(client, "backtrack", to=1, mode="continue")

        assert set(await recalled(client, "port")) == {"Port 8000.", "Port scans run nightly."}
    assert said["again"] == 2


async def test_targets_that_do_not_exist_name_what_does(settings: Settings, era: Era) -> None:
    """The model can pick the right one from the message alone."""
    async with agent(settings, era) as client:
        first = await refused(client, "backtrack", to="phase 7")
        name = await seal(client, "One", phase=1)
        typo = await refused(client, "backtrack", to=name.replace("-", "_"))
        await seal(client, "Two", phase=2)
        await call(client, "backtrack", to=1, mode="continue")
        lost = await refused(client, "backtrack", to=2)

    assert "No checkpoint of phase '7'. Known: start (before every checkpoint)." in first
    assert f"Did you mean {name!r}?" in typo
    assert "Phase 2 has no valid checkpoint; these were left by a backtrack: phase2-" in lost
    assert "name the checkpoint itself" in lost


async def test_an_ambiguous_checkpoint_asks_for_the_line(settings: Settings) -> None:
    """A checkpoint from which two roads went out does not say which one is meant."""
    async with agent(settings, "auto") as client:
        await seal(client, "One", phase=1)
        await add(client, "Shared.")
        two = await seal(client, "Two", phase=2)
        lines: list[str] = []
        for road in ("left", "right"):
            await add(client, f"Road {road}.")
            lines.append((await call(client, "backtrack", to=2, mode="continue"))["line"])
        await call(client, "backtrack", to=1, mode="continue")
        said = await refused(client, "backtrack", to=two)

    assert all(line in said for line in lines)
    assert "Name the line to restore" in said


async def test_a_lesson_too_long_changes_nothing(settings: Settings, project: Path) -> None:
    """Refused before the move, or the move would stand without its lesson."""
    async with agent(settings, "auto") as client:
        await seal(client, "One", phase=1)
        before = records(project)
        said = await refused(client, "backtrack", to=1, mode="continue", lesson="x" * 1_001)

    assert "lesson has 1,001 characters; the limit is 1,000" in said
    assert records(project) == before


async def test_a_backtrack_with_nothing_after_it_promises_no_way_back(
    settings: Settings, era: Era
) -> None:
    """A line without memories is not worth a name."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        said = await call(client, "backtrack", to=1, mode="continue")
        assert "Left lines" not in await read(client, "memory_head")

    assert said["hidden"] == 0
    assert "line" not in said
    assert said["message"].endswith("0 memories hidden.")


# A backtrack does what the user was shown, or nothing.


class SlowUser(User):
    """While this user reads the first question, another session remembers one more thing."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("accept", {"choice": "forget"})
        self._settings = settings

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        if not self.asked:
            async with open_workspace(self._settings) as built:
                await memories.add_memory(
                    built.workspace, Draft(content="written during the question")
                )
        return await super().__call__(context, params)


@pytest.mark.protocol
async def test_what_came_while_the_question_was_open_is_not_erased_unseen(
    tmp_path: Path, project: Path, era: Era
) -> None:
    """[forget] cannot be undone, so it counts for exactly what the question said."""
    asking = Settings(project_dir=project, home=tmp_path / "home", user="ada")
    user = SlowUser(asking)
    async with agent(asking, era, user) as client:
        await call(client, "add_memory", content="written before")
        said = await call(client, "backtrack", to="start")
        found = await call(client, "search_memories", query="")

    contents = {hit["content"] for hit in found["results"]}
    if said["success"]:  # the newer protocol asks again, about what there is now
        assert "written during the question" in user.asked[-1]
        assert contents == set()
    else:
        assert said["status"] == "changed"
        assert contents == {"written before", "written during the question"}


async def test_a_token_stands_for_the_texts_not_only_for_their_number(
    settings: Settings, era: Era
) -> None:
    """A correction keeps the count, and is not what the user agreed to erase."""
    async with agent(replace(settings, approval="ask"), era) as client:
        old = (await call(client, "add_memory", content="first text"))["memoryId"]
        token = (await call(client, "backtrack", to="start"))["confirm"]
        await call(client, "update_memory", memory_id=old, content="never shown")
        said = await call(client, "backtrack", to="start", mode="forget", confirm=token)

    assert (said["success"], said["status"]) == (False, "changed")
