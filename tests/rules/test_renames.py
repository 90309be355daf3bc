"""What something is called now, and what that leaves as it is."""

import pytest

from memory_mcp.text.truths import Outdates, Related, compare_statements, list_renames


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("master was renamed to main.", "master", "main"),
        ("We renamed the repo fleet-core to fleet-base in May.", "repo fleet-core", "fleet-base"),
        ("Anna Schmidt is now called Anna Weber.", "Anna Schmidt", "Anna Weber"),
        ("Tom Berger is now Tom Huber.", "Tom Berger", "Tom Huber"),
        ("Der Dienst fl-bot heißt jetzt fleet-robot.", "Dienst fl-bot", "fleet-robot"),
        ("fl-bot wurde in fleet-robot umbenannt.", "fl-bot", "fleet-robot"),
    ],
)
def test_a_rename_has_two_names(said: str, old: str, new: str) -> None:
    """The forms in which people say it."""
    assert [tuple(each) for each in list_renames(said)] == [(old, new)]


@pytest.mark.parametrize(
    "said",
    ["Tom Berger is now the lead.", "The branch is called main.", "The API is now Redis backed."],
)
def test_what_names_no_new_name_is_no_rename(said: str) -> None:
    """A role, a first name and a property are none."""
    assert list_renames(said) == []


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("The main branch is master.", "master was renamed to main.", Outdates),
        ("The repo is called fleet-core.", "We renamed the repo fleet-core to f2.", Outdates),
        ("Der Dienst heißt fl-bot.", "fl-bot wurde in fleet-robot umbenannt.", Outdates),
        ("Run make lint on master before a push.", "master was renamed to main.", Related),
        ("fl-bot pushes the tags.", "fl-bot heißt jetzt fleet-robot.", Related),
        ("The tech lead is Anna Schmidt.", "Anna Schmidt is now called Anna Weber.", Related),
        ("The search uses Elasticsearch.", "The search was switched to Meilisearch.", Outdates),
        ("Die Suche nutzt Solr.", "Die Suche wurde auf Meilisearch umgestellt.", Outdates),
    ],
)
def test_a_new_name_outdates_what_states_the_old_one(old: str, new: str, verdict: type) -> None:
    """What only mentions it stays true."""
    assert isinstance(compare_statements(old, new), verdict)
