"""Clients of the cloud for tests, and a server that says exactly what it is told to say."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from fakes import START, FakeIds

from memory_mcp.domain.cloud import RemoteDocument
from memory_mcp.domain.ids import RecordId
from memory_mcp.storage.supermemory.client import Supermemory

SPACE: Final = "cc_u-ann_p-shop"
KEY: Final = "sm_test"

_IDS: Final = FakeIds()


def remote_of(
    url: str,
    key: Callable[[], str] = lambda: KEY,
    *,
    search_seconds: float = 10.0,
    extraction: bool = False,
) -> Supermemory:
    """A client with enough patience for a slow machine."""
    return Supermemory(url, key, search_seconds=search_seconds, extraction=extraction)


def document(content: str = "Orders live in MySQL", **fields: Any) -> RemoteDocument:
    """A document with an id of its own; what is not said is plain."""
    record_id: RecordId = fields.pop("id", None) or _IDS.new(START)
    extract: bool = fields.pop("extract", False)
    metadata = {"memory_id": record_id, **fields}
    return RemoteDocument(record_id, content, metadata, "2026-01-31T14:30:22.104Z", extract)


def fresh_id() -> RecordId:
    """An id that is nowhere."""
    return _IDS.new(START)


Call = Callable[[Supermemory], Coroutine[Any, Any, object]]

CALLS: Final[dict[str, Call]] = {
    "deliver": lambda remote: remote.deliver(SPACE, [document()]),
    "deliver many": lambda remote: remote.deliver(SPACE, [document(), document()]),
    "get": lambda remote: remote.get(SPACE, fresh_id()),
    "erase": lambda remote: remote.erase(SPACE, [fresh_id()]),
    "search": lambda remote: remote.search(SPACE, "orders", (), 10),
    "listing": lambda remote: remote.listing(SPACE, (), 1),
    "profile": lambda remote: remote.profile(SPACE, ()),
    "probe": lambda remote: remote.probe(),
}
"""Each of the calls that ask the cloud for something, in its plainest form."""


@dataclass
class Parrot:
    """What a server was asked, and where it is."""

    url: str
    heard: list[bytes] = field(default_factory=list[bytes])


@asynccontextmanager
async def saying(*pieces: bytes, seconds: float = 0.0) -> AsyncGenerator[Parrot]:
    """A server that gives the same answer to everything, with a pause before each piece."""
    parrot = Parrot("")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            parrot.heard.append(await reader.readuntil(b"\r\n\r\n"))
            for piece in pieces:
                await asyncio.sleep(seconds)
                writer.write(piece)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has left
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    parrot.url = f"http://127.0.0.1:{port}"
    try:
        yield parrot
    finally:
        server.close()
        await server.wait_closed()


def answer(status: int, body: object = b"", *headers: str) -> bytes:
    """An answer on the wire; anything but bytes goes as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines: Sequence[str] = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Length: {len(data)}",
        "Connection: close",
        *headers,
    )
    return "\r\n".join((*lines, "", "")).encode() + data
