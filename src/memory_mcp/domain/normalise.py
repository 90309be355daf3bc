"""Normalises a text to one spelling, and compares texts regardless of spelling.

`normalise` unifies the form of accents (NFC), quotes, dashes, line ends and unusual spaces. It
removes what a reader cannot see but a model reads: control characters, terminal colours, marks
that turn the direction of the text, zero-width characters, Unicode tags. A secret or an instruction
cannot hide behind them.

What stays, and why:

- An address (`https://…`) stays as it is, alone or within a sentence: another form of an accent or
  another dash leads elsewhere. Only what is never part of an address ends it or is taken out.
- Joiners stay where they spell a word (Persian, the scripts of India) or build an emoji.
- The ellipsis, guillemets, primes and the wide space of Chinese and Japanese are neither curly
  quotes nor dashes, but what the language writes. Tabs and runs of spaces may be code.
- Half a surrogate pair passes through: `check_text` refuses it with its position.

`fold` gives what all spellings of a statement have in common; it is not for reading.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

DIGEST_DIGITS: Final = 16
"""64 bits: a collision among a million statements in one of thirty million stores."""

_LINE_END: Final = r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]"
"""Vertical tabs and form feeds end a line too: without them two words would become one."""
_TERMINAL: Final = r"\x1b\[[0-?]*[ -/]*[@-~]"
"""A terminal's colour or cursor move: removing the escape alone would leave `[31m`."""
_FLAG: Final = r"(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f)"
"""The flags of England, Scotland, Wales, Texas …: the one use of Unicode tags."""
_UNSEEN: Final = (
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    r"\u00ad\u034f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_NEVER_STORED: Final = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e001f]"
)
"""What `normalise` never leaves in a text, wherever it is cut afterwards."""
_STRAY: Final = r"[\u180e\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
_HIDING_BYTES: Final = (b"\xcd\x8f", b"\xef\xb8", b"\xf3\xa0")
"""How those begin in UTF-8 that Python calls printable: twenty times faster than a pattern."""
_STRAY_MAX: Final = 16
"""A text that is cut or put together may part a joiner from its letter; a message is longer."""
_JOINERS: Final = frozenset("\u180e\u200c\u200d")
_VARIANTS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""They choose the shape of the character before; a row of them hides a message."""
_KEYCAPS: Final = frozenset("0123456789#*\u00a9\u00ae")

_CURSIVE: Final = (
    r"[\u0600-\u10ff\u1780-\u18af\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00011fff]"
)
"""Arabic and its neighbours, India, Tibet, Burma, Khmer, Mongolian: written with joiners."""
_PICTURES: Final = r"[\u2190-\u2bff\U0001f000-\U0001faff]"

_ODD_SPACE: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3164\uffa0"
_BLANKS: Final[dict[int, str]] = dict.fromkeys((0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0), " ")
"""Fillers of Hangul and the empty pattern of Braille."""
_QUOTES: Final = {"'": "\u2018\u2019\u201a\u201b", '"': "\u201c\u201d\u201e\u201f"}
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"

_ENDS_ADDRESS: Final = r"\s<>\"\u201c-\u201f\u00ab\u00bb"
_CODE: Final = (
    r"`[^`]+`|(?<![\w-])--?[A-Za-z][\w-]*|\b(?:[^\W_]\w*_\w*|_\w*[^\W_])"
    r"|\b[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*\b"
    r"|\d\s*(?:[kKMGTP]i?[bB](?:it)?(?:/s|ps)?|[mM](?:[gmslWVA]|Hz))\b"
)
"""Text in backticks, options, words with an underscore or a capital inside, units."""
_UNSEEN_SHARE_MAX: Final = 20
"""So many times its limit of a text is normalised before it is cut."""

_FOLDED_KEPT: Final = 64
"""A new memory is compared with several, and its digest is asked for by everyone who stores it."""

_FULL_STOPS: Final = (".", "!", "\uff01", "\u3002", "\u06d4", "\u0964")


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """A pattern, compiled when first needed: plain ASCII needs few."""
    return re.compile(source)


def normalise(text: str) -> str:
    """The text in one spelling; normalising twice changes nothing.

    Each round but the last removes at least one unseen character, so it ends; nearly always after
    the second.
    """
    while True:
        clean = _normalise_once(text)
        if clean == text:
            return text
        text = clean


def find_hidden_character(text: str) -> tuple[int, str] | None:
    """The first character that no reader sees, and where it stands: `normalise` takes it out.

    A few joiners that join nothing are let pass: a text may have been cut between two letters.
    """
    plain = text.replace("\n", "").replace("\t", "")
    if plain.isprintable() and (plain.isascii() or not _may_hide(plain.encode())):
        return None
    if found := _pattern(_NEVER_STORED).search(text):
        return found.start(), found.group()
    strays = _pattern(_STRAY).findall(text)
    if len(strays) <= _STRAY_MAX:
        return None
    kept = _pattern(f"{_FLAG}|{_UNSEEN}").sub(
        lambda match: match["flag"] or "", _drop_stray_joiners(text)
    )
    if len(strays) - len(_pattern(_STRAY).findall(kept)) <= _STRAY_MAX:
        return None
    found = _pattern(_STRAY).search(text)
    return (found.start(), found.group()) if found else None


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing of the text: spaces, and letters that are drawn as one."""
    return not text.translate(_BLANKS).strip()


def _may_hide(text: bytes) -> bool:
    return any(begins in text for begins in _HIDING_BYTES)


def make_message_line(text: str, chars_max: int) -> str:
    """Untrusted text as part of a message: one printable line of limited length."""
    shown = normalise(text[: chars_max * _UNSEEN_SHARE_MAX]).encode("utf-8", "replace").decode()
    return cut(" ".join(shown.split()), chars_max)


@lru_cache(maxsize=_FOLDED_KEPT)
def fold(text: str) -> str:
    """The text without case, the width of gaps and a full stop or "!" at the end.

    Addresses and what looks like code keep their case: `-d` is not `-D`, `api_url` not `API_URL`.
    """
    words = "".join(
        part if is_address else _fold_case(part)
        for part, is_address in _split_addresses(normalise(text))
    )
    words = " ".join(words.split())
    said = words[:-1].rstrip()
    return said if words.endswith(_FULL_STOPS) and not said.endswith(_FULL_STOPS) else words


def _fold_case(text: str) -> str:
    found: list[str] = []
    at = 0
    for match in _pattern(_CODE).finditer(text):
        found += (unicodedata.normalize("NFC", text[at : match.start()].casefold()), match.group())
        at = match.end()
    found.append(unicodedata.normalize("NFC", text[at:].casefold()))
    return "".join(found)


def find_code_words(text: str) -> list[str]:
    """The words of a text whose case matters: options, identifiers, units."""
    return [
        word
        for match in _pattern(_CODE).finditer(text)
        for word in _pattern(r"-*\w+").findall(match.group())
    ]


def digest(text: str) -> str:
    """A short hash that is equal for all spellings of a statement."""
    found = hashlib.sha256(fold(text).encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:DIGEST_DIGITS]


def _normalise_once(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = _pattern(_LINE_END).sub("\n", text)
    text = _pattern(_TERMINAL).sub("", text)
    text = _pattern(f"{_FLAG}|{_UNSEEN}").sub(lambda match: match["flag"] or "", text)
    if text.isascii():
        return text
    return "".join(
        part if is_address else _unify_signs(part)
        for part, is_address in _split_addresses(_drop_stray_joiners(text))
    )


def _unify_signs(text: str) -> str:
    text = _pattern(f"[{_ODD_SPACE}]").sub(" ", text)
    for plain, curly in _QUOTES.items():
        text = _pattern(f"[{curly}]").sub(plain, text)
    return unicodedata.normalize("NFC", _pattern(f"[{_DASHES}]").sub("-", text))


def _split_addresses(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, and whether each is an address."""
    if "://" not in text:
        yield text, False
        return
    # the first letter of the scheme is where a word begins, so that a long word is read once
    address = rf"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://[^{_ENDS_ADDRESS}]*[^{_ENDS_ADDRESS}\u2018-\u201a]"
    at = 0
    for match in _pattern(address).finditer(text):
        yield text[at : match.start()], False
        yield match.group(), True
        at = match.end()
    yield text[at:], False


def _drop_stray_joiners(text: str) -> str:
    """The text without joiners and variation selectors that have no effect."""
    if _pattern(r"[\u180e\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]").search(text) is None:
        return text
    kept: list[str] = []
    for at, char in enumerate(text):
        before = kept[-1] if kept else " "
        if char in _VARIANTS:
            stays = before in _KEYCAPS or (_takes_variant(before) and before not in _VARIANTS)
        elif char in _JOINERS:
            stays = _is_effective_joiner(before, text[at + 1 : at + 2], char)
        else:
            stays = True
        if stays:
            kept.append(char)
    return "".join(kept)


def _takes_variant(char: str) -> bool:
    return not char.isascii() and unicodedata.category(char)[0] in "LMS"


def _is_effective_joiner(before: str, after: str, joiner: str) -> bool:
    """Whether a joiner has an effect: between emoji, or in a script written with joiners."""
    if joiner == "\u200d" and (_is_picture(before) or before in _VARIANTS):
        return _is_picture(after)
    return bool(_pattern(_CURSIVE).match(before)) and unicodedata.category(before)[0] in "LM"


def _is_picture(char: str) -> bool:
    """Whether it is an emoji, or follows a joiner in one (sex, profession, colour, arrow)."""
    return _pattern(_PICTURES).match(char) is not None


REASON_SEPARATOR: Final = "\nReason: "
"""Between a decision and its reason in a memory's content."""

_ITEM: Final = "- "


def put_on_one_line(text: str) -> str:
    """The text without line breaks.

    A list loses its dashes; a decision is joined to its reason by a dash.
    """
    lines = [line.strip() for line in text.strip().split("\n")]
    if all(line.startswith(_ITEM) for line in lines):
        text = " \u00b7 ".join(line.removeprefix(_ITEM) for line in lines)
    else:
        decided, found, reason = text.rpartition(REASON_SEPARATOR)
        text = f"{decided.rstrip().removesuffix('.')} \u2014 {reason}" if found else text
    return " ".join(text.split())


def cut(text: str, chars_max: int) -> str:
    """The text, or its beginning and `…`, in at most so many characters."""
    return text if len(text) <= chars_max else f"{text[: chars_max - 1].rstrip()}…"


def pluralise(number: int, one: str = "memory", many: str = "memories") -> str:
    """`1 memory`, `2 memories`."""
    return f"{number} {one if number == 1 else many}"
