"""What a nudge may say."""

from datetime import UTC, datetime

from memory_mcp.domain import limits
from memory_mcp.errors import InvalidRequestError

__all__ = ["check_nudge"]


def check_nudge(text: str, priority: int, expires_at: datetime | None, now: datetime) -> None:
    """Refuse what cannot be brought up.

    Raises:
        InvalidRequestError: with the value, the choices and what would do.
    """
    if not text.strip():
        raise InvalidRequestError("The nudge is empty. Say what is to be brought up.")
    if len(text) > limits.NUDGE_CHARS_MAX:
        raise InvalidRequestError(
            f"The nudge has {len(text):,} characters; the limit is {limits.NUDGE_CHARS_MAX}. Say "
            "it in one or two sentences, and add the rest as a memory."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"The nudge holds half a surrogate pair at position {error.start}; send valid Unicode "
            "text."
        ) from error
    least, most = limits.NUDGE_PRIORITY_MIN, limits.NUDGE_PRIORITY_MAX
    if not least <= priority <= most:
        raise InvalidRequestError(
            f"priority is {priority}; choose {least} to {most} ({most} comes first)."
        )
    if expires_at is not None and not _later(expires_at, now):
        raise InvalidRequestError(
            f"expires is {expires_at.isoformat()}, which is past (or beyond the calendar). Give a "
            "later time, or leave it out."
        )


def _later(at: datetime, now: datetime) -> bool:
    try:
        return at.astimezone(UTC) > now
    except OverflowError:
        return False
