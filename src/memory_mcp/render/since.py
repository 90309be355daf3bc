"""Parse and make `since`: the moment from which a context lists changes; a token or a time.

A token is `r<revision of the head>-<first 15 digits of the newest id>-<digest of all ids>-<how many
are visible>`. An id says when a record was written, not when it arrived here from another process,
clone or import, or under a clock that was set back. So the digest decides what was known: exactly
the records that give the same digest. No state is kept for a token.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from memory_mcp.domain.ids import RecordId, time_of
from memory_mcp.domain.record import iso
from memory_mcp.errors import InvalidRequestError

_TOKEN: Final = re.compile(r"r(\d{1,9})-([0-9a-f]{15})-([0-9a-f]{8})-(\d{1,9})", re.IGNORECASE)
_PLACE_CHARS: Final = 15
_NOTHING: Final = "0" * _PLACE_CHARS

_PRIME: Final = 4_294_967_291
"""Cubes by it scatter ids over 32 bits, each its own; a proper hash takes five times as long."""

_LATE: Final = timedelta(minutes=1)
"""Who writes beside this process may be slow: a record appears that much later than its id says."""

_LATE_MAX: Final = 2_000
"""Among so many pairs are looked for; with more written in a minute somebody imports."""


@dataclass(frozen=True)
class Since:
    """A moment in the order of ids. `said` is how it was asked for."""

    said: str
    place: str
    at: datetime
    revision: int | None = None
    digest: int = 0
    total: int | None = None

    def precedes(self, record_id: str) -> bool:
        """Whether the record was written after this moment, by what its id says."""
        return _order_key(record_id) > self.place

    def new_among(
        self, ids: Collection[RecordId], erased: Collection[RecordId], now: datetime
    ) -> set[RecordId] | None:
        """Which of these were not here then; None if that cannot be told.

        `erased` are those that are gone. Of a time only the order of ids is known.
        """
        later = {id_ for id_ in (*ids, *erased) if self.precedes(id_)}
        if self.revision is None:
            return later
        every = {*ids, *erased}
        ahead = {id_ for id_ in later if _order_key(id_) > _key_of_moment(now)}
        for new in (later, later - ahead):  # a date to come was there already, or is new
            known = every - new
            off = self.digest ^ _digest(known)
            if not off:
                return new
            if (late := self._late(known, off)) is not None:
                return new | late
        return None

    def _late(self, known: Iterable[RecordId], off: int) -> set[RecordId] | None:
        """The one or two among them that came after all, by what they add to the digest."""
        marks = {_mark(id_): id_ for id_ in known}
        if off in marks:
            return {marks[off]}
        first = _key_of_moment(self.at - _LATE)
        recent = [mark for mark, id_ in marks.items() if _order_key(id_) > first][:_LATE_MAX]
        pairs = (mark for mark in recent if mark ^ off in marks)
        mark = next(pairs, None)
        return None if mark is None else {marks[mark], marks[mark ^ off]}


def make_token(revision: int, ids: Collection[RecordId], now: datetime, total: int) -> str:
    """The token for what is known now. What is dated in the future does not say how late it is."""
    moment = _key_of_moment(now)
    after = f"{moment[:8]}-{moment[8:12]}-8"  # ids of this moment have a 7 there
    newest = max((id_ for id_ in ids if id_ < after), default="")
    return f"r{revision}-{_order_key(newest) or _NOTHING}-{_digest(ids):08x}-{total}"


def parse_since(said: str, now: datetime) -> Since:
    """The moment that was asked for.

    Raises:
        InvalidRequestError: it is neither a token nor a time, or one that is yet to come.
    """
    if found := _TOKEN.fullmatch(said.strip()):
        place = found.group(2).lower()
        try:
            at = time_of(f"{place[:8]}-{place[8:12]}-7{place[12:]}")
        except OverflowError:
            raise _refusal(said) from None
        revision, total = int(found.group(1)), int(found.group(4))
        return Since(said, place, at, revision, int(found.group(3), 16), total)
    try:
        at = datetime.fromisoformat(said.strip())
    except ValueError:
        raise _refusal(said) from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    if at > now:
        raise InvalidRequestError(f"since {said!r} is yet to come; it is {iso(now)}.")
    at = max(at, datetime(1970, 1, 1, tzinfo=UTC))
    return Since(said, _key_of_moment(at), at)


def _key_of_moment(at: datetime) -> str:
    """The last place of a moment."""
    return f"{max(0, int(at.timestamp() * 1000)):012x}fff"


def _order_key(record_id: str) -> str:
    """The time of an id and its place within the millisecond; the version between is left out."""
    return record_id[:8] + record_id[9:13] + record_id[15:18]


def _digest(ids: Iterable[RecordId]) -> int:
    """The same in any order; two that differ in one record differ by what this one adds."""
    digest = 0
    for id_ in ids:
        digest ^= _mark(id_)
    return digest


@lru_cache(maxsize=1 << 16)
def _mark(record_id: str) -> int:
    return pow(int(record_id.replace("-", ""), 16), 3, _PRIME)


def _refusal(said: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"since {said!r} is neither what a memory_context ended with (like "
        "since=r12-0199f0c27d4ecc1-5b2e09d4-88) nor a time (like 2026-11-22T10:00+01:00). Without "
        "it you get the whole opening."
    )
