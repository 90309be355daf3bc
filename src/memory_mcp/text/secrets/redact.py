"""Redact."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import Final

from memory_mcp.domain.merging import Secrets
from memory_mcp.domain.outcomes import Redaction
from memory_mcp.text.secrets.named import PHRASES, TELLING
from memory_mcp.text.secrets.rules import FORMS, Rule
from memory_mcp.text.secrets.values import in_tables

RULES: Final = (*FORMS, *TELLING, *PHRASES)
"""The closed table, in the order of precedence."""

_MARKER: Final = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
_PRIVATE: Final = re.compile(r"<(?P<close>/?)private(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_QUOTES: Final = "`'\""
_LINE_OPENS: Final = re.compile(r"(?:^|\n)[ \t>*-]{0,8}$")
_LINE_OPENS_CHARS: Final = 9
_BOTH_NAMED: Final = re.compile(r"\s{0,4}(?:and|or|und|oder|to|bis|\.{2,3}|\u2026)\s{0,4}")
"""Between two tags that are spoken of: `<private> and </private>`."""
_ROUNDS_MAX: Final = 4
"""A removal can lay bare what stood too close to its neighbour; in practice one is enough."""


@dataclass(frozen=True)
class Redacted:
    """A text without its secrets, and what was taken out of it, in order."""

    text: str
    redactions: tuple[Redaction, ...] = ()

    @property
    def nothing_left(self) -> bool:
        """Nothing is left but markers: there is no memory in it, and no use in storing it."""
        left, markers = _MARKER.subn("", self.text)
        return markers > 0 and not any(char.isalnum() for char in left)


@dataclass(frozen=True)
class _Found:
    """A stretch to remove, by the rule of that rank in the table."""

    start: int
    end: int
    rank: int
    rule: str


def redact(text: str) -> Redacted:
    """The text without its secrets. Hand in what `normalised` gave: nothing hides in it."""
    taken: list[_Found] = []
    for _ in range(_ROUNDS_MAX):
        found = list(_findings(_without(text, taken)))
        if not found:
            break
        taken = _united([*taken, *(_as_handed_in(stretch, taken) for stretch in found)])
    redactions = tuple(Redaction(stretch.rule, stretch.start) for stretch in taken)
    return Redacted(_without(text, taken), redactions)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled with the first text that may need it: a server's start waits for none of them.

    ASCII only, so that no letter of another alphabet counts as one of a hint in another case.
    """
    return re.compile(pattern, re.ASCII)


def _findings(text: str) -> Iterator[_Found]:
    """Every stretch that a rule knows, but for the markers of an earlier run."""
    markers = [match.span() for match in _MARKER.finditer(text)]
    for found in (*_private(text), *_by_rules(text), *_by_tables(text)):
        if not any(start <= found.start and found.end <= end for start, end in markers):
            yield found


def _by_rules(text: str) -> Iterator[_Found]:
    lowered = text.lower()
    for rank, rule in enumerate(RULES):
        if not any(hint in lowered for hint in rule.hints):
            continue
        done = 0
        for match in _compiled(rule.pattern).finditer(text):
            span = None if match.start() < done else rule.extent(match)
            if span is not None:
                done = span[1]
                yield _Found(*span, rank, _called(rule, match))


def _by_tables(text: str) -> Iterator[_Found]:
    for start, end, name in in_tables(text):
        yield _Found(start, end, len(RULES), name)


def _called(rule: Rule, match: re.Match[str]) -> str:
    """A rule that goes by names calls what it found a password, if the name says so."""
    return "password" if match.groupdict().get("password") is not None else rule.name


def _private(text: str) -> Iterator[_Found]:
    """What stands between the tags, with them, nested; and what a line opens, to the end."""
    opened: list[re.Match[str]] = []
    for tag in _PRIVATE.finditer(text):
        before, after = text[max(0, tag.start() - 1) : tag.start()], text[tag.end() : tag.end() + 1]
        if before and before == after and before in _QUOTES:
            continue
        if not tag["close"]:
            opened.append(tag)
        elif opened:
            opening = opened.pop()
            if not _BOTH_NAMED.fullmatch(text, opening.end(), tag.start()):
                yield _Found(opening.start(), tag.end(), -1, "private")
    for tag in opened:
        if _LINE_OPENS.search(text[max(0, tag.start() - _LINE_OPENS_CHARS) : tag.start()]):
            yield _Found(tag.start(), len(text), -1, "private")
            return


def _united(stretches: list[_Found]) -> list[_Found]:
    """Those that overlap become one, named by the earliest, then the widest, then the table."""
    united: list[_Found] = []
    for found in sorted(stretches, key=lambda one: (one.start, -one.end, one.rank)):
        if united and found.start < united[-1].end:
            united[-1] = replace(united[-1], end=max(found.end, united[-1].end))
        else:
            united.append(found)
    return united


def _without(text: str, taken: list[_Found]) -> str:
    parts: list[str] = []
    at = 0
    for stretch in taken:
        parts += text[at : stretch.start], f"[redacted:{stretch.rule}]"
        at = stretch.end
    return "".join([*parts, text[at:]])


def _as_handed_in(found: _Found, taken: list[_Found]) -> _Found:
    """A stretch of the text with markers as one of the text handed in; markers are not cut."""
    start, end = found.start, found.end
    longer = 0
    for stretch in taken:
        marker = stretch.start + longer
        longer += len(f"[redacted:{stretch.rule}]") - (stretch.end - stretch.start)
        after = stretch.end + longer
        if found.start >= after:
            start = found.start - longer
        elif found.start > marker:
            start = stretch.start
        if found.end >= after:
            end = found.end - longer
        elif found.end > marker:
            end = stretch.end
    return replace(found, start=start, end=end)


_DIGITS: Final = 16
"""Enough to tell the sessions of a project apart."""


@lru_cache(maxsize=1_000)
def session_name(given: str, secrets: Secrets) -> str:
    """The name, or a digest of one that looks like a secret: the same for the same name.

    It is a name only: nothing is lost by it, so that there is nothing to refuse either.
    """
    if secrets == "allow" or not redact(given).redactions:
        return given
    digits = sha256(given.encode(errors="replace")).hexdigest()[:_DIGITS]
    return f"session-{digits}"
