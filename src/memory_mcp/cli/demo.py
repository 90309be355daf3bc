"""`memory-mcp demo`: a real server in a subprocess, a real client, a small project.

Everything happens in a temporary folder that is gone afterwards. The client is an ordinary one of
the MCP SDK, so what is shown is what any agent gets.
"""

import os
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from mcp import Client, StdioServerParameters
from mcp_types import TextContent
from rich.console import Console
from rich.table import Table

from memory_mcp.cli.commands import Subcommand
from memory_mcp.cli.output import Output, make_printable, open_screen
from memory_mcp.config.load import LoadedSettings
from memory_mcp.shutdown import run_to_end

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


def demo(_loaded: LoadedSettings, args: Namespace) -> Output:
    """Show what is recalled before and after a backtrack, and after the restore."""
    stage = _Stage(
        Console(file=open_screen(), highlight=False, emoji=False, soft_wrap=True, quiet=args.json)
    )
    run_to_end(_play(stage))
    return Output({"success": True, "steps": stage.steps}, silent=not args.json)


async def _play(stage: "_Stage") -> None:
    with tempfile.TemporaryDirectory(prefix="memory-mcp-demo-") as folder:
        stage.narrate("A session in a new project", "(its folder is temporary)")
        async with Client(_server_parameters(folder)) as agent:
            await stage.add_memories(agent, _BEFORE)
            sealed = await stage.call(agent, "checkpoint", summary="Order storage chosen", phase=1)
            name = sealed["checkpointId"]
            await stage.call(agent, "checkpoint", pending=name, decision="save")
            stage.narrate("\nThe user approves a checkpoint:", name)
            await stage.add_memories(agent, _AFTER)
            await stage.show_recall(agent, "Recalled before the backtrack")
            stage.narrate(
                "\n“Forget Redis, go back to phase 1.”",
                "The agent calls backtrack(to=1, mode='continue', lesson=…)",
            )
            gone = await stage.call(agent, "backtrack", to=1, mode="continue", lesson=_LESSON)
            stage.narrate("", gone["message"])
        stage.narrate("\nThe next day, a second session", "(another server process)")
        async with Client(_server_parameters(folder)) as agent:
            await stage.show_recall(agent, "Recalled after the backtrack")
            stage.narrate(
                "\n“I changed my mind, we need Redis after all.”",
                "The agent names the line that was left",
            )
            back = await stage.call(agent, "backtrack", to=gone["line"], mode="continue")
            stage.narrate("", back["message"])
            await stage.show_recall(agent, "Recalled after the restore")
            stage.narrate("\nWhat opens the next session", "(memory_context)")
            opened = await agent.call_tool("memory_context", {})
            stage.out.print(make_printable(_content_text(opened.content)), markup=False)
    stage.narrate("\nNow give it to your agent:", "memory-mcp install claude-code")


class _Stage:
    """Prints the story, and keeps every call with its answer for `--json`."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self.steps: list[dict[str, Any]] = []

    def narrate(self, bold: str, plain: str) -> None:
        """Print a line between the steps."""
        self.out.print(f"[bold]{bold}[/bold] {plain}" if bold else plain)

    async def call(self, agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as any agent would."""
        result = await agent.call_tool(tool, arguments)
        if result.is_error or result.structured_content is None:
            raise RuntimeError(f"{tool} failed: {_content_text(result.content)}")
        answer = result.structured_content
        self.steps.append({"tool": tool, "arguments": arguments, "answer": answer})
        return answer

    async def add_memories(self, agent: Client, memories: tuple[tuple[str, str], ...]) -> None:
        """Add some memories."""
        for content, kind in memories:
            await self.call(agent, "add_memory", content=content, kind=kind)
            self.out.print(f"  add_memory ({kind}): {content}")

    async def show_recall(self, agent: Client, title: str) -> None:
        """Search, and show what comes back: a table on a terminal, lines elsewhere."""
        found = await self.call(agent, "search_memories", query=_QUERY, limit=10)
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


def _server_parameters(folder: str) -> StdioServerParameters:
    """This very package, as a client starts it, with all its folders in the demo's."""
    root = Path(folder)
    project = root / "coffee-shop"
    project.mkdir(exist_ok=True)
    own = {
        "MEMORY_PROJECT_DIR": str(project),
        "MEMORY_HOME": str(root / "home"),
        "MEMORY_PROVIDER": "local",
    }
    # under whatever name: nothing of it goes to the user's folders or to their cloud
    names = ("MEMORY_", "ATOMIC_", "SUPERMEMORY_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "memory_mcp"], env={**inherited, **own}
    )


def _content_text(content: list[Any]) -> str:
    return "".join(part.text for part in content if isinstance(part, TextContent))


COMMANDS: Final = {"demo": Subcommand(demo)}
