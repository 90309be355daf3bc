"""Run the web server: say where it serves, give up slow requests, end in order."""

import asyncio
import logging
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import uvicorn
from sse_starlette.sse import AppStatus
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory_mcp.config.values import Network
from memory_mcp.domain.limits import (
    HTTP_CONNECTIONS_MAX,
    HTTP_CONNECTIONS_OF_ONE_MAX,
    HTTP_HEADER_SECONDS_MAX,
)
from memory_mcp.frozen import frozen
from memory_mcp.server.http.authentication import is_among
from memory_mcp.server.http.front import Front

_LOG: Final = logging.getLogger("memory_mcp")

_FLUSH_SECONDS: Final = 0.2
"""Between a call's end and that of its connection: its answer is still to be written."""

_CLOSE_SECONDS_MAX: Final = 1
"""How long a connection may take to close once nothing is under way."""


@frozen
class Address:
    """Where to serve."""

    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.path}"


def make_web_server(
    front: Front, address: Address, *, log_level: str, drain_seconds: float
) -> uvicorn.Server:
    """What serves until the process is asked to end."""
    AppStatus.disable_automatic_graceful_drain()  # it would cut the answers of calls under way

    class AcceptedConnection(_LimitedConnection):
        proxies = front.proxies

    config = uvicorn.Config(
        front.gate,
        host=address.host,
        port=address.port,
        http=AcceptedConnection,
        ws="none",
        log_level=log_level.lower(),
        log_config=None,
        access_log=False,
        proxy_headers=False,  # `Front` knows which proxies count
        limit_concurrency=HTTP_CONNECTIONS_MAX,
        timeout_graceful_shutdown=_CLOSE_SECONDS_MAX,
    )
    return _OrderlyServer(config, front, address, drain_seconds)


class _OrderlyServer(uvicorn.Server):
    """Says where it serves, once it does, and lets calls end before their connections."""

    def __init__(
        self, config: uvicorn.Config, front: Front, address: Address, drain_seconds: float
    ) -> None:
        super().__init__(config)
        self._front = front
        self._address = address
        self._drain_seconds = drain_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.servers:
            port = self.servers[0].sockets[0].getsockname()[1]  # with port 0 nobody else knows
            address = replace(self._address, port=port)
            sys.stderr.write(f"memory-mcp: serving at {address}; Ctrl-C ends it.\n")
            sys.stderr.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the port, wait for calls under way, end the streams, close the rest."""
        self._front.gate.ready = False
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if not await self._front.calls.wait_until_idle(self._drain_seconds):
            _LOG.warning("Calls that took longer than %g s were given up.", self._drain_seconds)
        await asyncio.sleep(_FLUSH_SECONDS)
        await self._front.end_all()
        await super().shutdown(sockets)


def _find_peer(connection: object) -> str:
    """The address of the other side; '' if it has none."""
    peer: tuple[str, int] | None = getattr(connection, "client", None)
    return peer[0] if peer else ""


class _LimitedConnection(H11Protocol):
    """One that is closed if the head of a request takes too long, or its address has too many.

    Those of `proxies` stand for many clients, whose requests `Front` counts.
    """

    proxies: Sequence[Network] = ()
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as uvicorn has it
        super().connection_made(transport)
        address = _find_peer(self)
        same = sum(_find_peer(each) == address for each in self.connections)
        if same > HTTP_CONNECTIONS_OF_ONE_MAX and not is_among(address, self.proxies):
            _LOG.warning("A connection over HTTP was closed: its address has too many.")
            transport.close()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._idle():
            self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        """Whether no request is being answered; before the first one there is no cycle."""
        return all(cycle.response_complete for cycle in (self.cycle,) if cycle)

    def _await_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HTTP_HEADER_SECONDS_MAX, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if self._idle():
            _LOG.warning("A connection over HTTP was closed: its request took too long to come.")
            self.transport.close()
