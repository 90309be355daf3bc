"""Named."""

import re
from typing import Final, Literal

from memory_mcp.text.secrets.rules import Extent, Rule
from memory_mcp.text.secrets.values import (
    ABOUT,
    CREDENTIALS_BEFORE,
    KEY,
    MAYBE,
    NAME_HINTS,
    OPEN_NAMES,
    PASSWORD,
    SLUG,
    STANDS_IN_ADDRESS,
    TEMPLATE,
    UUID_OR_HEX,
    Value,
    ends_its_line,
    ends_its_sentence,
    is_key,
    is_password,
    is_word_as_key,
    later,
    like_a_key,
    random_looking,
    stands_for_a_value,
    to_its_end,
    value_at,
)

# ruff: noqa: E501 - a pattern is read as one line


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


def _name_of(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups["password"] or groups.get("key") or groups.get("maybe") or ""


def is_about(match: re.Match[str]) -> bool:
    """The name goes on, and is about the secret; or it is a name for what everybody may see."""
    rest = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match["rest"]).lower()
    parts = [part for part in re.split(r"[_-]+", rest) if part]
    name = _name_of(match)
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
    text, name = match.string, _name_of(match)
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


# ruff: noqa: E501 - a pattern is read as one line


Means = Literal["password", "key", "maybe"]

_NAMED: Final = rf"(?:(?P<password>{PASSWORD})|(?P<key>{KEY})|(?P<maybe>{MAYBE}))"
_GAP: Final = r"[ \t]{0,8}"
_ASIDE: Final = (
    r"(?P<aside>[ \t][(\[][^()\[\]\n]{1,40}[)\]]\*{0,2}(?=[ \t]*[:=])"
    r"|[ \t](?:for|of|to|on|f\u00fcr|von|zum|de|del|du)[ \t][^\n.;:!?=>\"'`]{1,60}?(?=:(?:\*|\s|$)|[ \t](?:->|=|\u2192)))?"
)
"""Which of several it is: `Password (prod): …`, `password for the shop: …`."""
_SET: Final = (
    rf"(?P<rest>[A-Za-z0-9_-]{{0,40}}+)\\{{0,2}}[\"'`\])*]{{0,4}}{_ASIDE}{_GAP}"
    rf"(?P<by>:{_GAP}[A-Za-z][A-Za-z0-9_.\[\]| ]{{0,40}}?=(?!=)|:=|=>|={{1,3}}|:|>|(?<=[ \t])(?:-{{1,2}}>|\u2192)"
    rf"|\({_GAP}(?=[\"'])|,{_GAP}(?=[\"'])|[ \t]value=(?=[\"']))"
    rf"\*{{0,2}}(?P<gap>{_GAP})(?P<below>\n{{1,2}}[ \t]{{0,8}}(?:```[a-z]{{0,10}}\n[ \t]{{0,8}})?(?:[>*-][ \t])?)?"
    r"(?:(?i:bearer|basic|token|bot|apikey)[ \t]+)?"
)
_OPTION: Final = (
    rf"(?<![A-Za-z0-9_-])--?(?:[a-z0-9]{{1,20}}-)*+(?:(?P<password>{PASSWORD})|(?P<key>{KEY}))"
    r"(?P<rest>(?:-[a-z0-9]+)?)(?P<by>[ \t]{1,4})(?P<gap>)"
)
_SAID: Final = (
    r"(?P<rest>s?)(?:[ \t]+(?:for|of|to|on|at|f\u00fcr|von|zum|de|del|du)[ \t][^\n.;:!?\"'`]{1,60}?)?[ \t]+"
    r"(?P<by>(?:is|was|be|equals|ist|lautet|est|es|now|currently|still|changed|set|reset|rotated|to)"
    r"(?:[ \t]+(?:now|still|currently|jetzt|changed|set|to|:))*[ \t]*:?)(?P<gap>[ \t]+)"
)
_BESIDE: Final = r"(?P<rest>s?)(?P<by>)(?P<gap>[ \t]+)(?=[\"'`A-Za-z0-9])"
_CURL_USER: Final = (
    r"\b(?:curl|wget|http)\b[^\n]{0,200}?[ \t](?:-u|--user)[ \t=]+[\"']?[^\s:\"']{1,64}:"
    r"(?P<by>)(?P<gap>)(?P<rest>)(?P<password>)"
)
_SHORT: Final = (
    r"\b(?:sshpass|redis-cli|mongo(?:sh|dump|restore|export|import)?|(?:docker|podman|helm|oc|az|twine)[ \t]+(?:registry[ \t]+)?(?:login|upload))\b"
    r"[^\n]{0,120}?[ \t]-[pa][ \t]{1,4}(?P<by>)(?P<gap>)(?P<rest>)(?P<password>)"
)
_JOINED: Final = (
    r"\b(?:mysql(?:dump|admin|import|show|check)?|mariadb(?:-dump|-admin)?|sshpass|7z[ \t]+[ax])\b"
    r"[^\n|;]{0,120}?[ \t]-p(?!\d+:)(?P<by>)(?P<gap>)(?P<rest>)(?P<password>)"
)
_BEARER: Final = r"\b(?i:bearer)[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)"
_URL: Final = (
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://(?P<login>[^\s:/?#@\[\]\"'<>]*+:"
    r"(?P<secret>(?!\d{1,5}[/?#])[^\s\"'<>@]{1,500}+(?:@[^\s\"'<>@/]+(?=@))*))@(?=[A-Za-z0-9\[.$<{-])"
)

_NO_OPTION: Final = later(
    r"options?|flags?|arguments?|parameters?|requires?|instead|and|or|is|are|was|to|for|if|when|with|without|from|in|on|which|that"
    r"|can|must|should|has|have|as|oder|und|ist",
    re.IGNORECASE,
)
"""What follows an option that is spoken of."""
_HOW: Final = later(
    r"anders|folgt|folgender\w+|so|gleich|wie|noch|nicht|follows|below|above|stored|kept|unknown|hidden|secret",
    re.IGNORECASE,
)
"""What follows "lautet" or "is:" without being the word itself."""


def _means(match: re.Match[str]) -> Means:
    if match["password"] is not None:
        return "password"
    return "key" if match["key"] is not None else "maybe"


def _assigned(match: re.Match[str]) -> tuple[int, int] | None:
    value = value_at(match.string, match.end())
    if value is None or is_about(match) or is_no_password(match, said=False):
        return None
    if match["below"] and not is_alone_below(match, value):
        return None
    by = match["by"].strip()
    if (match["aside"] and by not in {":", "=", "->", "\u2192"}) or (
        by == ">" and not match.string.startswith("</", value.end)
    ):
        return None
    if by in {"(", ","} and is_call(match, value):
        return None
    setting = is_setting(match, value)
    if stands_for_a_value(value, in_setting=setting):
        return None
    means = _means(match)
    if means == "password":
        fits = is_password(value, tight=setting or is_tight(match, value))
    elif means == "maybe" or (match["rest"] == "s" and not setting):
        fits = like_a_key(value.text) and UUID_OR_HEX().fullmatch(value.text) is None
    elif by.endswith((">", "\u2192")) and by not in {"=>", ">"}:
        fits = like_a_key(value.text)
    else:
        fits = is_key(value) or (setting and is_word_as_key(value))
    return to_its_end(match.string, value) if fits else None


def _optioned(match: re.Match[str]) -> tuple[int, int] | None:
    value = value_at(match.string, match.end())
    if value is None or value.text.startswith("-") or is_about(match) or stands_for_a_value(value):
        return None
    if not value.quoted and _NO_OPTION().fullmatch(value.text):
        return None
    fits = is_password(value, tight=True) if match["password"] is not None else is_key(value)
    return to_its_end(match.string, value) if fits else None


def _said(match: re.Match[str]) -> tuple[int, int] | None:
    text = match.string
    value = value_at(text, match.end())
    if value is None or is_about(match) or is_no_password(match, said=True):
        return None
    if stands_for_a_value(value):
        return None
    match _means(match):
        case "password":
            announced = "lautet" in match["by"].lower() or match["by"].rstrip().endswith(":")
            told = announced and ends_its_sentence(text, value) and not _HOW().fullmatch(value.text)
            fits = is_password(value, tight=told)
        case "key":
            fits = is_key(value)
        case "maybe":
            opens = "api" in match.group().lower() or UUID_OR_HEX().fullmatch(value.text) is None
            fits = opens and like_a_key(value.text) and SLUG().fullmatch(value.text) is None
    return to_its_end(text, value) if fits else None


def _beside(match: re.Match[str]) -> tuple[int, int] | None:
    """Without any word between them: what is quoted behind a password, or looks like a key."""
    value = value_at(match.string, match.end())
    if value is None or is_about(match) or stands_for_a_value(value) or " " in value.text:
        return None
    if is_no_password(match, said=True):
        return None
    text = value.text
    if _means(match) == "password":
        digits = sum(char.isdigit() for char in text)
        fits = is_password(value, tight=False) and 0 < digits < len(text)
    else:
        fits = _means(match) == "key" and like_a_key(text) and not SLUG().fullmatch(text)
    return to_its_end(match.string, value) if fits else None


def _in_address(match: re.Match[str]) -> tuple[int, int] | None:
    stands = TEMPLATE().fullmatch(match["secret"]) or STANDS_IN_ADDRESS().fullmatch(match["login"])
    return None if stands else match.span("secret")


def _borne(match: re.Match[str]) -> tuple[int, int] | None:
    return match.span("secret") if random_looking(match["secret"]) else None


def _rule(name: str, pattern: str, extent: Extent, *hints: str, source: str) -> Rule:
    return Rule(name, hints or NAME_HINTS, pattern, source, extent)


_OURS: Final = "our own: tests/secret_samples.py"

TELLING: Final[tuple[Rule, ...]] = (
    _rule("url-password", _URL, _in_address, "://", source="RFC 3986, section 3.2.1: userinfo"),
    _rule("bearer-token", _BEARER, _borne, "bearer", source="RFC 6750, section 2.1"),
    _rule("secret", _CURL_USER, _optioned, "-u", "--user", source="curl(1), -u"),
    _rule(
        "secret", _SHORT, _optioned, " -p", " -a", "\t-p", "\t-a", source="sshpass(1), docker login"
    ),
    _rule("secret", _JOINED, _optioned, " -p", "\t-p", source="mysql(1), sshpass(1), 7z"),
    _rule("secret", rf"(?i:{_OPTION})", _optioned, source=_OURS),
    _rule("secret", rf"(?i:{_NAMED}){_SET}", _assigned, source=_OURS),
    _rule("secret", rf"(?i:{_NAMED}{_SAID})", _said, source=_OURS),
    _rule("secret", rf"(?i:{_NAMED}{_BESIDE})", _beside, source=_OURS),
)


# ruff: noqa: E501 - a pattern is read as one line


_USER_ALONE: Final = (
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://(?P<secret>[A-Za-z0-9_~%-]{16,200}+)"
    r"(?::(?:x-oauth-basic)?)?@(?=[A-Za-z0-9\[.$<{-])(?!o\d+\.ingest\.)"
)
"""Sentry's addresses hold a key that everybody may see."""
_AWS: Final = (
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])[^A-Za-z0-9+/][^\n]{0,40}?\n?[^\n]{0,40}?"
    r"(?<![A-Za-z0-9+/])(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/])"
)
_AWS_BEFORE: Final = (
    r"(?<![A-Za-z0-9+/])(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/])[^\n]{1,40}?"
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
)
_AS: Final = (
    r"(?<![^\s\"'`(])(?P<secret>[^\s\"'`<>()]{6,200}+)[\"'`]?[ \t]+(?:as|is|was|ist|als)[ \t]+"
    r"(?:(?:the|our|my|your|his|her|their|its|an?|new|der|die|das|den|unser|mein)[ \t]+){0,2}(?:[A-Za-z0-9.-]{1,20}[ \t]+){0,2}?"
    rf"(?i:(?P<password>{PASSWORD})|(?P<key>{KEY}))(?![A-Za-z0-9_])"
    r"(?=[ \t]*(?:[.,;:!?)\n]|$|(?:for|of|on|to|in|from|at|when|until|and|f\u00fcr|von)\b))"
)
_LOGIN: Final = (
    r"(?<![A-Za-z])(?i:(?P<login>log[ -]?in|logon|cred(?:ential)?s|zugang(?:sdaten)?|anmeldung|basic[ -]auth(?:entication)?)|(?:log(?:ged|s)?|sign(?:ed|s)?)[ -]in|account|user(?:[ -]?name)?)"
    r"(?P<by>(?:[ \t](?:for|to|on|f\u00fcr)[ \t][^\n:/]{1,40}?)?[ \t]*[:=]|[ \t]+(?i:is|as|with|ist|mit|als))[ \t]+"
    r"[\"'`]?(?!https?:)(?P<user>[^\s:/\"'`,;|]{2,64})[\"'`]?(?:[ \t]{0,3}[:/|,][ \t]{0,3}|[ \t]+(?i:and|und|with|mit)[ \t]+)(?![/\\])"
)
_PIN: Final = (
    r"(?<![A-Za-z])(?:PIN|PUK|(?i:(?:my|our|your|card|door|phone|sim|alarm|bank|debit|credit|safe|gate|locker|voicemail)[ -]pin))"
    r"(?:-?(?i:code|nummer|number|[ ]code|[ ]number))?"
    r"(?P<to>[ \t](?i:for|of|to|on|f\u00fcr|von|der|des)[ \t][^\n.;:!?\"'`\d]{1,40}?)?"
    r"(?:[ \t]*[:=]|[ \t]+(?i:is|was|ist|lautet|now|changed|set|to|code)(?:[ \t]+(?i:now|still|to|set|changed)){0,2})[ \t]*:?[ \t]*[\"'`*]{0,3}"
    r"(?P<secret>\d{4,8})(?![\d.,:/-]*\d|[ \t]*(?i:characters|digits|pins|volt|ohm|px|ms|mm|kb|mb|hz|times|users))"
)
_COMBINATION: Final = (
    r"(?<![A-Za-z])(?i:(?:safe|lock|padlock|locker|vault|briefcase)(?:'s)?[ ]comb(?:o|ination))(?:[ \t](?i:for|of|to)[ \t][^\n.;:!?\d]{1,40}?)?"
    r"(?:[ \t]*[:=]|[ \t]+(?i:is|was))[ \t]+(?P<secret>\d{1,2}(?:[ /-]{1,3}\d{1,2}){2,4}|\d{3,8})(?![\d.])"
)
_RECOVERY: Final = (
    r"(?<![A-Za-z])(?i:(?:recovery|backup|rescue|scratch|wiederherstellungs)[ -]?codes?)(?:[ \t]\([^()\n]{1,40}\)|[ \t](?i:for|of)[ \t][^\n.:]{1,40}?)?"
    r"(?:[ \t]*[:=]|[ \t]+(?i:is|are))\s{1,4}(?P<secret>[A-Za-z0-9-]{6,40}+(?:[\s,;]{1,4}(?=[A-Za-z-]{0,39}\d)[A-Za-z0-9-]{6,40}+)*)"
)
_STRONG: Final = later(r"(?=.*[a-z])(?=.*\d)(?=.*[A-Z!@#$%^&*?+=~])")
_LOGIN_CHARS_MIN: Final = 6
_POSTAL: Final = later(r"(?i:PIN[ -]?code)[ \t]*[:=]?[ \t]*[1-9]\d{5}$")
"""India's postal codes."""


def _as_user(match: re.Match[str]) -> tuple[int, int] | None:
    secret = match["secret"]
    return match.span("secret") if like_a_key(secret) and not SLUG().fullmatch(secret) else None


def _beside_an_id(match: re.Match[str]) -> tuple[int, int] | None:
    """Forty digits of a commit are not it."""
    secret = match["secret"]
    found = random_looking(secret) and UUID_OR_HEX().fullmatch(secret) is None
    return match.span("secret") if found else None


def _named_after(match: re.Match[str]) -> tuple[int, int] | None:
    start, end = match.span("secret")
    text = match["secret"].rstrip(".,;:")
    quoted = match.string[end : end + 1] in {'"', "'", "`"}
    value = Value(text, start, start + len(text), quoted=quoted)
    if stands_for_a_value(value) or SLUG().fullmatch(text):
        return None
    if match["key"] is not None:
        return (start, value.end) if like_a_key(text) else None
    digits = sum(char.isdigit() for char in text)
    fits = is_password(value, tight=False) and 0 < digits < len(text)
    return (start, value.end) if fits else None


def _login_extent(match: re.Match[str]) -> tuple[int, int] | None:
    """After the account's name and a stroke: a word, a version or a place is none."""
    value = value_at(match.string, match.end())
    if value is None or " " in value.text or match["user"].isdigit():
        return None
    text = value.text
    if len(text) < _LOGIN_CHARS_MIN or stands_for_a_value(value) or SLUG().fullmatch(text):
        return None
    listed = match["login"] is not None and match["by"].endswith(":")
    digits = sum(char.isdigit() for char in text)
    mixed = 0 < digits < len(text) if listed else _STRONG().match(text) is not None
    ends = ends_its_sentence(match.string, value) or (listed and match.string[value.end] in " ,)")
    return (
        to_its_end(match.string, value)
        if mixed and ends and is_password(value, tight=False)
        else None
    )


def _pin(match: re.Match[str]) -> tuple[int, int] | None:
    return None if _POSTAL().match(match.group()) else match.span("secret")


def _recovery(match: re.Match[str]) -> tuple[int, int] | None:
    """The first has a digit as well."""
    first = re.split(r"[\s,;]", match["secret"], maxsplit=1)[0]
    fits = any(char.isdigit() for char in first) and not SLUG().fullmatch(first)
    return match.span("secret") if fits else None


def _phrase(name: str, pattern: str, extent: Extent, *hints: str, source: str) -> Rule:
    return Rule(name, hints, pattern, source, extent)


PHRASES: Final[tuple[Rule, ...]] = (
    _phrase("url-token", _USER_ALONE, _as_user, "://", source="docs.github.com: cloning with a token"),
    _phrase("aws-secret-key", _AWS, _beside_an_id, "akia", "asia", source="docs.aws.amazon.com/IAM: access keys"),
    _phrase("aws-secret-key", _AWS_BEFORE, _beside_an_id, "akia", "asia", source="docs.aws.amazon.com/IAM: access keys"),
    _phrase("secret", _AS, _named_after, *NAME_HINTS, source=_OURS),
    _phrase("password", _LOGIN, _login_extent, "log", "sign", "cred", "zugang", "anmeldung", "basic", "account", "user", source=_OURS),
    _phrase("pin", _COMBINATION, _pin, "comb", source=_OURS),
    _phrase("recovery-code", _RECOVERY, _recovery, "code", source=_OURS),
    _phrase("pin", _PIN, _pin, "pin", "puk", source=_OURS),
)  # fmt: skip
"""After the rules for names: a phrase is the weaker sign."""
