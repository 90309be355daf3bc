"""Several people in one project: whose words these are, who moved the head, what waits."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from command_line import Run, as_json
from doors import Era, User, add, call, read, recalled, refused, seal
from hosted import Hosted, hosting
from http_cases import shows

pytestmark = pytest.mark.anyio


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncGenerator[Hosted]:
    async with hosting(tmp_path / "home") as served:
        yield served


@shows("posing")
async def test_what_a_member_wrote_does_not_read_as_the_users_own_word(hosted: Hosted) -> None:
    """A context names the author, a search does, and nothing of it enters the user's profile."""
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "alder", team="acme")
    async with hosted.client(ada) as one, hosted.client(bob) as two:
        await add(one, "My name is Ada and I prefer tabs.", kind="preference")
        await add(one, "Orders live in PostgreSQL.", kind="decision")
        await add(two, "Sessions live in Redis.", kind="decision")
        for task in ("", "where do orders and sessions live?"):
            context = await read(two, "memory_context", task=task)
            assert "ada wrote: Orders live in PostgreSQL." in context
            assert "- Sessions live in Redis." in context
        assert "ada wrote: My name is Ada and I prefer tabs." in await read(two, "memory_context")
        assert "Ada" not in str(await two.read_resource("memory://profile"))
        found = await call(two, "search_memories", query="", limit=10)
        by = {each["content"]: each["metadata"].get("by") for each in found["results"]}
        assert by["Orders live in PostgreSQL."] == "ada"
        assert by["Sessions live in Redis."] is None
        for name in ("by", "user", "origin", "author"):
            said = await refused(two, "add_memory", content="x", **{name: "ada"})
            assert f"no argument {name!r}" in said


async def test_the_head_names_who_moved_it(hosted: Hosted) -> None:
    """Whoever comes back learns that it was somebody else."""
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "alder", team="acme")
    async with hosted.client(ada) as one, hosted.client(bob) as two:
        await add(one, "Orders live in PostgreSQL.")
        await seal(one, "Storage chosen", phase=1)
        assert "ada moved this branch last: checkpoint, " in await read(two, "memory_head")
        assert "moved this branch last" not in await read(one, "memory_head")
        await seal(two, "Redis chosen", phase=2)
        assert "bob moved this branch last: checkpoint, " in await read(one, "memory_head")
        assert "moved this branch last" not in await read(two, "memory_head")


@pytest.mark.protocol
async def test_going_back_over_what_others_wrote_asks_and_says_whose(
    hosted: Hosted, era: Era
) -> None:
    """Even where the call says what to do; over one's own memories it does not ask again."""
    ada = hosted.add_token("ada", "alder", team="acme")
    bob = hosted.add_token("bob", "alder", team="acme")
    user = User("accept", {"choice": "abort"})
    async with (
        hosted.client(ada, era) as one,
        hosted.client(bob, era) as two,
        hosted.client(bob, era, user=user) as asked,
    ):
        await seal(one, "Begun", phase=1)
        await add(one, "Orders live in PostgreSQL.")
        await add(two, "Sessions live in Redis.")
        said = await call(two, "backtrack", to=1, mode="continue")
        assert said["status"] == "undecided"
        assert "Others wrote of these: 1 by ada." in said["message"]
        aborted = await call(asked, "backtrack", to=1, mode="continue")
        assert aborted["status"] == "aborted"
        assert "Others wrote of these: 1 by ada." in user.asked[0]
        assert len(await recalled(one)) == 3
        done = await call(two, "backtrack", to=1, mode="continue", confirm=said["confirm"])
        assert done["success"]
        await add(two, "Sessions live in memcached.")
        assert (await call(two, "backtrack", to=1, mode="continue"))["success"]


async def test_with_review_what_others_wrote_waits_for_a_yes(tmp_path: Path) -> None:
    """It stands in no context before. Each decides for themselves, once for good."""
    home = tmp_path / "home"
    async with hosting(home, approval="review") as hosted:
        ada = hosted.add_token("ada", "alder", team="acme")
        bob = hosted.add_token("bob", "alder", team="acme")
        async with hosted.client(ada) as one, hosted.client(bob) as two:
            kept = await add(one, "Orders live in PostgreSQL.")
            dropped = await add(one, "Sessions live in Redis.")
            mine = await add(two, "Carts live in memcached.")
            assert "PostgreSQL" not in await read(two, "memory_context")
            assert "PostgreSQL" not in await read(two, "memory_context", task="where are orders?")
            assert "memcached" in await read(two, "memory_context")
            assert "PostgreSQL" in await read(one, "memory_context")
            assert "Orders live in PostgreSQL." in await recalled(two, "orders")
            head = await read(two, "memory_head")
            assert f"- {kept} ada: Orders live in PostgreSQL." in head
            assert mine not in head
            said = await call(two, "add_memory", content=kept, suggested="keep")
            assert said["message"] == "What ada wrote stands in your contexts now."
            await call(two, "add_memory", content=dropped, suggested="drop")
            again = await call(two, "add_memory", content=kept, suggested="keep")
            assert not again["success"], again
            assert "Written by others" not in await read(two, "memory_head")
    async with hosting(home, approval="review") as again, again.client(bob) as two:
        context = await read(two, "memory_context")
        assert "ada wrote: Orders live in PostgreSQL." in context
        assert "Redis" not in context
        assert "Written by others" not in await read(two, "memory_head")


def test_why_names_who_wrote_a_memory(run: Run) -> None:
    """So that one can ask them."""
    memory = run("add", "Orders live in PostgreSQL.", "--json")[1].split('"memoryId": "')[1][:36]
    assert "written by: user of " in run("show", memory, "--why")[1]


@pytest.mark.files  # in a database, a folder without a remote is of its user alone
def test_at_the_command_line_what_others_wrote_is_kept_by_its_id(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user at the machine decides as a client does."""
    monkeypatch.setenv("MEMORY_APPROVAL", "review")
    monkeypatch.setenv("MEMORY_USER", "ada")
    memory = as_json(run, "add", "Orders live in PostgreSQL.")["memoryId"]
    monkeypatch.setenv("MEMORY_USER", "bob")
    assert f"- {memory} ada: Orders live in PostgreSQL." in run("status")[1]
    assert "PostgreSQL" not in run("context")[1]
    assert as_json(run, "suggestions", "keep", memory)["memoryId"] == memory
    assert "ada wrote: Orders live in PostgreSQL." in run("context")[1]
    status, _, said = run("suggestions", "keep", memory)
    assert status == 1
    assert f"Nothing that says {memory!r} waits for the user's word" in said
