"""Words become stems, so that "painted" is found by "painting" and "bought" by "buy".

Porter's algorithm (M. F. Porter, "An algorithm for suffix stripping", Program 14, 1980) after a
table of irregular English forms. Words of other languages go through the same steps on both sides,
the memory's and the question's: what is cut off an ending is cut off everywhere.
"""

from functools import lru_cache
from typing import Final

__all__ = ["stem"]

_IRREGULAR_FORMS: Final = """
be am is are was were been; become became; begin began begun; bite bit bitten; blow blew blown;
break broke broken; bring brought; build built; burn burnt; buy bought; catch caught;
choose chose chosen; come came; deal dealt; dig dug; draw drew drawn; dream dreamt;
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; fly flew flown; forget forgot forgotten; freeze froze frozen;
get got gotten; give gave given; go goes went gone; grow grew grown; hang hung; have has had;
hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; learn learnt;
leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden;
ring rang rung; rise rose risen; run ran; say said; see saw seen; sell sold; send sent;
shake shook shaken; shoot shot; show shown; sing sang sung; sink sank sunk; sit sat;
sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck;
swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood;
wake woke woken; wear wore worn; win won; write wrote written; do does did done;
child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice;
goose geese; wife wives; life lives; knife knives; leaf leaves; shelf shelves; half halves;
wolf wolves; datum data; index indices; matrix matrices; vertex vertices; analysis analyses;
crisis crises; better best good; worse worst bad
"""

_VOWELS: Final = frozenset("aeiou")
_LENGTH_MIN: Final = 3
_LENGTH_MAX: Final = 40
"""Longer runs of letters are no words: nothing is cut off them."""

_DOUBLES: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_SINGLES: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip
_ENDINGS: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
)  # fmt: skip


def _table(forms: str) -> dict[str, str]:
    """Each irregular form and its base form; bases stand for themselves."""
    table: dict[str, str] = {}
    for group in forms.split(";"):
        words = group.split()
        base = words[-1] if words[-1] in ("good", "bad") else words[0]
        table |= dict.fromkeys((word for word in words if word != base), base)
    return table


_BASES: Final = _table(_IRREGULAR_FORMS)


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of a folded word; itself if it is not made of the letters a to z."""
    word = _BASES.get(word, word)
    if not _LENGTH_MIN <= len(word) <= _LENGTH_MAX or not (word.isascii() and word.isalpha()):
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _DOUBLES)
    word = _replaced(word, _SINGLES)
    return _tidy(_ending(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return _mended(rest) if _has_vowel(rest) else word
    return word


def _mended(rest: str) -> str:
    """What is left of "hopping", "filing", "rating" becomes a word again."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "lsz" and not _vowel(rest, -1):
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _replaced(word: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for ending, instead in pairs:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + instead if _measure(rest) > 0 else word
    return word


def _ending(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            kept = ending == "ion" and not rest.endswith(("s", "t"))
            return rest if _measure(rest) > 1 and not kept else word
    return word


def _tidy(word: str) -> str:
    """A last e and a double l go, where enough of the word is left."""
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _vowel(word: str, at: int) -> bool:
    letter = word[at]
    if letter in _VOWELS:
        return True
    at %= len(word)
    return letter == "y" and at > 0 and not _vowel(word, at - 1)


def _has_vowel(word: str) -> bool:
    return any(_vowel(word, at) for at in range(len(word)))


def _measure(word: str) -> int:
    """How often consonants follow vowels: Porter's m."""
    count, was_vowel = 0, False
    for at in range(len(word)):
        is_vowel = _vowel(word, at)
        count += was_vowel and not is_vowel
        was_vowel = is_vowel
    return count


def _short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant (not w, x or y)."""
    return (
        len(word) > 2  # noqa: PLR2004
        and not _vowel(word, -3)
        and _vowel(word, -2)
        and not _vowel(word, -1)
        and word[-1] not in "wxy"
    )
