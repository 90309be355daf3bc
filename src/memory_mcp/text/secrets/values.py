"""What stands where a secret may stand: where it ends, and whether it is one.

A value may only stand for a secret (`<your-key>`, `${VAR}`, `os.environ[…]`, "required"). Each
question is answered from the first 200 characters, so that hostile text costs no more than plain
text. Tables are read here too: a name in the first line tells of the secrets in its column.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from memory_mcp.text.tables import fill, fill_parts, load_table


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The pattern of that name, by which a value is judged."""
    table = load_table("secrets")
    return re.compile(fill(table["tests"][name], fill_parts(table["parts"])))


def is_like(name: str, text: str) -> bool:
    """Whether all of the text is such as the pattern of that name says."""
    return pattern(name).fullmatch(text) is not None


@cache
def name_hints() -> tuple[str, ...]:
    """What every name that tells of a secret has in it, in lower case."""
    return tuple(load_table("secrets")["name_hints"].split())


_ENDS: Final = ".,;:]}"


_KEY_CHARS_MIN: Final = 6
_PASSWORD_CHARS_MIN: Final = 4
_RANDOM_CHARS_MIN: Final = 16
_ODD_CASE_CHARS_MIN: Final = 10
_DIGITS_AS_KEY_MIN: Final = 16
_SWITCHES_MIN: Final = 0.2
_DISTINCT_MIN: Final = 8
_HEAD_CHARS: Final = 200
"""How much of a value is judged."""


@dataclass(frozen=True)
class FoundValue:
    """The beginning of a value, and where all of it stands."""

    text: str
    start: int
    end: int
    quoted: bool


def read_value(text: str, at: int) -> FoundValue | None:
    """What stands there: within its quotes, or as far as it goes without a space.

    Of an unquoted one no more is read than is judged: a name may stand in every tenth place.
    """
    opening = pattern("opening").match(text, at)
    if opening is not None:
        start = opening.end()
        close = text.find(opening["quote"], start)
        while close > start and text[close - 1] == "\\" and "\\" not in opening["quote"]:
            close = text.find(opening["quote"], close + 1)
        line_end = text.find("\n", start)
        if close > start and (line_end < 0 or close < line_end):
            head = text[start : min(close, start + _HEAD_CHARS)]
            return FoundValue(head, start, close, quoted=True)
        at = start
    token = pattern("token").match(text, at)
    if token is None:
        return None
    cut = pattern("cut").search(token.group())
    found = (token.group()[: cut.start()] if cut else token.group()).rstrip(_ENDS)
    return FoundValue(found, at, at + len(found), quoted=False) if found else None


def read_to_end(text: str, value: FoundValue) -> tuple[int, int]:
    """A value longer than what was judged is read on to its end."""
    if value.quoted or value.end - value.start < _HEAD_CHARS:
        return value.start, value.end
    end = pattern("token_rest").match(text, value.start)
    return value.start, end.end() if end else value.end


def ends_its_line(text: str, value: FoundValue) -> bool:
    """Nothing follows on the line but what closes it."""
    return pattern("line_end").match(text, value.end) is not None


def ends_its_sentence(text: str, value: FoundValue) -> bool:
    """Nothing follows in the sentence."""
    return pattern("sentence_end").match(text, value.end) is not None


def stands_for_a_value(value: FoundValue, *, in_setting: bool = False) -> bool:
    """A placeholder, a reference, a path, a hash, or a word about passwords and tokens."""
    text = value.text
    if (
        is_like("template", text)
        or is_like("hash", text)
        or pattern("known").fullmatch(text.strip("()*_"))
    ):
        return True
    if "://" in text or (is_like("path", text) and not is_like_key(text)):
        return True
    if not value.quoted and (is_like("reference", text) or is_like("file", text)):
        return True
    bare = text.strip("$%{}()<>")
    if pattern("tells").search(bare) is None or not is_like("words", bare):
        return False
    return not in_setting or _names_secret_part(bare)


def _names_secret_part(text: str) -> bool:
    return any(is_like("tells_part", part) for part in pattern("parts").split(text))


def is_like_key(text: str) -> bool:
    """Long enough and random enough to be one, whatever it is called."""
    return len(text) >= _RANDOM_CHARS_MIN and looks_random(text)


def is_password(value: FoundValue, *, tight: bool) -> bool:
    """Anything but prose, an amount or a day; a plain word only where nothing else can stand."""
    text = value.text
    if " " in text:
        return value.quoted and pattern("message").search(text) is None
    if len(text) < _PASSWORD_CHARS_MIN or is_like("day", text):
        return False
    if value.quoted or (tight and not is_like("amount", text)):
        return True
    if is_like("words", text):
        return len(text) >= _ODD_CASE_CHARS_MIN and _count_case_changes(text) * 5 > len(text) * 2
    return not is_like("amount", text)


def is_key(value: FoundValue) -> bool:
    """No prose, number, word, amount or slug."""
    text = value.text
    if " " in text:
        return value.quoted and any(is_like_key(word) for word in text.split())
    if text.isdigit():
        return len(text) >= _DIGITS_AS_KEY_MIN
    if len(text) < _KEY_CHARS_MIN or not any(char.isdigit() for char in text):
        return _has_odd_case(text)
    return not (is_like("slug", text) or is_like("amount", text) or is_like("day", text))


def is_word_as_key(value: FoundValue) -> bool:
    """A word, where a setting wants a key: a weak key is one all the same."""
    text = value.text
    return (
        len(text) >= _KEY_CHARS_MIN
        and not text.isdigit()
        and not (is_like("amount", text) or is_like("day", text))
        and (value.quoted or " " not in text)
        and pattern("message").search(text) is None
        and not any(is_like("trial", part) for part in pattern("parts").split(text))
    )


def _has_odd_case(text: str) -> bool:
    """Letters only, but capitals where no name has them."""
    return (
        len(text) >= _RANDOM_CHARS_MIN
        and _count_case_changes(text) * 3 > len(text)
        and text.isascii()
    )


def _count_case_changes(text: str) -> int:
    return sum(a.islower() != b.islower() for a, b in pairwise(text))


def looks_random(value: str) -> bool:
    """Made by a machine: letters and digits change places more often than in words or names."""
    kinds = [
        "d" if char.isdigit() else "u" if char.isupper() else "l"
        for char in value
        if char.isalnum()
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return (
        len(set(value)) >= _DISTINCT_MIN
        and "d" in kinds
        and len(set(kinds)) > 1
        and changes >= _SWITCHES_MIN * (len(kinds) - 1)
    )


_SEPARATORS: Final = "|\t;,"
_CELLS_MAX: Final = 24
_CELL_CHARS_MAX: Final = 60
_NAME_CHARS_MAX: Final = 40


def find_in_tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Each secret: where it begins and ends, and whether it is a password or another secret."""
    lowered = text.lower()
    if "\n" not in text or not any(hint in lowered for hint in name_hints()):
        return
    columns: list[tuple[int, str]] = []
    between, width, tight, at = "", 0, False, 0
    for line in text.split("\n"):
        cells = _cells(line, at, between) if columns else []
        if columns and len(cells) == width:
            if not is_like("rule_line", line):
                for column, means in columns:
                    yield from _judge_cell(text, cells[column], means, tight=tight)
        else:
            between = next((mark for mark in _SEPARATORS if mark in line), "")
            cells = _cells(line, at, between) if between else []
            columns = _secret_columns(text, cells)
            tight = (
                any(pattern("column_of_accounts").fullmatch(text, *cell) for cell in cells)
                if columns
                else False
            )
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


def _secret_columns(text: str, cells: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """The columns of secrets, if every cell is short enough for a name: this is a first line."""
    if len(cells) < 2 or any(end - start > _CELL_CHARS_MAX for start, end in cells):  # noqa: PLR2004
        return []
    if text[cells[0][1]] != "|" and not all(
        pattern("column_name").fullmatch(text, *cell) for cell in cells
    ):
        return []
    found: list[tuple[int, str]] = []
    for column, (start, end) in enumerate(cells):
        named = (
            pattern("column_of_secrets").fullmatch(text, start, end)
            if end - start <= _NAME_CHARS_MAX
            else None
        )
        if named is not None:
            found.append((column, "secret" if named["password"] is None else "password"))
    return found


def _judge_cell(
    text: str, cell: tuple[int, int], means: str, *, tight: bool
) -> Iterator[tuple[int, int, str]]:
    start, end = cell
    while start < end and text[start] in " \t*":
        start += 1
    value = read_value(text[start:end].rstrip(" \t*"), 0)
    if value is None or stands_for_a_value(value) or value.text in {"-", "--"}:
        return
    alone = not text[start + value.end : end].strip(" \t*\"'`.,;")
    tight = tight and alone
    if (is_password(value, tight=tight) if means == "password" else is_key(value)) and alone:
        yield start + value.start, start + value.end, means
