"""Separates what came out of our own recall from the rest of a text.

Recalled text is fenced, or a memory's id stands with it: at the end of its line, on the line below
(as the command line shows it), or beside it in JSON. Storing it again would let the memory feed on
itself.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.text.sentences import fold_words, split_sentences, strip_mark

_FENCE: Final = compile_later(r"(?:<|&lt;)\s*(/?)\s*memory\b[^<>]{0,200}?(?:>|&gt;)", re.IGNORECASE)
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_QUOTED: Final = r"[>|\s]*"
_ID: Final = compile_later(rf"\s*\[{_UUID}\]\W*$", re.IGNORECASE)
"""Ends a line of a context; the line may be broken."""
_ITEM_START: Final = compile_later(rf"{_QUOTED}[-*•]\s")
_RESULT_END: Final = compile_later(rf"{_QUOTED}(?:\[[^\[\]]*\]\s*)?{_UUID}\W*$", re.IGNORECASE)
"""Stands below a search result of the command line: its kind and id."""
_SCORED: Final = compile_later(rf"{_QUOTED}[01]\.\d\d\s+(?=\S)")
_INDENTED: Final = compile_later(rf"{_QUOTED}\s")
_SENTENCE_END: Final = compile_later(r"(?:[.!?:…]\W*|^\s*)$")
_EXPLAINS: Final = compile_later(rf"{_QUOTED}(?:why: |characters [\d,]+ to )")
"""Stands below that: why it was found, or which passage of it is shown."""
_SCORE_PARTS: Final = compile_later(rf"{_QUOTED}(?:score  .*  memory|[01]\.\d\d  .*{_UUID})\W*$")
"""A row of the table below the results, which says what each score is made of."""
_JSON_ID: Final = compile_later(rf"\\?\"memoryId\\?\"\s*:\s*\\?\"{_UUID}", re.IGNORECASE)
_JSON_LINE: Final = compile_later(rf"{_QUOTED}(?:[\[\]{{}},\s]+|\"\w+\"\s*:.*|\"[^\"]*\",?)\s*$")
_JSON_TEXT: Final = compile_later(
    r'"(?:content|title|summary|lesson|context)"\s*:\s*("(?:[^"\\]|\\.)*+")', re.DOTALL
)

_BROKEN_LINES_MAX: Final = 8
"""A line of a context has 300 characters at most."""
_FOUND_LINES_MAX: Final = 1_000
"""A memory has 8,000 characters at most, and hardly so many lines."""

_IDS: Final = compile_later(_UUID)
_HEADING: Final = compile_later(
    r"\s*(?:## |Head: branch |Now: |User: |[{}\[\],]*\s*$|\"(?:results|mode|success|message)\")"
)

_ECHO_WORDS_MIN: Final = 5
"""Fewer words in a row may be anybody's."""
_ECHO_SHARE: Final = 0.6
"""The share of a sentence that must be recalled text for the sentence to be a repetition."""
_ECHO_LINES_MAX: Final = 4
"""Lines over which a repeated sentence may be broken."""


@frozen
class SeparatedText:
    """A text without recalled passages (`own`), and the sentences of those passages."""

    own: str
    recalled: frozenset[str]


def separate_recalled(text: str) -> SeparatedText:
    """Separate recalled passages; a fence that is never closed holds all that follows."""
    own: list[str] = []
    recalled_lines: list[str] = []
    for part, fenced in _split_fences(text):
        if fenced:  # as the value of a string it has no ends of lines but their signs
            recalled_lines += part.replace("\\n", "\n").splitlines()
            continue
        lines = part.splitlines(keepends=True)
        start = 0
        for begin, end in _find_entries(lines, in_json=_JSON_ID.search(part) is not None):
            own += lines[start:begin]
            recalled_lines.append(" ".join(line.strip("> \t\r\n|") for line in lines[begin:end]))
            start = end
        own += lines[start:]
    said = (fold_words(said) for entry in recalled_lines for said in _read_texts(entry))
    return SeparatedText("".join(own), frozenset(words for words in said if words))


def find_recalled_ids(text: str) -> list[str]:
    """The ids where recall puts them: at the end of a line, alone, or as memoryId."""
    return [
        found
        for line in text.splitlines()
        if _ID.search(line) or _RESULT_END.match(line) or _JSON_ID.search(line)
        for found in _IDS.findall(line)
    ]


def drop_headings(text: str) -> str:
    """The text without the headings that recall puts around memories."""
    return "".join(line for line in text.splitlines(keepends=True) if not _HEADING.match(line))


def repeats_recalled(sentence: str, recalled: frozenset[str]) -> bool:
    """Whether a sentence repeats recalled text, with hardly more around it."""
    return bool(recalled) and _find_repeated(fold_words(sentence), recalled) is not None


def drop_repeated(said: Sequence[str], recalled: frozenset[str]) -> list[str]:
    """The sentences that repeat nothing recalled; a repeated one may be broken over lines."""
    if not recalled:
        return list(said)
    words = [fold_words(each) for each in said]
    kept: list[str] = []
    place = 0
    while place < len(said):
        if broken := _count_repeated_lines(words[place : place + _ECHO_LINES_MAX], recalled):
            place += broken
        else:
            kept.append(said[place])
            place += 1
    return kept


def _count_repeated_lines(words: Sequence[str], recalled: frozenset[str]) -> int:
    """How many of these lines, from the first, repeat one recalled sentence."""
    for lines in range(1, len(words) + 1):
        repeated = _find_repeated(" ".join(words[:lines]), recalled)
        # it must need the first and the last of them, or a line of its own would go along
        if repeated and (lines == 1 or repeated not in " ".join(words[1:lines])):
            return lines
    return 0


def _find_repeated(words: str, recalled: frozenset[str]) -> str | None:
    if words in recalled:
        return words or None
    found = (
        repeated
        for repeated in recalled
        if repeated in words
        and len(repeated) >= _ECHO_SHARE * len(words)
        and repeated.count(" ") >= _ECHO_WORDS_MIN - 1
    )
    return next(found, None)


def _split_fences(text: str) -> Iterator[tuple[str, bool]]:
    """The stretches of a text, and whether each lies within a fence."""
    depth = start = 0
    for mark in _FENCE.finditer(text):
        yield text[start : mark.start()], depth > 0
        depth = max(0, depth - 1) if mark[1] else depth + 1
        start = mark.end()
    yield text[start:], depth > 0


def _find_entries(lines: Sequence[str], *, in_json: bool) -> Iterator[tuple[int, int]]:
    """The first line and the end of each returned memory."""
    free = 0  # the first line that belongs to none so far
    explained = -1  # the line that may say why the one above was found
    for place, line in enumerate(lines):
        if _ID.search(line):
            begin = _find_line_start(lines, place, max(free, place - _BROKEN_LINES_MAX))
        elif _SCORE_PARTS.match(line):
            begin = place
        elif _RESULT_END.match(line):
            begin = _find_result_start(lines, place, max(free, place - _FOUND_LINES_MAX))
            explained = place + 1
        elif place == explained and _EXPLAINS.match(line):
            begin, explained = place, place + 1
        elif (in_json and _JSON_LINE.match(line)) or _JSON_ID.search(line):
            begin = place
        else:
            continue
        yield begin, place + 1
        free = place + 1


def _find_line_start(lines: Sequence[str], last: int, first: int) -> int:
    """Where a broken line of a context begins that ends at `last`."""
    for place in range(last, first - 1, -1):
        if place < last and _SENTENCE_END.search(lines[place]):
            break
        if _ITEM_START.match(lines[place]):
            return place
    return last


def _find_result_start(lines: Sequence[str], last: int, first: int) -> int:
    """Where a search result of the command line begins: at its score; the rest is indented."""
    for place in range(last - 1, first - 1, -1):
        if _SCORED.match(lines[place]):
            return place
        if not _INDENTED.match(lines[place]):
            break
    return last


def _read_texts(entry: str) -> Iterator[str]:
    """A recalled line as a whole and sentence by sentence, with and without its title."""
    for text in _JSON_TEXT.findall(entry):
        try:
            yield from _read_texts(json.loads(text, strict=False))
        except ValueError:  # half of it
            continue
    said = _SCORED.sub("", _ID.sub("", entry.strip().rstrip("\u2026")), count=1)
    said = re.sub(rf"\s*\[[^\[\]]*\] {_UUID}\W*$", "", said)
    for text in (said, said.partition(": ")[2]):
        for line in (text, *text.splitlines()):
            yield strip_mark(line)
            yield from split_sentences(line)
