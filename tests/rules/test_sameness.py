"""Whether two statements are one fact: no wrong yes, in either order, with or without a model.

What is judged stands in `data/fact_pairs.json`; `pytest -n 0 -s` prints precision and recall.
"""

from collections import Counter
from pathlib import Path

import pytest
from depth import depth
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pairs import (
    LABELS,
    Cosine,
    Pair,
    cosines,
    decided,
    judge,
    load_pairs,
    merges,
    score,
    statement,
)

from memory_mcp.domain.deduplication import (
    Different,
    Extended,
    MergePolicy,
    Restated,
    Unsure,
    Updated,
    Verdict,
)
from memory_mcp.domain.normalise import find_hidden_character, normalise
from memory_mcp.text.merge.similarity import UNSURE_MAX, compare_facts, score_similarity

PAIRS = load_pairs()
KNOBS = MergePolicy()
FLOORS = {
    "dev": {"same": 0.65, "update": 0.95, "extended": 0.90, "contradiction": 0.90},
    "test": {"same": 0.35, "update": 0.75, "extended": 0.65, "contradiction": 0.70},
}
"""What share of each label is found at least; the second half was not tuned on."""


def told(new: str, old: str) -> Verdict:
    """The rule's verdict on two texts."""
    return compare_facts(statement(new), statement(old))


_MERGED: dict[tuple[int, bool], bool] = {}
"""Judged once a pair: the figures below are views of the same verdicts."""


def is_merged(pair: Pair, cosine: Cosine | None) -> bool:
    """Whether the two become one memory."""
    key = (id(pair), cosine is not None)
    if key not in _MERGED:
        _MERGED[key] = merges(judge(pair, cosine))
    return _MERGED[key]


def false_merges(cosine: Cosine | None) -> list[Pair]:
    """Two things that would become one memory."""
    return [pair for pair in PAIRS if not pair.same and is_merged(pair, cosine)]


def recall(cosine: Cosine | None) -> dict[str, dict[str, float]]:
    """The share of pairs of each label that become one memory, by half; printed too."""
    found: dict[str, dict[str, float]] = {}
    for split, floors in FLOORS.items():
        found[split] = {}
        for label in floors:
            these = [pair for pair in PAIRS if (pair.split, pair.label) == (split, label)]
            merged = sum(is_merged(pair, cosine) for pair in these)
            found[split][label] = merged / len(these)
    wrong, right = (
        len(false_merges(cosine)),
        sum(p.same and is_merged(p, cosine) for p in PAIRS),
    )
    name = "with the model" if cosine else "words only"
    print(  # noqa: T201  # for whoever runs it with -s
        f"\n{name}: precision {right / (right + wrong):.3f} ({wrong} false merges), recall {found}"
    )
    return found


@pytest.fixture(scope="module")
def cosine(minilm_folder: Path) -> Cosine:
    """Nearness in meaning, by the real model."""
    return cosines(minilm_folder)


def test_the_pairs_are_worth_their_figures() -> None:
    """Mostly near misses, halves of a kind, and nothing twice: else precision says little."""
    given = [pair for pair in PAIRS if not pair.id.endswith("turned")]
    labels = Counter((pair.label, pair.split) for pair in given)

    assert len(given) >= 400
    assert {pair.label for pair in given} == set(LABELS)
    assert 2 * sum(pair.label == "different" for pair in given) >= len(given)
    assert len({(pair.old, pair.new) for pair in given}) == len(given)
    assert len({pair.id for pair in given}) == len(given)
    assert {pair.kind == "" for pair in given if pair.same} == {True}
    assert min(Counter(pair.domain for pair in given).values()) >= 15
    for label in LABELS[:-1]:
        assert labels[label, "test"] >= labels[label, "dev"] - 1, label
    assert min(labels["different", split] for split in FLOORS) >= 150


def test_no_two_things_become_one_by_words_alone() -> None:
    """A wrong yes hides a memory that holds; a wrong no only keeps two."""
    assert false_merges(None) == []


def test_no_two_things_become_one_with_the_model(cosine: Cosine) -> None:
    """Near in meaning is not the same: staging and production are as near as words get."""
    assert false_merges(cosine) == []


def test_facts_that_changed_are_found_by_words_alone() -> None:
    """A rule that always says no would be precise and useless."""
    found = recall(None)

    assert [
        (split, label, found[split][label])
        for split, floors in FLOORS.items()
        for label, floor in floors.items()
        if found[split][label] < floor
    ] == []


@pytest.mark.nightly
def test_facts_that_changed_are_found_with_the_model(cosine: Cosine) -> None:
    """The bands mean the same with an embedder, so what is found must not depend on one."""
    with_model, without = recall(cosine), recall(None)

    for split, floors in FLOORS.items():
        for label, floor in floors.items():
            assert with_model[split][label] >= floor, (split, label)
            assert abs(with_model[split][label] - without[split][label]) <= 0.1, (split, label)


def test_the_upper_band_holds_nothing_but_the_same() -> None:
    """There the score decides alone, so no near miss may ever reach it."""
    high = [pair for pair in PAIRS if score(pair, None) >= KNOBS.auto_update]

    assert [pair for pair in high if not pair.same] == []
    assert len(high) >= 80


@pytest.mark.nightly
def test_the_bands_mean_the_same_with_the_model(cosine: Cosine) -> None:
    """One knob for both: what is above it with words alone mostly is so with the model too."""
    for pair in PAIRS:
        if not pair.same:
            assert score(pair, cosine) < KNOBS.auto_update, pair
    pairs = [pair for pair in PAIRS if pair.same]
    shares = [
        sum(score(pair, by) >= KNOBS.check_low for pair in pairs) / len(pairs)
        for by in (None, cosine)
    ]

    assert abs(shares[0] - shares[1]) <= 0.05
    assert min(shares) >= 0.85


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.kind == "environment"], ids=lambda p: p.id)
def test_the_nearest_meaning_does_not_lift_a_near_miss(pair: Pair) -> None:
    """An embedder may call two environments one; its word must not count then."""
    assert score_similarity(statement(pair.new), statement(pair.old), 1.0) < KNOBS.check_low
    assert not merges(decided(statement(pair.new), statement(pair.old), 1.0, eligible=True))


@given(
    st.text(min_size=1, max_size=300),
    st.text(min_size=1, max_size=300),
    st.none() | st.floats(-1, 1),
)
@settings(max_examples=depth(50, 300))
def test_any_two_texts_can_be_compared(new: str, old: str, cosine: float | None) -> None:
    """The write path must not fall over a text, whatever is in it."""
    # no record holds what nobody can see: the write path takes it out first, or refuses the rest
    new, old = normalise(new), normalise(old)
    assume(new and old and not find_hidden_character(new) and not find_hidden_character(old))
    value = score_similarity(statement(new), statement(old), cosine)

    assert 0 <= value <= 1
    assert merges(decided(statement(new), statement(old), cosine)) <= (value >= 0.6)


@given(st.sampled_from(PAIRS), st.none() | st.floats(-1, 1))
def test_a_statement_is_the_same_as_itself(pair: Pair, cosine: float | None) -> None:
    """Whatever the embedder says of it."""
    for text in (pair.old, pair.new):
        assert score_similarity(statement(text), statement(text), cosine) >= KNOBS.auto_update
        first = text.split()[0]
        plain = first.isalpha() and first.islower()  # inner capitals make a name, `_` makes code
        begun = first.capitalize() if plain else first
        assert isinstance(told(text, f"  {begun}{text[len(first) :]} "), Restated)


def test_which_came_first_hardly_matters() -> None:
    """What is the same fact today was so yesterday: only "no longer" reads one way."""
    for pair in PAIRS:
        if pair.label in ("same", "update"):
            turned = pair.turned()
            assert score(pair, None) == pytest.approx(score(turned, None)), pair
            assert merges(told(pair.new, pair.old)) == merges(told(pair.old, pair.new)), pair


def test_a_low_score_is_asked_about_only_where_that_is_wanted() -> None:
    """The guarded band is for what is recent and personal; elsewhere too little is shared."""
    old, new = statement("The lead is Anna"), statement("The lead is Tom")
    value = score_similarity(new, old, None)

    assert KNOBS.fallback_low <= value < KNOBS.check_low
    assert isinstance(decided(new, old, None), Unsure)
    assert isinstance(decided(new, old, None, eligible=True), Updated)
    off = MergePolicy(fallback_enabled=False)
    assert isinstance(decided(new, old, None, off, eligible=True), Unsure)
    high = MergePolicy(fallback_low=value + 0.01)
    assert isinstance(decided(new, old, None, high, eligible=True), Unsure)


def test_whoever_lowers_the_upper_band_lets_the_score_decide() -> None:
    """A knob means what it says: at or above it, it is the same fact."""
    old, new = statement("Anna likes Tom a lot"), statement("Anna likes Tim a lot")
    value = score_similarity(new, old, None)

    assert isinstance(decided(new, old, None, MergePolicy(auto_update=value)), Restated)


def test_no_band_makes_one_of_two_things() -> None:
    """However low the upper band is set: staging and production stay two."""
    old, new = statement("The staging key is old"), statement("The production key is old")
    low = MergePolicy(auto_update=0.02, check_low=0.01)

    assert isinstance(decided(new, old, None, low), Different)


def test_a_list_as_long_as_a_page_is_left_to_the_reader() -> None:
    """What cannot be compared in a moment is not compared at all."""
    page = "\n".join(f"Host number {n} stands in hall {n}." for n in range(60))

    assert isinstance(told(page, page + "\nHost 61 is new."), Unsure)
    assert isinstance(told("word " * 200 + "end", "word " * 200 + "stop"), Unsure)
    assert isinstance(told(page[:999] * 4, page[:999] * 4 + " More."), Unsure)
    assert (
        score_similarity(statement(page), statement(page + "\nHost 61 is new."), 1.0) <= UNSURE_MAX
    )
    assert isinstance(told("We use tabs", "We use tabs, as everybody does"), Restated)
    assert isinstance(told("We use tabs, as everybody does", "We use tabs"), Extended)
