"""Secrets in a column of a table, where the name that tells of them stands in its first line.

Markdown (`| user | password |`) and lists with commas, semicolons or tabs. Beside a column for the
account a plain word is a password too; without one it may be a column about passwords.
"""
# ruff: noqa: E501 - a pattern is read as one line

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.ingestion.secret_names import KEY, NAME_HINTS, PASSWORD
from memory_mcp.ingestion.secret_patterns import later
from memory_mcp.ingestion.secret_values import (
    is_key,
    is_password,
    stands_for_a_value,
    value_at,
)  # fmt: skip

__all__ = ["in_tables"]

_ABOUT_WHICH: Final = r"(?:(?!\d)[\w.-]{1,20}[ _-]){0,2}"
_NAMED: Final = later(
    rf"[*`\"' ]*{_ABOUT_WHICH}(?:(?P<password>{PASSWORD})|(?P<key>{KEY}))s?(?:[ ]?\([^()]*\))?[*`\"' ]*",
    re.IGNORECASE,
)
_ACCOUNT: Final = later(
    r"[*`\"' ]*(?:user(?:[ _-]?(?:name|id))?|login|account|e-?mail|benutzer(?:name)?|konto)[*`\"' ]*",
    re.IGNORECASE,
)
_PLAIN: Final = later(r"\"?[ ]?[A-Za-z][\w ./()-]*\"?")
"""What a column is called; a line of code has commas too, but begins or ends otherwise."""
_RULE_LINE: Final = later(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*")
_SEPARATORS: Final = "|\t;,"
_CELLS_MAX: Final = 24
_CELL_CHARS_MAX: Final = 60
_NAME_CHARS_MAX: Final = 40


def in_tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Each secret: where it begins and ends, and whether it is a password or another secret."""
    lowered = text.lower()
    if "\n" not in text or not any(hint in lowered for hint in NAME_HINTS):
        return
    columns: list[tuple[int, str]] = []
    between, width, tight, at = "", 0, False, 0
    for line in text.split("\n"):
        cells = _cells(line, at, between) if columns else []
        if columns and len(cells) == width:
            if not _RULE_LINE().fullmatch(line):
                for column, means in columns:
                    yield from _judged(text, cells[column], means, tight=tight)
        else:
            between = next((mark for mark in _SEPARATORS if mark in line), "")
            cells = _cells(line, at, between) if between else []
            columns = _telling(text, cells)
            tight = any(_ACCOUNT().fullmatch(text, *cell) for cell in cells) if columns else False
            width = len(cells)
        at += len(line) + 1


def _cells(line: str, at: int, between: str) -> list[tuple[int, int]]:
    """Where each cell stands in the text; of a line with too many there are none."""
    if line.count(between) > _CELLS_MAX:
        return []
    cells: list[tuple[int, int]] = []
    for cell in line.split(between):
        cells.append((at, at + len(cell)))
        at += len(cell) + 1
    return cells


def _telling(text: str, cells: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """The columns of secrets, if every cell is short enough for a name: this is a first line."""
    if len(cells) < 2 or any(end - start > _CELL_CHARS_MAX for start, end in cells):  # noqa: PLR2004
        return []
    if text[cells[0][1]] != "|" and not all(_PLAIN().fullmatch(text, *cell) for cell in cells):
        return []
    found: list[tuple[int, str]] = []
    for column, (start, end) in enumerate(cells):
        named = _NAMED().fullmatch(text, start, end) if end - start <= _NAME_CHARS_MAX else None
        if named is not None:
            found.append((column, "secret" if named["password"] is None else "password"))
    return found


def _judged(
    text: str, cell: tuple[int, int], means: str, *, tight: bool
) -> Iterator[tuple[int, int, str]]:
    start, end = cell
    while start < end and text[start] in " \t*":
        start += 1
    value = value_at(text[start:end].rstrip(" \t*"), 0)
    if value is None or stands_for_a_value(value) or value.text in {"-", "--"}:
        return
    alone = not text[start + value.end : end].strip(" \t*\"'`.,;")
    tight = tight and alone
    if (is_password(value, tight=tight) if means == "password" else is_key(value)) and alone:
        yield start + value.start, start + value.end, means
