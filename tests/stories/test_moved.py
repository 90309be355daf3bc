"""Memories move from files into a database and back: lossless, in pieces, and with a proof."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Run, as_json
from corpus import Corpus
from doors import add, agent, call, read, recalled, records, seal

from memory_mcp import memories, search, sessions, transfer
from memory_mcp.build import BuiltWorkspace, open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.search import Filters
from memory_mcp.domain.secret import Secret
from memory_mcp.domain.transfer import MoveReport
from memory_mcp.errors import StoreUnavailableError

pytestmark = [pytest.mark.anyio, pytest.mark.files]


@pytest.fixture
def database(settings: Settings, clean_postgres: str) -> Settings:
    """The same session with its memories in a database."""
    return replace(settings, provider="postgres", postgres_url=Secret(clean_postgres))


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[BuiltWorkspace]:
    async with open_workspace(settings) as built:
        await sessions.catch_up(built.workspace, render=False)
        yield built


async def moved(source: Settings, target: Settings) -> MoveReport:
    async with opened(source) as one, opened(target) as other:
        report = await transfer.move_memories(one.workspace, other.workspace, lambda _, __: None)
    assert isinstance(report, MoveReport)
    return report


async def live(settings: Settings) -> None:
    """A project with all that a timeline can hold, and a user with a preference."""
    async with agent(settings, "auto") as client:
        await add(client, "Orders live in PostgreSQL.", kind="decision")
        await add(client, "I like short commits.", kind="preference", scope="user")
        await seal(client, "Storage chosen", phase=1)
        await add(client, "Sessions live in Redis.")
        await call(client, "backtrack", to=1, mode="continue")
        wrong = await add(client, "Sessions live in cookies.")
        await call(
            client, "update_memory", memory_id=wrong, content="Sessions live in signed cookies."
        )
        gone = await add(client, "The launch is called Kilimanjaro.")
        await call(client, "forget_memory", memory_id=gone, mode="erase")
        await seal(client, "Sessions chosen", phase=2)


async def looked(settings: Settings) -> tuple[list[str], ...]:
    """What a client sees of it."""
    async with agent(settings, "auto") as client:
        head = (await read(client, "memory_head")).splitlines()
        found = [await recalled(client, text) for text in ("sessions", "orders", "commits", "")]
    return head, *found


async def test_everything_goes_over_and_comes_back_as_it_was(
    settings: Settings, database: Settings, project: Path, tmp_path: Path
) -> None:
    """Records byte for byte, the head, what was left and can be restored, what was forgotten."""
    await live(settings)
    before, files = await looked(settings), records(project)
    report = await moved(settings, database)

    assert report.same
    assert [bank.records for bank in report.banks] == [len(files), 1]
    assert await looked(database) == before

    shutil.rmtree(project / ".claude")
    shutil.rmtree(project / ".state")
    shutil.rmtree(tmp_path / "home")
    back = await moved(database, settings)
    assert back.same
    assert records(project) == files
    assert await looked(settings) == before


async def test_what_was_cut_short_goes_on(
    settings: Settings, database: Settings, project: Path
) -> None:
    """A second call carries over what is missing, and nothing twice."""
    await live(settings)
    async with opened(settings) as one, opened(database) as other:

        def stop(done: int, _all: int) -> None:
            if done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await transfer.move_memories(one.workspace, other.workspace, stop)
        assert len(await other.workspace.project.records.ids()) == 3
    report = await moved(settings, database)

    assert report.same
    assert report.banks[0].arrived == len(records(project))
    assert await moved(settings, database) == report


async def test_what_was_written_there_meanwhile_stays(
    settings: Settings, database: Settings
) -> None:
    """A team may be at work in the database already: two timelines join as those of clones do."""
    async with agent(database, "auto") as client:
        await add(client, "Carts live in the browser.")
        await seal(client, "Carts chosen", phase=3)
    await live(settings)
    report = await moved(settings, database)

    assert report.same
    assert report.banks[0].others
    async with agent(database, "auto") as client:
        assert "Carts live in the browser." in await recalled(client, "where do carts live?")
        assert "Orders live in PostgreSQL." in await recalled(client, "where do orders live?")


async def test_what_was_forgotten_there_does_not_come_again(
    settings: Settings, database: Settings
) -> None:
    """Files that were left behind must not bring back what the team forgot."""
    await live(settings)
    await moved(settings, database)
    async with agent(database, "auto") as client:
        (orders,) = (await call(client, "search_memories", query="orders"))["results"]
        await call(client, "forget_memory", memory_id=orders["memoryId"], mode="erase")
    report = await moved(settings, database)

    assert report.same
    async with agent(database, "auto") as client:
        assert "Orders live in PostgreSQL." not in await recalled(client, "orders")


async def test_two_moves_at_once_are_one_too_many(settings: Settings, database: Settings) -> None:
    """The second is told to wait."""
    await live(settings)
    async with opened(database) as other, other.workspace.journal.alone():
        with pytest.raises(StoreUnavailableError, match="another move is under way"):
            await moved(settings, database)


def test_the_command_says_what_arrived_and_what_to_set(
    run: Run, monkeypatch: pytest.MonkeyPatch, clean_postgres: str
) -> None:
    """The proof comes before the switch, which is the user's."""
    assert run("add", "Orders live in PostgreSQL.")[0] == 0
    status, _, error = run("move", "--to", "postgres")
    assert (status, "MEMORY_POSTGRES_URL is not set" in error) == (1, True)

    monkeypatch.setenv("MEMORY_POSTGRES_URL", clean_postgres)
    status, out, _ = run("move", "--to", "postgres")
    assert status == 0
    assert "project: 1 record here (" in out
    assert "Set MEMORY_PROVIDER=postgres" in out
    again = as_json(run, "move", "--to", "postgres")
    assert again["banks"][0]["digest"] == again["banks"][0]["digestThere"]

    monkeypatch.setenv("MEMORY_PROVIDER", "postgres")
    assert "Orders live in PostgreSQL." in run("search", "orders")[1]


async def found(built: BuiltWorkspace, text: str) -> list[str]:
    """The ids that a search finds, best first."""
    answer = await search.search_memories(built.workspace, text, Filters(), 10)
    assert isinstance(answer, SearchResults)
    return [hit.record.id for hit in answer.hits]


@pytest.mark.nightly
async def test_both_find_the_same_in_the_same_order(settings: Settings, database: Settings) -> None:
    """Words are looked up by another engine, and ranked by the same rules."""
    corpus = Corpus(seed=5)
    async with opened(settings) as built:
        for _ in range(120):
            await memories.add_memory(built.workspace, corpus.draft())
    await moved(settings, database)
    questions = [corpus.question().text for _ in range(40)]
    orders: list[list[list[str]]] = []
    for each in (settings, database):
        async with opened(each) as built:
            orders.append([await found(built, text) for text in questions])

    assert orders[0] == orders[1]
    assert sum(map(len, orders[0])) > len(questions)
