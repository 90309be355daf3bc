"""The tables of recall: by category, how long it took, what a score means, what is wrong."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from recall_metrics import DEFINITIONS, figures, mean
from recall_runs import Answer, Run
from recall_sets import Conversation, Question
from report import Table, p50, p95

__all__ = ["calibration", "definitions", "negatives", "recall", "timings"]

OVERALL = "overall"


def definitions() -> Table:
    """What the columns mean."""
    table = Table("Figures", ("figure", "is"))
    for name, what in DEFINITIONS:
        table.add(name, what)
    return table


def recall(title: str, conversations: Sequence[Conversation], runs: Sequence[Run]) -> Table:
    """Every system by category; a question without an answer in the store counts elsewhere."""
    questions = [q for each in conversations for q in each.questions if q.gold]
    units = sum(len(each.units) for each in conversations)
    skipped = sum(each.skipped for each in conversations)
    note = f"{len(conversations)} store(s), {units:,} units, {len(questions):,} questions"
    if skipped:
        note += f"; {skipped} more have no evidence among the units"
    for run in runs:
        if run.modes:
            note += f"; {run.system}: the server said mode {', '.join(sorted(run.modes))}"
    columns = ("category", "system", "questions", "R@5", "R@10", "hit@10", "MRR", "nDCG@10")
    table = Table(title, columns, note)
    categories = list(dict.fromkeys(question.category for question in questions))
    for category in (OVERALL, *categories):
        some = [q for q in questions if category in (OVERALL, q.category)]
        for run in runs if some else ():
            got = mean(figures(run.answers[q.id].units, q.gold) for q in some)
            shares = (got.r5, got.r10, got.hit, got.rr, got.ndcg)
            table.add(category, run.system, len(some), *(100 * share for share in shares))
    return table


def timings(title: str, runs: Iterable[Run]) -> Table:
    """What a call took, by MCP."""
    columns = ("system", "start p50", "add p50", "add p95", "search p50", "search p95")
    table = Table(f"{title}: time (ms)", columns)
    waited = [f"{run.system}: {run.encoding:.1f} s" for run in runs if run.encoding]
    table.note = f"waited for the embedder after the last add: {', '.join(waited)}" * bool(waited)
    for run in runs:
        if len(run.adds) > 1 and len(run.searches) > 1:
            took = (p50(run.adds), p95(run.adds), p50(run.searches), p95(run.searches))
            table.add(run.system, p50(run.starts), *took)
    return table


def calibration(
    title: str, conversations: Sequence[Conversation], runs: Iterable[Run]
) -> list[Table]:
    """By tenth of the score: how many were shown with it, and how many of them were right."""
    gold = {q.id: q.gold for each in conversations for q in each.questions}
    tables: list[Table] = []
    for run in runs:
        table = Table(
            f"{title}: what a score of {run.system} means", ("score", "results", "right (%)")
        )
        tenths: list[list[bool]] = [[] for _ in range(10)]
        for question, answer in run.answers.items():
            for unit, score in zip(answer.units, answer.scores, strict=True):
                tenths[min(9, int(score * 10))].append(unit in gold[question])
        for number, right in enumerate(tenths):
            share = f"{100 * fmean(right):.1f}" if right else "-"
            table.add(f"{number / 10:.1f} to {(number + 1) / 10:.1f}", len(right), share)
        tables.append(table)
    return tables


def negatives(title: str, asked: Iterable[tuple[str, Sequence[Question], Run]]) -> Table:
    """Questions that nothing answers: how often nothing was found, and the best score if not."""
    columns = ("questions", "system", "asked", "empty (%)", "best score p50", "p95")
    note = "best score: of the first result, an empty answer counting 0"
    table = Table(f"{title}: questions that nothing answers", columns, note)
    for whose, questions, run in asked:
        best = [_best(run.answers[question.id]) for question in questions]
        empty = 100 * fmean(not run.answers[question.id].units for question in questions)
        high = p95(best) if len(best) > 1 else best[0]
        table.add(whose, run.system, len(best), empty, p50(best), high)
    return table


def _best(answer: Answer) -> float:
    return answer.scores[0] if answer.scores else 0.0
