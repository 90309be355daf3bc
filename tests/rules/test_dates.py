"""Days that a text names or means."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.words.dates import find_dates, find_leading_date, make_day_terms

MONDAY = date(2023, 5, 8)


def meant(text: str, own: date = MONDAY) -> set[str]:
    """The terms that say most exactly which times a text names."""
    return {term for mention in find_dates(text, own) for term in mention.precise}


@pytest.mark.parametrize(
    "text",
    [
        "8 May 2023", "8 May, 2023", "May 8, 2023", "May 8th 2023", "the 8th of May 2023",
        "2023-05-08", "2023/05/08", "8. Mai 2023", "8 de mayo de 2023", "8 mai 2023",
        "2023年5月8日", "at 1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z", "8-May-2023",
    ],
)  # fmt: skip
def test_the_usual_forms_of_a_day_are_one(text: str) -> None:
    """A question has the day in one form, the memory in another."""
    assert "20230508" in meant(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("yesterday", {"20230507", "202305"}),
        ("the day before yesterday", {"20230506", "202305"}),
        ("tomorrow", {"20230509", "202305"}),
        ("two days ago", {"20230506", "202305"}),
        ("3 days later", {"20230511", "202305"}),
        ("last week", {"2023w18"}),
        ("in two weeks", {"2023w21"}),
        ("a couple of weeks ago", {"2023w17"}),
        ("last month", {"202304"}),
        ("next month", {"202306"}),
        ("last Friday", {"20230505", "202305"}),
        ("this Friday", {"20230512", "202305"}),
        ("next Friday", {"20230512", "202305"}),
        ("last weekend", {"20230506", "20230507"}),
        ("last summer", {"202206", "202207", "202208"}),
        ("last December", {"202212"}),
        ("last year", {"2022"}),
        ("a few years ago", {"2020"}),
        ("in May", {"m05"}),
        ("since March", {"m03"}),
        ("December", {"m12"}),
        ("May 2023", {"202305"}),
        ("2023-05", {"202305"}),
        ("in 2021", {"2021"}),
        ("May 5", {"m05d05", "m05"}),
    ],
)
def test_times_are_counted_from_the_own_day(text: str, wanted: set[str]) -> None:
    """ "Last week" is worth nothing a year later unless somebody counts."""
    assert meant(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "May I ask?", "march on", "the second one", "version 2.3.1", "8/5", "took two days",
        "port 8080", "recently", "31 apples", "99999", "1 of 3", "room 20230508",
    ],
)  # fmt: skip
def test_what_names_no_time_is_left_alone(text: str) -> None:
    """A wrong day is worse than none."""
    assert meant(text) == set()


def test_what_can_be_read_in_two_ways_is_known_in_both() -> None:
    """8/5/2023 is in May or in August, depending on who wrote it."""
    assert {"20230508", "20230805"} <= meant("8/5/2023")
    assert meant("25/5/2023") == {"20230525", "202305"}


def test_a_day_without_a_year_is_of_the_nearest() -> None:
    """In January, the third of December was last month."""
    found = find_dates("3 December", date(2024, 1, 10))

    assert "20231203" in found[0].terms
    assert found[0].precise == ("m12d03", "m12")


def test_a_day_that_does_not_exist_is_its_month() -> None:
    """Nobody means nothing by the 31st of February."""
    assert meant("31 February 2023") == {"202302"}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[1:56 pm on 8 May, 2023] Caroline: hi", "Caroline: hi"),
        ("[8 May, 2023] text", "text"),
        ("2023-05-08: text", "text"),
        ("2023-05-08 - text", "text"),
        ("(2023-05-08 14:33) text", "text"),
        ("2023-05-08T12:00:00Z: text", "text"),
        ("Monday, 8 May 2023: text", "text"),
        ("On May 8th, 2023, we met", "we met"),
    ],
)
def test_a_text_may_begin_with_its_day(text: str, rest: str) -> None:
    """What is relative in the text is counted from there."""
    day, end = find_leading_date(text)

    assert day == MONDAY
    assert text[end:] == rest


@pytest.mark.parametrize("text", ["no day", "3 apples on 8 May 2023", "", "2023 was good"])
def test_a_day_further_on_is_not_the_texts_own(text: str) -> None:
    """A memory that mentions a day was not written on it."""
    assert find_leading_date(text) == (None, 0)


@given(st.dates(min_value=date(1902, 1, 1), max_value=date(2098, 12, 31)), st.text(max_size=60))
def test_no_text_on_no_day_is_too_much(own: date, text: str) -> None:
    """Memories hold anything; the calendar ends somewhere."""
    for said in (text, f"{text} yesterday", f"999 years ago {text}", f"in 999 months {text}"):
        for mention in find_dates(said, own):
            assert mention.precise
            assert set(mention.precise) <= {*mention.terms}


@given(st.dates(min_value=date(1902, 1, 1), max_value=date(2098, 12, 31)))
def test_a_written_day_is_found_again(day: date) -> None:
    """What is put in comes out, in every form that is written here."""
    for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y"):
        assert set(meant(day.strftime(form))) <= set(make_day_terms(day))
        assert make_day_terms(day)[0] in meant(day.strftime(form))
