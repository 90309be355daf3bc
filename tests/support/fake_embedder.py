"""An embedder that tests own: words are vectors by their letters, synonyms are one word.

It counts what it is asked, fails when told to, and waits when told to. `meaningful` makes workspace
over real files that recall by it.
"""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from fakes import SCOPE, FakeClock, FakeIds, FakeProvenance
from numpy.typing import NDArray

from memory_mcp.build import BuiltWorkspace, build_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.domain.search import Chunk, PassageVectors, QueryVectors
from memory_mcp.engine.workspace import MemoryBank, Policy, SemanticIndex, Workspace
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.ports import Embedder

__all__ = ["SYNONYMS", "FakeEmbedder", "give_meaning", "meaningful", "with_meaning"]

SYNONYMS: Final = (
    ("car", "automobile", "vehicle"),
    ("doctor", "physician"),
    ("database", "postgres", "storage"),
)
DIMENSIONS: Final = 64
CHUNK_WORDS: Final = 40
CHUNK_OVERLAP: Final = 5

_WORD: Final = re.compile(r"\w+")
_INT8_MAX: Final = 127

_Array = NDArray[np.float32]


class FakeEmbedder:
    """Implements `ports.Embedder`.

    `encoded` counts each text it made vectors of, `asked` the questions. While `failing` holds a
    sentence, it fails with it; a text with `refused` in it fails with all that come along. While
    `gate` is not set, whoever asks for passages waits.
    """

    def __init__(
        self,
        name: str = "fake/1",
        synonyms: Iterable[Sequence[str]] = SYNONYMS,
        *,
        tokens: bool = True,
    ) -> None:
        self.encoded: Counter[str] = Counter()
        self.asked: list[str] = []
        self.failing = ""
        self.refused = ""
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = asyncio.Event()
        self.closed = False
        self._name = name
        self._tokens = tokens
        self._same = {word: words[0] for words in synonyms for word in words}

    @property
    def here(self) -> bool:
        return False  # its figures are no likelihoods: nothing is to be merged by them

    @property
    def identity(self) -> str:
        return self._name

    async def passages(self, texts: Sequence[str]) -> list[PassageVectors]:
        if texts:  # nothing at all is what one that is only down for now is asked at the start
            self._fail()
            self.waiting.set()
            await self.gate.wait()
            self._fail()
        if self.refused and any(self.refused in text for text in texts):
            raise ModelUnavailableError("One of these texts is refused.")
        self.encoded.update(texts)
        return [self._passage(text) for text in texts]

    async def question(self, text: str) -> QueryVectors:
        self._fail()
        self.asked.append(text)
        words = list(_WORD.finditer(text))
        rows = self._rows([word[0] for word in words])
        return QueryVectors(
            pooled=_little(_normalised(rows.sum(axis=0))),
            tokens=_little(_normalised(rows)) if self._tokens and words else b"",
            spans=tuple(word.span() for word in words) if self._tokens else (),
        )

    async def aclose(self) -> None:
        self.closed = True

    def _fail(self) -> None:
        if self.failing:
            raise ModelUnavailableError(self.failing)

    def _passage(self, text: str) -> PassageVectors:
        words = _WORD.findall(text)
        step = CHUNK_WORDS - CHUNK_OVERLAP
        starts = range(0, max(1, len(words) - CHUNK_OVERLAP), step)
        return tuple(self._chunk(words[start : start + CHUNK_WORDS]) for start in starts)

    def _chunk(self, words: Sequence[str]) -> Chunk:
        rows = self._rows(words)
        pooled = np.rint(_normalised(rows.sum(axis=0)) * _INT8_MAX).astype(np.int8).tobytes()
        tokens = np.packbits(rows > 0, axis=-1).tobytes() if self._tokens else b""
        return Chunk(pooled, tokens)

    def _rows(self, words: Sequence[str]) -> _Array:
        """A row of ones and minus ones for each word; a text without words is one as well."""
        rows = [self._vector(word.casefold()) for word in words] or [self._vector("")]
        return np.array(rows, np.float32)

    def _vector(self, word: str) -> _Array:
        said = f"{self._name} {self._same.get(word, word)}".encode(errors="surrogatepass")
        digest = hashlib.blake2b(said, digest_size=DIMENSIONS // 8).digest()
        return np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float32) * 2 - 1


def _normalised(vectors: _Array) -> _Array:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.maximum(lengths, 1e-6)).astype(np.float32)


def _little(vectors: _Array) -> bytes:
    return vectors.astype("<f4").tobytes()


def meaningful(
    folder: Path,
    embedder: Embedder,
    clock: FakeClock | None = None,
    ids: FakeIds | None = None,
    *,
    policy: Policy | None = None,
) -> Workspace:
    """A workspace over real files below the folder that recall by meaning.

    Called twice for one folder it gives two processes' worth. Close with `fakes.close_workspace`.
    """
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    built = build_workspace(Settings(project_dir=project, home=folder / "home", user="ann"))
    return replace(
        with_meaning(built, embedder),
        clock=clock or FakeClock(),
        ids=ids or FakeIds(),
        provenance=FakeProvenance(),
        caller=replace(built.workspace.caller, scope=SCOPE),
        policy=policy or Policy(approval="auto"),
    )


def with_meaning(built: BuiltWorkspace, embedder: Embedder) -> Workspace:
    """The workspace as they were built, with vectors in the files of their indexes."""
    wake = asyncio.Event()
    project, user = (
        give_meaning(bank, SemanticIndex(embedder, vectors, wake))
        for bank, vectors in zip(built.workspace.banks, built.stores.vectors, strict=True)
    )
    return replace(built.workspace, project=project, user=user)


def give_meaning(bank: MemoryBank, meaning: SemanticIndex | None) -> MemoryBank:
    """The bank with other vectors, or with none."""
    return replace(bank, meaning=meaning)
