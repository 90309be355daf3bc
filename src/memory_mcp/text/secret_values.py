"""Finds which part of a rule's match is the secret, and judges whether it is one.

`EXTENTS` holds one function for each `extent` of `data/secrets.toml`. A name announces a value. A
placeholder (`<your-key>`, `${VAR}`, "required") is never a secret. Behind a name for a password any
other value is one; behind a name for a key or token, what is long enough and no word, number or
slug; behind a name that may mean one (`key`, `auth`), what looks random. How much a value must show
depends on its place: in `DB_PASSWORD=words` only a password can stand, in "password: words follow"
anything can. A password that is a dictionary word, without quotes, in a sentence, is missed.

A value is judged by its first 200 characters, so that hostile text costs no more than plain text.
In tables a name in the header announces the secrets of its column.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Final, Literal

from memory_mcp.frozen import frozen
from memory_mcp.text.tables import load_pattern, load_table

pattern = partial(load_pattern, "secrets")


def matches_fully(name: str, text: str) -> bool:
    """Whether the pattern of that name matches all of the text."""
    return pattern(name).fullmatch(text) is not None


@cache
def name_hints() -> tuple[str, ...]:
    """Parts of every name that announces a secret, in lower case."""
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


@frozen
class FoundValue:
    """The beginning of a value, and where all of it stands."""

    text: str
    start: int
    end: int
    quoted: bool


def read_value(text: str, at: int) -> FoundValue | None:
    """The value that begins here: within its quotes, or as far as it goes without a space.

    Of an unquoted one only its beginning is read, as far as it is judged.
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
    """Where the whole value begins and ends, if it is longer than what was judged."""
    if value.quoted or value.end - value.start < _HEAD_CHARS:
        return value.start, value.end
    end = pattern("token_rest").match(text, value.start)
    return value.start, end.end() if end else value.end


def ends_line(text: str, value: FoundValue) -> bool:
    """Whether nothing follows on the line but what closes it."""
    return pattern("line_end").match(text, value.end) is not None


def ends_sentence(text: str, value: FoundValue) -> bool:
    """Whether nothing follows in the sentence."""
    return pattern("sentence_end").match(text, value.end) is not None


def is_placeholder(value: FoundValue, *, in_setting: bool = False) -> bool:
    """Whether it is a placeholder, reference, path, hash, or a word about passwords or tokens."""
    text = value.text
    if (
        matches_fully("template", text)
        or matches_fully("hash", text)
        or pattern("known").fullmatch(text.strip("()*_"))
    ):
        return True
    if "://" in text or (matches_fully("path", text) and not is_like_key(text)):
        return True
    if not value.quoted and (matches_fully("reference", text) or matches_fully("file", text)):
        return True
    bare = text.strip("$%{}()<>")
    if pattern("tells").search(bare) is None or not matches_fully("words", bare):
        return False
    return not in_setting or _names_secret_part(bare)


def _names_secret_part(text: str) -> bool:
    return any(matches_fully("tells_part", part) for part in pattern("parts").split(text))


def is_like_key(text: str) -> bool:
    """Whether it is long and random enough to be a key, whatever it is called."""
    return len(text) >= _RANDOM_CHARS_MIN and looks_random(text)


def is_password(value: FoundValue, *, tight: bool) -> bool:
    """Whether it is no prose, amount or day; a plain word counts only in a `tight` place."""
    text = value.text
    if " " in text:
        return value.quoted and pattern("message").search(text) is None
    if len(text) < _PASSWORD_CHARS_MIN or matches_fully("day", text):
        return False
    if value.quoted or (tight and not matches_fully("amount", text)):
        return True
    if matches_fully("words", text):
        return len(text) >= _ODD_CASE_CHARS_MIN and _count_case_changes(text) * 5 > len(text) * 2
    return not matches_fully("amount", text)


def is_key(value: FoundValue) -> bool:
    """Whether it is no prose, number, word, amount or slug."""
    text = value.text
    if " " in text:
        return value.quoted and any(is_like_key(word) for word in text.split())
    if text.isdigit():
        return len(text) >= _DIGITS_AS_KEY_MIN
    if len(text) < _KEY_CHARS_MIN or not any(char.isdigit() for char in text):
        return _has_odd_case(text)
    return not (
        matches_fully("slug", text) or matches_fully("amount", text) or matches_fully("day", text)
    )


def is_word_as_key(value: FoundValue) -> bool:
    """Whether it is a word that may be a weak key, where a setting wants a key."""
    text = value.text
    return (
        len(text) >= _KEY_CHARS_MIN
        and not text.isdigit()
        and not (matches_fully("amount", text) or matches_fully("day", text))
        and (value.quoted or " " not in text)
        and pattern("message").search(text) is None
        and not any(matches_fully("trial", part) for part in pattern("parts").split(text))
    )


def _has_odd_case(text: str) -> bool:
    """Whether it has capitals where no name has them."""
    return (
        len(text) >= _RANDOM_CHARS_MIN
        and _count_case_changes(text) * 3 > len(text)
        and text.isascii()
    )


def _count_case_changes(text: str) -> int:
    return sum(a.islower() != b.islower() for a, b in pairwise(text))


def looks_random(value: str) -> bool:
    """Whether letters and digits change places more often than in words or names."""
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
    """The secrets in tables: where each begins and ends, and "password" or "secret"."""
    lowered = text.lower()
    if "\n" not in text or not any(hint in lowered for hint in name_hints()):
        return
    columns: list[tuple[int, str]] = []
    between, width, tight, at = "", 0, False, 0
    for line in text.split("\n"):
        cells = _split_cells(line, at, between) if columns else []
        if columns and len(cells) == width:
            if not matches_fully("rule_line", line):
                for column, means in columns:
                    yield from _judge_cell(text, cells[column], means, tight=tight)
        else:
            between = next((mark for mark in _SEPARATORS if mark in line), "")
            cells = _split_cells(line, at, between) if between else []
            columns = _find_secret_columns(text, cells)
            tight = (
                any(pattern("column_of_accounts").fullmatch(text, *cell) for cell in cells)
                if columns
                else False
            )
            width = len(cells)
        at += len(line) + 1


def _split_cells(line: str, at: int, between: str) -> list[tuple[int, int]]:
    """Where each cell stands in the text; none for a line with too many."""
    if line.count(between) > _CELLS_MAX:
        return []
    cells: list[tuple[int, int]] = []
    for cell in line.split(between):
        cells.append((at, at + len(cell)))
        at += len(cell) + 1
    return cells


def _find_secret_columns(text: str, cells: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """The columns of secrets, if every cell is short enough for a name: this is a header."""
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
    if value is None or is_placeholder(value) or value.text in {"-", "--"}:
        return
    alone = not text[start + value.end : end].strip(" \t*\"'`.,;")
    tight = tight and alone
    if (is_password(value, tight=tight) if means == "password" else is_key(value)) and alone:
        yield start + value.start, start + value.end, means


Extent = Callable[[re.Match[str]], tuple[int, int] | None]
"""Where the secret of a match begins and ends, or None if there is none."""

_LOGIN_CHARS_MIN: Final = 6
_BEFORE_CHARS: Final = 24
_LINE_BEFORE_CHARS: Final = 60
_ACCOUNT_BEFORE_CHARS: Final = 120


def _read_name(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups["password"] or groups.get("key") or groups.get("maybe") or ""


def _is_about_secret(match: re.Match[str]) -> bool:
    """Whether the name is about a secret (`token_count`), or names what everybody may see."""
    rest = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match["rest"]).lower()
    parts = [part for part in re.split(r"[_-]+", rest) if part]
    name = _read_name(match)
    goes_on = match["rest"][:1].islower() or name.isupper()
    if rest[:1].isalpha() and parts[0] != "s" and goes_on:
        return True
    if any(matches_fully("about", part) for part in parts):
        return True
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    if match["password"] is None and pattern("open_names").search(before):
        return True
    return match["by"] == ":" and pattern("in_address").search(before) is not None


def _is_no_password(match: re.Match[str], *, said: bool) -> bool:
    """Whether it is a `pass` that opens no account: a boarding pass, `PASS: TestLogin`."""
    word = match["password"]
    if word is None or word.lower() != "pass":
        return False
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    within_a_name = before[-1:].isalpha() or before[-1:] in {"_", ".", "$"}
    if within_a_name or match["by"] == "=" or pattern("credentials_before").search(before):
        return False
    if said or (word == "PASS" and match["by"].strip() == ":"):
        return True
    return before.rstrip()[-1:].isalpha() and not before.endswith("\n")


def _is_call(match: re.Match[str], value: FoundValue) -> bool:
    """Whether strings stand in a row: `get_password("shop", "ada")`, `["password", "creds"]`."""
    text, name = match.string, _read_name(match)
    if match["by"].startswith("("):
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
        return (
            pattern("getter").search(before) is not None
            or text[value.end + 1 : value.end + 2] == ","
        )
    plain = value.text.replace("_", "").replace("-", "").isalpha()
    return match["rest"][:1].isalpha() or (plain and not name.isupper()) or name == "pass"


def _is_alone_below(match: re.Match[str], value: FoundValue) -> bool:
    """Whether it stands alone on the next line: no list, no block of settings."""
    text = value.text
    if value.quoted and (match["by"].strip() != ":" or " " in text):
        return match.string[value.start - 1] != "`"
    if " " in text or "=" in text[:-2] or match["by"].strip() == "=":
        return False
    return ends_line(match.string, value) and not text.isalpha() and text[-1] != ":"


def _is_setting(match: re.Match[str], value: FoundValue) -> bool:
    """Whether it is a line of an environment: `JWT_SECRET=words`, `DB_PASSWORD: words`."""
    name = match["password"] or match["key"]
    if name is None or not name.isupper() or not matches_fully("setting_ends", match["rest"]):
        return False
    by, gap = match["by"].strip(), match["gap"]
    if match["below"] or by not in {"=", ":"}:
        return False
    spaced = bool(gap) or match["by"] != "=" or match.string[match.start("by") - 1].isspace()
    if by == "=" and not spaced:
        return True
    in_capitals = "_" in match.string[max(0, match.start() - 1) : match.start("by")]
    plain = "TOKEN" not in name and (by == ":" or value.quoted)
    return in_capitals and plain and ends_line(match.string, value)


def _is_tight_place(match: re.Match[str], value: FoundValue) -> bool:
    """Whether nothing but a value can stand there: `X=y`, `<x>y</x>`, or a line of its own."""
    text, by = match.string, match["by"].strip()
    if match["by"] in {"=", ">"} and not match["gap"]:
        return True
    if by not in {"=", ":"} or match["below"] or match["aside"]:
        return False
    at, whole = match.start(), ends_line(text, value)
    before = text[max(0, at - _ACCOUNT_BEFORE_CHARS) : at]
    if whole and (
        match["password"].isupper() or (by == ":" and pattern("part_before").search(before))
    ):
        return True
    if "_" in value.text:
        return False  # a variable
    alone = (
        whole
        and by == "="
        and pattern("line_before").search(before[-_LINE_BEFORE_CHARS:]) is not None
    )
    return alone or _follows_account(before, text, value)


def _follows_account(before: str, text: str, value: FoundValue) -> bool:
    """Whether an account stands directly before it: `user: ada`, then this."""
    account = pattern("account_before").search(before)
    ends = ends_sentence(text, value) or text[value.end] in ",;|"
    if account is None or not ends:
        return False
    user = FoundValue(account["user"], 0, 0, quoted=False)
    named = account["user"].lower() in {account["name"].lower(), value.text.lower()}
    return not named and not is_placeholder(user)


NameMeaning = Literal["password", "key", "maybe"]


def _read_meaning(match: re.Match[str]) -> NameMeaning:
    """What the name of the value means."""
    if match["password"] is not None:
        return "password"
    return "key" if match["key"] is not None else "maybe"


def _find_assigned(match: re.Match[str]) -> tuple[int, int] | None:
    value = read_value(match.string, match.end())
    if value is None or _is_about_secret(match) or _is_no_password(match, said=False):
        return None
    if match["below"] and not _is_alone_below(match, value):
        return None
    by = match["by"].strip()
    if (match["aside"] and by not in {":", "=", "->", "\u2192"}) or (
        by == ">" and not match.string.startswith("</", value.end)
    ):
        return None
    if by in {"(", ","} and _is_call(match, value):
        return None
    setting = _is_setting(match, value)
    if is_placeholder(value, in_setting=setting):
        return None
    means = _read_meaning(match)
    if means == "password":
        is_secret = is_password(value, tight=setting or _is_tight_place(match, value))
    elif means == "maybe" or (match["rest"] == "s" and not setting):
        is_secret = is_like_key(value.text) and not matches_fully("uuid_or_hex", value.text)
    elif by.endswith((">", "\u2192")) and by not in {"=>", ">"}:
        is_secret = is_like_key(value.text)
    else:
        is_secret = is_key(value) or (setting and is_word_as_key(value))
    return read_to_end(match.string, value) if is_secret else None


def _read_candidate(match: re.Match[str]) -> FoundValue | None:
    """The value behind a name, unless it is a placeholder or the name is about the secret."""
    value = read_value(match.string, match.end())
    if value is None or _is_about_secret(match) or is_placeholder(value):
        return None
    return value


def _has_some_digits(text: str) -> bool:
    """Whether some of it is digits, and not all."""
    return 0 < sum(char.isdigit() for char in text) < len(text)


def _find_option(match: re.Match[str]) -> tuple[int, int] | None:
    value = _read_candidate(match)
    if value is None or value.text.startswith("-"):
        return None
    if not value.quoted and matches_fully("no_option", value.text):
        return None
    is_secret = is_password(value, tight=True) if match["password"] is not None else is_key(value)
    return read_to_end(match.string, value) if is_secret else None


def _find_in_sentence(match: re.Match[str]) -> tuple[int, int] | None:
    text = match.string
    value = _read_candidate(match)
    if value is None or _is_no_password(match, said=True):
        return None
    match _read_meaning(match):
        case "password":
            announced = "lautet" in match["by"].lower() or match["by"].rstrip().endswith(":")
            alone = (
                announced and ends_sentence(text, value) and not matches_fully("how", value.text)
            )
            is_secret = is_password(value, tight=alone)
        case "key":
            is_secret = is_key(value)
        case "maybe":
            opens = "api" in match.group().lower() or not matches_fully("uuid_or_hex", value.text)
            is_secret = opens and is_like_key(value.text) and not matches_fully("slug", value.text)
    return read_to_end(text, value) if is_secret else None


def _find_beside(match: re.Match[str]) -> tuple[int, int] | None:
    """With no word between name and value: quoted behind a password, or like a key."""
    value = _read_candidate(match)
    if value is None or " " in value.text or _is_no_password(match, said=True):
        return None
    text = value.text
    if _read_meaning(match) == "password":
        is_secret = is_password(value, tight=False) and _has_some_digits(text)
    else:
        is_secret = (
            _read_meaning(match) == "key" and is_like_key(text) and not matches_fully("slug", text)
        )
    return read_to_end(match.string, value) if is_secret else None


def _find_in_address(match: re.Match[str]) -> tuple[int, int] | None:
    stands = matches_fully("template", match["secret"]) or matches_fully(
        "stands_in_address", match["login"]
    )
    return None if stands else match.span("secret")


def _find_random(match: re.Match[str]) -> tuple[int, int] | None:
    return match.span("secret") if looks_random(match["secret"]) else None


def _find_as_user(match: re.Match[str]) -> tuple[int, int] | None:
    secret = match["secret"]
    return (
        match.span("secret") if is_like_key(secret) and not matches_fully("slug", secret) else None
    )


def _find_beside_id(match: re.Match[str]) -> tuple[int, int] | None:
    """Beside an access key id; the digits of a commit are none."""
    secret = match["secret"]
    found = looks_random(secret) and not matches_fully("uuid_or_hex", secret)
    return match.span("secret") if found else None


def _find_named_after(match: re.Match[str]) -> tuple[int, int] | None:
    start, end = match.span("secret")
    text = match["secret"].rstrip(".,;:")
    quoted = match.string[end : end + 1] in {'"', "'", "`"}
    value = FoundValue(text, start, start + len(text), quoted=quoted)
    if is_placeholder(value) or matches_fully("slug", text):
        return None
    if match["key"] is not None:
        return (start, value.end) if is_like_key(text) else None
    is_secret = is_password(value, tight=False) and _has_some_digits(text)
    return (start, value.end) if is_secret else None


def _find_login(match: re.Match[str]) -> tuple[int, int] | None:
    """After the name of an account and a slash; a word, a version or a place is none."""
    value = read_value(match.string, match.end())
    if value is None or " " in value.text or match["user"].isdigit():
        return None
    text = value.text
    if len(text) < _LOGIN_CHARS_MIN or is_placeholder(value) or matches_fully("slug", text):
        return None
    listed = match["login"] is not None and match["by"].endswith(":")
    mixed = _has_some_digits(text) if listed else pattern("strong").match(text) is not None
    ends = ends_sentence(match.string, value) or (listed and match.string[value.end] in " ,)")
    return (
        read_to_end(match.string, value)
        if mixed and ends and is_password(value, tight=False)
        else None
    )


def _find_pin(match: re.Match[str]) -> tuple[int, int] | None:
    return None if pattern("postal").match(match.group()) else match.span("secret")


def _find_recovery(match: re.Match[str]) -> tuple[int, int] | None:
    """Only if the first code has a digit."""
    first = re.split(r"[\s,;]", match["secret"], maxsplit=1)[0]
    is_secret = any(char.isdigit() for char in first) and not matches_fully("slug", first)
    return match.span("secret") if is_secret else None


def _span(match: re.Match[str]) -> tuple[int, int]:
    return match.span("secret") if "secret" in match.re.groupindex else match.span()


def _find_known(match: re.Match[str]) -> tuple[int, int] | None:
    """A form that nothing else has; only a sample of documentation is let through."""
    start, end = _span(match)
    return None if pattern("sample").search(match.string, start, end) else (start, end)


def _find_random_rest(match: re.Match[str]) -> tuple[int, int] | None:
    """A short beginning that a plain name may have as well: the rest must look random."""
    span = _find_known(match)
    if span is None:
        return None
    rest = match.string[slice(*span)][3:]
    return span if looks_random(rest) or pattern("long_run").search(rest) else None


def _find_private_key(match: re.Match[str]) -> tuple[int, int] | None:
    """To its last line, or as far as lines of a key go; its first line alone is none."""
    text, kind = match.string, match["kind"]
    after = text.find("-----BEGIN", match.end())
    closing = f"-----END {kind}-----"
    end = text.find(closing, match.end(), after if after >= 0 else len(text))
    if end >= 0:
        held = pattern("base64_run").search(text, match.end(), end)
        return (match.start(), end + len(closing)) if held else None
    lines = pattern("key_lines").match(text, match.end())
    return (match.start(), lines.end()) if lines else None


def _find_bot(match: re.Match[str]) -> tuple[int, int] | None:
    """A Discord token begins with the digits of the bot's id, in base64."""
    return match.span() if any(char.isdigit() for char in match.group()[24:]) else None


EXTENTS: Final[Mapping[str, Extent]] = {
    "known": _find_known,
    "unlike_words": _find_random_rest,
    "private_key": _find_private_key,
    "bot": _find_bot,
    "in_address": _find_in_address,
    "random": _find_random,
    "option": _find_option,
    "assignment": _find_assigned,
    "sentence": _find_in_sentence,
    "beside": _find_beside,
    "as_user": _find_as_user,
    "beside_id": _find_beside_id,
    "named_after": _find_named_after,
    "login": _find_login,
    "pin": _find_pin,
    "recovery": _find_recovery,
}
