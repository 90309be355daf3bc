"""StateBench v1.0: is what still holds in the context of a question, and what no longer holds not?

Parslee-ai/statebench (MIT), release v1.0. A timeline is told event by event; a query names phrases
that an answer must mention, and phrases that it must not. Two ways of telling are measured:

- `turns`: each turn of the conversation is a memory, as for upstream's `rag_transcript`;
- `state`: each fact of the initial state and each write is one, and a supersession replaces what it
  names by `update_memory`, as for upstream's `fact_extraction_with_supersession`. The working set
  is not told: it is the client's.

Upstream asks a language model and judges its answer. Here the deterministic part of its 1.x rules
(`contains_phrase`) is applied to the context that a model would be given: the first five results,
or the text of `memory_context`. A forbidden phrase in a context is a risk, not yet a wrong answer,
so the rates are higher than upstream's, and can only be compared with those beside them. Decision
accuracy needs a model and is not measured. The 2.0 rules (word boundaries, negation, phrases left
out) are not applied.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, assert_never

from public_runs import Bench, Hit, Rows, Store, open_store, read_items
from recall_baselines import rank_texts
from report import Table

__all__ = [
    "ABOUT",
    "Query",
    "Score",
    "Telling",
    "Timeline",
    "Write",
    "contains",
    "load",
    "measure",
    "score",
]

ABOUT: Final[Rows] = (
    ("set", "StateBench, release v1.0 (Parslee-ai/statebench, MIT)"),
    ("rule", "1.x contains_phrase, on the context that a model would be given; no model answers"),
    ("must", "share of the required phrases that are in the context (must mention rate)"),
    ("must not", "share of the forbidden phrases that are in it (violation rate)"),
    ("resurrected", "share of all queries with any forbidden phrase in the context (SFRR of 1.x)"),
    ("unmarked", "the same without results marked as outdated or disputed; search_memories only"),
    ("both", "share of queries with every required phrase in the context and no forbidden one"),
    ("context", "the first 5 results, or all that memory_context says with the query as task"),
    ("not measured", "decision accuracy, and paraphrases: both need a language model"),
)

Telling = Literal["turns", "state"]

_SHOWN: Final = 5
_CONTRACTIONS: Final = (("do not ", "don't "), ("cannot ", "can't "), ("should not ", "shouldn't "))


@dataclass(frozen=True)
class Write:
    """A memory to add; `names` are those by which a later write may replace it."""

    text: str
    names: tuple[str, ...] = ()
    replaces: str | None = None


@dataclass(frozen=True)
class Query:
    """A prompt, and the phrases that its answer must and must not mention."""

    prompt: str
    must: tuple[str, ...]
    must_not: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """What is told and asked, in order."""

    id: str
    track: str
    events: tuple[Write | Query, ...]


@dataclass(frozen=True)
class Score:
    """Which phrases of a query are in a context."""

    track: str
    must: tuple[bool, ...]
    must_not: tuple[bool, ...]
    unmarked: bool
    """Whether a forbidden phrase is in a result without a mark."""


def load(path: Path, telling: Telling) -> list[Timeline]:
    """The timelines of a split: JSON lines as released, or rows as the Hub has them."""
    return [_timeline(item, telling) for item in read_items(path)]


def measure(path: Path, bench: Bench) -> Iterable[Table]:
    """For both ways of telling: all queries, then the queries by track."""
    tellings: tuple[Telling, ...] = ("turns", "state")
    for telling in tellings:
        timelines = load(path, telling)[: bench.limit]
        scores: dict[str, list[Score]] = {}
        modes: set[str] = set()
        for number, timeline in enumerate(timelines):
            for mode in bench.modes:
                with open_store(bench, f"{telling}-{number}", mode) as store:
                    _ask_server(timeline, store, mode, scores)
                    modes |= store.modes
            _ask_baselines(timeline, bench.model, scores)
        note = f"{len(timelines)} timelines; the server said mode {', '.join(sorted(modes))}"
        yield from _draw(telling, scores, note)


def score(track: str, query: Query, context: Sequence[Hit]) -> Score:
    """Upstream's phrases, in the texts of the context put together."""
    text = "\n".join(hit.text for hit in context)
    unmarked = "\n".join(hit.text for hit in context if not hit.marks)
    return Score(
        track,
        tuple(contains(text, phrase) for phrase in query.must),
        tuple(contains(text, phrase) for phrase in query.must_not),
        any(contains(unmarked, phrase) for phrase in query.must_not),
    )


def contains(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase by upstream's 1.x rule.

    Any case; `regex:` opens a pattern, `|` divides alternatives; "do not" is "don't" as well.
    """
    text, phrase = text.lower(), phrase.lower().strip()
    if phrase.startswith("regex:"):
        return re.search(phrase.removeprefix("regex:"), text) is not None
    if "|" in phrase:
        return any(each.strip() in text for each in phrase.split("|"))
    pairs = [*_CONTRACTIONS, *((short, long) for long, short in _CONTRACTIONS)]
    return phrase in text or any(
        old in phrase and phrase.replace(old, new) in text for old, new in pairs
    )


def _ask_server(
    timeline: Timeline, store: Store, mode: str, scores: dict[str, list[Score]]
) -> None:
    ids: dict[str, str] = {}
    """By name of a write: the memory that holds it now."""
    for event in timeline.events:
        match event:
            case Write():
                known = ids.get(event.replaces) if event.replaces else None
                memory = store.replace(known, event.text) if known else store.add(event.text)
                ids |= dict.fromkeys(event.names, memory)
                ids |= {name: memory for name, held in ids.items() if held == known}
            case Query():
                store.wait_until_ready()
                found = store.search(event.prompt, limit=_SHOWN)
                context = [Hit("", store.context(event.prompt))]
                for tool, hits in (("search_memories", found), ("memory_context", context)):
                    row = scores.setdefault(f"{tool}, {mode}", [])
                    row.append(score(timeline.track, event, hits))
            case _:
                assert_never(event)


def _ask_baselines(timeline: Timeline, model: Path | None, scores: dict[str, list[Score]]) -> None:
    """Over all that was written before the query: no baseline knows that a write replaces one."""
    texts: dict[str, str] = {}
    for event in timeline.events:
        match event:
            case Write():
                texts[str(len(texts))] = event.text
            case Query():
                for name, (order,) in rank_texts(texts, [event.prompt], model).items():
                    hits = [Hit(unit, texts[unit]) for unit in order[:_SHOWN]]
                    scores.setdefault(name, []).append(score(timeline.track, event, hits))
            case _:
                assert_never(event)


def _timeline(item: Mapping[str, Any], telling: Telling) -> Timeline:
    events: list[Write | Query] = []
    if telling == "state":
        events += [
            Write(_state(fact), (fact["key"], fact["id"]))
            for fact in _parse(item["initial_state"]).get("persistent_facts", ())
        ]
    for event in _parse(item["events"]):
        match event["type"]:
            case "query":
                truth = event["ground_truth"]
                wanted = (tuple(truth["must_mention"]), tuple(truth["must_not_mention"]))
                events.append(Query(event["prompt"], *wanted))
            case "conversation_turn" if telling == "turns":
                events.append(Write(f"{event['speaker'].capitalize()}: {event['text']}"))
            case "state_write" | "supersession" if telling == "state":
                events += [
                    Write(_state(each), (each["key"], each["id"]), each.get("supersedes"))
                    for each in event["writes"]
                ]
            case _:
                pass
    return Timeline(item["id"], item["track"], tuple(events))


def _state(write: Mapping[str, Any]) -> str:
    return f"{write['key'].replace('_', ' ')}: {write['value']}"


def _parse(field: Any) -> Any:
    """A field as released; on the Hub it is JSON in a text."""
    return json.loads(field) if isinstance(field, str) else field


def _draw(telling: Telling, scores: Mapping[str, Sequence[Score]], note: str) -> Iterable[Table]:
    columns = ("system", "queries", "must", "must not", "resurrected", "unmarked", "both")
    table = Table(f"told as {telling}", columns, note)
    for name, some in scores.items():
        table.add(name, *_figures(some))
    yield table
    table = Table(f"told as {telling}, by track", ("track", *columns))
    for track in sorted({each.track for some in scores.values() for each in some}):
        for name, some in scores.items():
            table.add(track, name, *_figures([each for each in some if each.track == track]))
    yield table


def _figures(scores: Sequence[Score]) -> tuple[str | float, ...]:
    return (
        len(scores),
        _share([hit for each in scores for hit in each.must]),
        _share([hit for each in scores for hit in each.must_not]),
        _share([any(each.must_not) for each in scores]),
        _share([each.unmarked for each in scores]),
        _share([all(each.must) and not any(each.must_not) for each in scores]),
    )


def _share(each: Sequence[bool]) -> str | float:
    return 100 * sum(each) / len(each) if each else "-"
