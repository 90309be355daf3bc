"""Parse Markdown notes: front matter, then blocks (paragraphs, and list items with what is nested).

A fenced block of code belongs to the block above it. Comments are left out; what only looks like
one (it is never closed, or stands in code) is text.

Front matter is read without a YAML library, in the few forms that notes of programs use. Any other
value is a text. A value in JSON is YAML as well, so what we write is read by both.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

BARE: Final = "is a heading with nothing below it"

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?=\S)")
_CODE_FENCE: Final = re.compile(r"\s*(`{3,}+(?![^\n]*`)|~{3,})")
_OPENS: Final = re.compile(
    r"(?P<comment><!--)|^[ \t]*(?P<fence>`{3,}+(?![^\n]*`)|~{3,})|`+", re.MULTILINE
)
_SPAN_CHARS_MAX: Final = 2_000
"""How far the end of code within a sentence is looked for: a lone backtick is no code."""
_RULE: Final = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")


@dataclass(frozen=True)
class MarkdownBlock:
    """One piece: its text (of an item without the mark), the headings above it, its line.

    A heading is a piece of its own if there is nothing below it.
    """

    text: str
    path: tuple[str, ...]
    line: int
    form: Literal["item", "paragraph", "heading"]


@dataclass
class _OpenBlock:
    """A piece that is being read."""

    lines: list[str]
    line: int
    item: bool
    apart: bool = False
    """An empty line came: only what is set in, or code, still belongs to it."""


def parse_blocks(text: str) -> Iterator[MarkdownBlock]:
    """The pieces of a text, in order."""
    path: list[tuple[int, str]] = []
    held: _OpenBlock | None = None
    bare = 0  # the line of the last heading, while nothing stands below it
    for number, line, fenced in _lines(_without_comments(text)):
        heading = None if fenced else _HEADING.match(line)
        if heading:
            yield from _close(held, path)
            held = None
            level = len(heading.group(1))
            if bare and level <= path[-1][0]:
                yield _bare_heading(path, bare)
            path = [*((above, name) for above, name in path if above < level)]
            path.append((level, heading.group(2)))
            bare = number
        elif not fenced and (not line.strip() or _RULE.match(line)):
            if held is not None:
                held.apart = True
        elif held is not None and (fenced or _continues(held, line)):
            held.lines += [*([""] if held.apart and not fenced else []), line]
            held.apart = False
        else:
            yield from _close(held, path)
            bare = 0
            mark = None if fenced else _ITEM.match(line)
            held = _OpenBlock([line[mark.end() :] if mark else line], number, item=mark is not None)
    yield from _close(held, path)
    if bare:
        yield _bare_heading(path, bare)


def _bare_heading(path: list[tuple[int, str]], line: int) -> MarkdownBlock:
    *above, (_, name) = path
    return MarkdownBlock(name, tuple(said for _, said in above), line, "heading")


def _without_comments(text: str) -> str:
    """The text with as many lines, but no comments that are closed and stand outside of code."""
    kept: list[str] = []
    at = 0
    while found := _OPENS.search(text, at):
        if found["comment"]:
            end = text.find("-->", found.start() + 2)
            if end < 0:
                break
            end += len("-->")
            kept += (text[at : found.start()], "\n" * text.count("\n", found.start(), end))
        else:
            end = _code_end(text, found)
            kept.append(text[at:end])
        at = end
    return "".join([*kept, text[at:]])


def _code_end(text: str, found: re.Match[str]) -> int:
    if fence := found["fence"]:
        closing = re.compile(rf"^[ \t]*{fence}", re.MULTILINE).search(text, found.end())
        return closing.end() if closing else len(text)
    ticks, end = found.group().strip(), found.end()
    paragraph = text.find("\n\n", end, end + _SPAN_CHARS_MAX)
    until = paragraph if paragraph >= 0 else min(end + _SPAN_CHARS_MAX, len(text))
    closing = re.compile(rf"(?<!`){ticks}(?!`)").search(text, end, until)
    return closing.end() if closing else end


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines with their numbers, and whether each is within a fence of code, or one."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _CODE_FENCE.match(line)
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
            yield number, line, True
        else:
            fence = mark.group(1) if mark else ""
            yield number, line, mark is not None


def _close(held: _OpenBlock | None, path: list[tuple[int, str]]) -> Iterator[MarkdownBlock]:
    if held is not None and (said := _join(held)):
        names = tuple(name for _, name in path)
        yield MarkdownBlock(said, names, held.line, "item" if held.item else "paragraph")


def _continues(held: _OpenBlock, line: str) -> bool:
    if line[0] in " \t" and held.item:
        return True
    return not held.apart and _ITEM.match(line) is None


def _join(held: _OpenBlock) -> str:
    """The lines, those of a list within an item set in as far as they need be."""
    first, *rest = held.lines or [""]
    least = min((len(li) - len(li.lstrip()) for li in rest if li.strip()), default=0)
    return "\n".join([first, *(li[least:].rstrip() for li in rest)]).strip()


_FENCE: Final = "---"
_FIELD: Final = re.compile(r"(?P<name>[^\s:#][^:]*):(?:\s+(?P<value>.*))?$")
_BLOCK: Final = re.compile(r"[|>][+-]?\d?$")
_COMMENT: Final = re.compile(r"\s#.*$")


def split_front_matter(text: str) -> tuple[str | None, str]:
    """The front matter of a file, if there is any, and what stands below it, each as it was."""
    if not text.startswith(f"{_FENCE}\n"):
        return None, text
    start = len(_FENCE) + 1
    if text.startswith(f"{_FENCE}\n", start):
        return "", text[start + len(_FENCE) + 1 :]
    end = text.find(f"\n{_FENCE}\n", start)
    if end >= 0:
        return text[start:end], text[end + len(_FENCE) + 2 :]
    if text.endswith(f"\n{_FENCE}"):
        return text[start : -len(_FENCE) - 1], ""
    return None, text


def parse_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a note and what stands below them; without front matter there are none.

    What holds no field is none: two rules may stand about a part of the text.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body = split_front_matter(text)
    fields = parse_fields(head) if head else {}
    return (fields, body) if fields or not head else ({}, text)


def parse_fields(head: str) -> dict[str, Any]:
    """The fields of a front matter: texts, lists of texts, and fields within a field."""
    return _fields(head.split("\n"), 0)


def _fields(lines: Sequence[str], indent: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        field = _FIELD.match(line[indent:]) if _indent(line) == indent else None
        if field is None:
            continue
        below: list[str] = []
        while place < len(lines) and _is_below(lines[place], indent):
            below.append(lines[place])
            place += 1
        found[field["name"].strip().strip("\"'")] = _value((field["value"] or "").strip(), below)
    return found


def _is_below(line: str, indent: int) -> bool:
    """Whether a line goes on with the field above it."""
    return not line.strip() or _indent(line) > indent or line[indent:].startswith("- ")


def _value(given: str, below: Sequence[str]) -> Any:
    there = [line for line in below if line.strip()]
    if _BLOCK.match(given):
        least = min((_indent(line) for line in there), default=0)
        cut = [line[least:] for line in below]
        return ("\n" if given[0] == "|" else " ").join(cut).strip()
    if given:
        return _scalar(" ".join([given, *(line.strip() for line in there)]))
    if not there:
        return ""
    if there[0].strip().startswith("- "):
        return [_scalar(line.strip()[2:]) for line in there if line.strip().startswith("- ")]
    return _fields(there, _indent(there[0]))


def _scalar(given: str) -> Any:
    given = given.strip()
    if given[:1] in ("[", "{", '"'):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            pass
    if given.startswith("[") and given.endswith("]"):
        return [_plain(part) for part in given[1:-1].split(",") if part.strip()]
    return _plain(given)


def _plain(given: str) -> str:
    given = given.strip()
    if len(given) > 1 and given[0] == given[-1] and given[0] in "\"'":
        return given[1:-1].replace("''", "'") if given[0] == "'" else given[1:-1]
    return _COMMENT.sub("", given)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
