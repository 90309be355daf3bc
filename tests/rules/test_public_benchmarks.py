"""The public benchmarks: loaders and scorers, on samples of our own in each benchmark's form."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fact_consolidation
import pytest
from paths import ROOT
from public_runs import DISPUTED, OUTDATED, Hit
from recall_baselines import FULL_TEXT, GREP, rank_texts

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
