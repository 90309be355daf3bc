"""Write and read our own export: one JSON file, or a folder of Markdown.

    {"format": "memory-mcp", "version": 1, …, "records": [      the JSON, a record on each line
    {…},
    {…}
    ], "count": 2}

    index.md                                      what it is of, and a list of what is in it
    project/2026-01/jwt-for-auth-<id>.md          a record each: its fields as JSON between two
    user/2026-01/tabs-not-spaces-<id>.md          `---`, below them its text as it is

Both hold every field as it is stored. The name of a Markdown file is for people. An index that says
`complete: false` is of an export that was cut short. One invalid record refuses the whole import.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from memory_mcp.domain.forms import reason_of
from memory_mcp.domain.ids import BranchName, RecordId, month_of
from memory_mcp.domain.json_input import without_null
from memory_mcp.domain.record import SCHEMA_VERSION, Reach, Record, iso
from memory_mcp.domain.transfer import (
    EXPORT_FORMAT,
    EXPORT_VERSION,
    Export,
    LeftOut,
    Material,
    OwnExport,
    Parsed,
    SourceFile,
)
from memory_mcp.errors import InvalidRequestError
from memory_mcp.formats.markdown import split_front_matter
from memory_mcp.formats.values import Fields, fields_of, parse_json, refuse_too_many_items

INDEX_NAME: Final = "index.md"

_NAME_CHARS_MAX: Final = 48
_TITLE_CHARS_MAX: Final = 100
_WORD: Final = re.compile(r"[a-z0-9]+")
_OURS: Final = re.compile(
    r"(?:project|user)/\d{4}-\d\d/[a-z0-9-]*"
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.md"
)


def json_start(about: Export) -> str:
    """What comes before the records."""
    head = json.dumps(_head(about), ensure_ascii=False)
    return f'{head[:-1]}, "records": [\n'


def json_line(record: Record, *, first: bool) -> str:
    """A record, and what parts it from the one before."""
    return ("" if first else ",\n") + json.dumps(record.as_json(), ensure_ascii=False)


def json_end(count: int) -> str:
    """What comes after the records."""
    return f'\n], "count": {count}}}\n'


def note_name(record: Record) -> str:
    """The file of a record, below the folder of the export."""
    plain = unicodedata.normalize("NFKD", record.title or record.content[:200])
    words = "-".join(_WORD.findall(plain.encode("ascii", "ignore").decode().lower()))
    words = words[:_NAME_CHARS_MAX].rstrip("-") or record.kind
    return f"{pool_name(record)}/{month_of(record.id)}/{words}-{record.id}.md"


def note_text(record: Record) -> str:
    """The file's text. The last end of line is the file's own; all else is the text's."""
    fields = record.as_json()
    content = fields.pop("content")
    del fields["container_tags"]  # they follow from the rest
    lines = "".join(f"{name}: {_value(value)}\n" for name, value in fields.items())
    return f"---\n{lines}---\n{content}\n"


def index_text(about: Export, count: int, lines: Iterable[str], *, complete: bool) -> str:
    """The index: what the export is, and a line for each record."""
    fields = {**_head(about), "count": count, "complete": complete}
    head = "".join(f"{name}: {_value(value)}\n" for name, value in fields.items())
    whose = about.scope.project if "project" in about.pools else about.scope.user
    return "\n".join([f"---\n{head}---\n# Memories of {whose}\n", *lines, ""])


def index_lines(records: Iterable[Record]) -> Iterator[str]:
    """What leads to the records' files."""
    for record in records:
        said = " ".join((record.title or record.content[: 2 * _TITLE_CHARS_MAX]).split())
        said = said if len(said) <= _TITLE_CHARS_MAX else f"{said[: _TITLE_CHARS_MAX - 1]}\u2026"
        said = re.sub(r"([\[\]\\`*_<>])", r"\\\1", said) or record.kind
        yield f"- [{said}]({note_name(record)}) {record.kind}, {record.created_at:%Y-%m-%d}"


def is_file_of_ours(name: str) -> bool:
    """Whether a name below the folder is one that an export gave."""
    return _OURS.fullmatch(name) is not None


def pool_name(record: Record) -> Reach:
    """A record without a project is the user's."""
    return "user" if record.scope.project is None else "project"


def _head(about: Export) -> dict[str, Any]:
    return {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "exported_at": iso(about.at),
        "scope": about.scope.model_dump(mode="json", exclude_none=True),
        "branch": about.branch,
        "pools": list(about.pools),
        "history": about.history,
    }


def _value(value: object) -> str:
    """A value as JSON on one line, on which every reader agrees what a line is."""
    said = json.dumps(value, ensure_ascii=False)
    return said if said.isprintable() else json.dumps(value)


_ABOUT: Final = TypeAdapter(Export)
_POOLS: Final[tuple[Reach, ...]] = ("project", "user")
_HEAD_CHARS: Final = 400
_NAMED: Final = re.compile(rf'"format"\s*:\s*"{EXPORT_FORMAT}"')
"""However the JSON is set: other programs set it anew."""
_RECORDS: Final = re.compile(r',\s*"records"\s*:')
_NOTHING_CHANGED: Final = "Nothing was changed."


def is_head_of_ours(text: str) -> bool:
    """Whether a file begins as one of our exports does: the JSON, or the index of the folder."""
    start = text[:_HEAD_CHARS].lstrip("\ufeff").replace("\r\n", "\n")
    if start.startswith("---\n"):
        return f'\nformat: "{EXPORT_FORMAT}"\n' in start
    return start.startswith("{") and _NAMED.search(start) is not None


def parse_head(text: str) -> Export | None:
    """What an export says of itself, told from its beginning; None where that does not tell it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        if text.startswith("---\n"):
            head, _ = _note(SourceFile(INDEX_NAME, text, datetime.min.replace(tzinfo=UTC)))
            return _about(head or {}, INDEX_NAME)
        head_alone = _RECORDS.split(text, maxsplit=1)[0] + "}"
        return _about(fields_of(json.loads(head_alone)) or {}, "it")
    except (ValueError, RecursionError, InvalidRequestError):
        return None


def matches(material: Material) -> bool:
    """Whether a file, or the index of a folder, begins as our own exports do."""
    if not material.folder:
        return is_head_of_ours(material.documents[0].text)
    index = next((d for d in material.documents if d.name == INDEX_NAME), None)
    return index is not None and is_head_of_ours(index.text)


def read(material: Material) -> Parsed:
    """The records of an export.

    Raises:
        InvalidRequestError: something in it cannot be: it names what, and where.
    """
    index = next((d for d in material.documents if d.name == INDEX_NAME), None)
    if material.folder and index is not None:
        about, read, left_out = _folder(material, index)
    elif len(material.documents) == 1:
        about, read, left_out = _file(material.documents[0], material.times)
    else:
        raise InvalidRequestError(
            f"There is no {INDEX_NAME} of an export in the folder. {_NOTHING_CHANGED}"
        )
    records, twice = _drop_repeats(read)
    _refuse_circles(records)
    own = OwnExport(about, tuple(sorted(records, key=lambda record: record.id)))
    return Parsed("memory-mcp", left_out=(*material.left_out, *left_out, *twice), own=own)


def _file(
    document: SourceFile, times: int
) -> tuple[Export, list[tuple[str, Record]], list[LeftOut]]:
    fields = fields_of(parse_json(document.text, document.name)) or {}
    about = _about(fields, document.name)
    items = fields.get("records")
    if not isinstance(items, list):
        raise _invalid(document.name, "has no list `records`")
    items = cast("list[Any]", items)
    refuse_too_many_items(len(items), times)
    if fields.get("count") != len(items):
        raise _invalid(
            document.name, f"names {fields.get('count')!r} records, and has {len(items):,}"
        )
    named = ((f"{document.name}, record {n}", item) for n, item in enumerate(items, 1))
    return about, [(where, _record(where, fields_of(item))) for where, item in named], []


def _folder(
    material: Material, index: SourceFile
) -> tuple[Export, list[tuple[str, Record]], list[LeftOut]]:
    head, _ = _note(index)
    if head is None:
        raise _invalid(index.name, "has no front matter")
    about = _about(head, index.name)
    if head.get("complete") is not True:
        raise _invalid(index.name, "says that the export was cut short: export again")
    read: list[tuple[str, Record]] = []
    left_out: list[LeftOut] = []
    refuse_too_many_items(len(material.documents), material.times)
    for document in material.documents:
        if document is index:
            continue
        fields, body = _note(document)
        if fields is None or "id" not in fields:
            left_out.append(
                LeftOut(document.name, "is no record: it has no front matter with an id")
            )
            continue
        given = {**fields, "content": body}
        read.append((document.name, _record(document.name, given)))
    if head.get("count") != len(read):
        raise _invalid(
            index.name, f"names {head.get('count')!r} records, and there are {len(read):,}"
        )
    return about, read, left_out


def _note(document: SourceFile) -> tuple[dict[str, Any] | None, str]:
    """The fields of a file of the folder, and its text as it was written."""
    text = document.text.removeprefix("\ufeff")
    if text.startswith("---\r\n"):  # git or an editor turned the ends of all lines
        text = text.replace("\r\n", "\n")
    head, body = split_front_matter(text)
    if head is None:
        return None, ""
    fields: dict[str, Any] = {}
    for line in head.split("\n") if head else ():
        name, colon, value = line.partition(": ")
        try:
            fields[name] = json.loads(value) if colon else _not_a_field(line)
        except (ValueError, RecursionError) as error:
            raise _invalid(
                document.name, f"has a line that is no `name: JSON`: {line!r:.80}"
            ) from error
    return fields, body.removesuffix("\n")


def _not_a_field(line: str) -> object:
    raise ValueError(line)


def _about(fields: Mapping[str, Any], name: str) -> Export:
    if fields.get("format") != EXPORT_FORMAT:
        raise _invalid(
            name, f"is of the format {fields.get('format')!r:.40}, not {EXPORT_FORMAT!r}"
        )
    version = fields.get("version")
    if isinstance(version, int) and version > EXPORT_VERSION:
        raise InvalidRequestError(
            f"{name} is an export of version {version}; this memory-mcp knows up to "
            f"{EXPORT_VERSION}. Update memory-mcp. {_NOTHING_CHANGED}"
        )
    try:
        return _ABOUT.validate_python(
            {
                "scope": fields.get("scope"),
                "at": fields.get("exported_at"),
                "branch": BranchName(fields.get("branch") or "main"),
                "pools": fields.get("pools") or _POOLS,
                "history": fields.get("history", False),
            }
        )
    except ValidationError as error:
        raise _invalid(name, f"does not say what it is of: {reason_of(error)}") from error


def _record(where: str, fields: Fields | None) -> Record:
    if fields is None:
        raise _invalid(where, "is no object")
    if isinstance(version := fields.get("schema_version"), int) and version > SCHEMA_VERSION:
        raise InvalidRequestError(
            f"{where} has schema version {version}; this memory-mcp knows up to {SCHEMA_VERSION}. "
            f"Update memory-mcp. {_NOTHING_CHANGED}"
        )
    try:
        record = Record.model_validate(without_null(fields))
    except ValidationError as error:
        raise _invalid(where, f"is no record: {reason_of(error)}") from error
    return record


def _drop_repeats(read: Iterable[tuple[str, Record]]) -> tuple[list[Record], list[LeftOut]]:
    known: dict[RecordId, Record] = {}
    twice: list[LeftOut] = []
    for where, record in read:
        if known.setdefault(record.id, record) != record:
            raise _invalid(where, f"has the id {record.id}, and so has another record in it")
        if known[record.id] is not record:
            twice.append(LeftOut(where, "stands there twice"))
    return list(known.values()), twice


def _refuse_circles(records: Iterable[Record]) -> None:
    """What came of itself cannot have come about; whoever follows it would never come to an end."""
    opened = [r.move for r in records if r.move is not None]
    relations: dict[str, dict[str, set[str]]] = {
        "supersedes": {r.id: set(r.supersedes) for r in records},
        "derived_from": {r.id: set(r.derived_from) for r in records},
        "parents": {s: set(move.parents) for move in opened for s in move.opens.values()},
    }
    for name, graph in relations.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            ring = cast("list[str]", error.args[1])
            said = " \u2192 ".join(ring[:5])
            raise InvalidRequestError(
                f"The export is not right: {name} goes round in a circle ({said}). "
                f"{_NOTHING_CHANGED}"
            ) from error


def _invalid(where: str, what: str) -> InvalidRequestError:
    return InvalidRequestError(f"The export is not right: {where} {what}. {_NOTHING_CHANGED}")
