"""Made-up requests over HTTP: methods, paths, headers and bodies that no client of ours sends."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from depth import depth
from doors import add, recalled
from hosted import Hosted, hosting
from http_cases import shows

from memory_mcp.config.settings import HttpSettings

pytestmark = pytest.mark.anyio


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncGenerator[Hosted]:
    async with hosting(tmp_path / "home", http=HttpSettings(per_minute=1_000_000)) as served:
        yield served


SPARKS = ["mcp-session-id", "mcp-protocol-version", "accept", "content-type", "origin", "host",
          "memory-project", "authorization", "last-event-id", "mcp-method",
          "mcp-name", "x-forwarded-for", "cookie", "expect", "upgrade", "connection"]  # fmt: skip
VALUES = ["", "x", "2025-11-25", "2026-07-28", "0", "-1", "*", "*/*", "application/json", "alder",
          "text/event-stream", "application/json, text/event-stream", "a" * 8_000, "\u00e9", "\t",
          "http://localhost", "localhost", "100-continue", "websocket", "null"]  # fmt: skip


METHODS = ["initialize", "tools/list", "tools/call", "resources/read", "ping", "x",
           "subscriptions/listen", "completion/complete", "server/discover"]  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 1e308, "", "Z" * 5_000, [], {}, [[]], {"a": {"b": []}}, "\x00", "\ud800",
    {"name": "search_memories", "arguments": {"query": "Zanz"}},
]  # fmt: skip


@shows("random")
async def test_made_up_requests_cost_nobody_anything(hosted: Hosted) -> None:
    """Whatever comes: no 500, an answer in time, nothing of anybody's memory in it."""
    chance = random.Random(16)  # noqa: S311  # the same each time
    tokens = {name: hosted.add_token(name, "alder") for name in ("ada", "bob")}
    async with hosted.client(tokens["ada"]) as client:
        await add(client, "Zanzibar is where orders rest.")
    session = (await hosted.ask(token=tokens["bob"])).headers["mcp-session-id"]
    seen: set[int] = set()
    async with asyncio.timeout(depth(600, 7_200)), asyncio.TaskGroup() as group:
        for _ in range(8):
            work = send_made_up(hosted, chance, [*tokens.values(), "", "x"], session, seen)
            group.create_task(work)

    assert not {status for status in seen if status >= 500}, seen
    assert len(seen) > 4
    async with hosted.client(tokens["bob"]) as client:
        assert await recalled(client, "Zanzibar") == []
    async with hosted.client(tokens["ada"]) as client:
        assert "Zanzibar is where orders rest." in await recalled(client, "Zanzibar")


async def send_made_up(
    hosted: Hosted, chance: random.Random, tokens: list[str], session: str, seen: set[int]
) -> None:
    """A share of the requests, one after the other."""
    async with httpx2.AsyncClient(timeout=60) as web:
        for _ in range(depth(40, 2_500)):
            token = chance.choice(tokens[1:])
            headers = {"authorization": f"Bearer {token}"} if chance.random() < 0.8 else {}
            headers |= {"content-type": "application/json", "mcp-session-id": session}
            for _ in range(chance.randrange(4)):
                headers[chance.choice(SPARKS)] = chance.choice(VALUES)
            path = chance.choice(
                ["/mcp"] * 8 + ["/sse", "/messages/", "/metrics", "/healthz", "/x"]
            )
            method = chance.choice(["POST"] * 6 + ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
            url = f"http://127.0.0.1:{hosted.port}{path}?{chance.choice(VALUES[:12])}"
            sent = [(name.encode(), value.encode()) for name, value in headers.items()]
            try:
                async with web.stream(
                    method, url, headers=sent, content=make_body(chance)
                ) as response:
                    seen.add(response.status_code)
                    part = b""
                    if "event-stream" not in response.headers.get("content-type", ""):
                        part = await response.aread()
                    assert b"Zanzibar" not in part
            except httpx2.RequestError:
                seen.add(0)  # the server closed the connection on what is no request


def make_body(chance: random.Random) -> bytes:
    """A message that may be one, with something wrong in one of its places."""
    method = chance.choice(METHODS)
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": chance.randrange(9),
        "method": method,
        "params": {
            "name": "add_memory",
            "arguments": {"content": "x y z"},
            "uri": "memory://context",
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "a", "version": ""},
        },
    }
    place = chance.choice([message, message["params"]])
    if chance.random() < 0.8:
        place[chance.choice([*place, "_meta"])] = chance.choice(ODD)
    body = json.dumps(message).encode()
    if chance.random() < 0.2:
        cut = chance.randrange(len(body))
        body = body[:cut] + bytes([chance.randrange(256)]) + body[cut + 1 :]
    return body
