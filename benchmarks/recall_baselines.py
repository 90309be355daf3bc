"""What others do, over the same texts: full text, keywords, pooled vectors, and a fusion."""

import re
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from operator import mul
from pathlib import Path
from typing import Any, Final

from recall_metrics import K
from recall_runs import Answer
from recall_sets import Conversation

__all__ = ["FULL_TEXT", "FUSED", "GREP", "POOLED", "STOP_WORDS", "baselines", "rank_texts"]

FULL_TEXT: Final = "FTS5 OR, porter"
GREP: Final = "grep, keywords counted"
POOLED: Final = "MiniLM pooled"
FUSED: Final = "RRF(60) of both"

_DEPTH: Final = 200
"""How far down the two lists are fused."""
_OFFSET: Final = 60
_WORD: Final = re.compile(r"\w+")
STOP_WORDS: Final = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can
    could d did do does doing don down during each few for from further had has have having he her
    here hers him his how i if in into is it its just ll m may me might more most must my no nor not
    now of off on once only or other our ours out over own re s same shall she should so some such t
    than that the their them then there these they this those through to too under until up us ve
    very was we were what when where which while who whom why will with would you your yours
    """.split()  # noqa: SIM905  # a text that wraps reads better than a list of quotes
)


def baselines(conversation: Conversation, model: Path | None) -> dict[str, dict[str, Answer]]:
    """By baseline and question: the first ten. Without a model there are no vectors."""
    asked = [question for question in conversation.questions if question.gold]
    texts = {unit.id: unit.text for unit in conversation.units}
    return {
        name: {
            question.id: Answer(tuple(order[:K]))
            for question, order in zip(asked, orders, strict=True)
        }
        for name, orders in rank_texts(texts, [each.text for each in asked], model).items()
    }


def rank_texts(
    texts: Mapping[str, str], questions: Sequence[str], model: Path | None
) -> dict[str, list[list[str]]]:
    """By baseline: for each question the ids of the texts, best first; ties in their order."""
    lists = {FULL_TEXT: _full_text(texts, questions), GREP: _grep(texts, questions)}
    if model is not None:
        pooled = _pooled(texts, questions, model)
        pairs = zip(lists[FULL_TEXT], pooled, strict=True)
        lists |= {POOLED: pooled, FUSED: [_fused(*pair) for pair in pairs]}
    return lists


def _full_text(texts: Mapping[str, str], questions: Sequence[str]) -> list[list[str]]:
    """Any word of the question but stop words, by BM25."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE unit USING fts5 (text, tokenize = 'porter unicode61')")
    table.executemany("INSERT INTO unit VALUES (?)", [(text,) for text in texts.values()])
    ids = list(texts)
    lists: list[list[str]] = []
    for question in questions:
        rows = table.execute(
            "SELECT rowid FROM unit WHERE unit MATCH ? ORDER BY rank, rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in _keywords(question)) or '""', _DEPTH),
        )
        lists.append([ids[number - 1] for (number,) in rows])
    table.close()
    return lists


def _grep(texts: Mapping[str, str], questions: Sequence[str]) -> list[list[str]]:
    """By how many of the question's words occur anywhere in the text, in any case."""
    folded = [(unit, text.casefold()) for unit, text in texts.items()]
    lists: list[list[str]] = []
    for question in questions:
        words = {word.casefold() for word in _keywords(question)}
        counts = [(sum(word in text for word in words), unit) for unit, text in folded]
        found = sorted((pair for pair in counts if pair[0]), key=lambda pair: -pair[0])
        lists.append([unit for _, unit in found[:_DEPTH]])
    return lists


def _keywords(question: str) -> list[str]:
    """The words of a question but stop words; all of them if it has no others."""
    words = _WORD.findall(question)
    return [word for word in words if word.casefold() not in STOP_WORDS] or words


def _pooled(texts: Mapping[str, str], questions: Sequence[str], model: Path) -> list[list[str]]:
    """The cosine of question and text; of a long text, its best stretch."""
    encoder = _encoder(model)
    units = [(unit, _chunks(model, text)) for unit, text in texts.items()]
    lists: list[list[str]] = []
    for question in questions:
        asked = array("f", encoder.question(question).pooled)
        near = [
            (max(sum(map(mul, asked, chunk)) for chunk in chunks), unit) for unit, chunks in units
        ]
        near.sort(key=lambda pair: -pair[0])
        lists.append([unit for _, unit in near[:_DEPTH]])
    return lists


@cache
def _encoder(model: Path) -> Any:
    return import_module("memory_mcp.models.encoder").Encoder(model)


@cache
def _chunks(model: Path, text: str) -> "tuple[array[int], ...]":
    """The vectors of a text, which several stores may hold."""
    return tuple(array("b", chunk.pooled) for chunk in _encoder(model).passage(text))


def _fused(*lists: Sequence[str]) -> list[str]:
    """Reciprocal rank fusion: an id earns 1 / (60 + place) from each list."""
    earned: dict[str, float] = {}
    for units in lists:
        for place, unit in enumerate(units, 1):
            earned[unit] = earned.get(unit, 0.0) + 1 / (_OFFSET + place)
    return sorted(earned, key=lambda unit: -earned[unit])
