"""Which of the stored memories a new one brings up to date, or that none is."""

from collections.abc import Sequence
from datetime import UTC, datetime

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record, Scope
from memory_mcp.domain.search import SearchFields
from memory_mcp.engine.fields import make_fields
from memory_mcp.learnt import load_figures
from memory_mcp.text.truths.updates import (
    WORDS,
    describe_new,
    describe_updates,
    estimate_updates,
    list_readers,
    list_topic_terms,
)
from memory_mcp.words.terms import extract_terms

MODEL = "minilm-l6-v2"
OTHERS = (
    "The sound studio is in the cellar.",
    "Vera waters the plants.",
    "Maps are drawn with QGIS.",
    "The boat lies in the harbour of Kiel.",
)


def read(text: str) -> SearchFields:
    return make_fields(
        Record(
            id=RecordId("019c1476-4898-7000-8000-000000000000"),
            kind="fact",
            content=text,
            scope=Scope(user="u"),
            created_at=datetime(2026, 1, 2, tzinfo=UTC),
        )
    )


def estimate(
    new: str,
    *olds: str,
    changes: bool = True,
    cosines: Sequence[float] = (),
    read_by: str = WORDS,
    records: int = 5,
) -> list[float]:
    """The odds that the new statement brings each of these up to date."""
    fields = {RecordId(f"id{n}"): read(text) for n, text in enumerate(olds)}
    measured = dict(zip(fields, cosines, strict=False))
    described = describe_updates(read(new), fields, measured)
    of_new = describe_new(read(new), changes=changes)
    return [*estimate_updates(described, of_new, read_by, records).values()]


def test_what_is_told_in_other_words_is_the_likeliest() -> None:
    """No telling word is the same: both are about who may be called out."""
    *others, pager = estimate("Tobin carries the pager now.", *OTHERS, "On-call rotates weekly.")

    assert pager > 3 * max(others)


def test_two_german_words_of_one_topic_are_a_link() -> None:
    """The table of related words knows no German."""
    *others, home = estimate("Wir sind nach Bremen umgezogen.", *OTHERS, "Die Wohnung ist in Kiel.")

    assert home > 2 * max(others)


def test_a_topic_that_all_of_them_are_about_tells_less() -> None:
    """Where every memory is about the flat, that one more is says nothing."""
    new, old = "The landlord raised it to 900 euros.", "The rent is 800 euros."
    flats = [f"The {room} of the flat is cold." for room in ("kitchen", "bath", "hall", "bedroom")]

    assert estimate(new, *OTHERS, old)[-1] > estimate(new, *flats, old)[-1]


def test_what_brings_nothing_up_to_date_is_likeliest_none() -> None:
    """The odds of all are far below even."""
    assert sum(estimate("The cat is called Mo.", *OTHERS, changes=False)) < 0.1


def test_that_something_changed_makes_each_of_them_likelier() -> None:
    """It is about something that held before."""
    new, old = "Amounts are whole cents.", "Money is stored as a float."

    assert estimate(new, *OTHERS, old)[-1] > estimate(new, *OTHERS, old, changes=False)[-1]


def test_a_better_rival_takes_little_of_the_odds() -> None:
    """A store that grows brings more that is near by chance, and must not silence what is meant."""
    new, old = "Tobin carries the pager now.", "On-call rotates weekly."
    alone, beside = (estimate(new, old, other)[0] for other in (OTHERS[0], "Vera has the pager."))

    assert beside > alone / 2


def test_of_many_memories_one_is_near_by_chance() -> None:
    """The same nearness says less of a store of thousands."""
    new, old = "Tobin carries the pager now.", "On-call rotates weekly."

    assert 1 < estimate(new, old)[0] / estimate(new, old, records=5_000)[0] < 10


def test_where_a_model_has_read_them_the_nearer_one_is_likelier() -> None:
    """What no word and no topic tells the model knows."""
    texts = ("The qzxv hums.", *OTHERS)
    near, far = (
        estimate("The wvjq sleeps.", *texts, cosines=(cosine, 0.1, 0.1, 0.1, 0.1), read_by=MODEL)[0]
        for cosine in (0.7, 0.1)
    )

    assert near > 3 * far


def test_nothing_is_likely_of_no_memories() -> None:
    """The first memory of a store brings nothing up to date."""
    assert estimate("Tobin carries the pager now.") == []


def test_words_of_a_topic_are_looked_up_together() -> None:
    """What shares no word with the new statement must be found to be compared."""
    assert {"rotat", "oncal"} & list_topic_terms(extract_terms("pager"))
    assert list_topic_terms(extract_terms("qzxv")) == frozenset()


def test_the_figures_are_of_what_is_described() -> None:
    """A feature that was renamed would count for nothing, and nobody would notice."""
    old, new = RecordId("id0"), read("Tobin carries the pager now.")
    features = describe_updates(new, {old: read("On-call rotates weekly.")}, {old: 0.5})[old]
    none = describe_new(new, changes=True)

    assert list_readers() == {WORDS, MODEL}
    for reader, figures in load_figures("memory_mcp.text", "updates").items():
        of_models = {"cosine", "nearer", "nearest"} if reader == WORDS else frozenset[str]()
        assert figures["memory"].keys() == features.keys() - of_models
        assert figures["none"].keys() == {"", *none.keys()}
