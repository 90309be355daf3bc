"""What an episode tells of a few turns: the rules alone."""

import pytest
from depth import depth
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp.domain.limits import SUMMARY_CHARS_MAX, TURN_CHARS_MAX
from memory_mcp.domain.sessions import Turn
from memory_mcp.text.episodes import clean_summary, drop_recalled, summarise_turns

MEMORY = "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"


def said(*lines: str) -> list[Turn]:
    """Turns, the user's and the assistant's in turn."""
    return [Turn("assistant" if place % 2 else "user", line) for place, line in enumerate(lines)]


def told(*lines: str) -> str:
    """What an episode of these turns says."""
    return summarise_turns(drop_recalled(said(*lines)))


def test_an_episode_tells_requests_decisions_and_outcomes_without_the_rest() -> None:
    """A transcript is no memory."""
    text = told(
        "Hi! Please move the cart to Redis.",
        "Sure. Let me look at the code first.\n```\nx = 1\n```\nI will now run the tests.",
        "brb, lunch",
        "The cart lives in Redis now: sessions expire after 30 minutes.\nTraceback (most recent "
        "call last):",
        "Thanks! We decided to keep the fallback, because ops wants it. Does it work on Windows?",
        "Okay.",
    )

    assert text.splitlines() == [
        "- user: Please move the cart to Redis.",
        "- assistant: The cart lives in Redis now: sessions expire after 30 minutes.",
        "- user: We decided to keep the fallback, because ops wants it.",
        "- user: Does it work on Windows?",
    ]


def test_an_episode_is_short_and_keeps_what_tells_most() -> None:
    """It is carried into later sessions."""
    noise = [f"The number of this remark is {n} {'x' * 200}." for n in range(60)]
    text = told(*noise[:30], "We decided to drop Redis.", *noise[30:], "y" * 400)

    assert len(text) <= SUMMARY_CHARS_MAX
    assert "- user: We decided to drop Redis." in text
    assert max(map(len, text.splitlines())) < 320


def test_of_a_long_turn_beginning_and_end_are_heard() -> None:
    """The request stands at the beginning, the outcome at the end."""
    long = f"Please rewrite the parser. {'word ' * TURN_CHARS_MAX}\nThe parser is rewritten now."
    text = told(long)

    assert "Please rewrite the parser." in text
    assert "The parser is rewritten now." in text


def test_a_summary_of_a_model_is_held_to_the_same() -> None:
    """A model repeats what it was shown, recalled or not."""
    heard = drop_recalled(
        said(f"<memory>\n- The shop sells coffee beans. [{MEMORY}]\n</memory>\nAdd tea.")
    )
    text = clean_summary(
        "They added tea to the menu.\nThe shop sells coffee beans.\n" + "z" * 3_000, heard.recalled
    )

    assert text == "They added tea to the menu."


words = st.sampled_from("redis cart order tea index cache page user token week".split())  # noqa: SIM905
sentence = st.lists(words, min_size=3, max_size=7).map(lambda w: f"The {' '.join(w)} is kept.")


@given(
    recalled=st.lists(sentence, min_size=1, max_size=4),
    own=st.lists(sentence, max_size=4),
    echoed=st.booleans(),
    closed=st.booleans(),
)
@settings(max_examples=depth(25, 150))
def test_no_sentence_of_a_recalled_block_is_ever_told(
    *, recalled: list[str], own: list[str], echoed: bool, closed: bool
) -> None:
    """Memory that feeds on itself ends up as nothing but itself."""
    entries = "\n".join(f"- A title: {line} [{MEMORY}]" for line in recalled)
    block = f'<memory note="recalled data">\n{entries}\n{"</memory>" if closed else ""}'
    again = " ".join(recalled) if echoed else ""
    text = told(" ".join(own), again, f"We know: {block}", f"{again} {' '.join(own)}")
    lines = [line.removeprefix("- user: ").removeprefix("- assistant: ") for line in
             text.splitlines()]  # fmt: skip

    assert set(lines).isdisjoint(recalled)
    assert {line for line in own if line not in recalled} <= set(lines) | set(recalled) or any(
        line[4:-9] in other or other[4:-9] in line for line in own for other in recalled
    )


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("I'm doing great, thanks for asking!", "Glad to hear it!"),
        ("lol that is funny, haha", "Haha, right?"),
        ("can you speak French?", "Yes, I can speak French, German and Spanish."),
        ("How are you?", "I'm doing well, thank you! How can I help you today?"),
        ("Do you know Python?", "Yes! I know Python well. What can I help you with?"),
        ("That made me laugh, thanks", "😀"),
        ("you're funny", "Haha, thanks!"),
        ("Sprichst du Deutsch?", "Ja, ich spreche Deutsch."),
    ],
)
def test_chat_alone_is_no_episode(asked: str, answered: str) -> None:
    """Nobody looks for it later; beside something that happened it does no harm."""
    assert told(asked, answered) == ""
    assert "Redis" in told(asked, answered, "Please move the cart to Redis.")


@pytest.mark.parametrize(
    "asked", ["Can you run the tests?", "Can you use Redis for the cart?", "Könntest du das tun?"]
)
def test_a_request_that_is_put_as_a_question_is_an_episode(asked: str) -> None:
    """Politeness asks for what is wanted, not for what is possible."""
    assert told(asked) == f"- user: {asked}"
