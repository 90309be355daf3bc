"""Cuts a text into sentences, and a long text into pieces that fit one memory.

A sentence ends at the end of a line, and at a sign that ends it, but not within an address, a
number or a name, nor behind an abbreviation or an ordinal ("Dr. No", "am 3. März"). Each sentence
is cut again into itself: texts that were composed rely on it.
"""

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.patterns import compile_later

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar", "february feb februar", "march mar märz", "april apr", "may mai",
            "june jun juni", "july jul juli", "august aug", "september sep sept",
            "october oct oktober okt", "november nov", "december dec dezember dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
"""The number of each month, by its names in English and German."""
_CLOSING: Final = "[\"')\\]}*_`»\u201d\u2019]"
_END: Final = compile_later(
    rf"(?<![.!?…])[.!?…]++{_CLOSING}*+\s+|[。！？]++[」』）\"')]*+\s*"  # noqa: RUF001
)
_LOWER: Final = "[a-zß-öø-ÿ]"
_MONTH: Final = rf"(?i:{'|'.join(MONTHS)})\b"
_NEXT: Final = (
    r"(?i:(?:I|my|we|our|you|it|this|that|the|he|she|they|ich|wir|es|sie|mein\w*)\b(?!\.))"
)
"""Words that begin a sentence, never behind an initial or ordinal: "I am 34. I live in Rome"."""
_GOES_ON: Final = compile_later(
    rf"""
    (?<![\w.])(?:
      (?:Dr|Mr|Mrs|Ms|Prof|St|vs|ca|approx|bzw|incl|inkl|[Ee]\.g|[Ii]\.e|[Zz]\.B|[Dd]\.h)\.\n
      | [A-Z]\.\n(?!{_NEXT})
      | (?:No|Nr|Abs|Fig|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|O[ck]t|Nov|De[cz])\.\n\d
      | (?:etc|usw|Co|Corp|Inc|Ltd|Jr|Sr|(?:\w\.)+\w)\.\n{_LOWER}
      | [zdu]\.\n[A-Za-z]\. | (?<=[zdu]\.\s)[Bha]\.\n
      | \d{{1,2}}\.\n(?:{_MONTH}|(?!{_NEXT}){_LOWER})
      | (?i:(?<!\bI\s)am|im|vom|zum|zur|beim|der|die|das|dem|den|des|jede[nrs]?)
        \s+\d{{1,2}}\.\n(?!{_NEXT})
    )
    | \A(?:[-*+•>#]{{1,3}}\s)?\d{{1,2}}\.\n
    | \s(?:\.{{3}}|…)\n | (?:\.\.|…|[.!?…]{_CLOSING}+)\n{_LOWER}
    """,
    re.VERBOSE,
)
"""Matches around a gap (here a line end) behind which the same sentence goes on."""
_AROUND_CHARS: Final = 24
"""No abbreviation and no month is longer."""
_MARK: Final = compile_later(rf"(?:(?:[-*+•>#]++|\d{{1,2}}[.)])\s++(?!{_MONTH}))+")
_WORD: Final = compile_later(r"\w+")
_CODE: Final = compile_later(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTES: Final = str.maketrans(
    dict(zip("\u2018\u2019\u02bc\u201c\u201d\u201e", "'''\"\"\"", strict=True))
)


def split_lines(text: str) -> list[str]:
    """The sentences of a text, list items with their marks."""
    return [
        said for line in text.splitlines() if line.strip() for said in _split_line(line.strip())
    ]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, without the marks of a list."""
    return [said for said in map(strip_mark, split_lines(text)) if said]


def strip_mark(sentence: str) -> str:
    """The sentence without the mark of a list; the day of a date is no mark."""
    mark = _MARK.match(sentence)
    return sentence[mark.end() :] if mark else sentence


def fold_words(sentence: str) -> str:
    """The words alone, case-folded, to compare sentences regardless of signs and case."""
    return " ".join(_WORD.findall(sentence.casefold()))


def drop_code(text: str) -> str:
    """The text without fenced code. A fence that is never closed holds all that follows."""
    return _CODE.sub("\n", text)


def straighten_quotes(text: str) -> str:
    """The text with straight quotes."""
    return text if text.isascii() else text.translate(_QUOTES)


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        if end.end() == len(line):
            break
        said = end.group().rstrip()
        before = line[max(start, end.start() - _AROUND_CHARS) : end.start()] + said
        if not _GOES_ON.search(f"{before}\n{line[end.end() : end.end() + _AROUND_CHARS]}"):
            yield line[start : end.start()] + said
            start = end.end()
    yield line[start:]


_SENTENCE_PAUSE: Final = compile_later(r"\n|(?<=[.!?\u2026])\s|(?<=[\u3002\uff01\uff1f])")
_WORD_PAUSE: Final = compile_later(r"\s")
_PAUSES: Final = (
    compile_later(r"\n\s*\n"),
    compile_later(r"\n"),
    _SENTENCE_PAUSE,
    _WORD_PAUSE,
)
"""Between paragraphs, lines, sentences, words; the first that leaves enough before it wins."""

_FILLED_MIN: Final = 0.5
"""A piece is at least so full, so that ten memories never become a hundred."""


def split_pieces(text: str, chars_max: int) -> list[str]:
    """The text in as few pieces as possible; only the space between them is left out."""
    return [piece for piece in _split_off_pieces(text.strip(), chars_max) if piece]


def shorten(text: str, chars_max: int) -> str:
    """The beginning of the text, at most so long: to the end of a sentence, else of a word.

    The end must leave half of the room filled; a word longer than that is cut.
    """
    if len(text) <= chars_max:
        return text
    chars_max = max(chars_max, 0)
    for pause in (_SENTENCE_PAUSE, _WORD_PAUSE):
        found = [m.start() for m in pause.finditer(text, chars_max // 2, chars_max + 1)]
        if ends := [end for end in found if end <= chars_max]:
            return text[: ends[-1]].rstrip()
    return text[:chars_max]


def number_title(title: str, number: int, of: int, chars_max: int) -> str:
    """The title of one of several pieces; a single piece keeps its title."""
    if of == 1:
        return title
    which = f"({number}/{of})"
    return f"{title[: chars_max - len(which) - 1].rstrip()} {which}".strip()


def _split_off_pieces(text: str, chars_max: int) -> Iterator[str]:
    while len(text) > chars_max:
        end, begin = _find_pause(text, chars_max)
        yield text[:end].rstrip()
        text = text[begin:].lstrip()
    yield text


def _find_pause(text: str, chars_max: int) -> tuple[int, int]:
    """Where a piece ends, and where the next one begins."""
    least = int(chars_max * _FILLED_MIN)
    for pause in _PAUSES:
        ends = [m.span() for m in pause.finditer(text, least, chars_max + 1)]
        if ends and ends[-1][0] <= chars_max:
            return ends[-1]
    return chars_max, chars_max
