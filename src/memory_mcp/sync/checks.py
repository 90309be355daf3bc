"""What a record of an export or of the cloud must be before it is weighed: it may be anybody's.

What no tool would have written is no `Record` at all (`domain.forms`). What is left to ask here is
what depends on this machine: whether the record is dated after today. One that is not right, and
nothing of the export is taken.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from memory_mcp.domain.ids import time_of
from memory_mcp.domain.record import Record
from memory_mcp.errors import InvalidRequestError

_AHEAD: Final = timedelta(days=1)
"""Clocks differ, and some are set to another day; no more than that."""


def check_records(records: Iterable[Record], now: datetime) -> None:
    """Refuse what is dated after today.

    Raises:
        InvalidRequestError: with the record, and its date.
    """
    for record in records:
        try:
            check_record(record, now)
        except InvalidRequestError as error:
            raise InvalidRequestError(
                f"The export is not right: record {record.id}: {error} Nothing was changed."
            ) from error


def check_record(record: Record, now: datetime) -> None:
    """Refuse a record that is dated after today.

    Raises:
        InvalidRequestError: with its date.
    """
    for at in (record.created_at, time_of(record.id)):
        if at > now + _AHEAD:
            raise InvalidRequestError(
                f"It is dated {at:%Y-%m-%d}, and here it is {now:%Y-%m-%d}. Set the clock right."
            )
