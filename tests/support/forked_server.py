"""A real server on its own pipes, forked from a process that has imported it already.

For tests of what sessions do to each other: how a client starts a server, `test_stdio.py` shows.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from doors import process
from forked import start
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

__all__ = ["forked_server"]

_LINE_BYTES_MAX: Final = 16 * 1024 * 1024

Heard = MemoryObjectReceiveStream[SessionMessage | Exception]
Said = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def forked_server(project: Path, **environment: str) -> AsyncGenerator[tuple[Heard, Said]]:
    """What a `Client` hears from a server on the project and says to it; ended by closing stdin."""
    (stdin, ours), (theirs, stdout) = os.pipe(), os.pipe()
    server = start([], (stdin, stdout, 2), process(project, **environment).env or {})
    os.close(stdin)
    os.close(stdout)
    lines = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(theirs, "rb")
    )
    told, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, asked = anyio.create_memory_object_stream[SessionMessage](0)

    async def hear() -> None:
        async with told:
            while line := await lines.readline():
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                with suppress(anyio.BrokenResourceError):  # the session has ended
                    await told.send(SessionMessage(message))

    async def say() -> None:
        with open(ours, "wb", buffering=0) as stdin_pipe:  # noqa: ASYNC230, PTH123  # a number
            async with asked:
                async for each in asked:
                    line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await asyncio.to_thread(stdin_pipe.write, f"{line}\n".encode())

    async with anyio.create_task_group() as group:
        group.start_soon(hear)
        group.start_soon(say)
        try:
            yield heard, said
        finally:
            with anyio.CancelScope(shield=True):
                said.close()
                await asyncio.to_thread(server.wait)
            group.cancel_scope.cancel()
            heard.close()
            pipe.close()
