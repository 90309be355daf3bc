"""Embedders behind an address (OpenAI's interface and Ollama's), and the one that is missing.

A server gives one vector for each stretch of text and none for its tokens. Its answer counts only
if it holds a finite vector for every text, all of one dimension. Messages may name the server,
never the key. Needs neither numpy nor the libraries of local models.
"""

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import ClassVar, Final, NoReturn, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from memory_mcp.domain.limits import (
    EMBED_ANSWER_BYTES_MAX,
    EMBED_BATCH_MAX,
    EMBED_CHUNK_CHARS,
    EMBED_DIMENSIONS_MAX,
    EMBED_OVERLAP_CHARS,
    EMBED_QUESTION_SECONDS_MAX,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS_MAX,
)
from memory_mcp.domain.search import Chunk, Passage, QueryVectors
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.asking import Asking, Errand


class AbsentEmbedder:
    """An embedder that is not installed: every call raises an error that says what is missing."""

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self.why = why

    @property
    def here(self) -> bool:
        return False

    @property
    def identity(self) -> str:
        return f"{self._name}/absent"

    async def passages(self, texts: Sequence[str]) -> list[Passage]:
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

_ERRAND: Final = Errand(
    gives="vectors",
    url="MEMORY_EMBEDDER_URL",
    model="MEMORY_EMBEDDER_MODEL",
    key="MEMORY_EMBEDDER_API_KEY",
    answer_bytes_max=EMBED_ANSWER_BYTES_MAX,
)


class _Endpoint(ABC):
    """What both have in common: stretches of text, batches of them, and answers that are judged.

    An `Embedder`; `seconds` bounds each request, `question_seconds` that of a question.
    """

    _kind: ClassVar[str]
    _path: ClassVar[str]

    def __init__(
        self,
        url: str,
        model: str,
        key: SecretStr | None = None,
        *,
        seconds: float = EMBED_SECONDS_MAX,
        question_seconds: float = EMBED_QUESTION_SECONDS_MAX,
        retry_seconds: float = EMBED_RETRY_SECONDS,
    ) -> None:
        self._asking = Asking(url, key, retry_seconds, _ERRAND)
        self._place = urlsplit(url).netloc
        self._model = model
        self._seconds = seconds
        self._question_seconds = question_seconds
        self._dimensions = 0

    @property
    def here(self) -> bool:
        return False

    @property
    def identity(self) -> str:
        return f"{self._kind}/{self._place}/{self._model}"

    async def passages(self, texts: Sequence[str]) -> list[Passage]:
        cut = [_stretches(text) for text in texts]
        chunks: list[Chunk] = []
        for batch in _batches([stretch for stretches in cut for stretch in stretches]):
            vectors = await self._vectors(batch, self._seconds)
            chunks += [Chunk(_int8(vector)) for vector in vectors]
        rest = iter(chunks)
        return [tuple(islice(rest, len(stretches))) for stretches in cut]

    async def question(self, text: str) -> QueryVectors:
        (vector,) = await self._vectors([_stretches(text)[0]], self._question_seconds)
        return QueryVectors(struct.pack(f"<{len(vector)}f", *vector))

    async def aclose(self) -> None:
        await self._asking.aclose()

    @abstractmethod
    def _found(self, answer: object) -> list[object]:
        """The vectors in an answer, in the order of the texts; an error if it has none."""

    async def _vectors(self, texts: Sequence[str], seconds: float) -> list[list[float]]:
        answer = await self._asking.ask(
            self._path, {"model": self._model, "input": list(texts)}, seconds
        )
        self._asking.served()
        try:
            found = [_unit(vector) for vector in self._found(answer)]
        except (ValueError, TypeError, OverflowError) as error:
            raise self._nonsense("its answer holds something that is no vector") from error
        if len(found) != len(texts):
            raise self._nonsense(f"{len(found)} vectors for {len(texts)} texts")
        for vector in found:
            self._dimensions = self._dimensions or len(vector)
            if len(vector) != self._dimensions:
                raise self._nonsense(f"vectors of {self._dimensions} and of {len(vector)} numbers")
        return found

    def _nonsense(self, what: str) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"{self._place} gave no usable vectors for the model {self._model!r}: {what}. Check "
            "MEMORY_EMBEDDER_URL and MEMORY_EMBEDDER_MODEL."
        )


class OpenAiEmbedder(_Endpoint):
    """A server that speaks OpenAI's interface; its URL ends where `/embeddings` begins."""

    _kind = "openai"
    _path = "/embeddings"

    def _found(self, answer: object) -> list[object]:
        items = [_fields(item) for item in _rows(_fields(answer).get("data"))]
        places = [item.get("index", at) for at, item in enumerate(items)]
        by_place = dict(zip(places, items, strict=True))
        if set(by_place) != set(range(len(items))):
            raise ValueError(places)
        return [by_place[at].get("embedding") for at in range(len(items))]


class OllamaEmbedder(_Endpoint):
    """Ollama, or what speaks its own interface."""

    _kind = "ollama"
    _path = "/api/embed"

    def _found(self, answer: object) -> list[object]:
        return _rows(_fields(answer).get("embeddings"))


def _fields(given: object) -> dict[str, object]:
    if not isinstance(given, dict):
        raise TypeError(type(given))
    return cast("dict[str, object]", given)


def _rows(given: object) -> list[object]:
    if not isinstance(given, list):
        raise TypeError(type(given))
    return cast("list[object]", given)


def _stretches(text: str) -> list[str]:
    """The text in pieces that overlap; at least one, and none without a character."""
    whole = text.encode(errors="replace").decode() or " "  # no surrogates: JSON has none
    starts = range(
        0, max(1, len(whole) - EMBED_OVERLAP_CHARS), EMBED_CHUNK_CHARS - EMBED_OVERLAP_CHARS
    )
    return [whole[start : start + EMBED_CHUNK_CHARS] for start in starts]


def _batches(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[at : at + EMBED_BATCH_MAX] for at in range(0, len(texts), EMBED_BATCH_MAX)]


def _unit(given: object) -> list[float]:
    """The vector, normalised.

    Raises:
        ValueError, TypeError, OverflowError: it is none, or has no direction.
    """
    numbers = _rows(given)
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


def _int8(vector: Sequence[float]) -> bytes:
    return struct.pack(f"{len(vector)}b", *(round(number * _INT8_MAX) for number in vector))
