"""Several machines and people on one database: what each of them sees, and when."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doors import add, agent, call, failed, files_with, read, recalled, seal, trust
from hosted import hosting
from listening import listener
from mcp import Client
from postgres import execute, tables_with

from memory_mcp.config.settings import Settings
from memory_mcp.domain.secret import Secret
from memory_mcp.server import subscriptions
from memory_mcp.server.main import make_server
from memory_mcp.server.resources import CONTEXT, HEAD

pytestmark = pytest.mark.anyio

REMOTE = '[remote "origin"]\n\turl = https://example.org/team/shop.git\n'


class Team:
    """Machines that have a clone of one project each, and a database."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self.url = url

    def machine(self, name: str, user: str = "ada", *, trusted: bool = True) -> Settings:
        """A machine of its own, on which the user trusts the clone."""
        project, home = self._folder / name / "shop", self._folder / name / "home"
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / ".git" / "config").write_text(REMOTE)
        if trusted:
            trust(project, home)
        return Settings(
            project_dir=project, home=home, user=user, approval="auto",
            provider="postgres", postgres_url=Secret(self.url),
        )  # fmt: skip

    def folder_of(self, name: str) -> Path:
        return self._folder / name


@pytest.fixture
def team(tmp_path: Path, clean_postgres: str) -> Team:
    return Team(tmp_path, clean_postgres)


async def until(holds: Callable[[], bool]) -> None:
    """Until something holds that other tasks are about to do."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110  # files tell nobody
            await asyncio.sleep(0.05)


_PATIENCE_SECONDS = 30.0
"""A loaded machine may be slow; what has not happened by then never will."""


async def test_a_team_has_one_memory_and_each_user_one_of_their_own(team: Team) -> None:
    """A teammate's decision is found by all; what somebody prefers is theirs alone."""
    async with agent(team.machine("one"), "auto") as ada:
        await add(ada, "Orders live in PostgreSQL.", kind="decision")
        await add(ada, "I like short commits.", kind="preference", scope="user")
    async with agent(team.machine("two"), "auto") as ada:
        assert set(await recalled(ada)) == {"Orders live in PostgreSQL.", "I like short commits."}
    async with agent(team.machine("three", "bob"), "auto") as bob:
        assert await recalled(bob) == ["Orders live in PostgreSQL."]
        assert await recalled(bob, "short commits") == []
        assert "short commits" not in await read(bob, "memory_context")


async def test_a_server_for_many_has_its_teams_in_the_database(
    tmp_path: Path, clean_postgres: str
) -> None:
    """Two such servers on one database are one: what a team shares follows from its tokens."""
    database: dict[str, Any] = {"provider": "postgres", "postgres_url": Secret(clean_postgres)}
    for server in ("one", "two"):
        async with hosting(tmp_path / server, **database) as hosted:
            ada = hosted.add_token("ada", "alder", team="acme")
            eve = hosted.add_token("eve", "alder", team="other")
            bob = hosted.add_token("bob", "alder")
            async with hosted.client(ada) as mine:
                if server == "one":
                    await add(mine, "Orders live in PostgreSQL.")
                assert await recalled(mine, "orders") == ["Orders live in PostgreSQL."]
            for other in (eve, bob):
                async with hosted.client(other) as theirs:
                    assert await recalled(theirs, "orders") == []


async def test_what_others_do_is_heard_without_looking(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory, a backtrack and a forget of another machine reach a client that listens."""
    monkeypatch.setattr(subscriptions, "_POLL_SECONDS", 3_600.0)  # only who is told hears
    one, two = team.machine("one"), team.machine("two", "bob")
    async with (
        listener(partial(Client, make_server(one), mode="auto"), "auto") as ears,
        agent(two, "auto") as bob,
    ):
        await ears.watch(CONTEXT, HEAD)
        await seal(bob, "Storage chosen", phase=1)
        await ears.until(HEAD)
        await ears.rest()
        lost = await add(bob, "Sessions live in Redis.")
        await ears.until(CONTEXT)
        await ears.rest()
        assert await recalled(ears.client, "where do sessions live?") == ["Sessions live in Redis."]

        await call(bob, "backtrack", to=1, mode="continue")
        await ears.until(CONTEXT)
        await ears.rest()
        assert await recalled(ears.client, "where do sessions live?") == []

        await call(bob, "forget_memory", memory_id=lost, mode="erase")
        assert "Redis" not in await read(ears.client, "memory_context")
    assert tables_with("Redis", team.url) == []


async def test_rendered_files_of_another_machine_follow(team: Team) -> None:
    """What was forgotten by one must not be printed by the hooks of another."""
    one, two = team.machine("one"), team.machine("two")
    async with agent(one, "auto") as here, agent(two, "auto") as there:
        secret = await add(here, "The launch is called Kilimanjaro.")
        await recalled(there, "launch")
        await until(lambda: bool(files_with(team.folder_of("two"), "Kilimanjaro")))
        await call(here, "forget_memory", memory_id=secret, mode="erase")
        await until(lambda: not files_with(team.folder_of("two"), "Kilimanjaro"))


async def test_a_rendered_text_does_not_outlive_what_nobody_looked_at(team: Team) -> None:
    """While no process of this machine runs, nobody hears what others forget."""
    async with agent(team.machine("one"), "auto") as client:
        await add(client, "Orders live in PostgreSQL.")
    (rendered,) = team.folder_of("one").rglob("rendered/main.json")

    assert json.loads(rendered.read_text("utf-8"))["until"] is not None


async def test_the_name_of_a_repository_opens_no_memory(team: Team) -> None:
    """An archive can claim to be any project; the user's word is needed, and the answer says so."""
    async with agent(team.machine("one"), "auto") as ada:
        await add(ada, "Orders live in PostgreSQL.")
    async with agent(team.machine("two", trusted=False), "auto") as client:
        found = await call(client, "search_memories", query="orders")
        await add(client, "Poison.")

    assert found["results"] == []
    assert "memory-mcp trust" in found["note"]
    async with agent(team.machine("three"), "auto") as ada:
        assert await recalled(ada) == ["Orders live in PostgreSQL."]


async def test_many_machines_move_one_head(team: Team) -> None:
    """Each move is planned from the newest head: none is lost, none is done twice."""
    machines = [team.machine(f"machine{n}") for n in range(4)]

    async def work(settings: Settings, number: int) -> None:
        async with agent(settings, "auto") as client:
            for step in range(3):
                await add(client, f"Fact {number}.{step} of the shop.")
                await seal(client, f"Step {number}.{step}")

    await asyncio.gather(*(work(each, n) for n, each in enumerate(machines)))
    names = [f"{number}.{step}" for number in range(4) for step in range(3)]
    async with agent(machines[0], "auto") as client:
        for name in names:
            assert f"Fact {name} of the shop." in await recalled(client, f"fact {name} of the shop")
    (head,) = execute(team.url, "SELECT revision, json FROM memory_mcp.head")
    sealed = [each["summary"] for each in json.loads(head["json"])["checkpoints"]]

    assert sorted(sealed) == [f"Step {name}" for name in names]
    (history,) = execute(team.url, "SELECT count(*) FROM memory_mcp.history")
    assert history[0] == len(names)


@pytest.mark.parametrize("tool", ["search_memories", "memory_context", "memory_head"])
async def test_an_outage_is_no_empty_answer(team: Team, tool: str) -> None:
    """Told that nothing is known, an agent would decide anew."""
    away = Secret("postgresql://ada:hunter2@127.0.0.1:1/shop")
    settings = replace(team.machine("one"), postgres_url=away)
    asked = {"query": "orders"} if tool == "search_memories" else {}
    async with agent(settings, "auto") as client:
        said = await failed(client, tool, **asked)

    assert "postgresql://127.0.0.1:1/shop cannot be reached" in said
    assert "hunter2" not in said


async def test_without_a_database_memory_is_off_and_says_why(settings: Settings) -> None:
    """It must not begin a second memory in files that nobody else sees."""
    nowhere = replace(settings, provider="postgres", postgres_url=None)
    async with agent(nowhere, "auto") as client:
        found = await call(client, "search_memories", query="orders")

    assert "MEMORY_POSTGRES_URL is not set" in str(found)
    assert not (Path(str(settings.project_dir)) / ".claude").exists()
