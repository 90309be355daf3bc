"""A converted model in memory: text to vectors, synchronously and from any thread.

One text at a time: nothing is padded, so its vectors do not depend on other texts. One pass gives
the vector of a stretch of text and those of its tokens. The vectors of stop words and punctuation
are dropped: they are half of all tokens, and on the sets of benchmarks/ as much is found without.

Imports numpy, onnxruntime and tokenizers: only the first use of a model imports this module.
"""

import ctypes
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import onnxruntime as _onnxruntime  # pyright: ignore[reportMissingTypeStubs]  # has none
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from memory_mcp.domain.limits import CHUNK_PIECES_MAX, CHUNK_PIECES_OVERLAP
from memory_mcp.domain.search import Chunk, PassageVectors, QueryVectors
from memory_mcp.models.minilm import GRAPH, INPUT, MEAN, OUTPUT, TOKENIZER

_STOP_WORDS: Final = frozenset(
    # a text that wraps reads better than a list of quotes
    """
    a an the and or but if of to in on at by for with from as is are was were be been being am do
    does did doing have has had having i me my we us our you your he him his she her it its they
    them their this that these those there here not no so than too very just will would can could
    should what which who when where why how s t re ll ve d m
    """.split()  # noqa: SIM905
)
_CONTINUES: Final = "##"
"""Begins a piece that continues a word."""


def find_stop_pieces(vocabulary: Mapping[str, int]) -> frozenset[int]:
    """The ids of stop words and punctuation in a vocabulary."""
    return frozenset(
        number
        for piece, number in vocabulary.items()
        if not piece.startswith(_CONTINUES)
        and (piece in _STOP_WORDS or not any(map(str.isalnum, piece)))
    )


onnxruntime: Final[Any] = _onnxruntime

_C_LIBRARY: Final = None if sys.platform == "win32" else ctypes.CDLL(None)
_INT8_MAX: Final = 127
_TINY: Final = np.float32(1e-12)

FloatArray = NDArray[np.float32]


class Encoder:
    """A session of the runtime and a tokenizer; safe for several threads at once.

    Raises:
        Exception: whatever the runtime, the tokenizer or the file system raise for a damaged file.
    """

    def __init__(self, folder: Path) -> None:
        self._model = _Model(folder / GRAPH, (folder / TOKENIZER).read_bytes())
        self._mean = np.frombuffer((folder / MEAN).read_bytes(), "<f4")

    def passage(self, text: str) -> PassageVectors:
        """The vectors of a memory, chunk by chunk."""
        return tuple(self._chunk(encoding) for encoding in self._model.pieces(text))

    def question(self, text: str) -> QueryVectors:
        """The vectors of a question, cut to one chunk."""
        encoding = next(self._model.pieces(text))
        states = self._model.states(encoding)
        places = _find_own_pieces(encoding)
        tokens = _normalise(_normalise(states[places]) - self._mean)
        return QueryVectors(
            pooled=_to_bytes(_normalise(states.mean(axis=0))),
            tokens=_to_bytes(tokens),
            spans=tuple(encoding.offsets[place] for place in places),
        )

    def _chunk(self, encoding: Encoding) -> Chunk:
        states = self._model.states(encoding)
        pooled = _normalise(states.mean(axis=0))
        places = _find_own_pieces(encoding)
        content = [place for place in places if encoding.ids[place] not in self._model.stop_pieces]
        tokens = _normalise(states[content or places]) - self._mean
        return Chunk(
            pooled=np.rint(pooled * _INT8_MAX).astype(np.int8).tobytes(),
            tokens=np.packbits(tokens > 0, axis=-1).tobytes(),
        )


class _Model:
    """The vendor's model: pieces of text in, one state for each out."""

    def __init__(self, graph: Path | bytes, tokenizer: bytes) -> None:
        self._session = _open_session(graph)
        self._tokenizer = _load_tokenizer(tokenizer)
        self.stop_pieces = find_stop_pieces(self._tokenizer.get_vocab())

    def pieces(self, text: str) -> Iterator[Encoding]:
        """The text as chunks of pieces, at least one."""
        whole = self._tokenizer.encode(text.encode(errors="replace").decode())  # no surrogates
        yield whole
        yield from whole.overflowing

    def states(self, encoding: Encoding) -> FloatArray:
        ids = np.array([encoding.ids], dtype=np.int64)
        return cast("FloatArray", self._session.run([OUTPUT], {INPUT: ids})[0])[0]


def compute_mean_token(graph: bytes, tokenizer: bytes, texts: Iterable[str]) -> bytes:
    """The mean of the normalised token vectors of these texts: the content of `MEAN`."""
    model = _Model(graph, tokenizer)
    encodings = [next(model.pieces(text)) for text in texts]
    tokens = [_normalise(model.states(each)[_find_own_pieces(each)]) for each in encodings]
    return _to_bytes(np.concatenate(tokens).mean(axis=0))


def _open_session(graph: Path | bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it keeps what the longest text needed
    options.enable_mem_pattern = False
    options.log_severity_level = 4  # its own words go to stderr, ours say what to do
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _load_tokenizer(description: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(description)
    tokenizer.no_padding()  # the vendor's file says: to 128
    truncating: Any = tokenizer  # its options have no types
    truncating.enable_truncation(CHUNK_PIECES_MAX, stride=CHUNK_PIECES_OVERLAP)
    return tokenizer


def _find_own_pieces(encoding: Encoding) -> list[int]:
    """The positions of the text's pieces, without the marks around them."""
    return [place for place, mark in enumerate(encoding.special_tokens_mask) if not mark]


def _normalise(vectors: FloatArray) -> FloatArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _TINY)


def release_memory() -> None:
    """Return freed memory to the system, where the C library would keep it (glibc)."""
    trim = getattr(_C_LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)


def _to_bytes(vectors: FloatArray) -> bytes:
    return vectors.astype("<f4").tobytes()
