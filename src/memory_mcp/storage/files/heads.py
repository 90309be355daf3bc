"""The head file, its lock and its history.

    <state>/memory-head.json      the newest head, replaced whole
    <state>/history.jsonl         every move, one line each: who, when, from, to
    <machine>/memory-head.lock    held while the head is compared and replaced

A head that this machine did not write came with a repository. It is not believed unless the user
trusts the project: it counts as none, and is set aside when a head is made from the records.

Write order, and why:

1. the head, with the move's record inside it (`last`) and those that were written in one step with
   it (`with_last`). This is the commit;
2. the line of history. A cut before it leaves a gap that the next start fills from the records;
3. (by the caller) these records themselves, the move's own last. A cut before it is noticed by
   whoever looks next, because the head names them and holds them whole.

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

from filelock import FileLock, Timeout
from pydantic import ValidationError

from memory_mcp.deadlines import waiting_for
from memory_mcp.disk import LITTER, Disk
from memory_mcp.domain.fields import escape_unprintable, explain_validation_error, find_cycle
from memory_mcp.domain.ids import MAIN, ROOT, BranchName
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
from memory_mcp.locations import STATE_FOLDER
from memory_mcp.safe_files import UnsafeFileError, read_file, refuse_links
from memory_mcp.storage.files.trust import Owned, digest_of


def history_line(record: Record) -> bytes:
    """A move as a line: ids and names only, so that a forget leaves no text here."""
    move = record.move
    fields = {
        "id": record.id,
        "at": record.as_json()["created_at"],
        "by": record.origin.model_dump(mode="json"),
        "move": move.model_dump(mode="json") if move else None,
    }
    return json.dumps(drop_empty(fields), ensure_ascii=False).encode()


def parse_head(path: Path, data: bytes) -> Head:
    """The head in a file that holds these bytes.

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
            timeline=_timeline(fields),
            last=Record.model_validate(fields["last"]) if fields.get("last") else None,
            with_last=tuple(Record.model_validate(r) for r in fields.get("with_last", [])),
        )
        _require_tips(head.timeline)
        _require_order(head.timeline)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(
            f"{path} is damaged ({_reason(error)}). Nothing is lost: "
            "`memory-mcp doctor --repair` sets it aside and rebuilds it from the records."
        ) from error
    return head


def _require_tips(timeline: Timeline) -> None:
    """Every move opens a segment where it leaves one: a branch that ends nowhere lost some."""
    gone = timeline.left | timeline.forgotten
    standing = {s.branch for s in timeline.segments.values() if s.id not in gone}
    if ROOT not in gone:
        standing.add(MAIN)
    if lost := set(timeline.branches) - standing:
        raise ValueError(f"no segment is open on {', '.join(sorted(lost))}")


def _require_order(timeline: Timeline) -> None:
    """What comes of itself has no beginning, and whoever looks for one would never end."""
    if ring := find_cycle({s.id: s.parents for s in timeline.segments.values()}):
        raise ValueError(f"segment {ring} comes of itself")


def _reason(error: Exception) -> str:
    match error:
        case ValidationError():
            return explain_validation_error(error)
        case ValueError():
            return escape_unprintable(str(error))
        case _:
            return type(error).__name__


def _each(listed: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """What is listed, by its id; one of two of the same id would be lost without a word."""
    by_id = {one["id"]: one for one in listed}
    if len(by_id) != len(listed):
        raise ValueError("one id stands for two")
    return by_id


def _timeline(fields: dict[str, Any]) -> Timeline:
    every = [*fields.get("checkpoints", []), *fields.get("undecided", [])]
    return Timeline.model_validate(
        {
            "segments": _each(fields.get("segments", [])),
            "left": fields.get("left", []),
            "forgotten": fields.get("forgotten", []),
            "checkpoints": _each(every),
            "lines": _each(fields.get("lines", [])),
            "given_up": {g["move"]: g for g in fields.get("given_up", [])},
            "undone": fields.get("undone", []),
            "bases": fields.get("bases", {}),
            "moves": fields.get("moves", []),
        }
    )


def dump_head(head: Head) -> bytes:
    """The head as a file: what people and programs look for stands at the top."""
    timeline = head.timeline
    newest = next(reversed(timeline.valid(MAIN)), None)
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "project": head.project,
        "revision": head.revision,
        "head_phase": newest.phase if newest else None,
        "head_checkpoint": newest.id if newest else None,
        "checkpoints": [_shown(c, timeline) for c in timeline.decided()],
        "branches": {name: _branch(timeline, name) for name in timeline.branches},
        "segments": [s.model_dump(mode="json") for s in timeline.segments.values()],
        "left": sorted(timeline.left),
        "forgotten": sorted(timeline.forgotten),
        "lines": [line.model_dump(mode="json") for line in timeline.lines.values()],
        "given_up": [
            {"move": move, "branch": each.branch, "segments": sorted(each.segments)}
            for move, each in timeline.given_up.items()
        ],
        "undone": sorted(timeline.undone),
        "bases": {branch: sorted(base) for branch, base in timeline.bases.items()},
        "undecided": [
            c.model_dump(mode="json")
            for c in timeline.checkpoints.values()
            if c.approval in ("pending", "skipped")
        ],
        "moves": sorted(timeline.moves),
        "last": head.last.as_json() if head.last else None,
        "with_last": [record.as_json() for record in head.with_last],
    }
    return (json.dumps(fields, ensure_ascii=False, indent=1) + "\n").encode()


def _shown(checkpoint: Checkpoint, timeline: Timeline) -> dict[str, Any]:
    holds = timeline.chain(checkpoint.branch).issuperset(checkpoint.seals)
    fields = checkpoint.model_dump(mode="json")
    status = "valid" if holds else "invalidated"
    return {"id": fields.pop("id"), "phase": fields.pop("phase"), "status": status, **fields}


def _branch(timeline: Timeline, name: BranchName) -> dict[str, Any]:
    newest = next(reversed(timeline.valid(name)), None)
    return {
        "tips": list(timeline.tips(name)),
        "phase": newest.phase if newest else None,
        "checkpoint": newest.id if newest else None,
    }


HEAD_FILE: Final = "memory-head.json"
_ASIDE_MAX: Final = 9
"""Heads of others that are kept for a person to look at; the last one gives way to the next."""
HISTORY_FILE: Final = "history.jsonl"
_LOCK_FILE: Final = "memory-head.lock"

_LOGGED: Final = re.compile(rb'\{"id": "([0-9a-f-]{36})".*\}$')

_Stamp = tuple[int, int, int, bool]


class LocalHeads:
    """Implements `ports.HeadStore` over a `.state` folder.

    Without `owned` the folder is the user's own, and whatever lies there counts.
    """

    def __init__(
        self, folder: Path, disk: Disk, owned: Owned | None = None, *, below: str = ""
    ) -> None:
        self.folder = folder
        self._disk = disk
        self._owned = owned
        self._below = below  # from here down no link is followed
        self._place = _identity(below)
        self._lock = (owned.machine if owned else folder) / _LOCK_FILE
        self._seen: tuple[_Stamp, Head | None] | None = None

    async def read(self) -> Head | None:
        return self._read() if self._fresh() else await asyncio.to_thread(self._read)

    async def replace(self, head: Head, *, expected: int) -> None:
        with waiting_for(f"the lock {self.folder / _LOCK_FILE}"):
            await asyncio.to_thread(self._replace, head, expected)

    async def unlogged(self, moves: Sequence[Record]) -> list[Record]:
        logged = await asyncio.to_thread(self._logged)
        return [move for move in moves if move.id not in logged]

    async def log(self, moves: Sequence[Record]) -> None:
        if moves:
            with waiting_for(f"the lock {self.folder / _LOCK_FILE}"):
                await asyncio.to_thread(self._log, moves)

    async def findings(self, *, repair: bool) -> list[Finding]:
        return await asyncio.to_thread(self._findings, repair=repair)

    def _fresh(self) -> bool:
        seen = self._seen  # a move in another thread may clear it at any moment
        return seen is not None and self._stamp() == seen[0]

    def _read(self) -> Head | None:
        stamp = self._stamp()
        if stamp is None:
            self._seen = None
            return None
        seen = self._seen
        if seen is None or seen[0] != stamp:
            self._seen = seen = (stamp, self._own_head())
        return seen[1]

    def _own_head(self) -> Head | None:
        """The head in the file, unless it came with a repository that is not trusted."""
        path = self.folder / HEAD_FILE
        ours = self._is_ours()
        try:
            data = read_file(str(path), HEAD_BYTES_MAX, self._below)
        except FileNotFoundError:
            return None
        except UnsafeFileError as error:
            if ours and error.filename == str(path):
                raise self._disk.unavailable(error, path, "read") from error
            return None  # a link above it leads to no head of ours; and what is not ours can wait
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        if not ours:
            return None
        head = parse_head(path, data)
        if self._owned is None or self._owned.trusted():
            return head
        return head if self._owned.ledger.knows(HEAD_FILE, digest_of(data)) else None

    def _is_ours(self) -> bool:
        """Whether a head that stands here can be this machine's, or one that the user trusts."""
        owned = self._owned
        return owned is None or owned.trusted() or bool(owned.ledger.written([HEAD_FILE]))

    def _require_place(self) -> None:
        """Nothing is read or written where the project was when it is not there any more."""
        if self._place is None or (now := _identity(self._below)) == self._place:
            return
        what = "another folder stands there now" if now else "it was renamed, moved or removed"
        raise StoreUnavailableError(
            f"The project's folder {self._below} is gone: {what} while this session ran. Nothing "
            "was stored; end the session, and begin another where the project is now."
        )

    def _stamp(self) -> _Stamp | None:
        self._require_place()
        path = self.folder / HEAD_FILE
        try:
            found = path.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        trusted = self._owned is None or self._owned.trusted()
        return found.st_mtime_ns, found.st_size, found.st_ino, trusted

    def _replace(self, head: Head, expected: int) -> None:
        with self._alone():
            self._seen = None  # under the lock the file itself counts, not what was seen of it
            present = self._read()
            if present is None:
                self._set_aside("foreign")
            revision = present.revision if present else 0
            if revision != expected:
                raise ConflictError(
                    f"The head is at revision {revision}, not {expected}: another session "
                    "moved it in between. Look again with memory_head and repeat."
                )
            data = dump_head(head)
            if self._owned:
                self._owned.ledger.note(HEAD_FILE, digest_of(data))
            self._disk.write(self.folder / HEAD_FILE, data)
            with suppress(StoreUnavailableError):  # moved it is: the next start fills the gap
                logged = present.timeline.moves if present else self._logged()
                if head.last is not None and head.last.id not in logged:
                    self._disk.append(self.folder / HISTORY_FILE, history_line(head.last))

    def _log(self, moves: Sequence[Record]) -> None:
        with self._alone():
            logged = self._logged()
            for move in moves:
                if move.id not in logged:
                    self._disk.append(self.folder / HISTORY_FILE, history_line(move))

    @contextmanager
    def _alone(self) -> Generator[None]:
        prepare_state(self.folder, self._disk)
        path = self._lock
        try:
            self._disk.folder(path.parent)
            with FileLock(path, timeout=LOCK_SECONDS_MAX):
                yield
        except Timeout as error:
            raise StoreUnavailableError(
                f"{path} has been held for {LOCK_SECONDS_MAX:.0f} s by another "
                "process. End that process and try again; nothing was changed."
            ) from error
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error

    def _set_aside(self, why: str) -> None:
        """Move a head that does not count out of the way of one that does.

        Raises:
            StoreUnavailableError: what stands there is no file that could be moved, or is a link.
        """
        path = self.folder / HEAD_FILE
        try:
            read_file(str(path), HEAD_BYTES_MAX, self._below)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error
        try:
            number = sum(1 for _ in self.folder.glob(f"{HEAD_FILE}.{why}-*")) + 1
            path.replace(path.with_name(f"{HEAD_FILE}.{why}-{min(number, _ASIDE_MAX)}"))
        except OSError as error:
            raise self._disk.unavailable(error, path, "store") from error

    def _logged(self) -> set[str]:
        """The ids of the moves in the history. A line that a cut tore is no line."""
        path = self.folder / HISTORY_FILE
        try:
            data = read_file(str(path), HISTORY_BYTES_MAX, self._below)
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise self._disk.unavailable(error, path, "read") from error
        found = (_LOGGED.match(line) for line in data.splitlines())
        return {each.group(1).decode() for each in found if each}

    def _findings(self, *, repair: bool) -> list[Finding]:
        path = self.folder / HEAD_FILE
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
        return self._litter(repair=repair)

    def _litter(self, *, repair: bool) -> list[Finding]:
        litter = sorted(self.folder.glob(f".*{LITTER}"))
        if litter and repair:
            with self._alone():  # nobody is in the middle of a write
                self._disk.remove_all(litter, self.folder)
        said = "{} is left over from a write that was cut short."
        then = "`memory-mcp doctor --repair` removes it."
        return [
            Finding("litter", "should", said.format(path), then, repaired=repair) for path in litter
        ]


def _identity(folder: str) -> tuple[int, int] | None:
    """What a folder is, whatever its name; None if it is not there."""
    try:
        found = os.stat(folder) if folder else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def prepare_state(folder: Path, disk: Disk) -> None:
    """Make the state folder, and keep it out of git: it is this machine's affair.

    A folder of another name that was there before us is the user's, and so is what git sees of it.

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
