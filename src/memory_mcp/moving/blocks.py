"""Markdown in the pieces that each say something: paragraphs, list items with what hangs on them.

A fenced block of code belongs to what stands above it. Comments are for people and are left out;
what only looks like one (it is never closed, or stands in code) is text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

BARE: Final = "is a heading with nothing below it"

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?=\S)")
_FENCE: Final = re.compile(r"\s*(`{3,}+(?![^\n]*`)|~{3,})")
_OPENS: Final = re.compile(
    r"(?P<comment><!--)|^[ \t]*(?P<fence>`{3,}+(?![^\n]*`)|~{3,})|`+", re.MULTILINE
)
_SPAN_CHARS_MAX: Final = 2_000
"""How far the end of code within a sentence is looked for: a lone backtick is no code."""
_RULE: Final = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")


@dataclass(frozen=True)
class Block:
    """One piece: its text (of an item without the mark), the headings above it, its line.

    A heading is a piece of its own if there is nothing below it.
    """

    text: str
    path: tuple[str, ...]
    line: int
    form: Literal["item", "paragraph", "heading"]


@dataclass
class _Open:
    """A piece that is being read."""

    lines: list[str]
    line: int
    item: bool
    apart: bool = False
    """An empty line came: only what is set in, or code, still belongs to it."""


def blocks(text: str) -> Iterator[Block]:
    """The pieces of a text, in order."""
    path: list[tuple[int, str]] = []
    held: _Open | None = None
    bare = 0  # the line of the last heading, while nothing stands below it
    for number, line, fenced in _lines(_without_comments(text)):
        heading = None if fenced else _HEADING.match(line)
        if heading:
            yield from _closed(held, path)
            held = None
            level = len(heading.group(1))
            if bare and level <= path[-1][0]:
                yield _bare(path, bare)
            path = [*((above, name) for above, name in path if above < level)]
            path.append((level, heading.group(2)))
            bare = number
        elif not fenced and (not line.strip() or _RULE.match(line)):
            if held is not None:
                held.apart = True
        elif held is not None and (fenced or _goes_on(held, line)):
            held.lines += [*([""] if held.apart and not fenced else []), line]
            held.apart = False
        else:
            yield from _closed(held, path)
            bare = 0
            mark = None if fenced else _ITEM.match(line)
            held = _Open([line[mark.end() :] if mark else line], number, item=mark is not None)
    yield from _closed(held, path)
    if bare:
        yield _bare(path, bare)


def _bare(path: list[tuple[int, str]], line: int) -> Block:
    *above, (_, name) = path
    return Block(name, tuple(said for _, said in above), line, "heading")


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
        mark = _FENCE.match(line)
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
            yield number, line, True
        else:
            fence = mark.group(1) if mark else ""
            yield number, line, mark is not None


def _closed(held: _Open | None, path: list[tuple[int, str]]) -> Iterator[Block]:
    if held is not None and (said := _joined(held)):
        names = tuple(name for _, name in path)
        yield Block(said, names, held.line, "item" if held.item else "paragraph")


def _goes_on(held: _Open, line: str) -> bool:
    if line[0] in " \t" and held.item:
        return True
    return not held.apart and _ITEM.match(line) is None


def _joined(held: _Open) -> str:
    """The lines, those of a list within an item set in as far as they need be."""
    first, *rest = held.lines or [""]
    least = min((len(li) - len(li.lstrip()) for li in rest if li.strip()), default=0)
    return "\n".join([first, *(li[least:].rstrip() for li in rest)]).strip()
