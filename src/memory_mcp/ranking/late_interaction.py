"""Measure how near memories are to a question: late interaction over packed vectors.

Of every token of a memory only the signs of its dimensions are kept. Their cosine with each token
of the question, which keeps its floats, is estimated; the best of all tokens of a memory counts.

The only module of this package that needs numpy. Import it once an embedder has answered.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Nearness, Passage, QueryVectors

_INT8_MAX: Final = 127
_SIGN_COSINE: Final = math.sqrt(2 / math.pi)
"""The cosine of a random vector with its own signs: what a perfect match would come to."""
_SIGNS: Final = (np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0).astype(
    np.float32
)
"""The eight signs of every byte."""

_BLOCK_ROWS: Final = 256
"""Rows unpacked at once: more no longer fit into the cache and take four times as long."""

Array = NDArray[np.float32]


def measure_nearness(question: QueryVectors, passages: Mapping[RecordId, Passage]) -> Nearness:
    """How near each of these records is to the question.

    Chunks of another size than the question's are left out: they are not comparable. Records are
    taken by id, because the last bits of a product depend on where in the matrix its row is.
    """
    pooled = np.frombuffer(question.pooled, "<f4")
    fitting = {
        record_id: there
        for record_id, passage in sorted(passages.items())
        if (there := tuple(chunk for chunk in passage if len(chunk.pooled) == len(pooled)))
    }
    ids, chunks = list(fitting), list(fitting.values())
    if not ids or not len(pooled):
        return Nearness({}, {}, question.spans)
    nearest = _pooled(pooled, chunks)
    best: dict[RecordId, Sequence[float]] = {}
    if question.tokens:
        tokens = np.frombuffer(question.tokens, "<f4").reshape(-1, len(pooled))
        known = [place for place, of in enumerate(chunks) if any(chunk.tokens for chunk in of)]
        rows = _best(tokens, [chunks[place] for place in known])
        best = {ids[place]: row for place, row in zip(known, rows, strict=True)}
    return Nearness(dict(zip(ids, nearest, strict=True)), best, question.spans)


def _pooled(question: Array, passages: Sequence[Passage]) -> list[float]:
    """The cosine of the question with the nearest chunk of each record."""
    packed = b"".join(chunk.pooled for passage in passages for chunk in passage)
    rows = np.frombuffer(packed, np.int8).reshape(-1, len(question)).astype(np.float32)
    cosines = rows @ question / np.float32(_INT8_MAX)
    starts = _starts([len(passage) for passage in passages])
    return np.maximum.reduceat(cosines, starts).tolist()


def _best(tokens: Array, passages: Sequence[Passage]) -> list[list[float]]:
    """For each record the best cosine with each token of the question."""
    if not passages:
        return []
    width = tokens.shape[1] // 8
    packed = [b"".join(chunk.tokens for chunk in passage) for passage in passages]
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, width)
    cosines = _dots(rows, np.ascontiguousarray(tokens.T))
    starts = _starts([len(each) // width for each in packed])
    scale = np.float32(1 / (_SIGN_COSINE * math.sqrt(tokens.shape[1])))
    return (np.maximum.reduceat(cosines, starts, axis=0) * scale).tolist()


def _dots(rows: NDArray[np.uint8], tokens: Array) -> Array:
    """The dot products of packed signs with tokens, in blocks that fit the cache."""
    width = rows.shape[1]
    dots = np.empty((len(rows), tokens.shape[1]), np.float32)
    signs = np.empty((_BLOCK_ROWS * width, 8), np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        unpacked = signs[: block.size]
        np.take(_SIGNS, block.reshape(-1), axis=0, out=unpacked, mode="clip")
        np.matmul(unpacked.reshape(len(block), -1), tokens, out=dots[start : start + len(block)])
    return dots


def _starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.intp)
