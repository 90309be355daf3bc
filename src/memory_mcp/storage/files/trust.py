"""Which files, projects and clouds this machine trusts, and what it has erased.

    <machine>/ledger               a line `<name> <digest>` for each version of a file written here
    <machine>/erased.jsonl         the ids of erased records; only grows
    <user>/trusted.json            {"projects": {"<folder of records>":
                                       {"name": <git's remote>, "settings": <digest>}}}
    <user>/trusted-clouds.json     {"clouds": ["<address>"]}

A repository can bring any file, and say in it that the user wrote it. It cannot write the ledger. A
line of the ledger is durable before its file appears; a cut in between leaves a line without a
file. Records are known by their content, not their bytes, because git may change the ends of lines.

Once the user trusts a project, every valid record in it counts, whoever wrote it. Trust is in a
folder together with its git remote: another repository in the same folder, or a new remote, has to
be trusted again. Settings that came with it are trusted as they were then, by their digest. Records
that other machines wrote to a cloud come in only if the user trusts that cloud. A trust file that
cannot be read trusts nothing.

A forget rests on a record that orders it. Git may take that record away with its branch and bring
back the erased file, so the log of erased ids stays.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.frozen import frozen
from memory_mcp.safe_files import UnsafeFileError, refuse_links
from memory_mcp.storage.stored import DIGEST_CHARS
from memory_mcp.storage.threads import in_thread

TRUST_FILE: Final = "trusted.json"
TRUSTED_CLOUDS_FILE: Final = "trusted-clouds.json"
ERASED_FILE: Final = "erased.jsonl"
_LEDGER_FILE: Final = "ledger"
_DIGEST: Final = -DIGEST_CHARS
"""Where the digest of a line begins; before it stands a space."""
_NAME_END: Final = _DIGEST - 1

T = TypeVar("T")
_Stamp = tuple[int, int, int]


class _CachedFile(Generic[T]):
    """A small file, parsed again only if it has changed."""

    def __init__(self, path: Path, parse: Callable[[bytes], T], default: T) -> None:
        self.path = path
        self._parse = parse
        self._default = default
        self._cached: tuple[_Stamp, T] | None = None

    def read(self) -> T:
        """What the file says; the default if there is none.

        Raises:
            OSError: the file system refused.
        """
        try:
            found = self.path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._cached is None or self._cached[0] != stamp:
                self._cached = stamp, self._parse(self.path.read_bytes())
        except FileNotFoundError:
            return self._default
        return self._cached[1]

    def read_or_default(self) -> T:
        """What the file says; the default if there is none or it cannot be read."""
        try:
            return self.read()
        except OSError:
            return self._default

    def require(self) -> T:
        """What the file says, for a caller that is about to change it.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        try:
            return self.read()
        except OSError as error:
            raise unavailable(error, self.path, "read", "MEMORY_HOME") from error


class _GrowingFile:
    """A file to which whole lines are added: each is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_until = 0
        self._file: tuple[int, int] | None = None

    def read_on(self) -> tuple[bool, bytes]:
        """The whole lines that were added since the last call.

        Before them, whether what was read until then counts no more: another file stands there now,
        or none.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        anew = False
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                if self._file != (found.st_dev, found.st_ino) or found.st_size < self._read_until:
                    anew, self._read_until = True, 0
                    self._file = found.st_dev, found.st_ino
                if found.st_size == self._read_until:
                    return anew, b""
                file.seek(self._read_until)
                data = file.read()
        except FileNotFoundError:
            self._read_until, self._file = 0, None
            return True, b""
        except OSError as error:
            raise unavailable(error, self.path, "read", "MEMORY_HOME") from error
        complete = data[: data.rfind(b"\n") + 1]  # another process may be in the middle of a line
        self._read_until += len(complete)
        return anew, complete


class NotedFiles:
    """The lines of a ledger, as often as each is there, and the names in them."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self.names: set[str] = set()

    def add(self, lines: Collection[str]) -> None:
        """Add lines, with no loop of Python's own as far as that goes: there may be 100,000."""
        self.lines.update(lines)
        self.names.update([line[:_NAME_END] for line in lines if line[_NAME_END:_DIGEST] == " "])

    def count(self, name: str, digest: str) -> int:
        """How often it is noted that the file of that name was written with that content."""
        return self.lines[_make_line(name, digest)]


class Ledger:
    """The files below one project that this machine wrote, in any process.

    Any number of threads may use it at once. What the file system refuses raises
    `StoreUnavailableError`.
    """

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._path = folder / _LEDGER_FILE
        self._disk = disk
        self._loading = threading.Lock()
        self._lines = _GrowingFile(self._path)
        self._known = NotedFiles()

    def note(self, name: str, digest: str) -> None:
        """Record, durably, that this machine writes the file of that name with that content."""
        if not self.knows(name, digest):
            self.add(name, digest)

    def add(self, name: str, digest: str) -> None:
        """Record it, durably, once more: what counts how often it is there may be said again."""
        self._disk.append(self._path, _make_line(name, digest).encode())

    def knows(self, name: str, digest: str) -> bool:
        """Whether this machine wrote the file with that content."""
        return self.load().count(name, digest) > 0

    def load(self) -> NotedFiles:
        """All that this machine wrote, as far as it is noted now."""
        with self._loading:
            return self._load()

    def written(self, names: Collection[T]) -> set[T]:
        """The names among these under which this machine ever wrote a file here."""
        with self._loading:
            return cast("set[T]", self._load().names.intersection(names))

    def _load(self) -> NotedFiles:
        """All that is noted, with the lines that any process has added since the last call."""
        anew, lines = self._lines.read_on()
        if anew:
            self._known = NotedFiles()
        if lines:
            self._known.add(lines.decode("ascii", errors="replace").splitlines())
        return self._known


def _make_line(name: str, digest: str) -> str:
    return f"{name} {digest}"


class TrustedCloud:
    """Whether the user trusts the cloud at this address. Implements `ports.CloudTrust`."""

    def __init__(self, home: Path, address: str, disk: Disk) -> None:
        self._file = _clouds_file(home)
        self._disk = disk
        self.address = address

    def trusted(self) -> bool:
        return self.address in self._file.read_or_default()

    def grant(self) -> None:
        every = self._file.require() | {self.address}
        data = json.dumps({"clouds": sorted(every)}, indent=1) + "\n"
        self._disk.write(self._file.path, data.encode())


def distrust_clouds(home: Path, disk: Disk) -> bool:
    """Trust no cloud from now on; return whether any was trusted.

    Raises:
        StoreUnavailableError: the file system refused.
    """
    before = bool(list_trusted_clouds(home))
    if before:
        disk.remove(home / TRUSTED_CLOUDS_FILE)
    return before


def list_trusted_clouds(home: Path) -> list[str]:
    """The addresses of the clouds that the user trusts."""
    return sorted(_clouds_file(home).read_or_default())


def _clouds_file(home: Path) -> _CachedFile[frozenset[str]]:
    return _CachedFile(home / TRUSTED_CLOUDS_FILE, _parse_clouds, frozenset())


def _parse_clouds(data: bytes) -> frozenset[str]:
    try:
        fields: Any = json.loads(data)
        return frozenset(str(address) for address in cast("list[Any]", fields["clouds"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset()


@frozen
class Trusted:
    """What the user trusts in a folder: its remote, and the digest of its settings ('': none)."""

    name: str
    settings: str = ""


class TrustedProjects:
    """The projects that the user trusts, by the folder of their records (`plain_path`).

    What the file system refuses to write raises `StoreUnavailableError`.
    """

    def __init__(self, home: Path, disk: Disk) -> None:
        self.home = home
        self.disk = disk
        self._file = _CachedFile[Mapping[str, Trusted]](home / TRUST_FILE, _parse_projects, {})

    def every(self) -> Mapping[str, Trusted]:
        """The trusted folders of records, each with what is trusted there."""
        return self._file.read_or_default()

    def trust(self, records: str, name: str, settings: str = "") -> None:
        """Trust the project as long as `name` is its remote, and its settings of that digest."""
        self._write({**self._file.require(), records: Trusted(name, settings)})

    def revoke(self, records: str) -> bool:
        """Trust the project no more; return whether it was trusted."""
        every = dict(self._file.require())
        before = every.pop(records, None)
        if before is not None:
            self._write(every)
        return before is not None

    def _write(self, every: Mapping[str, Trusted]) -> None:
        projects = {folder: _list_json(every[folder]) for folder in sorted(every)}
        data = json.dumps({"projects": projects}, indent=1) + "\n"
        self.disk.write(self._file.path, data.encode())


@frozen
class ProjectOwnership:
    """Tells this machine's own files below a project from those of a stranger.

    Implements `ports.ProjectTrust`. Only this machine writes to the folder `machine`. `records` is
    the plain path of the folder of records. `address` reads the remote from git, `settings` makes
    the digest of the project's settings, and `name` is the project's name by its remote, or ''.
    `folders`, below `project`, hold its memory.
    """

    machine: Path
    ledger: Ledger
    projects: TrustedProjects
    records: str
    address: Callable[[], str]
    settings: Callable[[], str]
    name: str
    project: str
    folders: tuple[str, ...]

    @property
    def remote(self) -> str:
        return self.address()

    def trusted(self) -> bool:
        return self.trusted_remote() == self.remote

    def trusted_remote(self) -> str | None:
        found = self.projects.every().get(self.records)
        return found.name if found else None

    def trusts_settings(self) -> bool:
        now = Trusted(self.remote, self.settings())
        return self.projects.every().get(self.records) == now

    def may_use_cloud(self) -> bool:
        return not self.name or self.trusted()

    def find_links(self) -> list[str]:
        found: list[str] = []
        for folder in self.folders:
            try:
                refuse_links(self.project, folder)
            except UnsafeFileError as error:
                found.append(str(error.filename))
            except OSError:  # its reader reports it
                continue
        return found

    def grant(self) -> None:
        self.projects.trust(self.records, self.remote, self.settings())

    def revoke(self) -> bool:
        was_trusted = self.projects.revoke(self.records)
        return distrust_clouds(self.projects.home, self.projects.disk) or was_trusted


def _list_json(trusted: Trusted) -> dict[str, str]:
    about = {"name": trusted.name}
    return {**about, "settings": trusted.settings} if trusted.settings else about


def _parse_projects(data: bytes) -> dict[str, Trusted]:
    try:
        fields: Any = json.loads(data)
        projects = cast("dict[str, dict[str, Any]]", fields["projects"])
        return {
            folder: Trusted(str(about["name"]), str(about.get("settings", "")))
            for folder, about in projects.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


class LocalErasedLog:
    """Implements `ports.ErasedLog` over a file. A torn line names nothing."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._disk = disk
        self._loading = threading.Lock()
        self._lines = _GrowingFile(folder / ERASED_FILE)
        self._known: frozenset[RecordId] = frozenset()

    @in_thread
    def ids(self) -> frozenset[RecordId]:
        return self._load()

    @in_thread
    def add(self, record_ids: Collection[RecordId]) -> None:
        if new := sorted(set(record_ids) - self._load()):
            self._disk.append(self._lines.path, json.dumps(new).encode())

    def _load(self) -> frozenset[RecordId]:
        """The ids that are logged, with those that any process has added since the last call."""
        with self._loading:
            anew, data = self._lines.read_on()
            if anew:
                self._known = frozenset[RecordId]()
            if data:
                lines = data.decode(errors="replace").splitlines()
                self._known |= {id_ for line in lines for id_ in _parse_ids(line)}
            return self._known


def _parse_ids(line: str) -> list[RecordId]:
    try:
        names = json.loads(line)
    except ValueError:
        return []
    if not isinstance(names, list):
        return []
    return [RecordId(n) for n in names if isinstance(n, str) and is_record_id(n)]  # pyright: ignore[reportUnknownVariableType]  # JSON
