"""What an embedder makes of text: bytes, so that only those who compute with them need numpy."""

from collections.abc import Mapping
from dataclasses import dataclass

from memory_mcp.domain.ids import RecordId

__all__ = ["Chunk", "Passage", "QueryVectors", "ReadVectors"]


@dataclass(frozen=True)
class Chunk:
    """The vectors of one stretch of a memory, as they rest in the index.

    `pooled` is the normalised vector of the whole stretch in int8 (times 127), one byte for each
    dimension. `tokens` holds one bit for each dimension of each token (1: positive after the mean
    token was taken off), packed big-endian, token after token; empty if the embedder gives none.
    """

    pooled: bytes
    tokens: bytes = b""


Passage = tuple[Chunk, ...]
"""The chunks of one memory, in order; never empty."""


@dataclass(frozen=True)
class QueryVectors:
    """The vectors of a question: float32, little-endian, normalised.

    `tokens` follow one another; `spans` says for each from which characters of the question it
    comes (start, end). Both are empty if the embedder gives none.
    """

    pooled: bytes
    tokens: bytes = b""
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ReadVectors:
    """The chunks of those records that are encoded, and how many rows were damaged."""

    passages: Mapping[RecordId, Passage]
    damaged: int = 0
