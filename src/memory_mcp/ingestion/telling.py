"""Secrets that only a name beside them gives away: `password = …`, `--token …`, "my password is …".

The name says that a value follows; whether the value is a secret is judged in three steps. What
stands for a value (`<your-key>`, `${VAR}`, `os.environ[…]`, "required", "at least 12 characters")
is none. Behind a name that means a password anything else is; behind one that means a key or
token, what is long enough and no word, number or slug; behind a name that merely may (`key`,
`auth`), only what looks random. How much a value must show of itself depends on its place
(`secret_places`): plain words after a colon in prose are left alone, so a password that is a
dictionary word, without quotes, in a sentence, is missed.
"""
# ruff: noqa: E501 - a pattern is read as one line

import re
from typing import Final, Literal

from memory_mcp.ingestion.secret_names import KEY, MAYBE, NAME_HINTS, PASSWORD
from memory_mcp.ingestion.secret_patterns import later
from memory_mcp.ingestion.secret_places import (
    is_about,
    is_alone_below,
    is_call,
    is_no_password,
    is_setting,
    is_tight,
)  # fmt: skip
from memory_mcp.ingestion.secret_rules import Extent, Rule
from memory_mcp.ingestion.secret_values import (
    SLUG,
    STANDS_IN_ADDRESS,
    TEMPLATE,
    UUID_OR_HEX,
    ends_its_sentence,
    is_key,
    is_password,
    is_word_as_key,
    like_a_key,
    random_looking,
    stands_for_a_value,
    to_its_end,
    value_at,
)  # fmt: skip

__all__ = ["TELLING"]

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
_USER: Final = (
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
    _rule("secret", _USER, _optioned, "-u", "--user", source="curl(1), -u"),
    _rule(
        "secret", _SHORT, _optioned, " -p", " -a", "\t-p", "\t-a", source="sshpass(1), docker login"
    ),
    _rule("secret", _JOINED, _optioned, " -p", "\t-p", source="mysql(1), sshpass(1), 7z"),
    _rule("secret", rf"(?i:{_OPTION})", _optioned, source=_OURS),
    _rule("secret", rf"(?i:{_NAMED}){_SET}", _assigned, source=_OURS),
    _rule("secret", rf"(?i:{_NAMED}{_SAID})", _said, source=_OURS),
    _rule("secret", rf"(?i:{_NAMED}{_BESIDE})", _beside, source=_OURS),
)
