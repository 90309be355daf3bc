"""What the vectors of a prompt and of memories add to whether one bears on the other.

A memory that bears on a prompt is often about something else than the prompt is. So beside how near
the two are, it counts how far they go in pairs of directions that were learnt together, one for
prompts and one for memories; how far a memory goes in the direction of what is worth a word, and a
prompt in that of what nothing bears on.

Needs numpy: import it once an embedder has answered.
"""

from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_mcp.domain.ids import RecordId
from memory_mcp.ranking.bearing import Meanings, load_learnt

_INT8_MAX: Final = 127

Array = NDArray[np.float32]


def weigh_vectors(asked: bytes, wholes: Mapping[RecordId, bytes], read_by: str) -> Meanings:
    """What these pooled vectors say, by the figures learnt for the model that made them."""
    of_prompts, of_memories = _load_directions(read_by)
    *along, none = of_prompts @ np.frombuffer(asked, "<f4")
    weights = np.append(along, np.float32(1)) @ of_memories
    weights /= np.float32(_INT8_MAX)
    far = {id_: float(np.frombuffer(each, np.int8) @ weights) for id_, each in wholes.items()}
    return Meanings(far, float(none))


@cache
def _load_directions(read_by: str) -> tuple[Array, Array]:
    """The directions of prompts and of memories, in pairs; the last of each stands alone."""
    learnt = load_learnt()[read_by]
    of_prompts, of_memories = (
        np.frombuffer(b64decode(learnt[name]), "<f2").astype(np.float32)
        for name in ("of prompts", "of memories")
    )
    count = learnt["directions"]
    return of_prompts.reshape(count, -1), of_memories.reshape(count, -1)
