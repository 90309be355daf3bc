"""The head file, its lock and its history.

    <state>/memory-head.json          the newest head, replaced whole
    <state>/memory-head-<hex>.jsonl   the earlier part of its timeline, if that is long; only grows
    <state>/history.jsonl             every move, one line each: who, when, from, to
    <machine>/memory-head.lock        held while the head is compared and replaced

A head that this machine did not write came with a repository. Unless the user trusts the project it
counts as none, and is set aside when a head is made from the records.

A head says how many bytes of which file its earlier part is, and their digest. So it stays small,
and a move writes what it changes. An earlier part of which anything no longer holds (a forget takes
checkpoints back, with their text) is not used again: the head goes on from a new one.

Write order, and why:

1. what becomes earlier, once the head is large: behind the earlier part, where no head reads it
   yet, or in a new file if a cut left something there;
2. the head, with the move's record inside it (`last`) and the records that were written in one step
   with it (`with_last`). This is the commit;
3. the removal of an earlier part that the head does not go on from, by this write or the next;
4. the line of history. A cut before it leaves a gap that the next start fills from the records;
5. (by the caller) these records themselves, the move's own last. A cut before it is noticed by the
   next reader, because the head names them and holds them whole.

The lock makes moves queue; the revision makes them correct.
"""

import asyncio
import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from memory_mcp.deadlines import waiting_for
from memory_mcp.disk import LITTER, Disk
from memory_mcp.domain.limits import (
    HEAD_BYTES_MAX,
    HEAD_ENTRIES_MAX,
    HISTORY_BYTES_MAX,
    LOCK_SECONDS_MAX,
)
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import EMPTY_TIMELINE, Head, Timeline, make_timeline
from memory_mcp.errors import (
    ConflictError,
    NewerSchemaError,
    StoreDamagedError,
    StoreUnavailableError,
)
from memory_mcp.frozen import frozen
from memory_mcp.hints import name_step
from memory_mcp.locations import STATE_FOLDER
from memory_mcp.patterns import compile_later
from memory_mcp.safe_files import UnsafeFileError, read_file, refuse_links
from memory_mcp.storage.files.records import litter_finding
from memory_mcp.storage.files.trust import ProjectOwnership
from memory_mcp.storage.stored import (
    MAKE_HEAD_ANEW,
    EarlierPart,
    compute_digest,
    dump_earlier_part,
    dump_head,
    dump_history_line,
    dump_timeline,
    parse_earlier_part,
    parse_head,
    parse_head_part,
)
from memory_mcp.storage.threads import in_thread

HEAD_FILE: Final = "memory-head.json"
_SET_ASIDE_MAX: Final = 9
"""Foreign or damaged heads that are kept for a person to look at; the last is overwritten."""
HISTORY_FILE: Final = "history.jsonl"
_LOCK_FILE: Final = "memory-head.lock"

_PARTS: Final = "memory-head-*.jsonl"
_HISTORY_LINE: Final = compile_later(rb'\{"id": "([0-9a-f-]{36})".*\}$')

_Stamp = tuple[int, int, int, bool]


@frozen
class _Loaded:
    """A head and its bytes, the earlier part that it goes on from, and what is beyond that."""

    head: Head
    data: bytes
    part: EarlierPart | None
    earlier: Timeline
    beyond: Timeline


class LocalHeads:
    """Implements `ports.HeadStore` over a `.state` folder.

    Without `owned` the folder is the user's own, and whatever lies there counts. From `below` down
    no link is followed.
    """

    def __init__(
        self, folder: Path, disk: Disk, owned: ProjectOwnership | None = None, *, below: str = ""
    ) -> None:
        self.folder = folder
        self._head = folder / HEAD_FILE
        self._history = folder / HISTORY_FILE
        self._disk = disk
        self._owned = owned
        self._below = below
        self._project = _identify(below)
        self._lock = (owned.machine if owned else folder) / _LOCK_FILE
        self._cached: tuple[_Stamp, _Loaded | None] | None = None
        self._parsed: _Loaded | None = None

    @property
    def place(self) -> str:
        return str(self._head)

    async def read(self) -> Head | None:
        cached = self._cached  # a move in another thread may clear it at any moment
        if cached is not None and self._stamp() == cached[0]:
            loaded = self._read()
        else:
            loaded = await asyncio.to_thread(self._read)
        return loaded.head if loaded else None

    async def replace(self, head: Head, *, expected: int) -> None:
        with waiting_for(f"the lock {self.folder / _LOCK_FILE}"):
            await asyncio.to_thread(self._replace, head, expected)

    @in_thread
    def find_unlogged(self, moves: Sequence[Record]) -> list[Record]:
        logged = self._load_logged()
        return [move for move in moves if move.id not in logged]

    async def log(self, moves: Sequence[Record]) -> None:
        if moves:
            with waiting_for(f"the lock {self.folder / _LOCK_FILE}"):
                await asyncio.to_thread(self._log, moves)

    @in_thread
    def findings(self, *, repair: bool) -> list[Finding]:
        path = self._head
        try:
            refuse_links(self._below, str(path))
            if self._read() is None and os.path.lexists(path):
                what = f"{path} was not written on this machine, so it is not believed."
                remedy = "The next checkpoint sets it aside; `memory-mcp trust` believes it."
                return [Finding("head-foreign", "should", what, remedy)]
        except UnsafeFileError as error:
            unsafe = self._disk.unavailable(error, path, "read")
            return [Finding.of("head-unsafe", "must", unsafe, "Move it away.")]
        except NewerSchemaError as error:
            return [Finding.of("head-newer", "must", error, "Update memory-mcp.")]
        except (StoreUnavailableError, OSError) as error:
            if isinstance(error, OSError):
                error = self._disk.unavailable(error, path, "read")
            return [Finding.of("head-unreadable", "must", error, "Mend that, and look again.")]
        except StoreDamagedError as error:
            if repair:
                self._set_aside("damaged")
            return [Finding.of("head-damaged", "must", error, MAKE_HEAD_ANEW, repaired=repair)]
        litter = sorted(self.folder.glob(f".*{LITTER}"))
        if litter and repair:
            with self._locked():  # nobody is in the middle of a write
                self._disk.remove_all(litter, self.folder)
        return [litter_finding(path, repaired=repair) for path in litter]

    def _read(self) -> _Loaded | None:
        while (stamp := self._stamp()) is not None:
            cached = self._cached
            if cached is not None and cached[0] == stamp:
                return cached[1]
            try:
                loaded = self._load()
            except StoreDamagedError:
                if self._stamp() == stamp:
                    raise
                continue  # another process has replaced it, and removed the part before it
            self._cached = stamp, loaded
            return loaded
        self._cached = None
        return None

    def _load(self) -> _Loaded | None:
        """The head in the file, unless it came with a repository that is not trusted."""
        path = self._head
        owned = self._owned
        ours = owned is None or owned.trusted() or bool(owned.ledger.written([HEAD_FILE]))
        try:
            data = read_file(str(path), HEAD_BYTES_MAX, self._below)
        except FileNotFoundError:
            return None
        except UnsafeFileError as error:
            if ours and error.filename == str(path):
                raise self._disk.unavailable(error, path, "read") from error
            return None  # a link above it leads to no head of ours
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        if not ours:
            return None
        if owned and not (owned.trusted() or owned.ledger.knows(HEAD_FILE, compute_digest(data))):
            parse_head(str(path), data)  # one that is damaged is reported all the same
            return None
        return self._parse(data)

    def _parse(self, data: bytes) -> _Loaded:
        """The head of these bytes. To compare them costs less than to parse them again."""
        known = self._parsed
        if known is None or known.data != data:
            part = parse_head_part(str(self._head), data)
            if part is None:
                earlier = EMPTY_TIMELINE
            elif known is not None and known.part == part:
                earlier = known.earlier
            else:
                earlier = self._load_earlier(part)
            head = parse_head(str(self._head), data, earlier)
            beyond = head.timeline.find_beyond(earlier) or EMPTY_TIMELINE
            self._parsed = known = _Loaded(head, data, part, earlier, beyond)
        return known

    def _load_earlier(self, part: EarlierPart) -> Timeline:
        path = self.folder / part.file
        try:
            data = read_file(str(path), HEAD_BYTES_MAX, self._below)[: part.size]
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        digest = ""
        for line in data.splitlines(keepends=True):
            digest = _compute_chained(digest, line)
        if digest != part.digest:
            raise StoreDamagedError(
                f"{path} is not what {HEAD_FILE} goes on from. Nothing is lost.", MAKE_HEAD_ANEW
            )
        return parse_earlier_part(str(path), data)

    def _require_project(self) -> None:
        """Require that the project's folder is the one that was there at the start."""
        if self._project is None or (now := _identify(self._below)) == self._project:
            return
        what = "another folder stands there now" if now else "it was renamed, moved or removed"
        raise StoreUnavailableError(
            f"The project's folder {self._below} is gone: {what} while this session ran. Nothing "
            "was stored; end the session, and begin another where the project is now."
        )

    def _stamp(self) -> _Stamp | None:
        self._require_project()
        try:
            found = self._head.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk.unavailable(error, self._head, "read") from error
        trusted = self._owned is None or self._owned.trusted()
        return found.st_mtime_ns, found.st_size, found.st_ino, trusted

    def _replace(self, head: Head, expected: int) -> None:
        with self._locked():
            self._cached = None  # under the lock only the file itself counts
            present = self._read()
            if present is None:
                self._set_aside("foreign")
            revision = present.head.revision if present else 0
            if revision != expected:
                raise ConflictError(
                    f"The head is at revision {revision}, not {expected}: another session "
                    f"moved it in between. Look again with {name_step('memory_head')} and repeat."
                )
            new = self._prepare(head, present)
            if self._owned:
                self._owned.ledger.add(HEAD_FILE, compute_digest(new.data))
            self._disk.write(self._head, new.data)
            stamp = self._stamp()
            self._parsed, self._cached = new, (stamp, new) if stamp else None
            self._remove_parts(but=new.part)
            with suppress(StoreUnavailableError):  # the next start fills the gap in the history
                logged = present.head.timeline.moves if present else self._load_logged()
                if head.last is not None and head.last.id not in logged:
                    self._disk.append(self._history, dump_history_line(head.last))

    def _prepare(self, head: Head, present: _Loaded | None) -> _Loaded:
        """The head to be written; what is too much for it is moved to its earlier part first."""
        part, earlier, beyond = None, EMPTY_TIMELINE, head.timeline
        if present and present.head.timeline is head.timeline:
            part, earlier, beyond = present.part, present.earlier, present.beyond
        elif present and (more := head.timeline.find_beyond(present.earlier)):
            part, earlier, beyond = present.part, present.earlier, more
        if beyond.count() > HEAD_ENTRIES_MAX:
            part = self._extend(part, beyond, head.timeline)
            # by itself: what a timeline has found out leads to the next one, and so to all of them
            earlier, beyond = make_timeline(dict(head.timeline)), EMPTY_TIMELINE
        return _Loaded(
            head, dump_head(head, dump_timeline(head.timeline, beyond, part)), part, earlier, beyond
        )

    def _extend(self, part: EarlierPart | None, beyond: Timeline, whole: Timeline) -> EarlierPart:
        """Add what is beyond it to an earlier part, or store the whole as a new one; durably."""
        if part is not None and self._measure(part) == part.size:
            line = dump_earlier_part(beyond) + b"\n"
            self._disk.append(self.folder / part.file, line.removesuffix(b"\n"))
            digest = _compute_chained(part.digest, line)
            return EarlierPart(file=part.file, size=part.size + len(line), digest=digest)
        line = dump_earlier_part(whole) + b"\n"
        digest = _compute_chained("", line)
        part = EarlierPart(
            file=f"memory-head-{os.urandom(4).hex()}.jsonl", size=len(line), digest=digest
        )
        if self._owned:
            self._owned.ledger.add(part.file, compute_digest(line))
        self._disk.write(self.folder / part.file, line)
        return part

    def _measure(self, part: EarlierPart) -> int:
        try:
            return (self.folder / part.file).lstat().st_size
        except OSError:
            return -1

    def _list_parts(self) -> list[Path]:
        """The earlier parts that this machine wrote."""
        found = sorted(self.folder.glob(_PARTS))
        if self._owned and found:
            ours = self._owned.ledger.written([path.name for path in found])
            found = [path for path in found if path.name in ours]
        return found

    def _remove_parts(self, but: EarlierPart | None) -> None:
        """Remove earlier parts that no head goes on from, with what was forgotten in them."""
        gone = [path for path in self._list_parts() if but is None or path.name != but.file]
        if gone:
            with suppress(StoreUnavailableError):  # the next write removes them
                self._disk.remove_all(gone, self.folder)

    def _log(self, moves: Sequence[Record]) -> None:
        with self._locked():
            logged = self._load_logged()
            for move in moves:
                if move.id not in logged:
                    self._disk.append(self._history, dump_history_line(move))

    @contextmanager
    def _locked(self) -> Generator[None]:
        prepare_state(self.folder, self._disk)
        otherwise = ". End that process and try again; nothing was changed."
        with self._disk.hold_lock(self._lock, LOCK_SECONDS_MAX, otherwise):
            yield

    def _set_aside(self, why: str) -> None:
        """Move a head that does not count out of the way, with the parts that this machine wrote.

        Raises:
            StoreUnavailableError: what stands there is a link, or no file that could be moved.
        """
        for path in (self._head, *self._list_parts()):
            try:
                read_file(str(path), HEAD_BYTES_MAX, self._below)
                number = sum(1 for _ in self.folder.glob(f"{path.name}.{why}-*")) + 1
                path.replace(path.with_name(f"{path.name}.{why}-{min(number, _SET_ASIDE_MAX)}"))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._disk.unavailable(error, path, "store") from error

    def _load_logged(self) -> set[str]:
        """The ids of the moves in the history. A torn line does not count."""
        try:
            data = read_file(str(self._history), HISTORY_BYTES_MAX, self._below)
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise self._disk.unavailable(error, self._history, "read") from error
        found = (_HISTORY_LINE.match(line) for line in data.splitlines())
        return {line.group(1).decode() for line in found if line}


def _compute_chained(digest: str, line: bytes) -> str:
    """The digest of lines, by that of all but the last."""
    return hashlib.sha256(digest.encode() + line).hexdigest()


def _identify(folder: str) -> tuple[int, int] | None:
    """The device and inode of a folder; None if it is not there."""
    try:
        found = os.stat(folder) if folder else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def prepare_state(folder: Path, disk: Disk) -> None:
    """Make the state folder and keep it out of git.

    A folder of another name that was there before is the user's: git goes on to see it.

    Raises:
        StoreUnavailableError: the file system refused.
    """
    try:
        ours = folder.name == STATE_FOLDER or not folder.exists()
        ignored = (folder / ".gitignore").exists()
    except OSError as error:
        raise disk.unavailable(error, folder, "store") from error
    if ours and not ignored:
        disk.write(folder / ".gitignore", b"*\n")
