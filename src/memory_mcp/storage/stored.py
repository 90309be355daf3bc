"""Records, heads and vectors as the bytes that every store keeps, read with distrust.

And records as rows of an index, which has the same columns in every database.
"""

import hashlib
import json
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from itertools import islice
from json.encoder import encode_basestring
from typing import Annotated, Any, Final, cast

from memory_mcp.checker import ValidationError, to_json
from memory_mcp.domain.checked import FrozenModel, constrain
from memory_mcp.domain.fields import (
    StrictInt,
    escape_unprintable,
    explain_validation_error,
    find_cycle,
)
from memory_mcp.domain.ids import MAIN, ROOT, mark_id
from memory_mcp.domain.json_input import load_json
from memory_mcp.domain.limits import HEAD_BYTES_MAX, RECORD_BYTES_MAX
from memory_mcp.domain.profile import find_profile_field
from memory_mcp.domain.record import (
    SCHEMA_VERSION,
    Record,
    drop_empty,
    format_time,
)
from memory_mcp.domain.search import Chunk, SearchFields
from memory_mcp.domain.timeline import EMPTY_TIMELINE, Checkpoint, Head, Timeline, join_parts
from memory_mcp.errors import InvalidRequestError, NewerSchemaError, StoreDamagedError

_DECIDED: Final = frozenset({"approved", "auto"})
_NEWLINE: Final = "\n"
DIGEST_CHARS: Final = 32
"""128 bits: nobody finds another text of the same digest."""
MAKE_HEAD_ANEW: Final = (
    "`memory-mcp doctor --repair` sets it aside and rebuilds it from the records."
)
"""What to do about a damaged head."""
_RESTORE: Final = "Restore it from git or a backup."
_CHECKPOINTS_SHOWN: Final = 10
"""Newest checkpoints that a head names for people, wherever they are kept."""


class EarlierPart(FrozenModel):
    """Where the part of a timeline is that its head goes on from: the first bytes of a file."""

    file: Annotated[str, constrain(pattern=r"^memory-head-[0-9a-f]{8}\.jsonl$")]
    size: Annotated[StrictInt, constrain(ge=1, le=HEAD_BYTES_MAX)]
    digest: Annotated[str, constrain(pattern=r"^[0-9a-f]{64}$")]


def dump_record(record: Record) -> bytes:
    """The bytes of a record.

    Raises:
        InvalidRequestError: it could not be read again.
    """
    data = _format(record.as_json())
    try:
        parse_record(data, record.id)
    except ValueError as error:
        raise InvalidRequestError(
            f"Such a record would not be read again ({explain_parse_error(error)}). "
            "Nothing was stored."
        ) from error
    return data


def _format(fields: object) -> bytes:
    """JSON for people, a line for each field, as the core of pydantic writes it.

    With the first value that the core writes it imports uuid, fractions and platform, which takes a
    fiftieth of the processor time of a command that adds one record.
    """
    return f"{_write_value(fields, _NEWLINE)}\n".encode()


def _write_value(value: object, line: str) -> str:
    """The value as JSON; `line` begins each line of it but the first."""
    if isinstance(value, str):
        return encode_basestring(value)
    inner = f"{line} "
    if isinstance(value, dict) and value:
        fields = cast("dict[str, object]", value).items()
        lines = [f"{encode_basestring(name)}: {_write_value(each, inner)}" for name, each in fields]
        return f"{{{inner}{f',{inner}'.join(lines)}{line}}}"
    if isinstance(value, list) and value:
        items = [_write_value(each, inner) for each in cast("list[object]", value)]
        return f"[{inner}{f',{inner}'.join(items)}{line}]"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return to_json(value).decode()


def load_record(data: bytes, where: str, record_id: str, *, formatted: bool = False) -> Record:
    """Load the record of this id from its bytes, which this program has `formatted`, or not.

    Raises:
        StoreDamagedError: these are not a whole record, or one of another id.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    try:
        known = _parse_formatted(data) if formatted else None
        record = known or parse_record(data, where)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreDamagedError(
            f"{where} is damaged ({explain_parse_error(error)}). It is left as it is, and "
            "everything else works on.",
            _RESTORE,
        ) from error
    if record.id != record_id:
        raise StoreDamagedError(
            f"{where} holds the record {record.id!r}; each is named by its id.", _RESTORE
        )
    return record


def _parse_formatted(data: bytes) -> Record | None:
    """The record in bytes that this program formatted; None for what `parse_record` may refuse.

    Nothing in them is said twice and nothing is no JSON, so the checker may parse them itself,
    which takes half of the time.
    """
    try:
        record = Record.model_validate_json(data)
    except ValidationError:
        return None
    return record if record.schema_version <= SCHEMA_VERSION else None


def parse_record(data: bytes, where: str) -> Record:
    """Parse the bytes of a record; an error of a newer version names `where` they are.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: they are no valid record.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    if len(data) > RECORD_BYTES_MAX:
        raise ValueError(f"{len(data):,} bytes; a record has {RECORD_BYTES_MAX:,} at most")
    fields = load_json(data)
    version = fields["schema_version"]
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(where, version, SCHEMA_VERSION)
    return Record.model_validate(fields)


def explain_parse_error(error: Exception) -> str:
    """Why bytes are no record, in words that are safe to show."""
    match error:
        case ValidationError():
            return explain_validation_error(error)
        case KeyError():
            return f"no field {error.args[0]!r}"
        case ValueError():
            return escape_unprintable(str(error))
        case _:
            return "not a JSON object in UTF-8"


def compute_digest(data: bytes) -> str:
    """The digest of bytes, as the ledger and the index keep it."""
    return hashlib.sha256(data).hexdigest()[:DIGEST_CHARS]


def compute_file_digest(data: bytes) -> str:
    """The digest of a record from its file, whichever line ends git gave that: no text has any.

    It is that of `compute_record_digest`, if the file is formatted as this program does.
    """
    return compute_digest(data.replace(b"\r\n", b"\n"))


def compute_record_digest(record: Record) -> str:
    """The digest of a record, however its file is formatted."""
    return compute_digest(_format(record.as_json()))


def parse_head(where: str, data: bytes, earlier: Timeline = EMPTY_TIMELINE) -> Head:
    """Parse the bytes of a head that goes on from an `earlier` part; errors name `where` they are.

    Raises:
        StoreDamagedError: it is no head, or one on which nothing could be written.
        NewerSchemaError: a newer memory-mcp wrote it.
    """
    with _naming_damage(where):
        fields = _load_head(where, data)
        head = Head(
            project=fields["project"],
            revision=fields["revision"],
            timeline=join_parts([earlier, _parse_timeline(fields)]),
            last=Record.model_validate(fields["last"]) if fields.get("last") else None,
            with_last=tuple(Record.model_validate(r) for r in fields.get("with_last", [])),
        )
        _require_valid(head.timeline)
        return head


def parse_head_part(where: str, data: bytes) -> EarlierPart | None:
    """The earlier part that a head goes on from; raises as `parse_head` does."""
    with _naming_damage(where):
        part = _load_head(where, data).get("earlier")
        return EarlierPart.model_validate(part) if part else None


def parse_earlier_part(where: str, data: bytes) -> Timeline:
    """The timeline in the lines of an earlier part; raises as `parse_head` does."""
    with _naming_damage(where):
        return join_parts([_parse_timeline(load_json(line)) for line in data.splitlines()])


def dump_earlier_part(part: Timeline) -> bytes:
    """A part of a timeline as one line."""
    made = [checkpoint.list_json() for checkpoint in part.checkpoints.values()]
    fields = {"checkpoints": made, **_list_rest(part)}
    return to_json({name: value for name, value in fields.items() if value})


@contextmanager
def _naming_damage(where: str) -> Generator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(
            f"{where} is damaged ({explain_parse_error(error)}). Nothing is lost.", MAKE_HEAD_ANEW
        ) from error


def _load_head(where: str, data: bytes) -> dict[str, Any]:
    fields = load_json(data)
    version = fields["schema_version"]
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(where, version, SCHEMA_VERSION)
    return fields


def _require_valid(timeline: Timeline) -> None:
    """Require that each branch ends in an open segment, and that no segment descends from itself.

    Every move opens a segment where it leaves one, so a branch without any lost some.
    """
    gone = timeline.left | timeline.forgotten
    standing = {s.branch for s in timeline.segments.values() if s.id not in gone}
    if ROOT not in gone:
        standing.add(MAIN)
    if lost := set(timeline.branches) - standing:
        raise ValueError(f"no segment is open on {', '.join(sorted(lost))}")
    if ring := find_cycle({s.id: s.parents for s in timeline.segments.values()}):
        raise ValueError(f"segment {ring} comes of itself")


def _index_by_id(listed: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    by_id = {one["id"]: one for one in listed}
    if len(by_id) != len(listed):
        raise ValueError("one id stands for two")
    return by_id


def _parse_timeline(fields: dict[str, Any]) -> Timeline:
    every = [*fields.get("checkpoints", []), *fields.get("undecided", [])]
    return Timeline.model_validate(
        {
            "segments": _index_by_id(fields.get("segments", [])),
            "left": fields.get("left", []),
            "forgotten": fields.get("forgotten", []),
            "checkpoints": _index_by_id(every),
            "lines": _index_by_id(fields.get("lines", [])),
            "given_up": {g["move"]: g for g in fields.get("given_up", [])},
            "undone": fields.get("undone", []),
            "bases": fields.get("bases", {}),
            "anchors": {a["move"]: a for a in fields.get("anchors", [])},
            "moves": fields.get("moves", []),
        }
    )


def dump_head(head: Head, timeline: bytes) -> bytes:
    """The bytes of a head, whose timeline was dumped before, with what people look for at the top.

    Most of them are the timeline's, which a move writes twice: with its record, and without.
    """
    top = {
        "schema_version": SCHEMA_VERSION,
        "project": head.project,
        "revision": head.revision,
    }
    held = {
        "last": head.last.as_json() if head.last else None,
        "with_last": [record.as_json() for record in head.with_last],
    }
    members = (_dump_members(top), timeline, _dump_members(held))
    return b"{\n" + b",\n".join(members) + b"\n}\n"


def dump_timeline(
    timeline: Timeline, beyond: Timeline, earlier: EarlierPart | None = None
) -> bytes:
    """The members of a head that tell its timeline.

    `beyond` is what it has beyond the `earlier` part. Of checkpoints and branches a head with such
    a part shows the newest beside these.
    """
    newest = next(reversed(timeline.valid(MAIN)), None)
    shown = islice(reversed(timeline.checkpoints.items()), _CHECKPOINTS_SHOWN)
    checkpoints = beyond.checkpoints | dict(shown)
    decided = [c for c in checkpoints.values() if c.approval in _DECIDED]
    branches = sorted({s.branch for s in beyond.segments.values()} - {MAIN})
    fields = {
        "head_phase": newest.phase if newest else None,
        "head_checkpoint": newest.id if newest else None,
        "checkpoints": [
            _list_fields(c, timeline.holds(c.branch, c.seals))
            for c in sorted(decided, key=lambda c: (c.at, c.move))
        ],
        "branches": {name: {"tips": timeline.tips(name)} for name in (MAIN, *branches)},
        **({"earlier": earlier.list_json()} if earlier else {}),
        **_list_rest(beyond),
        "undecided": [
            c.list_json() for c in beyond.checkpoints.values() if c.approval not in _DECIDED
        ],
    }
    return _dump_members(fields)


def _dump_members(fields: dict[str, Any]) -> bytes:
    """The members of an object, without the braces and line ends around them."""
    return to_json(fields, indent=1)[2:-2]


def _list_fields(checkpoint: Checkpoint, holds: bool) -> dict[str, Any]:  # noqa: FBT001  # said
    """What a head says of a checkpoint: its id, phase and status first."""
    status = "valid" if holds else "invalidated"
    return {"id": checkpoint.id, "phase": checkpoint.phase, "status": status} | vars(checkpoint)


def _list_rest(part: Timeline) -> dict[str, Any]:
    """The members of a head that are its timeline, without the checkpoints."""
    return {
        "segments": [segment.list_json() for segment in part.segments.values()],
        "left": sorted(part.left),
        "forgotten": sorted(part.forgotten),
        "lines": [line.list_json() for line in part.lines.values()],
        "given_up": [
            {"move": move, "branch": each.branch, "segments": sorted(each.segments)}
            | ({"keeps": sorted(each.keeps)} if each.keeps else {})
            for move, each in part.given_up.items()
        ],
        "undone": sorted(part.undone),
        "bases": {branch: sorted(base) for branch, base in part.bases.items()},
        "anchors": [{"move": move, **vars(each)} for move, each in part.anchors.items()],
        "moves": sorted(part.moves),
    }


def dump_history_line(record: Record) -> bytes:
    """A move as a line: ids and names only, so that no forgotten text stays here."""
    move = record.move
    fields = {
        "id": record.id,
        "at": record.as_json()["created_at"],
        "by": record.origin.list_json(),
        "move": move.list_json() if move else None,
    }
    return json.dumps(drop_empty(fields), ensure_ascii=False).encode()


def pack_signs(chunk: Chunk) -> bytes:
    """A bit for each dimension of the pooled vector, set where it is positive; big-endian."""
    bits = "".join("1" if 0 < value < 128 else "0" for value in chunk.pooled)  # noqa: PLR2004
    bits += "0" * (-len(bits) % 64)
    return int(bits or "0", 2).to_bytes(len(bits) // 8, "big")


def compute_checksum(signs: bytes, chunk: Chunk) -> int:
    """The checksum of the row of a chunk."""
    return zlib.crc32(signs + chunk.pooled + chunk.tokens)


def describe_entry(record: Record, fields: SearchFields) -> dict[str, Any]:
    """The columns of a record in an index. Categories and tags are folded: filters ignore case."""
    return {
        "id": record.id,
        "kind": record.kind,
        "layer": record.layer,
        "segment": record.segment,
        "branch": record.branch,
        "key": record.key,
        "category": record.category.casefold(),
        "phase": record.phase,
        "importance": record.importance,
        "pinned": record.pinned,
        "recalled": record.recalled,
        "moves": record.move is not None,
        "expires_at": format_time(record.expires_at) if record.expires_at else None,
        "created_at": format_time(record.created_at),
        "session": record.origin.session,
        "day": fields.day,
        "statement": record.statement,
        "profile": find_profile_field(record) is not None,
        "citing": bool(record.cites),
        "mark": mark_id(record.id),
        "tags": [tag.casefold() for tag in record.tags],
        "supersedes": record.supersedes,
        "derived_from": record.derived_from,
        "erases": record.erases,
        "body": fields.body,
        "names": fields.names,
        "dates": fields.dates,
        "extra": fields.extra,
        "meaning": fields.meaning,
        "outline": fields.outline,
    }
