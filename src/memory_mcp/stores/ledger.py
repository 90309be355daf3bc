"""What this machine wrote below a project: how it tells its own files from those of a stranger.

    <machine>/ledger    a line `<name> <digest>` for each version of a file that was written here

A repository can bring any file, and say in it that the user wrote it; it cannot write here. A line
is durable before the file that it speaks of appears: a cut in between leaves a line that speaks of
nothing. Records are known by their content rather than their bytes, because git may change the ends
of lines. Nothing is ever removed: a name of a file that was erased says nothing about its text.
"""

import hashlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from pydantic_core import to_json

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.record import Record

__all__ = ["Ledger", "digest_of", "digest_of_record"]

_LEDGER_FILE: Final = "ledger"
_DIGEST_CHARS: Final = 32
"""128 bits: nobody finds another text of the same digest."""


class Ledger:
    """The files below one project that this machine wrote, whatever process did."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._path = folder / _LEDGER_FILE
        self._disk = disk
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
        return digest in self._refreshed().get(name, ())

    def names(self) -> Collection[str]:
        """The names of all files that this machine ever wrote here.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        return self._refreshed().keys()

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
            raise unavailable(error, self._path, "read") from error
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
