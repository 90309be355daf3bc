"""Two statements of one fact become one text: the newest value wins, nothing else is lost.

Sentence by sentence. A sentence of the old text goes if the new one says it again, says more, or
says otherwise; what took its place stands where it stood, so that an "it" that follows still means
the same thing. What is new follows the sentence that it followed in the new text. A sentence that
the new text says less fully stays as it is.

The text is the caller's: what nothing is said of is kept byte for byte, and where nothing of the
old text is left the result is the new one. Code, tables, lists and other layout are not composed,
because their lines are no sentences: rather two memories than one that is broken.

Whoever composes twice gets the same text: `compose(compose(a, b), b) == compose(a, b)`.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.merging import Different, Restated, Unsure, Verdict
from memory_mcp.domain.normalise import folded
from memory_mcp.ingestion.differences import LESS, compared_if_near
from memory_mcp.ingestion.sentences import as_written, unmarked
from memory_mcp.ingestion.wording import read

__all__ = ["compose"]

_ENDS: Final = tuple(".!?:;,\u2026。！？)\"'`")  # noqa: RUF001
_LAYOUT: Final = re.compile(
    r"```|~~~|^[ \t]+\S|^\s*(?:[-*+•>#|]+|\d+[.)])\s|\|.*\||\t", re.MULTILINE
)
"""Fences, indented lines, marks of a list or heading, rows of a table."""
_ENDED: Final = re.compile(r"[.!?…。！？][\"')\]}*_`»\u201d\u2019]*\s*")  # noqa: RUF001


class _Said(NamedTuple):
    """A sentence of the old text: how it is written, what stands before it, what takes its place.

    `place` is the number of a new sentence.
    """

    text: str
    gap: str
    place: int | None


def compose(old: str, new: str) -> str | None:
    """One text that says what both say; None if it cannot be told in one as it is written.

    That is so if one of them has a layout, or if both together are longer than a memory may be.
    """
    if folded(old) == folded(new) or _holds(old, new):
        return old
    if _holds(new, old):
        return new
    if _laid_out(old) or _laid_out(new):
        return None
    ours, theirs = as_written(new), as_written(old)
    if not ours or not theirs:
        return new if ours else old
    told = _told(ours, theirs, old)
    absorbed = {
        n
        for n, one in enumerate(ours)
        if any(said.place is None and _says_less(one, said.text) for said in told)
    }
    placed = {said.place for said in told}
    added = [n for n in range(len(ours)) if n not in placed and n not in absorbed]
    if all(said.place is not None for said in told) and not absorbed:
        return new
    repeated = len({folded(one) for one in ours}) < len(ours)
    text = None if repeated else _woven(told, ours, added, old, new)
    return text if text is not None and len(text) <= CONTENT_CHARS_MAX else None


def _holds(whole: str, part: str) -> bool:
    """Whether one text stands in the other as it is, line for line."""
    return bool(part.strip()) and f"\n{part.strip()}\n" in f"\n{whole.strip()}\n"


def _laid_out(text: str) -> bool:
    """Whether lines mean something: code, a table, a list, or lines that are no sentences."""
    if _LAYOUT.search(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and not all(_is_ended(line) for line in lines)


def _is_ended(line: str) -> bool:
    last = list(_ENDED.finditer(line))
    return bool(last) and last[-1].end() == len(line)


def _told(ours: Sequence[str], theirs: Sequence[str], old: str) -> list[_Said]:
    """The old sentences with what stands before each, and what takes their place."""
    again = {folded(one): n for n, one in enumerate(ours)}
    told: list[_Said] = []
    at = 0
    for other in theirs:
        start = old.index(other, at)
        place = again.get(folded(other))
        if place is None:
            place = _taken_by(ours, other)
        told.append(_Said(other, old[at:start], place))
        at = start + len(other)
    return told


def _woven(
    told: Sequence[_Said], ours: Sequence[str], added: Sequence[int], old: str, new: str
) -> str | None:
    """The old text with what took the place of its sentences, and with what is new."""
    lines = "\n" in old.strip() or "\n" in new.strip()
    gap = "\n" if lines else " "
    pieces: list[tuple[str, str, int | None]] = []
    """What stands before it, the sentence, and the number of the new one."""
    for said in told:
        if said.place is None:
            pieces.append((said.gap, said.text, None))
        elif folded(ours[said.place]) == folded(said.text):
            pieces.append((said.gap, said.text, said.place))
        elif said.place not in (place for _, _, place in pieces):
            pieces.append((said.gap, ours[said.place], said.place))
    for n in added:
        pieces.insert(_place(n, [place for _, _, place in pieces]), (gap, ours[n], n))
    whole = ""
    for at, (before, said, _) in enumerate(pieces):
        open_ended = not _is_ended(said) if lines else at + 1 < len(pieces)
        if open_ended and lines and said.endswith(_ENDS):
            return None
        ended = f"{said}." if open_ended and not said.endswith(_ENDS) else said
        whole += ((before or gap) if at else told[0].gap) + ended
    last = told[-1]
    whole += old[old.rindex(last.text) + len(last.text) :]
    if _laid_out(whole):  # a sentence that looks like an item where it stands now
        return None
    expected = [folded(said) for _, said, _ in pieces]
    return whole if [folded(one) for one in as_written(whole)] == expected else None


def _place(n: int, stands: Sequence[int | None]) -> int:
    """Behind the sentence that it followed, before the one that it preceded, or at the end."""
    before = [stands.index(m) for m in range(n) if m in stands]
    if before:
        return before[-1] + 1
    after = [at for at, one in enumerate(stands) if one is not None]
    return after[0] if after else len(stands)


def _taken_by(ours: Sequence[str], other: str) -> int | None:
    """Which of the new sentences takes the place of an old one."""
    for n, one in enumerate(ours):
        verdict = _compared(one, other)
        if not isinstance(verdict, Different | Unsure) and verdict != Restated(LESS):
            return n
    return None


def _says_less(one: str, other: str) -> bool:
    return _compared(one, other) == Restated(LESS)


def _compared(one: str, other: str) -> Verdict:
    return compared_if_near(read(unmarked(one)), read(unmarked(other)))
