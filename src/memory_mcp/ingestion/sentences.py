"""Text in sentences, as the rules of this room read them.

A sentence ends where a reader ends it: at the end of a line, and at a sign that ends it, but not
within an address, a number or a name, nor behind an abbreviation or an ordinal ("Dr. No", "am
3. März"). Each sentence is cut again into itself: texts that were composed rely on it.
"""

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.ingestion.vocabulary import MONTHS

__all__ = ["as_written", "plain_quotes", "sentences", "unmarked", "without_code", "words_alone"]

_CLOSING: Final = "[\"')\\]}*_`»\u201d\u2019]"
_END: Final = re.compile(
    rf"(?<![.!?…])[.!?…]++{_CLOSING}*+\s+|[。！？]++[」』）\"')]*+\s*"  # noqa: RUF001
)
_LOWER: Final = "[a-zß-öø-ÿ]"
_MONTH: Final = rf"(?i:{'|'.join(MONTHS)})\b"
_NEXT: Final = (
    r"(?i:(?:I|my|we|our|you|it|this|that|the|he|she|they|ich|wir|es|sie|mein\w*)\b(?!\.))"
)
"""What begins a sentence and stands behind no initial and no ordinal: "I am 34. I live in Rome"."""
_GOES_ON: Final = re.compile(
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
"""What stands around a gap (here the end of a line) behind which the same sentence goes on."""
_AROUND_CHARS: Final = 24
"""No abbreviation and no month is longer."""
_MARK: Final = re.compile(rf"(?:(?:[-*+•>#]++|\d{{1,2}}[.)])\s++(?!{_MONTH}))+")
_WORD: Final = re.compile(r"\w+")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTES: Final = str.maketrans(
    dict(zip("\u2018\u2019\u02bc\u201c\u201d\u201e", "'''\"\"\"", strict=True))
)


def as_written(text: str) -> list[str]:
    """The sentences and lines of a text, those of a list with their marks."""
    return [said for line in text.splitlines() if line.strip() for said in _cut(line.strip())]


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without the marks of a list."""
    return [said for said in map(unmarked, as_written(text)) if said]


def unmarked(sentence: str) -> str:
    """Without the mark of a list; a date that begins with its day has none."""
    mark = _MARK.match(sentence)
    return sentence[mark.end() :] if mark else sentence


def words_alone(sentence: str) -> str:
    """What two sentences have in common that say the same in the same words, signs aside."""
    return " ".join(_WORD.findall(sentence.casefold()))


def without_code(text: str) -> str:
    """Without what is fenced as code. A fence that is never closed holds all that follows."""
    return _CODE.sub("\n", text)


def plain_quotes(text: str) -> str:
    """With the quotes of a typewriter, as rules are written."""
    return text if text.isascii() else text.translate(_QUOTES)


def _cut(line: str) -> Iterator[str]:
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
