"""What is stated of one thing is brought up to date by a value of the same kind."""

from typing import Final

import pytest

from memory_mcp.text.merge.clauses import split_clauses
from memory_mcp.text.truths import (
    Outdates,
    compare_statements,
    describe_answers,
    split_outdated,
    tells_change,
)

NEAR: Final = dict.fromkeys(("old of best", "new of best"), 1.0)

OTHER_KINDS: Final = [
    ("The office is in Berlin.", "The office is now closed on Fridays."),
    ("Standup is at 9:30.", "Standup moved to the big room."),
    ("Our standup is at 9:30.", "We moved standup to the big room."),
    ("We meet at 9:30.", "We now meet in the kitchen."),
    ("The demo is on Friday.", "The demo is now in room 4."),
    ("The demo is on the 3rd.", "The demo is now in hall B."),
    ("The weekly sync is on Monday.", "The weekly sync is now in Zoom."),
    ("The fair is in Graz.", "The fair moved to September."),
    ("The fair is in Graz.", "The fair is now every autumn."),
    ("The fair is in Graz.", "The fair is now twice a year."),
    ("The database is PostgreSQL 16.", "The database is now on its own host."),
    ("The mascot is a fox.", "The mascot is now on the homepage."),
    ("The CI runs on GitHub Actions.", "The CI now runs in 6 minutes."),
    ("The backend uses Postgres.", "The backend now runs on three nodes."),
    ("Retros are on Thursdays at 15:00.", "Retros are led by Ines now."),
    ("The release is on 4 May.", "The release is now a zip file."),
    ("Standup is at 9:30.", "Standup moved to Tuesdays."),
    ("Standup is on Tuesdays.", "Standup moved to 9:45."),
    ("The server listens on port 8080.", "The server moved to Frankfurt."),
    ("The lab is inside the mill.", "The lab is now run by Kim."),
    ("Das Standup ist um 9:30.", "Das Standup ist jetzt im grossen Raum."),
    ("Die Werkstatt ist in Halle 4.", "Die Werkstatt ist jetzt freitags geschlossen."),
    ("Der Lauftreff ist um 7 Uhr.", "Der Lauftreff wird jetzt von Petra geleitet."),
    ("Maja uses a MacBook.", "Maja switched to Neovim."),
    ("We deploy with Helm.", "Spinnaker is gone."),
]

ONE_KIND: Final = [
    ("The office is in Berlin.", "The office is now in a barn in Kent."),
    ("The office is in Berlin.", "The office is closed for good."),
    ("Standup is at 9:30.", "Standup moved to 10."),
    ("The API is on port 8080.", "The API now listens on port 9090."),
    ("Standup is on Monday at 9:30.", "Standup moved to Tuesday."),
    ("The party is in the evening.", "The party is now at 15:00."),
    ("The timeout is a minute.", "The timeout is now 90 seconds."),
    ("The deadline is on Friday.", "The deadline moved to the end of August."),
    ("The chat is Slack.", "The chat is now on Discord."),
    ("The team uses Slack.", "The team is now on Discord."),
    ("The database is MySQL.", "The database is now PostgreSQL 16, since March."),
    ("I live in Bergen.", "I moved to Trondheim last week."),
    ("Das Lager ist im Keller.", "Das Lager ist jetzt im Dachgeschoss."),
]

BY_QUESTION: Final = [
    ("The site uses Netlify.", "The site is now on our own servers."),
    ("The API is on port 8080.", "The API now listens on 9090."),
    ("Timeouts are in seconds.", "Timeouts are now in milliseconds."),
    ("The proxy listens on port 80.", "The proxy moved to port 8088."),
]


@pytest.mark.parametrize(("old", "new"), OTHER_KINDS)
def test_a_value_of_another_kind_outdates_nothing(old: str, new: str) -> None:
    """A place is no time and a person no place, whatever the question is."""
    found = compare_statements(old, new)

    assert not isinstance(found, Outdates), found
    assert not tells_change(describe_answers("when or where is it?", old, new) | NEAR)


@pytest.mark.parametrize(("old", "new"), ONE_KIND)
def test_a_value_of_the_same_kind_outdates(old: str, new: str) -> None:
    """The kinds tell values apart, and hide none."""
    assert isinstance(compare_statements(old, new), Outdates)


@pytest.mark.parametrize(("old", "new"), BY_QUESTION)
def test_where_no_kind_is_told_the_question_decides(old: str, new: str) -> None:
    """What may be of one kind is left to what the question tells."""
    assert tells_change(describe_answers("where or what is it?", old, new) | NEAR)


def test_what_holds_for_a_part_only_says_nothing_of_the_rest() -> None:
    """Unless it says that this changed."""
    yarn = "The repo uses yarn."

    parts = [
        compare_statements(yarn, "The repo uses npm workspaces for publishing only."),
        compare_statements(
            "The shop uses Django.", "The shop uses Flask only for the mock server."
        ),
    ]
    now = compare_statements("The car park is for all.", "The car park is now for staff only.")

    assert not any(isinstance(part, Outdates) for part in parts)
    assert isinstance(now, Outdates)


def test_a_verb_behind_a_figure_begins_a_statement_of_its_own() -> None:
    """Though no list of verbs holds it; behind a noun it may be a noun."""
    both = "The proxy runs on port 3128 and caches for an hour."

    assert split_outdated(both, "The proxy runs on port 8888 now.") == (
        "The proxy runs on port 3128.",
        "The proxy caches for an hour.",
    )
    for one in ("The shop sells nails and screws in boxes.", "The box holds 30 and parts of it."):
        assert split_clauses(one) == [one]
