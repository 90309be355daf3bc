"""A server for many in this process, on a port of its own, and clients that have tokens for it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import httpx2
import uvicorn
from doors import Era, User
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from memory_mcp.config.settings import HttpSettings, Settings
from memory_mcp.server.hosting import build_front
from memory_mcp.server.http import Address, make_web_server
from memory_mcp.server.http.authentication import Authenticator
from memory_mcp.server.http.front import Front
from memory_mcp.server.http.issuer import Issuer
from memory_mcp.server.http.tenants import TenantLimits
from memory_mcp.server.tokens import Identity, Project, TokenFile, open_tokens

Transport = Literal["sse", "streamable-http"]


@dataclass
class Hosted:
    """The server, and the tokens that let into it."""

    settings: Settings
    transport: Transport
    tokens: TokenFile
    front: Front
    web: uvicorn.Server
    serving: asyncio.Task[None]

    @property
    def port(self) -> int:
        return self.web.servers[0].sockets[0].getsockname()[1]

    def end(self) -> None:
        """Ask the server to end, as SIGTERM does."""
        self.web.should_exit = True

    def takes_connections(self) -> bool:
        """Whether somebody listens on its port."""
        return any(each.is_serving() for each in self.web.servers)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{'sse' if self.transport == 'sse' else 'mcp'}"

    def add_token(self, name: str, *projects: str, **identity: Any) -> str:
        """What a client of that name sends; its user is the part before the dash."""
        user = Identity(user=name.partition("-")[0])
        opened = tuple(Project(name=each) for each in projects)
        given = user.model_copy(update={"projects": opened, **identity})
        _, token = self.tokens.add(name, given, datetime.now(UTC))
        return token

    def revoke(self, name: str) -> None:
        self.tokens.revoke(name, datetime.now(UTC))

    @asynccontextmanager
    async def client(
        self,
        token: str,
        era: Era = "auto",
        *,
        project: str = "",
        user: User | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> AsyncGenerator[Client]:
        """A client that sends this token, and chooses a project."""
        sent = {**(headers or {}), **({"authorization": f"Bearer {token}"} if token else {})}
        if project:
            sent["memory-project"] = project
        async with httpx2.AsyncClient(headers=sent, timeout=60) as web:
            way = (
                sse_client(self.url, headers=sent)
                if self.transport == "sse"
                else streamable_http_client(self.url, http_client=web)
            )
            async with Client(way, mode=era, elicitation_callback=user, **options) as client:
                yield client

    async def ask(
        self, method: str = "POST", token: str = "", path: str = "", **request: Any
    ) -> httpx2.Response:
        """One plain request; without a `body` it is `initialize`."""
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **({"authorization": f"Bearer {token}"} if token else {}),
            **request.pop("headers", {}),
        }
        content = request.pop("body", json.dumps(HELLO) if method == "POST" else None)
        async with httpx2.AsyncClient(timeout=30) as web:
            url = f"http://127.0.0.1:{self.port}{path}" if path else self.url
            return await web.request(method, url, headers=headers, content=content, **request)


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@asynccontextmanager
async def hosting(
    home: Path,
    transport: Transport = "streamable-http",
    *,
    limits: TenantLimits | None = None,
    issuer: Issuer | None = None,
    drain_seconds: float = 5,
    http: HttpSettings | None = None,
    **settings: Any,
) -> AsyncGenerator[Hosted]:
    """A server that asks for tokens; there is none yet."""
    plain = Settings(home=home, http=http or HttpSettings(), approval="auto", user="operator")
    own = replace(plain, **settings)
    tokens = open_tokens(own)
    path = "/sse" if transport == "sse" else "/mcp"
    front = build_front(
        own, transport, "127.0.0.1", path, Authenticator(tokens, issuer),
        limits=limits or TenantLimits(),
    )  # fmt: skip
    async with _running(front, path, drain_seconds) as (web, serving):
        yield Hosted(own, transport, tokens, front, web, serving)


@asynccontextmanager
async def hosting_alone(home: Path) -> AsyncGenerator[str]:
    """A server for the programs of this machine, without tokens; its address."""
    own = Settings(home=home, project_missing=True, approval="auto", user="operator")
    front = build_front(own, "streamable-http", "127.0.0.1", "/mcp", None)
    async with _running(front, "/mcp", 5) as (web, _):
        yield f"http://127.0.0.1:{web.servers[0].sockets[0].getsockname()[1]}/mcp"


@asynccontextmanager
async def _running(
    front: Front, path: str, drain_seconds: float
) -> AsyncGenerator[tuple[uvicorn.Server, asyncio.Task[None]]]:
    web = make_web_server(
        front, Address("127.0.0.1", 0, path), log_level="WARNING", drain_seconds=drain_seconds
    )
    serving = asyncio.create_task(web._serve())  # pyright: ignore[reportPrivateUsage]  # signals stay pytest's
    try:
        async with asyncio.timeout(60):
            while not web.started:  # the server's own state, without an event
                assert not serving.done(), "it did not start"
                await asyncio.sleep(0.01)
        yield web, serving
    finally:
        web.should_exit = True
        async with asyncio.timeout(60):
            await serving
