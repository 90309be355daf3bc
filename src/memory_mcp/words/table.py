"""Related words without a model: a table of signs that the package ships.

For 19,000 stems it holds 256 signs each, made from the weights of all-MiniLM-L6-v2 by
`tools/word_table.py` (Apache-2.0, as those weights are). The share of signs that two words have in
common says how near their meanings are. Beside them stand how rare a stem is in ordinary texts, and
its nearest others. The table is read with the first search, or the first talk that is looked at for
what is worth keeping; a process without either never reads it.
"""

import math
import struct
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from memory_mcp.errors import IndexDamagedError
from memory_mcp.frozen import mutable
from memory_mcp.learnt import read_data

BITS: Final = 256
NEAREST: Final = 5
"""How many of its nearest stems each one knows."""
RARITY_STEPS: Final = 16
"""Steps of the stored rarity in a unit of idf."""
_RARITY_MAX: Final = 12.0
"""The rarity of a word that is in no ordinary text: a name, an identifier, a slip."""
_UNKNOWN: Final = -1
_BYTES: Final = BITS // 8
_NAME: Final = "words.table"
TELLING_MIN: Final = 2.0
"""The rarity from which on a word says of what a memory is: one of seven texts holds it."""
_TELLS: Final = TELLING_MIN * RARITY_STEPS
_TELLING_MAX: Final = 12
"""Terms of a text that are compared one by one with those of another: most statements have no more,
and to compare all of a page takes longer than it tells."""
_COMPARED_WORDS_MAX: Final = 24
"""Distinct words of a memory that its whole meaning is made of."""
_COMPARED_STEMS_MAX: Final = 256
"""Stems whose likeness to all others is kept: a question is asked again in other words."""


class _Places(dict[str, int]):
    """Where each stem stands, or -1, looked up once it is asked for: few of them ever are."""

    def __init__(self, stems: Sequence[str]) -> None:
        super().__init__()
        self._stems = stems

    def __missing__(self, stem: str) -> int:
        place = bisect_left(self._stems, stem)
        known = place < len(self._stems) and self._stems[place] == stem
        return self.setdefault(stem, place) if known else _UNKNOWN


class _Signs(dict[int, int]):
    """The signs of each place as one number, made once it is asked for."""

    def __init__(self, packed: memoryview) -> None:
        super().__init__()
        self._packed = packed

    def __missing__(self, place: int) -> int:
        row = self._packed[place * _BYTES : (place + 1) * _BYTES]
        return self.setdefault(place, int.from_bytes(row, "little"))


@mutable  # one of them is never equal to another: it can be a key
class WordTable:
    """The table in memory. `places` says where each of the ordered stems stands, -1 for others."""

    places: Mapping[str, int]
    stems: Sequence[str]
    packed: memoryview
    signs: Mapping[int, int]
    rarities: Sequence[int]
    nearest: Sequence[int]

    def find_signs(self, stem: str) -> int | None:
        """The signs of a stem as one number; None if the table does not know it."""
        place = self.places[stem]
        return None if place == _UNKNOWN else self.signs[place]

    def get_rarity(self, stem: str) -> float:
        """How telling a stem is by itself: its idf in ordinary texts."""
        place = self.places[stem]
        return _RARITY_MAX if place == _UNKNOWN else self.rarities[place] / RARITY_STEPS

    def get_share(self, stem: str) -> float:
        """The share of ordinary texts that hold a stem."""
        return math.exp(-self.get_rarity(stem))

    def find_nearest(self, stem: str, most: int) -> list[str]:
        """The stems nearest in meaning, the nearest first; none if the table does not know it.

        They are sought among those that the table names, and those that it names for these.
        """
        place = self.places[stem]
        if place == _UNKNOWN:
            return []
        named = self._get_nearest(place)
        near = {place, *named}.union(*map(self._get_nearest, named)) - {place}
        own = self.signs[place]
        order = sorted(near, key=lambda other: ((own ^ self.signs[other]).bit_count(), other))
        return [self.stems[other] for other in order[:most]]

    def compare_all(self, stem: str, most: int) -> Sequence[tuple[str, float]]:
        """The nearest of all other stems with their cosines, the nearest first.

        It looks at every one: many times the work of `find_nearest`.
        """
        return _compare_all(self, stem, most)

    def _get_nearest(self, place: int) -> Sequence[int]:
        return self.nearest[place * NEAREST : (place + 1) * NEAREST]


COSINES: Final = [1 - 2 * unlike / BITS for unlike in range(BITS + 1)]
"""The cosine of two rows of signs, by how many signs are unlike."""


_TRANSPOSING: Final = ((0x00AA00AA00AA00AA, 7), (0x0000CCCC0000CCCC, 14), (0x00000000F0F0F0F0, 28))
"""The steps by which 8 bytes of 8 bits change places with each other: which bits, and how far."""


@cache
def _list_planes(table: WordTable) -> Sequence[int]:
    """Each sign of all stems as one number, that of the first stem in its lowest bit.

    So a few operations on long numbers do for all stems what would be one for each of them.
    """
    eights = -(-len(table.stems) // 8)
    packed = table.packed
    planes: list[int] = []
    for place in range(_BYTES):
        column = int.from_bytes(bytes(packed[place::_BYTES]), "little")
        for bits, far in _TRANSPOSING:
            mask = int.from_bytes(bits.to_bytes(8, "little") * eights, "little")
            changed = (column ^ column >> far) & mask
            column ^= changed ^ changed << far
        rows = column.to_bytes(8 * eights, "little")
        planes += [int.from_bytes(rows[sign::8], "little") for sign in range(8)]
    return planes


def _add_planes(planes: list[int]) -> list[int]:
    """How many of the planes have each bit: the digits of these sums, the lowest first."""
    digits: list[int] = []
    while planes:
        carried: list[int] = []
        while len(planes) > 1:
            one, other, third = planes.pop(), planes.pop(), planes.pop() if planes else 0
            unlike = one ^ other
            carried.append(one & other | unlike & third)
            planes.append(unlike ^ third)
        digits.append(planes[0])
        planes = carried
    return digits


def _select_least(digits: Sequence[int], every: int, most: int) -> int:
    """The bits of `every` whose sums are the least: more than `most`, and no greater sum needed."""
    below, equal = 0, every
    for digit in reversed(digits):
        low = equal & ~digit
        if (below | low).bit_count() > most:
            equal = low
        else:
            below |= low
            equal &= digit
    return below | equal


@lru_cache(maxsize=_COMPARED_STEMS_MAX)
def _compare_all(table: WordTable, stem: str, most: int) -> Sequence[tuple[str, float]]:
    own = table.find_signs(stem)
    if own is None:
        return ()
    every = (1 << len(table.stems)) - 1
    unlike = [plane ^ every if own >> sign & 1 else plane
              for sign, plane in enumerate(_list_planes(table))]  # fmt: skip
    near = f"{_select_least(_add_planes(unlike), every, most):b}"[::-1]
    order: list[tuple[int, int]] = []
    at = near.find("1")
    while at >= 0:
        order.append(((own ^ table.signs[at]).bit_count(), at))
        at = near.find("1", at + 1)
    order.sort()
    return [
        (table.stems[at], COSINES[signs]) for signs, at in order[: most + 1]
        if table.stems[at] != stem
    ]  # fmt: skip


def compare_signs(one: int, other: int) -> float:
    """The cosine of two rows of signs."""
    return COSINES[(one ^ other).bit_count()]


def measure_length(weighted_signs: Sequence[tuple[int, float]]) -> float:
    """The length of the weighted sum of these rows of signs."""
    square = 0.0
    for place, (signs, weight) in enumerate(weighted_signs):
        beside = [other * compare_signs(signs, row) for row, other in weighted_signs[place + 1 :]]
        square += weight * weight + 2 * weight * sum(beside)
    return math.sqrt(max(0.0, square))


class Telling(NamedTuple):
    """What of a text is compared: its terms, and rarities and signs of the most telling ones.

    `whole` is what these tell, and the terms that the table does not know; of a page also those
    that are none of the words that its meaning is made of.
    """

    terms: frozenset[str]
    rarities: Sequence[float]
    signs: Sequence[int]
    whole: float


def select_telling(terms: frozenset[str], meaning: bytes, table: WordTable) -> Telling:
    """What of a text of these terms, packed by `pack_meaning`, is compared with other texts.

    Raises:
        IndexDamagedError: as `unpack_meaning` does.
    """
    _, places = unpack_meaning(meaning, table)
    unknown = max(0, len(terms) - len(places))
    steps = [step for place in places[:_TELLING_MAX] if (step := table.rarities[place]) >= _TELLS]
    rarities = [step / RARITY_STEPS for step in steps]
    signs = [table.signs[place] for place in places[: len(steps)]]  # the rarest go first
    return Telling(terms, rarities, signs, sum(rarities) + unknown * _RARITY_MAX or 1.0)


STEPS: Final = (1.0, 0.6, 0.5, 0.4, 0.3)
"""Cosines by which the terms of two texts are told apart: the same, related, hardly related."""
_STEP_OF: Final = [
    next((step for step, least in enumerate(STEPS) if cosine >= least), len(STEPS))
    for cosine in COSINES
]


class Shared(NamedTuple):
    """What share of what each of two texts says the other one says, too, in 0-1.

    Each term is worth as much as it tells, and met as far as the nearest one of the other text is
    near. `by_nearness` are the shares of our terms whose nearest reaches each of `STEPS`, and not
    the one before.
    """

    ours: float
    theirs: float
    by_nearness: Sequence[float]


def compare_telling(ours: Telling, theirs: Telling, table: WordTable) -> Shared:
    """What of ours the others say, and what of theirs we say."""
    unlike = [[(signs ^ row).bit_count() for row in theirs.signs] for signs in ours.signs]
    nearest = [min(row, default=BITS) for row in unlike]
    by_nearness = [0.0] * (len(STEPS) + 1)
    for rarity, least in zip(ours.rarities, nearest, strict=True):
        by_nearness[_STEP_OF[least]] += rarity
    both = ours.terms & theirs.terms
    unknown = _RARITY_MAX * sum([table.places[term] == _UNKNOWN for term in both])
    by_nearness[0] += unknown
    return Shared(
        (_measure_met(ours, nearest) + unknown) / ours.whole,
        (_measure_met(theirs, map(min, zip(*unlike, strict=True))) + unknown) / theirs.whole,
        [each / ours.whole for each in by_nearness[:-1]],
    )


def _measure_met(telling: Telling, nearest: Iterable[int]) -> float:
    """What its known terms tell that are met; `nearest` says of each how far the nearest is."""
    near = zip(telling.rarities, nearest, strict=False)
    return sum([rarity * max(0.0, COSINES[least]) for rarity, least in near])


Direction = Sequence[Sequence[float]]
"""A direction among meanings: how far each byte of a row of signs goes along it, by its value."""


def make_direction(weights: Sequence[float]) -> Direction:
    """The direction of these weights, one for each sign, that of the highest bit first."""
    return [_sum_bits(weights[start : start + 8]) for start in range(0, BITS, 8)]


def _sum_bits(weights: Sequence[float]) -> list[float]:
    """For each value of a byte the sum of these weights, less where its bit is 0."""
    sums = [0.0]
    for weight in reversed(weights):
        sums = [each - weight for each in sums] + [each + weight for each in sums]
    return sums


def measure_along(direction: Direction, terms: Iterable[str], table: WordTable) -> float:
    """How far a text of these terms goes in a direction, telling terms counting more.

    Its length counts as that of terms that have nothing to do with each other. 0 if the table knows
    none of them.
    """
    along = square = 0.0
    for term in terms:
        signs = table.find_signs(term)
        if signs is not None:
            rarity = table.get_rarity(term)
            row = signs.to_bytes(_BYTES, "big")
            along += rarity * sum([far[byte] for far, byte in zip(direction, row, strict=True)])
            square += rarity * rarity
    return along / math.sqrt(square) if square else 0.0


def pack_meaning(words: Iterable[str], table: WordTable) -> bytes:
    """The most telling words of a text as places in the table, behind their length together.

    Little-endian: the length as a float of 4 bytes, each place in 2. Empty if the table knows none.
    """
    found = dict.fromkeys(table.places[word] for word in words)
    found.pop(_UNKNOWN, None)
    places = sorted(found, key=lambda place: -table.rarities[place])[:_COMPARED_WORDS_MAX]
    if not places:
        return b""
    weights = [(table.signs[place], table.rarities[place] / RARITY_STEPS) for place in places]
    return struct.pack(f"<f{len(places)}H", measure_length(weights), *places)


def unpack_meaning(packed: bytes, table: WordTable) -> tuple[float, Sequence[int]]:
    """The length and the places of `pack_meaning`; (0.0, ()) if it knew no word.

    Raises:
        IndexDamagedError: nobody packed this; a broken page may hold anything.
    """
    if not packed:
        return 0.0, ()
    places = array("H", packed[4:] if len(packed) % 2 == 0 else b"")
    if sys.byteorder == "big":
        places.byteswap()
    if not places or max(places) >= len(table.stems):
        raise IndexDamagedError(
            f"The index holds {packed[:50]!r}, which nobody wrote. "
            "`memory-mcp doctor --reindex` makes it anew."
        )
    return struct.unpack_from("<f", packed)[0], places


def dump_table(
    stems: Sequence[str], signs: Sequence[bytes], rarities: bytes, nearest: Sequence[int]
) -> bytes:
    """The content of the file that `load_word_table` reads; the stems are in order."""
    names = zlib.compress("\n".join(stems).encode(), 9)
    low_first = b"".join(number.to_bytes(2, "little") for number in nearest)
    return len(names).to_bytes(4, "little") + names + b"".join(signs) + rarities + low_first


@cache
def load_word_table() -> WordTable:
    """The table of the package."""
    data = memoryview(read_data("memory_mcp.words", _NAME))
    start = 4 + int.from_bytes(data[:4], "little")
    stems = zlib.decompress(data[4:start]).decode().split("\n")
    count = len(stems)
    rarities, nearest = start + count * _BYTES, start + count * (_BYTES + 1)
    numbers = array("H", bytes(data[nearest:]))
    if sys.byteorder == "big":
        numbers.byteswap()
    return WordTable(
        places=_Places(stems),
        stems=stems,
        packed=data[start:rarities],
        signs=_Signs(data[start:rarities]),
        rarities=data[rarities:nearest],
        nearest=numbers,
    )
