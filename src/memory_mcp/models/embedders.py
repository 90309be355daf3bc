"""Embedders behind an address (OpenAI's interface and Ollama's), and the absent one.

A server gives one vector for each stretch of text and none for its tokens. Its answer is accepted
only if it holds a finite vector for every text, all of one dimension. Messages may name the server,
never the key. Needs neither numpy nor the libraries of local models.
"""

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain, islice
from typing import ClassVar, Final, NoReturn, cast

from memory_mcp.domain.limits import (
    EMBED_ANSWER_BYTES_MAX,
    EMBED_BATCH_MAX,
    EMBED_CHUNK_CHARS,
    EMBED_DIMENSIONS_MAX,
    EMBED_OVERLAP_CHARS,
    EMBED_QUESTION_SECONDS_MAX,
    EMBED_SECONDS_MAX,
    MODEL_RETRY_SECONDS,
)
from memory_mcp.domain.search import Chunk, PassageVectors, QueryVectors
from memory_mcp.domain.secret import Secret
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.endpoint import EndpointPurpose, ModelEndpoint


class AbsentEmbedder:
    """An embedder that is not installed: every call raises an error with the reason."""

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self.why = why

    @property
    def here(self) -> bool:
        return False

    @property
    def identity(self) -> str:
        return f"{self._name}/absent"

    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]:
        del texts
        self._refuse()

    async def question(self, text: str) -> QueryVectors:
        del text
        self._refuse()

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _refuse(self) -> NoReturn:
        raise ModelUnavailableError(self.why)


_INT8_MAX: Final = 127

_PURPOSE: Final = EndpointPurpose(
    provides="vectors",
    url="MEMORY_EMBEDDER_URL",
    model="MEMORY_EMBEDDER_MODEL",
    key="MEMORY_EMBEDDER_API_KEY",
    answer_bytes_max=EMBED_ANSWER_BYTES_MAX,
)


class _Endpoint(ABC):
    """An `Embedder` behind an address. `seconds` bound a request, `question_seconds` a question."""

    _kind: ClassVar[str]
    _path: ClassVar[str]

    def __init__(
        self,
        url: str,
        model: str,
        key: Secret | None = None,
        *,
        seconds: float = EMBED_SECONDS_MAX,
        question_seconds: float = EMBED_QUESTION_SECONDS_MAX,
        retry_seconds: float = MODEL_RETRY_SECONDS,
    ) -> None:
        self._endpoint = ModelEndpoint(url, model, key, retry_seconds, _PURPOSE)
        self._seconds = seconds
        self._question_seconds = question_seconds
        self._dimensions = 0

    @property
    def here(self) -> bool:
        return False

    @property
    def identity(self) -> str:
        return f"{self._kind}/{self._endpoint.name}/{self._endpoint.model}"

    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]:
        stretches = [_cut_into_stretches(text) for text in texts]
        waiting = list(chain.from_iterable(stretches))
        chunks: list[Chunk] = []
        for at in range(0, len(waiting), EMBED_BATCH_MAX):
            vectors = await self._embed(waiting[at : at + EMBED_BATCH_MAX], self._seconds)
            chunks += [Chunk(_to_int8(vector)) for vector in vectors]
        rest = iter(chunks)
        return [tuple(islice(rest, len(each))) for each in stretches]

    async def question(self, text: str) -> QueryVectors:
        (vector,) = await self._embed([_cut_into_stretches(text)[0]], self._question_seconds)
        return QueryVectors(struct.pack(f"<{len(vector)}f", *vector))

    async def aclose(self) -> None:
        await self._endpoint.aclose()

    @abstractmethod
    def _extract(self, answer: object) -> list[object]:
        """The vectors in an answer, in the order of the texts.

        Raises:
            ValueError, TypeError: it holds none.
        """

    async def _embed(self, texts: Sequence[str], seconds: float) -> list[list[float]]:
        body = {"model": self._endpoint.model, "input": list(texts)}
        answer = await self._endpoint.post(self._path, body, seconds)
        self._endpoint.note_success()
        try:
            vectors = [_normalise(vector) for vector in self._extract(answer)]
        except (ValueError, TypeError, OverflowError) as error:
            raise self._unusable("its answer holds something that is no vector") from error
        if len(vectors) != len(texts):
            raise self._unusable(f"{len(vectors)} vectors for {len(texts)} texts")
        for vector in vectors:
            self._dimensions = self._dimensions or len(vector)
            if len(vector) != self._dimensions:
                raise self._unusable(f"vectors of {self._dimensions} and of {len(vector)} numbers")
        return vectors

    def _unusable(self, why: str) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"{self._endpoint.name} gave no usable vectors for the model "
            f"{self._endpoint.model!r}: {why}. Check MEMORY_EMBEDDER_URL and "
            "MEMORY_EMBEDDER_MODEL."
        )


class OpenAiEmbedder(_Endpoint):
    """A server that speaks OpenAI's interface; its URL ends where `/embeddings` begins."""

    _kind = "openai"
    _path = "/embeddings"

    def _extract(self, answer: object) -> list[object]:
        items = [_require_dict(item) for item in _require_list(_require_dict(answer).get("data"))]
        places = [item.get("index", at) for at, item in enumerate(items)]
        by_place = dict(zip(places, items, strict=True))
        if set(by_place) != set(range(len(items))):
            raise ValueError(places)
        return [by_place[at].get("embedding") for at in range(len(items))]


class OllamaEmbedder(_Endpoint):
    """Ollama, or what speaks its own interface."""

    _kind = "ollama"
    _path = "/api/embed"

    def _extract(self, answer: object) -> list[object]:
        return _require_list(_require_dict(answer).get("embeddings"))


def _require_dict(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(type(value))
    return cast("dict[str, object]", value)


def _require_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(type(value))
    return cast("list[object]", value)


def _cut_into_stretches(text: str) -> list[str]:
    """The text in overlapping stretches: at least one, and none of them empty."""
    whole = text.encode(errors="replace").decode() or " "  # no surrogates: JSON has none
    starts = range(
        0, max(1, len(whole) - EMBED_OVERLAP_CHARS), EMBED_CHUNK_CHARS - EMBED_OVERLAP_CHARS
    )
    return [whole[start : start + EMBED_CHUNK_CHARS] for start in starts]


def _normalise(value: object) -> list[float]:
    """The vector with length 1.

    Raises:
        ValueError, TypeError, OverflowError: it is no vector, or has no direction.
    """
    numbers = _require_list(value)
    if not 0 < len(numbers) <= EMBED_DIMENSIONS_MAX:
        raise ValueError(len(numbers))
    vector: list[float] = []
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError(type(number))
        vector.append(float(number))
    length = math.hypot(*vector)
    if not 0 < length < math.inf:  # true of no nan either
        raise ValueError(length)
    return [number / length for number in vector]


def _to_int8(vector: Sequence[float]) -> bytes:
    return struct.pack(f"{len(vector)}b", *(round(number * _INT8_MAX) for number in vector))
