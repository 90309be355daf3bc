"""One spelling for what comes in, and what two spellings of a statement have in common."""
# ruff: noqa: E501, RUF001 - characters that look like others are the subject

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_mcp.domain.normalise import digest, fold, normalise

ODD = st.text(
    "aZ.7' \t\n\r\x00\x1b[\x85\x9f\u00e9e\u0301\u0323\u0338\u2adc\u212b\u2018\u2019\u201c\u2014\u2026"
    "\u00a0\u200b\u200c\u200d\u0645\u06cc\u0915\u094d\ufe0f\U0001f469\U0001f680\U0001f3f4\U000e0067\U000e007f\u202e\u3000\ud800\udc00"
)
"""Where the rules meet: joiners, marks, emoji, ends of lines, halves of a pair."""
ADDRESSES = st.builds("{}https://{}{}".format, ODD, ODD, ODD)
TEXTS = st.one_of(st.text(), ODD, ADDRESSES)


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("“smart” and ‘single’ it’s „low“", "\"smart\" and 'single' it's \"low\""),
        ("2019–2024 — a range, −5 °C, non‑breaking", "2019-2024 - a range, -5 °C, non-breaking"),
        ("1\r\n2\r3\u20284\u20295\x856\x0c7", "1\n2\n3\n4\n5\n6\n7"),
        ("cafe\u0301", "caf\u00e9"),
        ("10\u00a0000\u202f€", "10 000 €"),
        ("a\x00b\x07c\x7fd\x9be", "abcde"),
        ("\x1b[1;31mred\x1b[0m alert", "red alert"),
        ("pass\u200bword, \ufeffBOM, soft\u00adhyphen", "password, BOM, softhyphen"),
        ("\u202egnihton\u202c \u2066isolated\u2069", "gnihton isolated"),
        ("a\u200db a\u200cb", "ab ab"),
        ("plain" + "".join(chr(0xE0000 + ord(char)) for char in "ignore"), "plain"),
        ("A\ufe00\ufe01\ufe02", "A"),
        ("é\ufe00\ufe01\ufe02", "é\ufe00"),
    ],
)  # fmt: skip
def test_what_no_reader_means_is_spelt_one_way(given_text: str, kept: str) -> None:
    """Keyboards and editors differ here, and what cannot be seen could hide a secret or an order."""
    assert normalise(given_text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "میخواهم می\u200cخواهم",
        "क्\u200dष and ക\u0d4d\u200d at the end",
        "ශ්\u200dරී ලංකා",
        "👩\u200d🚀 👨\u200d👩\u200d👧\u200d👦 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 🙂\u200d↔\ufe0f 👩🏽\u200d⚕\ufe0f",
        "1\ufe0f\u20e3 ©\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "«guillemets» 5′ 3″ wait… 全角\u3000空白",
        "\tindented\n\n    code  with   gaps\n",
        "x² ﬁ № ①",
    ],
)
def test_what_a_language_or_an_emoji_needs_stays(text: str) -> None:
    """The stored text is the caller's: only spellings are unified, never words or pictures."""
    assert normalise(text) == text


@pytest.mark.parametrize(
    "address",
    [
        "https://en.wikipedia.org/wiki/Michelson–Morley_experiment",
        "https://example.com/cafe\u0301/Hobson’s—choice?q=10\u2212x#A",
        "https://fa.wikipedia.org/wiki/می\u200cخواهم",
        "https://example.com/it's?x=1&y='2'",
    ],
)
def test_an_address_stays_what_it_is(address: str) -> None:
    """Another form of an accent or dash in it leads to another page, alone or in a sentence."""
    assert normalise(address) == address
    assert address in normalise(f"“Read” it – at {address} – today")


def test_a_quoted_address_ends_at_its_quotes() -> None:
    """The curly quotes around it are the sentence's, not the address's."""
    assert normalise("“https://a.example/b” ‘https://c.example/d’") == (
        "\"https://a.example/b\" 'https://c.example/d'"
    )


def test_nothing_unseen_hides_in_an_address() -> None:
    """An address cannot hold them, so what is left leads where the visible part leads."""
    assert normalise("https://a.example/\u200bx\u202e\x07y") == "https://a.example/xy"


@example("a\u200d\u0308")
@example("\u2adc\u200d\u0308")
@given(TEXTS)
def test_twice_is_once(text: str) -> None:
    """What was stored and comes back as a correction is not another text."""
    assert normalise(normalise(text)) == normalise(text)


@given(TEXTS)
def test_no_control_character_is_left(text: str) -> None:
    """Neither a terminal nor a log that shows a memory can be steered by it."""
    left = {char for char in normalise(text) if unicodedata.category(char) == "Cc"}
    assert left <= {"\n", "\t"}


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\n\t")))
def test_plain_text_is_untouched(text: str) -> None:
    """Code, commands and logs come back byte for byte."""
    assert normalise(text) == text


@given(TEXTS)
def test_folding_does_not_depend_on_the_spelling(text: str) -> None:
    """The index holds what was stored; the question is what somebody typed."""
    assert fold(normalise(text)) == fold(text)


@given(st.text("ae", min_size=1), st.permutations("\u0301\u0323\u0327\u0345"))
def test_the_order_of_marks_does_not_matter(letters: str, marks: list[str]) -> None:
    """An accent above and a dot below may be typed in either order."""
    assert normalise(letters + "".join(marks)) == normalise(letters + "\u0301\u0323\u0327\u0345")


def test_spellings_of_one_statement_have_one_digest() -> None:
    """So that the same fact is found in an index by one look."""
    same = [
        "The user’s  café is\nopen.",
        "the user's CAFE\u0301 is open",
        " The User's café is open ",
    ]
    assert len({digest(text) for text in same}) == 1
    assert digest(same[0]) == "c54e4ef4bacdd76e"


@given(TEXTS | st.text("aB_-` .!\n5m"))
def test_folding_twice_is_folding_once(text: str) -> None:
    """What is told apart once is told apart always."""
    assert fold(fold(text)) == fold(text)


def test_an_exclamation_ends_a_statement_as_a_full_stop_does() -> None:
    """Nobody means another fact by it."""
    assert digest("We use tabs!") == digest("We use tabs.") == digest("WE USE TABS")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://youtu.be/dQw4w9WgXcQ", "https://youtu.be/DQW4W9WGXCQ"),
        ("The area is 5 m²", "The area is 5 m2"),
        ("Resume the résumé", "Resume the resume"),
        ("The release is 1.2", "The release is 12"),
        ("", "a"),
        ("Use git branch -d", "Use git branch -D"),
        ("The variable is api_url", "The variable is API_URL"),
        ("The class is parseAll", "The class is ParseAll"),
        ("The command is `Make`", "The command is `make`"),
        ("The file is 10 MB", "The file is 10 Mb"),
        ("Is it open?", "Is it open"),
    ],
)
def test_what_differs_in_meaning_stays_apart(one: str, other: str) -> None:
    """A false match here would lose a fact without a word."""
    assert digest(one) != digest(other)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_half_a_pair_passes_through(text: str) -> None:
    """It is refused elsewhere, with its position; here it must not crash."""
    assert normalise(text) == text
    assert len(digest(text)) == 16
