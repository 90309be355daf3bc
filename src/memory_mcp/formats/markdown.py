"""Parse Markdown notes: front matter, then blocks (paragraphs, and list items with what is nested).

Fenced code belongs to the block above it. Comments are left out; one that is never closed, or that
stands in code, is text.

Front matter is read without a YAML library, in the few forms that notes of programs use. Any other
value is a text. JSON is YAML as well, so both read what we write.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from memory_mcp.frozen import frozen, mutable
from memory_mcp.patterns import compile_later

BARE: Final = "is a heading with nothing below it"

_HEADING: Final = compile_later(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM: Final = compile_later(r"(?:[-*+]|\d{1,9}[.)])\s+(?=\S)")
_CODE_FENCE: Final = compile_later(r"\s*(`{3,}+(?![^\n]*`)|~{3,})")
_OPENS: Final = compile_later(
    r"(?P<comment><!--)|^[ \t]*(?P<fence>`{3,}+(?![^\n]*`)|~{3,})|`+", re.MULTILINE
)
_SPAN_CHARS_MAX: Final = 2_000
"""The longest code within a sentence: a lone backtick is no code."""
_RULE: Final = compile_later(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")


@frozen
class MarkdownBlock:
    """A text (of an item without the mark), the headings above it, its line.

    A heading is a block of its own if there is nothing below it.
    """

    text: str
    path: tuple[str, ...]
    line: int
    form: Literal["item", "paragraph", "heading"]


@mutable
class _OpenBlock:
    """A block that is being read.

    `apart`: an empty line came, so that only text that is set in, or code, still belongs to it.
    """

    lines: list[str]
    line: int
    item: bool
    apart: bool = False


def parse_blocks(text: str) -> Iterator[MarkdownBlock]:
    """The blocks of a text, in order."""
    path: list[tuple[int, str]] = []
    block: _OpenBlock | None = None
    bare = 0  # the line of the last heading, while nothing stands below it
    for number, line, fenced in _number_lines(_strip_comments(text)):
        heading = None if fenced else _HEADING.match(line)
        if heading:
            yield from _close(block, path)
            block = None
            level = len(heading.group(1))
            if bare and level <= path[-1][0]:
                yield _bare_heading(path, bare)
            path = [*((above, name) for above, name in path if above < level)]
            path.append((level, heading.group(2)))
            bare = number
        elif not fenced and (not line.strip() or _RULE.match(line)):
            if block is not None:
                block.apart = True
        elif block is not None and (fenced or _continues(block, line)):
            block.lines += [*([""] if block.apart and not fenced else []), line]
            block.apart = False
        else:
            yield from _close(block, path)
            bare = 0
            mark = None if fenced else _ITEM.match(line)
            block = _OpenBlock(
                [line[mark.end() :] if mark else line], number, item=mark is not None
            )
    yield from _close(block, path)
    if bare:
        yield _bare_heading(path, bare)


def _bare_heading(path: list[tuple[int, str]], line: int) -> MarkdownBlock:
    *above, (_, heading) = path
    return MarkdownBlock(heading, tuple(name for _, name in above), line, "heading")


def _strip_comments(text: str) -> str:
    """The text with as many lines, without comments that are closed and stand outside of code."""
    parts: list[str] = []
    at = 0
    while found := _OPENS.search(text, at):
        if found["comment"]:
            end = text.find("-->", found.start() + 2)
            if end < 0:
                break
            end += len("-->")
            parts += (text[at : found.start()], "\n" * text.count("\n", found.start(), end))
        else:
            end = _find_code_end(text, found)
            parts.append(text[at:end])
        at = end
    return "".join([*parts, text[at:]])


def _find_code_end(text: str, found: re.Match[str]) -> int:
    if fence := found["fence"]:
        closing = re.compile(rf"^[ \t]*{fence}", re.MULTILINE).search(text, found.end())
        return closing.end() if closing else len(text)
    ticks, end = found.group().strip(), found.end()
    paragraph = text.find("\n\n", end, end + _SPAN_CHARS_MAX)
    until = paragraph if paragraph >= 0 else min(end + _SPAN_CHARS_MAX, len(text))
    closing = re.compile(rf"(?<!`){ticks}(?!`)").search(text, end, until)
    return closing.end() if closing else end


def _number_lines(text: str) -> Iterator[tuple[int, str, bool]]:
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


def _close(block: _OpenBlock | None, path: list[tuple[int, str]]) -> Iterator[MarkdownBlock]:
    if block is not None and (text := _join(block)):
        names = tuple(name for _, name in path)
        yield MarkdownBlock(text, names, block.line, "item" if block.item else "paragraph")


def _continues(block: _OpenBlock, line: str) -> bool:
    if line[0] in " \t" and block.item:
        return True
    return not block.apart and _ITEM.match(line) is None


def _join(block: _OpenBlock) -> str:
    """The lines; those below the first keep only their relative indentation."""
    first, *rest = block.lines or [""]
    least = min((len(li) - len(li.lstrip()) for li in rest if li.strip()), default=0)
    return "\n".join([first, *(li[least:].rstrip() for li in rest)]).strip()


_FENCE: Final = "---"
_FIELD: Final = compile_later(r"(?P<name>[^\s:#][^:]*):(?:\s+(?P<value>.*))?$")
_BLOCK: Final = compile_later(r"[|>][+-]?\d?$")
_COMMENT: Final = compile_later(r"\s#.*$")


def split_front_matter(text: str) -> tuple[str | None, str]:
    """The front matter of a file, if there is any, and the text below it, each as it was."""
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
    """The fields of a note and the text below them.

    Without a field there is no front matter: two rules may stand around a part of the text.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body = split_front_matter(text)
    fields = _parse_fields(head.split("\n"), 0) if head else {}
    return (fields, body) if fields or not head else ({}, text)


def _parse_fields(lines: Sequence[str], indent: int) -> dict[str, Any]:
    """Texts, lists of texts, and fields within a field."""
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
        found[field["name"].strip().strip("\"'")] = _parse_value(
            (field["value"] or "").strip(), below
        )
    return found


def _is_below(line: str, indent: int) -> bool:
    """Whether a line goes on with the field above it."""
    return not line.strip() or _indent(line) > indent or line[indent:].startswith("- ")


def _parse_value(value: str, below: Sequence[str]) -> Any:
    there = [line for line in below if line.strip()]
    if _BLOCK.match(value):
        least = min((_indent(line) for line in there), default=0)
        cut = [line[least:] for line in below]
        return ("\n" if value[0] == "|" else " ").join(cut).strip()
    if value:
        return _parse_scalar(" ".join([value, *(line.strip() for line in there)]))
    if not there:
        return ""
    if there[0].strip().startswith("- "):
        return [_parse_scalar(line.strip()[2:]) for line in there if line.strip().startswith("- ")]
    return _parse_fields(there, _indent(there[0]))


def _parse_scalar(text: str) -> Any:
    text = text.strip()
    if text[:1] in ("[", "{", '"'):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    if text.startswith("[") and text.endswith("]"):
        return [_unquote(part) for part in text[1:-1].split(",") if part.strip()]
    return _unquote(text)


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
    return _COMMENT.sub("", text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
