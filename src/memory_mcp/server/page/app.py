"""The application behind the page: the document, the reads, the actions, and what is new.

It belongs to the user at this machine. Whoever is not let in by `PageAccess` learns nothing.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_mcp.deadlines import run_with_deadline, wait_for_first
from memory_mcp.domain.limits import (
    HTTP_BODY_BYTES_MAX,
    READ_CALL_SECONDS_MAX,
    WRITE_CALL_SECONDS_MAX,
)
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, MemoryMcpError, StoreUnavailableError
from memory_mcp.hints import use_words_of
from memory_mcp.server.page.actions import act, parse_action
from memory_mcp.server.page.document import PARTS, build_document, load_part
from memory_mcp.server.page.entry import PageAccess
from memory_mcp.server.page.live import follow_changes
from memory_mcp.server.page.reads import read_page

_LOG: Final = logging.getLogger("memory_mcp.page")

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""With every answer: nothing of others runs, frames, keeps or learns of this page."""

_BUG: Final = "This is a bug of memory-mcp; what happened is in its log."

_STREAMS_MAX: Final = 16
"""Open streams of one page: a browser has one for each tab."""


def build_app(workspace: Workspace, entry: PageAccess, ending: asyncio.Event) -> ASGIApp:
    """The application; streams and reads end with `ending`."""
    routes = [
        Route("/", partial(_open_page, entry)),
        Route("/api/events", partial(_stream, workspace, ending, asyncio.Semaphore(_STREAMS_MAX))),
        Route("/api/act", partial(_act, workspace), methods=["POST"]),
        Route("/api/{name}", partial(_read, workspace, ending)),
        *(Route(f"/{name}", partial(_give_part, name)) for name in PARTS),
    ]
    return _Door(Starlette(routes=routes), entry)


class _Door:
    """Lets in whoever `PageAccess` lets in, and puts the headers of this page on every answer."""

    def __init__(self, inner: ASGIApp, entry: PageAccess) -> None:
        self._inner = inner
        self._entry = entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                kept = [each for each in message["headers"] if each[0].decode() not in _HEADERS]
                message = {**message, "headers": [*kept, *ours]}
            await send(message)

        refused = self._find_refusal(scope)
        answer = PlainTextResponse(refused[1], refused[0]) if refused else self._inner
        await answer(scope, receive, send_with_headers)

    def _find_refusal(self, scope: Scope) -> tuple[int, str] | None:
        path: str = scope["path"]
        scripted = path.startswith("/api/")
        writes = scope["method"] not in ("GET", "HEAD")
        if refused := self._entry.refuse(scope["headers"], scripted=scripted, writes=writes):
            return refused
        brings_token = path == "/" and scope["query_string"].startswith(b"token=")
        if brings_token or self._entry.knows(_find_cookie(scope, self._entry.cookie_name)):
            return None
        return 401, "Open this page with `memory-mcp view`, which gives the address for it."


def _find_cookie(scope: Scope, name: str) -> str:
    for header, value in scope["headers"]:
        if header.lower() == b"cookie":
            try:
                cookies = SimpleCookie(value.decode("latin-1"))
            except CookieError:
                continue
            if name in cookies:
                return cookies[name].value
    return ""


async def _open_page(entry: PageAccess, request: Request) -> Response:
    """The page; with a token the cookie, and the way to the page without it."""
    if "token" not in request.query_params:
        return Response(build_document(), media_type="text/html; charset=utf-8")
    cookie = entry.exchange(request.query_params["token"])
    if cookie is None:
        if entry.knows(_find_cookie(request.scope, entry.cookie_name)):
            return RedirectResponse("/", 303)
        return PlainTextResponse(
            "This address was used, or is of another run. `memory-mcp view` gives a new one.", 401
        )
    return RedirectResponse("/", 303, {"set-cookie": cookie})


async def _give_part(name: str, _request: Request) -> Response:
    return Response(load_part(name), headers={"content-type": PARTS[name]})


async def _read(workspace: Workspace, ending: asyncio.Event, request: Request) -> Response:
    name = request.path_params["name"]

    async def look() -> dict[str, Any]:
        found = asyncio.ensure_future(read_page(workspace, name, dict(request.query_params)))
        await wait_for_first(found, ending.wait())
        if not found.done():  # a comparison may take longer than a page that is ended waits
            raise StoreUnavailableError("The page is being ended.")
        return found.result()

    return await _answer(look, name, READ_CALL_SECONDS_MAX, writes=False)


async def _act(workspace: Workspace, request: Request) -> Response:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return PlainTextResponse("An action is JSON.", 415)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > HTTP_BODY_BYTES_MAX:
            return PlainTextResponse("Request body too large", 413)

    async def carry_out() -> dict[str, Any]:
        return await act(workspace, parse_action(bytes(body)))

    return await _answer(carry_out, "an action", WRITE_CALL_SECONDS_MAX, writes=True)


async def _answer(
    call: Callable[[], Awaitable[dict[str, Any]]], name: str, seconds: float, *, writes: bool
) -> Response:
    """The fields as JSON; what went wrong as a sentence, with the status of whose fault it is."""
    status = 200
    with use_words_of("command"):
        try:
            fields = await run_with_deadline(seconds, call, name=name, writes=writes)
        except InvalidRequestError as error:
            fields, status = {"success": False, "message": str(error)}, 400
        except MemoryMcpError as error:
            fields, status = {"success": False, "message": str(error)}, 503
        except Exception:  # noqa: BLE001  # the page goes on, and the log has it
            _LOG.exception("A bug of memory-mcp")
            fields, status = {"success": False, "message": _BUG}, 500
    # a lone surrogate of a memory is escaped: the browser could not read the answer else
    text = json.dumps(fields, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


async def _stream(
    workspace: Workspace, ending: asyncio.Event, room: asyncio.Semaphore, _request: Request
) -> Response:
    if room.locked():
        return PlainTextResponse("Too many streams are open.", 429)

    async def send_events() -> AsyncGenerator[str]:
        async with room:
            yield "retry: 1000\n\n"
            async for news in follow_changes(workspace, ending):
                yield "event: change\ndata: {}\n\n" if news else ": alive\n\n"

    return StreamingResponse(send_events(), media_type="text/event-stream")
