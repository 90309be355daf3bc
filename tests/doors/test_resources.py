"""What a client reads, lists and is offered by name, in both eras."""

from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import pytest
from doors import Era, add, agent, call, read, seal
from fakes import FakeClock, fake_workspace, forked, switched
from golden import golden
from mcp import Client, MCPError
from mcp_types import ResourceTemplateReference, TextResourceContents
from shop import added, shop

from memory_mcp import branches
from memory_mcp.config.settings import Settings
from memory_mcp.domain.limits import HISTORY_PAGE_CHARS_MAX, LISTED_CHECKPOINTS_MAX
from memory_mcp.domain.record import Draft
from memory_mcp.errors import InvalidRequestError, StoreUnavailableError
from memory_mcp.render.block import count_tokens
from memory_mcp.server.handlers import complete
from memory_mcp.server.resources import (
    CHECKPOINT,
    CONTEXT,
    HEAD,
    HISTORY,
    MEMORY,
    PROFILE,
    RESOURCES,
    TEMPLATES,
    list_resources,
)
from memory_mcp.server.resources import read_resource as read_uri

pytestmark = [pytest.mark.anyio, pytest.mark.protocol]

_IDS = ResourceTemplateReference(uri=MEMORY)


async def text_at(client: Client, uri: str) -> str:
    """The text of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def refused(client: Client, uri: str) -> str:
    """What a client reads when there is no such resource."""
    with pytest.raises(MCPError) as error:
        await client.read_resource(uri)
    assert error.value.error.code == -32602
    assert error.value.error.data == {"uri": uri}
    return str(error.value)


async def offered(client: Client, uri: str, typed: str) -> list[str]:
    """The values that a client offers for the id in a template."""
    ref = ResourceTemplateReference(uri=uri)
    return (await client.complete(ref, {"name": "id", "value": typed})).completion.values


async def test_the_doors_lead_to_the_same_rooms(settings: Settings, era: Era) -> None:
    """A resource is the tool by another name: whoever reads both must not wonder which is true."""
    async with agent(settings, era) as client:
        await add(client, "Orders live in PostgreSQL.", kind="decision")
        await seal(client, "Storage chosen", phase=1)

        assert await text_at(client, CONTEXT) == await read(client, "memory_context")
        assert await text_at(client, HEAD) == await read(client, "memory_head")
        assert "Storage chosen" in await text_at(client, HISTORY)
        assert "Nothing is known of the user yet" in await text_at(client, PROFILE)


async def test_what_is_listed_is_described_and_can_be_read(settings: Settings, era: Era) -> None:
    """A model and a person choose from these words."""
    async with agent(settings, era) as client:
        sealed = await seal(client, "Storage chosen", phase=1)
        found = (await client.list_resources()).resources
        shown = (await client.list_resource_templates()).resource_templates
        for each in found:
            assert each.title
            assert each.description
            assert each.annotations is not None
            assert await text_at(client, each.uri)

    assert [each.uri for each in found] == [
        *(each.uri for each in RESOURCES),
        CHECKPOINT.replace("{id}", sealed),
    ]
    assert [each.uri_template for each in shown] == [each.uri for each in TEMPLATES]


async def test_an_abandoned_memory_is_not_found_and_says_why(settings: Settings, era: Era) -> None:
    """Its id lives on in notes and prompts; its text must not come back by it."""
    async with agent(settings, era) as client:
        await seal(client, "Begun", phase=1)
        lost = await add(client, "Sessions live in Redis.")
        left = await seal(client, "Sessions in Redis", phase=2)
        uri = MEMORY.replace("{id}", lost)
        assert "Sessions live in Redis." in await text_at(client, uri)

        said = await call(client, "backtrack", to=1, mode="continue")
        why = await refused(client, uri)
        assert "was left by a backtrack" in why
        assert f"backtrack(to={said['line']!r})" in why
        why += await refused(client, CHECKPOINT.replace("{id}", left))
        assert f"backtrack(to={left!r}) would restore" in why
        assert "Redis" not in why
        assert await offered(client, MEMORY, "") == []
        assert left not in await offered(client, CHECKPOINT, "")

        await call(client, "backtrack", to=said["line"], mode="continue")
        assert "Sessions live in Redis." in await text_at(client, uri)


async def test_what_became_of_a_memory_is_said(settings: Settings, era: Era) -> None:
    """Corrected, erased, hidden, never there: each has another next step."""
    async with agent(settings, era) as client:
        first = await add(client, "Orders live in PostgreSQL.")
        said = await call(client, "update_memory", memory_id=first, content="In SQLite.")
        second = said["memoryId"]
        assert f"was replaced by {second}" in await refused(client, f"memory://memory/{first}")
        hidden = await add(client, "We deploy on Fridays.")
        await call(client, "forget_memory", memory_id=hidden, mode="hide")
        assert "was hidden on 20" in await refused(client, f"memory://memory/{hidden}")
        await call(client, "forget_memory", memory_id=second)
        assert "was erased for good" in await refused(client, f"memory://memory/{second}")
        third = await add(client, "The shop sells tea.")
        why = await refused(client, f"memory://memory/{third[:-4]}0000")
        assert third in why, "the nearest ids are named"


async def test_other_names_are_refused_with_those_there_are(settings: Settings, era: Era) -> None:
    """A wrong URI is a slip of a model: it gets what it needs to mend it."""
    async with agent(settings, era) as client:
        sealed = await seal(client, "Begun", phase=1)
        for uri in ("memory://contxt", "memory://memories/1", "file:///etc/passwd"):
            why = await refused(client, uri)
            assert CONTEXT in why
            assert MEMORY in why
        assert sealed in await refused(client, "memory://checkpoint/phase9-20260101-000000")
        assert await text_at(client, "memory://checkpoint/1") == await text_at(
            client, f"memory://checkpoint/{quote(sealed)}"
        )


async def test_a_memory_that_is_off_says_so(settings: Settings, era: Era) -> None:
    """It is no error: an attached resource must not keep a session from beginning."""
    async with agent(replace(settings, enabled=False), era) as client:
        for uri in (
            *(each.uri for each in RESOURCES),
            "memory://memory/x",
            "memory://checkpoint/x",
        ):
            assert "Memory is off" in await text_at(client, uri)
        assert len((await client.list_resources()).resources) == len(RESOURCES)
        assert await offered(client, MEMORY, "") == []


async def test_a_broken_store_is_told_in_words(
    settings: Settings, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours are sentences; a bug of ours stays in the log."""

    async def broken(*_: object) -> str:
        raise StoreUnavailableError("The folder is gone. Mount it and ask again.")

    async def bug(*_: object) -> str:
        raise KeyError("a secret inside")

    async with agent(settings, era) as client:
        monkeypatch.setattr("memory_mcp.server.handlers.read_resource", broken)
        with pytest.raises(MCPError, match="Mount it and ask again") as error:
            await client.read_resource(HEAD)
        assert error.value.error.code == -32603
        monkeypatch.setattr("memory_mcp.server.handlers.read_resource", bug)
        with pytest.raises(MCPError, match="This is a bug of memory-mcp"):
            await client.read_resource(HEAD)


@pytest.mark.parametrize("uri", [PROFILE, HISTORY, "memory://checkpoint/2"])
async def test_the_texts_are_those_agreed_on(uri: str) -> None:
    """What a model reads is product: whoever changes it shows the difference."""
    name = uri.removeprefix("memory://").replace("/", "-")

    golden(f"resources/{name}.txt", f"{await read_uri(await shop(), uri)}\n")


async def test_a_memory_is_shown_whole_and_as_it_was_written() -> None:
    """A line of a search is cut; here nothing is, and nothing in it can close the fence."""
    workspace = await shop()
    record = await added(workspace, Draft("One.\n\n  Two </memory> three.", title="Lines"))
    decided = (await complete(workspace, _IDS, "id", "storage")).values[0]

    whole = await read_uri(workspace, f"memory://memory/{decided}")
    golden("resources/memory.txt", f"{whole}\n")
    shown = await read_uri(workspace, f"memory://memory/{record}")
    assert "\n\nOne.\n\n  Two (/memory> three.\n</memory>" in shown


async def test_an_expired_memory_says_since_when() -> None:
    """It is not shown, and whoever asks knows that nothing was lost."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    soon = clock.now() + timedelta(hours=1)
    record = await added(workspace, Draft("The build is red.", expires_at=soon))
    clock.advance(timedelta(hours=2))

    with pytest.raises(InvalidRequestError, match="expired at 2026-01-31T15:30"):
        await read_uri(workspace, f"memory://memory/{record}")


async def test_a_memory_of_another_branch_says_of_which() -> None:
    """It is there, from another place."""
    workspace = fake_workspace()
    workspace = await forked(workspace, "spike", "")
    record = await added(workspace, Draft("Tried on the spike."))
    workspace = await switched(workspace, "main")

    with pytest.raises(InvalidRequestError, match="belongs to branch 'spike'"):
        await read_uri(workspace, f"memory://memory/{record}")


async def test_a_pending_checkpoint_says_how_it_is_decided() -> None:
    """Nobody goes back to it yet."""
    workspace = await shop()
    saved = await branches.checkpoint(workspace, "Cart chosen.", 3, again=False, approval="pending")
    name = (
        await complete(workspace, ResourceTemplateReference(uri=CHECKPOINT), "id", "phase3")
    ).values
    text = await read_uri(workspace, f"memory://checkpoint/{name[0]}")

    assert saved is not None
    assert "pending, phase 3" in text
    assert f"checkpoint(pending={name[0]!r}" in text


async def test_a_long_history_is_cut_with_a_word_on_it() -> None:
    """A client hands on about 25,000 tokens; a model needs far fewer to know what happened."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    for number in range(40):
        clock.advance(timedelta(minutes=1))
        text = f"Day {number}: " + f"we worked on part {number} of the shop. " * 40
        await added(workspace, Draft(text, kind="event", category="history"))
    text = await read_uri(workspace, HISTORY)

    assert len(text) < HISTORY_PAGE_CHARS_MAX + 1_000
    assert count_tokens(text) < 10_000
    assert "Day 39:" in text
    assert "Day 0:" not in text
    assert "There is more before 2026-01-31: search_memories(until='2026-01-31T" in text


async def test_the_list_stays_short() -> None:
    """People choose from it: of many checkpoints the newest are there, all can be read."""
    clock = FakeClock()
    workspace = fake_workspace(clock)
    for phase in range(1, LISTED_CHECKPOINTS_MAX + 5):
        clock.advance(timedelta(minutes=1))
        await branches.checkpoint(
            workspace, f"Phase {phase} done", phase, again=False, approval="approved"
        )
    found = await list_resources(workspace)

    assert len(found) == len(RESOURCES) + LISTED_CHECKPOINTS_MAX
    assert found[len(RESOURCES)].title == "Phase 14: Phase 14 done"
    assert "Phase 1 done" in await read_uri(workspace, "memory://checkpoint/1")
