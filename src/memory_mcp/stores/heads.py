"""The head file, its lock and its history.

    memory-head.json    the newest head, replaced whole
    memory-head.lock    held while it is compared and replaced
    history.jsonl       every move, one line each: who, when, from, to

Write order, and why:

1. the head, with the move's record inside it (`last`) and those that were written in one step with
   it (`with_last`). This is the commit;
2. the line of history. A cut before it leaves a gap that the next start fills from the records;
3. (by the caller) these records themselves, the move's own last. A cut before it is noticed by
   whoever looks next, because the head names them and holds them whole.

The lock makes moves queue; the revision makes them correct.
"""

import asyncio
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.findings import Finding
from memory_mcp.domain.limits import LOCK_SECONDS_MAX
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head
from memory_mcp.errors import (
    ConflictError,
    NewerSchemaError,
    StoreDamagedError,
    StoreUnavailableError,
)
from memory_mcp.stores.head_file import dump_head, history_line, parse_head

__all__ = ["HEAD_FILE", "HISTORY_FILE", "STATE_FOLDER", "LocalHeads", "prepare_state"]

HEAD_FILE: Final = "memory-head.json"
STATE_FOLDER: Final = ".state"
HISTORY_FILE: Final = "history.jsonl"
_LOCK_FILE: Final = "memory-head.lock"

_LOGGED: Final = re.compile(r'\{"id": "([0-9a-f-]{36})".*\}$')

_Stamp = tuple[int, int, int]


class LocalHeads:
    """Implements `ports.HeadStore` over a `.state` folder."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder = folder
        self._disk = disk
        self._seen: tuple[_Stamp, Head] | None = None

    async def read(self) -> Head | None:
        return self._read() if self._fresh() else await asyncio.to_thread(self._read)

    async def replace(self, head: Head, *, expected: int) -> None:
        await asyncio.to_thread(self._replace, head, expected)

    async def unlogged(self, moves: Sequence[Record]) -> list[Record]:
        logged = await asyncio.to_thread(self._logged)
        return [move for move in moves if move.id not in logged]

    async def log(self, moves: Sequence[Record]) -> None:
        if moves:
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
            self._seen = seen = (stamp, parse_head(self.folder / HEAD_FILE))
        return seen[1]

    def _stamp(self) -> _Stamp | None:
        path = self.folder / HEAD_FILE
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unavailable(error, path, "read") from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _replace(self, head: Head, expected: int) -> None:
        with self._alone():
            self._seen = None  # under the lock the file itself counts, not what was seen of it
            present = self._read()
            revision = present.revision if present else 0
            if revision != expected:
                raise ConflictError(
                    f"The head is at revision {revision}, not {expected}: another session "
                    "moved it in between. Look again with memory_head and repeat."
                )
            self._disk.write(self.folder / HEAD_FILE, dump_head(head))
            last = present.last if present else None
            with suppress(StoreUnavailableError):  # moved it is: the next start fills the gap
                logged = {last.id} if last else self._logged()
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
        try:
            with FileLock(self.folder / _LOCK_FILE, timeout=LOCK_SECONDS_MAX):
                yield
        except Timeout as error:
            raise StoreUnavailableError(
                f"{self.folder / _LOCK_FILE} has been held for {LOCK_SECONDS_MAX:.0f} s by another "
                "process. End that process and try again; nothing was changed."
            ) from error
        except OSError as error:
            raise unavailable(error, self.folder / _LOCK_FILE, "store") from error

    def _logged(self) -> set[str]:
        """The ids of the moves in the history. A line that a cut tore is no line."""
        try:
            lines = (self.folder / HISTORY_FILE).read_text("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise unavailable(error, self.folder / HISTORY_FILE, "read") from error
        return {found.group(1) for line in lines if (found := _LOGGED.match(line))}

    def _findings(self, *, repair: bool) -> list[Finding]:
        path = self.folder / HEAD_FILE
        try:
            self._read()
        except NewerSchemaError as error:
            return [Finding("head-newer", "must", str(error), "Update memory-mcp.")]
        except StoreUnavailableError as error:
            return [Finding("head-unreadable", "must", str(error), "Mend that, and look again.")]
        except StoreDamagedError as error:
            if repair:
                number = sum(1 for _ in self.folder.glob(f"{HEAD_FILE}.damaged*"))
                path.replace(path.with_name(f"{HEAD_FILE}.damaged-{number + 1}"))
            return [
                Finding(
                    "head-damaged", "must", str(error),
                    "`memory-mcp doctor --repair` makes it anew.", repaired=repair,
                )
            ]  # fmt: skip
        return []


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
        raise unavailable(error, folder, "store") from error
    if ours and not ignored:
        disk.write(folder / ".gitignore", b"*\n")
