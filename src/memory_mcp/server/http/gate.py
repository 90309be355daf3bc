"""The gate: who may call at all, and how long a request may take to come.

It stands around everything else, because the SDK compares Host and Origin by their beginnings
(`localhost:evil` passes) and waits for a body without end.
"""

import asyncio
import logging
import re
from dataclasses import field
from typing import Final, Protocol
from urllib.parse import urlsplit

from memory_mcp.domain.limits import HTTP_BODY_BYTES_MAX, HTTP_BODY_SECONDS_MAX
from memory_mcp.frozen import frozen
from memory_mcp.server.http.asgi import (
    App,
    BodyTooLongError,
    Headers,
    Message,
    Receive,
    Reply,
    Scope,
    Send,
    declared_length,
    find_headers,
    read_body,
    replay,
    reply,
)

_LOG: Final = logging.getLogger("memory_mcp")

_PORTS: Final = {"http": 80, "https": 443}

_TOO_LARGE: Final = Reply(413, "Request body too large")

_PAGE_HEADERS: Final = (
    b"authorization", b"content-type", b"accept", b"last-event-id", b"mcp-session-id",
    b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"memory-project",
)  # fmt: skip
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (b"access-control-allow-headers", b", ".join(_PAGE_HEADERS)),
    (b"access-control-max-age", b"600"),
)
"""What a browser asks before it lets a page of another site call."""


@frozen
class Names:
    """Under which names the server may be called, and by which pages.

    `host` is what it is bound to, `url` how clients reach it through a proxy, and `pages` are the
    origins of other sites that may call it.
    """

    host: str
    url: str = ""
    pages: tuple[str, ...] = field(default=())


class Inner(Protocol):
    """What stands behind the gate. It is given a request with the body that was read."""

    async def admit(self, scope: Scope) -> Reply | None:
        """Whether a request may go on, before its body is read; else the answer to it."""
        ...

    async def answer(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        """Answer one request."""
        ...


class Gate:
    """An ASGI application: refuses foreign requests, and reads the body within its limits.

    `lifespan` starts and ends what is behind it. `ready` says whether requests are served.
    """

    def __init__(
        self,
        inner: Inner,
        names: Names,
        lifespan: App | None = None,
        *,
        body_seconds: float = HTTP_BODY_SECONDS_MAX,
    ) -> None:
        self._inner = inner
        self._names = names
        self._lifespan = lifespan
        self._body_seconds = body_seconds
        self.ready = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" and self._lifespan:
            await self._lifespan(scope, receive, send)
        if scope["type"] != "http":
            return
        if scope["path"] in ("/healthz", "/readyz") and scope["method"] in ("GET", "HEAD"):
            # whoever looks after the server calls it by any name, and learns nothing else
            up = self.ready or scope["path"] == "/healthz"
            await reply(send, Reply(200, "ok\n") if up else Reply(503, "ending\n"))
            return
        if refused := refuse_foreign_request(scope["headers"], self._names):
            await reply(send, Reply(*refused))
            return
        page = _find_page(scope, self._names)
        if page and scope["method"] == "OPTIONS":
            await reply(send, Reply(204, "", (*_PREFLIGHT, *_allow(page))))
            return
        if page:
            send = _add_headers(send, _allow(page))
        if refused := await self._inner.admit(scope):
            await reply(send, refused)
            return
        await self._read_and_answer(scope, receive, send)

    async def _read_and_answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if declared_length(scope) > HTTP_BODY_BYTES_MAX:
            await reply(send, _TOO_LARGE)
            return
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await read_body(receive, HTTP_BODY_BYTES_MAX)
        except TimeoutError:
            _LOG.warning("A request over HTTP was given up: its body took too long.")
            await reply(send, Reply(408, "Request body took too long"))
            return
        except BodyTooLongError:
            await reply(send, _TOO_LARGE)
            return
        if body is None:
            _LOG.warning("A client over HTTP left in the middle of its request.")
            return
        await self._inner.answer(scope, replay(body, receive), send, body)


def refuse_foreign_request(headers: Headers, names: Names) -> tuple[int, str] | None:
    """The status and the reason, if the request is for another server or from another's page.

    One Host, one Origin or none. On this machine each is exactly one of its names with or without a
    port: no user, no dot at the end, no other way to write an address.
    """
    found: dict[bytes, list[bytes]] = {b"host": [], b"origin": []}
    for name, value in headers:
        if name.lower() in found:
            found[name.lower()].append(value.strip().lower())
    match found[b"host"]:
        case [authority] if _is_own(authority, names):
            pass
        case _:
            return 421, "Invalid Host header"
    match found[b"origin"]:
        case []:
            return None
        case [origin] if _is_own_page(origin, names):
            return None
        case _:
            return 403, "Invalid Origin header"


def _find_page(scope: Scope, names: Names) -> bytes:
    """The page of another site that calls, if it is one that may."""
    origins = [each.lower() for each in find_headers(scope, b"origin")]
    return next((each for each in origins if each.decode("latin-1") in names.pages), b"")


def _allow(page: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return (
        (b"access-control-allow-origin", page),
        (b"access-control-expose-headers", b"mcp-session-id, www-authenticate"),
        (b"vary", b"origin"),
    )


def _add_headers(send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        await send(message)

    return send_with_headers


def _is_own_page(origin: bytes, names: Names) -> bool:
    scheme, _, authority = origin.partition(b"://")
    if origin.decode("latin-1") in names.pages:
        return True
    if names.url and scheme == urlsplit(names.url).scheme.encode():
        return _is_public(authority, names)
    return not names.url and scheme == b"http" and _is_local(authority, names.host)


def _is_own(authority: bytes, names: Names) -> bool:
    return _is_public(authority, names) or _is_local(authority, names.host)


def _is_public(authority: bytes, names: Names) -> bool:
    """Whether it is that of the public address, with or without the port of its scheme."""
    if not names.url:
        return False
    parts = urlsplit(names.url)
    usual = _PORTS[parts.scheme]
    host, port = parts.netloc.lower().removesuffix(f":{parts.port}"), parts.port or usual
    known = {f"{host}:{port}", *([host] if port == usual else [])}
    return authority.decode("latin-1") in known


def _is_local(authority: bytes, host: str) -> bool:
    own = f"[{host}]" if ":" in host else host
    names = rb"localhost|127\.0\.0\.1|\[::1\]|" + re.escape(own.lower().encode())
    found = re.fullmatch(rb"(?:" + names + rb")(?::([1-9][0-9]{0,4}))?", authority)
    return found is not None and int(found[1] or 0) <= 0xFFFF  # noqa: PLR2004  # the last port
