"""Recall by meaning, behind a pool: who makes vectors of its records, and where they rest."""

import asyncio
from dataclasses import dataclass

from memory_mcp.ports import Embedder, VectorIndex

__all__ = ["Meaning"]


@dataclass(frozen=True)
class Meaning:
    """The embedder that both pools share, and the vectors of this one.

    `wake` is set when there is something to encode beside the calls.
    """

    embedder: Embedder
    vectors: VectorIndex
    wake: asyncio.Event
