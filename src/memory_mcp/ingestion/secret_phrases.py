r"""What gives a secret away without a name before it: the order of the words, or a key's other half.

"Use 'x' as the API key", "login: admin / x", a token as the user of an address, the secret beside
an AWS id, a PIN. Each asks more of the value than a name before it would.
"""
# ruff: noqa: E501 - a pattern is read as one line

import re
from typing import Final

from memory_mcp.ingestion.secret_names import KEY, NAME_HINTS, PASSWORD
from memory_mcp.ingestion.secret_patterns import later
from memory_mcp.ingestion.secret_rules import Extent, Rule
from memory_mcp.ingestion.secret_values import (
    SLUG,
    UUID_OR_HEX,
    Value,
    ends_its_sentence,
    is_password,
    like_a_key,
    random_looking,
    stands_for_a_value,
    to_its_end,
    value_at,
)  # fmt: skip

__all__ = ["PHRASES"]

_USER: Final = (
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


def _of_an_account(match: re.Match[str]) -> tuple[int, int] | None:
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


_OURS: Final = "our own: tests/secret_samples.py"

PHRASES: Final[tuple[Rule, ...]] = (
    _phrase("url-token", _USER, _as_user, "://", source="docs.github.com: cloning with a token"),
    _phrase("aws-secret-key", _AWS, _beside_an_id, "akia", "asia", source="docs.aws.amazon.com/IAM: access keys"),
    _phrase("aws-secret-key", _AWS_BEFORE, _beside_an_id, "akia", "asia", source="docs.aws.amazon.com/IAM: access keys"),
    _phrase("secret", _AS, _named_after, *NAME_HINTS, source=_OURS),
    _phrase("password", _LOGIN, _of_an_account, "log", "sign", "cred", "zugang", "anmeldung", "basic", "account", "user", source=_OURS),
    _phrase("pin", _COMBINATION, _pin, "comb", source=_OURS),
    _phrase("recovery-code", _RECOVERY, _recovery, "code", source=_OURS),
    _phrase("pin", _PIN, _pin, "pin", "puk", source=_OURS),
)  # fmt: skip
"""After the rules for names: a phrase is the weaker sign."""
