"""The word lists as they are loaded: what `tools/word_lists.py` makes of those that people edit."""

import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from depth import depth

from memory_mcp.patterns import compile_needed, fold_case

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
    texts = [*_list_texts(held)][:: depth(4, 1)]
    texts += ["\u0131s \u0130t gone?", "\u017faid GROSS, groß, \u1e9e", ""]
    return [*dict.fromkeys(each for text in texts for each in (text, text.casefold()))]


TEXTS: Final = _load_texts()


@pytest.mark.sampled(3)
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


def test_a_pattern_answers_as_always_before_and_after_a_text_has_what_it_needs() -> None:
    """Whoever uses one need not know whether it was compiled."""
    compiled = re.compile(r"(\w+) is (gone)")
    assert compile_needed(compiled.pattern, ["is "]).pattern == compiled.pattern
    for texts in (("nothing", "", "Redis is gone, as Solr IS gone"), ("Redis is gone", "nothing")):
        for ask in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn"):
            needing = compile_needed(compiled.pattern, ["is "])
            for text in texts:
                words = ("<", text) if "sub" in ask else (text,)
                found, wanted = (getattr(each, ask)(*words) for each in (needing, compiled))
                assert _show(found) == _show(wanted), ask


def _show(found: Any) -> Any:
    """What was found, so that it can be compared."""
    match found:
        case re.Match():
            span: tuple[int, int] = found.span()
            return span
        case None | str() | list() | tuple():
            return repr(found)  # pyright: ignore[reportUnknownArgumentType]  # of what is in it
        case _:
            return [*map(_show, found)]


def test_no_text_without_what_a_pattern_needs_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """To compile those that judge a statement took a tenth of a short command."""
    compiled: list[str] = []
    compile_now = re.compile

    def note(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return compile_now(source, flags)

    monkeypatch.setattr(re, "compile", note)
    needing = compile_needed("(?:is|was) gone", ["gone"])
    assert needing.search("Redis is here") is None
    assert compiled == []
    assert needing.search("Redis IS GONE") is None
    assert needing.search("Redis was gone")
    assert compiled == ["(?:is|was) gone"]
