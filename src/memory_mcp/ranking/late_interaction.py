"""Measure how near memories are to a query: late interaction over packed vectors.

A memory keeps only the signs of its tokens' dimensions. Their cosine with each token of the query,
which keeps its floats, is estimated; for each token of the query the best of a memory counts.

The only module of this package that needs numpy. Import it once an embedder has answered.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import PassageVectors, QueryVectors, SemanticScores

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


def measure_nearness(
    query: QueryVectors, passages: Mapping[RecordId, PassageVectors]
) -> SemanticScores:
    """How near each of these records is to the query.

    Chunks of another size than the query's are left out: they are not comparable. Records are
    taken by id, because the last bits of a product depend on where in the matrix its row is.
    """
    pooled = np.frombuffer(query.pooled, "<f4")
    fitting = {
        record_id: chunks
        for record_id, passage in sorted(passages.items())
        if (chunks := tuple(chunk for chunk in passage if len(chunk.pooled) == len(pooled)))
    }
    ids, ordered = list(fitting), list(fitting.values())
    if not ids or not len(pooled):
        return SemanticScores({}, {}, query.spans)
    nearest = _compute_pooled(pooled, ordered)
    best: dict[RecordId, Sequence[float]] = {}
    if query.tokens:
        tokens = np.frombuffer(query.tokens, "<f4").reshape(-1, len(pooled))
        known = [place for place, of in enumerate(ordered) if any(chunk.tokens for chunk in of)]
        rows = _find_best(tokens, [ordered[place] for place in known])
        best = {ids[place]: row for place, row in zip(known, rows, strict=True)}
    return SemanticScores(dict(zip(ids, nearest, strict=True)), best, query.spans)


def _compute_pooled(query: Array, passages: Sequence[PassageVectors]) -> list[float]:
    """The cosine of the query with the nearest chunk of each record."""
    packed = b"".join(chunk.pooled for passage in passages for chunk in passage)
    rows = np.frombuffer(packed, np.int8).reshape(-1, len(query)).astype(np.float32)
    cosines = rows @ query / np.float32(_INT8_MAX)
    starts = _find_starts([len(passage) for passage in passages])
    return np.maximum.reduceat(cosines, starts).tolist()


def _find_best(tokens: Array, passages: Sequence[PassageVectors]) -> list[list[float]]:
    """For each record the best cosine with each token of the query."""
    if not passages:
        return []
    width = tokens.shape[1] // 8
    packed = [b"".join(chunk.tokens for chunk in passage) for passage in passages]
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, width)
    cosines = _multiply(rows, np.ascontiguousarray(tokens.T))
    starts = _find_starts([len(each) // width for each in packed])
    scale = np.float32(1 / (_SIGN_COSINE * math.sqrt(tokens.shape[1])))
    return (np.maximum.reduceat(cosines, starts, axis=0) * scale).tolist()


def _multiply(rows: NDArray[np.uint8], tokens: Array) -> Array:
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


def _find_starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.intp)
