r"""Judges the rule for the same fact on labelled pairs, and fits the figures of its score.

    python benchmarks/pairs.py [--model <folder of the encoder>] [--fit] [--pairs] [--sets]

For each half of `tests/data/fact_pairs.json`, with and without the model: false merges (each is
named), how many pairs of each label are merged, and what share of pairs is the same fact by tenth
of the score. `--fit` prints `WORDS_ONLY` and `WITH_MEANING` of `text/merge/similarity.py`: a
logistic regression over the first half, leaning towards zero. `--pairs` shows every pair with its
verdict. `--sets` asks the rule of every two memories of each set in `benchmarks/data`, which all
differ.

Each pair of two different things is asked both ways round. Personal matters and goals count as of
an eligible category, and every old statement as recent.
"""

import argparse
import itertools
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_mcp.domain.deduplication import (
    Different,
    MergePolicy,
    Restated,
    Unsure,
    Verdict,
    choose_band,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record, Scope
from memory_mcp.ranking.analysis import extract_fields
from memory_mcp.text.merge.similarity import (
    Statement,
    compare_facts,
    measure_overlap,
    score_similarity,
)

__all__ = ["Pair", "decided", "judge", "load_pairs", "merges", "statement"]

PAIRS: Final = Path(__file__).parent.parent / "tests" / "data" / "fact_pairs.json"
ELIGIBLE: Final = ("personal", "goals")
LABELS: Final = ("same", "update", "extended", "contradiction", "different")
ATTACKS: Final = (
    "condition", "event", "many", "tense", "modifier", "direction", "sign", "alternative", "scope",
    "question", "title", "path", "pronoun", "slots", "recurring", "unit", "number", "script",
    "case",
)  # fmt: skip
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
RIDGE: Final = 0.5
"""How strongly the figures lean towards zero: a hundred pairs must not make them extreme."""

Cosine = Callable[[str, str], float]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two statements and whether they state the same fact."""

    id: str
    split: str
    label: str
    kind: str
    domain: str
    old: str
    new: str

    @property
    def same(self) -> bool:
        """Whether they should become one memory."""
        return self.label != "different"

    def turned(self) -> "Pair":
        """The same two, the other way round."""
        return Pair(
            f"{self.id} turned", self.split, self.label, self.kind, self.domain, self.new, self.old
        )


def load_pairs(path: Path = PAIRS) -> list[Pair]:
    """All pairs; those that differ also the other way round."""
    pairs = [
        Pair(**{"kind": "", **each})  # a flat object of strings
        for each in json.loads(path.read_text("utf-8"))
    ]
    return pairs + [pair.turned() for pair in pairs if not pair.same]


def statement(text: str) -> Statement:
    """A text with its terms, as the server has them."""
    return Statement(text, tuple(extract_fields(_record(text)).body.split()))


def _record(text: str, category: str = "") -> Record:
    return Record(
        id=RecordId("019c1476-4898-7000-8000-000000000000"),
        kind="fact",
        content=text,
        category=category,
        scope=Scope(user="u"),
        created_at=NOW,
    )


def judge(pair: Pair, cosine: Cosine | None) -> Verdict:
    """The decision as the server takes it."""
    near = cosine(pair.new, pair.old) if cosine else None
    return decided(statement(pair.new), statement(pair.old), near, eligible=pair.domain in ELIGIBLE)


def decided(
    new: Statement,
    old: Statement,
    cosine: float | None,
    knobs: MergePolicy | None = None,
    *,
    eligible: bool = False,
) -> Verdict:
    """What `deduplication.py` makes of a new statement beside the one that is most like it.

    `eligible`: the old one is of a category for which the lower band is open.
    """
    knobs = knobs or MergePolicy()
    category = knobs.fallback_categories[0] if eligible and knobs.fallback_categories else ""
    record = _record(old.text, category)
    value = score_similarity(new, old, cosine)
    overlap = not set(old.terms).isdisjoint(new.terms)
    share = choose_band(value, 0, record, overlap=overlap, merging=knobs, now=NOW)
    if share == "apart":
        return Unsure("too far apart")
    verdict = compare_facts(new, old)
    if share == "same" and isinstance(verdict, Unsure):
        return Restated("nearly the same")
    return verdict


def merges(verdict: Verdict) -> bool:
    """Whether two memories would become one."""
    return not isinstance(verdict, Different | Unsure)


def cosines(model: Path) -> Cosine:
    """The cosine of pooled vectors as the index keeps them; each text is encoded once."""
    from memory_mcp.models.encoder import Encoder  # noqa: PLC0415  # an extra, and slow

    encoder = Encoder(model)
    kept: dict[str, Array] = {}

    def vector(text: str) -> Array:
        if text not in kept:
            raw = np.frombuffer(encoder.passage(text)[0].pooled, np.int8).astype(float)
            kept[text] = raw / np.linalg.norm(raw)
        return kept[text]

    return lambda one, other: float(vector(one) @ vector(other))


def score(pair: Pair, cosine: Cosine | None) -> float:
    """What `similarity` says."""
    near = cosine(pair.new, pair.old) if cosine else None
    return score_similarity(statement(pair.new), statement(pair.old), near)


def show(name: str, pairs: Sequence[Pair], cosine: Cosine | None, *, every: bool) -> None:
    """The figures of one half."""
    verdicts = {pair.id: judge(pair, cosine) for pair in pairs}
    scores = {pair.id: score(pair, cosine) for pair in pairs}
    wrong = [pair for pair in pairs if not pair.same and merges(verdicts[pair.id])]
    merged = [pair for pair in pairs if merges(verdicts[pair.id])]
    right = sum(pair.same for pair in merged)
    print(f"\n{name}: {len(pairs)} pairs, {len(wrong)} false merges, {right} right ones")
    for pair in wrong:
        print(f"  FALSE {pair.id} {scores[pair.id]:.2f} {pair.old!r} / {pair.new!r}")
    for label in LABELS:
        these = [pair for pair in pairs if pair.label == label]
        count = sum(merges(verdicts[pair.id]) for pair in these)
        ruled = sum(merges(compare_facts(statement(p.new), statement(p.old))) for p in these)
        denied = sum(isinstance(verdicts[pair.id], Different) for pair in these)
        print(
            f"  {label:14} {count:3} of {len(these):3} merged ({count / len(these):4.0%}); the "
            f"rule alone would {ruled:3}; called different {denied:3}"
        )
    print("  score    pairs  same fact")
    for low, high in ((0, 0.3), (0.3, 0.6), (0.6, 0.85), (0.85, 1.01)):
        these = [pair for pair in pairs if low <= scores[pair.id] < high]
        count = sum(1.0 if pair.same else 0.5 for pair in these)
        share = sum(pair.same for pair in these) / count if these else 0
        print(f"  {low:.2f}-{min(high, 1):.2f} {len(these):4}   {share:4.0%}")
    if every:
        for pair in pairs:
            ruled = compare_facts(statement(pair.new), statement(pair.old))
            mark = "+" if merges(verdicts[pair.id]) else "-"
            print(f"  {mark} {scores[pair.id]:.2f} {pair.id} {pair.old!r} / {pair.new!r} {ruled}")


def fit(pairs: Sequence[Pair], cosine: Cosine | None) -> Array:
    """Logistic regression by Newton's method, over the pairs that the rule does not part.

    Left out are also those that were written to mislead the rule: they share far more words than
    two memories of one store usually do. A pair that is asked both ways round counts half each
    time.
    """
    rows: list[tuple[float, ...]] = []
    gold: list[float] = []
    counts: list[float] = []
    for pair in pairs:
        new, old = statement(pair.new), statement(pair.old)
        if pair.kind in ATTACKS or isinstance(compare_facts(new, old), Different):
            continue
        near = (cosine(pair.new, pair.old),) if cosine else ()
        rows.append((1.0, *measure_overlap(new, old), *near))
        gold.append(float(pair.same))
        counts.append(1.0 if pair.same else 0.5)
    x, y, count = np.array(rows), np.array(gold), np.array(counts)
    weights = np.zeros(x.shape[1])
    lean = RIDGE * np.diag([0.0, *[1.0] * (x.shape[1] - 1)])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        hessian = (x * (count * p * (1 - p))[:, None]).T @ x + lean
        weights += np.linalg.solve(hessian, x.T @ (count * (y - p)) - lean @ weights)
    return weights


def microseconds(pairs: Sequence[Pair]) -> float:
    """What score and rule take for one pair, sentences read anew each time."""
    from memory_mcp.text.merge import reading  # noqa: PLC0415  # their caches
    from memory_mcp.text.merge import similarity as scoring  # noqa: PLC0415

    asked = [(statement(pair.new), statement(pair.old)) for pair in pairs]
    total = 0.0
    for new, old in asked:
        reading.read_sentence.cache_clear()
        scoring._compare_texts.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        start = perf_counter()
        score_similarity(new, old, 0.8)
        compare_facts(new, old)
        total += perf_counter() - start
    return 1e6 * total / len(asked)


def show_sets() -> None:
    """What the rule makes of memories of one store, all of which are different ones."""
    for path in sorted((Path(__file__).parent / "data").glob("*.json")):
        memories = json.loads(path.read_text("utf-8"))["memories"]
        stated = [statement(each["content"]) for each in memories]
        merged = [
            (new.text, old.text)
            for new, old in itertools.permutations(stated, 2)
            if merges(compare_facts(new, old))
        ]
        count = len(stated) * (len(stated) - 1)
        print(f"{path.stem}: {len(merged)} of {count:,} ordered pairs called the same fact")
        for new, old in merged[:20]:
            print(f"  {old!r} / {new!r}")


def main() -> None:
    """Read, judge, print."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--model", type=Path, help="a folder that `models add minilm` made")
    reader.add_argument("--fit", action="store_true")
    reader.add_argument("--pairs", action="store_true", help="show every pair of the first half")
    reader.add_argument("--sets", action="store_true", help="and no labelled pairs (2 minutes)")
    given = reader.parse_args()
    if given.sets:
        show_sets()
        return
    pairs = load_pairs()
    dev = [pair for pair in pairs if pair.split == "dev"]
    test = [pair for pair in pairs if pair.split == "test"]
    cosine = cosines(given.model) if given.model else None
    print(f"{platform.platform()}, Python {platform.python_version()}, numpy {np.__version__}")
    print(f"score and rule of a pair take {microseconds(dev):.0f} µs")
    if given.fit:
        print("WORDS_ONLY", fit(dev, None).round(2).tolist())
        if cosine:
            print("WITH_MEANING", fit(dev, cosine).round(2).tolist())
    for name, using in (("words only", None), ("with the model", cosine)):
        if using is not None or name == "words only":
            show(f"dev, {name}", dev, using, every=given.pairs)
            show(f"test, {name}", test, using, every=False)


if __name__ == "__main__":
    main()
