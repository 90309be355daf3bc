"""Every read path of the real memory, compared with the plain model."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from plain_model import DURABLE, Entry, PlainModel, Seg

from memory_mcp import branches, search, sessions
from memory_mcp.domain.limits import CONTEXT_TOKENS_MAX, RESULTS_MAX
from memory_mcp.domain.outcomes import HeadReport, SearchResults
from memory_mcp.domain.record import Kind
from memory_mcp.domain.search import Filters
from memory_mcp.engine.head import load_view
from memory_mcp.engine.lookup import require_memory
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import UnknownMemoryError
from memory_mcp.render.block import Block
from memory_mcp.timeline.moves import fold_moves

KINDS: Final[tuple[Kind, ...]] = ("fact", "decision", "preference", "lesson", "event", "checkpoint")
_WORD: Final = re.compile(r"zq[0-9]{5}x")
SEALED: Final = "the part is done and sealed as"
"""Before the word of a checkpoint: a mere label would have no place in an opening."""
_LOOKED_AT: Final = 20
_SHOWN: Final = 10
_LINES_READ: Final = 10
_LINES_SHOWN: Final = 3


def words_in(text: str) -> set[str]:
    return set(_WORD.findall(text))


def words_of(entries: Iterable[Entry]) -> list[str]:
    return [entry.word for entry in entries]


def bytes_below(folder: Path) -> bytes:
    """All that is on disk."""
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def asked(workspace: Workspace, query: str, filters: Filters | None = None) -> list[str]:
    """The words of what a search finds, in its order."""
    found = await search.search_memories(workspace, query, filters or Filters(), RESULTS_MAX)
    assert isinstance(found, SearchResults)
    assert all(0 <= (hit.score or 0) <= 1 for hit in found.hits)
    return [word for hit in found.hits for word in words_in(hit.record.content)]


async def look(workspace: Workspace, model: PlainModel, words: list[str], folder: Path) -> None:
    """Everything that can be seen is what must be seen, and nothing else."""
    now = workspace.clock.now()
    seen = model.holds(model.on(workspace.caller.branch), now)
    await _by_words(workspace, seen, words)
    await _by_kind(workspace, seen)
    await _by_id(workspace, model, seen)
    await _in_context(workspace, seen)
    await _in_the_head(workspace, model)
    await _on_disk(workspace)
    left = bytes_below(folder)
    assert [word for word in model.erased if word.encode() in left] == []


async def _by_words(workspace: Workspace, seen: list[Entry], words: list[str]) -> None:
    there = set(words_of(seen))
    for word in words:  # what resembles it may be found as well, if it can be seen
        found = await asked(workspace, word)
        assert set(found) <= there
        assert found[:1] == [word] if word in there else word not in found


async def _by_kind(workspace: Workspace, seen: list[Entry]) -> None:
    newest = list(reversed(seen))
    assert await asked(workspace, "") == words_of(newest)[:RESULTS_MAX]
    for kind in KINDS:
        wanted = words_of(entry for entry in newest if entry.kind == kind)
        assert await asked(workspace, "", Filters(kinds=frozenset({kind}))) == wanted[:RESULTS_MAX]


async def _by_id(workspace: Workspace, model: PlainModel, seen: list[Entry]) -> None:
    view = await load_view(workspace)
    there = {entry.id for entry in seen if entry.id}
    for entry in model.entries:
        if entry.id:
            try:
                record = await require_memory(workspace, entry.id, view)
                assert words_in(record.content) == {entry.word}
            except UnknownMemoryError:
                assert entry.id not in there
            else:
                assert entry.id in there


async def _in_context(workspace: Workspace, seen: list[Entry]) -> None:
    task = " ".join(words_of(seen)[:RESULTS_MAX])
    for about in ("", task):
        block = await sessions.memory_context(workspace, about, CONTEXT_TOKENS_MAX)
        assert isinstance(block, Block)
        shown = words_in(block.text)
        assert shown <= set(words_of(seen))
        if len(seen) <= _LOOKED_AT:
            assert shown == set(words_of(seen))


async def _in_the_head(workspace: Workspace, model: PlainModel) -> None:
    branch, now = workspace.caller.branch, workspace.clock.now()
    here = model.on(branch)
    report = await branches.report_head(workspace)
    assert isinstance(report, HeadReport)
    seen = [e for e in model.holds(here, now) if e.nature == "memory"]
    assert report.memories == sum(e.segment is not None for e in seen)
    assert report.durable == sum(e.segment is None for e in seen)
    assert {branch, *report.branches} <= set(model.tips)
    assert len(report.branches) + report.other_branches == len(model.tips)
    valid = model.valid(branch)
    assert [(s.checkpoint.id, s.would_hide) for s in report.checkpoints] == [
        (s.id, len(model.going_to(branch, s.segment, now).hidden)) for s in valid[-_SHOWN:]
    ]
    assert report.earlier_checkpoints == max(0, len(valid) - _SHOWN)
    assert [s.checkpoint.summary for s in report.checkpoints] == [
        f"{SEALED} {s.word}" for s in valid[-_SHOWN:]
    ]
    assert [c.id for c in report.invalidated] == [s.id for s in model.invalidated(branch)][-_SHOWN:]
    assert [c.id for c in report.pending] == [s.id for s in model.pending(branch)][-_SHOWN:]
    lines: dict[str, tuple[int, int]] = {}
    left = _leave_out_repeated(model, model.left(branch), here)
    written = {e.segment for e in model.entries if e.kind != "erasure"}
    for name, tip in left.items():
        road = model.road(tip)
        if written.isdisjoint({*road} - {*here}):  # it brings nothing back: no reason to restore it
            continue
        there = [e for e in model.holds(road, now) if e.nature == "memory"]
        stays = {e.number for e in seen if e.segment is None or e.segment in road}
        gone = stays - {e.number for e in there}
        back = sum(e.segment is not None and e.segment not in here for e in there)
        lines[name] = (back, sum(e.number in gone for e in seen if e.bank == "project"))
    told = {s.line.id: (s.memories, s.hides) for s in report.lines}
    if len(left) <= _LINES_READ:
        bring = [(name, counts) for name, counts in lines.items() if any(counts)]
        assert told == dict(bring[-_LINES_SHOWN:])


def _leave_out_repeated(
    model: PlainModel, left: Mapping[str, Seg], here: Collection[Seg]
) -> dict[str, Seg]:
    """Of lines that end with the same written segment the newest: they restore the same."""
    written = {e.segment for e in model.entries if e.kind != "erasure"}
    written |= {s.segment for s in model.seals.values()}
    ends: dict[Seg | None, str] = {}
    for name, tip in left.items():
        at: Seg | None = tip
        while at is not None and at not in written and at not in here:
            at = model.parents[at]
        ends.pop(at, None)
        ends[at] = name
    return {name: left[name] for name in ends.values()}


async def _on_disk(workspace: Workspace) -> None:
    """The head is what the records on disk say, but for what was forgotten."""
    head = await workspace.heads.read()
    if head is None:
        return
    store = workspace.project.records
    records = [record async for record in store.scan(await store.ids())]
    timeline, folded = head.timeline, fold_moves(records)
    assert folded.forgotten == timeline.forgotten
    assert folded.left - folded.forgotten == timeline.left - timeline.forgotten
    assert folded.checkpoints == timeline.checkpoints
    assert folded.lines == timeline.lines
    assert folded.branches == timeline.branches
    for branch in timeline.branches:
        assert folded.chain(branch) == timeline.chain(branch)
        assert folded.tips(branch) == timeline.tips(branch)
    durable = [record for record in records if record.segment is None]
    assert {r.kind for r in durable} <= {*DURABLE, "move", "tombstone"}
