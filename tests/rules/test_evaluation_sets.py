"""Our own evaluation sets: a figure is worth no more than the data under it."""

import json
import re
import sqlite3
from collections import Counter
from functools import cache
from typing import Any, get_args

import pytest
from paths import ROOT
from recall_baselines import STOP_WORDS
from recall_sets import load

from memory_mcp.domain import limits
from memory_mcp.domain.record import Kind

DATA = ROOT / "benchmarks" / "data"
SIZES = {
    "paraphrases": (370, 220),
    "lifelog": (390, 120),
    "technical": (290, 120),
    "agent": (300, 180),
    "multilingual": (120, 75),
}
"""At least so many memories and questions."""


@cache
def content(name: str) -> dict[str, Any]:
    """The file as it stands."""
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def stems(text: str) -> set[str]:
    """What a search by words sees: Porter's stems of all but the stop words."""
    words = [word for word in re.findall(r"[^\W_]+", text) if word.casefold() not in STOP_WORDS]
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE said USING fts5 (text, tokenize = 'porter unicode61')")
    table.execute("CREATE VIRTUAL TABLE stem USING fts5vocab (said, row)")
    table.execute("INSERT INTO said VALUES (?)", (" ".join(words),))
    found = {stem for (stem,) in table.execute("SELECT term FROM stem")}
    table.close()
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SIZES)
def test_a_set_is_whole(name: str) -> None:
    """A question about a memory that is not there would count as a miss for ever."""
    memories, questions = content(name)["memories"], content(name)["questions"]
    ids = Counter(memory["id"] for memory in memories)
    texts = Counter(memory["content"] for memory in memories)
    asked = Counter(question["question"] for question in questions)

    assert content(name)["name"] == name
    assert (len(memories), len(questions)) >= SIZES[name]
    assert len(questions) >= SIZES[name][1]
    assert [each for each in (*ids, *texts, *asked) if (ids + texts + asked)[each] > 1] == []
    for question in questions:
        missing = [each for each in question["relevant"] if each not in ids]
        assert missing == [], question
        assert bool(question["relevant"]) != question.get("unanswerable", False), question


@pytest.mark.parametrize("name", SIZES)
def test_half_of_each_domain_is_held_out(name: str) -> None:
    """What is tuned on one half must be judged on questions of the same sort."""
    count = Counter((each["domain"], each["split"]) for each in content(name)["questions"])

    assert {split for _, split in count} == {"dev", "test"}
    for domain in {domain for domain, _ in count}:
        assert abs(count[domain, "dev"] - count[domain, "test"]) <= 1, domain
    halves = Counter(each["split"] for each in content(name)["questions"])
    assert abs(halves["dev"] - halves["test"]) <= 2


@pytest.mark.parametrize("name", SIZES)
def test_a_set_can_be_told_by_the_tools(name: str) -> None:
    """Every memory is one that `add_memory` takes, as the loader hands it over."""
    (conversation,) = load(DATA / f"{name}.json")

    assert len(conversation.units) == len(content(name)["memories"])
    assert {unit.kind for unit in conversation.units} <= set(get_args(Kind))
    assert max(len(unit.text) for unit in conversation.units) <= limits.CONTENT_CHARS_MAX
    assert [unit.text for unit in conversation.units if unit.text != unit.text.strip()] == []


def test_paraphrases_share_no_content_word_with_their_answer() -> None:
    """Only then does the set say what a search by meaning adds."""
    said = {memory["id"]: memory["content"] for memory in content("paraphrases")["memories"]}
    seen: dict[str, set[str]] = {memory_id: stems(text) for memory_id, text in said.items()}
    offending = [
        f"{question['question']!r} and {said[memory_id]!r} share {sorted(shared)}"
        for question in content("paraphrases")["questions"]
        for memory_id in question["relevant"]
        if (shared := stems(question["question"]) & seen[memory_id])
    ]

    assert offending == [], "\n".join(offending)


def test_the_check_of_paraphrases_sees_inflected_words() -> None:
    """Else it would pass whatever is written."""
    assert stems("Running the tests nightly") & stems("a test was run") == {"run", "test"}
    assert stems("What is it that you would do?") == set()


def test_every_domain_of_the_paraphrases_is_there() -> None:
    """Coding is what most questions will be about, but not all."""
    count = Counter(each["domain"] for each in content("paraphrases")["questions"])

    assert count.pop("software") >= 80
    assert len(count) == 9
    assert min(count.values()) >= 15


def test_the_other_sets_are_what_they_say() -> None:
    """Dates at the beginning, sessions in order, questions that nothing answers, scripts."""
    log = [memory["content"] for memory in content("lifelog")["memories"]]
    turns = [memory["session"] for memory in content("technical")["memories"]]
    unanswered = [each for each in content("agent")["questions"] if not each["relevant"]]
    languages = Counter(each["domain"] for each in content("multilingual")["questions"])

    assert [text for text in log if not re.match(r"2024-\d\d-\d\d: ", text)] == []
    assert len(set(turns)) >= 10
    assert turns == sorted(turns)
    assert len(unanswered) == 60
    assert languages == {"de": 25, "es": 25, "ja": 25}
