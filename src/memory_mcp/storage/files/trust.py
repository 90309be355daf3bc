"""Which files, projects and clouds this machine trusts, and what it has erased.

    <machine>/ledger               a line `<name> <digest>` for each version of a file written here
    <machine>/erased.jsonl         the ids of erased records; only grows
    <user>/trusted.json            {"projects": {"<folder of records>": {"name": <git's remote>}}}
    <user>/trusted-clouds.json     {"clouds": ["<address>"]}

A repository can bring any file, and say in it that the user wrote it; it cannot write the ledger. A
line of the ledger is durable before its file appears; a cut in between leaves a line without a
file. Records are known by their content, not their bytes, because git may change the ends of lines.

A project is not trusted until the user says so: then every valid record in it counts, whoever wrote
it. Trusted is a folder together with the remote that git named there: another repository in the
same folder, or a new remote, has to be trusted anew. What a cloud says that other machines wrote
comes in only if the user trusts that cloud. A file that cannot be read trusts nothing.

A forget rests on a record that orders it. Git may take that record away with its branch and bring
back the erased file; the log of erased ids stays.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from pydantic_core import to_json

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.domain.record import Record
from memory_mcp.safe_files import UnsafeFileError, refuse_links

TRUST_FILE: Final = "trusted.json"
TRUSTED_CLOUDS_FILE: Final = "trusted-clouds.json"
ERASED_FILE: Final = "erased.jsonl"
_LEDGER_FILE: Final = "ledger"
_DIGEST_CHARS: Final = 32
"""128 bits: nobody finds another text of the same digest."""


T = TypeVar("T")
_Stamp = tuple[int, int, int]


class _SmallFile(Generic[T]):
    """What a small file says, parsed again only if the file has changed since."""

    def __init__(self, path: Path, parse: Callable[[bytes], T], nothing: T) -> None:
        self.path = path
        self._parse = parse
        self._nothing = nothing
        self._seen: tuple[_Stamp, T] | None = None

    def read(self) -> T:
        """What the file says now; `nothing` if there is no file.

        Raises:
            OSError: the file system refused.
        """
        try:
            found = self.path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._seen is None or self._seen[0] != stamp:
                self._seen = stamp, self._parse(self.path.read_bytes())
        except FileNotFoundError:
            return self._nothing
        return self._seen[1]

    def require(self) -> T:
        """What the file says now, for whoever is about to change it.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        try:
            return self.read()
        except OSError as error:
            raise unavailable(error, self.path, "read", "MEMORY_HOME") from error


class Ledger:
    """The files below one project that this machine wrote, in any process.

    Any number of threads may ask at once: records are read and written beside the event loop.
    """

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._path = folder / _LEDGER_FILE
        self._disk = disk
        self._reading = threading.Lock()
        self._known: dict[str, list[str]] = {}
        self._read_until = 0
        self._file: tuple[int, int] | None = None

    def note(self, name: str, digest: str) -> None:
        """Remember, durably, that this machine writes the file of that name with that content.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        if not self.knows(name, digest):
            self._disk.append(self._path, f"{name} {digest}".encode())

    def knows(self, name: str, digest: str) -> bool:
        """Whether this machine wrote the file with that content.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        with self._reading:
            return digest in self._refreshed().get(name, ())

    def written(self, names: Collection[T]) -> set[T]:
        """Those of the names under which this machine ever wrote a file here.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        with self._reading:
            known = self._refreshed()
            return {name for name in names if name in known}

    def _refreshed(self) -> dict[str, list[str]]:
        """What is known, with what any process has noted since the last look."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                if self._file != (found.st_dev, found.st_ino) or found.st_size < self._read_until:
                    self._known, self._read_until = {}, 0
                    self._file = found.st_dev, found.st_ino
                if found.st_size == self._read_until:
                    return self._known
                file.seek(self._read_until)
                data = file.read()
        except FileNotFoundError:
            self._known, self._read_until, self._file = {}, 0, None
            return self._known
        except OSError as error:
            raise unavailable(error, self._path, "read", "MEMORY_HOME") from error
        whole = data[: data.rfind(b"\n") + 1]  # another process may be in the middle of a line
        for line in whole.decode("ascii", errors="replace").splitlines():
            name, _, digest = line.rpartition(" ")
            if name and len(digest) == _DIGEST_CHARS:
                self._known.setdefault(name, []).append(digest)
        self._read_until += len(whole)
        return self._known


def digest_of(data: bytes) -> str:
    """What stands for a file's bytes in the ledger."""
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def digest_of_record(record: Record) -> str:
    """What stands for a record in the ledger, however its file is spelt."""
    return digest_of(to_json(record.as_json()))


class TrustedCloud:
    """What the user said of the cloud at this address. Implements `ports.CloudTrust`."""

    def __init__(self, home: Path, address: str, disk: Disk) -> None:
        self._file = _clouds_in(home)
        self._disk = disk
        self.address = address

    def trusted(self) -> bool:
        try:
            return self.address in self._file.read()
        except OSError:  # a file that cannot be read trusts nothing
            return False

    def grant(self) -> None:
        every = self._file.require() | {self.address}
        data = json.dumps({"clouds": sorted(every)}, indent=1) + "\n"
        self._disk.write(self._file.path, data.encode())


def distrust_clouds(home: Path, disk: Disk) -> bool:
    """Trust no cloud from now on; whether any was trusted.

    Raises:
        StoreUnavailableError: the file system refused.
    """
    before = bool(trusted_clouds(home))
    if before:
        disk.remove(home / TRUSTED_CLOUDS_FILE)
    return before


def trusted_clouds(home: Path) -> list[str]:
    """The addresses of the clouds that the user trusts."""
    try:
        return sorted(_clouds_in(home).read())
    except OSError:
        return []


def _clouds_in(home: Path) -> _SmallFile[frozenset[str]]:
    return _SmallFile(home / TRUSTED_CLOUDS_FILE, _parse_clouds, frozenset())


def _parse_clouds(data: bytes) -> frozenset[str]:
    """The addresses in the file; what it does not say properly is not trusted."""
    try:
        fields: Any = json.loads(data)
        return frozenset(str(address) for address in cast("list[Any]", fields["clouds"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset()


class TrustedProjects:
    """The projects that the user trusts, by the folder of their records (`plain_path`)."""

    def __init__(self, home: Path, disk: Disk) -> None:
        self.home = home
        self.disk = disk
        self._file = _SmallFile[Mapping[str, str]](home / TRUST_FILE, _parse_projects, {})

    def name_of(self, records: str) -> str | None:
        """The remote under which the user trusted the project of these records; None: never.

        A file that cannot be read trusts nothing.
        """
        return self.every().get(records)

    def every(self) -> Mapping[str, str]:
        """The folders of records that are trusted, each with the project's remote."""
        try:
            return self._file.read()
        except OSError:
            return {}

    def trust(self, records: str, name: str) -> None:
        """Let everything in the project count from now on, as long as this is its remote.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        self._write({**self._file.require(), records: name})

    def revoke(self, records: str) -> bool:
        """Let only what this machine wrote count from now on; whether it was otherwise.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        every = dict(self._file.require())
        before = every.pop(records, None)
        if before is not None:
            self._write(every)
        return before is not None

    def _write(self, every: Mapping[str, str]) -> None:
        projects = {folder: {"name": name} for folder, name in sorted(every.items())}
        data = json.dumps({"projects": projects}, indent=1) + "\n"
        self.disk.write(self._file.path, data.encode())


@dataclass(frozen=True)
class Owned:
    """Tells this machine's own files below a project from those of a stranger.

    Implements `ports.ProjectTrust`. `machine` is the folder where only this machine writes;
    `records` is the plain path of theirs. `address` asks git for the remote, and `name` is what the
    project is called after it, or nothing. `folders`, below `project`, are where its memory is.
    """

    machine: Path
    ledger: Ledger
    projects: TrustedProjects
    records: str
    address: Callable[[], str]
    name: str
    project: str
    folders: tuple[str, ...]

    @property
    def remote(self) -> str:
        return self.address()

    def trusted(self) -> bool:
        return self.trusted_as() == self.remote

    def trusted_as(self) -> str | None:
        return self.projects.name_of(self.records)

    def vouched(self) -> bool:
        return not self.name or self.trusted()

    def links(self) -> list[str]:
        found: list[str] = []
        for folder in self.folders:
            try:
                refuse_links(self.project, folder)
            except UnsafeFileError as error:
                found.append(str(error.filename))
            except OSError:  # whoever needs it says so
                continue
        return found

    def grant(self) -> None:
        self.projects.trust(self.records, self.remote)

    def revoke(self) -> bool:
        project = self.projects.revoke(self.records)
        return distrust_clouds(self.projects.home, self.projects.disk) or project


def _parse_projects(data: bytes) -> dict[str, str]:
    """What the file says; what it does not say properly is not trusted."""
    try:
        fields: Any = json.loads(data)
        projects = cast("dict[str, dict[str, Any]]", fields["projects"])
        return {folder: str(about["name"]) for folder, about in projects.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


class LocalErased:
    """Implements `ports.ErasedLog` over a file. A line that a cut tore names nothing."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._disk = disk
        self._file = _SmallFile(folder / ERASED_FILE, _parse_erased, frozenset[RecordId]())

    def ids(self) -> frozenset[RecordId]:
        return self._file.require()

    def add(self, record_ids: Collection[RecordId]) -> None:
        if new := sorted(set(record_ids) - self.ids()):
            self._disk.append(self._file.path, json.dumps(new).encode())


def _parse_erased(data: bytes) -> frozenset[RecordId]:
    lines = data.decode(errors="replace").splitlines()
    return frozenset(id_ for line in lines for id_ in _ids_in(line))


def _ids_in(line: str) -> list[RecordId]:
    try:
        names = json.loads(line)
    except ValueError:
        return []
    if not isinstance(names, list):
        return []
    return [RecordId(n) for n in names if isinstance(n, str) and is_record_id(n)]  # pyright: ignore[reportUnknownVariableType]  # JSON
