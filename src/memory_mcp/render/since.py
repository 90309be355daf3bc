"""Make and parse `since`: the moment from which a context lists changes, a token or a time.

A token is `r<revision of the head>-<first 15 digits of the newest id>-<digest of all ids>-<how many
are visible>`. An id says when a record was written, not when it arrived here from another process,
clone or import. So the digest decides which records were known: those that give the same digest. No
state is kept for a token.
"""

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from memory_mcp.domain.ids import RecordId, mark_id, parse_id_time
from memory_mcp.domain.record import format_time
from memory_mcp.domain.search import IdSummary
from memory_mcp.domain.spans import parse_span
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later

_TOKEN: Final = compile_later(r"r(\d{1,9})-([0-9a-f]{15})-([0-9a-f]{8})-(\d{1,9})", re.IGNORECASE)
_PLACE_CHARS: Final = 15
_NO_PLACE: Final = "0" * _PLACE_CHARS
_LATE: Final = timedelta(minutes=1)
"""A record of another process may appear that much later than its id says."""
_LATE_MAX: Final = 2_000
"""How many late records are tried in pairs: with more in a minute, somebody imports."""


@frozen
class Since:
    """A moment in the order of ids. `said` is the text it was parsed from."""

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
        """The ids that were not known at this moment; None if that cannot be told.

        `erased` ids are gone since. For a time only the order of ids is known.
        """
        every = {*ids, *erased}
        later = {id_ for id_ in every if self.precedes(id_)}
        if self.revision is None:
            return later
        future = {id_ for id_ in later if _order_key(id_) > _make_order_key(now)}
        for new in (later, later - future):  # a record of the future was known already, or is new
            known = every - new
            difference = self.digest ^ _digest(known)
            if not difference:
                return new
            if (late := self._find_late(known, difference)) is not None:
                return new | late
        return None

    def _find_late(self, known: Iterable[RecordId], difference: int) -> set[RecordId] | None:
        """The one or two records that came late: those whose marks make up the difference."""
        marks = {mark_id(id_): id_ for id_ in known}
        if difference in marks:
            return {marks[difference]}
        first = _make_order_key(self.at - _LATE)
        recent = [mark for mark, id_ in marks.items() if _order_key(id_) > first][:_LATE_MAX]
        mark = next((mark for mark in recent if mark ^ difference in marks), None)
        return None if mark is None else {marks[mark], marks[mark ^ difference]}


def make_bound(now: datetime) -> str:
    """What is above every id that was made until now, and below those of the future."""
    moment = _make_order_key(now)
    return f"{moment[:8]}-{moment[8:12]}-8"  # ids of this moment have a 7 there


def make_token(revision: int, known: Iterable[IdSummary], total: int) -> str:
    """The token for what is known, bank by bank; the newest ids are below `make_bound(now)`."""
    place, digest = _NO_PLACE, 0
    for each in known:
        place = max(place, _order_key(each.newest))
        digest ^= each.marks
    return f"r{revision}-{place}-{digest:08x}-{total}"


def parse_since(text: str, now: datetime) -> Since:
    """The moment that a token or a time names.

    Raises:
        InvalidRequestError: it is neither, or a time that is yet to come.
    """
    if found := _TOKEN.fullmatch(text.strip()):
        place = found.group(2).lower()
        try:
            at = parse_id_time(f"{place[:8]}-{place[8:12]}-7{place[12:]}")
        except OverflowError:
            raise _refuse(text) from None
        revision, total = int(found.group(1)), int(found.group(4))
        return Since(text, place, at, revision, int(found.group(3), 16), total)
    try:
        at = parse_span("since", text.strip(), now, -1)
    except InvalidRequestError:
        raise _refuse(text) from None
    if at > now:
        raise InvalidRequestError(f"since {text!r} is yet to come; it is {format_time(now)}.")
    at = max(at, datetime(1970, 1, 1, tzinfo=UTC))
    return Since(text, _make_order_key(at), at)


def _make_order_key(at: datetime) -> str:
    """The last order key of a moment."""
    return f"{max(0, int(at.timestamp() * 1000)):012x}fff"


def _order_key(record_id: str) -> str:
    """The time of an id and its place within the millisecond; the version between is left out."""
    return record_id[:8] + record_id[9:13] + record_id[15:18]


def _digest(ids: Iterable[RecordId]) -> int:
    """The xor of all marks: the same in any order."""
    digest = 0
    for mark in map(mark_id, ids):
        digest ^= mark
    return digest


def _refuse(text: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"since {text!r} is neither what an earlier context ended with (like "
        "since=r12-0199f0c27d4ecc1-5b2e09d4-88) nor a time (like 2026-11-22T10:00+01:00). Without "
        "it you get the whole opening."
    )
