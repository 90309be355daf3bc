"""Where a value stands behind a name: in a setting, a call, on the next line, beside an account.

The place decides how much the value must show of itself. In `DB_PASSWORD=words` nothing but a
password can stand; in "password: words follow" anything can.
"""
# ruff: noqa: E501 - a pattern is read as one line

import re
from typing import Final

from memory_mcp.ingestion.secret_names import ABOUT, CREDENTIALS_BEFORE, OPEN_NAMES
from memory_mcp.ingestion.secret_patterns import later
from memory_mcp.ingestion.secret_values import (
    Value,
    ends_its_line,
    ends_its_sentence,
    stands_for_a_value,
)  # fmt: skip

__all__ = [
    "is_about",
    "is_alone_below",
    "is_call",
    "is_no_password",
    "is_setting",
    "is_tight",
]

_IN_ADDRESS: Final = later(r"://[^\s/@]*$")
"""The user before a password in an address, whatever the user is called."""
_BEFORE_CHARS: Final = 24
_LINE_BEFORE: Final = later(
    r"(?:^|\n)(?:[ ]{0,3}[-*][ ])?[ ]{0,3}(?:(?:export|set)[ ])?(?!(?:self|this|cls)\.)[A-Za-z0-9_.-]{0,40}$"
)
"""Nothing but the rest of the name stands on the line before it."""
_ACCOUNT_BEFORE: Final = later(
    r"(?<![A-Za-z])(?P<name>user(?:[ _]?name)?|login|e-?mail|benutzer(?:name)?|uid)[\"'`*]{0,3}[ \t]*[:=][\"'`* \t]*"
    r"(?P<user>[^\s:=,;\"'`]{1,64})[\"'`*]{0,3}[\s,;|&/-]+[\w.*-]{0,20}$",
    re.IGNORECASE,
)
"""An account is being written down: `user: shop`, then the password."""
_PART_BEFORE: Final = later(
    r"(?<!forgot)(?<!reset)(?<!change)(?<!update)(?<!confirm)(?<!verify)(?<!check)[_.-]$",
    re.IGNORECASE,
)
"""`db-password: …`, but not `reset-password: …`."""
_SETTING_ENDS: Final = later(
    r"(?:_?(?:KEY|PROD(?:UCTION)?|DEV|STAGING|TEST|LIVE|BASE|VALUE|OLD|NEW|MAIN|[A-Z]{0,3}\d{1,4}))*"
)
"""What a name in capitals may end in and still be the secret itself; `SECRET_BACKEND` is not."""
_GETTER: Final = later(r"(?:get|find|fetch|read|load|has|del|delete|ask|prompt)[A-Za-z]*_?$")
_LINE_BEFORE_CHARS: Final = 60
_ACCOUNT_BEFORE_CHARS: Final = 120


def name_of(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups["password"] or groups.get("key") or groups.get("maybe") or ""


def is_about(match: re.Match[str]) -> bool:
    """The name goes on, and is about the secret; or it is a name for what everybody may see."""
    rest = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match["rest"]).lower()
    parts = [part for part in re.split(r"[_-]+", rest) if part]
    name = name_of(match)
    goes_on = match["rest"][:1].islower() or name.isupper()
    if rest[:1].isalpha() and parts[0] != "s" and goes_on:
        return True
    if any(ABOUT().fullmatch(part) for part in parts):
        return True
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    if match["password"] is None and OPEN_NAMES().search(before):
        return True
    return match["by"] == ":" and _IN_ADDRESS().search(before) is not None


def is_no_password(match: re.Match[str], *, said: bool) -> bool:
    """A `pass` that opens no account: a boarding pass, a second pass, `PASS: TestLogin`."""
    word = match["password"]
    if word is None or word.lower() != "pass":
        return False
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    within_a_name = before[-1:].isalpha() or before[-1:] in {"_", ".", "$"}
    if within_a_name or match["by"] == "=" or CREDENTIALS_BEFORE().search(before):
        return False
    if said or (word == "PASS" and match["by"].strip() == ":"):
        return True
    return before.rstrip()[-1:].isalpha() and not before.endswith("\n")


def is_call(match: re.Match[str], value: Value) -> bool:
    """Strings in a row: `get_password("shop", "ada")`, `["password", "creds"]`."""
    text, name = match.string, name_of(match)
    if match["by"].startswith("("):
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
        return _GETTER().search(before) is not None or text[value.end + 1 : value.end + 2] == ","
    plain = value.text.replace("_", "").replace("-", "").isalpha()
    return match["rest"][:1].isalpha() or (plain and not name.isupper()) or name == "pass"


def is_alone_below(match: re.Match[str], value: Value) -> bool:
    """On the next line, after a colon, with nothing beside it: no list, no block of settings."""
    text = value.text
    if value.quoted and (match["by"].strip() != ":" or " " in text):
        return match.string[value.start - 1] != "`"
    if " " in text or "=" in text[:-2] or match["by"].strip() == "=":
        return False
    return ends_its_line(match.string, value) and not text.isalpha() and text[-1] != ":"


def is_setting(match: re.Match[str], value: Value) -> bool:
    """A line of an environment: `JWT_SECRET=words`, `DB_PASSWORD: words`, `SECRET_KEY = "words"`."""
    name = match["password"] or match["key"]
    if name is None or not name.isupper() or not _SETTING_ENDS().fullmatch(match["rest"]):
        return False
    by, gap = match["by"].strip(), match["gap"]
    if match["below"] or by not in {"=", ":"}:
        return False
    spaced = bool(gap) or match["by"] != "=" or match.string[match.start("by") - 1].isspace()
    if by == "=" and not spaced:
        return True
    in_capitals = "_" in match.string[max(0, match.start() - 1) : match.start("by")]
    plain = "TOKEN" not in name and (by == ":" or value.quoted)
    return in_capitals and plain and ends_its_line(match.string, value)


def is_tight(match: re.Match[str], value: Value) -> bool:
    """Nothing but a value can stand there: `X=y`, `<x>y</x>`, or it has the line to itself."""
    text, by = match.string, match["by"].strip()
    if match["by"] in {"=", ">"} and not match["gap"]:
        return True
    if by not in {"=", ":"} or match["below"] or match["aside"]:
        return False
    at, whole = match.start(), ends_its_line(text, value)
    before = text[max(0, at - _ACCOUNT_BEFORE_CHARS) : at]
    if whole and (match["password"].isupper() or (by == ":" and _PART_BEFORE().search(before))):
        return True
    if "_" in value.text:
        return False  # a variable
    alone = whole and by == "=" and _LINE_BEFORE().search(before[-_LINE_BEFORE_CHARS:]) is not None
    return alone or _of_an_account(before, text, value)


def _of_an_account(before: str, text: str, value: Value) -> bool:
    """An account is being written down, and this is the next thing said."""
    account = _ACCOUNT_BEFORE().search(before)
    ends = ends_its_sentence(text, value) or text[value.end] in ",;|"
    if account is None or not ends:
        return False
    user = Value(account["user"], 0, 0, quoted=False)
    named = account["user"].lower() in {account["name"].lower(), value.text.lower()}
    return not named and not stands_for_a_value(user)
