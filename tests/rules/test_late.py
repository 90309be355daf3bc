"""How near a memory is to a question, token by token."""

import numpy as np
import pytest

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import Chunk, QueryVectors
from memory_mcp.ranking.late_interaction import measure_nearness


def test_late_interaction_takes_the_best_token_of_any_chunk() -> None:
    """A long memory is as near as its nearest sentence."""
    rng = np.random.default_rng(7)
    asked = rng.standard_normal((2, 64)).astype(np.float32)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    other = rng.standard_normal((5, 64))

    def chunk(tokens: np.ndarray) -> Chunk:
        pooled = np.rint(tokens[0] / np.linalg.norm(tokens[0]) * 127).astype(np.int8)
        return Chunk(pooled.tobytes(), np.packbits(tokens > 0, axis=-1).tobytes())

    question = QueryVectors(asked[0].tobytes(), asked.tobytes(), ((0, 3), (4, 7)))
    near, far, bare = RecordId("a"), RecordId("b"), RecordId("c")
    found = measure_nearness(
        question,
        {
            far: (chunk(other),),
            near: (chunk(other), chunk(np.concatenate([asked[:1], other]))),
            bare: (Chunk(chunk(asked).pooled),),
        },
    )

    assert found.best[near][0] == pytest.approx(1, abs=0.15)
    assert found.best[near][0] > found.best[far][0]
    assert found.best[near][1] == pytest.approx(found.best[far][1], abs=0.3)
    assert found.pooled[near] == pytest.approx(1, abs=0.02)
    assert bare not in found.best
    assert found.spans == question.spans
