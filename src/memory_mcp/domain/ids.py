"""Ids are distinct types, so that one cannot stand where another belongs."""

import hashlib
from collections.abc import Container, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NewType, TypeVar

from memory_mcp.hints import ID_END_CHARS
from memory_mcp.patterns import compile_later

AnyId = TypeVar("AnyId", bound=str)

_ID_CHARS: Final = frozenset("0123456789abcdef-")
ID_BEGINNING_CHARS_MIN: Final = 4
"""Fewer leading characters do not name an id."""
ID_END_CHARS_MIN: Final = ID_END_CHARS
"""Fewer trailing characters would also match a number that somebody happened to type."""

RecordId = NewType("RecordId", str)
"""A UUIDv7 in its canonical text form; also the name of the record's file."""

SegmentId = NewType("SegmentId", str)
CheckpointId = NewType("CheckpointId", str)
LineId = NewType("LineId", str)
BranchName = NewType("BranchName", str)

ROOT: Final = SegmentId("root")
"""The first segment of every project. It has the same id everywhere, so that memories from before
the first checkpoint belong together when two clones are merged."""

MAIN: Final = BranchName("main")

MODEL_NAME: Final = compile_later(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The name of a model on this machine, which is that of its folder."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MARK_PRIME: Final = 4_294_967_291
"""Cubes modulo it scatter ids over 32 bits; a proper hash takes five times as long."""
_UUID7_FORM: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_UUID7: Final = compile_later(_UUID7_FORM)
_RECORD_FILES: Final = compile_later(rf"(?<![^/])({_UUID7_FORM})\.json(?![^/])")

_TIME_MAX: Final = 253_402_300_799_000
"""The last second of the year 9999, in milliseconds: a UUIDv7 could name later years."""
_LAST_TIME: Final = f"{_TIME_MAX >> 16:08x}-{_TIME_MAX & 0xFFFF:04x}"
"""The same as an id begins with it."""


def is_record_id(text: str) -> bool:
    """Whether the text is a UUIDv7 whose time `datetime` can hold."""
    return _UUID7.fullmatch(text) is not None and _has_time(text)


def list_record_ids(names: Iterable[str]) -> list[RecordId]:
    """The ids in those of these names of files that are a record's, `<id>.json`."""
    # in one search, because a start lists a hundred thousand; no name of a file holds a slash
    found: list[RecordId] = _RECORD_FILES.findall("/".join(names))
    if found and not _has_time(max(found)):  # nearly never, and to look at each takes longer
        return [id_ for id_ in found if _has_time(id_)]
    return found


def _has_time(id_: str) -> bool:
    return id_[: len(_LAST_TIME)] <= _LAST_TIME


def matches_part(id_: str, part: str) -> bool:
    """Whether the part may stand for the id: its beginning, or enough of its end.

    Ids made on one day begin alike; their ends differ.
    """
    part = part.casefold()
    begins = len(part) >= ID_BEGINNING_CHARS_MIN and id_.startswith(part)
    return begins or (len(part) >= ID_END_CHARS_MIN and id_.endswith(part))


def is_id_part(part: str) -> bool:
    """Whether it is long enough to name a memory, and made of what ids are made of."""
    return len(part) >= ID_BEGINNING_CHARS_MIN and {*part} <= _ID_CHARS


def explain_short_part(part: str, ids: Iterable[str]) -> str:
    """How long a part of an id must be to name it; '' if it is long enough, or is none."""
    short = len(part) < ID_BEGINNING_CHARS_MIN and {*part} <= _ID_CHARS
    fits = short or any(id_.startswith(part) or id_.endswith(part) for id_ in ids)
    if not part or not fits:
        return ""
    return (
        f"at least {ID_BEGINNING_CHARS_MIN} characters of its beginning, or of its last "
        f"{ID_END_CHARS_MIN}"
    )


def find_by_part(part: str, ids: Iterable[AnyId]) -> list[AnyId]:
    """The ids that a person may mean: the exact one, or all that the part matches."""
    known = list(ids)
    return [id_ for id_ in known if id_ == part] or [
        id_ for id_ in known if matches_part(id_, part)
    ]


def derive_id(at: datetime, name: str) -> RecordId:
    """A UUIDv7 of this time for something named elsewhere; the same name gives the same id."""
    milliseconds = min(max(int((at - _EPOCH) / timedelta(milliseconds=1)), 0), _TIME_MAX)
    rest = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:10])
    value = milliseconds << 80 | 0x7 << 76 | (rest >> 62 & 0xFFF) << 64 | 0b10 << 62
    return format_uuid(value | rest & (1 << 62) - 1)


def format_uuid(value: int) -> RecordId:
    """A UUID in its canonical text form; to load the module `uuid` takes 4 ms."""
    digits = f"{value:032x}"
    return RecordId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


@lru_cache(maxsize=1 << 17)  # of more memories than that each is computed every time
def mark_id(record_id: str) -> int:
    """32 bits of an id. The xor of the marks of several ids tells which ones they are."""
    return pow(int(record_id.replace("-", ""), 16), 3, _MARK_PRIME)


def format_id_month(record_id: str) -> str:
    """The name of the record's folder: the month (UTC) of its id, as `yyyy-mm`."""
    at = parse_id_time(record_id)
    return f"{at.year:04}-{at.month:02}"


def parse_id_time(record_id: str) -> datetime:
    """When the id was made, to the millisecond (UTC)."""
    return _EPOCH + timedelta(milliseconds=_parse_milliseconds(record_id))


def _parse_milliseconds(record_id: str) -> int:
    return int(record_id[:8] + record_id[9:13], 16)


def format_stamp(at: datetime) -> str:
    """A time in the ids of checkpoints and lines: UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y%m%d-%H%M%S")


def make_checkpoint_id(phase: int | None, at: datetime) -> CheckpointId:
    """`phase2-20260131-143022`, or `checkpoint-…` outside a pipeline."""
    prefix = "checkpoint" if phase is None else f"phase{phase}"
    return CheckpointId(f"{prefix}-{format_stamp(at)}")


def make_line_id(at: datetime) -> LineId:
    """The id of a line that a backtrack or a restore leaves at this time."""
    return LineId(f"line-{format_stamp(at)}")


def make_unique_name(name: str, taken: Container[str]) -> str:
    """The name, with a number if it is taken: two may be made in one second."""
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
