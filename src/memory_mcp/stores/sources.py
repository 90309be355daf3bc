"""Reading what is to be imported: a file or a folder, as text, and nothing outside of it.

Links within a folder are not followed: a folder that somebody sent must not lead elsewhere.
"""

import os
import sys
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memory_mcp.disk import unavailable
from memory_mcp.domain.limits import IMPORT_BYTES_MAX, IMPORT_FILES_MAX, IMPORT_NOTE_BYTES_MAX
from memory_mcp.domain.moving import Document, LeftOut, Material
from memory_mcp.errors import InvalidRequestError

__all__ = ["read_material"]

_NOTES: Final = (".md", ".markdown")
_NOT_ENTERED: Final = frozenset({"node_modules"})
"""Folders of what others wrote; those that begin with a dot are not entered either."""
_STDIN: Final = "-"


def read_material(name: str, only: Collection[str] = ()) -> Material:
    """All the text of a file, of a folder's Markdown files, or (`-`) of what is piped in.

    Of a folder only the files of certain names (in small letters), if there are any.

    Raises:
        InvalidRequestError: there is no such thing, it is too large, or it is no text in UTF-8.
        StoreUnavailableError: the file system does not let us read it.
    """
    if name == _STDIN:
        return Material((_piped(),))
    path = Path(name).expanduser()
    try:
        if path.is_dir():
            return _folder(path, only)
        if not path.exists():
            raise InvalidRequestError(f"There is no file or folder {name!r}. Name one to import.")
        return Material((_document(path, path.name, IMPORT_BYTES_MAX),))
    except OSError as error:
        raise unavailable(error, path, "read") from error


def _piped() -> Document:
    """What is piped in; the bytes themselves, so that what is no text in UTF-8 is noticed."""
    data = sys.stdin.buffer.read(IMPORT_BYTES_MAX + 1)
    if len(data) > IMPORT_BYTES_MAX:
        raise InvalidRequestError(
            f"stdin holds more than {IMPORT_BYTES_MAX:,} bytes, and no more are read."
        )
    return Document("stdin", _decoded(data, "stdin"), datetime.now(UTC))


def _folder(root: Path, only: Collection[str]) -> Material:
    documents: list[Document] = []
    left_out: list[LeftOut] = []
    total = 0
    for path in _notes_below(root):
        if only and path.name.casefold() not in only:
            continue
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            left_out.append(LeftOut(name, "is a link, and those are not followed in a folder"))
            continue
        try:
            document = _document(path, name, IMPORT_NOTE_BYTES_MAX)
        except InvalidRequestError as error:
            left_out.append(LeftOut(name, str(error)))
            continue
        total += len(document.text)
        if len(documents) >= IMPORT_FILES_MAX or total > IMPORT_BYTES_MAX:
            raise InvalidRequestError(
                f"{str(root)!r} holds more than {IMPORT_FILES_MAX:,} notes, or "
                f"{IMPORT_BYTES_MAX:,} characters in them. Import its folders one by one."
            )
        documents.append(document)
    return Material(tuple(documents), folder=True, left_out=tuple(left_out))


def _notes_below(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _NOT_ENTERED
        )
        for name in sorted(names):
            if name.casefold().endswith(_NOTES) and not name.startswith("."):
                yield Path(folder) / name


def _document(path: Path, name: str, bytes_max: int) -> Document:
    about = path.stat()
    if about.st_size > bytes_max:
        raise InvalidRequestError(
            f"{name} has {about.st_size:,} bytes; up to {bytes_max:,} are read."
        )
    if not path.is_file():
        raise InvalidRequestError(f"{name} is no plain file.")
    text = _decoded(path.read_bytes(), name)
    return Document(name, text, datetime.fromtimestamp(about.st_mtime, UTC))


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"{name} is no text in UTF-8 (byte {error.start:,}). Save it as UTF-8 and repeat."
        ) from error
