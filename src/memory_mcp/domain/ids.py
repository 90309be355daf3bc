"""Ids are distinct types, so that one cannot stand where another belongs."""

import hashlib
import re
from collections.abc import Container, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NewType, TypeVar
from uuid import UUID

Name = TypeVar("Name", bound=str)

ID_BEGINNING_CHARS_MIN: Final = 4
"""Fewer characters at the beginning of an id name nothing."""
ID_END_CHARS_MIN: Final = 8
"""At its end: less would also fit a number that somebody happened to type."""

RecordId = NewType("RecordId", str)
"""A UUIDv7 in its canonical text form; also the name of the record's file."""

SegmentId = NewType("SegmentId", str)
CheckpointId = NewType("CheckpointId", str)
LineId = NewType("LineId", str)
BranchName = NewType("BranchName", str)

ROOT: Final = SegmentId("root")
"""The first segment of every project. It has the same id everywhere, so that what two clones
learnt before their first checkpoint belongs together once their folders are merged."""

MAIN: Final = BranchName("main")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UUID7: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

_TIME_MAX: Final = 253_402_300_799_000
"""The last second of the year 9999, in milliseconds: a UUIDv7 could name later years."""


def is_record_id(text: str) -> bool:
    """Whether the text has the form of a record's id, of a time that a calendar knows."""
    return _UUID7.fullmatch(text) is not None and _time_of(text) <= _TIME_MAX


def fits_part(id_: str, part: str) -> bool:
    """Whether the part may stand for the id: its beginning, or enough of its end.

    Ids that were made on one day begin alike, so the end is what tells them apart.
    """
    part = part.casefold()
    begins = len(part) >= ID_BEGINNING_CHARS_MIN and id_.startswith(part)
    return begins or (len(part) >= ID_END_CHARS_MIN and id_.endswith(part))


def needed_of(part: str, ids: Iterable[str]) -> str:
    """What a part must have to stand for one of the ids that it fits; nothing if it fits none."""
    if not part or not any(id_.startswith(part) or id_.endswith(part) for id_ in ids):
        return ""
    return (
        f"at least {ID_BEGINNING_CHARS_MIN} characters of its beginning, or {ID_END_CHARS_MIN} of "
        "its end"
    )


def named_by_part(part: str, ids: Iterable[Name]) -> list[Name]:
    """Those of the ids that a person may mean: the very one, or all that the part fits."""
    known = list(ids)
    return [id_ for id_ in known if id_ == part] or [id_ for id_ in known if fits_part(id_, part)]


def made_id(at: datetime, name: str) -> RecordId:
    """The id of what was named elsewhere: a UUIDv7 of its time, the same one every time."""
    milliseconds = min(max(int((at - _EPOCH) / timedelta(milliseconds=1)), 0), _TIME_MAX)
    rest = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:10])
    value = milliseconds << 80 | 0x7 << 76 | (rest >> 62 & 0xFFF) << 64 | 0b10 << 62
    return RecordId(str(UUID(int=value | rest & (1 << 62) - 1)))


def month_of(record_id: str) -> str:
    """The folder of a record: the month (UTC) in which its id was made, as `yyyy-mm`."""
    return time_of(record_id).strftime("%Y-%m")


def time_of(record_id: str) -> datetime:
    """When the id was made, by the clock that made it, to the millisecond (UTC)."""
    return _EPOCH + timedelta(milliseconds=_time_of(record_id))


def _time_of(record_id: str) -> int:
    return int(record_id[:8] + record_id[9:13], 16)


def stamp(at: datetime) -> str:
    """A time as it stands in checkpoint and line ids, in UTC to the second."""
    return at.astimezone(UTC).strftime("%Y%m%d-%H%M%S")


def checkpoint_id(phase: int | None, at: datetime) -> CheckpointId:
    """`phase2-20260131-143022`, or `checkpoint-…` outside a pipeline."""
    prefix = "checkpoint" if phase is None else f"phase{phase}"
    return CheckpointId(f"{prefix}-{stamp(at)}")


def free_name(name: str, taken: Container[str]) -> str:
    """The name, numbered if it is taken: two may be made in one second."""
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def line_id(at: datetime) -> LineId:
    """The name of a line that a backtrack or a restore left."""
    return LineId(f"line-{stamp(at)}")
