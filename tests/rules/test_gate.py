"""The gate: what is worth a memory, proved on labelled texts, some of them never tuned on.

Each held-out set was written after the rules stood, judged once, and then joined the tuned ones:
dropped were 2 of 76, 4 of 85, 2 of 98, 3 of 72 (and let in 21 of 82, 22 of 90, 6 of 81, 7 of 68).
The fifth is the one here; nothing was changed after it was first judged.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from paths import DATA, ROOT

from memory_mcp.text.gate import Chatter, Keep, judge_worth
from memory_mcp.text.recalled import repeats_recalled, separate_recalled
from memory_mcp.text.sentences import fold_words

STATEMENTS = ("agent", "lifelog", "multilingual", "paraphrases")
"""Our sets of memories for recall: 1,262 statements, each worth keeping."""
MEMORY = "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"


@dataclass(frozen=True)
class Judged:
    """How a labelled set was judged."""

    name: str
    keep: int
    chatter: int
    dropped: list[str]
    let_in: list[str]

    @property
    def said(self) -> str:
        """Precision and recall of both sides."""
        kept, refused = self.keep - len(self.dropped), self.chatter - len(self.let_in)
        return (
            f"{self.name}: keep precision {kept / (kept + len(self.let_in)):.3f} "
            f"recall {kept / self.keep:.3f} ({len(self.dropped)} of {self.keep} dropped); chatter "
            f"precision {refused / (refused + len(self.dropped)):.3f} "
            f"recall {refused / self.chatter:.3f} ({len(self.let_in)} of {self.chatter} let in)"
        )


def judged(name: str) -> Judged:
    """A labelled set through the gate."""
    labelled: dict[str, list[dict[str, Any]]] = json.loads(
        (DATA / f"gate_{name}.json").read_text("utf-8")
    )
    verdicts = {
        label: [(e["text"], judge_worth(e["text"], e.get("kind", "fact"))) for e in entries]
        for label, entries in labelled.items()
    }
    return Judged(
        name,
        keep=len(verdicts["keep"]),
        chatter=len(verdicts["chatter"]),
        dropped=[text for text, worth in verdicts["keep"] if isinstance(worth, Chatter)],
        let_in=[text for text, worth in verdicts["chatter"] if isinstance(worth, Keep)],
    )


@pytest.mark.parametrize(("name", "chatter_min"), [("tuned", 0.95), ("held_out", 0.85)])
def test_hardly_a_fact_is_dropped_and_little_chatter_let_in(name: str, chatter_min: float) -> None:
    """A fact lost is worse than chatter kept, so the two bounds differ."""
    found = judged(name)
    print(found.said)  # noqa: T201  # shown by `pytest -n 0 -s`

    assert min(found.keep, found.chatter) >= 60
    assert len(found.dropped) <= 0.02 * found.keep, found.dropped
    assert len(found.let_in) <= (1 - chatter_min) * found.chatter, found.let_in


def test_what_people_kept_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """1,262 memories that nobody wrote for the gate: a rule that eats facts shows here."""
    texts = [
        memory["content"]
        for name in STATEMENTS
        for memory in json.loads(
            (ROOT / "benchmarks" / "data" / f"{name}.json").read_text("utf-8")
        )["memories"]
    ]
    dropped = [text for text in texts if isinstance(judge_worth(text), Chatter)]
    with capsys.disabled():
        print(f"statements: {len(dropped)} of {len(texts)} dropped")  # noqa: T201

    assert len(texts) > 1_200
    assert len(dropped) <= 0.005 * len(texts), dropped


def test_the_sets_are_large_and_share_nothing() -> None:
    """A text that stands in both halves is not held out."""
    sets = {
        name: json.loads((DATA / f"gate_{name}.json").read_text("utf-8"))
        for name in ("tuned", "held_out")
    }
    for label in ("keep", "chatter"):
        texts = [[fold_words(e["text"]) or e["text"] for e in sets[name][label]] for name in sets]
        assert sum(map(len, texts)) >= 240
        assert set(texts[0]) & set(texts[1]) == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("brb", "for the moment"),
        ("run the tests", "done once"),
        ("can you read PDFs?", "what the assistant can do"),
        ("Why is it red?", "is a question"),
        ("ok, sounds good", "small talk"),
        ("Traceback (most recent call last):", "output"),
        (f"- Tabs. [{MEMORY}]", "own recall"),
        (" \n", "no words"),
    ],
)
def test_a_refusal_says_why(text: str, said: str) -> None:
    """Who is refused reads what would have been kept."""
    worth = judge_worth(text)

    assert isinstance(worth, Chatter)
    assert said in worth.reason


def test_one_sentence_worth_keeping_keeps_the_text() -> None:
    """People thank and tell in one breath."""
    assert judge_worth("Thanks! From now on always use tabs.") == Keep(sure=True)
    assert isinstance(judge_worth("Thanks! Could you run it?"), Chatter)


def test_what_no_rule_knows_is_kept_and_said_to_be_unsure() -> None:
    """In a language that the gate does not know it must not guess."""
    assert judge_worth("Tuotantopalvelin on Helsingissä.") == Keep(sure=False)
    assert judge_worth("We decided to use Postgres.") == Keep(sure=True)


def test_a_chosen_kind_is_refused_only_for_what_no_memory_is() -> None:
    """Whoever says that it is a lesson has thought about it."""
    text = "Delete the cache folder."

    assert isinstance(judge_worth(text), Chatter)
    assert judge_worth(text, "lesson") == Keep(sure=False)
    assert isinstance(judge_worth("Thanks!", "lesson"), Chatter)


@pytest.mark.parametrize("filler", ["a ", "please ", "now ", "ok, ", "<memory", "[", "1. ", "\n"])
def test_a_text_made_to_be_slow_is_judged_all_the_same(filler: str) -> None:
    """Rules that look back and forth would take minutes for these."""
    assert judge_worth((filler * 8_000)[:8_000]) is not None


def test_recalled_text_is_told_from_own_words() -> None:
    """What memory returned must not come back as something new."""
    text = (
        f'We said: <memory note="x">\n- Tabs: Use tabs. Never spaces. [{MEMORY}]\n</memory>\n'
        f"And I add: four wide.\n* Ports: 8000 is taken. [{MEMORY}]\n"
        f'{{"content": "Old.", "memoryId": "{MEMORY}"}}'
    )
    found = separate_recalled(text)

    assert found.own.split() == ["We", "said:", "And", "I", "add:", "four", "wide."]
    assert {"use tabs", "never spaces", "8000 is taken"} <= found.recalled
    assert repeats_recalled("USE tabs!", found.recalled)
    assert not repeats_recalled("Use tabs in Go.", found.recalled)
    assert separate_recalled("a <memory> b").own == "a "
    assert separate_recalled("a </memory> b").own == "a  b"
