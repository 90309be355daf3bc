"""What of a rule's match is the secret: one function for each `extent` of `data/secrets.toml`.

A name says that a value follows; whether it is a secret is judged in three steps. What stands for
a value is none. Behind a name that means a password anything else is; behind one that means a key
or token, what is long enough and no word, number or slug; behind a name that only may (`key`,
`auth`), what looks random. How much a value must show of itself depends on its place: in
`DB_PASSWORD=words` nothing but a password can stand, in "password: words follow" anything can. A
password that is a dictionary word, without quotes, in a sentence, is missed.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from memory_mcp.text.secrets.values import (
    FoundValue,
    ends_its_line,
    ends_its_sentence,
    is_key,
    is_like,
    is_like_key,
    is_password,
    is_word_as_key,
    looks_random,
    pattern,
    read_to_end,
    read_value,
    stands_for_a_value,
)

Extent = Callable[[re.Match[str]], tuple[int, int] | None]
"""Where the secret of a match begins and ends, or None if there is none."""

_LOGIN_CHARS_MIN: Final = 6
_BEFORE_CHARS: Final = 24
_LINE_BEFORE_CHARS: Final = 60
_ACCOUNT_BEFORE_CHARS: Final = 120


def _name_of(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups["password"] or groups.get("key") or groups.get("maybe") or ""


def _is_about(match: re.Match[str]) -> bool:
    """The name goes on, and is about the secret; or it is a name for what everybody may see."""
    rest = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match["rest"]).lower()
    parts = [part for part in re.split(r"[_-]+", rest) if part]
    name = _name_of(match)
    goes_on = match["rest"][:1].islower() or name.isupper()
    if rest[:1].isalpha() and parts[0] != "s" and goes_on:
        return True
    if any(is_like("about", part) for part in parts):
        return True
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    if match["password"] is None and pattern("open_names").search(before):
        return True
    return match["by"] == ":" and pattern("in_address").search(before) is not None


def _is_no_password(match: re.Match[str], *, said: bool) -> bool:
    """A `pass` that opens no account: a boarding pass, a second pass, `PASS: TestLogin`."""
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
    """Strings in a row: `get_password("shop", "ada")`, `["password", "creds"]`."""
    text, name = match.string, _name_of(match)
    if match["by"].startswith("("):
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
        return (
            pattern("getter").search(before) is not None
            or text[value.end + 1 : value.end + 2] == ","
        )
    plain = value.text.replace("_", "").replace("-", "").isalpha()
    return match["rest"][:1].isalpha() or (plain and not name.isupper()) or name == "pass"


def _is_alone_below(match: re.Match[str], value: FoundValue) -> bool:
    """On the next line, after a colon, with nothing beside it: no list, no block of settings."""
    text = value.text
    if value.quoted and (match["by"].strip() != ":" or " " in text):
        return match.string[value.start - 1] != "`"
    if " " in text or "=" in text[:-2] or match["by"].strip() == "=":
        return False
    return ends_its_line(match.string, value) and not text.isalpha() and text[-1] != ":"


def _is_setting(match: re.Match[str], value: FoundValue) -> bool:
    """A line of an environment: `JWT_SECRET=words`, `DB_PASSWORD: words`."""
    name = match["password"] or match["key"]
    if name is None or not name.isupper() or not is_like("setting_ends", match["rest"]):
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


def _is_tight(match: re.Match[str], value: FoundValue) -> bool:
    """Nothing but a value can stand there: `X=y`, `<x>y</x>`, or it has the line to itself."""
    text, by = match.string, match["by"].strip()
    if match["by"] in {"=", ">"} and not match["gap"]:
        return True
    if by not in {"=", ":"} or match["below"] or match["aside"]:
        return False
    at, whole = match.start(), ends_its_line(text, value)
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
    return alone or _is_of_account(before, text, value)


def _is_of_account(before: str, text: str, value: FoundValue) -> bool:
    """An account is being written down, and this is the next thing said."""
    account = pattern("account_before").search(before)
    ends = ends_its_sentence(text, value) or text[value.end] in ",;|"
    if account is None or not ends:
        return False
    user = FoundValue(account["user"], 0, 0, quoted=False)
    named = account["user"].lower() in {account["name"].lower(), value.text.lower()}
    return not named and not stands_for_a_value(user)


Means = Literal["password", "key", "maybe"]


def _meaning(match: re.Match[str]) -> Means:
    if match["password"] is not None:
        return "password"
    return "key" if match["key"] is not None else "maybe"


def _find_assigned(match: re.Match[str]) -> tuple[int, int] | None:
    value = read_value(match.string, match.end())
    if value is None or _is_about(match) or _is_no_password(match, said=False):
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
    if stands_for_a_value(value, in_setting=setting):
        return None
    means = _meaning(match)
    if means == "password":
        fits = is_password(value, tight=setting or _is_tight(match, value))
    elif means == "maybe" or (match["rest"] == "s" and not setting):
        fits = is_like_key(value.text) and not is_like("uuid_or_hex", value.text)
    elif by.endswith((">", "\u2192")) and by not in {"=>", ">"}:
        fits = is_like_key(value.text)
    else:
        fits = is_key(value) or (setting and is_word_as_key(value))
    return read_to_end(match.string, value) if fits else None


def _find_option(match: re.Match[str]) -> tuple[int, int] | None:
    value = read_value(match.string, match.end())
    if value is None or value.text.startswith("-") or _is_about(match) or stands_for_a_value(value):
        return None
    if not value.quoted and is_like("no_option", value.text):
        return None
    fits = is_password(value, tight=True) if match["password"] is not None else is_key(value)
    return read_to_end(match.string, value) if fits else None


def _find_in_sentence(match: re.Match[str]) -> tuple[int, int] | None:
    text = match.string
    value = read_value(text, match.end())
    if value is None or _is_about(match) or _is_no_password(match, said=True):
        return None
    if stands_for_a_value(value):
        return None
    match _meaning(match):
        case "password":
            announced = "lautet" in match["by"].lower() or match["by"].rstrip().endswith(":")
            told = announced and ends_its_sentence(text, value) and not is_like("how", value.text)
            fits = is_password(value, tight=told)
        case "key":
            fits = is_key(value)
        case "maybe":
            opens = "api" in match.group().lower() or not is_like("uuid_or_hex", value.text)
            fits = opens and is_like_key(value.text) and not is_like("slug", value.text)
    return read_to_end(text, value) if fits else None


def _find_beside(match: re.Match[str]) -> tuple[int, int] | None:
    """Without any word between them: what is quoted behind a password, or looks like a key."""
    value = read_value(match.string, match.end())
    if value is None or _is_about(match) or stands_for_a_value(value) or " " in value.text:
        return None
    if _is_no_password(match, said=True):
        return None
    text = value.text
    if _meaning(match) == "password":
        digits = sum(char.isdigit() for char in text)
        fits = is_password(value, tight=False) and 0 < digits < len(text)
    else:
        fits = _meaning(match) == "key" and is_like_key(text) and not is_like("slug", text)
    return read_to_end(match.string, value) if fits else None


def _find_in_address(match: re.Match[str]) -> tuple[int, int] | None:
    stands = is_like("template", match["secret"]) or is_like("stands_in_address", match["login"])
    return None if stands else match.span("secret")


def _find_random(match: re.Match[str]) -> tuple[int, int] | None:
    return match.span("secret") if looks_random(match["secret"]) else None


def _find_as_user(match: re.Match[str]) -> tuple[int, int] | None:
    secret = match["secret"]
    return match.span("secret") if is_like_key(secret) and not is_like("slug", secret) else None


def _find_beside_id(match: re.Match[str]) -> tuple[int, int] | None:
    """Forty digits of a commit are not it."""
    secret = match["secret"]
    found = looks_random(secret) and not is_like("uuid_or_hex", secret)
    return match.span("secret") if found else None


def _find_named_after(match: re.Match[str]) -> tuple[int, int] | None:
    start, end = match.span("secret")
    text = match["secret"].rstrip(".,;:")
    quoted = match.string[end : end + 1] in {'"', "'", "`"}
    value = FoundValue(text, start, start + len(text), quoted=quoted)
    if stands_for_a_value(value) or is_like("slug", text):
        return None
    if match["key"] is not None:
        return (start, value.end) if is_like_key(text) else None
    digits = sum(char.isdigit() for char in text)
    fits = is_password(value, tight=False) and 0 < digits < len(text)
    return (start, value.end) if fits else None


def _find_login(match: re.Match[str]) -> tuple[int, int] | None:
    """After the account's name and a stroke: a word, a version or a place is none."""
    value = read_value(match.string, match.end())
    if value is None or " " in value.text or match["user"].isdigit():
        return None
    text = value.text
    if len(text) < _LOGIN_CHARS_MIN or stands_for_a_value(value) or is_like("slug", text):
        return None
    listed = match["login"] is not None and match["by"].endswith(":")
    digits = sum(char.isdigit() for char in text)
    mixed = 0 < digits < len(text) if listed else pattern("strong").match(text) is not None
    ends = ends_its_sentence(match.string, value) or (listed and match.string[value.end] in " ,)")
    return (
        read_to_end(match.string, value)
        if mixed and ends and is_password(value, tight=False)
        else None
    )


def _find_pin(match: re.Match[str]) -> tuple[int, int] | None:
    return None if pattern("postal").match(match.group()) else match.span("secret")


def _find_recovery(match: re.Match[str]) -> tuple[int, int] | None:
    """The first has a digit as well."""
    first = re.split(r"[\s,;]", match["secret"], maxsplit=1)[0]
    fits = any(char.isdigit() for char in first) and not is_like("slug", first)
    return match.span("secret") if fits else None


def _span(match: re.Match[str]) -> tuple[int, int]:
    return match.span("secret") if "secret" in match.re.groupindex else match.span()


def _find_known(match: re.Match[str]) -> tuple[int, int] | None:
    """A form that nothing else has: only a sample of documentation is let through."""
    start, end = _span(match)
    return None if pattern("sample").search(match.string, start, end) else (start, end)


def _find_unlike_words(match: re.Match[str]) -> tuple[int, int] | None:
    """A short beginning that a plain name may have as well: the rest must look random."""
    span = _find_known(match)
    if span is None:
        return None
    rest = match.string[slice(*span)][3:]
    return span if looks_random(rest) or pattern("long_run").search(rest) else None


def _find_private_key(match: re.Match[str]) -> tuple[int, int] | None:
    """To its end, or as far as lines of a key go; a mere mention of the first line is none."""
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
    "unlike_words": _find_unlike_words,
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
