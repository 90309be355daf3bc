"""The local provider: one JSON file a record, `<yyyy-mm>/<id>.json`.

Files are written once. Two folders are merged by copying: names are unique, so there is never a
conflict. This module knows files. It does not know what is visible, nor that there is an index.

A folder that may come with a repository is two stores: the records that this machine wrote, and,
until the user trusts the project, those of somebody else (`strangers`). A folder of the user's own
is one store.
"""

import asyncio
import os
import threading
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Final

from memory_mcp.disk import ANY_SETTING, LITTER, Disk, unavailable
from memory_mcp.domain.ids import RecordId, format_id_month, is_record_id, list_record_ids
from memory_mcp.domain.limits import RECORD_BYTES_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.errors import (
    StoreDamagedError,
    StoreError,
    StoreUnavailableError,
)
from memory_mcp.locations import find_git_dir_around
from memory_mcp.patterns import compile_later
from memory_mcp.safe_files import UnsafeFileError, list_names, read_file, refuse_links
from memory_mcp.storage.files.kept import KeptRecords, is_past, stamp_record
from memory_mcp.storage.files.trust import NotedFiles, ProjectOwnership
from memory_mcp.storage.stored import (
    compute_file_digest,
    compute_record_digest,
    dump_record,
    load_record,
)
from memory_mcp.storage.threads import in_thread

_MONTH: Final = compile_later(r"\d{4,}-\d\d")
_SUFFIX: Final = ".json"
_LOCK_FILE: Final = "corrections.lock"
_STATEMENT_LOCK_FILE: Final = "additions-{}.lock"
"""By the first digit of the statement's digest: others hardly ever wait for each other."""
_SCAN_BATCH: Final = 500
"""Files read at once in a thread: enough to make that cheap, few enough to stay responsive."""
_OWN_WRITES_SECONDS: Final = 1.0
"""A folder that only this process seems to write to is listed so often, not after each write: ten
thousand names take 6 ms."""

_Take = Callable[[bytes, str, RecordId], Record | None]
"""Loads a record from its bytes and their path; None if it does not belong to the store."""


class RecordFolder:
    """The record files in a folder, whoever wrote them; listed again only if it changed.

    From `below` down no link is followed. Errors name the `setting` that moves the folder.
    """

    def __init__(
        self,
        root: Path,
        below: str = "",
        *,
        setting: str = ANY_SETTING,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.root = root
        self._seconds = seconds
        self._setting = setting
        self.below = below
        self._months: dict[str, _Month] = {}
        self._stamp = 0
        self._version = 0
        self._listing = threading.Lock()

    @property
    def known_version(self) -> int:
        """The version as of the last look."""
        return self._version

    def version(self) -> int:
        """A number that rises when files came or went that `note_change` did not name.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        with self._listing:
            changed = _find_change(str(self.root))
            if changed != self._stamp or not changed:
                self._follow_months()
                self._stamp = changed if is_past(changed) else 0
            for name, month in self._months.items():
                folder = f"{self.root}{os.sep}{name}"
                changed = _find_change(folder)
                if not month.is_known(changed, self._seconds()):
                    self._version += month.follow(self._list_files(folder))
                    month.stamp = changed if is_past(changed) else 0
                    month.listed = self._seconds()
            return self._version

    def _follow_months(self) -> None:
        """Take over the months whose folders are there now."""
        found = {folder.name for folder in self._list_months()}
        for gone in self._months.keys() - found:
            self._version += bool(self._months.pop(gone).ids)
        for name in found - self._months.keys():
            self._months[name] = _Month()
            self._version += 1

    def ids(self) -> set[RecordId]:
        """The ids in the names of all files."""
        self.version()
        with self._listing:
            return set[RecordId]().union(*(month.ids for month in self._months.values()))

    def is_empty(self) -> bool:
        """Whether there is no record, of whomever."""
        self.version()
        with self._listing:
            return not any(month.ids for month in self._months.values())

    @contextmanager
    def changing(self, path: Path) -> Generator[None]:
        """Write or remove the file within the block, and remember that this process did.

        The folder is listed again all the same, if later: others may have written meanwhile.
        """
        folder = str(path.parent)
        with self._listing:
            month = self._months.get(path.parent.name)
            known = month is not None and month.is_known(_find_change(folder), self._seconds())
        yield
        with self._listing:
            month = self._months.setdefault(path.parent.name, _Month())
            month.own = _find_change(folder) if known else 0
            if path.exists():
                month.add(path.name)
            else:
                month.discard(path.name)

    def list_files(self) -> list[tuple[str, list[str]]]:
        """The months, and the names of the files in each that may be records, in order."""
        return [
            (
                folder.name,
                [
                    name
                    for name in sorted(self._list_files(folder.path))
                    if name.endswith(_SUFFIX) and not name.startswith(".")
                ],
            )
            for folder in sorted(self._list_months(), key=lambda entry: entry.name)
        ]

    def list_litter(self) -> list[Path]:
        """The temporary files in the folders of the months, in order."""
        return sorted(
            Path(folder.path, name)
            for folder in self._list_months()
            for name in self._list_files(folder.path)
            if name.startswith(".") and name.endswith(LITTER)
        )

    def _list_months(self) -> Iterator[os.DirEntry[str]]:
        for entry in self._list(str(self.root)):
            if _MONTH.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        """What is in a folder; nothing if it is not there or is a link."""
        try:
            return list_names(folder, self.below)
        except (FileNotFoundError, UnsafeFileError):  # the doctor reports links
            return []
        except OSError as error:
            raise unavailable(error, self.root, "read", self._setting) from error

    def _list_files(self, folder: str) -> list[str]:
        """The names of all that is in a folder."""
        try:
            refuse_links(self.below, folder)
            # a Path for each of ten thousand names would cost more than all the rest
            return os.listdir(folder)  # noqa: PTH208
        except (FileNotFoundError, UnsafeFileError):  # the doctor reports links
            return []
        except OSError as error:
            raise unavailable(error, self.root, "read", self._setting) from error


class _Month:
    """What is known of the folder of one month.

    Names are compared as a whole, because looking at each of ten thousand takes longer than a
    search does. `stamp` is when the folder changed, as of the last look (0: it must be listed), and
    `own` when this process did it.
    """

    def __init__(self) -> None:
        self.stamp = self.own = 0
        self.listed = 0.0
        self.ids: set[RecordId] = set()
        self._names: set[str] = set()

    def is_known(self, changed: int, seconds: float) -> bool:
        """Whether the names are known of a folder that changed last at that time.

        In the same moment as this process others may write, which shows when it is listed again.
        """
        if changed in (0, self.stamp):
            return changed > 0
        return changed == self.own and seconds - self.listed < _OWN_WRITES_SECONDS

    def follow(self, listed: Collection[str]) -> bool:
        """Take over the names that are there now; whether records came or went."""
        if len(listed) == len(self._names) and self._names.issuperset(listed):
            return False  # nearly always: what this process wrote is known
        names = set(listed)
        gone, new = list_record_ids(self._names - names), list_record_ids(names - self._names)
        self.ids.difference_update(gone)
        self.ids.update(new)
        self._names = names
        return bool(gone or new)

    def add(self, name: str) -> None:
        self._names.add(name)
        self.ids.update(list_record_ids([name]))

    def discard(self, name: str) -> None:
        self._names.discard(name)
        self.ids.discard(RecordId(name.removesuffix(_SUFFIX)))


class LocalRecords:
    """Implements `ports.RecordStore` over a folder.

    With `owned`, the store has the records that this machine wrote, or all of a trusted project;
    as `strangers`, the others.
    """

    def __init__(
        self,
        folder: RecordFolder,
        disk: Disk,
        owned: ProjectOwnership | None = None,
        *,
        strangers: bool = False,
    ) -> None:
        self.root = folder.root
        self._folder = folder
        self._disk = disk
        self._owned = owned
        self._below = folder.below
        self._strangers = strangers
        self._lock = (owned.machine if owned else folder.root) / _LOCK_FILE
        self._seen: tuple[int, bool] | None = None
        self._kept = KeptRecords()

    def refuse_unreadable(self, record: Record) -> None:
        dump_record(record)

    @in_thread
    def put(self, record: Record, *, of_this_machine: bool = True) -> None:
        path = self.path(record.id)
        data = dump_record(record)
        try:
            present: bytes | None = read_file(str(path), RECORD_BYTES_MAX, self._below)
        except FileNotFoundError:
            present = None
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error
        if of_this_machine and present in (None, data) and self._owned:
            self._owned.ledger.note(record.id, compute_file_digest(data))
        if present is None:
            with self._folder.changing(path):
                self._disk.write(path, data)
        elif present != data:
            raise StoreDamagedError(
                f"{path} already holds another record; it is left as it is. "
                "Run `memory-mcp doctor`."
            )

    async def get(self, record_id: RecordId) -> Record | None:
        return await asyncio.to_thread(self._load, record_id)

    @in_thread
    def ids(self) -> set[RecordId]:
        self._seen = self._state()  # before the files: what comes meanwhile is a change
        every = self._folder.ids()
        if self._owned is None:
            return every
        if self._owned.trusted():
            return set() if self._strangers else every
        if self._strangers:
            return every - self._owned.ledger.load().names
        return self._owned.ledger.written(every)

    @in_thread
    def is_empty(self) -> bool:
        """Whether nobody has put a record there. What `changed` says is another matter."""
        return self._folder.is_empty()

    def changed(self) -> bool:
        try:
            # whoever asks for strangers has just asked for the records beside them
            return self._state(look=not self._strangers) != self._seen
        except StoreUnavailableError:
            return True

    def may_be_emptied(self) -> bool:
        if (self.root / ".gitignore").is_file():  # ours: git leaves it, a mount would not
            return True
        if not (self._below and self.root.is_relative_to(self._below)):
            return False
        return bool(find_git_dir_around(self._below))  # `git clean -x` takes all there is

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        ordered = sorted(record_ids)
        for start in range(0, len(ordered), _SCAN_BATCH):
            batch = ordered[start : start + _SCAN_BATCH]
            for record in await asyncio.to_thread(self._load_readable, batch):
                yield record

    @in_thread
    def digest(self, record_ids: Collection[RecordId]) -> dict[RecordId, str]:
        noted = self._find_rules()
        found: dict[RecordId, str] = {}
        for id_, data in self._read_each(record_ids):
            digest = compute_file_digest(data)
            own = noted is None or noted.count(id_, digest) > 0
            if own is not self._strangers:
                found[id_] = digest
        return found

    @in_thread
    def erase(self, record_ids: Collection[RecordId]) -> None:
        if self._strangers:  # their tombstones order nothing: what they name is only not found
            return
        for record_id in record_ids:
            if is_record_id(record_id):
                path = self.path(record_id)
                with self._folder.changing(path):
                    self._disk.remove(path)
                self._kept.drop(record_id)

    @in_thread
    def remove_litter(self) -> None:
        for path in self._folder.list_litter():
            self._disk.remove_litter(path)

    @asynccontextmanager
    async def alone(self, statement: str = "") -> AsyncGenerator[bool]:
        lock = self._lock
        if statement:
            lock = lock.with_name(_STATEMENT_LOCK_FILE.format(statement[0]))
        with self._disk.try_lock(lock) as free:
            yield free

    async def check(self, *, repair: bool) -> AsyncIterator[Record | Finding]:
        try:
            refuse_links(self._below, str(self.root))
        except OSError as error:
            what = str(self._disk.unavailable(error, self.root, "read"))
            yield Finding("records-unsafe", "must", what, "Move it away, or set MEMORY_DIR.")
            return
        take = self._choose_taking(await asyncio.to_thread(self._find_rules))
        for month, names in await asyncio.to_thread(self._folder.list_files):
            for start in range(0, len(names), _SCAN_BATCH):
                batch = names[start : start + _SCAN_BATCH]
                for each in await asyncio.to_thread(self._inspect_all, month, batch, take):
                    yield each
        for path in await asyncio.to_thread(self._folder.list_litter):
            if repair:
                await asyncio.to_thread(self._disk.remove, path)
            yield litter_finding(path, repaired=repair)

    def path(self, record_id: RecordId) -> Path:
        """Where the record's file is, or would be."""
        return self.root / format_id_month(record_id) / f"{record_id}.json"

    def _load(self, record_id: RecordId) -> Record | None:
        if not is_record_id(record_id):
            return None
        path = self.path(record_id)
        try:
            data = read_file(str(path), RECORD_BYTES_MAX, self._below)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        return self._choose_taking(self._find_rules())(data, str(path), record_id)

    def _load_readable(self, record_ids: Collection[RecordId]) -> list[Record]:
        """Those that can be read: the doctor names the others, which must not hide these."""
        found: list[Record] = []
        rules = self._find_rules()
        take = self._choose_taking(rules)
        self._kept.follow(rules)
        for id_, path, below in self._locate_each(record_ids):
            with suppress(StoreError, OSError):
                stamp = stamp_record(path)
                record = self._kept.find(id_, stamp)
                if record is None:
                    record = take(read_file(path, RECORD_BYTES_MAX, below), path, id_)
                    if record is None:
                        continue
                    if not self._strangers:  # what was a stranger's may be this machine's later
                        self._kept.keep(id_, stamp, record, rules)
                found.append(record)
        return found

    def _read_each(self, record_ids: Collection[RecordId]) -> Iterator[tuple[RecordId, bytes]]:
        """The bytes of those that can be read, in their order."""
        for id_, path, below in self._locate_each(record_ids):
            with suppress(OSError):
                yield id_, read_file(path, RECORD_BYTES_MAX, below)

    def _locate_each(self, record_ids: Collection[RecordId]) -> Iterator[tuple[RecordId, str, str]]:
        """The path of each, and the folder to which no link leads, in their order."""
        for month, ids in _group_by_month([*filter(is_record_id, record_ids)]):
            folder = f"{self.root}{os.sep}{month}"
            below = folder if self._below else ""
            try:
                refuse_links(self._below, folder)  # once for all that are in it
            except OSError:
                continue
            for id_ in ids:
                yield id_, f"{folder}{os.sep}{id_}{_SUFFIX}", below

    def _find_rules(self) -> NotedFiles | None:
        """What says which files are this machine's; None if all that is there counts."""
        owned = self._owned
        return None if owned is None or owned.trusted() else owned.ledger.load()

    def _choose_taking(self, noted: NotedFiles | None) -> _Take:
        """How records of this store are loaded, by what is noted if not all of them count."""
        strangers = self._strangers
        if noted is None:
            return lambda data, path, id_: None if strangers else load_record(data, path, id_)

        def take(data: bytes, path: str, id_: RecordId) -> Record | None:
            ever = id_ in noted.names
            if ever and noted.count(id_, compute_file_digest(data)) > 0:
                return None if strangers else load_record(data, path, id_, formatted=True)
            record = load_record(data, path, id_)
            # somebody may have formatted a file anew, but nearly never has
            own = ever and noted.count(id_, compute_record_digest(record)) > 0
            return record if own is not strangers else None

        return take

    def _state(self, *, look: bool = True) -> tuple[int, bool]:
        """The version of the folder, now or at the last look, and whether all of it counts."""
        version = self._folder.version() if look else self._folder.known_version
        return version, self._owned is None or self._owned.trusted()

    def _inspect_all(self, month: str, names: Sequence[str], take: _Take) -> list[Record | Finding]:
        """The records in these files of one month, and what is wrong with others."""
        groups = _group_by_month(list_record_ids(names))
        at_home = {id_ for home, ids in groups if home == month for id_ in ids}
        ids = (RecordId(name.removesuffix(_SUFFIX)) for name in names)
        looked_at = (
            self._inspect(month, id_, take)
            if id_ in at_home
            else self._report_misplaced(month, id_)
            for id_ in ids
        )
        return [each for each in looked_at if each]

    def _report_misplaced(self, month: str, name: str) -> Finding:
        path = self.root / month / f"{name}{_SUFFIX}"
        home = self.path(RecordId(name)) if is_record_id(name) else None
        belongs = f"belongs at {home}" if home else "has a name that is no record's id"
        what = f"{path} {belongs}: it is not read."
        return Finding("record-misplaced", "should", what, "Move it by hand.")

    def _inspect(self, month: str, id_: RecordId, take: _Take) -> Record | Finding | None:
        """The record in a file, or what is wrong with it; None for what is not of this store."""
        folder = f"{self.root}{os.sep}{month}"
        path = f"{folder}{os.sep}{id_}{_SUFFIX}"
        try:
            # the way to the folder was looked at when it was listed
            data = read_file(path, RECORD_BYTES_MAX, folder if self._below else "")
            if record := take(data, path, id_):
                return record
            # a stranger's, or this machine's once, and then changed by somebody
            if self._strangers or not (self._owned and self._owned.ledger.written([id_])):
                return None
            return Finding(
                "record-changed", "must",
                f"{path} is not what this machine wrote: it is not read.",
                "Restore it from git or a backup, or let it count as it is with "
                "`memory-mcp trust`.",
            )  # fmt: skip
        except FileNotFoundError:  # erased since it was listed
            return None
        except (StoreError, OSError) as error:
            return self._report_unreadable(Path(path), error)

    def _report_unreadable(self, path: Path, error: StoreError | OSError) -> Finding:
        owned = self._owned
        if owned is None or owned.trusted() or owned.ledger.written([path.stem]):
            if isinstance(error, OSError):
                error = self._disk.unavailable(error, path, "read")
            return Finding.of("record-unreadable", "must", error, "Mend that, and look again.")
        return Finding(
            "record-foreign", "should",
            f"{path} came with the repository and is no record that can be read: it is not shown.",
            "Nothing of yours is lost. Tell whoever keeps the repository, or leave it.",
        )  # fmt: skip


def _group_by_month(ids: Sequence[RecordId]) -> Iterable[tuple[str, Iterable[RecordId]]]:
    """The ids by the folder of their month. They rise with time: mostly two tell it of all."""
    if ids and (month := format_id_month(min(ids))) == format_id_month(max(ids)):
        return [(month, ids)]
    return groupby(ids, key=format_id_month)


def litter_finding(path: Path, *, repaired: bool) -> Finding:
    """What the doctor says of a temporary file."""
    return Finding(
        "litter", "should", f"{path} is left over from a write that was cut short.",
        "`memory-mcp doctor --repair` removes it.", repaired=repaired,
    )  # fmt: skip


def _find_change(folder: str) -> int:
    """When the folder changed last, in nanoseconds; 0 if that is unknown."""
    try:
        return os.lstat(folder).st_mtime_ns
    except OSError:
        return 0
