"""The benchmark of recall: its figures against figures worked out by hand."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from recall_metrics import figures, hit_at, mean, ndcg_at, recall_at, rr
from recall_sets import load

BENCHMARK = ROOT / "benchmarks" / "recall.py"

TWO_TALKS: list[dict[str, Any]] = [
    {
        "sample_id": "music",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I bought a cello."},
                {
                    "speaker": "Ben",
                    "dia_id": "D1:2",
                    "text": "Lovely! Look.",
                    "blip_caption": "a red kayak",
                    "query": "boat river",
                },
            ],
            "session_2_date_time": "9:10 am on 2 June, 2023",
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "The orchestra is in Lyon."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "My kayak leaks."},
            ],
            "session_3_date_time": "9:10 am on 3 June, 2023",
        },
        "qa": [
            {"question": "Who plays the cello?", "evidence": ["D1:1"], "category": 4},
            {"question": "Any kayak?", "evidence": ["D1:02; D2:2"], "category": 1},
            {"question": "When was the bassoon sold?", "evidence": ["D2:1"], "category": 2},
            {"question": "What about the cello?", "evidence": ["D1:1", "D2:1"], "category": 3},
            {"question": "What of the harp?", "evidence": ["D9:9"], "category": 4},
            {"question": "Is the cello stolen?", "evidence": ["D1:1"], "category": 5},
        ],
        "observation": {
            "session_1_observation": {
                "Ada": [["Ada owns a cello.", "D1:1"], ["Ada is glad.", ["D1:1", "D1:2"]]],
                "Ben": [["Ben has a kayak.", "D1:2"]],
            },
            "session_2_observation": {"Ben": [["Ben's kayak leaks.", "D2:2"]]},
        },
    },
    {
        "sample_id": "alps",
        "conversation": {
            "session_1_date_time": "4:00 pm on 1 July, 2023",
            "session_1": [{"speaker": "Cleo", "dia_id": "D1:1", "text": "The hike was cancelled."}],
        },
        "qa": [{"question": "Which hike was cancelled?", "evidence": ["D1:1"], "category": 4}],
        "observation": {},
    },
]


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """A file of LoCoMo's form."""
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(TWO_TALKS), "utf-8")
    return file


def test_metrics_are_the_ones_defined() -> None:
    """Found at places 2 and 6 of ten, out of three."""
    ranked = [*"abcdefghij"]
    gold = frozenset("bfz")

    assert recall_at(5, ranked, gold) == pytest.approx(1 / 3)
    assert recall_at(10, ranked, gold) == pytest.approx(2 / 3)
    assert hit_at(1, ranked, gold) == 0
    assert hit_at(10, ranked, gold) == 1
    assert rr(ranked, gold) == 1 / 2
    # 1 / log2(3) + 1 / log2(7), by 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert ndcg_at(10, ranked, gold) == pytest.approx((0.63093 + 0.35621) / 2.13093, abs=1e-5)
    assert rr([], gold) == ndcg_at(10, [], gold) == 0
    assert mean([figures(["b"], frozenset("b")), figures([], gold)]).r5 == 1 / 2


def test_a_turn_is_told_with_its_date_speaker_and_picture(talks: Path) -> None:
    """The text is what the memory holds: nothing of the data is kept from it."""
    music, _ = load(talks)

    assert music.units[1].text == (
        "[1:56 pm on 8 May, 2023] Ben: Lovely! Look. [image: a red kayak; boat river]"
    )
    assert [unit.session for unit in music.units] == ["session_1"] * 2 + ["session_2"] * 2
    assert music.questions[1].gold == {"D1:2", "D2:2"}
    assert len(music.questions) == 4
    assert music.skipped == 1


def test_facts_are_gold_if_any_of_their_evidence_is(talks: Path) -> None:
    """The evidence names turns; what is found are the facts taken from them."""
    music, alps = load(talks, "facts")
    gold = {question.text: question.gold for question in music.questions}

    assert music.units[0].text == "[1:56 pm on 8 May, 2023] Ada owns a cello."
    assert gold["Who plays the cello?"] == {"session_1/0", "session_1/1"}
    assert gold["Any kayak?"] == {"session_1/1", "session_1/2", "session_2/0"}
    assert music.skipped == 2
    assert (alps.units, alps.questions, alps.skipped) == ((), (), 1)


@pytest.mark.nightly
def test_the_benchmark_prints_what_was_found(talks: Path) -> None:
    """Through the real server: five questions, of which one finds half and one nothing."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), str(talks), "--negatives", "--calibration"],
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    rows = [re.sub(r"\s{2,}", " | ", line.strip()) for line in done.stdout.splitlines()]

    # the half found is at place 1: nDCG 1 / (1 + 1 / log2(3)) = 0.6131; (3 + 0.6131) / 5 = 0.7226
    for system in ("search_memories, lexical", "FTS5 OR, porter"):
        assert f"overall | {system} | 5 | 70.00 | 70.00 | 80.00 | 80.00 | 72.26" in rows
        assert f"temporal | {system} | 1" + " | 0.00" * 5 in rows
        assert f"open-domain | {system} | 1 | 50.00 | 50.00 | 100.00 | 100.00 | 61.31" in rows
    # one question has a word that is related to one of the other store: it may find that, at .2
    (_, _, asked, empty, middle, _), *_ = [
        row.split(" | ") for row in rows if row.startswith("of the next store | ")
    ]
    assert (asked, middle) == ("5", "0.00")
    assert float(empty) >= 80
    assert any("the server said mode words+table" in row for row in rows)
    assert sum(row.startswith(("0.", "0.9 to 1.0")) for row in rows) == 10
