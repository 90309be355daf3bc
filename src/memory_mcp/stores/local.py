"""The local provider: one JSON file a record, `<yyyy-mm>/<id>.json`.

Files are written once. Two folders are merged by copying: names are unique, so there is never a
conflict. This module knows files; it does not know what is visible, nor that there is an index.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import to_json

from memory_mcp.disk import LITTER, Disk, unavailable
from memory_mcp.domain.findings import Finding
from memory_mcp.domain.ids import RecordId, is_record_id, month_of
from memory_mcp.domain.record import SCHEMA_VERSION, Record
from memory_mcp.errors import NewerSchemaError, StoreDamagedError, StoreError

__all__ = ["LocalRecords", "read_record"]

_SCAN_BATCH: Final = 500
"""Files read per hop to a thread: enough to make the hop cheap, few enough to stay responsive."""


class LocalRecords:
    """Implements `ports.RecordStore` over a folder."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self.root = root
        self._disk = disk

    async def put(self, record: Record) -> None:
        await asyncio.to_thread(self._put, record)

    async def get(self, record_id: RecordId) -> Record | None:
        return await asyncio.to_thread(self._get, record_id)

    async def ids(self) -> set[RecordId]:
        return await asyncio.to_thread(lambda: {RecordId(p.stem) for p in self._files()})

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        ordered = sorted(record_ids)
        for start in range(0, len(ordered), _SCAN_BATCH):
            for record in await asyncio.to_thread(
                self._readable, ordered[start : start + _SCAN_BATCH]
            ):
                yield record

    async def erase(self, record_ids: Collection[RecordId]) -> None:
        await asyncio.to_thread(self._erase, record_ids)

    async def tidy(self) -> None:
        await asyncio.to_thread(self._tidy)

    async def findings(self, *, repair: bool) -> list[Finding]:
        return await asyncio.to_thread(self._findings, repair=repair)

    def path(self, record_id: RecordId) -> Path:
        """Where the record's file is (or would be)."""
        return self.root / month_of(record_id) / f"{record_id}.json"

    def _put(self, record: Record) -> None:
        path = self.path(record.id)
        data = to_json(record.as_json(), indent=1) + b"\n"
        try:
            present = path.read_bytes() if path.exists() else None
        except OSError as error:
            raise unavailable(error, path, "store") from error
        if present is None:
            self._disk.write(path, data)
        elif present != data:
            raise StoreDamagedError(
                f"{path} already holds another record; it is left as it is. "
                "Run `memory-mcp doctor`."
            )

    def _get(self, record_id: RecordId) -> Record | None:
        if not is_record_id(record_id):
            return None
        try:
            return read_record(self.path(record_id))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unavailable(error, self.path(record_id), "read") from error

    def _readable(self, record_ids: Collection[RecordId]) -> list[Record]:
        found: list[Record] = []
        for record_id in record_ids:
            try:
                record = self._get(record_id)
            except StoreError:  # the doctor names it; one bad file must not hide the others
                continue
            if record is not None:
                found.append(record)
        return found

    def _erase(self, record_ids: Collection[RecordId]) -> None:
        for record_id in record_ids:
            if is_record_id(record_id):
                self._disk.remove(self.path(record_id))

    def _findings(self, *, repair: bool) -> list[Finding]:
        found: list[Finding] = []
        for path in self._files():
            try:
                read_record(path)
                if path != self.path(RecordId(path.stem)):
                    found.append(_misplaced(path, self.path(RecordId(path.stem))))
            except StoreError as error:
                found.append(Finding("record-unreadable", "must", str(error), "Restore the file."))
            except FileNotFoundError:  # erased since it was listed
                continue
            except OSError as error:
                what = str(unavailable(error, path, "read"))
                found.append(Finding("record-unreadable", "must", what, "Restore the file."))
        for path in sorted(self.root.glob("*-*/*.json")):
            if not is_record_id(path.stem):
                found.append(_misplaced(path, None))  # noqa: PERF401  # reads like its neighbours
        for path in sorted(self._litter()):
            if repair:
                self._disk.remove(path)
            found.append(
                Finding(
                    "litter", "should", f"{path} is left over from a write that was cut short.",
                    "`memory-mcp doctor --repair` removes it.", repaired=repair,
                )
            )  # fmt: skip
        return found

    def _tidy(self) -> None:
        for path in self._litter():
            self._disk.remove_old(path)

    def _litter(self) -> Iterator[Path]:
        return self.root.glob(f"*/.*{LITTER}")

    def _files(self) -> Iterator[Path]:
        try:
            months = [entry.path for entry in os.scandir(self.root) if entry.is_dir()]
            for month in months:
                for entry in os.scandir(month):
                    name = entry.name
                    if name.endswith(".json") and is_record_id(name[:-5]):
                        yield Path(entry.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise unavailable(error, self.root, "read") from error


def _misplaced(path: Path, home: Path | None) -> Finding:
    belongs = f"belongs at {home}" if home else "has a name that is no record's id"
    return Finding(
        "record-misplaced", "should", f"{path} {belongs}: it is not read.", "Move it by hand."
    )


def read_record(path: Path) -> Record:
    """The record in a file.

    Raises:
        FileNotFoundError: there is none.
        StoreDamagedError: the file is not a whole record, or holds one of another name.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    data = path.read_bytes()
    try:
        fields = json.loads(data)
        if b"\\u" in data:  # an escape can hold half a character, which no index could take in
            json.dumps(fields, ensure_ascii=False).encode()
        version = fields["schema_version"]
        if version > SCHEMA_VERSION:
            raise NewerSchemaError(str(path), version, SCHEMA_VERSION)
        record = Record.model_validate(fields)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = _reason(error)
        raise StoreDamagedError(
            f"{path} is damaged ({reason}). It is left as it is; restore it from git or a backup. "
            "Everything else works on."
        ) from error
    if record.id != path.stem:
        raise StoreDamagedError(f"{path} holds the record {record.id}; a file is named by its id.")
    return record


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"no JSON: {error.msg} at line {error.lineno}"
        case ValidationError():
            first = error.errors(include_url=False)[0]
            return f"{'.'.join(map(str, first['loc'])) or 'record'}: {first['msg']}"
        case KeyError():
            return f"no field {error.args[0]!r}"
        case _:
            return "not a JSON object in UTF-8"
