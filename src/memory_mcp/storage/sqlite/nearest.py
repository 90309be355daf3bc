"""Finds the nearest vectors by their signs: the only part of the index that needs numpy.

Signs say a little less than whole vectors and cost an eighth of int8: 100,000 of 384 dimensions
are 5 MB, compared in a millisecond. The best are looked at whole afterwards.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_Bits = NDArray[np.uint64]


def signs_of_query(pooled: bytes) -> bytes:
    """The signs of a question's vector, as those of memories are kept."""
    bits = np.frombuffer(pooled, dtype="<f4") > 0
    return np.packbits(np.pad(bits, (0, -len(bits) % 64))).tobytes()


class Signs:
    """The signs of one embedder's chunks of one width: number, segment and bits, numbers rising.

    `width` is in bytes, as `signs_of_query` makes them.
    """

    def __init__(self, width: int) -> None:
        self._numbers: NDArray[np.int64] = np.empty(0, np.int64)
        self._segments: NDArray[np.int32] = np.empty(0, np.int32)
        self._bits: _Bits = np.empty((width // 8, 0), np.uint64)
        self._codes: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def last(self) -> int:
        """The newest number that is in."""
        return int(self._numbers[-1]) if len(self) else 0

    def take_in(self, rows: Sequence[tuple[int, str | None, bytes]]) -> None:
        """Rows of number, segment and signs, newer than the last and of this width."""
        if not rows:
            return
        fresh = np.frombuffer(b"".join(row[2] for row in rows), np.uint64)
        fresh = fresh.reshape(-1, len(self._bits)).T
        self._bits = np.ascontiguousarray(np.concatenate((self._bits, fresh), axis=1))
        codes = [self._codes.setdefault(row[1], len(self._codes)) for row in rows]
        self._segments = np.concatenate((self._segments, np.array(codes, np.int32)))
        numbers = np.array([row[0] for row in rows], np.int64)
        self._numbers = np.concatenate((self._numbers, numbers))

    def nearest(
        self,
        signs: bytes,
        segments: Collection[str],
        count: int,
        among: Iterable[int] | None = None,
    ) -> list[int]:
        """The numbers of those that share most signs, best first: of these segments or of none."""
        if not len(self):
            return []
        asked = np.frombuffer(signs, np.uint64)
        apart = np.zeros(len(self), np.uint16)
        for column, word in zip(self._bits, asked, strict=True):
            apart += np.bitwise_count(column ^ word)
        seen = [code for name, code in self._codes.items() if name is None or name in segments]
        allowed = np.zeros(len(self._codes), np.bool_)
        allowed[seen] = True
        there = allowed[self._segments]
        if among is not None:
            there &= np.isin(self._numbers, np.fromiter(among, np.int64), assume_unique=True)
        apart[~there] = np.iinfo(np.uint16).max
        count = min(count, int(there.sum()))
        if count == 0:
            return []
        best = np.argpartition(apart, count - 1)[:count]
        best = best[np.lexsort((-self._numbers[best], apart[best]))]
        return self._numbers[best].tolist()
