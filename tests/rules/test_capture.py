"""What is captured of talk: measured on labelled messages, and rule by rule.

The figures of the first look at a set that nobody had tuned on stand in docs/what-is-kept.md.
"""

import json
from typing import Any

import pytest
from paths import DATA, ROOT

from memory_mcp.domain.sessions import Turn
from memory_mcp.text.capture import (
    find_captures,
    find_retracted,
    list_candidates,
    needs_context,
)

SETS = {
    "open": ROOT / "benchmarks" / "data" / "open" / "talk.json",
    "closed, looked at since": ROOT / "benchmarks" / "data" / "closed" / "talk.json",
    "fresh, open": ROOT / "benchmarks" / "data" / "open" / "fresh-talk.json",
    "our own": DATA / "talk_of_our_own.json",
}


def captured(*said: str) -> list[str]:
    """The statements in the user's last message; what the assistant says begins with "A: "."""
    turns = [
        Turn("assistant", text[3:]) if text.startswith("A: ") else Turn("user", text)
        for text in said
    ]
    return [each.statement for each in find_captures(turns)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SETS)
def test_next_to_nothing_false_and_most_of_the_rest(name: str) -> None:
    """Nobody asked for a capture, so a wrong one costs more than a missed one."""
    cases: dict[str, list[dict[str, Any]]] = json.loads(SETS[name].read_text("utf-8"))

    def found(case: dict[str, Any]) -> bool:
        return bool(find_captures([Turn(turn["role"], turn["content"]) for turn in case["turns"]]))

    wrong = [case["id"] for case in cases["skip"] if found(case)]
    right = sum(map(found, cases["keep"]))

    assert len(wrong) <= 0.05 * len(cases["skip"]), wrong
    assert right >= 0.75 * len(cases["keep"])


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("ok, we always squash before merging here. now fix line 3",
         "We always squash before merging here."),
        ("btw I'm allergic to default exports. fix that?",
         "The user is allergic to default exports."),
        ("I prefer tabs, and my editor shows them well. fix that?",
         "I prefer tabs, and my editor shows them well."),
        ("We use pnpm in this project, so why is there a package-lock?",
         "We use pnpm in this project."),
        ('in this team test names begin with "it should". rename yours',
         'In this team test names begin with "it should".'),
        ("Bei uns heißen Tabellen immer im Singular. Benennst du sie um?",
         "Bei uns heißen Tabellen immer im Singular."),
    ],
)  # fmt: skip
def test_a_statement_is_cut_out_of_the_message(said: str, statement: str) -> None:
    """Self-contained, in the user's words; the request beside it is over when it is done."""
    assert captured(said) == [statement]


def test_a_statement_needs_no_mark_and_an_order_behind_a_comma_is_left_out() -> None:
    """Learnt figures tell it where no pattern does."""
    assert captured("Priyamvada owns the tariff tables, put her as reviewer") == [
        "Priyamvada owns the tariff tables."
    ]
    assert captured("staging is called fjord, fjord.int.haulwise.example. run it there")
    assert captured("Die Hörgeräte der Serie K haben kein Bluetooth. filter die vorher raus")
    assert captured("put the two functions in one file and run it") == []


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("I'm colour blind, so red and green look the same, keep that in mind for charts",
         "The user is colour blind, so red and green look the same."),
        ("Wir deployen nie freitags, merk dir das fürs nächste Mal", "Wir deployen nie freitags."),
        ("ich bin farbenblind, denk bei Diagrammen daran", "Ich bin farbenblind."),
    ],
)  # fmt: skip
def test_the_order_to_keep_it_is_no_statement(said: str, statement: str) -> None:
    """Nor what it is to be kept for: "that" says nothing by itself."""
    assert captured(said) == [statement]
    assert captured("keep that in mind for charts") == []


@pytest.mark.parametrize(
    "said",
    [
        "I moved to Konstanz in spring so my mornings are CET again",
        "unser Server steht bei Hetzner in Falkenstein",
        "staging has the password reset mails switched off",
        "and Henk reviews all alarm rules, always",
    ],
)
def test_where_something_is_and_what_is_always_so_is_a_fact(said: str) -> None:
    """Said in passing and in no other words of a rule."""
    (one,) = find_captures([Turn("user", said)])
    assert one.category in ("fact", "convention")
    assert captured("unser Build läuft bei jedem Commit", "the tests fail, always") == []


def test_what_is_meant_by_a_vague_word_is_taken_along() -> None:
    """From the sentence before it, or from the question to which it answers."""
    assert captured("don't add a dependency without asking me. That goes for all my projects.") == [
        "Don't add a dependency without asking me. That goes for all my projects."
    ]
    assert captured(
        "A: Who approves invoices?", "that is always done by Mrs Obermaier with us"
    ) == ["Who approves invoices? That is always done by Mrs Obermaier with us."]
    assert captured("that's how we always do it") == []


@pytest.mark.parametrize(
    ("proposed", "decided"),
    [
        ("The data are small. I'd use SQLite for it.", ["Agreed: I'd use SQLite for it."]),
        ("I'd use SQLite for it. Or we could keep them in JSON files.", []),
        ("I suggest using SQLite or DuckDB.", []),
        ("I'd rename the file and move it.", []),
        ("Shall I run the tests?", []),
        ("The tests are green.", []),
    ],
)
def test_an_agreement_decides_what_was_proposed(proposed: str, decided: list[str]) -> None:
    """Only one proposal alone, and only one that holds for long."""
    assert captured(f"A: {proposed}", "agreed, let's do that") == decided


@pytest.mark.parametrize(
    ("answer", "decided"),
    [
        ("NATS it is. We don't need the routing.", True),
        ("then NATS, RabbitMQ is too much for us", True),
        ("NATS.", False),
        ("then NATS", False),
        ("then delete it, the old one as well", False),
    ],
)
def test_a_choice_among_options_is_a_decision_with_its_reason(
    answer: str, *, decided: bool
) -> None:
    """Without a reason it may be a word for this once."""
    options = "A: You could take NATS or RabbitMQ, or delete it."

    assert bool(captured("What for the message broker?", options, answer)) is decided
    if decided:
        assert captured("What for the message broker?", options, answer)[0].startswith(
            "What for the message broker?"
        )


@pytest.mark.parametrize(
    "said",
    [
        "> we always use tabs\nis that so?",
        'they wrote "we always use tabs in this team, nothing else". true?',
        "```\n# we always use tabs\n```\nwhat does it do",
        "the log:\n2026-02-11T08:14:03Z WARN we always recommend UTC",
        "HOST: Your stack?\nGUEST: We decided to use Elixir for all services.",
        'He said "we always use tabs and',
        '<memory note="recalled data">\n- We always use tabs.\n</memory>\nstill so?',
        "/remember we always use tabs", "# we always use tabs", "! we always use tabs",
        "", "   ", "\ud800", "x" * 10_000, "always " * 2_000,
    ],
)  # fmt: skip
def test_what_the_user_did_not_say_is_never_captured(said: str) -> None:
    """Quotations, code, output, recalled text, commands."""
    assert captured(said) == []


def test_characters_that_stand_for_quotes_inside_harm_nothing() -> None:
    """Anybody may paste them."""
    assert captured("we prefer \ue000 and \uf8ff tabs in this project") == [
        "We prefer  and  tabs in this project."
    ]


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("remember: invoices may never be changed after sending",
         "Invoices may never be changed after sending."),
        ("Merke dir: Rechnungen gehen vor dem Versand an Frau Obermaier.",
         "Rechnungen gehen vor dem Versand an Frau Obermaier."),
        ("note for later: the sandbox resets at midnight", "The sandbox resets at midnight."),
        ("Lesson: restarting the worker during a migration corrupts the job table.",
         "Restarting the worker during a migration corrupts the job table."),
        ("don't forget, Kari must approve payment changes", "Kari must approve payment changes."),
    ],
)  # fmt: skip
def test_what_the_user_says_to_keep_is_kept(said: str, statement: str) -> None:
    """In so many words: nothing of the sentence itself need speak for it."""
    assert [each.statement for each in find_captures([Turn("user", said)])] == [statement]


@pytest.mark.parametrize(
    "said",
    [
        "don't forget to run the tests",
        "remember how we did this last time?",
        "generate 3 fake user profiles, e.g. My name is Bob, I live in Rome and I like pizza",
        "SELECT is always uppercase in our style guide, says the linter output",
        "here's our README, shorten it:\n# Acme\nWe always deploy on Fridays. Never push to main.",
    ],
)
def test_an_order_to_do_something_and_what_is_borrowed_are_not_kept(said: str) -> None:
    """It looks like the user's own word, and is an example, a program's or a text to work on."""
    assert find_captures([Turn("user", said)]) == ()


def test_only_the_last_turns_of_the_user_are_looked_at() -> None:
    """What was said before was looked at then; the assistant's words are nobody's preference."""
    said = ["We always squash here.", "hm", "ok", "go on"]

    assert captured(*said) == []
    assert captured(*said[:3]) == ["We always squash here."]
    assert captured("A: We always squash here. I prefer that.") == []


def test_a_model_is_asked_about_what_nothing_speaks_against() -> None:
    """The refusals are hard; what the rules do not know it may."""
    turns = [Turn("user", "Whales are our customers. What now? Maybe we drop it. thanks!")]

    assert list_candidates(turns) == ("Whales are our customers.",)


def test_the_transcript_is_read_for_short_answers_alone() -> None:
    """Reading it takes longer than judging a prompt."""
    assert needs_context("agreed, let's do that")
    assert needs_context("that's done by Mrs Obermaier")
    assert not needs_context("We always squash before merging.")


@pytest.mark.parametrize(
    ("said", "kept", "category"),
    [
        ("Remember that Maja is on parental leave until June.",
         "Maja is on parental leave until June.", "fact"),
        ("remember: Der Port ist 2575.", "Der Port ist 2575.", "fact"),
        ("Merk dir: Der Port ist 2575.", "Der Port ist 2575.", "fact"),
    ],
)  # fmt: skip
def test_the_order_to_keep_it_says_nothing_of_what_it_is(
    said: str, kept: str, category: str
) -> None:
    """What the user says is to be kept is kept, as what it is without those words."""
    found = find_captures([Turn("user", said)])

    assert [(each.statement, each.category) for each in found] == [(kept, category)]


@pytest.mark.parametrize(
    "said",
    ["Our staging server is called otter, just so you know.", "Der Testserver heißt otter.",
     "Der Kunde heißt übrigens Dachser."],
)  # fmt: skip
def test_what_something_is_called_is_kept(said: str) -> None:
    """Nobody can guess a name, and it stays."""
    found = find_captures([Turn("user", said)])

    assert [each.category for each in found] == ["fact"]


@pytest.mark.parametrize(
    "said",
    ["Always answer yes in the next test only.", "The function is called twice.",
     "The endpoint is called automatically.", "The hook is called once, I think."],
)  # fmt: skip
def test_what_is_for_the_next_time_or_happens_names_nothing(said: str) -> None:
    """A rule for one occasion, and calls of code."""
    assert captured(said) == []


@pytest.mark.parametrize(
    ("said", "taken_back", "instead"),
    [
        ("We decided to use Kafka for events.", "Sorry, I meant NATS.", []),
        ("I prefer short commit messages.", "Forget that, I was joking.", []),
        ("We always squash merges.", "No wait, scratch that: we always rebase before merging.",
         ["We always rebase before merging."]),
        ("We always squash merges.", "No wait, we always rebase before merging.",
         ["We always rebase before merging."]),
        ("Wir nutzen immer Kafka für Events.", "Quatsch, ich meinte NATS.", []),
        ("Wir nutzen immer Kafka für Events.", "Quatsch, wir nutzen immer NATS für Events.",
         ["Wir nutzen immer NATS für Events."]),
        ("Wir mergen bei uns nie am Freitag.", "War nur ein Scherz, vergiss das bitte wieder.", []),
        ("Wir mergen bei uns nie am Freitag.", "vergiss das", []),
    ],
)  # fmt: skip
def test_what_the_user_takes_back_is_not_captured(
    said: str, taken_back: str, instead: list[str]
) -> None:
    """In the next turn, or right behind it; what replaces it may be, without the taking back."""
    turns = [Turn("user", said), Turn("user", taken_back)]

    assert captured(said) == [said.replace("I prefer", "The user prefers")]
    assert captured(said, "A: Done.", taken_back) == instead
    assert captured(f"{said} {taken_back}") == instead
    assert captured(said)[0] in [each.statement for each in find_retracted(turns)]


@pytest.mark.parametrize(
    "said",
    ["no wait, fix line 4 instead", "don't forget that", "I meant to tell you, the build is green",
     "never forget this: tests first", "Was meinst du?", "ok"],
)  # fmt: skip
def test_only_a_retraction_takes_something_back(said: str) -> None:
    """Another step of the work, or a stress on what was said, does not."""
    rule = "We always squash before merging here."

    assert captured(rule, said)[:1] == [rule]
    assert find_retracted([Turn("user", rule), Turn("user", said)]) == ()
    assert find_retracted([Turn("user", said)]) == ()


@pytest.mark.parametrize(
    "said",
    [
        "Here is the content of the file rules.txt: We always rebase. We prefer tabs.",
        "Pasted from Slack - Tom: we always release on Mondays",
        "Slack - Tom: we always release on Mondays",
        "Hier ist der Inhalt der Datei regeln.txt: Wir rebasen immer vor dem Merge.",
        "Aus Slack kopiert - Tom: wir releasen immer montags",
        "Auszug aus dem Vertrag: Wir liefern immer montags.",
    ],
)
def test_a_text_that_is_announced_is_not_the_user_s_own(said: str) -> None:
    """On the same line too: a file's, or somebody else's."""
    assert captured(said) == []
    assert captured(f"We always squash before merging here. {said}") == [
        "We always squash before merging here."
    ]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Merke dir bitte, dass wir immer UTC benutzen.", "Wir benutzen immer UTC."),
        ("Merk dir: Wir benutzen immer UTC.", "Wir benutzen immer UTC."),
        ("Merk dir, dass der Port 2575 ist.", "Der Port ist 2575."),
        ("Denk dran, dass wir Logs nach 30 Tagen abschneiden, sonst wird die Platte voll.",
         "Wir schneiden Logs nach 30 Tagen ab, sonst wird die Platte voll."),
        ("Merke dir, dass immer nur Anna deployt, die anderen nie.",
         "Immer nur Anna deployt, die anderen nie."),
        ("Wir deployen grundsätzlich nie freitags, das merk dir bitte.",
         "Wir deployen grundsätzlich nie freitags."),
        ("We deploy from main on Tuesdays. Remember that.", "We deploy from main on Tuesdays."),
        ("Remember that we use pnpm.", "We use pnpm."),
    ],
)  # fmt: skip
def test_the_request_to_keep_it_is_left_out(said: str, kept: str) -> None:
    """Before it or behind it: what is kept reads as if it had been said alone."""
    (found,) = find_captures([Turn("user", said)])

    assert (found.statement, found.sure) == (kept, True)


@pytest.mark.parametrize(
    ("proposed", "assent", "decided"),
    [
        ("I propose we use NATS for messaging.", "Agreed, let's do that.",
         "Agreed: we use NATS for messaging."),
        ("Ich schlage NATS für das Messaging vor.", "Einverstanden, so machen wir das.",
         "Vereinbart: NATS für das Messaging."),
        ("Ich schlage vor, wir nehmen SQLite.", "Einverstanden",
         "Vereinbart: wir nehmen SQLite."),
    ],
)  # fmt: skip
def test_what_was_agreed_is_said_without_who_proposed_it(
    proposed: str, assent: str, decided: str
) -> None:
    """The "I" of a proposal is the assistant's, and it is no part of the decision."""
    assert captured(f"A: {proposed}", assent) == [decided]
