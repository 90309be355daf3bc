"""The page of `memory-mcp view`: served in this process for programs, or by the real command."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from doors import Json

from memory_mcp.engine.workspace import Workspace
from memory_mcp.server.page.app import build_app
from memory_mcp.server.page.entry import PageAccess

PORT = 8123
OWN = {"Origin": f"http://127.0.0.1:{PORT}", "X-Memory-Page": "1"}


@dataclass
class Viewer:
    """A browser that has opened the page, without a screen."""

    web: httpx2.AsyncClient
    entry: PageAccess

    async def read(self, name: str, **arguments: str) -> Json:
        answer = await self.web.get(f"/api/{name}", params=arguments, headers=OWN)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(self, **action: Any) -> httpx2.Response:
        return await self.web.post("/api/act", json=action, headers=OWN)

    async def act(self, **action: Any) -> Json:
        answer = await self.send(**action)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def do(self, **action: Any) -> tuple[list[str], Json]:
        """Carry out an action, agreeing to every question; what was asked, and the outcome."""
        asked: list[str] = []
        answer = await self.act(**action)
        while answer.get("status") == "undecided":
            asked.append(answer["message"])
            answer = await self.act(**action, confirm=answer["confirm"])
        assert answer["success"], answer
        return asked, answer


@asynccontextmanager
async def outside(
    workspace: Workspace, ending: asyncio.Event | None = None
) -> AsyncGenerator[Viewer]:
    """A client of the page that was not let in yet."""
    entry = PageAccess(PORT)
    app: Any = build_app(workspace, entry, ending or asyncio.Event())
    way = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=way, base_url=entry.origin) as web:
        yield Viewer(web, entry)


@asynccontextmanager
async def viewing(
    workspace: Workspace, ending: asyncio.Event | None = None
) -> AsyncGenerator[Viewer]:
    """A client that has exchanged the token for the cookie."""
    async with outside(workspace, ending) as viewer:
        opened = await viewer.web.get("/", params={"token": viewer.entry.token})
        assert opened.status_code == 303
        yield viewer


@contextmanager
def showing(project: Path, environment: Mapping[str, str]) -> Generator[str]:
    """The real command; the address that it says."""
    command = [sys.executable, "-m", "memory_mcp", "--project", str(project), "view", "--no-open"]
    with subprocess.Popen(
        command, cwd=project, env=dict(environment), stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stderr is not None
            said = running.stderr.readline()
            found = re.search(r"http://\S+", said)
            assert found, said + running.stderr.read()
            yield found[0]
        finally:
            running.terminate()
            # what the server had to report is shown with a test that fails
            if running.stderr is not None:
                sys.stderr.write(running.stderr.read())
