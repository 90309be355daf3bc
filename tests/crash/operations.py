"""Every use case that writes, as a step on the small project that `begin` makes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from project import WORD, add, found, head_of, make_project, opened

from memory_mcp import bootstrap, branches, layers, memories, sessions
from memory_mcp.domain.ids import BranchName, RecordId
from memory_mcp.domain.layers import ArchivalWrite, Consolidate, CoreSet, RecallAppend
from memory_mcp.domain.outcomes import (
    Backtracked,
    CheckpointSaved,
    Closeout,
    ClosingDecision,
    ConsolidationDraft,
    MemoryAdded,
    Skipped,
)
from memory_mcp.domain.record import Approval, Draft
from memory_mcp.engine.workspace import Workspace

__all__ = ["LESSON", "OPERATIONS", "Operation", "begin", "go_back", "seal"]

LESSON: Final = f"Redis was lost on restart {WORD}"


async def seal(
    workspace: Workspace, text: str, phase: int | None = None, approval: Approval = "approved"
) -> str:
    """Seal a checkpoint; its id is an acknowledgement."""
    outcome = await branches.checkpoint(
        workspace, f"{text} {WORD}", phase, again=False, approval=approval
    )
    assert isinstance(outcome, CheckpointSaved)
    return outcome.checkpoint.id


async def go_back(workspace: Workspace, to: str) -> str:
    """Backtrack, keeping what is left; the name of the left line."""
    outcome = await branches.backtrack(workspace, to, "continue")
    assert isinstance(outcome, Backtracked)
    assert outcome.line is not None
    return outcome.line


async def begin(root: Path) -> None:
    """A project with a user's preference, a sealed phase, a pending one, and work after it."""
    make_project(root)
    async with opened(root) as built:
        await add(built.workspace, "tabs, not spaces", "preference")
        await add(built.workspace, "orders rest in PostgreSQL")
        await seal(built.workspace, "the model stands", phase=1)
        await add(built.workspace, "carts rest in Redis")
        await seal(built.workspace, "carts work", phase=2, approval="pending")
        await add(built.workspace, "carts expire after a day")
        await bootstrap.render_views(
            built.workspace
        )  # what is given up later must leave these as well


async def _begin_merged(root: Path) -> None:
    await _begin_with_an_age(root)
    async with opened(root) as built:
        merged = await memories.add_memory(built.workspace, Draft(_OLDER))
        assert isinstance(merged, MemoryAdded)
        assert merged.merged


async def _forget_the_part(workspace: Workspace) -> object:
    memory_id = await _named(workspace, _OLDER)
    found = await workspace.project.records.get(RecordId(memory_id))
    part = found.derived_from[-1] if found else "gone"
    return await memories.forget_memory(workspace, part, "", erase=True)


async def _untouched(root: Path) -> None:
    make_project(root)


async def _named(workspace: Workspace, text: str) -> str:
    """The id of the memory that says this, if it holds."""
    ids = [r.id for r in await found(workspace) if r.content.startswith(text)]
    return ids[0] if ids else "gone"


async def _update(workspace: Workspace) -> object:
    memory_id = await _named(workspace, "orders rest in PostgreSQL")
    return await memories.update_memory(workspace, memory_id, f"orders rest in SQLite {WORD}")


async def _forget(workspace: Workspace, *, erase: bool) -> object:
    return await memories.forget_memory(
        workspace, await _named(workspace, "carts rest in Redis"), "", erase=erase
    )


_AGE: Final = f"Mia is 3 years old. Mia keeps the {WORD}."
_OLDER: Final = "Mia is 4 years old."


async def _begin_with_an_age(root: Path) -> None:
    await begin(root)
    async with opened(root) as built:
        await memories.add_memory(built.workspace, Draft(f"Her ninth {WORD} has 30 pages."))
        await memories.add_memory(built.workspace, Draft(_AGE))


async def _decide(workspace: Workspace) -> object:
    pending = (await head_of(workspace)).pending
    return await branches.decide_checkpoint(
        workspace, pending[0].id if pending else "gone", "save", "", again=False
    )


async def _begin_with_a_line(root: Path) -> None:
    await begin(root)
    async with opened(root) as built:
        await go_back(built.workspace, "phase 1")
        await add(built.workspace, "carts rest in cookies")


async def _restore(workspace: Workspace) -> object:
    lines = (await head_of(workspace)).lines
    return await branches.backtrack(workspace, lines[0].line.id if lines else "gone", "continue")


_CLOSEOUT: Final = Closeout(
    decisions=(ClosingDecision(f"vouchers are signed {WORD}", "they travel by mail"),),
    issues=(f"nobody tests refunds {WORD}",),
    agents=(f"coder {WORD}",),
)
_CLOSED: Final = (
    f"vouchers are signed {WORD}\nReason: they travel by mail",
    f"nobody tests refunds {WORD}",
    f"- coder {WORD}",
    f"vouchers work {WORD}\nWith it: 1 decision, 1 open issue, 1 agent.",
)
_PLANNED: Final = f"vouchers are planned {WORD}"
_CONSOLIDATION: Final = ConsolidationDraft(
    history_entry=f"2026-03-01: vouchers were begun {WORD}",
    memory_update=f"vouchers are half done {WORD}",
    insights=(f"the mail server is slow {WORD}",),
    session="s-1",
)
_HANDED_ON: Final = (
    f"2026-03-01: vouchers were begun {WORD}",
    f"vouchers are half done {WORD}",
    f"- the mail server is slow {WORD}",
)


async def _begin_consolidated(root: Path) -> None:
    await begin(root)
    async with opened(root) as built:
        before = replace(_CONSOLIDATION, memory_update=_PLANNED)
        await sessions.consolidate(built.workspace, replace(before, history_entry="", insights=()))


async def _begin_closing(root: Path) -> None:
    make_project(root)
    async with opened(root) as built:
        await branches.checkpoint(
            built.workspace, f"vouchers work {WORD}", 3, again=False, approval="pending",
            closeout=_CLOSEOUT,
        )  # fmt: skip


async def _skip(workspace: Workspace) -> object:
    pending = (await head_of(workspace)).pending
    return await branches.decide_checkpoint(
        workspace, pending[0].id if pending else "gone", "skip", "", again=False
    )


async def _forget_what_came_last(workspace: Workspace) -> object:
    memory_id = await _named(workspace, _CLOSED[1])
    return await memories.forget_memory(workspace, memory_id, "", erase=True)


_NODE: Final = BranchName("node 3")
_LAYERED: Final = (
    f"refunds first {WORD}", f"refunds were begun {WORD}", f"refunds need a clerk {WORD}"
)  # fmt: skip
_LAYERS: Final = (
    CoreSet(key="goal", value=_LAYERED[0]),
    RecallAppend(summary=_LAYERED[1]),
    ArchivalWrite(text=_LAYERED[2]),
)
_SUM: Final = f"all of it went well {WORD}"
_WON: Final = f"refunds last {WORD}"


async def _begin_layered(root: Path) -> None:
    """The root and a node that have changed the same key."""
    make_project(root)
    async with opened(root) as built:
        await layers.fork_node(built.workspace, None, _NODE)
        await layers.write_node(built.workspace, _LAYERS)
        await layers.write_node(built.workspace.at(_NODE), [CoreSet(key="goal", value=_WON)])


async def _sum_up(workspace: Workspace) -> object:
    events = await layers.load_events(workspace, None)
    ids = () if isinstance(events, Skipped) else tuple(event.id for event in events)
    return await layers.write_node(workspace, [Consolidate(summary=_SUM, ids=ids or ("gone",))])


@dataclass(frozen=True)
class Operation:
    """One call, the project it is made in, and which texts it erases.

    `late` are the texts that come once its commit point has passed, `hides` those that then go.
    """

    name: str
    run: Callable[[Workspace], Awaitable[object]]
    begin: Callable[[Path], Awaitable[object]] = begin
    erases: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()


OPERATIONS: Final = (
    Operation(
        "add, the very first",
        lambda workspace: add(workspace, "orders rest in files"),
        begin=_untouched,
    ),
    Operation("add", lambda workspace: add(workspace, "baskets have a voucher")),
    Operation("update", _update),
    Operation(
        "add, replacing",
        lambda workspace: memories.add_memory(workspace, Draft(f"Her ninth {WORD} has 31 pages.")),
        begin=_begin_with_an_age,
    ),
    Operation(
        "add, merging",
        lambda workspace: memories.add_memory(workspace, Draft(_OLDER)),
        begin=_begin_with_an_age,
    ),
    Operation(
        "forget, a part of a merged memory",
        _forget_the_part,
        begin=_begin_merged,
        erases=(_OLDER[:-1],),
        late=(_AGE,),  # comes back when the whole is erased, by the next session if need be
    ),
    Operation(
        "forget, erasing",
        lambda workspace: _forget(workspace, erase=True),
        erases=("carts rest in Redis",),
    ),
    Operation("forget, hiding", lambda workspace: _forget(workspace, erase=False)),
    Operation(
        "checkpoint",
        lambda workspace: branches.checkpoint(
            workspace, f"vouchers work {WORD}", 3, again=False, approval="approved"
        ),
        late=(f"vouchers work {WORD}",),
    ),
    Operation(
        "checkpoint with a closeout",
        lambda workspace: branches.checkpoint(
            workspace,
            f"vouchers work {WORD}",
            3,
            again=False,
            approval="approved",
            closeout=_CLOSEOUT,
        ),
        late=(*_CLOSED, f"vouchers work {WORD}"),
    ),
    Operation("skip, with a closeout", _skip, begin=_begin_closing, hides=_CLOSED),
    Operation(
        "forget, what the head holds",
        _forget_what_came_last,
        begin=_begin_closing,
        erases=(_CLOSED[1],),
    ),
    Operation(
        "consolidate",
        lambda workspace: sessions.consolidate(workspace, _CONSOLIDATION),
        begin=_begin_consolidated,
        late=_HANDED_ON,
        hides=(_PLANNED,),
    ),
    Operation("decide", _decide, late=(f"carts work {WORD}",)),
    Operation("fork", lambda workspace: branches.fork_branch(workspace, "experiment", "")),
    Operation(
        "backtrack, continuing",
        lambda workspace: branches.backtrack(workspace, "phase 1", "continue"),
    ),
    Operation(
        "backtrack, forgetting",
        lambda workspace: branches.backtrack(workspace, "phase 1", "forget", lesson=LESSON),
        erases=("carts rest in Redis", "carts expire after a day", "carts work"),
        late=(LESSON,),
    ),
    Operation("restore", _restore, begin=_begin_with_a_line),
    Operation(
        "write to all layers of a node",
        lambda workspace: layers.write_node(workspace, _LAYERS),
        late=_LAYERED,
    ),
    Operation("sum events up", _sum_up, begin=_begin_layered, late=(_SUM,), hides=(_LAYERED[1],)),
    Operation(
        "join a node, which goes first",
        lambda workspace: layers.join_node(workspace.at(_NODE), prefer="child"),
        begin=_begin_layered,
        late=(_WON,),
        hides=(_LAYERED[0],),
    ),
    Operation(
        "discard a node",
        lambda workspace: layers.discard_node(workspace.at(_NODE), LESSON),
        begin=_begin_layered,
        late=(LESSON,),
    ),
)
