"""Records that were read lately, kept as long as their files are what they were.

A record is written once and never changed, and a session reads the same few again and again: what
opens it, what a head names, what a question finds. To see that a file is the one that was read
takes a fifteenth of what reading, checking and parsing it takes.
"""

import os
import threading
import time
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record

__all__ = ["KeptRecords", "Stamp", "is_past", "stamp_record"]

_BYTES_MAX: Final = 4_000_000
"""Of the files of what is kept: three thousand memories of 60 words, a few times that in memory."""
_TICK_NS_MAX: Final = 2_000_000_000
"""The coarsest clock of a file system (FAT): two seconds."""
_FINE_TICK_NS_MAX: Final = 50_000_000
"""The coarsest clock of one that knows parts of a second: that of its system, with room."""

Stamp = tuple[int, int, int, int, int]
"""When a file was written and changed last, its size, and which file of which device it is."""


def is_past(changed: int) -> bool:
    """Whether what changes now gets another time: a file system's clock ticks, some coarsely."""
    tick = _FINE_TICK_NS_MAX if changed % 1_000_000_000 else _TICK_NS_MAX
    return abs(time.time_ns() - changed) > tick


def stamp_record(path: str) -> Stamp:
    """What changes with the file at a path, or what stands in its place.

    Raises:
        OSError: there is none, or the file system refused.
    """
    found = os.lstat(path)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


class KeptRecords:
    """The records of one store that were read last. Any number of threads may use it at once."""

    def __init__(self) -> None:
        self._kept: dict[RecordId, tuple[Stamp, Record]] = {}
        self._bytes = 0
        self._rules: object = None
        self._changing = threading.Lock()

    def follow(self, rules: object) -> None:
        """Drop everything if other `rules` than before say what belongs to the store."""
        with self._changing:
            if rules is not self._rules:
                self._rules = rules
                self._kept.clear()
                self._bytes = 0

    def find(self, id_: RecordId, stamp: Stamp) -> Record | None:
        """The record of this id, if its file has this stamp."""
        kept = self._kept.get(id_)
        return kept[1] if kept and kept[0] == stamp else None

    def keep(self, id_: RecordId, stamp: Stamp, record: Record, rules: object) -> None:
        """Keep a record that was read by these rules after its file had this stamp."""
        written, changed, size, *_ = stamp
        if not (is_past(written) and is_past(changed)):  # it may change and keep its stamp
            return
        with self._changing:
            if rules is not self._rules:
                return
            self._drop(id_)
            self._kept[id_] = stamp, record
            self._bytes += size
            while self._bytes > _BYTES_MAX:
                self._drop(next(iter(self._kept)))

    def drop(self, id_: RecordId) -> None:
        """Drop the record of this id, whose file is to go."""
        with self._changing:
            self._drop(id_)

    def _drop(self, id_: RecordId) -> None:
        if kept := self._kept.pop(id_, None):
            self._bytes -= kept[0][2]
