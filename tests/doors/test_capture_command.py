"""`memory-mcp capture` and `suggestions`: what programs hand in, and a person decides."""

import json

import pytest
from command_line import Run, as_json, complaint

TURNS = json.dumps(
    [
        {
            "role": "user",
            "content": "no, we always squash before merging in this repo, so don't rebase. "
            "now fix line 3",
        }
    ]
)
RULE = "We always squash before merging in this repo, so don't rebase."


def test_what_was_said_is_listed_and_kept_on_a_word(run: Run) -> None:
    """The whole life of a suggestion."""
    assert run("suggestions") == (0, "Nothing waits for your word.\n", "")
    said = as_json(run, "capture", TURNS)
    assert said["suggested"] == [{"content": RULE, "category": "convention"}]
    assert "named in the next context" in said["message"]

    listed = run("suggestions")[1]
    assert listed.splitlines() == [
        f"{RULE} [convention]",
        "Decide with `memory-mcp suggestions keep` or `drop`; for one alone, add words of it.",
    ]  # fmt: skip
    kept = as_json(run, "suggestions", "keep")
    assert kept["message"] == "1 suggestion kept."
    assert kept["suggestions"][0]["outcome"] == "inserted"
    assert RULE in run("list")[1]
    assert "Nothing waits for the user's word" in complaint(run, "suggestions", "keep")
    of_nothing = complaint(run, "suggestions", "keep", "no such words")
    assert "Nothing that says 'no such words' waits for the user's word" in of_nothing


def test_what_is_dropped_is_dropped(run: Run) -> None:
    """And nothing of it is stored."""
    as_json(run, "capture", TURNS)

    assert as_json(run, "suggestions", "drop")["message"] == "1 suggestion dropped for good."
    assert as_json(run, "capture", TURNS)["message"] == (
        "The user said nothing new that is worth keeping."
    )
    assert RULE not in run("list")[1]


def test_auto_says_what_was_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receipt names it with its id."""
    monkeypatch.setenv("MEMORY_CAPTURE", "auto")
    said = as_json(run, "capture", TURNS, "--session", "one")

    assert [each["content"] for each in said["kept"]] == [RULE]
    assert said["message"] == "1 statement kept."


def test_auto_says_what_it_only_suggests(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said to be kept that is not."""
    monkeypatch.setenv("MEMORY_CAPTURE", "auto")
    turn = {"role": "user", "content": "We use pnpm in this project. now fix line 3"}
    said = as_json(run, "capture", json.dumps([turn]))

    assert said["kept"] == []
    assert said["message"].startswith("1 statement suggested: ")
    assert run("list")[1] == "No visible memory matches.\n"


def test_what_is_taken_back_is_said_and_gone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A joke is no memory."""
    monkeypatch.setenv("MEMORY_CAPTURE", "auto")
    as_json(run, "capture", TURNS)
    turns = [*json.loads(TURNS), {"role": "user", "content": "Forget that, I was joking."}]
    said = as_json(run, "capture", json.dumps(turns))

    assert said["message"] == "1 statement taken back: the user did not mean it."
    assert said["retracted"] == [RULE]
    assert RULE not in run("list")[1]


def test_a_session_takes_back_what_it_said_in_the_call_before(run: Run) -> None:
    """Each call hands in one message, and the session's name says which one was before it."""
    as_json(run, "capture", "--session", "one", TURNS)
    again = json.dumps([{"role": "user", "content": "Forget that, I was joking."}])
    other = as_json(run, "capture", "--session", "another", again)
    said = as_json(run, "capture", "--session", "one", again)

    assert (other["retracted"], said["retracted"]) == ([], [RULE])
    assert run("suggestions")[1] == "Nothing waits for your word.\n"


def test_a_look_at_the_context_does_not_use_up_the_suggestion(run: Run) -> None:
    """It is the agent's to be named, however often the user looks."""
    as_json(run, "capture", TURNS)

    assert RULE in run("context")[1]
    assert RULE in run("context")[1]
    assert as_json(run, "suggestions", "keep")["message"] == "1 suggestion kept."


def test_a_meta_session_is_told_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads, and keeps nothing."""
    monkeypatch.setenv("MEMORY_MODE", "meta")

    assert run("suggestions")[0] == 0
    assert "meta session" in run("suggestions", "drop")[2]
    assert "meta session" in run("capture", TURNS)[2]
