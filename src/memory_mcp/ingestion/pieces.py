"""A text that is too long for one memory, in pieces: cut where a reader would pause."""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["in_pieces", "numbered"]

_PAUSES: Final = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?\u2026])\s|(?<=[\u3002\uff01\uff1f])"),
    re.compile(r"\s"),
)
"""Between paragraphs, lines, sentences, words: the first of these that leaves enough before it."""

_FILLED_MIN: Final = 0.5
"""A piece is at least so full, so that a text of ten memories never becomes a hundred."""


def in_pieces(text: str, chars_max: int) -> list[str]:
    """The text in as few pieces as that takes; nothing is left out but the space between them."""
    return [piece for piece in _pieces(text.strip(), chars_max) if piece]


def numbered(title: str, number: int, of: int, chars_max: int) -> str:
    """The title of one of several pieces; a single one keeps its own."""
    if of == 1:
        return title
    which = f"({number}/{of})"
    return f"{title[: chars_max - len(which) - 1].rstrip()} {which}".strip()


def _pieces(text: str, chars_max: int) -> Iterator[str]:
    while len(text) > chars_max:
        end, begin = _cut(text, chars_max)
        yield text[:end].rstrip()
        text = text[begin:].lstrip()
    yield text


def _cut(text: str, chars_max: int) -> tuple[int, int]:
    """Where a piece ends, and where the next one begins."""
    least = int(chars_max * _FILLED_MIN)
    for pause in _PAUSES:
        ends = [m.span() for m in pause.finditer(text, least, chars_max + 1)]
        if ends and ends[-1][0] <= chars_max:
            return ends[-1]
    return chars_max, chars_max
