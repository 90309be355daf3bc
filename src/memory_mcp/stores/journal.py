"""The journal of an import, as a file where only this machine writes.

    import.json    a line that says how many records follow, and a line for each
    import.lock    held by whoever imports, or completes an import

It is there only while an import is under way, or was cut short. It holds texts, so `clear` removes
it, and a completed import leaves nothing of it.
"""

import asyncio
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.record import SCHEMA_VERSION, Record
from memory_mcp.domain.strict_json import load_json
from memory_mcp.errors import NewerSchemaError, StoreDamagedError

__all__ = ["JOURNAL_FILE", "LocalJournal"]

JOURNAL_FILE: Final = "import.json"
_LOCK_FILE: Final = "import.lock"


class LocalJournal:
    """Implements `ports.ImportJournal` over this machine's folder of the project."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._path = folder / JOURNAL_FILE
        self._disk = disk

    @contextmanager
    def alone(self) -> Generator[bool]:
        lock = FileLock(self._folder / _LOCK_FILE, timeout=0)
        try:
            self._disk.folder(self._folder)
            lock.acquire()
        except Timeout:
            yield False
            return
        except OSError as error:
            raise unavailable(error, self._folder / _LOCK_FILE, "store") from error
        try:
            yield True
        finally:
            lock.release()

    def waiting(self) -> bool:
        try:
            return self._path.exists()
        except OSError:
            return False

    async def note(self, records: Sequence[Record]) -> None:
        await asyncio.to_thread(self._note, records)

    async def noted(self) -> list[Record]:
        return await asyncio.to_thread(self._noted)

    async def clear(self) -> None:
        await asyncio.to_thread(self._disk.remove, self._path)

    def _note(self, records: Sequence[Record]) -> None:
        with self._disk.writing(self._path) as put:
            put(_line({"schema_version": SCHEMA_VERSION, "records": len(records)}))
            for record in records:
                put(_line(record.as_json()))

    def _noted(self) -> list[Record]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unavailable(error, self._path, "read") from error
        try:
            head, *lines = data.splitlines()
            about = load_json(head)
            if about["schema_version"] > SCHEMA_VERSION:
                raise NewerSchemaError(str(self._path), about["schema_version"], SCHEMA_VERSION)
            records = [Record.model_validate(load_json(line)) for line in lines]
            if len(records) != about["records"]:
                raise ValueError("lines are missing")  # noqa: TRY301  # one way to be damaged
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreDamagedError(
                f"{self._path}, the journal of an import that was cut short, is damaged. Remove it "
                "and import again: what came before stays, and nothing is stored twice."
            ) from error
        return records


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"
