"""Correcting and forgetting one memory."""

from dataclasses import replace
from pathlib import Path

import pytest
from doors import (
    Era,
    add,
    agent,
    call,
    files_with,
    read,
    recalled,
    record_file,
    records,
    refused,
    seal,
)

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


async def test_a_correction_is_a_new_record_and_the_old_file_is_not_touched(
    settings: Settings, era: Era, project: Path
) -> None:
    """Records are written once; a backtrack must find the old text as it was."""
    async with agent(settings, era) as client:
        old = await add(
            client, "Port 8000.", kind="decision", phase=1,
            metadata={"title": "Port", "category": "ops", "tags": ["net"], "importance": 4},
        )  # fmt: skip
        before = record_file(project, old).read_bytes()
        said = await call(client, "update_memory", memory_id=old, content="Port 9000.",
                          )  # fmt: skip
        assert await recalled(client, "port") == ["Port 9000."]

    assert (said["outcome"], said["replaced"]) == ("replaced", [old])
    assert record_file(project, old).read_bytes() == before
    first, second = records(project)
    changed = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    assert changed == {"id", "content", "title", "supersedes", "created_at"}
    assert second["supersedes"] == [old]


async def test_a_text_that_was_corrected_can_be_erased_too(
    settings: Settings, era: Era, project: Path
) -> None:
    """What was replaced is still on disk, and may be the very thing to forget."""
    async with agent(settings, era) as client:
        old = await add(client, "The password is hunter2.")
        new = (await call(client, "update_memory", memory_id=old, content="The password is gone."))[
            "memoryId"
        ]
        said = await call(client, "forget_memory", memory_id=new)
        assert old in said["message"]
        await call(client, "forget_memory", memory_id=old)

    assert files_with(project.parent, "hunter2") == []


async def test_a_corrected_durable_memory_stays_durable(settings: Settings, era: Era) -> None:
    """A backtrack must not bring back a preference that the user corrected."""
    async with agent(settings, era) as client:
        mine = await add(client, "Tabs.", kind="preference", scope="user")
        await seal(client, "One", phase=1)
        said = await call(client, "update_memory", memory_id=mine, content="Spaces.")
        await call(client, "backtrack", to=1, mode="continue")
        assert await recalled(client, "", kind="preference") == ["Spaces."]

    assert said["durable"] is True


@pytest.mark.parametrize("where", ["project", "user"])
async def test_erasing_leaves_no_byte_of_it(
    settings: Settings, era: Era, tmp_path: Path, where: str
) -> None:
    """Forget means everywhere: file, full-text index, log."""
    async with agent(settings, era) as client:
        await add(client, "Kept flamingos are pink.")
        doomed = await add(client, "The key is zebra-42.", scope=where,
                           metadata={"title": "zebra-42", "tags": ["zebra-42"]})  # fmt: skip
        assert files_with(tmp_path, "zebra-42") != []
        said = await call(client, "forget_memory", memory_id=doomed, reason="a secret")
        assert files_with(tmp_path, "zebra-42") == []
        assert await recalled(client, "zebra flamingos") == ["Kept flamingos are pink."]
        gone = await refused(client, "forget_memory", memory_id=doomed)

    assert said == {"success": True, "memoryId": doomed, "message": "Erased for good."}
    assert f"Memory {doomed!r} was erased for good." in gone
    assert files_with(tmp_path, "zebra-42") == []


async def test_erasing_a_correction_does_not_revive_what_it_replaced(
    settings: Settings, era: Era, project: Path
) -> None:
    """The older version was wrong then and is wrong now."""
    async with agent(settings, era) as client:
        old = await add(client, "Port 8000.")
        new = (await call(client, "update_memory", memory_id=old, content="Port 9000."))["memoryId"]
        said = await call(client, "forget_memory", memory_id=new)
        assert await recalled(client, "port") == []

    assert f"What it had replaced stays hidden: {old}." in said["message"]
    assert f"To erase that as well, call forget_memory(memory_id='{old}')" in said["message"]
    assert [r["kind"] for r in records(project)] == ["fact", "tombstone"]


async def test_hiding_keeps_it_restorable(settings: Settings, era: Era) -> None:
    """What no longer holds from here on held before: a backtrack brings it back."""
    async with agent(settings, era) as client:
        memory_id = await add(client, "Port 8000.")
        await seal(client, "One", phase=1)
        said = await call(client, "forget_memory", memory_id=memory_id, mode="hide")
        assert await recalled(client, "port") == []
        await call(client, "backtrack", to=1, mode="continue")
        assert await recalled(client, "port") == ["Port 8000."]

    assert said["message"].startswith("Hidden from here on")


async def test_hiding_a_durable_memory_promises_no_way_back(settings: Settings, era: Era) -> None:
    """It stands outside the timeline, so a backtrack does not bring it back; nor say it does."""
    async with agent(settings, era) as client:
        memory_id = await add(client, "Tabs.", kind="preference")
        await seal(client, "One", phase=1)
        said = await call(client, "forget_memory", memory_id=memory_id, mode="hide")
        await call(client, "backtrack", to=1, mode="continue")
        assert await recalled(client, "tabs") == []

    assert said["message"].endswith("brings it back, unless it is durable.")


async def test_a_checkpoint_is_no_memory_to_correct_or_forget(settings: Settings, era: Era) -> None:
    """Taking it away would take the restore point away."""
    async with agent(settings, era) as client:
        await seal(client, "One", phase=1)
        found = await call(client, "search_memories", kind="checkpoint")
        memory_id = found["results"][0]["memoryId"]
        for tool, more in (("update_memory", {"content": "x"}), ("forget_memory", {})):
            said = await refused(client, tool, memory_id=memory_id, **more)
            assert f"{memory_id} is a checkpoint" in said
            assert "use backtrack" in said


async def test_an_id_that_does_not_exist_names_the_nearest(settings: Settings, era: Era) -> None:
    """A model mistypes ids; the right one is usually a character away."""
    async with agent(settings, era) as client:
        mine = await add(client, "Tabs.", scope="user")
        ids = [await add(client, f"Note {n}.") for n in range(6)]
        typo = ids[3][:-1] + ("0" if ids[3][-1] != "0" else "1")
        said = await refused(client, "update_memory", memory_id=typo, content="x")
        nearest = said.split("Nearest: ")[1].split(".")[0].split(", ")
        assert nearest[0] == ids[3]
        assert set(nearest) <= {mine, *ids}
        for odd in ("", "..", "../../etc/passwd", "x" * 9_000, "🦩", "%", "' OR 1=1 --"):
            assert "No memory" in await refused(client, "forget_memory", memory_id=odd)
        padded = f"  {ids[0]}\n"
        assert (await call(client, "forget_memory", memory_id=padded))["memoryId"] == ids[0]


@pytest.mark.parametrize(
    ("tool", "more"), [("update_memory", {"content": "x"}), ("forget_memory", {"mode": "hide"})]
)
async def test_what_a_backtrack_hid_can_not_be_corrected_or_hidden(
    settings: Settings, tool: str, more: dict[str, str]
) -> None:
    """From here it does not exist; naming it would leak it."""
    async with agent(settings, "auto") as client:
        await seal(client, "One", phase=1)
        hidden = await add(client, "Sessions live in Redis.")
        await add(client, "Tabs.", kind="preference")
        await call(client, "backtrack", to=1, mode="continue")
        said = await refused(client, tool, memory_id=hidden, **more)

    assert said.count(hidden) == 1, "as it was named, and not as the nearest"


async def test_limits_hold_for_corrections_too(settings: Settings) -> None:
    """There is no back door to a longer memory."""
    async with agent(settings, "auto") as client:
        memory_id = await add(client, "Tabs.")
        long = await refused(client, "update_memory", memory_id=memory_id, content="x" * 8_001)
        why = await refused(client, "forget_memory", memory_id=memory_id, reason="x" * 501)
        assert await recalled(client) == ["Tabs."]

    assert "content has 8,001 characters; the limit is 8,000" in long
    assert "reason has 501 characters; the limit is 500" in why


async def test_an_erased_memory_of_another_session_is_gone_there_too(
    settings: Settings, era: Era
) -> None:
    """Two sessions look at one memory."""
    async with agent(settings, era) as one, agent(replace(settings, session="b"), era) as two:
        memory_id = await add(one, "The key is zebra-42.")
        assert await recalled(two, "zebra") != []
        await call(one, "forget_memory", memory_id=memory_id)
        assert await recalled(two, "zebra") == []
        assert "zebra" not in await read(two, "memory_context", task="zebra key")
