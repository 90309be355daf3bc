"""Which records this machine has erased: a log that only grows, of ids and nothing else.

A forget rests on a record that orders it. Records are committed with code: git may take that record
away with the branch it is on, and bring back the file of what was erased. The log stays.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Final

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.ids import RecordId, is_record_id

__all__ = ["ERASED_FILE", "LocalErased"]

ERASED_FILE: Final = "erased.jsonl"

_Stamp = tuple[int, int, int]


class LocalErased:
    """Implements `ports.ErasedLog` over a file. A line that a cut tore names nothing."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self._seen: tuple[_Stamp, frozenset[RecordId]] | None = None

    def ids(self) -> frozenset[RecordId]:
        path = self._folder / ERASED_FILE
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._seen is None or self._seen[0] != stamp:
                lines = path.read_text("utf-8", errors="replace").splitlines()
                self._seen = (stamp, frozenset(id_ for line in lines for id_ in _named(line)))
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise unavailable(error, path, "read") from error
        return self._seen[1]

    def add(self, record_ids: Collection[RecordId]) -> None:
        if new := sorted(set(record_ids) - self.ids()):
            self._disk.append(self._folder / ERASED_FILE, json.dumps(new).encode())


def _named(line: str) -> list[RecordId]:
    try:
        names = json.loads(line)
    except ValueError:
        return []
    if not isinstance(names, list):
        return []
    return [RecordId(n) for n in names if isinstance(n, str) and is_record_id(n)]  # pyright: ignore[reportUnknownVariableType]  # JSON
