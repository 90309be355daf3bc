"""What each identity sees over HTTP, by every way there is: nobody sees what is another's."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doors import Era, User, add, call, read, recalled, refused, seal, text_of
from hosted import Hosted, hosting
from http_cases import shows
from listening import LIST, listener
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from memory_mcp.server.tokens import Identity, Project

pytestmark = pytest.mark.anyio

HIDDEN = "Zanzibar"
"""A word that is in every text of the one user, and in none of the other's."""


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncGenerator[Hosted]:
    toolsets = ("branches", "session", "layers")
    async with hosting(tmp_path / "home", toolsets=toolsets) as served:
        yield served


async def fill(client: Client) -> list[str]:
    """Memories, a checkpoint and a branch that nobody else may know; their ids."""
    ids = [
        await add(client, f"{HIDDEN} is where orders rest.", metadata={"title": HIDDEN}),
        await add(client, f"{HIDDEN} is what I like.", kind="preference", scope="user"),
        await seal(client, f"{HIDDEN} was chosen", phase=1),
    ]
    await call(client, "switch_branch", name=f"try-{HIDDEN}", create=True)
    return ids


@shows("search", "context", "resources", "completion", "errors", "known-id", "unknown-id")
@pytest.mark.protocol
async def test_nothing_of_one_user_reaches_another_by_any_way(hosted: Hosted, era: Era) -> None:
    """Even where both have a project of the same name."""
    ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")
    async with hosted.client(ada, era) as one, hosted.client(bob, era) as other:
        ids = await fill(one)
        told = [tell async for tell in try_everything(other, ids)]
        own = [said async for _, said in try_everything(one, ids)]

    assert sum(HIDDEN in said for said in own) > 20, "its owner finds it by these ways"
    strange = "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"
    assert len(told) > 30
    for way, said in told:
        assert HIDDEN not in said.replace(f"try-{HIDDEN}", ""), way
    by_way = dict(told)
    for way in ("show", "update", "forget", "supersede"):
        answers = {by_way[f"{way} {each}"].replace(each, "ID") for each in (*ids[:2], strange)}
        assert len(answers) == 1, f"{way}: a foreign id and one that never was are told apart"


@pytest.mark.nightly
@shows("search", "context", "resources", "completion", "errors", "known-id", "team-memory")
async def test_nothing_of_a_team_reaches_who_is_not_in_it_by_any_way(hosted: Hosted) -> None:
    """Neither another team with a project of that name, nor a user of the same name in none."""
    ada = hosted.add_token("ada", "alder", team="acme")
    others = [
        hosted.add_token("eve", "alder", team="other"),
        hosted.add_token("dan", "alder"),
        hosted.add_token("ada-alone", "alder"),
        hosted.add_token("acme", "alder", team="user-ada"),
    ]
    async with hosted.client(ada) as one:
        ids = [
            await add(one, f"{HIDDEN} is our convention.", kind="convention", scope="team"),
            await add(one, f"{HIDDEN} failed us.", kind="lesson", scope="team"),
        ]
        own = [said async for _, said in try_everything(one, ids)]
    assert sum(HIDDEN in said for said in own) > 10, "its members find it by these ways"
    strange = "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"
    for token in others:
        async with hosted.client(token) as other:
            told = [tell async for tell in try_everything(other, ids)]
        assert len(told) > 30
        for way, said in told:
            assert HIDDEN not in said.replace(f"try-{HIDDEN}", ""), way
        by_way = dict(told)
        for way in ("show", "update", "forget", "supersede"):
            answers = {by_way[f"{way} {each}"].replace(each, "ID") for each in (*ids, strange)}
            assert len(answers) == 1, f"{way}: a foreign id and one that never was are told apart"


async def try_everything(client: Client, ids: list[str]) -> AsyncGenerator[tuple[str, str]]:
    """Every way in which a client can ask for something, and what it is told."""
    async for told in chain(search_all(client), ask_for(client, ids), read_all(client, ids)):
        yield told


async def chain(*parts: AsyncGenerator[tuple[str, str]]) -> AsyncGenerator[tuple[str, str]]:
    for part in parts:
        async for told in part:
            yield told


async def search_all(client: Client) -> AsyncGenerator[tuple[str, str]]:
    scopes = ("project", "team", "user", None)
    asked = [(HIDDEN, scope) for scope in scopes] + [("", scope) for scope in scopes]
    for query, scope in (*asked, ("orders rest", None), ("what I like", None)):
        found = await client.call_tool("search_memories", {"query": query, "scope": scope})
        yield f"search {query} {scope}", text_of(found)
    for name in (f"try-{HIDDEN}", "main"):
        found = await client.call_tool("search_memories", {"query": "", "branch": name})
        yield f"search on {name}", text_of(found)
    for task in ("", HIDDEN, "where do orders rest?"):
        yield f"context {task}", text_of(await client.call_tool("memory_context", {"task": task}))


async def ask_for(client: Client, ids: list[str]) -> AsyncGenerator[tuple[str, str]]:
    yield "head", text_of(await client.call_tool("memory_head", {}))
    for each in (*ids, "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"):
        yield f"show {each}", await tell(client.read_resource(f"memory://memory/{each}"))
        yield f"checkpoint {each}", await tell(client.read_resource(f"memory://checkpoint/{each}"))
        update = {"memory_id": each, "content": "x"}
        yield f"update {each}", text_of(await client.call_tool("update_memory", update))
        yield (
            f"forget {each}",
            text_of(await client.call_tool("forget_memory", {"memory_id": each})),
        )
        taken = {"content": "Something else.", "supersedes": [each]}
        yield f"supersede {each}", text_of(await client.call_tool("add_memory", taken))
        yield f"back {each}", text_of(await client.call_tool("backtrack", {"to": each}))
        yield f"node {each}", text_of(await client.call_tool("mem_node_read", {"node_id": each}))
    for name in (f"try-{HIDDEN}", "1"):
        yield f"back {name}", text_of(await client.call_tool("backtrack", {"to": name}))
        yield f"node {name}", text_of(await client.call_tool("mem_node_read", {"node_id": name}))


async def read_all(client: Client, ids: list[str]) -> AsyncGenerator[tuple[str, str]]:
    for resource in (await client.list_resources()).resources:
        yield resource.uri, resource.model_dump_json()
        yield f"read {resource.uri}", await tell(client.read_resource(resource.uri))
    for uri in ("memory://memory/{id}", "memory://checkpoint/{id}"):
        for typed in ("", HIDDEN, ids[0][:8]):
            ref = ResourceTemplateReference(uri=uri)
            found = await client.complete(ref, {"name": "id", "value": typed})
            yield f"complete {uri} {typed}", found.model_dump_json()
    for name, argument in (("review_backtrack", "to"), ("close_phase", "phase")):
        found = await client.complete(PromptReference(name=name), {"name": argument, "value": ""})
        yield f"complete {name}", found.model_dump_json()
        yield f"prompt {name}", await tell(client.get_prompt(name, {argument: "1"}))


async def tell(asked: Any) -> str:
    """What came, or the error in its place."""
    try:
        return (await asked).model_dump_json()
    except MCPError as error:
        return f"{error.error.message} {error.error.data}"


@shows("notifications")
@pytest.mark.protocol
async def test_a_change_is_announced_to_nobody_else(hosted: Hosted, era: Era) -> None:
    """The one who has nothing to do with it does not even learn that there was one."""
    ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")

    def client(token: str) -> Any:
        return partial(hosted.client, token, era)

    async with listener(client(ada), era) as mine, listener(client(bob), era) as theirs:
        for each in (mine, theirs):
            await each.watch(LIST, "memory://context")
        await add(mine.client, "Orders live in PostgreSQL.", kind="preference")
        await mine.until("memory://context")

        assert await theirs.rest() == []


@shows("project-of-another", "header-widens", "path-widens")
async def test_a_header_chooses_among_the_projects_of_the_token_and_no_others(
    hosted: Hosted,
) -> None:
    token = hosted.add_token("ada", "alder", "birch")
    wide = hosted.add_token("ada-wide", "alder", "birch", "cedar")
    async with hosted.client(wide, project="cedar") as client:
        await add(client, f"{HIDDEN} is in cedar.")
    async with hosted.client(token) as first, hosted.client(token, project="birch") as second:
        await add(first, "Alder has this.")
        await add(second, "Birch has that.")
        assert await recalled(first) == ["Alder has this."]
        assert await recalled(second) == ["Birch has that."]
    outside = [
        "cedar", "../ada/cedar", "..", ".", "", " ", "/", "alder/../cedar", "C:\\cedar", "none",
        "*", "alder\x00", "alder%2f..", "user-ada/cedar", "ALDER", "alder ", "\u0430lder",
        "alder,birch",
    ]  # fmt: skip
    for name in outside:
        by_address = await hosted.ask(token=token, params={"project": name})
        assert by_address.status_code == 403, name
        assert by_address.text == "This token does not open that project. It opens: alder, birch."
        try:
            header = {"memory-project": name.encode("ascii")}
        except UnicodeEncodeError:
            continue
        if "\x00" not in name and name.strip() not in ("alder", ""):
            assert (await hosted.ask(token=token, headers=header)).status_code == 403, name
    both = await hosted.ask(
        token=token, params={"project": "birch"}, headers={"memory-project": "alder"}
    )
    assert both.status_code == 400
    for header in ("memory-user", "x-user", "x-memory-user", "x-forwarded-user", "memory-team"):
        async with hosted.client(token, headers={header: "bob"}) as client:
            assert await recalled(client) == ["Alder has this."]


@shows("argument-widens")
async def test_no_tool_takes_a_user_a_team_or_a_project(hosted: Hosted) -> None:
    """What cannot be asked for cannot be widened; an argument that is not there is refused."""
    token = hosted.add_token("ada", "alder")
    async with hosted.client(token) as client:
        tools = (await client.list_tools()).tools
        for tool in tools:
            known = set(tool.input_schema.get("properties", {}))
            assert not known & {"user", "team", "project", "project_dir", "path", "home"}, tool.name
            for name in ("user", "project", "container_tag"):
                said = await refused(client, tool.name, **{name: "bob"})
                assert f"{tool.name} has no argument {name!r}" in said
        (adding,) = (tool for tool in tools if tool.name == "add_memory")
        scopes = set(adding.input_schema["properties"]["scope"]["enum"])
        assert scopes == {"project", "team", "user"}, "the token's own, never which"
    assert len(tools) > 15


@shows("read-only", "read-only-rest")
@pytest.mark.protocol
async def test_a_token_that_may_only_read_changes_nothing(
    hosted: Hosted, tmp_path: Path, era: Era
) -> None:
    """Every tool that writes is refused with a reason, and no file is other than it was."""
    writer = hosted.add_token("ada", "alder", team="acme")
    reader = hosted.add_token("eve", "alder", team="acme", read_only=True)
    async with hosted.client(writer) as client:
        memory = await add(client, "Orders live in PostgreSQL.")
        sealed = await seal(client, "Storage chosen", phase=1)
        before = files_of(tmp_path / "home" / "held")
        async with hosted.client(reader, era) as other:
            assert await recalled(other, "orders") == ["Orders live in PostgreSQL."]
            arguments: dict[str, dict[str, Any]] = {
                "add_memory": {"content": "Orders live in Redis."},
                "update_memory": {"memory_id": memory, "content": "Orders live in Redis."},
                "forget_memory": {"memory_id": memory},
                "checkpoint": {"summary": "Mine"},
                "backtrack": {"to": sealed, "mode": "forget"},
                "consolidate": {"history_entry": "Orders live in Redis."},
                "switch_branch": {"name": "mine", "create": True},
                "episodic_capture": {"turns": [{"role": "user", "content": "a"}], "turn": 1},
                "mem_node_fork": {"parent_node_id": "main", "child_node_id": "mine"},
                "mem_node_write": {"node_id": "main", "core_updates": {"orders": "Redis"}},
                "apply_llm_memory_updates": {
                    "node_id": "main",
                    "updates": {"mem_core_set": {"orders": "Redis"}},
                },
            }
            writing = [
                tool.name
                for tool in (await other.list_tools()).tools
                if not (tool.annotations and tool.annotations.read_only_hint)
            ]
            assert {*arguments} == {*writing}
            for tool, given in arguments.items():
                said = text_of(await other.call_tool(tool, given))
                assert "a token that may only read" in said, tool
        assert files_of(tmp_path / "home" / "held") == before
        assert await recalled(client, "orders") == ["Orders live in PostgreSQL."]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@shows("question")
@pytest.mark.protocol
async def test_the_answer_to_a_question_counts_for_who_was_asked(tmp_path: Path, era: Era) -> None:
    """A token of a question that one identity was given carries out nothing for another."""
    async with hosting(tmp_path / "home", approval="ask") as hosted:
        ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")
        async with hosted.client(ada, era) as one, hosted.client(bob, era) as other:
            pending = [
                (await call(each, "checkpoint", summary="Storage chosen"))["checkpointId"]
                for each in (one, other)
            ]
            said = text_of(
                await other.call_tool("checkpoint", {"summary": "", "pending": pending[0],
                                                     "decision": "save"})
            )  # fmt: skip
            assert "Storage chosen" not in said
            assert pending[0] in await read(one, "memory_head")


@shows("concurrent")
async def test_requests_of_two_identities_at_once_do_not_mix(hosted: Hosted) -> None:
    """Each answer is of its own caller, however they interleave."""
    users = ["ada", "bob", "eve"]
    tokens = {user: hosted.add_token(user, "alder") for user in users}
    async with asyncio.timeout(120):
        async with (
            hosted.client(tokens["ada"]) as a,
            hosted.client(tokens["bob"]) as b,
            hosted.client(tokens["eve"], "legacy") as c,
        ):
            clients = dict(zip(users, (a, b, c), strict=True))
            for user, client in clients.items():
                await add(client, f"{user} keeps a secret garden.")

            async def ask(user: str) -> list[str]:
                return await recalled(clients[user], "secret garden")

            order = users * 8
            for user, found in zip(order, await asyncio.gather(*map(ask, order)), strict=True):
                assert found == [f"{user} keeps a secret garden."]


@shows("session-of-another")
async def test_a_session_opens_for_nobody_but_the_token_that_opened_it(hosted: Hosted) -> None:
    """Neither for another user nor for another token of the same one."""
    ada, bob = hosted.add_token("ada", "alder"), hosted.add_token("bob", "alder")
    other = hosted.add_token("ada-laptop", "alder")
    opened = await hosted.ask(token=ada)
    session = opened.headers["mcp-session-id"]
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    for token, status in ((ada, 200), (bob, 404), (other, 404)):
        asked = await hosted.ask(token=token, body=body, headers={"mcp-session-id": session})
        assert asked.status_code == status
    for token in (bob, other):
        ended = await hosted.ask("DELETE", token, headers={"mcp-session-id": session})
        assert ended.status_code == 404
    assert (await hosted.ask(token=ada, body=body, headers={"mcp-session-id": session})).is_success


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_members_of_a_team_share_its_project_and_keep_what_is_their_own(
    tmp_path: Path, transport: Any
) -> None:
    """That is what a team is for."""
    async with hosting(tmp_path / "home", transport) as hosted:
        ada = hosted.add_token("ada", "alder", "birch", team="acme")
        bob = hosted.add_token("bob", "birch", "alder", team="acme")
        eve = hosted.add_token("eve", "alder", team="other")
        async with (
            hosted.client(ada, "legacy") as one,
            hosted.client(bob, "legacy", project="alder") as two,
            hosted.client(eve, "legacy") as three,
        ):
            await add(one, "Orders live in PostgreSQL.")
            await add(one, "Ada likes green tea.", kind="preference", scope="user")
            assert await recalled(two, "orders tea") == ["Orders live in PostgreSQL."]
            assert await recalled(three) == []


async def test_a_folder_of_the_server_is_opened_by_its_token_alone(
    hosted: Hosted, tmp_path: Path
) -> None:
    """A checkout on the server: what is written there is the project's, under its own name."""
    (tmp_path / "shop").mkdir()
    identity = Identity(user="ada", projects=(Project(name="shop", folder=str(tmp_path / "shop")),))
    _, token = hosted.tokens.add("ada", identity, datetime.now(UTC))
    async with hosted.client(token) as client:
        await add(client, "Orders live in PostgreSQL.")
    kept = [*(tmp_path / "shop" / ".claude" / "memory").rglob("*.json")]
    assert len(kept) == 1
    assert not (tmp_path / "shop" / ".claude" / "session-context.md").exists()


async def test_without_a_project_there_is_the_users_memory(hosted: Hosted) -> None:
    """And not the folder in which the server happens to run."""
    token = hosted.add_token("ada")
    async with hosted.client(token) as client:
        await add(client, "Ada likes green tea.", kind="preference", scope="user")
        assert await recalled(client, "tea") == ["Ada likes green tea."]
        assert await refused(client, "backtrack", to="nothing", mode="continue")


async def test_only_the_user_at_the_machine_is_asked_whether_a_project_counts(
    hosted: Hosted, tmp_path: Path
) -> None:
    """A client from elsewhere would decide for all who work there."""
    del tmp_path
    user = User("accept", {"choice": "trust"})
    async with hosted.client(hosted.add_token("ada", "alder"), user=user) as client:
        await read(client, "memory_head")
    assert user.asked == []
