"""The local provider: one JSON file a record, `<yyyy-mm>/<id>.json`.

Files are written once. Two folders are merged by copying: names are unique, so there is never a
conflict. This module knows files; it does not know what is visible, nor that there is an index.

A folder that may come with a repository is two stores: what this machine wrote, and, until the user
trusts the project, what somebody else did (`strangers`). A folder of the user's own is one.
"""

import asyncio
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import to_json

from memory_mcp.disk import ANY_SETTING, LITTER, Disk, unavailable
from memory_mcp.domain.fields import escape_unprintable, explain_validation_error
from memory_mcp.domain.ids import RecordId, format_id_month, is_record_id
from memory_mcp.domain.json_input import load_json
from memory_mcp.domain.limits import RECORD_BYTES_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import SCHEMA_VERSION, Record
from memory_mcp.errors import (
    InvalidRequestError,
    NewerSchemaError,
    StoreDamagedError,
    StoreError,
    StoreUnavailableError,
)
from memory_mcp.locations import find_git_dir
from memory_mcp.safe_files import UnsafeFileError, list_names, read_file, refuse_links
from memory_mcp.storage.files.trust import Owned, digest_of_record

_MONTH: Final = re.compile(r"\d{4,}-\d\d")
_SCAN_BATCH: Final = 500
"""Files read per hop to a thread: enough to make the hop cheap, few enough to stay responsive."""
_TICK_NS_MAX: Final = 2_000_000_000
"""FAT tells times to two seconds; others to some milliseconds."""


class RecordFolder:
    """The files in a folder of records, whoever wrote them; listed again only if it changed.

    From `below` down no link is followed. Errors name the `setting` that moves the folder.
    """

    def __init__(self, root: Path, below: str = "", *, setting: str = ANY_SETTING) -> None:
        self.root = root
        self._setting = setting
        self.below = below
        self._months: dict[str, tuple[int, frozenset[RecordId]]] = {}
        self._version = 0
        self._looking = threading.Lock()

    def version(self) -> int:
        """A number that rises when files came or went that `changed` did not name.

        Raises:
            StoreUnavailableError: the file system does not let us look.
        """
        with self._looking:
            found = {folder.name: folder for folder in self.folders()}
            for gone in self._months.keys() - found.keys():
                self._version += bool(self._months.pop(gone)[1])
            for name, folder in found.items():
                stamp = _stamp(folder.path)
                known = self._months.get(name)
                if known is None or known[0] != stamp or not stamp:
                    before = known[1] if known else frozenset[RecordId]()
                    ids = self._ids_in(folder.path, before)
                    self._version += known is None or before != ids
                    self._months[name] = (stamp, ids)
            return self._version

    def ids(self) -> set[RecordId]:
        """The ids of all the files there, by their names."""
        self.version()
        return set[RecordId]().union(*(ids for _, ids in self._months.values()))

    def changed(self, path: Path) -> None:
        """Know that this process wrote or removed the file: that is no news to it.

        The folder is looked at again all the same, because others may have written meanwhile.
        """
        month, own = path.parent.name, {RecordId(path.stem)}
        with self._looking:
            stamp, ids = self._months.get(month, (0, frozenset[RecordId]()))
            self._months[month] = (stamp, ids | own if path.exists() else ids - own)

    def folders(self) -> Iterator[os.DirEntry[str]]:
        """The folders of the months; one that is a link is none."""
        for entry in self.names(str(self.root)):
            if _MONTH.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry

    def every(self) -> Iterator[Path]:
        """Everything in the folders of the months, whatever its name."""
        for folder in self.folders():
            yield from sorted(Path(entry.path) for entry in self.names(folder.path))

    def names(self, folder: str) -> list[os.DirEntry[str]]:
        """What is in a folder; nothing where it is not there, or is a link."""
        try:
            return list_names(folder, self.below)
        except (FileNotFoundError, UnsafeFileError):  # of links the doctor speaks
            return []
        except OSError as error:
            raise unavailable(error, self.root, "read", self._setting) from error

    def _ids_in(self, folder: str, known: frozenset[RecordId]) -> frozenset[RecordId]:
        """The ids of the files in a folder, of which only the new ones are looked at closely."""
        try:
            refuse_links(self.below, folder)
            # a Path for each of ten thousand names would cost more than all the rest
            listed = os.listdir(folder)  # noqa: PTH208
            names = {name[:-5] for name in listed if name.endswith(".json")}
        except (FileNotFoundError, UnsafeFileError):  # of links the doctor speaks
            return frozenset()
        except OSError as error:
            raise unavailable(error, self.root, "read", self._setting) from error
        fresh = (RecordId(name) for name in names - known if is_record_id(name))
        return known.intersection(names).union(fresh)


class LocalRecords:
    """Implements `ports.RecordStore` over a folder.

    With `owned`, only what this machine wrote, or all of it in a trusted project; as `strangers`,
    the rest.
    """

    def __init__(
        self,
        folder: RecordFolder,
        disk: Disk,
        owned: Owned | None = None,
        *,
        strangers: bool = False,
    ) -> None:
        self.root = folder.root
        self._folder = folder
        self._disk = disk
        self._owned = owned
        self._below = folder.below
        self._strangers = strangers
        self._seen: tuple[int, bool] | None = None

    async def put(self, record: Record, *, of_this_machine: bool = True) -> None:
        await asyncio.to_thread(self._put, record, of_this_machine=of_this_machine)

    async def get(self, record_id: RecordId) -> Record | None:
        return await asyncio.to_thread(self._get, record_id)

    async def ids(self) -> set[RecordId]:
        return await asyncio.to_thread(self._ids)

    def changed(self) -> bool:
        try:
            return self._state() != self._seen
        except StoreUnavailableError:
            return True

    def emptied(self) -> bool:
        if (self.root / ".gitignore").is_file():  # ours: git leaves it, a mount would not
            return True
        within = bool(self._below) and self.root.is_relative_to(self._below)
        return within and bool(find_git_dir(self._below))  # `git clean -x` takes all there is

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        ordered = sorted(record_ids)
        for start in range(0, len(ordered), _SCAN_BATCH):
            for record in await asyncio.to_thread(
                self._readable, ordered[start : start + _SCAN_BATCH]
            ):
                yield record

    async def erase(self, record_ids: Collection[RecordId]) -> None:
        await asyncio.to_thread(self._erase, record_ids)

    async def tidy(self) -> None:
        await asyncio.to_thread(self._tidy)

    async def findings(self, *, repair: bool) -> list[Finding]:
        return await asyncio.to_thread(self._findings, repair=repair)

    def path(self, record_id: RecordId) -> Path:
        """Where the record's file is (or would be)."""
        return self.root / format_id_month(record_id) / f"{record_id}.json"

    def _put(self, record: Record, *, of_this_machine: bool) -> None:
        path = self.path(record.id)
        data = self._bytes(record, path)
        try:
            present: bytes | None = read_file(str(path), RECORD_BYTES_MAX, self._below)
        except FileNotFoundError:
            present = None
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error
        if of_this_machine and present in (None, data) and self._owned:
            self._owned.ledger.note(record.id, digest_of_record(record))
        if present is None:
            self._disk.write(path, data)
            self._folder.changed(path)
        elif present != data:
            raise StoreDamagedError(
                f"{path} already holds another record; it is left as it is. "
                "Run `memory-mcp doctor`."
            )

    def _bytes(self, record: Record, path: Path) -> bytes:
        """The file of a record, which would be read again: what cannot be is not acknowledged."""
        data = to_json(record.as_json(), indent=1) + b"\n"
        try:
            parse_record(data, path)
        except ValueError as error:
            raise InvalidRequestError(
                f"Such a record would not be read again ({_reason(error)}). Nothing was stored."
            ) from error
        return data

    def _get(self, record_id: RecordId) -> Record | None:
        if not is_record_id(record_id):
            return None
        path = self.path(record_id)
        try:
            record = read_record(path, self._below)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        return record if self._counts(record) else None

    def _counts(self, record: Record) -> bool:
        """Whether the record belongs to this store: to us, or to strangers."""
        if self._owned is None or self._owned.trusted():
            return not self._strangers
        own = self._owned.ledger.knows(record.id, digest_of_record(record))
        return own is not self._strangers

    def _readable(self, record_ids: Collection[RecordId]) -> list[Record]:
        found: list[Record] = []
        for record_id in record_ids:
            try:
                record = self._get(record_id)
            except StoreError:  # the doctor names it; one bad file must not hide the others
                continue
            if record is not None:
                found.append(record)
        return found

    def _erase(self, record_ids: Collection[RecordId]) -> None:
        if self._strangers:  # whose tombstones order nothing: what they name is only not found
            return
        for record_id in record_ids:
            if is_record_id(record_id):
                path = self.path(record_id)
                self._disk.remove(path)
                self._folder.changed(path)

    def _ids(self) -> set[RecordId]:
        """Every record of this store, by the names of the files; their content is not looked at."""
        self._seen = self._state()  # before the files: what comes meanwhile is news
        every = self._folder.ids()
        if self._owned is None:
            return every
        if self._owned.trusted():
            return set() if self._strangers else every
        own = self._owned.ledger.written(every)
        return every - own if self._strangers else own

    def _state(self) -> tuple[int, bool]:
        """How the folder was found, and whether all that is in it counts."""
        return self._folder.version(), self._owned is None or self._owned.trusted()

    def _is_changed(self, record: Record) -> bool:
        """Whether this machine wrote a record of that id, and another one stands there now."""
        if self._owned is None or self._owned.trusted():
            return False
        return bool(self._owned.ledger.written([record.id])) and not self._counts(record)

    def _findings(self, *, repair: bool) -> list[Finding]:
        if self._strangers:
            return []
        try:
            refuse_links(self._below, str(self.root))
        except OSError as error:
            what = str(self._disk.unavailable(error, self.root, "read"))
            return [Finding("records-unsafe", "must", what, "Move it away, or set MEMORY_DIR.")]
        found = [finding for path in self._folder.every() for finding in self._flaws(path)]
        for path in sorted(self._litter()):
            if repair:
                self._disk.remove(path)
            found.append(
                Finding(
                    "litter", "should", f"{path} is left over from a write that was cut short.",
                    "`memory-mcp doctor --repair` removes it.", repaired=repair,
                )
            )  # fmt: skip
        return found

    def _flaws(self, path: Path) -> Iterator[Finding]:
        """What is wrong with a file among the records."""
        if path.name.startswith(".") or path.suffix != ".json":
            return
        home = self.path(RecordId(path.stem)) if is_record_id(path.stem) else None
        if home is None or path != home:
            yield _misplaced(path, home)
            return
        try:
            if self._is_changed(read_record(path, self._below)):
                yield _changed(path)
        except FileNotFoundError:  # erased since it was listed
            return
        except (StoreError, OSError) as error:
            yield self._unreadable(path, error)

    def _unreadable(self, path: Path, error: StoreError | OSError) -> Finding:
        """A loss, if it may have been ours; else nothing that anybody here could restore."""
        owned = self._owned
        if owned is None or owned.trusted() or owned.ledger.written([path.stem]):
            if isinstance(error, OSError):
                error = self._disk.unavailable(error, path, "read")
            return Finding("record-unreadable", "must", str(error), "Restore the file.")
        return Finding(
            "record-foreign", "should",
            f"{path} came with the repository and is no record that can be read: it is not shown.",
            "Nothing of yours is lost. Tell whoever keeps the repository, or leave it.",
        )  # fmt: skip

    def _tidy(self) -> None:
        for path in self._litter():
            self._disk.remove_old(path)

    def _litter(self) -> Iterator[Path]:
        for path in self._folder.every():
            if path.name.startswith(".") and path.name.endswith(LITTER):
                yield path


def _stamp(folder: str) -> int:
    """When the folder changed last; 0 if that is not known, or so recent that it may be again.

    What changes twice within one tick of a file system's clock has the same time twice.
    """
    try:
        at = os.lstat(folder).st_mtime_ns
    except OSError:
        return 0
    return at if abs(time.time_ns() - at) > _TICK_NS_MAX else 0


def _misplaced(path: Path, home: Path | None) -> Finding:
    belongs = f"belongs at {home}" if home else "has a name that is no record's id"
    return Finding(
        "record-misplaced", "should", f"{path} {belongs}: it is not read.", "Move it by hand."
    )


def _changed(path: Path) -> Finding:
    return Finding(
        "record-changed", "must", f"{path} is not what this machine wrote: it is not read.",
        "Restore it from git or a backup, or let it count as it is with `memory-mcp trust`.",
    )  # fmt: skip


def read_record(path: Path, below: str = "") -> Record:
    """The record in a file; on the way to it, from `below` down, no link is followed.

    Raises:
        FileNotFoundError: there is none.
        UnsafeFileError: it is a link, no regular file, or larger than any record.
        StoreDamagedError: the file is not a whole record, or holds one of another name.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    data = read_file(str(path), RECORD_BYTES_MAX, below)
    try:
        record = parse_record(data, path)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreDamagedError(
            f"{path} is damaged ({_reason(error)}). It is left as it is; restore it from git or a "
            "backup. Everything else works on."
        ) from error
    if record.id != path.stem:
        raise StoreDamagedError(
            f"{path} holds the record {record.id!r}; a file is named by its id."
        )
    return record


def parse_record(data: bytes, path: Path) -> Record:
    """The record that the bytes are; `path` is named where a newer memory-mcp wrote them.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: they are none that we could have written.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    if len(data) > RECORD_BYTES_MAX:
        raise ValueError(f"{len(data):,} bytes; a record has {RECORD_BYTES_MAX:,} at most")
    fields = load_json(data)
    version = fields["schema_version"]
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(str(path), version, SCHEMA_VERSION)
    return Record.model_validate(fields)


def _reason(error: Exception) -> str:
    match error:
        case ValidationError():
            return explain_validation_error(error)
        case KeyError():
            return f"no field {error.args[0]!r}"
        case ValueError():
            return escape_unprintable(str(error))
        case _:
            return "not a JSON object in UTF-8"
