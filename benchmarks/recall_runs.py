"""A conversation told to the real server, session by session, and what it answers when asked.

Each conversation gets a project and a home of its own. Every session is a server process of its
own with that session's id, as clients work; the questions are asked of one more.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from recall_metrics import K
from recall_sets import Conversation, Question, Unit
from wire import SERVER, Wire, started

__all__ = ["EMBEDDERS", "Answer", "Run", "asked", "lend_models", "told", "wait_until_encoded"]

EMBEDDERS: Final[Mapping[str, str]] = {"lexical": "none", "semantic": "minilm"}
"""By mode: the value of MEMORY_EMBEDDER."""

_NOT_YET: Final = "not encoded yet"
_ENCODING_SECONDS_MAX: Final = 3_600.0
_POLL_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Answer:
    """The units found for a question, best first, with the score of each."""

    units: tuple[str, ...]
    scores: tuple[float, ...] = ()


@dataclass
class Run:
    """What one system answered, by question, and how long it took (ms)."""

    system: str
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    modes: set[str] = field(default_factory=set[str])
    """What the server said it ran."""
    adds: list[float] = field(default_factory=list[float])
    searches: list[float] = field(default_factory=list[float])
    starts: list[float] = field(default_factory=list[float])
    encoding: float = 0.0
    """Seconds that were waited for the embedder after the last add."""


def told(conversation: Conversation, run: Run, folder: Path, mode: str) -> dict[str, list[str]]:
    """Add every unit, a server for each session; the units by the id of the memory they became.

    Several units are one memory if the server takes them for the same.
    """
    units_of: dict[str, list[str]] = {}
    for session, units in groupby(conversation.units, key=lambda unit: unit.session):
        with started(SERVER, folder, **_settings(mode, session or "only")) as wire:
            _greet(wire, run)
            for unit in units:
                begin = time.perf_counter()
                said = wire.call("add_memory", **_arguments(unit))["structuredContent"]
                run.adds.append((time.perf_counter() - begin) * 1e3)
                if not said["success"]:
                    raise AssertionError(said)
                units_of.setdefault(said["memoryId"], []).append(unit.id)
    return units_of


def asked(
    questions: Iterable[Question],
    run: Run,
    folder: Path,
    mode: str,
    units_of: Mapping[str, list[str]],
) -> dict[str, Answer]:
    """Ask one server all of these; the answers by question."""
    answers: dict[str, Answer] = {}
    with started(SERVER, folder, **_settings(mode, "questions")) as wire:
        _greet(wire, run)
        if mode == "semantic":
            run.encoding += wait_until_encoded(wire)
        for question in questions:
            begin = time.perf_counter()
            said = _search(wire, question.text)
            run.searches.append((time.perf_counter() - begin) * 1e3)
            run.modes.add(said["mode"])
            hits = [
                (unit, hit["score"])
                for hit in said["results"]
                for unit in units_of[hit["memoryId"]]
            ]
            answers[question.id] = Answer(
                tuple(unit for unit, _ in hits), tuple(score for _, score in hits)
            )
    return answers


def lend_models(lender: Path | None, home: Path) -> None:
    """Let a fresh home use the models of another."""
    home.mkdir(parents=True, exist_ok=True)
    if lender:
        (home / "models").symlink_to((lender / "models").absolute(), target_is_directory=True)


def wait_until_encoded(wire: Wire) -> float:
    """Return when every memory has its vectors; the seconds that took.

    The one place that knows how that is seen: a search says so as long as some are missing.
    """
    begin = time.perf_counter()
    while _NOT_YET in _search(wire, "anything").get("message", ""):
        if time.perf_counter() - begin > _ENCODING_SECONDS_MAX:
            raise AssertionError("the memories were not encoded in time")
        time.sleep(_POLL_SECONDS)
    return time.perf_counter() - begin


def _search(wire: Wire, query: str) -> dict[str, Any]:
    said = wire.call("search_memories", query=query, limit=K)["structuredContent"]
    if not said["success"]:
        raise AssertionError(said)
    return said


def _greet(wire: Wire, run: Run) -> None:
    begin = time.perf_counter()
    wire.hello()
    run.starts.append((time.perf_counter() - begin) * 1e3)
    wire.ready()


def _settings(mode: str, session: str) -> dict[str, str]:
    return {"MEMORY_EMBEDDER": EMBEDDERS[mode], "CLAUDE_CODE_SESSION_ID": session}


def _arguments(unit: Unit) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if unit.category:
        about["category"] = unit.category
    if unit.tags:
        about["tags"] = list(unit.tags)
    return {"content": unit.text, "kind": unit.kind, **({"metadata": about} if about else {})}
