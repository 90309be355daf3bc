"""Find the nearest vectors by their signs. Only this part of the index needs numpy.

Signs say a little less than whole vectors and take an eighth of the room of int8: 100,000 of 384
dimensions are 5 MB, compared in a millisecond. The caller compares the nearest whole afterwards.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_Bits = NDArray[np.uint64]


def pack_query_signs(pooled: bytes) -> bytes:
    """The signs of a question's vector, packed as those of memories are."""
    bits = np.frombuffer(pooled, dtype="<f4") > 0
    return np.packbits(np.pad(bits, (0, -len(bits) % 64))).tobytes()


class SignIndex:
    """The number, segment and signs of one embedder's chunks, in the order of their numbers.

    `width` is that of the packed signs, in bytes.
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
        """The newest number; 0 if there is none."""
        return int(self._numbers[-1]) if len(self) else 0

    def append(self, rows: Sequence[tuple[int, str | None, bytes]]) -> None:
        """Add rows of number, segment and signs, newer than the last."""
        if not rows:
            return
        fresh = np.frombuffer(b"".join(row[2] for row in rows), np.uint64)
        fresh = fresh.reshape(-1, len(self._bits)).T
        self._bits = np.ascontiguousarray(np.concatenate((self._bits, fresh), axis=1))
        codes = [self._codes.setdefault(row[1], len(self._codes)) for row in rows]
        self._segments = np.concatenate((self._segments, np.array(codes, np.int32)))
        numbers = np.array([row[0] for row in rows], np.int64)
        self._numbers = np.concatenate((self._numbers, numbers))

    def find_nearest(
        self,
        signs: bytes,
        segments: Collection[str],
        count: int,
        among: Iterable[int] | None = None,
    ) -> list[int]:
        """The chunks that share most signs, nearest first, in these segments or in none."""
        if not len(self):
            return []
        query = np.frombuffer(signs, np.uint64)
        distance = np.zeros(len(self), np.uint16)
        for column, word in zip(self._bits, query, strict=True):
            distance += np.bitwise_count(column ^ word)
        codes_seen = [
            code for name, code in self._codes.items() if name is None or name in segments
        ]
        allowed = np.zeros(len(self._codes), np.bool_)
        allowed[codes_seen] = True
        eligible = allowed[self._segments]
        if among is not None:
            eligible &= np.isin(self._numbers, np.fromiter(among, np.int64), assume_unique=True)
        distance[~eligible] = np.iinfo(np.uint16).max
        count = min(count, int(eligible.sum()))
        if count == 0:
            return []
        best = np.argpartition(distance, count - 1)[:count]
        best = best[np.lexsort((-self._numbers[best], distance[best]))]
        return self._numbers[best].tolist()
