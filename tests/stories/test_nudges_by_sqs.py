"""Nudges from a queue of Amazon SQS, and what becomes of a session when it fails."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from doors import agent, read
from dropping import waiting
from nudges_in_memory import opened
from sqs import Queues, client_of

from memory_mcp import sessions
from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain import limits
from memory_mcp.domain.nudges import NudgeRemoval
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import RemoteUnavailableError
from memory_mcp.storage.sqs import Json, sqs_client

pytestmark = pytest.mark.anyio


async def test_nudges_come_from_sqs_too(settings: Settings, sqs: Queues) -> None:
    """The programs that leave them may run anywhere."""
    url = sqs()
    settings = replace(settings, nudge_queue=url)
    client = client_of(url.rsplit("/", 2)[0])
    for body in (
        json.dumps({"text": "For whoever asks."}),
        json.dumps({"text": "For ada.", "priority": 9, "user": "ada"}),
        json.dumps({"text": "For bob.", "priority": 10, "user": "bob"}),
        "no JSON",
        json.dumps({"text": "x" * limits.NUDGE_BYTES_MAX}),
    ):
        client.send_message(QueueUrl=url, MessageBody=body)
    client.close()

    found = await waiting(settings)
    assert [nudge.text for nudge in found.nudges] == ["For ada.", "For whoever asks."]
    assert sorted(said.split(": ", 1)[1] for said in found.unread) == [
        "it is longer than 8,192 characters.", "it is no JSON object in UTF-8.",
    ]  # fmt: skip
    async with agent(settings, "auto") as agent_:
        assert "- For ada." in await read(agent_, "memory_context")
    left = await waiting(settings)
    assert (left.nudges, len(left.unread)) == ((), 2)
    (bobs,) = (await waiting(replace(settings, user="bob"))).nudges
    assert bobs.text == "For bob."


async def test_an_outage_of_sqs_is_a_note(settings: Settings, sqs: Queues) -> None:
    """Down, gone, or closed to us: the session begins all the same, and says so."""
    url = sqs()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nobody = f"http://127.0.0.1:{listening.getsockname()[1]}/1/q"
    async with agent(replace(settings, nudge_queue=nobody), "auto") as client:
        text = await read(client, "memory_context")
        assert "did not answer (EndpointConnectionError). Try again later." in text
        assert await read(client, "memory_context") == text
    async with agent(replace(settings, nudge_queue=f"{url}-gone"), "auto") as client:
        text = await read(client, "memory_context")
        assert re.search(r"refused \(\S*NonExistentQueue\). Check MEMORY_NUDGE_QUEUE", text)


async def test_sqs_that_takes_too_long_keeps_its_nudge(
    settings: Settings, sqs: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits any more who could show it."""
    url = sqs()
    settings = replace(settings, nudge_queue=url)
    async with open_workspace(settings) as built:
        await sessions.add_nudge(built.workspace, "Tea?", 5, None)
        queue = built.workspace.nudges
        monkeypatch.setattr(queue, "_seconds_max", -1)
        with pytest.raises(RemoteUnavailableError, match="answered too slowly"):
            await queue.take("ada", built.workspace.clock.now())

    assert [nudge.text for nudge in (await waiting(settings)).nudges] == ["Tea?"]


def deleting(how: Callable[[Callable[..., Any], Json], Any]) -> Callable[[str], Any]:
    """A client that deletes in a way of its own: it is given the usual one, and the request."""

    @contextmanager
    def opened(url: str) -> Generator[Any]:
        with sqs_client(url) as real:
            client: Any = real
            usual = client.delete_message

            def delete_message(**request: Any) -> Any:
                return how(usual, request)

            client.delete_message = delete_message
            yield client

    return opened


async def opened_in_time(workspace: Workspace) -> str:
    """The context of a session; on a slow machine of one that asked again."""
    text = ""
    for _ in range(50):
        text = await opened(workspace)
        if not re.search("Nothing was heard|too slowly|has been held", text):
            break
    return text


@pytest.mark.nightly
async def test_a_slow_deletion_is_waited_for_and_shown(
    settings: Settings, sqs: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted unseen, it would be lost; and a session that left could not show it."""

    def slowly(usual: Callable[..., Any], request: Json) -> None:
        usual(**request)
        time.sleep(0.5)

    monkeypatch.setattr(limits, "NUDGE_SECONDS_MAX", 0.4)
    monkeypatch.setattr("memory_mcp.storage.sqs.sqs_client", deleting(slowly))
    async with open_workspace(replace(settings, nudge_queue=sqs())) as built:
        await sessions.add_nudge(built.workspace, "Tea?", 5, None)
        text = await opened_in_time(built.workspace)

    assert "- Tea?" in text


@pytest.mark.nightly
@pytest.mark.parametrize("times", [1, 2])
async def test_a_deletion_that_nobody_confirms_is_tried_again_and_then_said(
    settings: Settings, sqs: Queues, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """It may be gone or not: to show it might be to show it twice."""
    timeout = import_module("botocore.exceptions").ReadTimeoutError
    asked: list[Json] = []

    def deaf(usual: Callable[..., Any], request: Json) -> None:
        usual(**request)
        asked.append(request)
        if len(asked) <= times:
            raise timeout(endpoint_url="x")

    monkeypatch.setattr("memory_mcp.storage.sqs.sqs_client", deleting(deaf))
    async with open_workspace(replace(settings, nudge_queue=sqs())) as built:
        await sessions.add_nudge(built.workspace, "Tea?", 5, None)
        text = await opened_in_time(built.workspace)

    assert ("- Tea?" in text) == (times == 1)
    assert ("did not confirm that a nudge was removed" in text) == (times == 2)
    assert len(asked) == 2


@pytest.mark.nightly
async def test_messages_that_are_no_nudges_keep_no_nudge_back(
    settings: Settings, sqs: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program gone wild, or one that does not know the form: sessions get past it."""
    url = sqs()
    settings = replace(settings, nudge_queue=url)
    client = client_of(url.rsplit("/", 2)[0])
    for _ in range(6):
        entries = [{"Id": str(n), "MessageBody": "junk"} for n in range(10)]
        client.send_message_batch(QueueUrl=url, Entries=entries)
    client.close()
    async with open_workspace(settings) as built:
        workspace = built.workspace
        await sessions.add_nudge(workspace, "Tea?", 10, None)
        queue = workspace.nudges
        monkeypatch.setattr(queue, "_seconds_max", 0.001)  # enough for one look
        said: list[str] = []
        taken = None
        for _ in range(9):
            monkeypatch.setattr(limits, "NUDGE_TAKE_SECONDS_MAX", 5)
            try:
                taken = await queue.take("ada", workspace.clock.now())
                break
            except RemoteUnavailableError as error:
                said.append(str(error))
        assert "nudge clear --all` removes them" in said[0]
        monkeypatch.setattr(queue, "_seconds_max", 60)
        taken = taken or await queue.take("ada", workspace.clock.now())

    assert taken is not None
    assert taken.text == "Tea?"


async def test_clearing_everything_removes_what_is_no_nudge_and_leaves_what_is_anothers(
    settings: Settings, sqs: Queues
) -> None:
    """What blocks a queue can be removed without the vendor's own tools."""
    url = sqs()
    settings = replace(settings, nudge_queue=url)
    client = client_of(url.rsplit("/", 2)[0])
    for body in (
        "junk",
        json.dumps({"text": "For bob.", "user": "bob"}),
        json.dumps({"text": "x"}),
    ):
        client.send_message(QueueUrl=url, MessageBody=body)
    client.close()
    async with open_workspace(settings) as built:
        queue = built.workspace.nudges
        assert await queue.clear("ada") == NudgeRemoval(1, left=1)
        assert await queue.clear("ada", everything=True) == NudgeRemoval(1)

    (bobs,) = (await waiting(replace(settings, user="bob"))).nudges
    assert bobs.text == "For bob."


async def test_without_the_library_it_says_how_to_get_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is forgotten more often than not."""
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    settings = replace(settings, nudge_queue="https://sqs.eu-west-1.amazonaws.com/1/q")
    async with agent(settings, "auto") as client:
        text = await read(client, "memory_context")

    assert "pip install 'backtrack-memory[sqs]'." in text


async def test_without_credentials_nothing_is_sent(
    settings: Settings, sqs: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person must act, so the note says how."""
    url = sqs()
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    async with agent(replace(settings, nudge_queue=url), "auto") as client:
        text = await read(client, "memory_context")

    assert "was not asked (NoCredentialsError). Set AWS_ACCESS_KEY_ID" in text


@pytest.mark.nightly
def test_the_vendors_library_is_imported_by_nobody_who_has_no_queue() -> None:
    """It would double the time that a server takes to start."""
    code = "import sys, memory_mcp.server.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert {"boto3", "botocore", "memory_mcp.storage.sqs"}.isdisjoint(done.stdout.split())
