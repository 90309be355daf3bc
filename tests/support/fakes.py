"""A world that tests own: time that moves when told, ids that repeat, adapters in memory.

They are handed in, never patched in. `stores_in_memory` holds the adapters; here are the clock, the
ids, and workspace over adapters in memory or over real ones.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from inbox_in_memory import MemoryInbox
from nudges_in_memory import MemoryNudges
from postgres import provider_settings
from reviews_in_memory import ReviewsInMemory
from stores_in_memory import MemoryHeads, MemoryIndex, MemoryJournal, MemoryRecords
from suggestions_in_memory import MemorySuggestions
from views_in_memory import MemoryViews

from memory_mcp import branches
from memory_mcp.build import build_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.ids import ROOT, BranchName, RecordId, is_record_id
from memory_mcp.domain.outcomes import BranchReady
from memory_mcp.domain.record import Origin, Record, Scope
from memory_mcp.engine.index_sync import SelfHealingIndex
from memory_mcp.engine.workspace import (
    Caller,
    Changes,
    Conversations,
    MemoryBank,
    Policy,
    Workspace,
)
from memory_mcp.storage.files.folders import LocalFolders
from memory_mcp.storage.files.trust import TrustedProjects

START: Final = datetime(2026, 1, 31, 14, 30, 22, 104_000, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)
SCOPE: Final = Scope(user="ann", project="shop")


class FakeClock:
    """A clock that moves only when told, in whole milliseconds."""

    def __init__(self, at: datetime = START) -> None:
        self._now = at

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        assert by % MILLISECOND == timedelta(0), "what is stored is what was compared"
        self._now += by


class FakeIds:
    """UUIDv7 of the clock's time, rising, the same in every run.

    `process` keeps the ids of two sessions apart that share one clock.
    """

    def __init__(self, process: int = 0) -> None:
        self._process = process
        self.last = 0

    def new(self, at: datetime) -> RecordId:
        self.last = max(int(at.timestamp() * 1000) << 12, self.last + 1)
        time, counter = divmod(self.last, 1 << 12)
        value = time << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | self._process
        return RecordId(str(UUID(int=value)))


class FakeProvenance:
    """Every client stands at the same commit."""

    def origin(self, client: str) -> Origin:
        return Origin(client=client, session="a-session", commit="c0ffee" * 6 + "c0ff")


_PLACES: Final = ("segment", "supersedes", "derived_from")


def _is_short(named: Any) -> bool:
    """Whether a test calls segments or memories by names that a reader follows: "here", "old"."""
    names = (named,) if isinstance(named, str) else named or ()
    return any(name != ROOT and not is_record_id(name) for name in names)


class Scribe:
    """Writes records in one line each; what is not said is plain.

    Segments and other memories may be called by any name; a file of such a record is not read.
    """

    def __init__(self, clock: FakeClock | None = None, ids: FakeIds | None = None) -> None:
        self.clock = clock or FakeClock()
        self.ids = ids or FakeIds()

    def record(self, content: str = "a plain memory", **fields: Any) -> Record:
        now = self.clock.now()
        given: dict[str, Any] = {
            "id": self.ids.new(now), "kind": "fact", "scope": SCOPE, "created_at": now,
        }  # fmt: skip
        whole: dict[str, Any] = {"content": content, **given, **fields}
        short = {name: whole.pop(name) for name in _PLACES if _is_short(whole.get(name))}
        return Record(**whole).model_copy(update=short)


def fake_workspace(
    clock: FakeClock | None = None,
    ids: FakeIds | None = None,
    *,
    policy: Policy | None = None,
    branch: str = "main",
) -> Workspace:
    """A workspace in memory: nothing touches a file."""
    stores = (MemoryRecords(), MemoryRecords())
    changes = Changes()
    banks = [
        MemoryBank(store, SelfHealingIndex(MemoryIndex(), store), changes=changes)
        for store in stores
    ]
    return Workspace(
        reviews=ReviewsInMemory(),
        folders=LocalFolders((), Disk()),
        project=banks[0],
        user=banks[1],
        heads=MemoryHeads(),
        nudges=MemoryNudges(),
        inbox=MemoryInbox(),
        suggestions=MemorySuggestions(),
        views=MemoryViews(lambda: changes.count),
        journal=MemoryJournal(),
        clock=clock or FakeClock(),
        ids=ids or FakeIds(),
        provenance=FakeProvenance(),
        caller=Caller(SCOPE, BranchName(branch)),
        policy=policy or Policy(),
        conversations=Conversations(BranchName(branch)),
    )


def real_workspace(
    folder: Path,
    clock: FakeClock | None = None,
    ids: FakeIds | None = None,
    *,
    policy: Policy | None = None,
    branch: str = "main",
    disk: Disk | None = None,
) -> Workspace:
    """A workspace over real files and real SQLite below the folder, as `build` connects them.

    The project is trusted: records are copied between such folders as between teammates.

    Called twice for one folder it gives two processes' worth of adapters. Close with
    `close_workspace`.
    """
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        project_dir=project, home=folder / "home", user="ann", branch=branch, **provider_settings()
    )
    records = str((project / ".claude" / "memory").resolve())
    TrustedProjects(folder / "home", Disk()).trust(records, "")
    return replace(
        build_workspace(settings, disk).workspace,
        clock=clock or FakeClock(),
        ids=ids or FakeIds(),
        provenance=FakeProvenance(),
        caller=Caller(SCOPE, BranchName(branch)),
        policy=policy or Policy(),
    )


def another_session(
    workspace: Workspace, branch: str = "main", policy: Policy | None = None
) -> Workspace:
    """A second session in the same process: same memories, its own branch."""
    on = BranchName(branch)
    return replace(
        workspace,
        caller=replace(workspace.caller, branch=on),
        conversations=Conversations(on),
        policy=policy or workspace.policy,
    )


def called(workspace: Workspace, **of: Any) -> Workspace:
    """The same memory for another caller: another conversation, another client."""
    return replace(workspace, caller=replace(workspace.caller, **of))


async def forked(workspace: Workspace, name: str, at: str) -> Workspace:
    """Begin a branch, and go on there."""
    begun = await branches.fork_branch(workspace, name, at)
    assert isinstance(begun, BranchReady), begun
    return workspace.at(begun.branch)


async def switched(workspace: Workspace, name: str) -> Workspace:
    """Go on on that branch."""
    there = await branches.switch_branch(workspace, name)
    assert isinstance(there, BranchReady), there
    return workspace.at(there.branch)


async def close_workspace(workspace: Workspace) -> None:
    """Close what was opened."""
    strangers = [workspace.strangers.bank] if workspace.strangers else []
    for bank in (*workspace.banks, *strangers):
        await bank.index.aclose()
