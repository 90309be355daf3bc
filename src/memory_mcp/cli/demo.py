"""The main job, shown: a real server in a subprocess, a real client, a small project.

Everything happens in a temporary folder that is gone afterwards. The client is an ordinary one of
the MCP SDK, so what is shown is what any agent gets.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent
from rich.console import Console
from rich.table import Table

from memory_mcp.cli.show import printable, say_json

_BEFORE = (
    ("The shop sells coffee beans; orders arrive through a REST API.", "fact"),
    ("Orders are stored in PostgreSQL 16, because reports need joins.", "decision"),
)
_AFTER = (
    ("Sessions are kept in Redis, with a lifetime of 30 minutes.", "decision"),
    ("The Redis cluster needs three nodes; the staging one is called cache-stage.", "fact"),
    ("The user prefers short commit messages in the imperative.", "preference"),
)
_QUERY = "where are sessions and orders stored, redis or postgresql?"
_LESSON = "Redis for sessions was tried and given up: one more cluster to run."


async def demo(*, as_json: bool) -> int:
    """Show what is recalled before and after a backtrack, and after the restore."""
    stage = _Stage(Console(highlight=False, emoji=False, soft_wrap=True, quiet=as_json))
    with tempfile.TemporaryDirectory(prefix="memory-mcp-demo-") as folder:
        stage.says("A session in a new project", "(its folder is temporary)")
        async with Client(_server(folder)) as agent:
            await stage.tells(agent, _BEFORE)
            sealed = await stage.calls(agent, "checkpoint", summary="Order storage chosen", phase=1)
            name = sealed["checkpointId"]
            await stage.calls(agent, "checkpoint", pending=name, decision="save")
            stage.says("\nThe user approves a checkpoint:", name)
            await stage.tells(agent, _AFTER)
            await stage.recalls(agent, "Recalled before the backtrack")
            stage.says(
                "\n“Forget Redis, go back to phase 1.”",
                "The agent calls backtrack(to=1, mode='continue', lesson=…)",
            )
            gone = await stage.calls(agent, "backtrack", to=1, mode="continue", lesson=_LESSON)
            stage.says("", gone["message"])
        stage.says("\nThe next day, a second session", "(another server process)")
        async with Client(_server(folder)) as agent:
            await stage.recalls(agent, "Recalled after the backtrack")
            stage.says(
                "\n“I changed my mind, we need Redis after all.”",
                "The agent names the line that was left",
            )
            back = await stage.calls(agent, "backtrack", to=gone["line"], mode="continue")
            stage.says("", back["message"])
            await stage.recalls(agent, "Recalled after the restore")
            stage.says("\nWhat opens the next session", "(memory_context)")
            opened = await agent.call_tool("memory_context", {})
            stage.out.print(printable(_text(opened.content)), markup=False)
    stage.says("\nNow give it to your agent:", "claude mcp add memory -- memory-mcp")
    if as_json:
        say_json({"success": True, "steps": stage.steps})
    return 0


class _Stage:
    """Where it is shown, and every call with its answer, for `--json`."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.steps: list[dict[str, Any]] = []

    def says(self, bold: str, plain: str) -> None:
        """A line between the steps."""
        self.out.print(f"[bold]{bold}[/bold] {plain}" if bold else plain)

    async def calls(self, agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as any agent would."""
        result = await agent.call_tool(tool, arguments)
        if result.is_error or result.structured_content is None:
            raise RuntimeError(f"{tool} failed: {_text(result.content)}")
        answer = result.structured_content
        self.steps.append({"tool": tool, "arguments": arguments, "answer": answer})
        return answer

    async def tells(self, agent: Client, memories: tuple[tuple[str, str], ...]) -> None:
        """Add some memories."""
        for content, kind in memories:
            await self.calls(agent, "add_memory", content=content, kind=kind)
            self.out.print(f"  add_memory ({kind}): {content}")

    async def recalls(self, agent: Client, title: str) -> None:
        """Search, and show what comes back: a table on a terminal, lines elsewhere."""
        found = await self.calls(agent, "search_memories", query=_QUERY, limit=10)
        rows = [
            (f"{hit['score']:.2f}", str(hit["metadata"]["kind"]), str(hit["content"]))
            for hit in found["results"]
        ]
        self.out.print(f"\n{title}: “{_QUERY}”")
        if not self.out.is_terminal:
            for score, kind, content in rows:
                self.out.print(f"  {score} {kind}: {content}")
            return
        table = Table("score", "kind", "memory")
        for row in rows:
            table.add_row(*row)
        self.out.print(table)


def _server(folder: str) -> StdioServerParameters:
    """This very package, as a client starts it, with all its folders in the demo's."""
    place = Path(folder)
    project = place / "coffee-shop"
    project.mkdir(exist_ok=True)
    ours = {
        "MEMORY_PROJECT_DIR": str(project),
        "MEMORY_HOME": str(place / "home"),
        "MEMORY_PROVIDER": "local",
    }
    # under whatever name: nothing of it goes to the user's folders or to their cloud
    names = ("MEMORY_", "ATOMIC_", "SUPERMEMORY_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "memory_mcp"], env={**kept, **ours}
    )


def _text(content: list[Any]) -> str:
    return "".join(part.text for part in content if isinstance(part, TextContent))
