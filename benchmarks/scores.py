"""Do scores mean the same for a word, a phrase and a question, and what does nothing get?

    python benchmarks/scores.py [--model <MEMORY_HOME>/models/minilm] [--phrasings FILE]

*Spread*: five phrasings of one question (`data/open/phrasings.json`), from a word to a long
request; the highest score of the memory that answers it less the lowest. *Unanswered*: the first
result's score for questions that nothing in the store answers (the open statements, and the dev
half of `agent`). *Told apart*: how often the answer of a question scores above the best result of
an unanswered one; no scale changes this figure. Everything is computed in memory, by the ranking's
own code.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from families import Store, Vectors
from recall_sets import Conversation, Question, Unit, load
from report import Table, machine, show

_DATA: Final = Path(__file__).with_name("data")
_STATEMENTS: Final = ("open/statements_fintech", "open/statements_biolab")
_LIKELY: Final = 0.5


def measure_spreads(vectors: Vectors | None, file: Path) -> Table:
    """The spread of each wording, by whether it shares words with the memory."""
    cases: list[Any] = json.loads(file.read_text("utf-8"))
    spreads: dict[str, list[float]] = {}
    for case in cases:
        texts = (case["memory"], *case["distractors"])
        units = tuple(Unit(str(place), text, text) for place, text in enumerate(texts))
        store = Store(Conversation(case["id"], units, ()), vectors)
        scores = [_score(store, phrasing).get("0", 0.0) for phrasing in case["phrasings"]]
        spreads.setdefault(case["wording"], []).append(max(scores) - min(scores))
    table = Table("Five phrasings of one question", ("wording", "questions", "spread", "widest"))
    for wording, found in spreads.items():
        table.add(wording, len(found), fmean(found), max(found))
    return table


def measure_unanswered(vectors: Vectors | None) -> Table:
    """What nothing answers, beside what something does."""
    nothing: list[float] = []
    answers: list[float] = []
    for name in (*_STATEMENTS, "agent"):
        path = _DATA / f"{name}.json"
        content: Any = json.loads(path.read_text("utf-8"))
        more: list[str] = content.get("unanswered", [])
        for conversation in load(path):
            store = Store(conversation, vectors)
            asked = [each for each in conversation.questions if each.split in ("", "dev")]
            unanswered = [*more, *(each.text for each in asked if not each.gold)]
            nothing += [max(_score(store, text).values(), default=0.0) for text in unanswered]
            answers += [_score_best(store, each) for each in asked if each.gold]
    table = Table("What nothing answers", ("questions", f"from {_LIKELY}", "highest", "told apart"))
    likely = sum(score >= _LIKELY for score in nothing)
    table.add(len(nothing), likely, max(nothing), _tell_apart(answers, nothing))
    return table


def _score_best(store: Store, asked: Question) -> float:
    found = _score(store, asked.text)
    return max(found.get(id_, 0.0) for id_ in asked.gold)


def _score(store: Store, text: str) -> dict[str, float]:
    return {str(one.id): one.score for one in store.find(text).ranked()}


def _tell_apart(answers: Sequence[float], nothing: Sequence[float]) -> float:
    return fmean(float(one > other) + (one == other) / 2 for one in answers for other in nothing)


def main() -> None:
    """Measure, print."""
    reader = argparse.ArgumentParser(description="What scores mean.")
    reader.add_argument("--model", type=Path)
    reader.add_argument("--kept", type=Path, default=Path("vectors.pickle"))
    reader.add_argument("--phrasings", type=Path, default=_DATA / "open/phrasings.json")
    given = reader.parse_args()
    vectors = Vectors(given.model, given.kept) if given.model else None
    show(machine(Path.cwd()))
    show(measure_spreads(vectors, given.phrasings))
    show(measure_unanswered(vectors))
    if vectors:
        vectors.keep()


if __name__ == "__main__":
    main()
