"""What an import reads, and the journal of what it is about to write.

    <machine>/import.json    a line that says how many records follow, and a line for each
    <machine>/import.lock    held by whoever imports, or completes an import

Links within a folder are not followed, nor is any link in a git work tree on the way to what is
named: what somebody sent must not lead elsewhere.

The journal exists only while an import is under way, or was interrupted. It holds texts, so `clear`
removes it.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_mcp.disk import Disk, unavailable
from memory_mcp.domain.json_input import load_json
from memory_mcp.domain.limits import (
    IMPORT_BYTES_MAX,
    IMPORT_FILES_MAX,
    IMPORT_NOTE_BYTES_MAX,
    IMPORT_OWN_FACTOR,
    IMPORT_VALUES_MAX,
)
from memory_mcp.domain.record import SCHEMA_VERSION, Record
from memory_mcp.domain.transfer import LeftOutItem, SourceFile, SourceMaterial
from memory_mcp.errors import InvalidRequestError, NewerSchemaError, StoreDamagedError
from memory_mcp.locations import find_untrusted_roots, name_in_full
from memory_mcp.safe_files import UnsafeFileError, read_file, refuse_links
from memory_mcp.shutdown import interruptible
from memory_mcp.storage.threads import in_thread

_NOTES: Final = (".md", ".markdown")
_NOT_ENTERED: Final = frozenset({"node_modules"})
"""Folders of other people's files. Those that begin with a dot are not entered either."""
_STDIN: Final = "-"
_VALUES: Final = (b"[", b"{", b",")
_SMALLER: Final = (
    "Import it in parts; what is your own may be larger if it lies in no repository, and the "
    "records of another clone of ours can also be copied, file by file."
)


def read_material(name: str, only: Collection[str] = (), project: str = "") -> SourceMaterial:
    """Read a file, a folder's Markdown files, or (`-`) what is piped in.

    With `only`, of a folder only the files of these names (in small letters). Links do not count in
    `project`, nor in the git work trees around what is named.

    Raises:
        InvalidRequestError: there is no such thing, it is too large, or it is no text in UTF-8.
        StoreUnavailableError: the file system does not let us read it.
    """
    if name == _STDIN:
        return SourceMaterial(
            (_read_stdin(limit_factor := IMPORT_OWN_FACTOR),), limit_factor=limit_factor
        )
    path = Path(name_in_full(name))
    try:
        roots = find_untrusted_roots(str(path), project)
        for root in roots:
            refuse_links(root, str(path))
        limit_factor = 1 if any(map(path.is_relative_to, roots)) else IMPORT_OWN_FACTOR
        if path.is_dir():
            return _read_folder(path, only, limit_factor)
        if not path.exists():
            raise InvalidRequestError(f"There is no file or folder {name!r}. Name one to import.")
        document, size = _read_document(path, path.name, limit_factor * IMPORT_BYTES_MAX)
        _refuse_too_many(size, path.name, limit_factor)
        return SourceMaterial((document,), limit_factor=limit_factor)
    except UnsafeFileError as error:
        raise InvalidRequestError(
            f"{name!r} is not imported: {error.explain(str(path))}. Name the file itself."
        ) from error
    except OSError as error:
        raise unavailable(error, path, "read") from error


def _read_stdin(limit_factor: int) -> SourceFile:
    bytes_max = limit_factor * IMPORT_BYTES_MAX
    with interruptible():
        data = sys.stdin.buffer.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise InvalidRequestError(
            f"stdin holds more than {bytes_max:,} bytes, and no more are read. {_SMALLER}"
        )
    if not data.strip():
        raise InvalidRequestError(
            "stdin is empty: there is nothing to import. Pipe a file into it."
        )
    _refuse_too_many(_measure(data), "stdin", limit_factor)
    return SourceFile("stdin", _decode(data, "stdin"), datetime.now(UTC))


def _read_folder(root: Path, only: Collection[str], limit_factor: int) -> SourceMaterial:
    documents: list[SourceFile] = []
    left_out: list[LeftOutItem] = []
    size = _Size(0, 0)
    for path in _find_notes(root):
        if only and path.name.casefold() not in only:
            continue
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            left_out.append(LeftOutItem(name, "is a link, and those are not followed in a folder"))
            continue
        try:
            document, more = _read_document(path, name, IMPORT_NOTE_BYTES_MAX)
        except InvalidRequestError as error:
            left_out.append(LeftOutItem(name, str(error)))
            continue
        size = _Size(size.bytes + more.bytes, size.values + more.values)
        if len(documents) >= IMPORT_FILES_MAX or size.bytes > limit_factor * IMPORT_BYTES_MAX:
            raise InvalidRequestError(
                f"{str(root)!r} holds more than {IMPORT_FILES_MAX:,} notes, or "
                f"{limit_factor * IMPORT_BYTES_MAX:,} bytes in them. Import its folders one by one."
            )
        _refuse_too_many(size, str(root), limit_factor)
        documents.append(document)
    return SourceMaterial(
        tuple(documents), folder=True, left_out=tuple(left_out), limit_factor=limit_factor
    )


def _find_notes(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _NOT_ENTERED
        )
        for name in sorted(names):
            if name.casefold().endswith(_NOTES) and not name.startswith("."):
                yield Path(folder) / name


class _Size(NamedTuple):
    """What a text costs to read: its bytes, and the values or lines in them."""

    bytes: int
    values: int


def _measure(data: bytes) -> _Size:
    return _Size(len(data), max(sum(map(data.count, _VALUES)), data.count(b"\n")))


def _refuse_too_many(size: _Size, name: str, limit_factor: int) -> None:
    most = limit_factor * IMPORT_VALUES_MAX
    if size.values > most:
        raise InvalidRequestError(f"{name} holds more than {most:,} values or lines. {_SMALLER}")


def _read_document(path: Path, name: str, bytes_max: int) -> tuple[SourceFile, _Size]:
    about = path.stat()
    if about.st_size > bytes_max:
        raise InvalidRequestError(
            f"{name} has {about.st_size:,} bytes; up to {bytes_max:,} are read. {_SMALLER}"
        )
    if not path.is_file():
        raise InvalidRequestError(f"{name} is no plain file.")
    data = read_file(str(path), bytes_max)
    document = SourceFile(name, _decode(data, name), datetime.fromtimestamp(about.st_mtime, UTC))
    return document, _measure(data)


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"{name} is no text in UTF-8 (byte {error.start:,}). Save it as UTF-8 and repeat."
        ) from error


JOURNAL_FILE: Final = "import.json"
_LOCK_FILE: Final = "import.lock"


class LocalImportJournal:
    """Implements `ports.ImportJournal` over this machine's folder of the project."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._path = folder / JOURNAL_FILE
        self._disk = disk

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        with self._disk.try_lock(self._folder / _LOCK_FILE) as free:
            yield free

    @in_thread
    def waiting(self) -> bool:
        try:
            return self._path.exists()
        except OSError:
            return False

    async def clear(self) -> None:
        await asyncio.to_thread(self._disk.remove, self._path)

    @in_thread
    def note(self, records: Sequence[Record]) -> None:
        with self._disk.writing(self._path) as put:
            put(_dump_line({"schema_version": SCHEMA_VERSION, "records": len(records)}))
            for record in records:
                put(_dump_line(record.as_json()))

    @in_thread
    def noted(self) -> list[Record]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._disk.unavailable(error, self._path, "read") from error
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


def _dump_line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"
