"""Serve one client over stdio; a line of it that is no message is logged and answered.

The SDK drops such a line in silence, and its sender would wait for an answer without end.
"""

import logging
from types import TracebackType
from typing import Final, Self

from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from memory_mcp.engine.workspace import Workspace

_LOG: Final = logging.getLogger("memory_mcp.server")


async def serve_over_stdio(server: MCPServer[Workspace]) -> None:
    """Run until the client goes away."""
    low = server._lowlevel_server  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # as `run` does
    async with stdio_server() as (received, sent):
        await low.run(_Messages(received, sent), sent, low.create_initialization_options())


class _Messages:
    """The messages of a client: a `ReadStream` of the SDK without those that are none."""

    def __init__(
        self,
        received: ReadStream[SessionMessage | Exception],
        sent: WriteStream[SessionMessage],
    ) -> None:
        self._received = received
        self._sent = sent

    @property
    def last_context(self) -> object:
        return getattr(self._received, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(item := await self._received.receive(), Exception):
            await self._answer(item)
        return item

    async def _answer(self, error: Exception) -> None:
        code, why = INVALID_REQUEST, "It is no message of JSON-RPC 2.0"
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False)[0]
            if not str(first["input"]).strip():  # an empty line asks nothing
                return
            if first["type"] == "json_invalid":
                code, why = PARSE_ERROR, "It is no JSON in one line"
        _LOG.warning("A line of the client was not carried out: %s.", why)
        said = ErrorData(code=code, message=f"{why}; it was not carried out.")
        await self._sent.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=said)))

    async def aclose(self) -> None:
        await self._received.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while isinstance(item := await self._received.__anext__(), Exception):
            await self._answer(item)
        return item

    async def __aenter__(self) -> Self:
        await self._received.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._received.__aexit__(exc_type, exc_val, exc_tb)
