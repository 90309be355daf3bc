"""Collects all that the page shows, for a file that can ask nobody later. Needs no web server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import MemoryMcpError
from memory_mcp.server.page.document import build_export
from memory_mcp.server.page.reads import ROWS_MAX, read_page

EXPLAINED_MAX: Final = 300
"""The newest memories of which all is written that is known; each is compared with its rivals."""

_POINTS_MAX: Final = 500
"""The newest points of the timeline of which is written what a move to them would do."""


async def export_page(settings: Settings, target: Path) -> int:
    """Write the page with all that it shows into one file; its size in bytes."""
    async with open_workspace(settings) as built:
        text = build_export(await collect_page(built.workspace))
    data = text.encode(errors="replace")
    Disk().write(target, data)
    return len(data)


async def collect_page(workspace: Workspace) -> dict[str, Any]:
    """The answer to every read that the exported page makes, under the address of that read."""
    answers: dict[str, Any] = {}

    async def keep(name: str, **arguments: str) -> dict[str, Any]:
        answer = await read_page(workspace, name, arguments)
        answers[make_address(name, arguments)] = answer
        return answer

    for name in ("head", "waiting", "stale", "disputes", "profile", "sessions", "figures"):
        await keep(name)
    answers["sessions"].pop("place", None)  # a path of this machine is nobody else's business
    timeline = await keep("timeline", limit="0")
    rows = await _collect_rows(workspace)
    points = [node for node in timeline.get("nodes", ()) if node["kind"] in ("checkpoint", "line")]
    for node in points[:_POINTS_MAX]:
        await _try(keep, "point", point=node["name"])
    for row in rows[:EXPLAINED_MAX]:
        await _try(keep, "memory", id=row["memoryId"])
    return {"answers": answers, "memories": rows}


async def _try(keep: Any, name: str, **arguments: str) -> None:
    """What cannot be told of one point or memory is missing in the file, and nothing else."""
    try:
        await keep(name, **arguments)
    except MemoryMcpError:
        return


async def _collect_rows(workspace: Workspace) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        asked = {"offset": str(len(rows)), "limit": str(ROWS_MAX)}
        page = await read_page(workspace, "memories", asked)
        found = page.get("results", [])
        rows += found
        if not found or len(rows) >= page["total"]:
            return rows


def make_address(name: str, arguments: Mapping[str, str]) -> str:
    """A read as the page writes it down: its name, and its arguments in order."""
    return "&".join([name, *(f"{key}={arguments[key]}" for key in sorted(arguments))])
