"""An id may be given by its beginning or its end, wherever an id is taken."""

from dataclasses import replace

import pytest
from command_line import Run, as_json, complaint
from doors import Era, add, agent, call, recalled, refused, seal
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.config.settings import Settings
from memory_mcp.domain.ids import find_by_part, matches_part
from memory_mcp.server.resources import MEMORY

pytestmark = pytest.mark.anyio


async def test_every_tool_takes_the_end_of_an_id(settings: Settings, era: Era) -> None:
    """Ids of one day begin alike: the end is what a person copies."""
    async with agent(settings, era) as client:
        ids = [await add(client, f"Note {name}.") for name in ("one", "two", "three", "four")]
        await call(client, "update_memory", memory_id=ids[0][-8:], content="Note 1.")
        await call(client, "forget_memory", memory_id=ids[1][-12:].upper())
        await call(client, "forget_memory", memory_id=ids[2][-10:], mode="hide")
        await add(client, "Note nine.", supersedes=[ids[3][-8:]])
        known = await add(client, "Note ten.")
        read = await client.read_resource(MEMORY.replace("{id}", known[-8:]))

        assert set(await recalled(client, "note")) == {"Note 1.", "Note nine.", "Note ten."}
    assert "Note ten." in read.model_dump_json()


async def test_a_part_that_fits_several_names_them(settings: Settings, era: Era) -> None:
    """Nothing is guessed where an erasure cannot be undone."""
    async with agent(settings, era) as client:
        ids = [await add(client, f"Note {n}.") for n in range(2)]
        for tool, more in (("update_memory", {"content": "x"}), ("forget_memory", {})):
            said = await refused(client, tool, memory_id=ids[0][:4], **more)
            assert f"{ids[0][:4]!r} fits 2 memories: {', '.join(sorted(ids))}." in said
        assert len(await recalled(client, "note")) == 2


async def test_nearest_known_never_omits_what_begins_so(settings: Settings) -> None:
    """Too short a beginning is refused, with the memory that it would have meant."""
    async with agent(settings, "auto") as client:
        mine = await add(client, "Tabs.", scope="user")
        for part in (mine[:3], mine[0], mine[-7:]):
            said = await refused(client, "update_memory", memory_id=part, content="x")
            needed = "at least 4 characters of its beginning, or of its last 8"
            assert f"{part!r} is too little of an id: give {needed}." in said
            assert mine in said


async def test_the_beginning_of_what_is_printed_names_a_memory(settings: Settings) -> None:
    """A list prints the last 8 characters; people shorten these as they do a commit of git."""
    async with agent(settings, "auto") as client:
        mine = await add(client, "Tabs.")
        printed = mine[-8:]
        for part in (printed[:4], printed[:7], printed[:4].upper()):
            read = await client.read_resource(MEMORY.replace("{id}", part))
            assert "Tabs." in read.model_dump_json()
        said = await refused(client, "update_memory", memory_id=printed[:3], content="x")
        assert f"{printed[:3]!r} is too little of an id: give at least 4 characters" in said
        await seal(client, "One", phase=1)
        hidden = await add(client, "Spaces.")
        await call(client, "backtrack", to=1, mode="continue")
        part = hidden[-8:-1]
        said = await refused(client, "update_memory", memory_id=part, content="x")
        assert f"No memory {part!r} here." in said


async def test_what_is_not_visible_is_not_told_by_its_beginning(settings: Settings) -> None:
    """Only an erasure, which may name what is hidden, takes it so."""
    async with agent(settings, "auto") as client:
        await seal(client, "One", phase=1)
        hidden = await add(client, "The port is 9000.")
        await call(client, "backtrack", to=1, mode="continue")
        await add(client, "The port is 8000.")
        part = hidden[:-2]

        corrected = await refused(client, "update_memory", memory_id=part, content="x")
        hides = await refused(client, "forget_memory", memory_id=part, mode="hide")
        for said in (corrected, hides):
            assert hidden not in said
            assert f"No memory {part!r} here." in said
        assert (await call(client, "forget_memory", memory_id=part))["memoryId"] == hidden


async def test_checkpoints_pending_ones_and_lines_too(settings: Settings, era: Era) -> None:
    """Their names are long as well, and typed by people."""
    asking = replace(settings, approval="ask", toolsets=("branches",))
    async with agent(asking, era) as client:
        waits = (await call(client, "checkpoint", summary="Plan", phase=1))["checkpointId"]
        saved = await call(client, "checkpoint", pending=waits[-15:], decision="save")
        assert saved["checkpointId"] == waits
        await call(client, "switch_branch", name="side", create=True, at=waits[:9])
        await call(client, "switch_branch", name="main")
        await add(client, "The port is 9000.")
        left = await call(client, "backtrack", to=waits[:9], mode="continue")
        assert left["hidden"] == 1
        head = (await client.call_tool("memory_head", {})).model_dump_json()
        line = head.split("- line-")[1].split(":")[0]
        await call(client, "backtrack", to=f"line-{line[:6]}", mode="continue")

        assert await recalled(client, "port") == ["The port is 9000."]


def test_commands_take_a_part_of_an_id(run: Run) -> None:
    """As git takes the beginning of a commit's name."""
    first = as_json(run, "add", "The tap drips")["memoryId"]
    second = as_json(run, "add", "Ada likes tea")["memoryId"]
    assert as_json(run, "update", first[-8:], "The tap is mended")["success"]
    assert "fits 3 memories" in complaint(run, "forget", second[:5])
    assert as_json(run, "forget", second[-8:])["memoryId"] == second


@given(st.lists(st.text("0123456789abcdef-", min_size=8, max_size=36), unique=True), st.data())
def test_a_whole_name_always_means_itself(ids: list[str], data: st.DataObject) -> None:
    """Even where it is the beginning of another one."""
    for id_ in ids:
        assert find_by_part(id_, ids) == [id_]
        part = id_[: data.draw(st.integers(4, len(id_)))]
        assert id_ in find_by_part(part, ids) or part in ids
        assert matches_part(id_, part)
