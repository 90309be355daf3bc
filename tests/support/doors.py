"""Ways in, as a client or a person has them: the tools over MCP, the command line, the files."""

import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from postgres import in_database, rows_of, tables_with

from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.locations import find_machine_folder, find_state_home, resolve_path
from memory_mcp.server.main import make_server
from memory_mcp.storage.files.host import GitRemote
from memory_mcp.storage.files.trust import TrustedCloud, TrustedProjects

Era = Literal["legacy", "auto"]
"""`legacy` shakes hands as of 2025-11-25; `auto` finds the stateless revision 2026-07-28."""

Action = Literal["accept", "decline", "cancel"]
"""What a user can do with a form."""

Json = dict[str, Any]


@dataclass
class User:
    """Answers every question of the server the same way, and remembers what was asked."""

    action: Action
    content: dict[str, str | int | float | bool | list[str] | None] | None = None
    asked: list[str] = field(default_factory=list[str])
    forms: list[Json] = field(default_factory=list[Json])

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        del context
        self.asked.append(params.message)
        self.forms.append(params.model_dump(by_alias=True))
        return ElicitResult(action=self.action, content=self.content)


@asynccontextmanager
async def agent(settings: Settings, era: Era, user: User | None = None) -> AsyncGenerator[Client]:
    """A client of a server in this very process. Without a user it cannot ask anybody."""
    async with Client(make_server(settings), mode=era, elicitation_callback=user) as client:
        yield client


def process(project: Path, *arguments: str, **environment: str) -> StdioServerParameters:
    """The real server on a project, to be started by the client as its subprocess."""
    ours = {"MEMORY_APPROVAL": "auto", "CLAUDE_PROJECT_DIR": str(project), **environment}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "memory_mcp", *arguments],
        env={**os.environ, **ours},
    )


def text_of(result: CallToolResult) -> str:
    """The text that came with a result."""
    return "".join(c.text for c in result.content if isinstance(c, TextContent))


async def call(client: Client, tool: str, **arguments: Any) -> Json:
    """The structured answer of a tool that worked."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Why a tool refuses: an answer in its own form; to an error clients add a schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    said = result.structured_content
    if said is None:
        return text_of(result)
    assert said["success"] is False
    return said["message"]


async def failed(client: Client, tool: str, **arguments: Any) -> str:
    """What the model reads where something failed that no better call would have avoided."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


async def read(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a tool that answers in prose, and in prose alone."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is None, "a client would show this instead of the prose"
    return text_of(result)


async def add(client: Client, content: str, **arguments: Any) -> str:
    """The id of a memory that was just added."""
    return (await call(client, "add_memory", content=content, **arguments))["memoryId"]


async def recalled(client: Client, query: str = "", **arguments: Any) -> list[str]:
    """The texts that a search returns, best first."""
    found = await call(client, "search_memories", query=query, limit=10, **arguments)
    return [result["content"] for result in found["results"]]


async def seal(client: Client, summary: str, phase: int | None = None) -> str:
    """The id of a checkpoint that was just sealed."""
    sealed = await call(client, "checkpoint", summary=summary, phase=phase)
    assert sealed["status"] in ("auto", "approved"), sealed
    return sealed["checkpointId"]


def machine_dir(project: Path, home: str | Path = "") -> Path:
    """Where this machine keeps what it writes about the project, outside of it."""
    found = find_state_home(os.environ, str(home or os.environ.get("MEMORY_HOME", "")))
    return Path(find_machine_folder(found, str(project / ".state"), str(project)))


def trust(project: Path, home: str | Path = "") -> None:
    """Let everything in the project count, as `memory-mcp trust` does."""
    home = Path(home or os.environ["MEMORY_HOME"])
    records = resolve_path(str(project / ".claude" / "memory"), str(project))
    TrustedProjects(home, Disk()).trust(records, GitRemote(project).address())


def trust_cloud(address: str, home: str | Path = "") -> None:
    """Let what other machines left in the cloud come in, as `memory-mcp trust` does."""
    TrustedCloud(Path(home or os.environ["MEMORY_HOME"]), address, Disk()).grant()


def head_file(project: Path) -> Json:
    """What programs read of the head."""
    if in_database():
        (row,) = rows_of(project / ".claude" / "memory", "json", "head")
        return json.loads(row["json"])
    return json.loads((project / ".state" / "memory-head.json").read_bytes())


def history(project: Path) -> list[Json]:
    """Every move of the head, oldest first."""
    if in_database():
        rows = rows_of(project / ".claude" / "memory", "json", "history", "number")
        return [json.loads(row["json"]) for row in rows]
    lines = (project / ".state" / "history.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def record_file(folder: Path, memory_id: str) -> Path:
    """The file of a record below a folder; of a row of the database a copy."""
    if in_database():
        copy = Path(tempfile.mkdtemp(dir=os.environ["TEST_FOLDER"]), f"{memory_id}.json")
        (row,) = [r for r in rows_of(folder) if json.loads(r["json"])["id"] == memory_id]
        copy.write_text(row["json"], "utf-8")
        return copy
    (found,) = folder.rglob(f"{memory_id}.json")
    return found


def records(folder: Path) -> list[Json]:
    """Every record below a folder, oldest first."""
    if in_database():
        return [json.loads(row["json"]) for row in rows_of(folder)]
    return [json.loads(p.read_bytes()) for p in sorted(_records_in(folder), key=lambda p: p.stem)]


def _records_in(folder: Path) -> Iterator[Path]:
    return folder.rglob("????-??/*.json")


def names_in(folder: Path) -> list[str]:
    """Everything there is below a folder."""
    return sorted(path.name for path in folder.rglob("*"))


def files_with(folder: Path, text: str) -> list[str]:
    """The files below a folder that hold a text anywhere in their bytes."""
    wanted = text.encode()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = [str(path.relative_to(folder)) for path in files if wanted in path.read_bytes()]
    return [*found, *tables_with(text)] if in_database() else found
