"""Which terms of the store may be meant by one that it does not hold.

Guesses are careful: a search that finds nothing is better than one that finds something else. Short
words, numbers and days are taken at their word.
"""

from collections.abc import Sequence
from typing import Final

_ALTERNATIVES_MAX: Final = 3
_GUESSED_LENGTH_MIN: Final = 4
"""Shorter words have too many neighbours: "cat" is not "car"."""
_CONTAINED_LENGTH_MIN: Final = 5
_CONTAINED_SHARE_MIN: Final = 0.6
"""How much of the longer term the shorter must be, to be meant by it."""
_TWO_ERRORS_LENGTH_MIN: Final = 8


def suggest_terms(term: str, similar: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Those of the similar terms that may be meant, best first; each comes with its records.

    A term with a slip or two in it, or one that begins or contains the other, as parts of
    identifiers do.
    """
    if len(term) < _GUESSED_LENGTH_MIN or any(map(str.isdigit, term)) or not _spelled(term):
        return ()
    allowed = 2 if len(term) >= _TWO_ERRORS_LENGTH_MIN else 1
    judged: list[tuple[float, int, str]] = []
    for other, records in similar:
        if other == term or any(map(str.isdigit, other)):
            continue
        errors = edit_distance(term, other, allowed)
        if errors <= allowed and (other[0] == term[0] or len(term) > _CONTAINED_LENGTH_MIN):
            judged.append((errors + 0.5 * (other[0] != term[0]), -records, other))
        elif _contains(term, other):
            judged.append((allowed + 1.0, -records, other))
    judged.sort()
    nearest = judged[0][0] if judged else 0
    return tuple(other for errors, _, other in judged if errors < nearest + 1)[:_ALTERNATIVES_MAX]


def edit_distance(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or swapped; at most `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, against in enumerate(other, start=1):
            cost = min(
                last[column] + 1,
                current[column - 1] + 1,
                last[column - 1] + (letter != against),
            )
            swapped = row > 1 and column > 1 and letter == other[column - 2]
            if swapped and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, last = last, current
    return last[-1]


def _contains(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return (
        len(shorter) >= _CONTAINED_LENGTH_MIN
        and len(shorter) >= _CONTAINED_SHARE_MIN * len(longer)
        and shorter in longer
    )


def _spelled(term: str) -> bool:
    """Whether the script spells words with letters: pairs of characters have no slips."""
    return all(letter < "\u0e00" or "\u1e00" <= letter < "\u2000" for letter in term)
