"""Secrets out, everything else as it was: on labelled samples, hostile texts and made-up ones."""
# ruff: noqa: E501 - lists of pieces

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from samples import Sample, read_secrets

from memory_mcp.domain.normalise import normalise
from memory_mcp.domain.outcomes import Redaction
from memory_mcp.text.secrets import SecretRule, load_rules, redact

RULES = load_rules()
FIRST, REVIEWED, HELD_OUT, THIRD = map(read_secrets, ("tuned", "reviewed", "held_out", "third"))
TUNED = (*FIRST.secrets, *REVIEWED.secrets)
TUNED_HARMLESS = (*FIRST.harmless, *REVIEWED.harmless)
TOKEN = "gh" + "p_" + "a1B2" * 9


def removed(sample: Sample) -> bool:
    """No part of the secret that could be used is left."""
    return bool(redact(sample.text).redactions) and sample.secret not in redact(sample.text).text


@pytest.mark.parametrize(
    ("name", "secrets", "harmless", "recall_min", "precision_min"),
    [
        ("tuned", TUNED, TUNED_HARMLESS, 0.97, 0.98),
        ("held out", HELD_OUT.secrets, HELD_OUT.harmless, 0.9, 0.95),
        ("third round", THIRD.secrets, THIRD.harmless, 0.8, 0.9),
    ],
)
def test_secrets_go_and_lookalikes_stay(
    name: str,
    secrets: tuple[Sample, ...],
    harmless: tuple[Sample, ...],
    recall_min: float,
    precision_min: float,
) -> None:
    """A secret that is kept leaks; a hash that is taken for one is a memory spoilt."""
    missed = [sample.text for sample in secrets if not removed(sample)]
    spoilt = [sample.text for sample in harmless if redact(sample.text).redactions]
    hits = len(secrets) - len(missed)
    recall, precision = hits / len(secrets), hits / (hits + len(spoilt))
    print(f"\n{name}: {len(secrets)} secrets, {len(harmless)} look-alikes")  # noqa: T201
    print(f"precision {precision:.3f}, recall {recall:.3f}")  # noqa: T201
    print("missed:", *missed, "spoilt:", *spoilt, sep="\n  ")  # noqa: T201

    assert recall >= recall_min, missed
    assert precision >= precision_min, spoilt


@pytest.mark.parametrize("sample", TUNED, ids=[str(at) for at in range(len(TUNED))])
def test_only_the_secret_goes(sample: Sample) -> None:
    """What is said around it is the memory: names, addresses, sentences stay."""
    before, _, after = sample.text.partition(sample.secret)
    if removed(sample):
        shown = redact(sample.text).text
        another = '"private_key"' in before or "B2C3B2C3" in sample.text
        assert shown.startswith(before) or another
        assert shown.endswith(after) or another


def test_a_removal_says_which_rule_and_where() -> None:
    """The position is one of the text handed in, also behind an earlier and longer marker."""
    cleaned = redact(f"a {TOKEN} b password=hunter2")

    assert cleaned.text == "a [redacted:github-token] b password=[redacted:password]"
    assert cleaned.redactions == (Redaction("github-token", 2), Redaction("password", 54))


def test_overlapping_finds_are_one_marker() -> None:
    """A token within a private note is not told apart from the note."""
    text = f"<private>{TOKEN}</private> password={TOKEN}"
    assert redact(text).text == "[redacted:private] password=[redacted:github-token]"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<private>all of it</private>", False),
        (f"- {TOKEN}.", False),
        (f"It is {TOKEN}", True),
        ("!?", True),
        ("", True),
    ],
)
def test_a_text_that_was_nothing_but_secrets_says_so(text: str, *, left: bool) -> None:
    """A memory of a marker tells nobody anything; the caller refuses it."""
    assert redact(text).holds_only_markers is not left


def test_tags_nest_and_only_a_line_opens_one_that_nothing_closes() -> None:
    """What the user marks goes; what only names the tag is the user's sentence."""
    nested = "a <private>b <private>c</private> d</private> e"
    assert redact(nested).text == "a [redacted:private] e"
    assert redact("a <private>b <private>c</private> d").text == "a <private>b [redacted:private] d"
    assert redact("a\n  <private>b\nc").text == "a\n  [redacted:private]"
    assert redact("a <private> b").redactions == ()


def test_an_address_with_a_password_like_its_user_loses_it() -> None:
    """`user:password` shows where they go; `root:root` opens a door."""
    assert (
        redact("mysql://root:root@localhost").text
        == "mysql://root:[redacted:url-password]@localhost"
    )
    assert redact("mysql://user:password@localhost").redactions == ()


def test_every_secret_of_a_table_goes() -> None:
    """One look at the first row is not enough; what is no table any more is none."""
    rows = "| who | password |\n|---|---|\n| ada | a1b2c3 |\n| bob | d4e5f6 |\n\nada | a1b2c3"
    shown = redact(rows).text
    assert shown.count("[redacted:password]") == 2
    assert shown.endswith("\n\nada | a1b2c3")


PIECES = st.lists(
    st.sampled_from(
        [
            TOKEN, "password", "token", "secret", "key", "=", ": ", " is ", '"', "'", "`", " ", "\n", "hunter2", "@", "/",
            "<private>", "</private>", "https://u:", "[redacted:secret]", "[", "]", "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----", "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "AK" + "IA" + "B2C3" * 4, "&", ";", ",", "\\", "--",
        ]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@example(f"password='{TOKEN}'x'")
@given(PIECES | st.text())
def test_twice_changes_nothing_more(text: str) -> None:
    """A corrected memory goes through again, markers and all."""
    once = redact(text)
    again = redact(once.text)

    assert again.text == once.text
    assert again.redactions == ()


@given(PIECES)
def test_markers_and_positions_agree(text: str) -> None:
    """What is left between the removals is the text handed in, in order."""
    cleaned = redact(text)
    kept = re.split(
        "|".join(re.escape(f"[redacted:{one.rule}]") for one in cleaned.redactions) or "$^",
        cleaned.text,
    )

    assert [one.at for one in cleaned.redactions] == sorted({one.at for one in cleaned.redactions})
    assert text.startswith(cleaned.text[: cleaned.redactions[0].at] if cleaned.redactions else text)
    assert all(part in text for part in kept)


def test_no_hint_leaves_a_secret_out() -> None:
    """The quick look before a pattern is complete: without it the same is found."""
    for sample in (*TUNED, *TUNED_HARMLESS, *HELD_OUT.secrets, *HELD_OUT.harmless):
        lowered = sample.text.lower()
        for rule in RULES:
            if rule.pattern.search(sample.text):
                assert any(hint in lowered for hint in rule.hints), (rule, sample)


@pytest.mark.parametrize("rule", RULES, ids=[f"{at}-{rule.name}" for at, rule in enumerate(RULES)])
def test_every_rule_names_itself_and_its_source(rule: SecretRule) -> None:
    """A marker must be readable, and a rule must be checkable against the vendor's word."""
    assert re.fullmatch(r"[a-z0-9-]{3,40}", rule.name)
    assert rule.source
    assert all(hint == hint.lower() for hint in rule.hints)


HOSTILE = [
    "a", "A1", "aB3-", "password", "password=", "password is ", 'password="', "token for a ", "token: ", "secret\\", "key ",
    "--password ", "--a-", "://", "a://b:", "https://a:1/", "@", "a:b@", "eyJ", "eyJa.", "MA", "MTE4.", "curl -u ", "curl a",
    "<private>", "</private>", "<private ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 20 + "\n",
    "Private-Lines: 1\nA\n", "bearer ", "[redacted:secret]", "sk-", "sk-a1", "xxxxxx", "password=xxxxxx", "\\", '\\"', "pass ",
    "password: a=", "1234567890:AA", "ghp_", "AKIA", "password:a.", "password=a;", "auth-", "key_", "\n",
    "| password |", "|password|\n", "a,password\n", "password,", "login: a / ", "login a", "PIN is ", "PIN 1", "is the token ", "a as ",
    "AKIAB2C3B2C3B2C3B2C3 ", "AKIAB2C3B2C3B2C3B2C3", "mysql ", "mysql -p", "a://" + "a1" * 10, "password (a) ", "password for a", "password:\n",
    "user: a ", "user:a,password:", "`<private>`", "\n<private>", "A_SECRET=a", "pw ", "pw=", "password -> ", "door code ", "user a, ",
    " ", "=", "\u0130",
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_hostile_texts_cost_no_more_than_their_length(piece: str) -> None:
    """Four times the text takes about four times as long; what is quadratic takes sixteen times."""

    def seconds(length: int) -> float:
        text = normalise((piece * length)[:length])
        return min(_timed(text) for _ in range(3))

    redact(piece)
    assert any(seconds(8_000) < 8 * seconds(2_000) + 0.05 for _ in range(3))


def _timed(text: str) -> float:
    started = time.thread_time()
    redact(text)
    return time.thread_time() - started
