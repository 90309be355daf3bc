"""No byte of a secret reaches the disk, the cloud or an answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from cloud import Cloud
from doors import Era, add, agent, call, files_with, read, refused
from mirrors import mirrored

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio

SECRET = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
HIDDEN = "[redacted:github-token]"


async def test_a_secret_is_taken_out_of_every_text_before_it_is_written(
    settings: Settings, era: Era, tmp_path: Path
) -> None:
    """Text, title, tags, summaries, lessons, reasons: whatever is stored was a caller's."""
    async with agent(settings, era) as client:
        said = await call(
            client, "add_memory", content=f"The bot's token is {SECRET}.",
            metadata={"title": f"token {SECRET}", "category": SECRET, "tags": [SECRET]},
        )  # fmt: skip
        await call(client, "update_memory", memory_id=said["memoryId"], content=f"It is {SECRET}",
                   title=SECRET, reason=f"not {SECRET}")  # fmt: skip
        other = await add(client, "to be hidden")
        await call(client, "forget_memory", memory_id=other, mode="hide", reason=SECRET)
        sealed = await call(client, "checkpoint", summary=f"bot runs with {SECRET}", phase=1)
        moved = await call(
            client, "backtrack", to="start", mode="continue", lesson=f"{SECRET} expired"
        )
        seen = await read(client, "memory_context")

    assert files_with(tmp_path, SECRET) == []
    assert said["redactions"] == [
        {"rule": "github-token", "field": field, "at": at}
        for field, at in (("content", 19), ("title", 6), ("category", 0), ("tags", 0))
    ]
    assert "github-token at 19 of content" in said["message"]
    assert "github-token at 14" in sealed["message"]
    assert "github-token at 0" in moved["message"]
    assert SECRET not in seen
    assert HIDDEN in seen


async def test_a_secret_can_be_refused(settings: Settings, era: Era, tmp_path: Path) -> None:
    """Who would rather have nothing stored than a text with a hole."""
    async with agent(replace(settings, secrets="refuse"), era) as client:
        said = await refused(client, "add_memory", content=f"The token is {SECRET}.")
        also = await refused(client, "checkpoint", summary=SECRET)

    assert "github-token at 13" in said
    assert SECRET not in said + also
    assert files_with(tmp_path, SECRET) == []


async def test_a_secret_can_be_allowed(settings: Settings, era: Era, tmp_path: Path) -> None:
    """It is the user's machine."""
    async with agent(replace(settings, secrets="allow"), era) as client:
        said = await call(client, "add_memory", content=f"The token is {SECRET}.")

    assert "redactions" not in said
    assert len(files_with(tmp_path, SECRET)) >= 1


async def test_what_is_stored_is_in_one_spelling(settings: Settings, era: Era) -> None:
    """Two keyboards must not make two facts."""
    async with agent(settings, era) as client:
        said = await call(
            client, "add_memory", content="It\u2019s \u201cours\u201d \u2014 cafe\u0301\r\n\x07ok"
        )
        found = await call(client, "search_memories", query="ours")
        url = await add(client, "https://example.com/a\u2013b?q=\u201cx\u201d")
        bare = await call(client, "search_memories", query="example.com")

    assert found["results"][0]["content"] == 'It\'s "ours" - caf\u00e9\nok'
    assert found["results"][0]["memoryId"] == said["memoryId"]
    assert [r["memoryId"] for r in bare["results"]] == [url]


@pytest.mark.files
async def test_no_secret_leaves_the_machine(settings: Settings, era: Era, cloud: Cloud) -> None:
    """Neither with a memory nor with a question."""
    settings = mirrored(settings, cloud)
    async with agent(settings, era) as client:
        await add(client, f"The token is {SECRET}.")
        await call(client, "search_memories", query=f"what is {SECRET} for")

    sent = "\n".join(str(request) for request in cloud.requests)
    assert "/search" in sent
    assert SECRET not in sent


async def test_nothing_but_a_secret_is_no_memory(settings: Settings, era: Era) -> None:
    """A hole is worth nothing, and the next one would be "known"."""
    async with agent(settings, era) as client:
        said = await call(client, "add_memory", content="<private>my diary</private>")

    assert (said["success"], said["outcome"]) == (False, "declined")
    assert "nothing but a secret" in said["message"]
