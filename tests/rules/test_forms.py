"""The form of two statements and what it says of them: one line for each thing the rule knows."""

import pytest
from pairs import statement

from memory_mcp.domain.deduplication import Different, Extended, Restated, Unsure, Updated, Verdict
from memory_mcp.text.merge import compare_facts


def told(new: str, old: str) -> Verdict:
    """The rule's verdict on two texts."""
    return compare_facts(statement(new), statement(old))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Max is 3 years old", "Max is now 4 years old", Updated),
        ("The session timeout is 30 minutes", "The session timeout is 2 hours", Updated),
        ("The standup is on Mondays", "The standup is on Tuesdays", Updated),
        ("I play tennis on Mondays", "I play tennis on Tuesdays", Unsure),
        ("We use Python 3.11", "We use Python 3.12", Updated),
        ("We support Python 3.11", "We support Python 3.12", Unsure),
        ("We use Node >= 18", "We use Node < 18", Unsure),
        ("Our rent is 1,150 euros", "Our rent is 1,230 euros", Updated),
        ("I paid 20 euros for lunch", "I paid 25 euros for lunch", Unsure),
        ("Anna lives in Berlin", "Anna lives in Munich", Updated),
        ("My cat is called Mia", "My cat is called Leo", Unsure),
        ("The lead is Anna", "The lead is Tom", Updated),
        ("One lead is Anna", "One lead is Tom", Unsure),
        ("We use Redis", "We no longer use Redis", Updated),
        ("We use Redis", "We do not use Memcached", Different),
        ("We no longer use Redis", "We use Redis for sessions", Different),
        ("We use Redis for caching", "We no longer use Redis", Updated),
        ("We use Redis", "We no longer use Redis because it was slow", Updated),
        ("We use Redis", "We no longer use Redis for sessions", Different),
        ("We use Redis for caching", "We use Redis", Restated),
        ("We use Redis", "We will use Redis", Unsure),
        ("I live in Berlin and work as a nurse", "I no longer live in Berlin", Unsure),
        ("We use Redis and Postgres", "We no longer use Redis", Unsure),
        ("I no longer live in Paris", "I no longer live in Berlin", Unsure),
        ("Tom is vegetarian", "Tom was vegetarian", Unsure),
        ("Anna likes Tom", "Tom likes Anna", Unsure),
        ("Tom is Anna's brother", "Anna is Tom's brother", Unsure),
        ("Tasks: build and test", "Tasks: test and build", Restated),
        ("Order: build and test", "Order: test and build", Unsure),
        ("A takes a path and returns a list", "A takes a list and returns a path", Unsure),
        ("The cache is off", "The cache is off in staging", Unsure),
        ("Build 411 takes 3 minutes", "Build 412 takes 3 minutes", Different),
        ("The API is on port 80.", "The API is on port 81. It is old.", Updated),
        ("It listens on port 80.", "It listens on port 81.", Unsure),
        ("Listen on port 80", "Listen on port 81", Unsure),
        ("Use a == b", "Use a != b", Unsure),
        ("We use tabs", 'We use "tabs"!', Restated),
        ("Use npm or yarn", "Use npm and yarn", Unsure),
        ("We speak Rust and Go", "We speak Rust", Unsure),
        ("We speak Rust", "We speak Rust and Go", Extended),
        ("Never commit to main", "Never commit", Unsure),
        ("Never commit", "Never commit because Anna does", Extended),
        ("Just Anna can merge", "Anna can merge", Unsure),
        ("Is the API public?", "The API is public.", Unsure),
        ("Is the API public?", "is the API  public?", Restated),
        ("Note: we use Redis", "We use Redis", Restated),
        ("Staging: Ask Anna.", "Production: Ask Anna.", Different),
        ("Billing: Ask Anna. It is new.", "Mail: Ask Anna. It is new.", Different),
        ("The host is a.acme.io", "The host is b.acme.io", Unsure),
        ("The host is a.acme.io:80", "The host is a.acme.io:81", Updated),
        ("The budget is 100 €", "The budget is 100 $", Unsure),
        ("The dose is 5 mg on Monday", "The dose is 6 mg on Tuesday", Unsure),
        ("The shift is from 9 to 12", "The shift is from 9 to 14", Unsure),
        ("Deploy on Fridays. Not in May.", "Deploy on Fridays.", Unsure),
        ("We use Redis", "No, we use Redis", Unsure),
        ("Set the timeout to 5", "Set the timeout to 6", Unsure),
        ("We have 2 cats: Mia, Leo", "We have 3 cats: Mia, Leo", Unsure),
        ("The API returns 200", "The API returns 201", Unsure),
        ("Today I have 3 meetings", "Today I have 5 meetings", Unsure),
        ("Deploys need approval from Anna", "Deploys need approval", Unsure),
        ("I prefer Go for tools", "I prefer Go", Unsure),
        ("Ask Tom or Anna and Bob", "Ask Tom and Anna or Bob", Unsure),
        ("The separator is ;", "The separator is ,", Unsure),
        ("Run it with -x", "Run it with --x", Unsure),
        ("Run it with -x", "Run it with x", Unsure),
        ("Yoga is on Monday", "Yoga is on Wednesday", Unsure),
        ("The parser is parseAll", "The parser is parseall", Unsure),
        ("All tests pass", "Not all tests pass", Updated),
        ("मैं चाय पीता हूँ", "मैं चाय पाता हूँ", Unsure),
        ("मैं चाय पीता हूँ", "मैं चाय पीता हूँ ", Restated),
        ("Anna is a nurse. She is 30.", "Tom is a cook. She is 31.", Unsure),
        ("See the wiki. Foo is slow.", "See the wiki. Bar is slow.", Different),
    ],
)
def test_the_form_of_two_statements_decides(old: str, new: str, kind: type[Verdict]) -> None:
    """One line for each thing that the rule knows of: the reader's map of it."""
    assert isinstance(told(new, old), kind), told(new, old)
