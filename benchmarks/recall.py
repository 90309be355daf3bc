"""How well the memory finds what was told, through the real tools.

    python benchmarks/recall.py FILE… [--variant turns|facts|both] [--modes lexical,semantic]

FILE is of LoCoMo's form, or one of our own sets in benchmarks/data. What was told is added by
`add_memory` to a fresh project, then every question is asked of `search_memories`, with limit 10.
See benchmarks/README.md for what each figure means.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from recall_baselines import baselines
from recall_report import calibration, definitions, negatives, recall, timings
from recall_runs import EMBEDDERS, Run, asked, lend_models, told
from recall_sets import Conversation, Question, Variant, load
from report import Table, machine, show

__all__ = ["measure_recall"]


def main() -> None:
    """Measure what was asked for, and print it as it comes."""
    given = _given()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show(machine(folder))
        show(definitions())
        variants: list[str] = ["turns", "facts"] if given.variant == "both" else [given.variant]
        for variant in variants:
            every = [
                _of_split(each, given.split)
                for file in given.files
                for each in load(file, cast("Variant", variant))
            ][: given.conversations]
            own = given.files[0].stem if len(given.files) == 1 else f"{len(given.files)} files"
            title = f"{own}, {variant}" if any(each.variant for each in every) else own
            for table in measure_recall(
                title,
                every,
                folder / variant,
                modes=given.modes,
                lender=given.model_home,
                calibrate=given.calibration,
                borrow=given.negatives,
            ):
                show(table)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how well memory-mcp finds.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument(
        "--variant", choices=("turns", "facts", "both"), default="turns", help="of LoCoMo's form"
    )
    parser.add_argument("--modes", default="lexical", help="lexical, semantic or both, by comma")
    parser.add_argument("--conversations", type=int, metavar="N", help="only the first N stores")
    parser.add_argument("--split", choices=("dev", "test"), help="of our own sets")
    parser.add_argument(
        "--model-home", type=Path, metavar="DIR", help="a MEMORY_HOME with models/minilm in it"
    )
    parser.add_argument("--calibration", action="store_true", help="what a score means")
    parser.add_argument(
        "--negatives", action="store_true", help="ask each store the questions of the next"
    )
    given = parser.parse_args()
    given.modes = given.modes.split(",")
    if unknown := set(given.modes) - set(EMBEDDERS):
        parser.error(f"unknown mode: {', '.join(sorted(unknown))}; known: {', '.join(EMBEDDERS)}")
    if "semantic" in given.modes and given.model_home is None:
        parser.error("--modes semantic needs --model-home")
    return given


def measure_recall(
    title: str,
    conversations: Sequence[Conversation],
    folder: Path,
    *,
    modes: Sequence[str],
    lender: Path | None,
    calibrate: bool = False,
    borrow: bool = False,
) -> Iterable[Table]:
    """Tell and ask every conversation; the tables of recall, time, scores and wrong answers.

    Stores are asked the questions of the next one as well if they may borrow them.
    """
    model = lender / "models" / "minilm" if lender else None
    runs = {mode: Run(f"search_memories, {mode}") for mode in modes}
    strangers = {mode: Run(run.system) for mode, run in runs.items()}
    others = dict[str, Run]()
    for number, conversation in enumerate(conversations):
        borrowed = _borrowed(conversations, number) if borrow else []
        for mode, run in runs.items():
            own = folder / mode / str(number)
            lend_models(lender, own / "home")
            units_of = told(conversation, run, own, mode)
            run.answers |= asked(conversation.questions, run, own, mode, units_of)
            if borrowed:
                stranger = strangers[mode]
                stranger.answers |= asked(borrowed, stranger, own, mode, units_of)
        for name, answers in baselines(conversation, model).items():
            others.setdefault(name, Run(name)).answers |= answers
    yield recall(title, conversations, [*runs.values(), *others.values()])
    yield timings(title, list(runs.values()))
    if calibrate:
        yield from calibration(title, conversations, runs.values())
    yield from _negatives(title, conversations, list(runs.values()), list(strangers.values()))


def _negatives(
    title: str, conversations: Sequence[Conversation], runs: Sequence[Run], strangers: Sequence[Run]
) -> Iterable[Table]:
    """Of this store's own, and of the next store's if they were asked."""
    none = [q for each in conversations for q in each.questions if not q.gold]
    borrowed = [
        question
        for number in range(len(conversations))
        for question in _borrowed(conversations, number)
        if all(question.id in run.answers for run in strangers)
    ]
    rows = [
        (domain, [q for q in none if q.category == domain], run)
        for domain in dict.fromkeys(question.category for question in none)
        for run in runs
    ]
    rows += [("of the next store", borrowed, run) for run in strangers if borrowed]
    if rows:
        yield negatives(title, rows)


def _borrowed(conversations: Sequence[Conversation], number: int) -> list[Question]:
    """The questions of the next store, under ids of their own; none if there is but one."""
    if len(conversations) < 2:
        return []
    following = conversations[(number + 1) % len(conversations)]
    return [
        replace(question, id=f"{number}<{question.id}", gold=frozenset())
        for question in following.questions
    ]


def _of_split(conversation: Conversation, split: str | None) -> Conversation:
    if split is None:
        return conversation
    some = tuple(question for question in conversation.questions if question.split == split)
    return replace(conversation, questions=some)


if __name__ == "__main__":
    main()
