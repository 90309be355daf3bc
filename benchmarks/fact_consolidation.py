"""FactConsolidation of MemoryAgentBench: is the newest of contradicting statements found first?

Hu et al. 2025 (MIT; facts of MQuAKE, MIT). A context is a list of numbered facts; of two that
contradict each other the one with the higher number is right. A question asks for one fact (single
hop) or for a chain of them (multi hop).

Upstream's rule, `substring_exact_match`: an answer counts if, without case, punctuation, articles
and surplus blanks, it contains the expected one. Upstream applies it to what a language model says;
here it is applied to each retrieved statement. What else is scored is ours, and for single hop
only: which statement is the newest, and whether an outdated one is shown unmarked.
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from public_runs import DISPUTED, Bench, Hit, Rows, open_store, read_items
from recall_baselines import STOP_WORDS, rank_texts
from recall_metrics import K
from report import Table

__all__ = ["ABOUT", "Context", "Question", "find_wrong_marks", "load", "measure", "score"]

ABOUT: Final[Rows] = (
    ("set", "FactConsolidation, MemoryAgentBench (Hu et al. 2025; arXiv 2507.05257; MIT)"),
    ("rule", "substring_exact_match, applied to retrieved statements: no language model answers"),
    ("answer @k", "the expected answer is in one of the first k statements"),
    ("newest @k", "the newest statement of the fact asked for is among the first k; single hop"),
    ("outdated @5", "an older statement of it is among the first 5, unmarked; of those with one"),
    ("outdated @1", "an older statement comes first, unmarked; of those with one"),
    ("marked", "statements that any answer marked, and how many of them nothing contradicts"),
    ("told", "each fact by add_memory, in order, without its number"),
)

_FACT: Final = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_WORD: Final = re.compile(r"\w+")
_NEAR: Final = 5
_RELATIONS: Final = tuple(
    f" {words} "
    for words in (
        *("is a citizen of", "is affiliated with the religion of", "is employed by"),
        *("is associated with the sport of", "is located in the city of"),
        *("is located in the continent of", "is famous for", "is married to"),
        *("was born in the city of", "died in the city of", "worked in the city of"),
        *("was created in the country of", "was founded in the city of", "was created by"),
        *("was performed by", "was developed by", "was founded by", "was written by"),
        *("was written in the language of", "speaks the language of", "works in the field of"),
        *("plays the position of", "is"),
    )
)
"""The words that stand before the value in MQuAKE's statements, the plainest last."""


@dataclass(frozen=True)
class Question:
    """What is asked; `newest` and the older statements that it outdates are known for one hop."""

    text: str
    answers: tuple[str, ...]
    newest: str = ""
    outdated: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Context:
    """One store: the statements, oldest first, and the questions about them."""

    name: str
    facts: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Score:
    """What the hits of one question are worth."""

    answer: Mapping[int, bool]
    """By k."""
    newest: Mapping[int, bool]
    outdated: Mapping[int, bool]


def load(path: Path) -> list[Context]:
    """The contexts of a file: items of MemoryAgentBench, of which other subsets are left out."""
    return [
        _context(item)
        for item in read_items(path)
        if "factconsolidation" in item["metadata"]["source"]
    ]


def measure(path: Path, bench: Bench) -> Iterable[Table]:
    """One table per context, ours beside the baselines."""
    for number, context in enumerate(load(path)):
        questions = context.questions[: bench.limit]
        texts = {str(place): fact for place, fact in enumerate(context.facts)}
        found: dict[str, list[list[Hit]]] = {}
        modes: set[str] = set()
        for mode in bench.modes:
            with open_store(bench, f"{number}", mode) as store:
                for fact in context.facts:
                    store.add(fact)
                store.wait_until_ready()
                found[f"search_memories, {mode}"] = [store.search(each.text) for each in questions]
                modes |= store.modes
        ranked = rank_texts(texts, [each.text for each in questions], bench.model)
        for name, orders in ranked.items():
            found[name] = [[Hit(unit, texts[unit]) for unit in order[:K]] for order in orders]
        yield _draw(context, questions, found, modes)


def score(question: Question, hits: Sequence[Hit]) -> Score:
    """Upstream's rule on the first k statements; the newest and the outdated one among them."""
    texts = [_normalise(hit.text) for hit in hits]
    newest = _normalise(question.newest)
    outdated = {_normalise(text) for text in question.outdated}
    right = [any(_normalise(answer) in text for answer in question.answers) for text in texts]
    current = [bool(newest) and newest in text for text in texts]
    stale = [
        not hit.marks and newest not in text and any(old in text for old in outdated)
        for hit, text in zip(hits, texts, strict=True)
    ]
    return Score(
        answer={k: any(right[:k]) for k in (1, _NEAR, K)},
        newest={k: any(current[:k]) for k in (1, _NEAR)},
        outdated={k: any(stale[:k]) for k in (1, _NEAR)},
    )


def find_wrong_marks(facts: Sequence[str], hits: Iterable[Hit]) -> tuple[int, int]:
    """How many different statements were marked, and how many of those without a rival.

    A statement is outdated if a later one gives its subject and relation another value, and
    disputed if any does. A text that is none of the facts, or of no known relation, is passed over.
    """
    places: dict[str, list[tuple[int, str]]] = {}
    """By subject and relation: the values, with the number of the statement."""
    for number, fact in enumerate(facts):
        if found := _split(fact):
            places.setdefault(found[0], []).append((number, found[1]))
    marked = {(_normalise(hit.text), mark): hit.text for hit in hits for mark in hit.marks}
    numbers = {_normalise(fact): number for number, fact in enumerate(facts)}
    judged: dict[str, bool] = {}
    for (text, mark), original in marked.items():
        found = _split(original)
        if found is None or text not in numbers:
            continue
        rivals = [number for number, value in places[found[0]] if value != found[1]]
        later = [number for number in rivals if mark == DISPUTED or number > numbers[text]]
        judged[text] = judged.get(text, False) or not later
    return len(judged), sum(judged.values())


def _context(item: Mapping[str, Any]) -> Context:
    name = item["metadata"]["source"]
    facts = tuple(text.strip() for _, text in _FACT.findall(item["context"]))
    single = "_sh_" in name
    questions: list[Question] = []
    for text, expected in zip(item["questions"], item["answers"], strict=True):
        answers = (expected,) if isinstance(expected, str) else tuple(expected)
        newest, outdated = _find_newest(text, answers, facts) if single else ("", frozenset[str]())
        questions.append(Question(text, answers, newest, outdated))
    return Context(name, facts, tuple(questions))


def _find_newest(
    question: str, answers: Sequence[str], facts: Sequence[str]
) -> tuple[str, frozenset[str]]:
    """The statement that answers, and the earlier ones that differ from it in the value only."""
    asked = _words(question)
    best: tuple[int, int, str] | None = None
    for number, fact in enumerate(facts):
        for answer in answers:
            if fact.rstrip(".").endswith(" " + answer.rstrip(".")):
                before = fact.rstrip(".").removesuffix(answer.rstrip("."))
                words = _words(before)
                near = len(words & asked) - len(words - asked)
                best = max(best or (near, number, before), (near, number, before))
    if best is None:
        return "", frozenset()
    _, number, before = best
    older = (fact for fact in facts[:number] if fact.startswith(before))
    return facts[number], frozenset(older) - {facts[number]}


def _split(fact: str) -> tuple[str, str] | None:
    """Subject and relation, and the value."""
    for relation in _RELATIONS:
        subject, found, value = fact.rpartition(relation)
        if found:
            return subject + relation, value.rstrip(".")
    return None


def _normalise(text: str) -> str:
    """Upstream's: no case, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS}


def _draw(
    context: Context,
    questions: Sequence[Question],
    found: Mapping[str, Sequence[Sequence[Hit]]],
    modes: Iterable[str],
) -> Table:
    rivals = sum(bool(question.outdated) for question in questions)
    table = Table(
        context.name,
        ("system", "answer @1", "@5", "@10", "newest @1", "@5", "outdated @5", "@1", "marked"),
        f"{len(context.facts):,} facts, {len(questions)} questions, {rivals} of them with an "
        f"outdated statement; the server said mode {', '.join(sorted(modes))}",
    )
    single = any(question.newest for question in questions)
    for system, answers in found.items():
        scores = [score(*pair) for pair in zip(questions, answers, strict=True)]
        marked, wrong = find_wrong_marks(context.facts, (hit for hits in answers for hit in hits))
        cells: list[str | float] = [
            *(_share([each.answer[k] for each in scores]) for k in (1, _NEAR, K)),
            *(_share([each.newest[k] for each in scores]) if single else "-" for k in (1, _NEAR)),
            *(f"{sum(each.outdated[k] for each in scores)} of {rivals}" for k in (_NEAR, 1)),
        ]
        table.add(system, *cells, f"{marked}, {wrong} wrongly" if marked else "0")
    return table


def _share(each: Sequence[bool]) -> float:
    return 100 * sum(each) / len(each)
