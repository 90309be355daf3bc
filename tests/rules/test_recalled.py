"""What came out of our own recall is known as such, in whatever form it was shown or copied."""

import json

import pytest

from memory_mcp.cli.output import results_text
from memory_mcp.domain.sessions import Turn
from memory_mcp.text.episodes import drop_recalled, summarise_turns
from memory_mcp.text.gate import Chatter, judge_worth
from memory_mcp.text.recalled import drop_repeated, repeats_recalled, separate_recalled

MEMORY = "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"
SAID = "We decided to keep the cart in Redis, because sessions expire there."
MORE = "The fallback is SQLite."
BREAK = SAID.index(" because")
FOUND = {
    "success": True,
    "mode": "lexical",
    "message": "",
    "degraded": None,
    "results": [
        {
            "memoryId": MEMORY,
            "content": f"{SAID}\n{MORE}",
            "score": 0.834,
            "metadata": {
                "kind": "decision",
                "title": "Cart",
                "tags": ["redis"],
                "place": "project",
            },
            "why": "same words: cart; near in meaning",
            "parts": {"words": 0.5, "level": -1.25},
        }
    ],
}
SHOWN = results_text(FOUND)
WHOLE = {
    "as the command line shows it": SHOWN,
    "as it is quoted": "\n".join(f"> {line}" for line in SHOWN.splitlines()),
    "as pretty JSON": json.dumps(FOUND, indent=2),
    "as JSON on one line": json.dumps(FOUND),
    "as JSON in a string": json.dumps(
        {"context": f'<memory note="x">\n- {SAID} {MORE}\n</memory>'}
    ),
    "broken over lines": f"- {SAID[:BREAK]}\n  {SAID[BREAK:].strip()} {MORE} [{MEMORY}]",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_what_was_recalled_is_no_memory_and_no_episode(text: str) -> None:
    """Neither where it stands nor where it is said again, on one line or broken over two."""
    broken = f"So: {SAID[:BREAK]}\n{SAID[BREAK:].strip()}"
    turns = [Turn("assistant", f"I looked.\n{text}\n"), Turn("user", SAID), Turn("user", broken)]

    assert isinstance(judge_worth(text), Chatter)
    verdict = judge_worth(f"{text}\n{broken}")
    assert isinstance(verdict, Chatter), verdict
    assert verdict.sort == "recalled"
    assert summarise_turns(drop_recalled(turns)) == ""
    assert repeats_recalled(SAID, separate_recalled(text).recalled)


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_own_words_around_it_are_kept(text: str) -> None:
    """An answer begins with what was found, and goes on from there."""
    before, after = "We measured it again today.", "From now on the cart lives in PostgreSQL."
    own = separate_recalled(f"{before}\n{text}\n{after}").own

    assert own.startswith(before)
    assert own.endswith(after)
    assert "Redis" not in own
    assert "SQLite" not in own


def test_own_words_that_only_look_like_it_are_kept() -> None:
    """A number at the beginning, a list, an id of something else."""
    text = (
        "0.95 is the threshold for alarms.\n"
        "We decided to raise it.\n"
        f"The request was\n{MEMORY}\n"
        '"memoryId" is the name of the field.\n'
        "- The list ends here.\n"
        f"See also [{MEMORY}]\n"
        "+0.500 volts were measured."
    )
    own = separate_recalled(text).own

    for line in ("0.95 is", "We decided", "The request was", "memoryId", "The list", "+0.500"):
        assert line in own


def test_a_line_beside_a_broken_echo_stays() -> None:
    """Only the lines that the recalled sentence needs go along."""
    recalled = separate_recalled(f"- {SAID} [{MEMORY}]").recalled
    said = ["It failed.", SAID[:BREAK], SAID[BREAK:], "Use Redis then."]

    assert drop_repeated(said, recalled) == ["It failed.", "Use Redis then."]
    assert drop_repeated(said, frozenset()) == said
