"""What a record of an export must be, before anything of it is weighed: it may come from anybody.

What a tool refuses when it is said is refused here too: texts without end, names that no command
could name, times to come. One record that is not right, and nothing of the export is taken.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.ids import ROOT, is_record_id, time_of
from memory_mcp.domain.record import Move, Record
from memory_mcp.errors import InvalidRequestError
from memory_mcp.ingestion.drafts import GIVEN_KINDS, check_text, clean_branch

__all__ = ["check_records"]

_AHEAD: Final = timedelta(days=1)
"""Clocks differ, and some are set to another day; no more than that."""

_NAME_CHARS_MAX: Final = 500
"""Keys, and what `origin` says: names of a client, a session, a branch of git."""

_CHECKPOINT: Final = re.compile(r"(?:phase\d{1,4}|checkpoint)-\d{8}-\d{6}(?:-[0-9a-f]{1,12})*")
_LINE: Final = re.compile(r"line-\d{8}-\d{6}(?:-[0-9a-f]{1,12})*")
_COMMIT: Final = re.compile(r"[0-9a-f]{0,64}")


def check_records(records: Iterable[Record], now: datetime) -> None:
    """Refuse what cannot be.

    Raises:
        InvalidRequestError: with the record, and what is wrong with it.
    """
    for record in records:
        try:
            _check_times(record, now)
            _check_texts(record)
            _check_acts(record)
            if record.branch is not None:
                clean_branch(record.branch)
            if record.segment is not None:
                _check_form("segment", record.segment, fits=_is_segment(record.segment))
            if record.move is not None:
                _check_move(record.move)
        except InvalidRequestError as error:
            raise InvalidRequestError(
                f"The export is not right: record {record.id}: {error} Nothing was changed."
            ) from error


def _check_times(record: Record, now: datetime) -> None:
    for at in (record.created_at, time_of(record.id)):
        if at > now + _AHEAD:
            raise InvalidRequestError(
                f"It is dated {at:%Y-%m-%d}, and here it is {now:%Y-%m-%d}. Set the clock right."
            )


def _check_texts(record: Record) -> None:
    given = record.kind in GIVEN_KINDS
    content_max = limits.CONTENT_CHARS_MAX if given else limits.ITEM_CHARS_MAX
    check_text("content", record.content, content_max)
    check_text("title", record.title, limits.TITLE_CHARS_MAX, required=False)
    check_text("category", record.category, limits.CATEGORY_CHARS_MAX, required=False)
    if len(record.tags) > limits.TAGS_MAX:
        raise InvalidRequestError(f"{len(record.tags)} tags; the limit is {limits.TAGS_MAX}.")
    for tag in record.tags:
        check_text("a tag", tag, limits.TAG_CHARS_MAX)
    origin, scope = record.origin, record.scope
    names = {
        "key": record.key,
        "origin.client": origin.client,
        "origin.session": origin.session,
        "origin.git_branch": origin.git_branch,
        "scope.user": scope.user,
        "scope.project": scope.project or "",
    }
    for name, text in names.items():
        check_text(name, text, _NAME_CHARS_MAX, required=False)
    _check_form("origin.commit", origin.commit, fits=_COMMIT.fullmatch(origin.commit) is not None)


def _check_acts(record: Record) -> None:
    """Only what is there for it moves a head or erases."""
    if record.move is not None and record.kind not in ("checkpoint", "move"):
        raise InvalidRequestError(f"It is a {record.kind}, and would move the head.")
    if record.erases and record.kind not in ("checkpoint", "move", "tombstone"):
        raise InvalidRequestError(f"It is a {record.kind}, and would erase others.")
    for name in (*record.supersedes, *record.derived_from, *record.erases):
        _check_form("a memory", name, fits=is_record_id(name))


def _check_move(move: Move) -> None:
    for branch in (move.branch, *move.opens):
        clean_branch(branch)
    for segment in (*move.opens.values(), *move.parents, *move.leaves, *move.forgets):
        _check_form("segment", segment, fits=_is_segment(segment))
    _check_form("segment", ROOT, fits=ROOT not in move.opens.values())
    if move.checkpoint is not None:
        fits = _CHECKPOINT.fullmatch(move.checkpoint) is not None
        _check_form("checkpoint", move.checkpoint, fits=fits)
    if move.line is not None:
        _check_form("line", move.line, fits=_LINE.fullmatch(move.line) is not None)


def _is_segment(name: str) -> bool:
    return name == ROOT or is_record_id(name)


def _check_form(what: str, name: str, *, fits: bool) -> None:
    if not fits:
        raise InvalidRequestError(f"{what} {name!r:.80} cannot be a name of one.")
