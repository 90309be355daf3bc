"""What a whole team keeps, beside a project's memory and each user's own: who sees it, whose."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, as_json
from doors import add, agent, call, process, read, recalled, refused, trust
from hosted import Hosted, hosting
from http_cases import shows
from listening import listener
from mcp import Client, stdio_client
from postgres import execute

from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.record import Draft
from memory_mcp.domain.secret import Secret
from memory_mcp.hooks.opening import render_opening
from memory_mcp.hooks.place import find_place
from memory_mcp.memories import add_memory, deliver_waiting
from memory_mcp.server import subscriptions
from memory_mcp.server.resources import CONTEXT

pytestmark = pytest.mark.anyio

RULE = "Branches are rebased, never merged."
LESSON = "A release on a Friday cost us the weekend."


@pytest.fixture(params=["files", "postgres"])
async def hosted(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Hosted]:
    """A server for many, with its memories in either store."""
    stores: dict[str, Any] = {}
    if request.param == "postgres":
        url = request.getfixturevalue("clean_postgres")
        stores = {"provider": "postgres", "postgres_url": Secret(url)}
    async with hosting(tmp_path / "home", **stores) as served:
        yield served


@shows("team-memory")
async def test_members_share_it_across_projects_and_nobody_else_sees_it(hosted: Hosted) -> None:
    """Two members never open the same project; the third is of another team, the fourth of none."""
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "birch", team="acme")
    eve = hosted.add_token("eve", "alder", team="other")
    dan = hosted.add_token("dan", "birch")
    async with hosted.client(ada) as one, hosted.client(bob) as two:
        await add(one, RULE, kind="convention", scope="team", metadata={"title": "Rebase"})
        await add(one, LESSON, kind="lesson", scope="team")
        await add(one, "Orders live in PostgreSQL.")
        await add(one, "I like short commits.", kind="preference", scope="user")
        assert set(await recalled(two)) == {RULE, LESSON}
        assert await recalled(two, "what happened on a Friday?", scope="team") == [LESSON]
        assert await recalled(two, "rebased", scope="user") == []
        assert await recalled(two, key="team:conventions:*") == [RULE]
        for task in ("", "merge the branches"):
            context = await read(two, "memory_context", task=task)
            assert f"ada wrote, Rebase: {RULE}" in context
            assert "PostgreSQL" not in context
        assert "ada wrote" not in await read(one, "memory_context")
        assert len(await recalled(one)) == 4
        await add(two, "Carts live in Redis.", scope="team")
        assert "Carts live in Redis." in await recalled(one)
    for token in (eve, dan):
        async with hosted.client(token) as other:
            assert await recalled(other) == []
            assert "nothing" in (await read(other, "memory_context")).lower()
    async with hosted.client(eve) as other:
        await add(other, "Ours are merged.", scope="team")
        assert await recalled(other, scope="team") == ["Ours are merged."]
    async with hosted.client(dan) as other:
        for tool, arguments in (
            ("add_memory", {"content": RULE}), ("search_memories", {"query": "branches"})
        ):  # fmt: skip
            said = await refused(other, tool, scope="team", **arguments)
            assert "There is no team here: use scope project or user." in said
            assert "memory-mcp token add NAME --team TEAM" in said
    async with hosted.client(ada) as one:
        assert "Ours are merged." not in await recalled(one)


@shows("posing")
async def test_whoever_corrects_rejects_or_joins_it_is_named(hosted: Hosted) -> None:
    """A member's words never pass for another's own, whichever way they came into the record."""
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "birch", team="acme")
    async with hosted.client(ada) as one, hosted.client(bob) as two:
        rule = await add(one, RULE, kind="convention", scope="team")
        done = await call(two, "update_memory", memory_id=rule, content="Branches are merged.")
        context = await read(one, "memory_context")
        assert "bob wrote: Branches are merged." in context
        assert "wrote" not in await read(two, "memory_context")

        await call(
            one, "forget_memory", memory_id=done["memoryId"], mode="hide", reason="We rebase."
        )
        again: dict[str, Any] = {"content": "Branches are merged.", "kind": "convention"}
        said = await call(two, "add_memory", scope="team", **again)
        assert said["outcome"] == "rejected"
        assert " by ada (We rebase.)" in said["message"]
        assert (await call(one, "add_memory", scope="team", **again))["outcome"] == "rejected"
        kept = await call(two, "add_memory", scope="user", **again)
        assert kept["outcome"] == "inserted", "nobody rejects what another keeps for themselves"

        await add(one, "The nightly build runs on Jenkins.", scope="team")
        await add(two, "The nightly build runs on Jenkins and takes two hours.", scope="team")
        texts = {
            each["content"]: each["metadata"].get("by")
            for each in (await call(two, "search_memories", query="nightly build"))["results"]
        }
        for text, by in texts.items():
            assert by is None or text == "The nightly build runs on Jenkins.", texts
        assert "Ada" not in str(await two.read_resource("memory://profile"))


async def test_what_members_say_of_themselves_enters_nobodys_profile(hosted: Hosted) -> None:
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "birch", team="acme")
    async with hosted.client(ada) as one, hosted.client(bob) as two:
        said = await call(
            one, "add_memory", content="I live in Berlin.", kind="preference", scope="team"
        )
        assert "add it with scope=user" in str(said)
        for client in (one, two):
            assert "Berlin" not in str(await client.read_resource("memory://profile"))
        assert "ada wrote: I live in Berlin." in await read(two, "memory_context")


async def test_a_yes_to_what_another_member_wrote_counts_in_every_project(tmp_path: Path) -> None:
    """What the team keeps is looked at once; before, it stands in no context."""
    async with hosting(tmp_path / "home", approval="review") as hosted:
        ada = hosted.add_token("ada", "alder", team="acme")
        bob = hosted.add_token("bob", "birch", "cedar", team="acme")
        async with (
            hosted.client(ada) as one,
            hosted.client(bob) as two,
            hosted.client(bob, project="cedar") as elsewhere,
        ):
            rule = await add(one, RULE, kind="convention", scope="team")
            for client in (two, elsewhere):
                assert RULE not in await read(client, "memory_context")
                assert f"- {rule} ada: {RULE}" in await read(client, "memory_head")
            await call(two, "add_memory", content=rule, suggested="keep")
            for client in (two, elsewhere):
                assert f"ada wrote: {RULE}" in await read(client, "memory_context")
                assert rule not in await read(client, "memory_head")
            await call(one, "update_memory", memory_id=rule, content="Anything goes.")
            assert "Anything goes." not in await read(two, "memory_context")


async def test_a_members_change_elsewhere_is_heard(
    tmp_path: Path, clean_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through another server on the database, in another project; a forget takes it away."""
    monkeypatch.setattr(subscriptions, "_POLL_SECONDS", 3_600.0)  # only who is told hears
    stores: dict[str, Any] = {"provider": "postgres", "postgres_url": Secret(clean_postgres)}
    async with (
        hosting(tmp_path / "one", **stores) as here,
        hosting(tmp_path / "two", **stores) as there,
    ):
        ada = here.add_token("ada", "alder", team="acme")
        bob = there.add_token("bob", "birch", team="acme")
        eve = here.add_token("eve", "alder", team="other")
        async with (
            listener(partial(here.client, ada, "auto"), "auto") as ears,
            listener(partial(here.client, eve, "auto"), "auto") as others,
            there.client(bob) as two,
        ):
            for each in (ears, others):
                await each.watch(CONTEXT)
            rule = await add(two, RULE, kind="convention", scope="team")
            await ears.until(CONTEXT)
            await ears.rest()
            assert f"bob wrote: {RULE}" in await read(ears.client, "memory_context")
            await call(two, "forget_memory", memory_id=rule)
            await ears.until(CONTEXT)
            assert RULE not in await read(ears.client, "memory_context")
            assert await others.rest() == []


async def test_one_connection_hears_for_everyone_whom_a_server_has_open(
    tmp_path: Path, clean_postgres: str
) -> None:
    """What arrives is told to whom it is about; the last one who leaves closes the line."""
    stores: dict[str, Any] = {"provider": "postgres", "postgres_url": Secret(clean_postgres)}
    listening = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    )
    async with hosting(tmp_path / "one", **stores) as here:
        tokens = [here.add_token(name, "alder", team="acme") for name in ("ada", "bob", "eve")]
        async with AsyncExitStack() as stack:
            for token in tokens:
                client = await stack.enter_async_context(here.client(token))
                await recalled(client)
            async with asyncio.timeout(30):
                while execute(clean_postgres, listening) != [(1,)]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            for _ in range(10):
                assert execute(clean_postgres, listening) == [(1,)]
                await asyncio.sleep(0.05)
    assert execute(clean_postgres, listening) == [(0,)]


async def test_the_operators_own_team_is_no_tenants(tmp_path: Path) -> None:
    """What the server was started with opens nothing for whoever calls."""
    async with hosting(tmp_path / "home", team="acme") as hosted:
        ada = hosted.add_token("ada", "alder", team="acme")
        dan = hosted.add_token("dan", "alder")
        async with hosted.client(ada) as one:
            await add(one, RULE, scope="team")
        async with hosted.client(dan) as other:
            assert await recalled(other) == []
            assert "There is no team here" in await refused(
                other, "add_memory", content="x", scope="team"
            )


async def test_a_token_that_may_only_read_reads_it(hosted: Hosted) -> None:
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "birch", team="acme", read_only=True)
    async with hosted.client(ada) as one, hosted.client(bob) as two:
        rule = await add(one, RULE, scope="team")
        assert await recalled(two) == [RULE]
        for tool, arguments in (
            ("add_memory", {"content": "x", "scope": "team"}),
            ("update_memory", {"memory_id": rule, "content": "x"}),
            ("forget_memory", {"memory_id": rule}),
        ):
            said = await call(two, tool, **arguments)
            assert not said["success"]
            assert "a token that may only read" in said["message"]
        assert await recalled(one) == [RULE]


# over stdio


def clone(folder: Path, name: str, url: str, **more: Any) -> Settings:
    """A clone of a project of that name, on a machine of its own."""
    project, home = folder / name, folder / f"{name}-home"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    remote = f'[remote "origin"]\n\turl = https://example.org/team/{name.partition("-")[0]}.git\n'
    (project / ".git" / "config").write_text(remote)
    trust(project, home)
    return Settings(
        project_dir=project, home=home, approval="auto", provider="postgres",
        postgres_url=Secret(url), **more,
    )  # fmt: skip


async def test_at_their_own_machines_a_setting_names_the_team(
    tmp_path: Path, clean_postgres: str
) -> None:
    """Each with a server and a project of their own; ada's is another process, as with a client."""
    settings = clone(tmp_path, "shop", clean_postgres)
    assert settings.project_dir
    of_ada = process(
        settings.project_dir, MEMORY_HOME=str(settings.home), MEMORY_PROVIDER="postgres",
        MEMORY_POSTGRES_URL=clean_postgres, MEMORY_USER="ada", MEMORY_TEAM="acme",
    )  # fmt: skip

    async with Client(stdio_client(of_ada)) as ada:
        assert "scope=team" in str(ada.instructions)
        rule = await add(ada, RULE, kind="convention", scope="team")
    settings = clone(tmp_path, "blog", clean_postgres, user="bob", team="acme")
    async with agent(settings, "auto") as bob:
        assert f"ada wrote: {RULE}" in await read(bob, "memory_context")
        shown = str(await bob.read_resource(f"memory://memory/{rule}"))
        assert "team: acme" in shown
        assert "of ada" in shown
    for name, identity in (
        ("wiki", {"user": "eve", "team": "other"}),
        ("shop-two", {"user": "dan"}),
        ("shop-three", {"user": "acme"}),
    ):
        async with agent(clone(tmp_path, name, clean_postgres, **identity), "auto") as other:
            assert await recalled(other) == []
            assert RULE not in await read(other, "memory_context")
    rows = execute(clean_postgres, "SELECT owner FROM memory_mcp.bank WHERE project = '*team'")
    assert sorted(owner for (owner,) in rows) == ["acme", "other"]


async def test_rendered_files_and_hooks_show_it_to_its_team_alone(
    tmp_path: Path, clean_postgres: str
) -> None:
    """Text that was rendered for one team is not printed by a hook of another."""
    settings = clone(tmp_path, "shop", clean_postgres, user="ada", team="acme")
    assert settings.project_dir
    environment = {
        "MEMORY_USER": "ada", "MEMORY_HOME": str(settings.home),
        "MEMORY_PROJECT_DIR": str(settings.project_dir),
    }  # fmt: skip

    def printed(**more: str) -> bool:
        return RULE in render_opening(find_place({**environment, **more}, {}))

    async with agent(settings, "auto") as ada:
        await add(ada, "Orders live in PostgreSQL.")
        rule = await add(ada, RULE, kind="convention", scope="team")
        page = settings.project_dir / ".claude" / "session-context.md"
        async with asyncio.timeout(60):
            while not (page.exists() and RULE in page.read_text("utf-8")):  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # files tell nobody
            while not printed(MEMORY_TEAM="acme"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert not printed(MEMORY_TEAM="other")
        assert not printed()
        await call(ada, "forget_memory", memory_id=rule)
        assert not printed(MEMORY_TEAM="acme")
        assert RULE not in page.read_text("utf-8")


async def test_what_waits_for_the_database_waits_for_its_own_team_and_user(
    tmp_path: Path, clean_postgres: str
) -> None:
    """A session of another team or user on the machine must not store it in their name."""
    at_work = clone(tmp_path, "shop", clean_postgres, user="ada", team="acme")
    away = replace(
        at_work, postgres_away="wait", postgres_url=Secret("postgresql://a@127.0.0.1:1/none")
    )
    async with open_workspace(away) as built:
        for draft in (Draft(RULE, reach="team"), Draft("I like tabs.", reach="user")):
            await add_memory(built.workspace, draft)

    async def deliver(settings: Settings) -> int:
        async with open_workspace(settings) as built:
            return await deliver_waiting(built.workspace)

    assert await deliver(replace(at_work, user="bob")) == 0
    assert await deliver(replace(at_work, team="other")) == 1, "what is the user's own"
    assert await deliver(replace(at_work, team="")) == 0
    execute(clean_postgres, "SELECT 1")
    async with agent(replace(at_work, user="bob", team="other"), "auto") as bob:
        assert await recalled(bob) == []
    _let_leases_end(tmp_path)
    assert await deliver(at_work) == 1
    async with agent(at_work, "auto") as ada:
        assert set(await recalled(ada)) == {RULE, "I like tabs."}


def _let_leases_end(folder: Path) -> None:
    """What was put off is due now."""
    (waiting,) = folder.rglob("waiting.sqlite3")
    with sqlite3.connect(waiting) as database:
        database.execute("UPDATE parcel SET due = 0")


# at the command line


@pytest.mark.files
def test_with_files_there_is_no_team_and_the_answer_says_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, said = run("add", RULE, "--scope", "team")
    assert status == 1
    assert "There is no team here: use scope project or user." in said
    assert "MEMORY_PROVIDER is postgres" in said
    monkeypatch.setenv("MEMORY_TEAM", "acme")
    assert "MEMORY_TEAM is set, but memories are files of one person here" in run("doctor")[1]
    assert run("add", RULE, "--scope", "team")[0] == 1


@pytest.fixture
def of_team(monkeypatch: pytest.MonkeyPatch, clean_postgres: str) -> dict[str, str]:
    """The command line of a member of a team."""
    environment = {
        "MEMORY_PROVIDER": "postgres", "MEMORY_POSTGRES_URL": clean_postgres,
        "MEMORY_USER": "ada", "MEMORY_TEAM": "acme",
    }  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


@pytest.mark.usefixtures("of_team")
def test_the_command_line_adds_finds_lists_and_explains_it(run: Run) -> None:
    memory = as_json(run, "add", RULE, "--scope", "team", "--kind", "convention")["memoryId"]
    as_json(run, "add", "Orders live in PostgreSQL.")
    found = as_json(run, "search", "branches", "--scope", "team")["results"]
    assert [each["content"] for each in found] == [RULE]
    listed = as_json(run, "list", "--scope", "team")["memories"]
    assert [each["memoryId"] for each in listed] == [memory]
    assert RULE in run("context")[1]
    shown = run("show", memory, "--why")[1]
    assert "team: acme" in shown
    assert "of ada for the team acme" in shown
    assert as_json(run, "forget", memory)["success"]
    assert as_json(run, "list", "--scope", "team")["memories"] == []


@pytest.mark.usefixtures("of_team")
def test_an_export_of_it_comes_in_again_as_the_importers_word(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes to the importer's team and nowhere else; without a team it stays out."""
    as_json(run, "add", RULE, "--scope", "team", "--kind", "convention")
    as_json(run, "add", "I like tabs.", "--scope", "user")
    as_json(run, "add", "Orders live in PostgreSQL.")
    for scope, count in (("team", 1), ("both", 2), ("all", 3)):
        assert run("export", str(tmp_path / f"{scope}.json"), "--scope", scope)[0] == 0
        exported = json.loads((tmp_path / f"{scope}.json").read_text("utf-8"))
        assert exported["count"] == count
    assert exported["scope"]["team"] == "acme"
    notes = tmp_path / "notes"
    assert run("export", str(notes), "--format", "markdown", "--scope", "team")[0] == 0
    assert len(list((notes / "team").rglob("*.md"))) == 1

    monkeypatch.setenv("MEMORY_USER", "bob")
    monkeypatch.setenv("MEMORY_TEAM", "")
    done = as_json(run, "import", str(tmp_path / "team.json"), "--scope", "all")
    assert (done["stored"], done["leftOut"]) == (0, 1)
    assert "belongs to a team, and there is none here" in str(done)
    assert run("import", str(tmp_path / "team.json"), "--scope", "team")[0] == 1
    monkeypatch.setenv("MEMORY_TEAM", "other")
    for source in (tmp_path / "team.json", notes):
        assert as_json(run, "import", str(source), "--scope", "all")["success"]
    (listed,) = as_json(run, "list", "--scope", "team")["memories"]
    assert listed["content"] == RULE
    assert "of bob for the team other" in run("show", listed["memoryId"], "--why")[1]
    monkeypatch.setenv("MEMORY_USER", "ada")
    monkeypatch.setenv("MEMORY_TEAM", "acme")
    assert len(as_json(run, "list", "--scope", "team")["memories"]) == 1


@pytest.mark.usefixtures("of_team")
def test_a_move_leaves_it_with_the_team(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are one person's. The proof is of what was carried over."""
    as_json(run, "add", RULE, "--scope", "team")
    as_json(run, "add", "Orders live in PostgreSQL.")
    moved = as_json(run, "move", "--to", "files")
    assert moved["success"]
    assert [each["scope"] for each in moved["banks"]] == ["project", "user"]
    assert "What the team acme keeps stays in the database" in str(moved)
    monkeypatch.setenv("MEMORY_PROVIDER", "local")
    assert [each["content"] for each in as_json(run, "list")["memories"]] == [
        "Orders live in PostgreSQL."
    ]
    monkeypatch.setenv("MEMORY_PROVIDER", "postgres")
    assert as_json(run, "move", "--to", "postgres")["success"]
    assert len(as_json(run, "list", "--scope", "team")["memories"]) == 1
