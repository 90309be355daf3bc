"""The only builder of adapters: from settings to the workspace.

Building opens no store and no connection: it finds the project, and reads at most the manifest of
the local model. Files and indexes are opened on first use.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memory_mcp import rendered
from memory_mcp.config.load import digest_project_settings
from memory_mcp.config.places import (
    RECORDS_FOLDER,
    ProjectFolders,
    find_project_folders,
    find_team_folder,
    find_user_folder,
    name_folder,
)
from memory_mcp.config.settings import Settings, find_home_folder, find_machine_home
from memory_mcp.config.values import is_on_this_machine
from memory_mcp.disk import Disk
from memory_mcp.domain.hosts import name_database
from memory_mcp.domain.secret import Secret
from memory_mcp.engine.cloud import name_waiting
from memory_mcp.engine.fields import make_fields
from memory_mcp.engine.index_sync import SelfHealingIndex
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.workspace import (
    Caller,
    Changes,
    Conversations,
    GitFollower,
    MemoryBank,
    Policy,
    SemanticIndex,
    Strangers,
    WaitingRecords,
    Workspace,
)
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.locations import STATE_FOLDER
from memory_mcp.models.local import (
    MINILM,
    NO_EXTRA,
    LocalModel,
    find_newest,
    is_extra_installed,
    read_manifest,
)
from memory_mcp.ports import (
    Embedder,
    HeadStore,
    ImportJournal,
    LanguageModel,
    NudgeQueue,
    RecordStore,
    ResourceFiles,
    VectorIndex,
)
from memory_mcp.storage.files.code import LocalCode
from memory_mcp.storage.files.folders import LocalFolders
from memory_mcp.storage.files.heads import HEAD_FILE, LocalHeads
from memory_mcp.storage.files.host import GitProvenance, GitRemote, SystemClock, SystemIds
from memory_mcp.storage.files.imports import LocalImportJournal
from memory_mcp.storage.files.inbox import LocalInbox
from memory_mcp.storage.files.nudges import NUDGES_FOLDER, LocalNudges
from memory_mcp.storage.files.records import LocalRecords, RecordFolder
from memory_mcp.storage.files.reviews import LocalReviews
from memory_mcp.storage.files.suggestions import LocalSuggestions
from memory_mcp.storage.files.trust import (
    Ledger,
    LocalErasedLog,
    ProjectOwnership,
    TrustedCloud,
    TrustedProjects,
)
from memory_mcp.storage.files.views import LocalViews
from memory_mcp.storage.files.work_trees import WorkTreeRecords, WorkTrees
from memory_mcp.storage.sqlite.index import SqliteIndex
from memory_mcp.storage.sqlite.outbox import OUTBOX_FILE, SqliteOutbox, SqlitePulledRecords
from memory_mcp.storage.sqlite.vectors import SqliteVectors
from memory_mcp.storage.supermemory.documents import namespace_of
from memory_mcp.storage.supermemory.keys import KeySource, SystemKeyring
from memory_mcp.text.drafts import check_branch

INDEX_FILE = "index.sqlite3"
STRANGERS_FILE = "strangers.sqlite3"
WAITING_FILE = "waiting.sqlite3"
WAITING_FOLDER = "waiting"


@frozen
class BuiltWorkspace:
    """The workspace, and what it was built from.

    `embedder` is the one that was made for it alone, if any.
    """

    workspace: Workspace
    places: ProjectFolders
    stores: "Stores"
    embedder: Embedder | None = None

    async def keep_following(self, leaving: asyncio.Event) -> None:
        """Note what other processes change in a database, until this one leaves."""
        if self.stores.follow and self.workspace.policy.enabled:
            await self.stores.follow(self.workspace.project.changes.note, leaving)

    async def aclose(self) -> None:
        """Close what was opened."""
        for bank in self.workspace.banks:  # whatever catches up beside the calls ends first
            await bank.index.aclose()
        if self.workspace.strangers:
            await self.workspace.strangers.bank.index.aclose()
        if self.embedder:
            await self.embedder.aclose()
        if self.workspace.language:
            await self.workspace.language.aclose()
        if self.workspace.waiting:
            await self.workspace.waiting.outbox.aclose()
        for bank in self.workspace.banks:
            if bank.mirror:
                await bank.mirror.aclose()


@frozen
class Stores:
    """Where memories rest: the banks of the project, the team and the user, without a cloud.

    A team's is there only if there is one. `vectors` are those of each bank. Where the records are
    no files, `describe` says what they come to (`LocalViews`), and `follow` tells when other
    processes change them. New ones may wait for them in `waiting`.
    """

    heads: HeadStore
    journal: ImportJournal
    banks: tuple[MemoryBank, ...]
    vectors: tuple[VectorIndex, ...]
    describe: Callable[[], Awaitable[tuple[bool, str] | None]] | None = None
    follow: Callable[[Callable[[], None], asyncio.Event], Awaitable[None]] | None = None
    waiting: WaitingRecords | None = None


def build_workspace(
    settings: Settings,
    disk: Disk | None = None,
    start: Path | None = None,
    shared: Embedder | None = None,
) -> BuiltWorkspace:
    """Connect the ports of a workspace to their adapters. Nothing is opened yet.

    A `shared` embedder takes the place of one of its own; whoever made it closes it.
    """
    settings = _require_database(settings)
    places = find_project_folders(settings, start)
    writer = _make_private(settings, disk)
    trees_of_process = (places.project_dir, places.work_tree)
    writer.roots = tuple(dict.fromkeys(_find_root(each) for each in trees_of_process if each))
    writer.private = (*writer.private, places.machine_dir)
    writer.settings = places.settings
    owned = _build_owned(settings, places, writer)
    trees = _find_trees(settings, places)
    open_records = _make_opener(settings, places, trees, owned, writer)
    stores = (
        _build_local_stores(settings, places, open_records(False), owned, writer)  # noqa: FBT003
        if settings.provider != "postgres" or settings.postgres_url is None
        else _build_postgres_stores(settings, settings.postgres_url, places, owned, writer)
    )
    source = find_cloud_key(settings)
    of_project, of_user = _build_mirrors(settings, source, places, owned, writer)
    team = find_team(settings)
    mirrors = (of_project, *((None,) if team else ()), of_user)  # a team's stay on its server
    own_model = None if shared else build_embedder(settings)
    model = shared or own_model
    wake = asyncio.Event()
    meanings = [SemanticIndex(model, each, wake) if model else None for each in stores.vectors]
    banks = [
        replace(bank, mirror=mirror, meaning=meaning)
        for bank, mirror, meaning in zip(stores.banks, mirrors, meanings, strict=True)
    ]
    git = _build_git(settings, trees, places, writer)
    workspace = Workspace(
        project=banks[0],
        user=banks[-1],
        team=banks[1] if team else None,
        strangers=_build_strangers(places, open_records, owned, settings.untrusted, writer),
        git=git,
        code=_build_code(places, git),
        heads=stores.heads,
        nudges=_build_nudges(settings, writer),
        views=_build_views(places, settings, stores, writer, git),
        inbox=LocalInbox(places.machine_dir, writer, writer.roots),
        suggestions=LocalSuggestions(places.machine_dir, writer),
        journal=stores.journal,
        clock=SystemClock(),
        ids=SystemIds(),
        provenance=GitProvenance(places.work_tree, session=settings.session),
        caller=Caller(places.scope, check_branch(settings.branch), team=team),
        policy=_build_policy(settings, places, source, owned),
        conversations=Conversations(check_branch(settings.branch)),
        reviews=LocalReviews(places.user_state_dir / "reviews", places.machine_dir.name, writer),
        folders=LocalFolders(_list_written(settings, places), writer),
        language=build_language_model(settings),
        waiting=stores.waiting,
    )
    return BuiltWorkspace(workspace, places, stores, own_model)


def prepare_held_project(settings: Settings, disk: Disk | None = None) -> None:
    """Make the folder of a project that a server holds for others: no checkout brings it.

    Raises:
        StoreUnavailableError: the file system refused.
    """
    if settings.project_name and settings.project_dir:
        _make_private(settings, disk).prepare(settings.project_dir)


def _find_trees(settings: Settings, places: ProjectFolders) -> WorkTrees | None:
    """The work trees that share the project's memory; None without a checkout of one."""
    if places.work_tree is None or places.project_dir is None or settings.project_name:
        return None
    records = os.path.relpath(places.memory_dir, places.project_dir)
    return WorkTrees(places.work_tree, places.project_dir, os.environ, records)


def _find_root(folder: Path) -> Path:
    """The folder, or what there is of its path: on its branch a work tree may not have it."""
    return next((each for each in (folder, *folder.parents) if each.is_dir()), folder)


_OpenRecords = Callable[[bool], LocalRecords | WorkTreeRecords]
"""Opens the project's records: this machine's, or those of strangers."""


def _make_opener(
    settings: Settings,
    places: ProjectFolders,
    trees: WorkTrees | None,
    owned: ProjectOwnership | None,
    disk: Disk,
) -> _OpenRecords:
    """Opens the records in every work tree, unless a setting names the one folder."""
    project = str(places.project_dir or "")

    @cache
    def open_folder(tree: str) -> RecordFolder:
        root = places.memory_dir if tree == project else Path(tree, *RECORDS_FOLDER)
        if tree:
            disk.roots = tuple(dict.fromkeys((*disk.roots, _find_root(Path(tree)))))
        return RecordFolder(root, tree, setting=disk.setting_of(root))

    def open_records(strangers: bool) -> LocalRecords | WorkTreeRecords:  # noqa: FBT001
        def open_tree(tree: str) -> LocalRecords:
            return LocalRecords(open_folder(tree), disk, owned, strangers=strangers)

        if trees is None or settings.memory_dir:
            return open_tree(project)
        return WorkTreeRecords(trees, open_tree)

    return open_records


def find_team(settings: Settings) -> str:
    """The team that the user belongs to; '' where memories are files of one person."""
    return settings.team if settings.hosted or settings.provider == "postgres" else ""


def _build_local_stores(
    settings: Settings,
    places: ProjectFolders,
    records: RecordStore,
    owned: ProjectOwnership | None,
    disk: Disk,
) -> Stores:
    """Records and heads in files, and SQLite beside them."""
    of_team = find_team_folder(settings, team) if (team := find_team(settings)) else None
    shared = [(of_team / STATE_FOLDER, of_team / "memory")] if of_team else []
    own = [*shared, (places.user_state_dir, places.user_memory_dir)]
    stores = [(places.machine_dir, records)]
    stores += (
        (state, LocalRecords(RecordFolder(memory, setting="MEMORY_HOME"), disk))
        for state, memory in own
    )
    indexes = [_build_index(folder / INDEX_FILE, disk) for folder, _ in stores]
    changes = Changes()

    def build_bank(folder: Path, store: RecordStore, index: SqliteIndex) -> MemoryBank:
        pulled = SqlitePulledRecords(folder / OUTBOX_FILE, lambda: disk.prepare(folder))
        healing = SelfHealingIndex(index, store, LocalErasedLog(folder, disk), pulled)
        return MemoryBank(store, healing, changes=changes)

    below = str(places.project_dir or "")
    return Stores(
        heads=LocalHeads(places.state_dir, disk, owned, below=below),
        journal=LocalImportJournal(places.machine_dir, disk),
        banks=tuple(build_bank(*each, i) for each, i in zip(stores, indexes, strict=True)),
        vectors=tuple(map(SqliteVectors, indexes)),
    )


def _build_postgres_stores(
    settings: Settings,
    url: Secret,
    places: ProjectFolders,
    owned: ProjectOwnership | None,
    disk: Disk,
) -> Stores:
    """Everything in one database; the project's bank is everyone's who may use that."""
    from memory_mcp.storage.postgres import (  # noqa: PLC0415  # an extra, and few have it
        TEAM,
        Bank,
        Postgres,
        PostgresErasedLog,
        PostgresHeads,
        PostgresImportJournal,
        PostgresIndex,
        PostgresRecords,
        PostgresVectors,
        Principal,
        describe_state,
        follow_changes,
    )

    user, team = places.scope.user, find_team(settings)
    owner, project = _name_bank(settings.project_name, places, owned)
    waits_in = places.user_state_dir / WAITING_FOLDER / places.machine_dir.name
    folder = RecordFolder(waits_in / WAITING_FOLDER, setting="MEMORY_HOME")
    accepts = settings.postgres_away == "wait"
    database = Postgres(
        url.get_secret_value(),
        Principal(user, owner, project, team),
        connections_max=settings.postgres_connections,
        describe_waiting=lambda: " ".join(name_waiting(len(folder.ids()))),
    )
    shared = [Bank(database, team, TEAM)] if team else []
    banks = (Bank(database, owner, project), *shared, Bank(database, user, ""))
    changes = Changes()

    def build_bank(bank: Bank) -> MemoryBank:
        store, index = PostgresRecords(bank, make_fields), PostgresIndex(bank, make_fields)
        log = PostgresErasedLog(bank)
        healing = SelfHealingIndex(index, store, log, in_step=index.is_in_step)
        return MemoryBank(store, healing, changes=changes, put_new=store.put_new)

    return Stores(
        heads=PostgresHeads(banks[0]),
        journal=PostgresImportJournal(banks[0]),
        banks=tuple(map(build_bank, banks)),
        vectors=tuple(map(PostgresVectors, banks)),
        describe=lambda: describe_state(banks),
        follow=lambda note, leaving: follow_changes(banks, note, leaving),
        waiting=(
            _build_waiting(folder, waits_in, disk, accepts=accepts)
            if accepts or (waits_in / WAITING_FILE).exists()
            else None
        ),
    )


def _build_waiting(
    folder: RecordFolder, state: Path, disk: Disk, *, accepts: bool
) -> WaitingRecords:
    """What waits for the database: the outbox that the cloud has, too, and the texts beside it."""
    outbox = SqliteOutbox(state / WAITING_FILE, lambda: disk.prepare(state))
    return WaitingRecords(LocalRecords(folder, disk), outbox, accepts)


def _name_bank(
    held: str, places: ProjectFolders, owned: ProjectOwnership | None
) -> tuple[str, str]:
    """The owner and the name of the project's bank.

    A `held` project is called so by a server that lets in whom it belongs to. A name that comes
    from the repository alone opens nobody's: an archive can claim to be any project. Then, and
    without a remote, the folder has a bank of its user's own.
    """
    if held:
        return "", held
    if places.remote and owned and owned.may_use_cloud():
        return "", places.remote
    return places.scope.user, name_folder(places.project_dir)


def _require_database(settings: Settings) -> Settings:
    """The settings, with memory off if they ask for a database that nothing leads to."""
    if settings.provider != "postgres" or not settings.enabled:
        return settings
    if settings.postgres_url is None:
        why = "MEMORY_POSTGRES_URL is not set. Set it to postgresql://user@host:port/database"
    elif find_spec("asyncpg") is None:
        why = "its driver is not installed. Run `pip install 'backtrack-memory[postgres]'`"
    else:
        return settings
    off = f"Memory is off: MEMORY_PROVIDER is postgres, and {why}, then start again."
    return replace(settings, enabled=False, off=off, warnings=(*settings.warnings, off))


def _name_database(settings: Settings) -> str:
    url = settings.postgres_url if settings.provider == "postgres" else None
    return name_database(url.get_secret_value()) if url else ""


def _build_policy(
    settings: Settings,
    places: ProjectFolders,
    source: KeySource,
    owned: ProjectOwnership | None,
) -> Policy:
    return Policy(
        enabled=settings.enabled,
        off=settings.off,
        meta=settings.meta or bool(places.lost),
        database=_name_database(settings),
        lost=bool(places.lost) or settings.lost,
        homeless=not (places.project_dir or places.lost or _is_elsewhere(settings)),
        approval=settings.approval,
        phase=settings.phase,
        warnings=_collect_warnings(settings, places, source, owned),
        reminds="hooks" not in settings.toolsets,  # else the hooks do
        weights=settings.weights,
        secrets=settings.secrets,
        merging=settings.merging,
        episode_settings=settings.episode_settings,
        capture=settings.capture,
        opening=settings.opening,
        recall_window=settings.recall_window,
    )


def _is_elsewhere(settings: Settings) -> bool:
    """Whether somebody chose where memories without a folder of a project belong."""
    chosen = settings.project_name or settings.state_dir or settings.memory_dir
    return bool(chosen) or settings.hosted


def _build_mirrors(
    settings: Settings,
    source: KeySource,
    places: ProjectFolders,
    owned: ProjectOwnership | None,
    disk: Disk,
) -> tuple[Mirror | None, Mirror | None]:
    """The cloud behind the project's bank and the user's: one client, an outbox and namespace each.

    A project whose name comes from the repository alone is not mirrored: an archive can claim to be
    any project.
    """
    if (
        not settings.enabled
        or not is_cloud_chosen(settings, source)
        or _warn_without_key(settings, source)
    ):
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
    trust = TrustedCloud(find_home_folder(settings), settings.base_url, disk)
    user, project = places.scope.user, places.scope.project

    def is_vouched() -> bool:
        return owned is None or owned.may_use_cloud() or bool(settings.container_tag)

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
            may_use_cloud=vouched,
            search_seconds=settings.remote_timeout,
            extract=settings.extraction,
        )

    namespace = settings.container_tag or namespace_of(user, project)
    own = mirror(places.machine_dir, namespace, is_vouched) if is_vouched() else None
    return own, mirror(places.user_state_dir, namespace_of(user, None), lambda: True)


def _list_written(settings: Settings, places: ProjectFolders) -> list[Path]:
    """The folders that a new memory, a move, or an answer of the user needs."""
    if settings.provider == "postgres" and settings.postgres_url:
        return [places.machine_dir, places.user_state_dir]
    return [places.memory_dir, places.state_dir, places.user_memory_dir, places.machine_dir]


def _build_owned(settings: Settings, places: ProjectFolders, disk: Disk) -> ProjectOwnership | None:
    """What tells this machine's files from a stranger's; without a checkout all are its own."""
    if places.project_dir is None or settings.project_name:
        return None
    projects = TrustedProjects(find_home_folder(settings), disk)
    ledger = Ledger(places.machine_dir, disk)
    return ProjectOwnership(
        places.machine_dir,
        ledger,
        projects,
        records=places.records,
        address=GitRemote(places.project_dir).address,
        settings=partial(digest_project_settings, places.project_dir),
        name=places.remote,
        project=str(places.project_dir),
        folders=(str(places.memory_dir), str(places.state_dir)),
    )


def _build_index(path: Path, disk: Disk) -> SqliteIndex:
    setting = disk.setting_of(path)
    return SqliteIndex(path, make_fields, lambda: disk.prepare(path.parent), setting=setting)


def _build_strangers(
    places: ProjectFolders,
    open_records: _OpenRecords,
    owned: ProjectOwnership | None,
    settings: tuple[str, ...],
    disk: Disk,
) -> Strangers | None:
    """What came with the repository, silent until the user trusts the project."""
    if owned is None:
        return None
    records = open_records(True)  # noqa: FBT003  # they are strangers
    index = _build_index(places.machine_dir / STRANGERS_FILE, disk)
    bank = MemoryBank(records, SelfHealingIndex(index, records, obeys=False))
    return Strangers(bank, owned, settings)


def _build_git(
    settings: Settings, trees: WorkTrees | None, places: ProjectFolders, disk: Disk
) -> GitFollower | None:
    """What follows git in the work tree of this process; None where there is none."""
    if trees is None or settings.git == "off" or not settings.enabled:
        return None
    from memory_mcp.storage.files.git import LocalGit  # noqa: PLC0415  # subprocess takes 5 ms

    history = LocalGit(trees, places.machine_dir, disk, os.environ)
    return GitFollower(history, settings.git) if history.name else None


def _build_code(places: ProjectFolders, git: GitFollower | None) -> LocalCode | None:
    """The files that memories cite; git says where they went, unless it is switched off."""
    if places.work_tree is None:
        return None
    if git is None:
        return LocalCode(places.work_tree)
    history = git.history
    return LocalCode(
        places.work_tree, history.find_renames, history.list_untracked, history.list_versions
    )


def _build_nudges(settings: Settings, disk: Disk) -> NudgeQueue:
    """Where programs leave nudges: a folder of the user, or a remote queue."""

    def folder_of(user: str) -> Path:
        return find_user_folder(settings, user) / NUDGES_FOLDER

    if settings.nudge_queue:
        from memory_mcp.storage.sqs import SqsNudges  # noqa: PLC0415  # only where it is used

        return SqsNudges(settings.nudge_queue, folder_of, disk)
    return LocalNudges(folder_of, disk)


def _build_views(
    places: ProjectFolders,
    settings: Settings,
    stores: Stores,
    disk: Disk,
    git: GitFollower | None,
) -> LocalViews:
    """The rendered files: beside the memories, and in the project's `.claude`."""
    return LocalViews(
        places.machine_dir,
        places.memory_dir,
        (places.user_state_dir, places.user_memory_dir),
        disk,
        head_file=(
            places.machine_dir / rendered.DATABASE_STATE_FILE
            if stores.describe
            else places.state_dir / HEAD_FILE
        ),
        project=places.project_dir,
        whose=(settings.user, str(settings.home or ""), settings.team),
        follows=git.list_followed if git else tuple,
        describe=stores.describe,
    )


def _collect_warnings(
    settings: Settings,
    places: ProjectFolders,
    source: KeySource,
    owned: ProjectOwnership | None,
) -> tuple[str, ...]:
    """What cannot be as the settings ask for, and what to do."""
    lost = (places.lost,) if places.lost else ()
    alone = (_UNSHARED.format(places.remote),) if _is_unshared(settings, owned) else ()
    teamless = (_NO_TEAM,) if settings.enabled and settings.team and not find_team(settings) else ()
    return (*settings.warnings, *lost, *alone, *teamless, *_warn_without_key(settings, source))


_UNSHARED: Final = (
    "The name {!r} comes from the repository alone, so this folder has a memory of its own in the "
    "database. To use the project's, run `memory-mcp trust`, then start again."
)


_NO_TEAM: Final = (
    "MEMORY_TEAM is set, but memories are files of one person here: there is no team. Set "
    "MEMORY_PROVIDER=postgres and MEMORY_POSTGRES_URL, or remove MEMORY_TEAM, then start again."
)


def _is_unshared(settings: Settings, owned: ProjectOwnership | None) -> bool:
    """Whether the project's bank in the database is not used, because nobody vouched for it."""
    in_database = settings.enabled and settings.provider == "postgres"
    return in_database and owned is not None and not owned.may_use_cloud()


def _warn_without_key(settings: Settings, source: KeySource) -> tuple[str, ...]:
    """A warning, if the settings ask for the cloud and there is no key."""
    keyless = source.origin == "none" and not is_on_this_machine(settings.base_url)
    wanted = settings.provider == "supermemory" and not settings.cloud_off
    if settings.enabled and wanted and keyless:
        warning = (
            "MEMORY_PROVIDER is supermemory, but there is no key: memories are kept on this "
            "machine only. Ask the user to set SUPERMEMORY_API_KEY or to run `memory-mcp cloud "
            "login`, then to start this server again; MEMORY_PROVIDER=local says that it is meant "
            "so."
        )
        return (warning,)
    return ()


@asynccontextmanager
async def open_workspace(
    settings: Settings, disk: Disk | None = None, start: Path | None = None
) -> AsyncGenerator[BuiltWorkspace]:
    """A workspace that is closed at the end."""
    built = build_workspace(settings, disk, start)
    try:
        yield built
    finally:
        await built.aclose()


def build_keyring(settings: Settings, disk: Disk | None = None) -> SystemKeyring:
    """The keyring in which `login` stores keys."""
    return SystemKeyring(find_home_folder(settings), _make_private(settings, disk))


def find_cloud_key(settings: Settings) -> KeySource:
    """The source of the cloud's key: the environment, else the keyring. It is not read yet."""
    if (key := settings.api_key) is not None:
        return KeySource("environment", lambda: key)
    keyring = build_keyring(settings)
    if keyring.knows(settings.base_url):
        return KeySource("keyring", lambda: keyring.read(settings.base_url))
    return KeySource("none", lambda: None)


def is_cloud_chosen(settings: Settings, source: KeySource) -> bool:
    """Whether memories are mirrored: by setting, or because there is a key or a local server."""
    match settings.provider:
        case _ if settings.cloud_off:
            return False
        case "local" | "postgres":
            return False
        case "supermemory":
            return True
        case "auto":
            return source.origin != "none" or is_on_this_machine(settings.base_url)


if TYPE_CHECKING:
    from memory_mcp.models.install import ModelStore  # for `models` alone


def build_model_store(settings: Settings, disk: Disk | None = None) -> "ModelStore":
    """The store of models on this machine."""
    from memory_mcp.models.install import ModelStore  # noqa: PLC0415  # for `models` alone

    return ModelStore(_find_model_home(settings), _make_private(settings, disk))


def _make_private(settings: Settings, disk: Disk | None) -> Disk:
    """The disk, which lets nobody else into the user's own folders."""
    disk = disk or Disk()
    disk.private = (find_home_folder(settings), Path(find_machine_home(settings)))
    return disk


def build_resource_files(roots: Sequence[Path]) -> ResourceFiles:
    """What looks at a program's resources below these folders."""
    from memory_mcp.storage.files.resources import LocalResources  # noqa: PLC0415  # few ask

    return LocalResources(roots)


def build_embedder(settings: Settings) -> Embedder | None:
    """The embedder that was chosen, if any."""
    chosen = settings.embedder
    if not settings.enabled:
        return None
    _limit_numpy_threads()
    match chosen.name:
        case "none":
            return None
        case "auto" | "minilm" | "local":
            return _build_local(settings)
        case "openai":
            from memory_mcp.models.embedders import OpenAiEmbedder  # noqa: PLC0415  # few have one

            return OpenAiEmbedder(chosen.url, chosen.model, chosen.api_key)
        case "ollama":
            from memory_mcp.models.embedders import OllamaEmbedder  # noqa: PLC0415  # few have one

            return OllamaEmbedder(chosen.url, chosen.model, chosen.api_key)


def build_language_model(settings: Settings) -> LanguageModel | None:
    """The language model that was chosen, if any."""
    chosen = settings.language
    if not settings.enabled or chosen is None:
        return None
    from memory_mcp.models.chat import ChatModel  # noqa: PLC0415  # few sessions have one

    return ChatModel(chosen.url, chosen.model, chosen.api_key)


def _limit_numpy_threads() -> None:
    """Let numpy, which is not imported yet, compute in one thread: its products are small here.

    With more threads they take longer, which spend the time waiting for each other.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(name, "1")


def _build_local(settings: Settings) -> Embedder | None:
    """The model that was named, or the one that was added last; with `auto` there may be none."""
    chosen, home = settings.embedder, _find_model_home(settings)
    name = chosen.model or (MINILM if chosen.name == "minilm" else find_newest(home))
    if not name:
        return None
    from memory_mcp.models.embedders import AbsentEmbedder  # noqa: PLC0415  # few have a model

    folder = home / name
    try:
        manifest = read_manifest(folder)
    except ModelUnavailableError as error:
        return AbsentEmbedder(name, str(error))
    if manifest is not None and is_extra_installed():
        return LocalModel(folder, manifest)
    if chosen.name == "auto":
        return None
    missing = f"The model {name} is not on this machine. Run `memory-mcp models add {name}`."
    return AbsentEmbedder(name, missing if manifest is None else NO_EXTRA)


def _find_model_home(settings: Settings) -> Path:
    return find_home_folder(settings) / "models"
