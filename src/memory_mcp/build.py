"""The only builder of adapters: from settings to the workspace.

Building opens nothing and asks nobody: it looks for the project, and reads one small file about the
local model at most. Files and indexes are opened on first use.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_mcp.config.places import Places, find_places, user_folder
from memory_mcp.config.settings import Settings, home_folder
from memory_mcp.config.values import on_this_machine
from memory_mcp.disk import Disk
from memory_mcp.engine.index_sync import HealedIndex
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.workspace import (
    Caller,
    Changes,
    Conversations,
    Meaning,
    Policy,
    Pool,
    Strangers,
    Workspace,
)
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.locations import plain_path
from memory_mcp.models.embedders import AbsentEmbedder, OllamaEmbedder, OpenAiEmbedder
from memory_mcp.models.manifest import NO_EXTRA, extra_installed, read_manifest
from memory_mcp.models.minilm import MiniLm
from memory_mcp.ports import Embedder, LanguageModel, NudgeQueue
from memory_mcp.ranking.analysis import extract_fields
from memory_mcp.storage.files.heads import HEAD_FILE, LocalHeads
from memory_mcp.storage.files.host import GitProvenance, GitRemote, SystemClock, SystemIds
from memory_mcp.storage.files.imports import LocalJournal
from memory_mcp.storage.files.inbox import LocalInbox
from memory_mcp.storage.files.nudges import NUDGES_FOLDER, LocalNudges
from memory_mcp.storage.files.records import LocalRecords, RecordFolder
from memory_mcp.storage.files.trust import Ledger, LocalErased, Owned, TrustedCloud, TrustedProjects
from memory_mcp.storage.files.views import LocalViews
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.sqlite.outbox import OUTBOX_FILE, SqliteOutbox, SqlitePulledRecords
from memory_mcp.storage.sqlite.vectors import SqliteVectors
from memory_mcp.storage.supermemory.documents import namespace_of
from memory_mcp.storage.supermemory.keys import KeySource, SystemKeyring
from memory_mcp.text.drafts import check_branch

INDEX_FILE = "index.sqlite3"
STRANGERS_FILE = "strangers.sqlite3"


@dataclass(frozen=True)
class Built:
    """The workspace and, for the doctor, the adapters behind the ports."""

    workspace: Workspace
    places: Places
    owned: Owned | None
    heads: LocalHeads
    records: tuple[LocalRecords, LocalRecords]
    indexes: tuple[SqliteIndex, SqliteIndex]
    pulled: tuple[SqlitePulledRecords, ...]

    async def aclose(self) -> None:
        """Close what was opened."""
        for file in (*self.indexes, *self.pulled):
            await file.aclose()
        if self.workspace.strangers:
            await self.workspace.strangers.pool.index.aclose()
        if meaning := self.workspace.project.meaning:
            await meaning.embedder.aclose()
        if self.workspace.language:
            await self.workspace.language.aclose()
        for pool in self.workspace.pools:
            if pool.mirror:
                await pool.mirror.aclose()


def build(settings: Settings, disk: Disk | None = None, start: Path | None = None) -> Built:
    """Everything, wired. Nothing is opened yet."""
    places = find_places(settings, start)
    writer = disk or Disk()
    below = str(places.project_dir or "")
    if places.project_dir:
        writer.roots = (places.project_dir,)
    writer.private = (places.machine_dir,)
    writer.settings = places.settings
    owned = _owned(settings, places, writer)
    clock = SystemClock()
    memory_setting = writer.setting_of(places.memory_dir)
    folder = RecordFolder(places.memory_dir, below, setting=memory_setting)
    records = (
        LocalRecords(folder, writer, owned),
        LocalRecords(RecordFolder(places.user_memory_dir, setting="MEMORY_HOME"), writer),
    )
    folders = (places.machine_dir, places.user_state_dir)
    indexes = tuple(_index(folder / INDEX_FILE, writer) for folder in folders)
    pulled = tuple(
        SqlitePulledRecords(each / OUTBOX_FILE, lambda each=each: writer.prepare(each))
        for each in folders
    )
    heads = LocalHeads(places.state_dir, writer, owned, below=below)
    source = cloud_key(settings)
    mirrors = _mirrors(settings, source, places, owned, writer)
    model = embedder(settings)
    wake = asyncio.Event()
    meanings = [Meaning(model, SqliteVectors(i), wake) if model else None for i in indexes]
    changes = Changes()
    logs = [LocalErased(each, writer) for each in folders]
    pools = [
        Pool(store, HealedIndex(index, store, log, came), mirror, meaning, changes=changes)
        for store, index, log, came, mirror, meaning in zip(
            records, indexes, logs, pulled, mirrors, meanings, strict=True
        )
    ]
    workspace = Workspace(
        project=pools[0],
        user=pools[1],
        strangers=_strangers(places, folder, owned, writer),
        heads=heads,
        nudges=_nudges(settings, writer),
        views=_views(places, settings, writer),
        inbox=LocalInbox(places.machine_dir, writer, _trees(places)),
        journal=LocalJournal(places.machine_dir, writer),
        clock=clock,
        ids=SystemIds(),
        provenance=GitProvenance(places.work_tree, session=settings.session),
        caller=Caller(places.scope, check_branch(settings.branch)),
        policy=Policy(
            enabled=settings.enabled,
            meta=settings.meta or bool(places.lost),
            lost=bool(places.lost) or settings.lost,
            approval=settings.approval,
            phase=settings.phase,
            warnings=_warnings(settings, places, source),
            reminds="hooks" not in settings.toolsets,  # else the hooks do
            weights=settings.weights,
            secrets=settings.secrets,
            merging=settings.merging,
            pace=settings.pace,
            opening=settings.opening,
        ),
        conversations=Conversations(check_branch(settings.branch)),
        language=language(settings),
    )
    return Built(workspace, places, owned, heads, records, (indexes[0], indexes[1]), pulled)


def _mirrors(
    settings: Settings, source: KeySource, places: Places, owned: Owned | None, disk: Disk
) -> tuple[Mirror | None, Mirror | None]:
    """The cloud behind the project's pool and the user's: one client, an outbox and a name each.

    Under a name that only the repository gives it, nothing of the project goes there or comes from
    there: an archive can claim to be anything.
    """
    if not settings.enabled or not cloud_chosen(settings, source) or _keyless(settings, source):
        return None, None

    def key() -> str:
        secret = source.read()
        return secret.get_secret_value() if secret else ""

    from memory_mcp.storage.supermemory.client import Supermemory  # noqa: PLC0415  # 10 ms of models

    remote = Supermemory(
        settings.base_url,
        key,
        search_seconds=settings.remote_timeout,
        extraction=settings.extraction,
    )
    wake, clock = asyncio.Event(), SystemClock()
    trust = TrustedCloud(home_folder(settings), settings.base_url, disk)
    user, project = places.scope.user, places.scope.project

    def vouched() -> bool:
        return owned is None or owned.vouched() or bool(settings.container_tag)

    def mirror(state: Path, namespace: str, vouched: Callable[[], bool]) -> Mirror:
        address = f"{settings.base_url}/ns/{namespace}"
        outbox = SqliteOutbox(state / OUTBOX_FILE, lambda: disk.prepare(state), address)
        return Mirror(
            remote=remote,
            outbox=outbox,
            namespace=namespace,
            clock=clock,
            wake=wake,
            trust=trust,
            vouched=vouched,
            search_seconds=settings.remote_timeout,
            extract=settings.extraction,
        )

    return (
        mirror(places.machine_dir, settings.container_tag or namespace_of(user, project), vouched)
        if vouched()
        else None,
        mirror(places.user_state_dir, namespace_of(user, None), lambda: True),
    )


def _owned(settings: Settings, places: Places, disk: Disk) -> Owned | None:
    """How this machine's files are told from those of a stranger; outside of a project all are."""
    if places.project_dir is None:
        return None
    projects = TrustedProjects(home_folder(settings), disk)
    ledger = Ledger(places.machine_dir, disk)
    return Owned(
        places.machine_dir,
        ledger,
        projects,
        records=plain_path(str(places.memory_dir), str(places.project_dir)),
        address=GitRemote(places.project_dir).address,
        name=places.remote,
        project=str(places.project_dir),
        folders=(str(places.memory_dir), str(places.state_dir)),
    )


def _trees(places: Places) -> tuple[Path, ...]:
    """The folders where a repository may have put something."""
    return tuple(each for each in (places.project_dir, places.work_tree) if each)


def _index(path: Path, disk: Disk) -> SqliteIndex:
    setting = disk.setting_of(path)
    return SqliteIndex(path, extract_fields, lambda: disk.prepare(path.parent), setting=setting)


def _strangers(
    places: Places, folder: RecordFolder, owned: Owned | None, disk: Disk
) -> Strangers | None:
    """What came with the repository and counts for nothing until the user trusts the project."""
    if owned is None:
        return None
    records = LocalRecords(folder, disk, owned, strangers=True)
    index = _index(places.machine_dir / STRANGERS_FILE, disk)
    return Strangers(Pool(records, HealedIndex(index, records, obeys=False)), owned)


def _nudges(settings: Settings, disk: Disk) -> NudgeQueue:
    """Where programs leave nudges: a folder of the user's, or a queue far away."""

    def folder_of(user: str) -> Path:
        return user_folder(settings, user) / NUDGES_FOLDER

    if settings.nudge_queue:
        from memory_mcp.storage.sqs import SqsNudges  # noqa: PLC0415  # only where it is used

        return SqsNudges(settings.nudge_queue, folder_of, disk)
    return LocalNudges(folder_of, disk)


def _views(places: Places, settings: Settings, disk: Disk) -> LocalViews:
    """Where rendered files lie: beside the memories, and in the project's own `.claude`."""
    return LocalViews(
        places.machine_dir,
        places.memory_dir,
        (places.user_state_dir, places.user_memory_dir),
        disk,
        head_file=places.state_dir / HEAD_FILE,
        project=places.project_dir,
        whose=(settings.user, str(settings.home or "")),
    )


def _warnings(settings: Settings, places: Places, source: KeySource) -> tuple[str, ...]:
    """What of the memory cannot be as it was asked for, and what to do."""
    lost = (places.lost,) if places.lost else ()
    return (*settings.warnings, *lost, *_keyless(settings, source))


def _keyless(settings: Settings, source: KeySource) -> tuple[str, ...]:
    """A word on the cloud that was asked for and cannot be had, because there is no key."""
    keyless = source.origin == "none" and not on_this_machine(settings.base_url)
    wanted = settings.provider == "supermemory" and not settings.cloud_off
    if settings.enabled and wanted and keyless:
        said = (
            "MEMORY_PROVIDER is supermemory, but there is no key: memories are kept on this "
            "machine only. Ask the user to set SUPERMEMORY_API_KEY or to run `memory-mcp login`, "
            "then to start this server again; MEMORY_PROVIDER=local says that it is meant so."
        )
        return (said,)
    return ()


@asynccontextmanager
async def open_workspace(
    settings: Settings, disk: Disk | None = None, start: Path | None = None
) -> AsyncGenerator[Built]:
    """The workspace for as long as it is needed."""
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
        case _ if settings.cloud_off:
            return False
        case "local":
            return False
        case "supermemory":
            return True
        case "auto":
            return source.origin != "none" or on_this_machine(settings.base_url)


if TYPE_CHECKING:
    from memory_mcp.models.install import ModelStore  # for `models` alone


_MINILM = "minilm"


def model_store(settings: Settings, disk: Disk | None = None) -> "ModelStore":
    """The models on this machine: which are here, adding and removing them."""
    from memory_mcp.models.install import ModelStore  # noqa: PLC0415  # for `models` alone

    return ModelStore(_models(settings), disk or Disk())


def embedder(settings: Settings) -> Embedder | None:
    """What turns text into vectors, if anything was chosen that does."""
    chosen = settings.embedder
    if not settings.enabled:
        return None
    _one_thread()
    match chosen.name:
        case "none":
            return None
        case "auto" | "minilm":
            return _minilm(settings, forced=chosen.name == "minilm")
        case "openai":
            return OpenAiEmbedder(chosen.url, chosen.model, chosen.api_key)
        case "ollama":
            return OllamaEmbedder(chosen.url, chosen.model, chosen.api_key)


def language(settings: Settings) -> LanguageModel | None:
    """What judges and composes, if a model was chosen for it."""
    chosen = settings.language
    if not settings.enabled or chosen is None:
        return None
    from memory_mcp.models.chat import ChatModel  # noqa: PLC0415  # few sessions have one

    return ChatModel(chosen.url, chosen.model, chosen.api_key)


def _one_thread() -> None:
    """Let numpy, which is not imported yet, compute in one thread.

    Its products are small here: with more threads they take longer, and burn the other processor
    waiting for each other.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")


def _minilm(settings: Settings, *, forced: bool) -> Embedder | None:
    folder = _models(settings) / _MINILM
    try:
        manifest = read_manifest(folder)
    except ModelUnavailableError as error:
        return AbsentEmbedder(_MINILM, str(error))
    if manifest is not None and extra_installed():
        return MiniLm(folder, manifest)
    if not forced:
        return None
    missing = "The model minilm is not on this machine. Run `memory-mcp models add minilm`."
    return AbsentEmbedder(_MINILM, missing if manifest is None else NO_EXTRA)


def _models(settings: Settings) -> Path:
    return home_folder(settings) / "models"
