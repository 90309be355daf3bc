"""The memories whose ground has moved: what they cite of the code is not as it was."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory_mcp.code.citations import check_cites, name_changes
from memory_mcp.domain.citations import Checked, find_worst
from memory_mcp.domain.git import Mark
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.record import Citation, Record
from memory_mcp.domain.search import Filters
from memory_mcp.engine.git import find_mark, stands_elsewhere
from memory_mcp.engine.head import load_view
from memory_mcp.engine.workspace import Workspace, refuse_reads
from memory_mcp.frozen import frozen

_CITING_MAX: Final = 100_000
"""More than a project has."""
_ASKED_MAX: Final = 50
"""Memories for which git is asked what changed their ground."""


@frozen
class StaleMemory:
    """A memory, the citations of it that do not hold, and the commit that changed the worst.

    The `mark` is of one whose commit was reverted, or whose turn was taken back.
    """

    record: Record
    cites: Sequence[Citation]
    checked: Sequence[Checked]
    mark: Mark | None = None
    commit: str = ""


@frozen
class StaleReport:
    """What is stale, worst first, and how many there are, among how many that cite something.

    What stands elsewhere in git is not among them.
    """

    stale: Sequence[StaleMemory]
    total: int
    citing: int


async def find_stale(workspace: Workspace, limit: int = 0) -> StaleReport | Skipped:
    """The visible memories of which a citation does not hold; the worst first, `limit` of them."""
    if skipped := refuse_reads(workspace):
        return skipped
    view = await load_view(workspace)
    bank = workspace.project
    cited = await bank.index.find(view, Filters(citing=True), _CITING_MAX)
    citing = [
        record
        async for record in bank.records.scan(cited)
        if not stands_elsewhere(workspace, record)
    ]
    found = await asyncio.to_thread(_check_all, workspace, citing)
    found.sort(key=lambda each: (_rank(each), -each.record.importance, each.record.id))
    shown = found[:limit] if limit else found
    named = await asyncio.to_thread(_name_commits, workspace, shown)
    return StaleReport(named, len(found), len(citing))


def _check_all(workspace: Workspace, citing: Sequence[Record]) -> list[StaleMemory]:
    found: list[StaleMemory] = []
    for record in citing:
        checked = check_cites(workspace, record, wait=True)
        pairs = zip(record.cites, checked, strict=False)  # none is checked without a work tree
        bad = [(cited, each) for cited, each in pairs if each.state != "holds"]
        if bad:
            cites, states = [cited for cited, _ in bad], [each for _, each in bad]
            found.append(StaleMemory(record, cites, states, find_mark(workspace, record)))
    return found


def _rank(stale: StaleMemory) -> int:
    worst = find_worst(stale.checked)
    return 0 if worst and worst.state == "gone" else 1


def _name_commits(workspace: Workspace, found: Sequence[StaleMemory]) -> list[StaleMemory]:
    named: list[StaleMemory] = []
    for each in found[:_ASKED_MAX]:
        bad = name_changes(workspace, each.cites, each.checked, wait=True)
        worst = find_worst(bad)
        named.append(replace(each, checked=bad, commit=worst.commit if worst else ""))
    return [*named, *found[_ASKED_MAX:]]


def describe_stale(stale: StaleMemory) -> str:
    """What a memory rests on that is not as it was, after its mark."""
    return "; ".join(str(each) for each in (stale.mark, *stale.checked) if each)
