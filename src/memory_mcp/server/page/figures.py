"""The numbers of the page: memories over time, and what the opening of a session spends."""

from collections import Counter
from typing import Any, Final

from memory_mcp.bootstrap.opening import build_bootstrap
from memory_mcp.domain.ids import parse_id_time
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import MEMORY_KINDS
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.render.block import Block, count_tokens

_COUNTED_MAX: Final = 100_000
"""Memories of which the day is looked at; only ids are read."""

_HEADING: Final = "## "


async def read_figures(workspace: Workspace, _form: object) -> dict[str, Any] | Skipped:
    """How many memories hold, by the day and the kind; and the opening, section by section."""
    if skipped := refuse_reads(workspace):
        return skipped
    view = await load_view(workspace)
    days = Counter[str]()
    kinds: dict[str, int] = {}
    for bank in workspace.banks:
        wanted = Filters(kinds=MEMORY_KINDS)
        ids = await bank.index.find(view, wanted, _COUNTED_MAX)
        days.update(f"{parse_id_time(id_):%Y-%m-%d}" for id_ in ids)
    for kind in sorted(MEMORY_KINDS):
        wanted = Filters(kinds=frozenset({kind}))
        count = sum([await bank.index.count(view, wanted) for bank in workspace.banks])
        kinds |= {kind: count} if count else {}
    opening = await build_bootstrap(workspace)
    return {
        "days": sorted(days.items()),
        "kinds": kinds,
        "budget": workspace.policy.opening.bootstrap_tokens,
        "tokens": opening.tokens,
        "sections": measure_sections(opening),
        "opening": opening.text,
    }


def measure_sections(opening: Block) -> list[dict[str, Any]]:
    """The tokens of each section of a context; what stands before the first is its head."""
    found: dict[str, list[str]] = {"Head": []}
    name = "Head"
    for line in opening.text.splitlines():
        if line.startswith(_HEADING):
            name = line.removeprefix(_HEADING)
        found.setdefault(name, []).append(line)
    return [
        {"name": name, "tokens": count_tokens("\n".join(lines)), "lines": len(lines)}
        for name, lines in found.items()
        if lines
    ]
