"""The word lists as they are loaded: what `tools/word_lists.py` makes of those that people edit."""

import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from memory_mcp.patterns import compile_needed, fold_case
from memory_mcp.text.tables import choose_pattern, load_pattern

ROOT: Final = Path(__file__).parents[2]
TOOL: Final = runpy.run_path(str(ROOT / "tools" / "word_lists.py"))
TABLES: Final[tuple[Path, ...]] = TOOL["TABLES"]
DESCRIBE: Final[Callable[[str], tuple[str, list[str]]]] = TOOL["describe"]


@pytest.mark.parametrize("source", TABLES, ids=lambda path: path.stem)
def test_what_is_loaded_is_what_was_written(source: Path) -> None:
    """Run `python tools/word_lists.py` after a change."""
    loaded = source.with_suffix(".json").read_text("utf-8")

    assert loaded == TOOL["convert"](source.read_text("utf-8"))


def _list_texts(held: Any) -> Iterator[str]:
    match held:
        case str():
            yield held
        case [*each]:
            for one in each:
                yield from _list_texts(one)
        case {**named}:
            yield from _list_texts([*named.values()])
        case _:
            pass


def _load_texts() -> list[str]:
    """What the rules are judged by, as it stands and in lower case."""
    data = Path(__file__).parents[1] / "data"
    files = ("gate_tuned", "gate_held_out", "newer_values", "fact_pairs", "talk_of_our_own")
    held = [json.loads((data / f"{name}.json").read_text("utf-8")) for name in files]
    texts = [*_list_texts(held), "\u0131s \u0130t gone?", "\u017faid GROSS, groß, \u1e9e", ""]
    return [*dict.fromkeys(each for text in texts for each in (text, text.casefold()))]


TEXTS: Final = _load_texts()


@pytest.mark.parametrize("source", TABLES, ids=lambda path: path.stem)
def test_each_text_that_a_pattern_matches_holds_what_it_needs(source: Path) -> None:
    """Else a pattern would be silent about a text without having been asked."""
    patterns = json.loads(source.with_suffix(".json").read_text("utf-8")).get("patterns", {})
    folded = {text: fold_case(text) for text in TEXTS}
    for pattern, needs in (row for rows in patterns.values() for row in rows if row[1]):
        search = re.compile(pattern).search
        left_out = [text for text in TEXTS if not any(each in folded[text] for each in needs)]
        assert [text for text in left_out if search(text)] == [], pattern


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        ("now|nowadays", ["now"]),
        (r"\bhop(?:e|es|ing) to\b", ["hope to", "hopes to", "hoping to"]),
        (r"(?:is|are)\s+gone", ["gone"]),
        (r"(?i)Groß(?=er)", ["gross"]),
        (r"(?!never)[ab]c?\w", ["a", "b"]),
        (r"[ab]d{2,3}", ["d"]),
        (r"(?>old)e\w(?:x|y)+", ["old"]),
        (r"a*|b", []),
        (r"\w+", []),
        ("(?:x|)", []),
        (r"(?P<a>one|other) .*?(?P=a)", ["one ", "other "]),
    ],
)
def test_a_pattern_needs_the_longest_letters_of_which_some_stand_in_each_match(
    pattern: str, needs: list[str]
) -> None:
    assert DESCRIBE(pattern) == (pattern, needs)


def test_a_pattern_that_is_asked_seldom_answers_as_always() -> None:
    """Whoever uses one need not know whether it was asked."""
    needing, compiled = compile_needed(r"(\w+) is (gone)", ["is "]), re.compile(r"(\w+) is (gone)")
    assert needing.pattern == compiled.pattern
    for text in ("Redis is gone, as Solr IS gone", "Redis is gone", "nothing", ""):
        for ask in ("search", "match", "fullmatch"):
            found, wanted = getattr(needing, ask)(text), getattr(compiled, ask)(text)
            assert (found and found.span()) == (wanted and wanted.span())
        spans = [[each.span() for each in one.finditer(text)] for one in (needing, compiled)]
        assert spans[0] == spans[1]
        assert needing.findall(text) == compiled.findall(text)
        assert needing.split(text) == compiled.split(text)
        assert needing.sub("<", text) == compiled.sub("<", text)
        assert needing.subn("<", text) == compiled.subn("<", text)


@pytest.mark.parametrize(
    "said",
    [
        "As per the wiki, port 80.",
        "Ada says that it is red.",
        "It is red, i think.",
        "It is red.",
        "",
    ],
)
def test_of_a_list_those_that_a_text_may_match_say_what_all_do(said: str) -> None:
    """The others match it nowhere, so that each place has the same first match."""
    every, chosen = (
        load_pattern("truths", "attribution"),
        choose_pattern("truths", "attribution", said),
    )
    assert chosen.subn("<", said) == every.subn("<", said)
    assert len(chosen.pattern) < len(every.pattern)
