"""Takes secrets out of a text before the first byte of it is written or sent.

`redact` puts `[redacted:<rule>]` where a secret stood and leaves the rest as it was: of an
assignment only the value goes, of an address only the password. `<private>…</private>` goes whole,
nested, in any case. An opening tag that nothing closes counts where a line begins with it, and
takes the rest of the text. Within a sentence or quotes it only names the tag.

It takes linear time, a second run changes nothing, and a marker never matches a rule. A secret
without a form of its own and without a telling name beside it is not known.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import Final

from memory_mcp.domain.deduplication import SecretPolicy
from memory_mcp.domain.outcomes import Redaction
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.secret_values import EXTENTS, Extent, find_in_tables, name_hints
from memory_mcp.text.tables import fill, fill_parts, load_table

_MARKER: Final = compile_later(r"\[redacted:[a-z0-9-]{1,40}\]")
_PRIVATE: Final = compile_later(r"<(?P<close>/?)private(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_QUOTES: Final = "`'\""
_LINE_OPENS: Final = compile_later(r"(?:^|\n)[ \t>*-]{0,8}$")
_LINE_OPENS_CHARS: Final = 9
_BOTH_NAMED: Final = compile_later(r"\s{0,4}(?:and|or|und|oder|to|bis|\.{2,3}|\u2026)\s{0,4}")
"""Between two tags that are spoken of: `<private> and </private>`."""
_ROUNDS_MAX: Final = 4
"""A removal can lay bare what stood too close to its neighbour; in practice one is enough."""


@frozen
class RedactedText:
    """A text without its secrets, and what was removed, in order."""

    text: str
    redactions: tuple[Redaction, ...] = ()

    @property
    def holds_only_markers(self) -> bool:
        """Whether nothing is left but markers, so that there is nothing to store."""
        left, markers = _MARKER.subn("", self.text)
        return markers > 0 and not any(char.isalnum() for char in left)


@frozen
class _Span:
    """A span to remove, found by the rule of that rank in the table."""

    start: int
    end: int
    rank: int
    rule: str


def redact(text: str) -> RedactedText:
    """The text without its secrets; it must be normalised first, so that nothing hides in it."""
    removed: list[_Span] = []
    for _ in range(_ROUNDS_MAX):
        found = list(_find_all(_remove_spans(text, removed)))
        if not found:
            break
        removed = _merge_spans([*removed, *(_map_to_original(span, removed) for span in found)])
    redactions = tuple(Redaction(span.rule, span.start) for span in removed)
    return RedactedText(_remove_spans(text, removed), redactions)


@frozen
class SecretRule:
    """One kind of secret: the name in its marker, and how it is recognised."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    source: str
    extent: Extent


@cache
def load_rules() -> tuple[SecretRule, ...]:
    """The rules of `data/secrets.toml`, in the order of precedence."""
    table = load_table("secrets")
    parts = fill_parts(table["parts"])
    return tuple(_load_rule(row, parts) for row in table["rules"])


def _load_rule(row: Mapping[str, str], parts: Mapping[str, str]) -> SecretRule:
    if "prefixes" in row:
        prefixes = row["prefixes"].split()
        either = "|".join(map(re.escape, sorted(prefixes, key=len, reverse=True)))
        pattern = fill(f"{{start}}(?:{either}){row['body']}", parts)
        hints = tuple(dict.fromkeys(prefix.lower() for prefix in prefixes))
    else:
        pattern = fill(row["pattern"], parts)
        hints = _read_hints(row.get("hints"))
    form = compile_later(pattern, re.ASCII)  # no letter of another alphabet equals one of a hint
    return SecretRule(row["name"], hints, form, row["source"], EXTENTS[row.get("extent", "known")])


def _read_hints(hints: str | Sequence[str] | None) -> tuple[str, ...]:
    """The hints of a row: words in a text, or a list of those with spaces; else the names."""
    if hints is None:
        return name_hints()
    return tuple(hints.split() if isinstance(hints, str) else hints)


@cache
def _list_hints() -> frozenset[str]:
    """The hints of all rules; several rules share most of them."""
    return frozenset(hint for rule in load_rules() for hint in rule.hints)


def _find_all(text: str) -> Iterator[_Span]:
    """Every span that a rule finds, without the markers of an earlier run."""
    markers = [match.span() for match in _MARKER.finditer(text)]
    for found in (*_find_private(text), *_find_by_rules(text), *_find_by_tables(text)):
        if not any(start <= found.start and found.end <= end for start, end in markers):
            yield found


def _find_by_rules(text: str) -> Iterator[_Span]:
    lowered = text.lower()
    present = {hint for hint in _list_hints() if hint in lowered}
    for rank, rule in enumerate(load_rules() if present else ()):
        if present.isdisjoint(rule.hints):
            continue
        done = 0
        for match in rule.pattern.finditer(text):
            span = None if match.start() < done else rule.extent(match)
            if span is not None:
                done = span[1]
                yield _Span(*span, rank, _name_finding(rule, match))


def _find_by_tables(text: str) -> Iterator[_Span]:
    for start, end, name in find_in_tables(text):
        yield _Span(start, end, len(load_rules()), name)


def _name_finding(rule: SecretRule, match: re.Match[str]) -> str:
    """The name for the marker: a password, if the matched name says so."""
    return "password" if match.groupdict().get("password") is not None else rule.name


def _find_private(text: str) -> Iterator[_Span]:
    """Text between private tags, with the tags; and what a line opens, to the end."""
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
                yield _Span(opening.start(), tag.end(), -1, "private")
    for tag in opened:
        if _LINE_OPENS.search(text[max(0, tag.start() - _LINE_OPENS_CHARS) : tag.start()]):
            yield _Span(tag.start(), len(text), -1, "private")
            return


def _merge_spans(spans: list[_Span]) -> list[_Span]:
    """Overlapping spans become one, named by the earliest, then the widest, then the table."""
    united: list[_Span] = []
    for found in sorted(spans, key=lambda one: (one.start, -one.end, one.rank)):
        if united and found.start < united[-1].end:
            united[-1] = replace(united[-1], end=max(found.end, united[-1].end))
        else:
            united.append(found)
    return united


def _remove_spans(text: str, removed: list[_Span]) -> str:
    parts: list[str] = []
    at = 0
    for span in removed:
        parts += text[at : span.start], f"[redacted:{span.rule}]"
        at = span.end
    return "".join([*parts, text[at:]])


def _map_to_original(found: _Span, removed: list[_Span]) -> _Span:
    """A span of the text with markers as one of the original text; markers are not cut."""
    start, end = found.start, found.end
    longer = 0
    for span in removed:
        marker = span.start + longer
        longer += len(f"[redacted:{span.rule}]") - (span.end - span.start)
        after = span.end + longer
        if found.start >= after:
            start = found.start - longer
        elif found.start > marker:
            start = span.start
        if found.end >= after:
            end = found.end - longer
        elif found.end > marker:
            end = span.end
    return replace(found, start=start, end=end)


_DIGITS: Final = 16
"""Enough to distinguish the sessions of a project."""


@lru_cache(maxsize=1_000)
def hide_secret_name(name: str, secrets: SecretPolicy) -> str:
    """The name, or a digest of a name that looks like a secret: the same for the same name."""
    if secrets == "allow" or not redact(name).redactions:
        return name
    digits = sha256(name.encode(errors="replace")).hexdigest()[:_DIGITS]
    return f"session-{digits}"
