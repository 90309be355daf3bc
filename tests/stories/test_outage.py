"""What is said when the files of the memories are not there: never that there are none."""

from pathlib import Path

import pytest
from doors import Era, add, agent, call, failed, read, record_file

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.mark.files
@pytest.mark.parametrize("query", ["orders", ""])
async def test_records_that_are_damaged_are_counted_and_not_passed_over(
    settings: Settings, project: Path, query: str
) -> None:
    """Silence would read as "there is no such memory", and be acted upon."""
    async with agent(settings, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        for number in range(7):
            record_file(project, await add(client, f"Orders of {number}.")).write_text("{")
        found = await call(client, "search_memories", query=query, limit=2)
        context = await read(client, "memory_context", task=query)

    assert [r["content"] for r in found["results"]] == ["Orders live in PostgreSQL."]
    assert found["message"].startswith("7 matching records cannot be read")
    assert "\n7 matching records cannot be read: run `memory-mcp doctor`.\n" in context


@pytest.mark.files
async def test_a_search_whose_every_match_is_damaged_does_not_say_that_nothing_matches(
    settings: Settings, project: Path
) -> None:
    """Something does match; it cannot be shown."""
    async with agent(settings, "auto") as client:
        await add(client, "Invoices are sent by post.")
        record_file(project, await add(client, "Orders live in PostgreSQL.")).write_text("{")
        found = await call(client, "search_memories", query="orders")

    assert found["results"] == []
    assert found["message"] == "1 matching record cannot be read: run `memory-mcp doctor`."


@pytest.mark.files
async def test_a_file_that_somebody_removed_is_no_memory_any_more(
    settings: Settings, project: Path, era: Era
) -> None:
    """The very next call follows the files: it neither finds nor counts what is not there."""
    async with agent(settings, era) as client:
        await add(client, "Invoices are sent by post.")
        record_file(project, await add(client, "Orders live in PostgreSQL.")).unlink()
        found = await call(client, "search_memories", query="orders post")
        head = await read(client, "memory_head")

    assert [r["content"] for r in found["results"]] == ["Invoices are sent by post."]
    assert "cannot be read" not in found.get("message", "")
    assert "1 memory on this line" in head


@pytest.mark.files
async def test_a_folder_that_is_not_there_is_an_outage_and_no_empty_memory(
    settings: Settings, era: Era, project: Path
) -> None:
    """A volume that is not mounted comes back, and then everything holds again."""
    folder = project / ".claude" / "memory"
    async with agent(settings, era) as client:
        await add(client, "Orders live in PostgreSQL.")
        folder.rename(project / "elsewhere")
        said = {
            await failed(client, "search_memories", query="orders"),
            await failed(client, "search_memories", query="flamingo"),
            await failed(client, "search_memories"),
            await failed(client, "memory_context"),
        }
    async with agent(settings, era) as client:  # whose start must not follow the outage
        said.add(await failed(client, "search_memories"))
        (project / "elsewhere").rename(folder)
        found = await call(client, "search_memories", query="orders")

    (sentence,) = said
    assert sentence.startswith("The index knows memories, but there is not one record")
    assert [r["content"] for r in found["results"]] == ["Orders live in PostgreSQL."]
