"""Write and read our own export: one JSON file, or a folder of Markdown.

    {"format": "memory-mcp", "version": 1, …, "records": [      the JSON, a record on each line
    {…},
    {…}
    ], "count": 2}

    index.md                                      what it is of, and a list of what is in it
    project/2026-01/jwt-for-auth-<id>.md          a record each: its fields as JSON between two
    user/2026-01/tabs-not-spaces-<id>.md          `---`, below them its text as it is

Both hold every field as it is stored. The name of a Markdown file is for people. An index with
`complete: false` belongs to an export that was cut short. One invalid record refuses the import.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, cast, get_args

from memory_mcp.checker import ValidationError
from memory_mcp.domain.fields import explain_validation_error
from memory_mcp.domain.ids import BranchName, RecordId, format_id_month
from memory_mcp.domain.json_input import drop_nulls
from memory_mcp.domain.record import SCHEMA_VERSION, Reach, Record, format_time
from memory_mcp.domain.transfer import (
    EXPORT_FORMAT,
    EXPORT_VERSION,
    ExportHeader,
    LeftOutItem,
    ParsedExport,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.errors import InvalidRequestError
from memory_mcp.formats.markdown import split_front_matter
from memory_mcp.formats.values import as_fields, parse_json, refuse_too_many_items
from memory_mcp.patterns import compile_later

INDEX_NAME: Final = "index.md"

_NAME_CHARS_MAX: Final = 48
_TITLE_CHARS_MAX: Final = 100
_WORD: Final = compile_later(r"[a-z0-9]+")
_OURS: Final = compile_later(
    r"(?:project|user)/\d{4}-\d\d/[a-z0-9-]*"
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.md"
)


def render_json_start(about: ExportHeader) -> str:
    """The text before the records."""
    head = json.dumps(_render_head(about), ensure_ascii=False)
    return f'{head[:-1]}, "records": [\n'


def render_json_line(record: Record, *, first: bool) -> str:
    """A record, with the separator from the one before."""
    return ("" if first else ",\n") + json.dumps(record.as_json(), ensure_ascii=False)


def render_json_end(count: int) -> str:
    """The text after the records."""
    return f'\n], "count": {count}}}\n'


def make_note_name(record: Record) -> str:
    """The file of a record, below the folder of the export."""
    plain = unicodedata.normalize("NFKD", record.title or record.content[:200])
    words = "-".join(_WORD.findall(plain.encode("ascii", "ignore").decode().lower()))
    words = words[:_NAME_CHARS_MAX].rstrip("-") or record.kind
    return f"{record.scope.reach}/{format_id_month(record.id)}/{words}-{record.id}.md"


def render_note(record: Record) -> str:
    """The text of a record's file; its last end of line does not belong to the record."""
    fields = record.as_json()
    content = fields.pop("content")
    del fields["container_tags"]  # they follow from the rest
    return f"{_render_front_matter(fields)}{content}\n"


def render_index(about: ExportHeader, count: int, lines: Iterable[str], *, complete: bool) -> str:
    """The index: what the export is, and a line for each record."""
    head = _render_front_matter({**_render_head(about), "count": count, "complete": complete})
    whose: str = getattr(about.scope, about.banks[0]) or ""
    return "\n".join([f"{head}# Memories of {whose}\n", *lines, ""])


def render_index_lines(records: Iterable[Record]) -> Iterator[str]:
    """A link to each record's file."""
    for record in records:
        title = " ".join((record.title or record.content[: 2 * _TITLE_CHARS_MAX]).split())
        if len(title) > _TITLE_CHARS_MAX:
            title = f"{title[: _TITLE_CHARS_MAX - 1]}\u2026"
        title = re.sub(r"([\[\]\\`*_<>])", r"\\\1", title) or record.kind
        yield f"- [{title}]({make_note_name(record)}) {record.kind}, {record.created_at:%Y-%m-%d}"


def is_export_file(name: str) -> bool:
    """Whether a name below the folder is one that an export gave."""
    return _OURS.fullmatch(name) is not None


def _render_head(about: ExportHeader) -> dict[str, Any]:
    return {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "exported_at": format_time(about.at),
        "scope": about.scope.model_dump(mode="json", exclude_none=True),
        "branch": about.branch,
        "pools": list(about.banks),
        "history": about.history,
    }


def _render_front_matter(fields: Mapping[str, object]) -> str:
    """A line of JSON for each field; escaped where readers differ on what ends a line."""
    lines: list[str] = []
    for name, value in fields.items():
        text = json.dumps(value, ensure_ascii=False)
        lines.append(f"{name}: {text if text.isprintable() else json.dumps(value)}\n")
    return f"---\n{''.join(lines)}---\n"


_POOLS: Final[tuple[Reach, ...]] = get_args(Reach)
_HEAD_CHARS: Final = 400
_FORMAT: Final = compile_later(rf'"format"\s*:\s*"{EXPORT_FORMAT}"')
"""However another program has laid out the JSON."""
_RECORDS: Final = compile_later(r',\s*"records"\s*:')
_NOTHING_CHANGED: Final = "Nothing was changed."

_Item = tuple[str, Record]
"""A record, and where in the export it stands."""


def is_export_head(text: str) -> bool:
    """Whether a file begins as one of our exports does: the JSON, or the index of the folder."""
    start = text[:_HEAD_CHARS].lstrip("\ufeff").replace("\r\n", "\n")
    if start.startswith("---\n"):
        return f'\nformat: "{EXPORT_FORMAT}"\n' in start
    return start.startswith("{") and _FORMAT.search(start) is not None


def parse_export_head(text: str) -> ExportHeader | None:
    """What the beginning of an export says of it; None if that cannot be read."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        if text.startswith("---\n"):
            head, _ = _parse_note(SourceFile(INDEX_NAME, text, datetime.min.replace(tzinfo=UTC)))
            return _parse_export(head or {}, INDEX_NAME)
        head_alone = _RECORDS.split(text, maxsplit=1)[0] + "}"
        return _parse_export(as_fields(json.loads(head_alone)), "it")
    except (ValueError, RecursionError, InvalidRequestError):
        return None


def _find_index(material: SourceMaterial) -> SourceFile | None:
    return next((d for d in material.documents if d.name == INDEX_NAME), None)


def matches(material: SourceMaterial) -> bool:
    """Whether a file, or the index of a folder, begins as our own exports do."""
    head = _find_index(material) if material.folder else material.documents[0]
    return head is not None and is_export_head(head.text)


def read(material: SourceMaterial) -> ParsedSource:
    """The records of an export.

    Raises:
        InvalidRequestError: something in it is invalid; the message says what, and where.
    """
    index = _find_index(material)
    left_out: list[LeftOutItem] = []
    if material.folder and index is not None:
        export, items, left_out = _read_folder(material, index)
    elif len(material.documents) == 1:
        export, items = _read_file(material.documents[0], material.limit_factor)
    else:
        raise InvalidRequestError(
            f"There is no {INDEX_NAME} of an export in the folder. {_NOTHING_CHANGED}"
        )
    records, repeated = _drop_repeats(items)
    _refuse_cycles(records)
    own = ParsedExport(export, tuple(sorted(records, key=lambda record: record.id)))
    return ParsedSource("memory-mcp", left_out=(*material.left_out, *left_out, *repeated), own=own)


def _read_file(document: SourceFile, limit_factor: int) -> tuple[ExportHeader, list[_Item]]:
    fields = as_fields(parse_json(document.text, document.name))
    export = _parse_export(fields, document.name)
    values = fields.get("records")
    if not isinstance(values, list):
        raise _invalid(document.name, "has no list `records`")
    values = cast("list[Any]", values)
    refuse_too_many_items(len(values), limit_factor)
    if fields.get("count") != len(values):
        raise _invalid(
            document.name, f"names {fields.get('count')!r} records, and has {len(values):,}"
        )
    named = ((f"{document.name}, record {n}", value) for n, value in enumerate(values, 1))
    return export, [(where, _parse_record(where, value)) for where, value in named]


def _read_folder(
    material: SourceMaterial, index: SourceFile
) -> tuple[ExportHeader, list[_Item], list[LeftOutItem]]:
    head, _ = _parse_note(index)
    if head is None:
        raise _invalid(index.name, "has no front matter")
    export = _parse_export(head, index.name)
    if head.get("complete") is not True:
        raise _invalid(index.name, "says that the export was cut short: export again")
    items: list[_Item] = []
    left_out: list[LeftOutItem] = []
    refuse_too_many_items(len(material.documents), material.limit_factor)
    for document in material.documents:
        if document is index:
            continue
        fields, body = _parse_note(document)
        if fields is None or "id" not in fields:
            reason = "is no record: it has no front matter with an id"
            left_out.append(LeftOutItem(document.name, reason))
        else:
            record = _parse_record(document.name, {**fields, "content": body})
            items.append((document.name, record))
    if head.get("count") != len(items):
        raise _invalid(
            index.name, f"names {head.get('count')!r} records, and there are {len(items):,}"
        )
    return export, items, left_out


def _parse_note(document: SourceFile) -> tuple[dict[str, Any] | None, str]:
    """The fields of a file of the folder, if it has any, and its text as it was written."""
    text = document.text.removeprefix("\ufeff")
    if text.startswith("---\r\n"):  # git or an editor changed the ends of all lines
        text = text.replace("\r\n", "\n")
    head, body = split_front_matter(text)
    if head is None:
        return None, ""
    fields: dict[str, Any] = {}
    for line in head.split("\n") if head else ():
        name, _, value = line.partition(": ")
        try:
            fields[name] = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise _invalid(
                document.name, f"has a line that is no `name: JSON`: {line!r:.80}"
            ) from error
    return fields, body.removesuffix("\n")


def _parse_export(fields: Mapping[str, Any], name: str) -> ExportHeader:
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
        return ExportHeader.model_validate(
            {
                "scope": fields.get("scope"),
                "at": fields.get("exported_at"),
                "branch": BranchName(fields.get("branch") or "main"),
                "banks": fields.get("pools") or _POOLS,
                "history": fields.get("history", False),
            }
        )
    except ValidationError as error:
        raise _invalid(
            name, f"does not say what it is of: {explain_validation_error(error)}"
        ) from error


def _parse_record(where: str, value: object) -> Record:
    if not isinstance(value, Mapping):
        raise _invalid(where, "is no object")
    fields = as_fields(cast("object", value))
    version = fields.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InvalidRequestError(
            f"{where} has schema version {version}; this memory-mcp knows up to {SCHEMA_VERSION}. "
            f"Update memory-mcp. {_NOTHING_CHANGED}"
        )
    try:
        meta = {"meta": fields["meta"]} if "meta" in fields else {}  # where null is a value
        return Record.model_validate({**as_fields(drop_nulls(fields)), **meta})
    except ValidationError as error:
        raise _invalid(where, f"is no record: {explain_validation_error(error)}") from error


def _drop_repeats(items: Iterable[_Item]) -> tuple[list[Record], list[LeftOutItem]]:
    known: dict[RecordId, Record] = {}
    repeated: list[LeftOutItem] = []
    for where, record in items:
        if known.setdefault(record.id, record) != record:
            raise _invalid(where, f"has the id {record.id}, and so has another record in it")
        if known[record.id] is not record:
            repeated.append(LeftOutItem(where, "stands there twice"))
    return list(known.values()), repeated


def _refuse_cycles(records: Iterable[Record]) -> None:
    """Refuse records that came of themselves: whoever follows them would never end."""
    moves = [r.move for r in records if r.move is not None]
    relations: dict[str, dict[str, set[str]]] = {
        "supersedes": {r.id: set(r.supersedes) for r in records},
        "derived_from": {r.id: set(r.derived_from) for r in records},
        "parents": {s: set(move.parents) for move in moves for s in move.opens.values()},
    }
    for name, graph in relations.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = " \u2192 ".join(cast("list[str]", error.args[1])[:5])
            raise InvalidRequestError(
                f"The export is not right: {name} goes round in a circle ({cycle}). "
                f"{_NOTHING_CHANGED}"
            ) from error


def _invalid(where: str, what: str) -> InvalidRequestError:
    return InvalidRequestError(f"The export is not right: {where} {what}. {_NOTHING_CHANGED}")
