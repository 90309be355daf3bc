"""The only builder of adapters: from settings to rooms.

Building does no I/O beyond looking for the project: files and indexes are opened on first use.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from memory_mcp.app.changes import Changes
from memory_mcp.app.healing import HealedIndex
from memory_mcp.app.meaning import Meaning
from memory_mcp.app.mirror import Mirror
from memory_mcp.app.rooms import Policy, Pool, Rooms, Session
from memory_mcp.disk import Disk
from memory_mcp.domain.shown import PAGES
from memory_mcp.index.sqlite import SqliteIndex
from memory_mcp.index.vectors import SqliteVectors
from memory_mcp.ingestion.drafts import clean_branch
from memory_mcp.mirroring.namespaces import namespace_of
from memory_mcp.model_wiring import embedder, language
from memory_mcp.places import Places, find_places, user_folder
from memory_mcp.ports import NudgeQueue
from memory_mcp.retrieval.analysis import fields_of
from memory_mcp.setting_values import on_this_machine
from memory_mcp.settings import Settings, home_folder
from memory_mcp.stores.heads import LocalHeads, prepare_state
from memory_mcp.stores.host import (
    GitProvenance,
    SystemClock,
    SystemIds,
)
from memory_mcp.stores.inbox import LocalInbox
from memory_mcp.stores.journal import LocalJournal
from memory_mcp.stores.keys import KeySource, SystemKeyring
from memory_mcp.stores.local import LocalRecords
from memory_mcp.stores.nudges import NUDGES_FOLDER, LocalNudges
from memory_mcp.stores.outbox import OUTBOX_FILE, SqliteOutbox
from memory_mcp.stores.views import LocalViews

__all__ = [
    "Built",
    "build",
    "cloud_chosen",
    "cloud_key",
    "open_rooms",
    "system_keyring",
]

INDEX_FILE = "index.sqlite3"


@dataclass(frozen=True)
class Built:
    """The rooms and, for the doctor, the adapters behind the ports."""

    rooms: Rooms
    places: Places
    heads: LocalHeads
    records: tuple[LocalRecords, LocalRecords]
    indexes: tuple[SqliteIndex, SqliteIndex]

    async def aclose(self) -> None:
        """Close what was opened."""
        for index in self.indexes:
            await index.aclose()
        if meaning := self.rooms.project.meaning:
            await meaning.embedder.aclose()
        if self.rooms.language:
            await self.rooms.language.aclose()
        for pool in self.rooms.pools:
            if pool.mirror:
                await pool.mirror.aclose()


def build(settings: Settings, disk: Disk | None = None, start: Path | None = None) -> Built:
    """Everything, wired. Nothing is opened yet."""
    places = find_places(settings, start)
    writer = disk or Disk()
    clock = SystemClock()
    folders = (
        (places.memory_dir, places.state_dir),
        (places.user_memory_dir, places.user_state_dir),
    )
    records = tuple(LocalRecords(memory, writer) for memory, _ in folders)
    indexes = tuple(
        SqliteIndex(state / INDEX_FILE, fields_of, lambda state=state: prepare_state(state, writer))
        for _, state in folders
    )
    heads = LocalHeads(places.state_dir, writer)
    source = cloud_key(settings)
    mirrors = _mirrors(settings, source, places, writer, clock)
    model = embedder(settings)
    wake = asyncio.Event()
    meanings = [Meaning(model, SqliteVectors(i), wake) if model else None for i in indexes]
    changes = Changes()
    pools = [
        Pool(store, HealedIndex(index, store), mirror, meaning, changes=changes)
        for store, index, mirror, meaning in zip(records, indexes, mirrors, meanings, strict=True)
    ]
    rooms = Rooms(
        project=pools[0],
        user=pools[1],
        heads=heads,
        nudges=_nudges(settings, writer),
        views=_views(places, settings, writer),
        inbox=LocalInbox(places.state_dir, writer),
        journal=LocalJournal(places.state_dir, writer),
        clock=clock,
        ids=SystemIds(),
        provenance=GitProvenance(places.project_dir, session=settings.session),
        scope=places.scope,
        policy=Policy(
            enabled=settings.enabled,
            meta=settings.meta,
            approval=settings.approval,
            phase=settings.phase,
            unusable=_unusable(settings, source),
            weights=settings.weights,
            secrets=settings.secrets,
            merging=settings.merging,
            pace=settings.pace,
            opening=settings.opening,
        ),
        session=Session(clean_branch(settings.branch)),
        language=language(settings),
    )
    return Built(rooms, places, heads, (records[0], records[1]), (indexes[0], indexes[1]))


def _mirrors(
    settings: Settings, source: KeySource, places: Places, disk: Disk, clock: SystemClock
) -> tuple[Mirror | None, Mirror | None]:
    """The cloud behind the project's pool and the user's: one client, an outbox and a name each."""
    if not settings.enabled or not cloud_chosen(settings, source) or _unusable(settings, source):
        return None, None

    def key() -> str:
        secret = source.read()
        return secret.get_secret_value() if secret else ""

    from memory_mcp.stores.supermemory import Supermemory  # noqa: PLC0415  # 10 ms of models

    remote = Supermemory(
        settings.base_url,
        key,
        search_seconds=settings.remote_timeout,
        extraction=settings.extraction,
    )
    wake = asyncio.Event()

    def mirror(state: Path, project: str | None) -> Mirror:
        namespace = namespace_of(places.scope.user, project)
        address = f"{settings.base_url}/ns/{namespace}"
        outbox = SqliteOutbox(state / OUTBOX_FILE, lambda: prepare_state(state, disk), address)
        return Mirror(
            remote=remote,
            outbox=outbox,
            namespace=namespace,
            clock=clock,
            wake=wake,
            search_seconds=settings.remote_timeout,
            extract=settings.extraction,
        )

    return (
        mirror(places.state_dir, places.scope.project),
        mirror(places.user_state_dir, None),
    )


def _nudges(settings: Settings, disk: Disk) -> NudgeQueue:
    """Where programs leave nudges: a folder of the user's, or a queue far away."""

    def folder_of(user: str) -> Path:
        return user_folder(settings, user) / NUDGES_FOLDER

    if settings.nudge_queue:
        from memory_mcp.stores.sqs import SqsNudges  # noqa: PLC0415  # only where it is used

        return SqsNudges(settings.nudge_queue, folder_of, disk)
    return LocalNudges(folder_of, disk)


def _views(places: Places, settings: Settings, disk: Disk) -> LocalViews:
    """Where rendered files lie: beside the memories, and in the project's own `.claude`."""
    own = places.project_dir
    return LocalViews(
        places.state_dir,
        places.memory_dir,
        (places.user_state_dir, places.user_memory_dir),
        own / ".claude" / PAGES[0] if own else None,
        disk,
        whose=(settings.user, str(settings.home or "")),
    )


def _unusable(settings: Settings, source: KeySource) -> str:
    """Why the memory cannot be used as it was asked for: the cloud or nothing, and no key."""
    keyless = source.origin == "none" and not on_this_machine(settings.base_url)
    if settings.enabled and settings.provider == "supermemory" and keyless:
        return (
            "MEMORY_PROVIDER is supermemory, but there is no key. Ask the user to set "
            "SUPERMEMORY_API_KEY or to run `memory-mcp login`, then to start this server again; "
            "MEMORY_PROVIDER=auto works without a key."
        )
    return ""


@asynccontextmanager
async def open_rooms(
    settings: Settings, disk: Disk | None = None, start: Path | None = None
) -> AsyncGenerator[Built]:
    """The rooms for as long as they are needed."""
    built = build(settings, disk, start)
    try:
        yield built
    finally:
        await built.aclose()


def system_keyring(settings: Settings, disk: Disk | None = None) -> SystemKeyring:
    """Where `login` keeps keys."""
    return SystemKeyring(home_folder(settings), disk or Disk())


def cloud_key(settings: Settings) -> KeySource:
    """Where the cloud's key comes from: the environment, else the keyring. It is not read yet."""
    if (key := settings.api_key) is not None:
        return KeySource("environment", lambda: key)
    keyring = system_keyring(settings)
    if keyring.knows(settings.base_url):
        return KeySource("keyring", lambda: keyring.read(settings.base_url))
    return KeySource("none", lambda: None)


def cloud_chosen(settings: Settings, source: KeySource) -> bool:
    """Whether memories are also kept in the cloud: said so, or there is all it takes."""
    match settings.provider:
        case "local":
            return False
        case "supermemory":
            return True
        case "auto":
            return source.origin != "none" or on_this_machine(settings.base_url)
