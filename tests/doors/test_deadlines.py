"""Every call ends: it says what it waited for, and loses nothing that it was to write."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from doors import Era, User, agent, call, failed, machine_dir, recalled
from filelock import FileLock
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from memory_mcp.config.settings import Settings
from memory_mcp.deadlines import CallLock, run_with_deadline, time_limit, waiting_for
from memory_mcp.errors import DeadlineError
from memory_mcp.server import calls

pytestmark = pytest.mark.anyio


async def test_what_was_waited_for_is_named() -> None:
    """Whoever reads it must know whom to ask."""

    async def work() -> None:
        with waiting_for("the lock"):
            async with time_limit("the cloud", 60):
                await asyncio.Event().wait()

    with pytest.raises(DeadlineError, match=r"x took longer than 0.01 s, .* waits for the cloud"):
        await run_with_deadline(0.01, work, name="x")


async def test_a_lock_of_our_own_names_the_other_call() -> None:
    """One that hangs makes all the others wait."""
    lock = CallLock()
    await lock.acquire()

    with pytest.raises(DeadlineError, match="waits for another call that writes"):
        await run_with_deadline(0.01, lock.acquire, name="x")
    assert await run_with_deadline(5, lambda: asyncio.sleep(0, "done"), name="x") == "done"


async def test_what_reads_is_ended_and_what_writes_goes_on() -> None:
    """Half a write would be found later, or never; nobody needs the rest of a search."""
    ended, go, written = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def read() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def write() -> None:
        await go.wait()
        written.set()

    with pytest.raises(DeadlineError, match="Nothing was changed"):
        await run_with_deadline(0.01, read, name="x")
    await ended.wait()
    with pytest.raises(DeadlineError, match="may have been stored"):
        await run_with_deadline(0.01, write, name="x", writes=True)
    go.set()
    await written.wait()


async def test_a_write_behind_a_foreign_lock_says_so_and_is_there_in_the_end(
    settings: Settings, era: Era, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the head: the call answers, and the checkpoint is sealed once."""
    async with agent(settings, era) as client:
        await call(client, "add_memory", content="Orders live in PostgreSQL.")
    monkeypatch.setattr(calls, "WRITE_CALL_SECONDS_MAX", 1.5)
    async with agent(settings, era) as client:
        await recalled(client)  # the index is open by then
        with FileLock(machine_dir(project) / "memory-head.lock"):
            said = await failed(client, "checkpoint", summary="Storage chosen", phase=1)
        monkeypatch.undo()
        while "Storage chosen" not in await recalled(client):
            pass  # each look is a call, and lets the others go on

    assert "checkpoint took longer than 1.5 s" in said
    assert "memory-head.lock" in said
    assert "may have been stored" in said


@pytest.mark.protocol
async def test_the_user_may_think_for_as_long_as_they_like(
    settings: Settings, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question is no work of ours: minutes may pass by the clock of the event loop."""
    monkeypatch.setattr(calls, "WRITE_CALL_SECONDS_MAX", 60.0)

    class Slow(User):
        async def __call__(
            self, context: ClientRequestContext, params: ElicitRequestParams
        ) -> ElicitResult:
            loop = asyncio.get_running_loop()
            now = loop.time
            monkeypatch.setattr(loop, "time", lambda: now() + 120)
            for _ in range(10):
                await asyncio.sleep(0.01)  # whatever was to end us has had its turn
            return await super().__call__(context, params)

    user = Slow("accept", {"decision": "save", "summary": ""})
    async with agent(replace(settings, approval="ask"), era, user) as client:
        sealed = await call(client, "checkpoint", summary="Storage chosen", phase=1)

    assert sealed["status"] == "approved"
