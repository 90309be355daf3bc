"""The public benchmarks: loaders and scorers, on samples of our own in each benchmark's form."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fact_consolidation
import precision_mem_bench
import pytest
import state_bench
from paths import ROOT
from precision_mem_bench import Belief, Case, assemble, score_case, score_turn
from public_runs import DISPUTED, OUTDATED, Hit
from recall_baselines import FULL_TEXT, GREP, rank_texts
from state_bench import Query, Write

BENCHMARK = ROOT / "benchmarks" / "public.py"

PLACES: dict[str, Any] = {
    "context": "Here is a list of facts:\n"
    "0. The capital of Ruritania is Strelsau.\n"
    "1. The author of The Prisoner of Zenda is Anthony Hope.\n"
    "2. Rudolf Rassendyll is a citizen of England.\n"
    "3. The capital of Ruritania is Zenda.\n"
    "4. Anthony Hope is a citizen of Ruritania.",
    "questions": [
        "What is the capital of Ruritania?",
        "Who is the author of The Prisoner of Zenda?",
    ],
    "answers": [["Zenda"], ["Anthony Hope"]],
    "metadata": {"source": "factconsolidation_sh_6k", "qa_pair_ids": ["0", "1"]},
}
BELIEFS: list[dict[str, Any]] = [
    {
        "_id": "tea",
        "user_id": "test-user",
        "type": "preference",
        "canonical_name": "hot_drink",
        "aliases": ["oolong"],
        "content": "Drinks oolong in the morning.",
        "why_it_matters": "Orders for the kitchen.",
        "scope": ["domain:home"],
    },
    {
        "_id": "kettle",
        "user_id": "test-user",
        "type": "relation",
        "canonical_name": "tea_needs_kettle",
        "content": "Oolong needs the copper kettle.",
        "participants": ["stove", "open", "tea"],
        "scope": ["domain:home"],
    },
    *(
        {
            "_id": name,
            "user_id": "test-user",
            "type": kind,
            "canonical_name": name,
            "content": content,
            "pinned": kind == "open_question" or name == "rule",
            "superseded_by": "rule" if name == "old" else None,
            "scope": [scope],
        }
        for name, kind, content, scope in (
            ("stove", "entity", "Gas, four flames.", "domain:home"),
            ("open", "open_question", "Induction or gas?", "domain:home"),
            ("rule", "decision", "Shoes stay at the door.", "domain:home"),
            ("old", "decision", "Shoes may stay on.", "domain:home"),
            ("desk", "entity", "The desk is oak.", "domain:work"),
        )
    ),
]
CASES: list[dict[str, Any]] = [
    {
        "caseId": "drink",
        "category": "Alias resolution",
        "scope": ["domain:home"],
        "query": "oolong",
        "expect": {
            "personaPrelude": {"nonEmpty": True},
            "pinnedFacts": {"mustInclude": ["rule"], "mustExclude": ["old"]},
            "relevantBeliefs": {"shouldOnlyInclude": ["tea", "kettle", "stove"]},
            "openQuestions": {"mustInclude": ["open"]},
        },
    },
    {
        "caseId": "nobody",
        "category": "Cold start behavior",
        "userId": "guest",
        "scope": ["domain:home"],
        "query": "oolong",
        "budget": {"maxBeliefs": 3},
        "expect": {
            "personaPrelude": {"isNull": True},
            "relevantBeliefs": {"shouldOnlyInclude": []},
        },
    },
]
SESSIONS: list[dict[str, Any]] = [
    {
        "caseId": "drift",
        "turns": [
            {
                "turnIndex": 0,
                "scope": ["domain:work"],
                "userMessage": "desk",
                "createBeliefAtTurn": {
                    "_id": "lamp",
                    "user_id": "test-user",
                    "type": "entity",
                    "canonical_name": "lamp",
                    "content": "The lamp on the desk is green.",
                    "scope": ["domain:work"],
                },
                "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["desk"]}},
            },
            {
                "turnIndex": 1,
                "scope": ["domain:work"],
                "userMessage": "lamp",
                "expect": {
                    "relevantBeliefs": {"mustInclude": ["lamp"]},
                    "noiseCheck": {"mustNotSurface": ["tea"]},
                },
            },
        ],
    }
]

TIMELINE: dict[str, Any] = {
    "id": "S1-000001",
    "track": "supersession",
    "initial_state": {
        "persistent_facts": [
            {"id": "F-1", "key": "ferry_time", "value": "The ferry leaves at nine"}
        ],
        "working_set": [{"content": "a draft"}],
    },
    "events": [
        {"type": "conversation_turn", "speaker": "user", "text": "The ferry leaves at nine."},
        {"type": "conversation_turn", "speaker": "assistant", "text": "Noted."},
        {
            "type": "supersession",
            "writes": [
                {
                    "id": "F-2",
                    "key": "ferry_time_v2",
                    "value": "It leaves at ten",
                    "supersedes": "F-1",
                }
            ],
        },
        {
            "type": "state_write",
            "writes": [
                {"id": "F-3", "key": "ferry_pier", "value": "Pier four", "supersedes": None}
            ],
        },
        {
            "type": "query",
            "prompt": "When does the ferry leave?",
            "ground_truth": {"must_mention": ["ten"], "must_not_mention": ["at nine"]},
        },
    ],
}
OLD, NEW = "The capital of Ruritania is Strelsau.", "The capital of Ruritania is Zenda."


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A file of FactConsolidation's form: one single-hop and one multi-hop context."""
    chain = {
        **PLACES,
        "metadata": {"source": "factconsolidation_mh_262k"},
        "questions": ["?", "??"],
    }
    other = {**PLACES, "metadata": {"source": "icl_banking77_5900shot_balance"}}
    file = tmp_path / "places.json"
    file.write_text(json.dumps([PLACES, chain, other]), "utf-8")
    return file


@pytest.fixture
def beliefs(tmp_path: Path) -> Path:
    """A file of precisionMemBench's parts."""
    file = tmp_path / "beliefs.json"
    content = {"beliefs": BELIEFS, "cases": CASES, "sessions": SESSIONS}
    file.write_text(json.dumps(content), "utf-8")
    return file


@pytest.fixture
def timelines(tmp_path: Path) -> Path:
    """JSON lines of StateBench's form: one as released, one as a row of the Hub."""
    row = {**TIMELINE, "id": "S1-000002"}
    row |= {name: json.dumps(row[name]) for name in ("events", "initial_state")}
    file = tmp_path / "timelines.jsonl"
    file.write_text(f"{json.dumps(TIMELINE)}\n{json.dumps(row)}\n", "utf-8")
    return file


def find(*found: str) -> Callable[..., list[str]]:
    """A system that always finds the same."""
    return lambda *_, **__: list(found)  # pyright: ignore[reportUnknownLambdaType]  # any question


def run(name: str, data: Path) -> list[str]:
    """The lines that a run by words prints, the columns divided by bars."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), name, "--data", str(data)],
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return [re.sub(r"\s{2,}", " | ", line.strip()) for line in done.stdout.splitlines()]


def hits(*texts: str, marks: frozenset[str] = frozenset()) -> list[Hit]:
    """Results with these texts, all with the same marks."""
    return [Hit(text, text, marks=marks) for text in texts]


def test_keywords_are_counted_as_grep_would() -> None:
    """Any case, parts of words too; what holds none of them is not a result."""
    texts = {
        "a": "The CAPITALS of old",
        "b": "capital of Ruritania",
        "c": "Nothing",
        "d": "capital",
    }
    ranked = rank_texts(texts, ["What is the capital of Ruritania?", "?"], None)

    assert ranked[GREP] == [["b", "a", "d"], []]
    assert ranked[FULL_TEXT][0][0] == "b"
    assert ranked[FULL_TEXT][1] == []


def test_the_newest_statement_is_the_one_that_answers(places: Path) -> None:
    """An older one differs from it in the value only; of a chain neither can be told."""
    single, chain = fact_consolidation.load(places)
    capital, author = single.questions

    assert len(single.facts) == 5
    assert (capital.newest, capital.outdated) == (NEW, {OLD})
    assert (author.newest, author.outdated) == (single.facts[1], frozenset())
    assert [question.newest for question in chain.questions] == ["", ""]


def test_an_outdated_statement_counts_unless_it_is_marked(places: Path) -> None:
    """Upstream's rule sees the answer anywhere; ours sees what stands before it."""
    question = fact_consolidation.load(places)[0].questions[0]
    plain = fact_consolidation.score(question, hits(OLD, NEW))
    marked = fact_consolidation.score(
        question, [*hits(NEW), *hits(OLD, marks=frozenset({OUTDATED}))]
    )

    assert plain.answer == {1: False, 5: True, 10: True}
    assert plain.newest == {1: False, 5: True}
    assert plain.outdated == {1: True, 5: True}
    assert marked.newest[1]
    assert marked.outdated == {1: False, 5: False}


def test_a_mark_is_wrong_where_nothing_contradicts(places: Path) -> None:
    """The newest of two may be disputed, but is not outdated; another's capital is no rival."""
    facts = fact_consolidation.load(places)[0].facts
    outdated, disputed = frozenset({OUTDATED}), frozenset({DISPUTED})

    assert fact_consolidation.find_wrong_marks(facts, hits(OLD, marks=outdated)) == (1, 0)
    assert fact_consolidation.find_wrong_marks(facts, hits(NEW, marks=outdated)) == (1, 1)
    assert fact_consolidation.find_wrong_marks(facts, hits(NEW, OLD, marks=disputed)) == (2, 0)
    assert fact_consolidation.find_wrong_marks(facts, hits(facts[4], marks=disputed)) == (1, 1)
    assert fact_consolidation.find_wrong_marks(facts, hits("Zenda fell.", marks=disputed)) == (0, 0)


@pytest.mark.nightly
def test_facts_are_found_through_the_real_server(places: Path) -> None:
    """Both contexts, the baselines beside the server."""
    rows = run("factconsolidation", places)

    assert "search_memories, lexical | 100.00" in " ".join(rows)
    assert any(row.startswith(f"{GREP} | ") for row in rows)
    assert any("5 facts, 2 questions, 1 of them" in row for row in rows)


def test_the_context_is_put_together_as_upstream_does(beliefs: Path) -> None:
    """Pinned facts are not found again; a relation brings its participants, but no question."""
    suite = precision_mem_bench.load(beliefs)
    drink, guest = suite.cases
    shown = assemble(drink, suite.beliefs, find("rule", "kettle", "tea"))

    assert suite.beliefs[0].text == (
        "hot_drink oolong Drinks oolong in the morning. Orders for the kitchen."
    )
    assert shown.pinned == ("rule",)
    assert shown.relevant == ("kettle", "tea", "stove")
    assert shown.questions == ("open",)
    assert score_case(drink, shown, suite.beliefs).passed
    assert assemble(guest, suite.beliefs, find()).relevant == ()


def test_scopes_take_turns_within_the_budget() -> None:
    """Two scopes are asked for each on its own, and the pinned count among the beliefs shown."""
    told = [
        Belief(name, "test-user", name, ("a",), "entity", pinned=name == "p") for name in "pqrst"
    ]
    case = Case("two", "x", "test-user", ("a", "b"), "query", {}, beliefs_max=4)
    lists = {"a": ["q", "r"], "b": ["s", "q", "t"]}

    def find_in(_: object, __: str, ___: str, scope: str | None) -> list[str]:
        return lists[scope or ""]

    assert assemble(case, told, find_in).relevant == ("q", "s", "r")


def test_a_case_fails_by_what_is_too_much(beliefs: Path) -> None:
    """Everything expected and one more: recall 1, precision 3/4, no pass."""
    suite = precision_mem_bench.load(beliefs)
    shown = assemble(suite.cases[0], suite.beliefs, find("kettle", "tea", "desk"))
    score = score_case(suite.cases[0], shown, suite.beliefs)
    empty = score_case(
        suite.cases[1], assemble(suite.cases[1], suite.beliefs, find()), suite.beliefs
    )

    assert (score.passed, score.precision, score.recall, score.noise) == (False, 3 / 4, 1, 1)
    assert (empty.passed, empty.precision, empty.recall) == (True, None, None)


def test_order_and_number_are_asserted_too() -> None:
    """Of upstream's assertions the part of the set at hand has only some."""
    case = Case("order", "x", "test-user", (), "", {})
    wanted = {"orderedBefore": [["a", "b"]], "maxCount": 2, "shouldInclude": ["a"]}
    told = [Belief(name, "test-user", name, (), "entity") for name in "abc"]

    def passes(*found: str) -> bool:
        shown = precision_mem_bench.Shown((), found, (), persona=True)
        return score_case(replace(case, expect={"relevantBeliefs": wanted}), shown, told).passed

    assert passes("a", "b")
    assert not passes("b", "a")
    assert not passes("a")
    assert not passes("a", "b", "c")


def test_a_turn_of_a_session_fails_by_noise(beliefs: Path) -> None:
    """What was said of something else must not come up, whatever else does."""
    turn = precision_mem_bench.load(beliefs).turns[1]
    good = score_turn(turn, precision_mem_bench.Shown((), ("lamp",), (), persona=True))
    noisy = score_turn(turn, precision_mem_bench.Shown((), ("lamp", "tea"), (), persona=True))

    assert (good.passed, good.precision, good.noise) == (True, 1, 0)
    assert (noisy.passed, noisy.precision, noisy.noise) == (False, 1 / 2, 1)


def test_upstream_files_are_read_from_their_folder(tmp_path: Path) -> None:
    """Whoever has cloned the benchmark names its folder of fixtures."""
    for name, content in (("beliefs.seed", BELIEFS), ("retrieval.cases", CASES)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf-8")
    suite = precision_mem_bench.load(tmp_path)

    assert (len(suite.beliefs), len(suite.cases), len(suite.turns)) == (7, 2, 0)


def test_a_timeline_is_told_by_turns_or_by_state(timelines: Path) -> None:
    """A row of the Hub says what a line of the release does; a supersession names what it ends."""
    released, row = state_bench.load(timelines, "state")
    turns = state_bench.load(timelines, "turns")[1]
    query = Query("When does the ferry leave?", ("ten",), ("at nine",))

    assert released.events == row.events
    assert released.events == (
        Write("ferry time: The ferry leaves at nine", ("ferry_time", "F-1")),
        Write("ferry time v2: It leaves at ten", ("ferry_time_v2", "F-2"), "F-1"),
        Write("ferry pier: Pier four", ("ferry_pier", "F-3")),
        query,
    )
    assert turns.events == (
        Write("User: The ferry leaves at nine."),
        Write("Assistant: Noted."),
        query,
    )


@pytest.mark.parametrize(
    ("phrase", "held"),
    [("SAIL at dawn", True), ("don't sail", True), ("moor|sail", True), ("regex:d.wn", True),
     ("at noon", False), ("moor|anchor", False), ("regex:^sail", False)],
)  # fmt: skip
def test_a_phrase_is_held_by_the_rule_of_the_release(phrase: str, *, held: bool) -> None:
    """Contained in any case, in one of its alternatives, as a pattern, or contracted."""
    assert state_bench.contains("Do not sail at dawn.", phrase) is held


def test_a_forbidden_phrase_counts_unless_its_result_is_marked() -> None:
    """By upstream's rule it counts in any case; a reader sees the mark."""
    query = Query("?", ("ten", "pier"), ("nine",))
    context = [*hits("It leaves at ten."), *hits("At nine.", marks=frozenset({OUTDATED}))]
    score = state_bench.score("supersession", query, context)

    assert (score.must, score.must_not, score.unmarked) == ((True, False), (True,), False)


@pytest.mark.nightly
def test_beliefs_and_timelines_are_found_through_the_real_server(
    beliefs: Path, timelines: Path
) -> None:
    """What replaced something is found, what it replaced is not; sessions write between turns."""
    precise = run("precisionmembench", beliefs)
    stateful = run("statebench", timelines)

    assert any(row.startswith("search_memories, lexical | 2 | ") for row in precise)
    assert "sessions" in precise
    row = "search_memories, lexical | 2 | 100.00 | 0.00 | 0.00 | 0.00 | 100.00"
    assert row in stateful[stateful.index("told as state") :]
