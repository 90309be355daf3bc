"""The head file, its lock and its history.

    <state>/memory-head.json      the newest head, replaced whole
    <state>/history.jsonl         every move, one line each: who, when, from, to
    <machine>/memory-head.lock    held while the head is compared and replaced

A head that this machine did not write came with a repository. Unless the user trusts the project it
counts as none, and is set aside when a head is made from the records.

Write order, and why:

1. the head, with the move's record inside it (`last`) and the records that were written in one step
   with it (`with_last`). This is the commit;
2. the line of history. A cut before it leaves a gap that the next start fills from the records;
3. (by the caller) these records themselves, the move's own last. A cut before it is noticed by the
   next reader, because the head names them and holds them whole.

The lock makes moves queue; the revision makes them correct.
"""

import asyncio
import json
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from pydantic_core import to_json

from memory_mcp.deadlines import waiting_for
from memory_mcp.disk import LITTER, Disk, LockHeldError, hold_lock
from memory_mcp.domain.fields import find_cycle
from memory_mcp.domain.ids import MAIN, ROOT
from memory_mcp.domain.json_input import load_json
from memory_mcp.domain.limits import HEAD_BYTES_MAX, HISTORY_BYTES_MAX, LOCK_SECONDS_MAX
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import SCHEMA_VERSION, Record, drop_empty
from memory_mcp.domain.timeline import Checkpoint, Head, Timeline
from memory_mcp.errors import (
    ConflictError,
    NewerSchemaError,
    StoreDamagedError,
    StoreUnavailableError,
)
from memory_mcp.hints import name_step
from memory_mcp.locations import STATE_FOLDER
from memory_mcp.safe_files import UnsafeFileError, read_file, refuse_links
from memory_mcp.storage.files.records import explain_parse_error, litter_finding
from memory_mcp.storage.files.trust import ProjectOwnership, compute_digest
from memory_mcp.storage.threads import in_thread


def dump_history_line(record: Record) -> bytes:
    """A move as a line: ids and names only, so that no forgotten text stays here."""
    move = record.move
    fields = {
        "id": record.id,
        "at": record.as_json()["created_at"],
        "by": record.origin.model_dump(mode="json"),
        "move": move.model_dump(mode="json") if move else None,
    }
    return json.dumps(drop_empty(fields), ensure_ascii=False).encode()


def parse_head(path: Path, data: bytes) -> Head:
    """Parse the bytes of a head file.

    Raises:
        StoreDamagedError: it is no head, or one on which nothing could be written.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    try:
        fields = load_json(data)
        version = fields["schema_version"]
        if version > SCHEMA_VERSION:
            raise NewerSchemaError(str(path), version, SCHEMA_VERSION)
        head = Head(
            project=fields["project"],
            revision=fields["revision"],
            timeline=_parse_timeline(fields),
            last=Record.model_validate(fields["last"]) if fields.get("last") else None,
            with_last=tuple(Record.model_validate(r) for r in fields.get("with_last", [])),
        )
        _require_valid(head.timeline)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(
            f"{path} is damaged ({explain_parse_error(error)}). Nothing is lost: "
            "`memory-mcp doctor --repair` sets it aside and rebuilds it from the records."
        ) from error
    return head


def _require_valid(timeline: Timeline) -> None:
    """Require that each branch ends in an open segment, and that no segment descends from itself.

    Every move opens a segment where it leaves one, so a branch without any lost some.
    """
    gone = timeline.left | timeline.forgotten
    standing = {s.branch for s in timeline.segments.values() if s.id not in gone}
    if ROOT not in gone:
        standing.add(MAIN)
    if lost := set(timeline.branches) - standing:
        raise ValueError(f"no segment is open on {', '.join(sorted(lost))}")
    if ring := find_cycle({s.id: s.parents for s in timeline.segments.values()}):
        raise ValueError(f"segment {ring} comes of itself")


def _index_by_id(listed: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    by_id = {one["id"]: one for one in listed}
    if len(by_id) != len(listed):
        raise ValueError("one id stands for two")
    return by_id


def _parse_timeline(fields: dict[str, Any]) -> Timeline:
    every = [*fields.get("checkpoints", []), *fields.get("undecided", [])]
    return Timeline.model_validate(
        {
            "segments": _index_by_id(fields.get("segments", [])),
            "left": fields.get("left", []),
            "forgotten": fields.get("forgotten", []),
            "checkpoints": _index_by_id(every),
            "lines": _index_by_id(fields.get("lines", [])),
            "given_up": {g["move"]: g for g in fields.get("given_up", [])},
            "undone": fields.get("undone", []),
            "bases": fields.get("bases", {}),
            "anchors": {a["move"]: a for a in fields.get("anchors", [])},
            "moves": fields.get("moves", []),
        }
    )


def dump_head(head: Head, timeline: bytes | None = None) -> bytes:
    """The bytes of a head file, with what people and programs look for at the top.

    `timeline` is what `dump_timeline` made of the head's, if that is known: with a thousand
    branches it is nearly all of the file.
    """
    newest = next(reversed(head.timeline.valid(MAIN)), None)
    first = {
        "schema_version": SCHEMA_VERSION,
        "project": head.project,
        "revision": head.revision,
        "head_phase": newest.phase if newest else None,
        "head_checkpoint": newest.id if newest else None,
    }
    last = {
        "last": head.last.as_json() if head.last else None,
        "with_last": [record.as_json() for record in head.with_last],
    }
    parts = (_dump_members(first), timeline or dump_timeline(head.timeline), _dump_members(last))
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def dump_timeline(timeline: Timeline) -> bytes:
    """The members of a head file that its timeline alone decides."""
    return _dump_members(
        {
            "checkpoints": [_checkpoint_fields(c, timeline) for c in timeline.decided()],
            "branches": {name: {"tips": timeline.tips(name)} for name in timeline.branches},
            "segments": list(timeline.segments.values()),
            "left": sorted(timeline.left),
            "forgotten": sorted(timeline.forgotten),
            "lines": list(timeline.lines.values()),
            "given_up": [
                {"move": move, "branch": each.branch, "segments": sorted(each.segments)}
                for move, each in timeline.given_up.items()
            ],
            "undone": sorted(timeline.undone),
            "bases": {branch: sorted(base) for branch, base in timeline.bases.items()},
            "undecided": [
                c for c in timeline.checkpoints.values() if c.approval in ("pending", "skipped")
            ],
            "anchors": [
                {"move": move, "commit": each.commit, "git_branch": each.git_branch,
                 "segments": each.segments}
                for move, each in timeline.anchors.items()
            ],
            "moves": sorted(timeline.moves),
        }
    )  # fmt: skip


def _dump_members(fields: dict[str, Any]) -> bytes:
    return to_json(fields, indent=1).removeprefix(b"{\n").removesuffix(b"\n}")


def _checkpoint_fields(checkpoint: Checkpoint, timeline: Timeline) -> dict[str, Any]:
    holds = timeline.holds(checkpoint.branch, checkpoint.seals)
    status = "valid" if holds else "invalidated"
    first = {"id": checkpoint.id, "phase": checkpoint.phase, "status": status}
    return first | vars(checkpoint)


HEAD_FILE: Final = "memory-head.json"
_SET_ASIDE_MAX: Final = 9
"""Foreign or damaged heads that are kept for a person to look at; the last is overwritten."""
HISTORY_FILE: Final = "history.jsonl"
_LOCK_FILE: Final = "memory-head.lock"

_HISTORY_LINE: Final = re.compile(rb'\{"id": "([0-9a-f-]{36})".*\}$')

_Stamp = tuple[int, int, int, bool]


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
        self._cached: tuple[_Stamp, Head | None] | None = None
        self._parsed: tuple[bytes, Head] | None = None
        self._dumped: tuple[Timeline, bytes] | None = None
        self._digested = (b"", "")

    async def read(self) -> Head | None:
        cached = self._cached  # a move in another thread may clear it at any moment
        if cached is not None and self._stamp() == cached[0]:
            return self._read()
        return await asyncio.to_thread(self._read)

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
            what = str(self._disk.unavailable(error, path, "read"))
            return [Finding("head-unsafe", "must", what, "Move it away.")]
        except NewerSchemaError as error:
            return [Finding("head-newer", "must", str(error), "Update memory-mcp.")]
        except (StoreUnavailableError, OSError) as error:
            if isinstance(error, OSError):
                error = self._disk.unavailable(error, path, "read")
            return [Finding("head-unreadable", "must", str(error), "Mend that, and look again.")]
        except StoreDamagedError as error:
            if repair:
                self._set_aside("damaged")
            return [
                Finding(
                    "head-damaged", "must", str(error),
                    "`memory-mcp doctor --repair` makes it anew.", repaired=repair,
                )
            ]  # fmt: skip
        litter = sorted(self.folder.glob(f".*{LITTER}"))
        if litter and repair:
            with self._locked():  # nobody is in the middle of a write
                self._disk.remove_all(litter, self.folder)
        return [litter_finding(path, repaired=repair) for path in litter]

    def _read(self) -> Head | None:
        stamp = self._stamp()
        if stamp is None:
            self._cached = None
            return None
        cached = self._cached
        if cached is None or cached[0] != stamp:
            self._cached = cached = (stamp, self._load())
        return cached[1]

    def _load(self) -> Head | None:
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
        if owned and not (
            owned.trusted() or owned.ledger.knows(HEAD_FILE, self._compute_digest(data))
        ):
            parse_head(path, data)  # one that is damaged is reported all the same
            return None
        return self._parse(data)

    def _parse(self, data: bytes) -> Head:
        """The head of these bytes. To compare a large one costs less than to parse it again."""
        parsed = self._parsed
        if parsed is None or parsed[0] != data:
            self._parsed = parsed = data, parse_head(self._head, data)
        return parsed[1]

    def _compute_digest(self, data: bytes) -> str:
        """The digest of a head's bytes. A move reads those that the last one wrote."""
        if self._digested[0] != data:
            self._digested = data, compute_digest(data)
        return self._digested[1]

    def _dump(self, head: Head) -> bytes:
        """The bytes of a head. A move writes it twice: with its records in it, and without."""
        if self._dumped is None or self._dumped[0] is not head.timeline:
            self._dumped = head.timeline, dump_timeline(head.timeline)
        return dump_head(head, self._dumped[1])

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
            revision = present.revision if present else 0
            if revision != expected:
                raise ConflictError(
                    f"The head is at revision {revision}, not {expected}: another session "
                    f"moved it in between. Look again with {name_step('memory_head')} and repeat."
                )
            data = self._dump(head)
            if self._owned:
                self._owned.ledger.note(HEAD_FILE, self._compute_digest(data))
            self._disk.write(self._head, data)
            self._parsed = data, head
            with suppress(StoreUnavailableError):  # the next start fills the gap in the history
                logged = present.timeline.moves if present else self._load_logged()
                if head.last is not None and head.last.id not in logged:
                    self._disk.append(self._history, dump_history_line(head.last))

    def _log(self, moves: Sequence[Record]) -> None:
        with self._locked():
            logged = self._load_logged()
            for move in moves:
                if move.id not in logged:
                    self._disk.append(self._history, dump_history_line(move))

    @contextmanager
    def _locked(self) -> Generator[None]:
        prepare_state(self.folder, self._disk)
        path = self._lock
        try:
            self._disk.folder(path.parent)
            with hold_lock(path, LOCK_SECONDS_MAX):
                yield
        except LockHeldError as error:
            raise StoreUnavailableError(
                f"{path} has been held for {LOCK_SECONDS_MAX:.0f} s by another "
                "process. End that process and try again; nothing was changed."
            ) from error
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error

    def _set_aside(self, why: str) -> None:
        """Move a head that does not count out of the way.

        Raises:
            StoreUnavailableError: what stands there is a link, or no file that could be moved.
        """
        path = self._head
        try:
            read_file(str(path), HEAD_BYTES_MAX, self._below)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error
        try:
            number = sum(1 for _ in self.folder.glob(f"{HEAD_FILE}.{why}-*")) + 1
            path.replace(path.with_name(f"{HEAD_FILE}.{why}-{min(number, _SET_ASIDE_MAX)}"))
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
