"""The sessions of one application: of too many, the one that was idle for longest is closed.

The SDK refuses a new session if there are too many, whether or not somebody uses the others.
"""

import asyncio
import json
import logging
from dataclasses import dataclass, field
from typing import Final

from memory_mcp.domain.limits import HTTP_SESSIONS_MAX
from memory_mcp.patterns import compile_later
from memory_mcp.server.http.asgi import (
    App,
    Message,
    Receive,
    Scope,
    Send,
    discard,
    never,
    replay,
)

_LOG: Final = logging.getLogger("memory_mcp")

_SESSION: Final = b"mcp-session-id"
_SSE_SESSION: Final = compile_later(rb"[?&]session_id=([0-9a-f]{32})")

_WARNING_SECONDS: Final = 60.0
"""How long one line of the log stands for all the sessions that are closed."""


@dataclass(eq=False)
class _SessionUse:
    """The calls and streams of a session that are open now, and whose it is."""

    user: object = None
    calls: int = 0
    streams: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class Sessions:
    """An ASGI application around that of the SDK. It is given a request with the body it read.

    A session is opened by `initialize`, or by the stream of the older transport (`by_stream`).
    """

    def __init__(
        self, app: App, path: str, *, by_stream: bool = False, sessions_max: int = HTTP_SESSIONS_MAX
    ) -> None:
        self._app = app
        self._path = path
        self._by_stream = by_stream
        self._sessions_max = sessions_max
        self._sessions: dict[bytes, _SessionUse] = {}  # the one that was used last comes last
        self._opening = 0
        self._closed = 0
        self._warned_at = -_WARNING_SECONDS

    @property
    def count(self) -> int:
        """The sessions that are open."""
        return len(self._sessions)

    def has(self, session: bytes) -> bool:
        """Whether a session of that name is open."""
        return session in self._sessions

    async def answer(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        """Let the inner application answer, and count the call for its session."""
        name = find_session(scope)
        if name is None and self._opens_session(scope, body):
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

    def _opens_session(self, scope: Scope, body: bytes) -> bool:
        if scope["method"] == "GET":
            return self._by_stream and scope["path"] == self._path
        return b'"initialize"' in body and _read_method(body) == "initialize"

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request that opens a session, and close the oldest idle one of too many."""
        self._opening += 1
        opening = True
        use = _SessionUse(scope.get("user"), streams=int(scope["method"] == "GET"))
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
            "scheme": "http", "path": self._path, "raw_path": self._path.encode(), "root_path": "",
            "query_string": b"", "headers": headers, "client": None, "server": None,
            "user": use.user,
        }  # fmt: skip
        await self._app(request, replay(b"", never), discard)
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


def find_session(scope: Scope) -> bytes | None:
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


def _read_method(body: bytes) -> object:
    """The method of a request; None if it is none."""
    try:
        request: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return request.get("method") if isinstance(request, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
