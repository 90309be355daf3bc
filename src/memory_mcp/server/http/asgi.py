"""What the applications of this package share: ASGI's types, short answers, bodies read in time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from memory_mcp.frozen import frozen

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class BodyTooLongError(Exception):
    """More than the longest request."""


@frozen
class Reply:
    """A short answer of our own: one line of text, unless a header says otherwise."""

    status: int
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


async def reply(send: Send, given: Reply) -> None:
    """Send a reply; an error closes its connection, so that nobody reads the rest of a body."""
    body = given.text.encode()
    headers = {
        b"content-type": b"text/plain; charset=utf-8",
        b"content-length": b"%d" % len(body),
        b"cache-control": b"no-store",
        **({} if given.status < 400 else {b"connection": b"close"}),  # noqa: PLR2004  # an error
        **dict(given.headers),
    }
    start = {"type": "http.response.start", "status": given.status}
    await send({**start, "headers": [*headers.items()]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def find_headers(scope: Scope, name: bytes) -> list[bytes]:
    """Every value of a header, without the space around it."""
    return [value.strip() for found, value in scope["headers"] if found.lower() == name]


def declared_length(scope: Scope) -> int:
    """The bytes that the body has by its header; 0 without one."""
    lengths = find_headers(scope, b"content-length")
    return max((int(value[:20]) for value in lengths if value.isdigit()), default=0)


async def read_body(receive: Receive, bytes_max: int) -> bytes | None:
    """The body; None if the client left before it was complete.

    Raises:
        BodyTooLongError: it has more bytes.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > bytes_max:
            raise BodyTooLongError
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever else comes."""
    replayed = False

    async def receive_next() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_next


async def never() -> Message:
    """What comes after a request of our own."""
    await asyncio.Event().wait()
    raise AssertionError("nothing comes after a request of our own")


async def discard(_message: Message) -> None:
    """Answers to a request of our own."""
