"""Sessions and the database they work on, killed in the middle of whatever they are doing."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crew import Crew, crew_on
from depth import depth
from doors import trust
from postgres import execute, private_server
from project import (
    add,
    all_records,
    doctor_is_content,
    found,
    head_agrees_with_records,
    head_of,
    make_project,
    opened,
)

from memory_mcp import search, sessions
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.search import Filters
from memory_mcp.errors import StoreUnavailableError

pytestmark = pytest.mark.anyio

WORKER = Path(__file__).with_name("worker.py")
PROCESSES = depth(2, 8)
ROUNDS = depth(1, 10)

_END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name LIKE 'memory-mcp%' AND datname = current_database()"
)


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, clean_postgres: str) -> str:
    monkeypatch.setenv("MEMORY_POSTGRES_URL", clean_postgres)
    return clean_postgres


async def everything_is_safe(crew: Crew, root: Path) -> None:
    """Each acknowledged memory and move is there, once, and what holds is found."""
    async with opened(root) as built:
        await sessions.catch_up(built.workspace)
        head = await built.workspace.heads.read()
        assert head is not None
        assert {r.id for r in await all_records(built)} >= {*crew.named("memory")}
        await head_agrees_with_records(built)
        assert head.timeline.checkpoints.keys() >= {*crew.named("sealed")}
        assert head.timeline.lines.keys() >= {*crew.named("line")}
        moves = {r.id for r in await all_records(built) if r.move}
        assert moves == head.timeline.moves
        chain = head.timeline.chain(built.workspace.caller.branch)
        for memory in crew.named("memory"):
            (record,) = [r async for r in built.workspace.project.records.scan([RecordId(memory)])]
            said = await search.search_memories(built.workspace, record.content, Filters(), 10)
            assert isinstance(said, SearchResults)
            hits = [hit.record.id for hit in said.hits]
            assert hits.count(record.id) == (record.segment in chain)
        await head_of(built.workspace)
        await doctor_is_content(built.workspace)


@contextmanager
def two_machines(folder: Path) -> Generator[tuple[Path, Crew, Crew]]:
    """Crews with a clone of one project each, which both trust; the folder of the first."""
    roots = [make_project(folder / name) for name in ("one", "two")]
    for root in roots:
        trust(root / "shop", root / "home")
    with crew_on(WORKER, str(roots[0])) as one, crew_on(WORKER, str(roots[1])) as two:
        for each in (one, two):
            each.start(PROCESSES // 2)
        yield roots[0], one, two
        for each in (one, two):
            each.hear(10)
            each.kill(PROCESSES // 2)
        one.safe += two.safe


@pytest.mark.nightly
async def test_nothing_acknowledged_is_lost_when_sessions_and_connections_are_killed(
    database: str, tmp_path: Path
) -> None:
    """Two machines, one head: whoever dies in a statement leaves all of it or nothing."""
    with two_machines(tmp_path) as (root, *crews):
        for _ in range(ROUNDS):
            for each in crews:
                each.hear(10)
            execute(database, _END_ALL)
            for each in crews:
                each.hear(10)
                each.kill(1)
                each.start(1)
    await everything_is_safe(crews[0], root)
    assert crews[0].named("sealed")


@pytest.mark.nightly
async def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It comes back from its log, and sessions go on by themselves."""
    with private_server() as server:
        monkeypatch.setenv("MEMORY_POSTGRES_URL", server.url)
        with two_machines(tmp_path) as (root, *crews):
            for _ in range(ROUNDS):
                for each in crews:
                    each.hear(10)
                server.kill()
                server.start()
                for each in crews:
                    each.hear(20)
                    each.kill(1)
                    each.start(1)
        await everything_is_safe(crews[0], root)


@pytest.mark.nightly
async def test_a_standby_is_refused_and_the_primary_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After a failover the old address may lead to a server that only reads."""
    root = make_project(tmp_path)
    with private_server() as primary, private_server(copy_of=primary) as standby:
        monkeypatch.setenv("MEMORY_POSTGRES_URL", primary.url)
        async with opened(root) as built:
            await add(built.workspace, "orders rest in PostgreSQL")
        monkeypatch.setenv("MEMORY_POSTGRES_URL", standby.url)
        async with opened(root) as built:
            with pytest.raises(StoreUnavailableError, match="read-only standby"):
                await found(built.workspace)
        both = f"postgresql://memory@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/memory"
        monkeypatch.setenv("MEMORY_POSTGRES_URL", f"{both}?target_session_attrs=read-write")
        async with opened(root) as built:
            assert [r.content for r in await found(built.workspace)] != []
