"""What is said when the files of the memories are not there: never that there are none."""

from pathlib import Path

import pytest
from doors import Era, add, agent, call, read, record_file, refused

from memory_mcp.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("query", ["orders", ""])
async def test_records_that_are_gone_are_counted_and_not_passed_over(
    settings: Settings, project: Path, query: str
) -> None:
    """Silence would read as "there is no such memory", and be acted upon."""
    async with agent(settings, "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
        for number in range(7):
            record_file(project, await add(client, f"Orders of {number}.")).unlink()
        found = await call(client, "search_memories", query=query, limit=2)
        context = await read(client, "memory_context", task=query)

    assert [r["content"] for r in found["results"]] == ["Orders live in PostgreSQL."]
    assert found["message"].startswith("7 matching record(s) cannot be read")
    assert "\n7 matching record(s) cannot be read: run `memory-mcp doctor`.\n" in context


async def test_a_search_whose_every_match_is_gone_does_not_say_that_nothing_matches(
    settings: Settings, project: Path
) -> None:
    """Something does match; it cannot be shown."""
    async with agent(settings, "auto") as client:
        await add(client, "Invoices are sent by post.")
        record_file(project, await add(client, "Orders live in PostgreSQL.")).unlink()
        found = await call(client, "search_memories", query="orders")

    assert found["results"] == []
    assert found["message"] == "1 matching record(s) cannot be read: run `memory-mcp doctor`."


async def test_a_folder_that_is_not_there_is_an_outage_and_no_empty_memory(
    settings: Settings, era: Era, project: Path
) -> None:
    """A volume that is not mounted comes back, and then everything holds again."""
    folder = project / ".claude" / "memory"
    async with agent(settings, era) as client:
        await add(client, "Orders live in PostgreSQL.")
        folder.rename(project / "elsewhere")
        said = {
            await refused(client, "search_memories", query="orders"),
            await refused(client, "search_memories", query="flamingo"),
            await refused(client, "search_memories"),
            await refused(client, "memory_context"),
        }
    async with agent(settings, era) as client:  # whose start must not follow the outage
        said.add(await refused(client, "search_memories"))
        (project / "elsewhere").rename(folder)
        found = await call(client, "search_memories", query="orders")

    (sentence,) = said
    assert sentence.startswith("The index knows memories, but there is not one record")
    assert [r["content"] for r in found["results"]] == ["Orders live in PostgreSQL."]
