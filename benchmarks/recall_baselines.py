"""What others do, over the same texts: full text, pooled vectors, and the fusion of both."""

import re
import sqlite3
from array import array
from collections.abc import Sequence
from importlib import import_module
from operator import mul
from pathlib import Path
from typing import Any, Final

from recall_metrics import K
from recall_runs import Answer
from recall_sets import Conversation

__all__ = ["FULL_TEXT", "FUSED", "POOLED", "STOP_WORDS", "baselines"]

FULL_TEXT: Final = "FTS5 OR, porter"
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
    """By baseline and question: the first ten. Without a model there is only full text."""
    asked = [question for question in conversation.questions if question.gold]
    texts = [question.text for question in asked]
    lists = {FULL_TEXT: _full_text(conversation, texts)}
    if model is not None:
        lists[POOLED] = _pooled(conversation, texts, model)
        lists[FUSED] = [_fused(*pair) for pair in zip(*lists.values(), strict=True)]
    return {
        name: {
            question.id: Answer(tuple(order[:K]))
            for question, order in zip(asked, orders, strict=True)
        }
        for name, orders in lists.items()
    }


def _full_text(conversation: Conversation, questions: Sequence[str]) -> list[list[str]]:
    """Any word of the question but stop words, by BM25."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE unit USING fts5 (text, tokenize = 'porter unicode61')")
    table.executemany("INSERT INTO unit VALUES (?)", [(unit.text,) for unit in conversation.units])
    ids = [unit.id for unit in conversation.units]
    lists: list[list[str]] = []
    for question in questions:
        words = [word for word in _WORD.findall(question) if word.casefold() not in STOP_WORDS]
        query = " OR ".join(f'"{word}"' for word in words or _WORD.findall(question))
        rows = table.execute(
            "SELECT rowid FROM unit WHERE unit MATCH ? ORDER BY rank, rowid LIMIT ?",
            (query, _DEPTH),
        )
        lists.append([ids[number - 1] for (number,) in rows])
    table.close()
    return lists


def _pooled(conversation: Conversation, questions: Sequence[str], model: Path) -> list[list[str]]:
    """The cosine of question and unit; of a long unit, its best stretch."""
    encoder: Any = import_module("memory_mcp.models.encoder").Encoder(model)
    units = [
        (unit.id, [array("b", chunk.pooled) for chunk in encoder.passage(unit.text)])
        for unit in conversation.units
    ]
    lists: list[list[str]] = []
    for text in questions:
        question = array("f", encoder.question(text).pooled)
        near = [
            (max(sum(map(mul, question, chunk)) for chunk in chunks), unit)
            for unit, chunks in units
        ]
        near.sort(key=lambda pair: -pair[0])
        lists.append([unit for _, unit in near[:_DEPTH]])
    return lists


def _fused(*lists: Sequence[str]) -> list[str]:
    """Reciprocal rank fusion: an id earns 1 / (60 + place) from each list."""
    earned: dict[str, float] = {}
    for units in lists:
        for place, unit in enumerate(units, 1):
            earned[unit] = earned.get(unit, 0.0) + 1 / (_OFFSET + place)
    return sorted(earned, key=lambda unit: -earned[unit])
