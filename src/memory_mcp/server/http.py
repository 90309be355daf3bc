"""HTTP for the programs of this machine: who may call, for how long, and in how many sessions.

`Gate` wraps the SDK's own application, because that compares Host and Origin by their beginnings
(`localhost:evil` passes), waits for a body without end, and refuses a new session if there are too
many instead of closing one that nobody uses.
"""

import asyncio
import json
import logging
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory_mcp.domain.limits import (
    HTTP_BODY_BYTES_MAX,
    HTTP_BODY_SECONDS_MAX,
    HTTP_CONNECTIONS_MAX,
    HTTP_HEADER_SECONDS_MAX,
    HTTP_SESSIONS_MAX,
)
from memory_mcp.engine.workspace import Workspace

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

_LOG: Final = logging.getLogger("memory_mcp")

_SESSION: Final = b"mcp-session-id"
_SSE_SESSION: Final = re.compile(rb"[?&]session_id=([0-9a-f]{32})")

_WARNING_SECONDS: Final = 60.0
"""How long one line of the log stands for all the sessions that are closed."""

_OFF: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""Turns off the SDK's own check, which is weaker than that of `Gate`."""


def serve_http(
    server: MCPServer[Workspace],
    transport: Literal["sse", "streamable-http"],
    host: str,
    port: int,
    *,
    log_level: str,
) -> None:
    """Serve until the process is asked to end."""
    if transport == "sse":
        inner = server.sse_app(host=host, transport_security=_OFF)
    else:
        inner = server.streamable_http_app(
            host=host, transport_security=_OFF, max_sessions=HTTP_SESSIONS_MAX
        )
    config = uvicorn.Config(
        Gate(inner, host),
        host=host,
        port=port,
        http=_ImpatientConnection,
        ws="none",
        log_level=log_level.lower(),
        limit_concurrency=HTTP_CONNECTIONS_MAX,
    )
    _TalkingServer(config, host, "sse" if transport == "sse" else "mcp").run()


class _TalkingServer(uvicorn.Server):
    """Says where it serves, once it does: with port 0 nobody else knows."""

    def __init__(self, config: uvicorn.Config, host: str, path: str) -> None:
        super().__init__(config)
        self._host = f"[{host}]" if ":" in host else host
        self._path = path

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.servers:
            port = self.servers[0].sockets[0].getsockname()[1]
            address = f"http://{self._host}:{port}/{self._path}"
            sys.stderr.write(f"memory-mcp: serving at {address}; Ctrl-C ends it.\n")
            sys.stderr.flush()


def refuse_foreign_request(headers: Headers, host: str) -> tuple[int, str] | None:
    """The status and the reason, if not a program or page of this machine asks.

    One Host, one Origin or none, each of them exactly a name of this machine with or without a
    port: no user, no dot at the end, no other way to write an address.
    """
    names: dict[bytes, list[bytes]] = {b"host": [], b"origin": []}
    for name, value in headers:
        if name.lower() in names:
            names[name.lower()].append(value.strip().lower())
    match names[b"host"]:
        case [authority] if _is_own(authority, host):
            pass
        case _:
            return 421, "Invalid Host header"
    match names[b"origin"]:
        case []:
            return None
        case [origin] if origin.startswith(b"http://") and _is_own(origin[len(b"http://") :], host):
            return None
        case _:
            return 403, "Invalid Origin header"


def _is_own(authority: bytes, host: str) -> bool:
    own = f"[{host}]" if ":" in host else host
    names = rb"localhost|127\.0\.0\.1|\[::1\]|" + re.escape(own.lower().encode())
    found = re.fullmatch(rb"(?:" + names + rb")(?::([1-9][0-9]{0,4}))?", authority)
    return found is not None and int(found[1] or 0) <= 0xFFFF  # noqa: PLR2004  # the last port


@dataclass(eq=False)
class _SessionUse:
    """The calls and streams of a session that are open now."""

    calls: int = 0
    streams: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class Gate:
    """An ASGI application around another one: checks who calls, bounds what a call may cost."""

    def __init__(
        self,
        app: App,
        host: str,
        *,
        sessions_max: int = HTTP_SESSIONS_MAX,
        body_seconds: float = HTTP_BODY_SECONDS_MAX,
    ) -> None:
        self._app = app
        self._host = host
        self._sessions_max = sessions_max
        self._body_seconds = body_seconds
        self._sessions: dict[bytes, _SessionUse] = {}  # the one that was used last comes last
        self._opening = 0
        self._closed = 0
        self._warned_at = -_WARNING_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if refused := refuse_foreign_request(scope["headers"], self._host):
            await _answer(send, *refused)
            return
        if _declared_length(scope) > HTTP_BODY_BYTES_MAX:
            await _answer(send, 413, "Request body too large")
            return
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await _read_body(receive)
        except TimeoutError:
            _LOG.warning("A request over HTTP was given up: its body took too long.")
            await _answer(send, 408, "Request body took too long")
            return
        except _BodyTooLongError:
            await _answer(send, 413, "Request body too large")
            return
        if body is None:
            _LOG.warning("A client over HTTP left in the middle of its request.")
            return
        await self._forward(scope, _replay(body, receive), send, body)

    async def _forward(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        """Let the inner application answer, and count the call for its session."""
        name = _session_in_request(scope)
        if name is None and _opens_session(scope, body):
            await self._open_session(scope, receive, send)
            return
        use = self._sessions.pop(name, None) if name else None
        if name is None or use is None:
            await self._app(scope, receive, send)
            return
        self._sessions[name] = use
        streams = scope["method"] == "GET"
        use.streams, use.calls = use.streams + streams, use.calls + (not streams)
        gone = False

        async def send_and_watch(message: Message) -> None:
            nonlocal gone
            if message["type"] == "http.response.start":
                gone = message["status"] == 404 or (  # noqa: PLR2004
                    scope["method"] == "DELETE" and message["status"] < 300  # noqa: PLR2004
                )
            await send(message)

        try:
            await self._app(scope, receive, send_and_watch)
        finally:
            use.streams, use.calls = use.streams - streams, use.calls - (not streams)
            if gone:
                self._sessions.pop(name, None)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request that opens a session, and close the oldest idle one of too many."""
        self._opening += 1
        opening = True
        use = _SessionUse(streams=int(scope["method"] == "GET"))
        session: bytes | None = None

        def register(name: bytes) -> None:
            nonlocal session, opening
            session = name
            self._sessions[name] = use
            self._opening -= opening
            opening = False

        async def send_and_watch(message: Message) -> None:
            if (
                use.closed.is_set()
            ):  # the application believes that its client left: nobody to answer
                return
            if session is None and (name := _session_in_answer(message)):
                register(name)
            await send(message)

        try:
            await self._make_room()
            await self._app(scope, _receive_until(use.closed, receive), send_and_watch)
            if use.closed.is_set():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._opening -= opening
            use.streams = 0
            if session is not None and scope["method"] == "GET":  # the stream was the session
                self._sessions.pop(session, None)

    async def _make_room(self) -> None:
        while len(self._sessions) + self._opening > self._sessions_max:
            if not await self._close_oldest():
                return  # the SDK refuses another one

    async def _close_oldest(self) -> bool:
        """Close the session that was idle for longest; False: every one is at work."""
        idle = [name for name, use in self._sessions.items() if not use.calls]
        idle.sort(key=lambda name: self._sessions[name].streams)  # those that listen come last
        if not idle:
            return False
        use = self._sessions.pop(idle[0])
        self._warn_closed()
        use.closed.set()
        headers = [(b"host", b"localhost"), (_SESSION, idle[0])]
        request = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "DELETE",
            "scheme": "http", "path": "/mcp", "raw_path": b"/mcp", "root_path": "",
            "query_string": b"", "headers": headers, "client": None, "server": None,
        }  # fmt: skip
        await self._app(request, _replay(b"", _never), _discard)
        return True

    def _warn_closed(self) -> None:
        """Warn once for all the sessions that are closed within a while."""
        self._closed += 1
        now = asyncio.get_running_loop().time()
        if now - self._warned_at >= _WARNING_SECONDS:
            self._warned_at = now
            _LOG.warning(
                "More than %d sessions over HTTP: those idle for longest are closed, %d so far.",
                self._sessions_max,
                self._closed,
            )


class _BodyTooLongError(Exception):
    """More than the longest request."""


def _declared_length(scope: Scope) -> int:
    """The bytes that the body has by its header; 0 without one."""
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return max((int(value[:20]) for value in lengths if value.isdigit()), default=0)


async def _read_body(receive: Receive) -> bytes | None:
    """The body; None if the client left before it was complete."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > HTTP_BODY_BYTES_MAX:
            raise _BodyTooLongError
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever else comes."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _receive_until(closed: asyncio.Event, receive: Receive) -> Receive:
    """Receive what comes, or that the client left once the session is closed."""

    async def receive_first() -> Message:
        message = asyncio.ensure_future(receive())
        closing = asyncio.ensure_future(closed.wait())
        try:
            await asyncio.wait((message, closing), return_when=asyncio.FIRST_COMPLETED)
            return message.result() if message.done() else {"type": "http.disconnect"}
        finally:
            message.cancel()
            closing.cancel()

    return receive_first


def _session_in_request(scope: Scope) -> bytes | None:
    """The session that a request is for."""
    for name, value in scope["headers"]:
        if name == _SESSION:
            return value
    found = _SSE_SESSION.search(b"?" + scope.get("query_string", b""))
    return found[1] if found else None


def _session_in_answer(message: Message) -> bytes | None:
    """The name of the session that this part of an answer opens."""
    if name := dict(message.get("headers", ())).get(_SESSION):
        return name
    found = _SSE_SESSION.search(message.get("body", b""))
    return found[1] if found else None


def _opens_session(scope: Scope, body: bytes) -> bool:
    """Whether it opens a session: `initialize`, or the stream of the older transport."""
    if scope["method"] == "GET":
        return scope["path"] == "/sse"
    if b'"initialize"' not in body:
        return False
    try:
        request: object = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(request, dict) and request.get("method") == "initialize"  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON


async def _answer(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode(), "more_body": False})


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("nothing comes after a request of our own")


async def _discard(_message: Message) -> None:
    """Answers to a request of our own."""


class _ImpatientConnection(H11Protocol):
    """A connection that is closed when the head of a request takes too long."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as uvicorn has it
        super().connection_made(transport)
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
