"""What a server does beside its answers: taking in what lies in the folders."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, Json, add, agent, head_file, read, record_file, records, seal, trust
from mcp import Client

from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import format_id_month
from memory_mcp.storage.files.host import SystemClock, SystemIds

pytestmark = pytest.mark.anyio


async def test_a_session_that_ends_at_once_leaves_nothing_open(
    settings: Settings, era: Era, project: Path
) -> None:
    """Clients start servers and drop them; upkeep was just opening the index then."""
    for _ in range(5):
        async with agent(settings, era) as client:
            await client.list_tools()
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)

    assert len(records(project)) == 1


@pytest.mark.files
@pytest.mark.nightly
async def test_leaving_in_the_middle_of_taking_in_loses_nothing(
    settings: Settings, project: Path
) -> None:
    """A large merge takes more than one session; the next one goes on where this one stopped."""
    trust(project)
    async with agent(settings, "auto") as client:
        pattern = record_file(project, await add(client, "Note."))
    strewn(pattern, 2_100)
    async with agent(settings, "auto"):
        pass
    async with agent(settings, "auto") as client:
        assert "2101 memories on this line" in await _settled(client)


@pytest.mark.files
async def test_what_another_clone_brought_is_taken_in_without_being_asked(
    settings: Settings, era: Era, tmp_path: Path, project: Path
) -> None:
    """In a trusted project, merging two folders with git is all that people have to do."""
    trust(project)
    (tmp_path / "other").mkdir()
    other = replace(settings, project_dir=tmp_path / "other")
    async with agent(other, era) as client:
        name = await seal(client, "Sealed elsewhere", phase=1)
    (project / ".claude").parent.mkdir(exist_ok=True)
    (tmp_path / "other" / ".claude").rename(project / ".claude")
    async with agent(settings, era) as client:
        assert name in await read(client, "memory_head")

    assert head_file(project)["head_checkpoint"] == name


@pytest.mark.files
async def test_trouble_at_start_is_a_line_in_the_log(
    settings: Settings, era: Era, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first answer must not fail because of what happens beside it."""
    blocked = tmp_path / "a-file"
    blocked.write_text("mine")
    async with agent(replace(settings, state_dir=blocked), era) as client:
        await client.list_tools()

    (said,) = {record.getMessage() for record in caplog.records if record.name == "memory_mcp"}
    assert str(blocked) in said


def strewn(pattern: Path, number: int) -> None:
    """Many records like the one in the file, as another clone may bring them."""
    fields: Json = json.loads(pattern.read_bytes())
    ids, now = SystemIds(), SystemClock().now()
    root = pattern.parent.parent
    for _ in range(number):
        id_ = ids.new(now)
        home = root / format_id_month(id_) / f"{id_}.json"
        home.write_text(json.dumps({**fields, "id": id_}), "utf-8")


async def _settled(client: Client) -> str:
    """The head once every record is in: the count of the first answer may be on its way."""
    said = ""
    for _ in range(1_000):
        said = await read(client, "memory_head")
        if "2101" in said:
            break
    return said
