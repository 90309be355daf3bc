"""A converted model in memory: text to vectors, synchronously and from any thread.

One text at a time: nothing is padded, so its vectors do not depend on other texts. One pass gives
the vector of a stretch of text and those of its tokens. The vectors of stop words and punctuation
are dropped: they are half of all tokens, and on the sets of benchmarks/ as much is found without.

Imports numpy, onnxruntime and tokenizers: only the first use of a model imports this module.
"""

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, cast

import numpy as np
import onnxruntime as _onnxruntime  # pyright: ignore[reportMissingTypeStubs]  # has none
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from memory_mcp.domain.limits import CHUNK_PIECES_MAX, CHUNK_PIECES_OVERLAP
from memory_mcp.domain.search import Chunk, PassageVectors, QueryVectors
from memory_mcp.models.forms import Form, load_form
from memory_mcp.models.local import GRAPH, INPUT, MEAN, OUTPUT, TOKENIZER

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
_BEGINS: Final = "\u2581"
"""Begins a piece that begins a word, in vocabularies of the other sort."""


def find_stop_pieces(vocabulary: Mapping[str, int]) -> frozenset[int]:
    """The ids of stop words and punctuation in a vocabulary."""
    marked = f"{_BEGINS}the" in vocabulary
    return frozenset(
        number for piece, number in vocabulary.items() if _is_stop_piece(piece, marked=marked)
    )


def _is_stop_piece(piece: str, *, marked: bool) -> bool:
    if not any(map(str.isalnum, piece)):
        return marked or not piece.startswith(_CONTINUES)
    if marked:
        return piece.startswith(_BEGINS) and piece[1:].casefold() in _STOP_WORDS
    return piece in _STOP_WORDS


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
        form = load_form(folder)
        self._model = _Model(folder / GRAPH, (folder / TOKENIZER).read_bytes(), form)
        self._means = _Means.read((folder / MEAN).read_bytes(), form)

    def passage(self, text: str) -> PassageVectors:
        """The vectors of a memory, chunk by chunk."""
        return tuple(self._chunk(encoding) for encoding in self._model.pieces(text))

    def question(self, text: str) -> QueryVectors:
        """The vectors of a question, cut to one chunk."""
        encoding = next(self._model.pieces(text))
        pooled, states = self._model.states(encoding, self._model.query)
        places = _find_own_pieces(encoding)
        tokens = _normalise(_normalise(states[places]) - self._means.token)
        return QueryVectors(
            pooled=_to_bytes(_centre(pooled, self._means.query)),
            tokens=_to_bytes(tokens),
            spans=tuple(encoding.offsets[place] for place in places),
        )

    def _chunk(self, encoding: Encoding) -> Chunk:
        pooled, states = self._model.states(encoding, self._model.passage)
        pooled = _centre(pooled, self._means.passage)
        places = _find_own_pieces(encoding)
        content = [place for place in places if encoding.ids[place] not in self._model.stop_pieces]
        tokens = _normalise(states[content or places]) - self._means.token
        return Chunk(
            pooled=np.rint(pooled * _INT8_MAX).astype(np.int8).tobytes(),
            tokens=np.packbits(tokens > 0, axis=-1).tobytes(),
        )


class _Model:
    """The vendor's model: pieces of text in, one state for each out.

    `query` and `passage` are the ids of what stands before a text.
    """

    def __init__(self, graph: Path | bytes, tokenizer: bytes, form: Form) -> None:
        self._session = _open_session(graph)
        self._tokenizer = _load_tokenizer(tokenizer)
        self._pooling = form.pooling
        self.query = _encode_prefix(self._tokenizer, form.query)
        self.passage = _encode_prefix(self._tokenizer, form.passage)
        room = CHUNK_PIECES_MAX - max(len(self.query), len(self.passage))
        truncating: Any = self._tokenizer  # its options have no types
        truncating.enable_truncation(room, stride=CHUNK_PIECES_OVERLAP)
        self.stop_pieces = find_stop_pieces(self._tokenizer.get_vocab())

    def pieces(self, text: str) -> Iterator[Encoding]:
        """The text as chunks of pieces, at least one."""
        whole = self._tokenizer.encode(text.encode(errors="replace").decode())  # no surrogates
        yield whole
        yield from whole.overflowing

    def states(self, encoding: Encoding, prefix: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """The vector of a whole chunk, of length 1, and the states of its pieces.

        The prefix goes behind the mark of the beginning.
        """
        ids = np.array([[*encoding.ids[:1], *prefix, *encoding.ids[1:]]], dtype=np.int64)
        states = cast("FloatArray", self._session.run([OUTPUT], {INPUT: ids})[0])[0]
        pooled = states[0] if self._pooling == "first" else states.mean(axis=0)
        own = np.concatenate([states[:1], states[1 + len(prefix) :]]) if prefix else states
        return _normalise(pooled), own


class _Means(NamedTuple):
    """What vectors of unrelated texts have in common: tokens, whole memories, whole questions."""

    token: FloatArray
    passage: FloatArray
    query: FloatArray

    @classmethod
    def read(cls, data: bytes, form: Form) -> Self:
        rows = np.frombuffer(data, "<f4")
        if not form.centred:
            return cls(rows, np.zeros_like(rows), np.zeros_like(rows))
        return cls(*rows.reshape(len(cls._fields), -1))


def compute_means(graph: bytes, tokenizer: bytes, form: Form, texts: Sequence[str]) -> bytes:
    """The means of the normalised vectors of these texts: the content of `MEAN`."""
    model = _Model(graph, tokenizer, form)
    encodings = [next(model.pieces(text)) for text in texts]
    read = [model.states(each, model.passage) for each in encodings]
    tokens = [
        _normalise(states[_find_own_pieces(each)])
        for (_, states), each in zip(read, encodings, strict=True)
    ]
    rows = [np.concatenate(tokens).mean(axis=0)]
    if form.centred:
        asked = [model.states(each, model.query)[0] for each in encodings]
        rows += [np.mean([pooled for pooled, _ in read], axis=0), np.mean(asked, axis=0)]
    return _to_bytes(np.concatenate(rows))


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
    return tokenizer


def _encode_prefix(tokenizer: Tokenizer, prefix: str) -> list[int]:
    """The ids of a prefix. One that is a piece of its own, as ColBERT's marks are, stays whole."""
    whole = tokenizer.token_to_id(prefix.strip()) if prefix else None
    if whole is not None:
        return [whole]
    return tokenizer.encode(prefix, add_special_tokens=False).ids if prefix else []


def _find_own_pieces(encoding: Encoding) -> list[int]:
    """The positions of the text's pieces, without the marks around them."""
    return [place for place, mark in enumerate(encoding.special_tokens_mask) if not mark]


def _normalise(vectors: FloatArray) -> FloatArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _TINY)


def _centre(pooled: FloatArray, mean: FloatArray) -> FloatArray:
    return _normalise(pooled - mean) if mean.any() else pooled


def release_memory() -> None:
    """Return freed memory to the system, where the C library would keep it (glibc)."""
    trim = getattr(_C_LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)


def _to_bytes(vectors: FloatArray) -> bytes:
    return vectors.astype("<f4").tobytes()
