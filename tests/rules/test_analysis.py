"""What of a memory is searched, and what a question asks for."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.domain import limits
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record, Scope
from memory_mcp.domain.search import SearchFields
from memory_mcp.ranking.analysis import QUESTION_TERM, extract_fields
from memory_mcp.ranking.query import expand_query, keep_rarest_terms, parse_query
from memory_mcp.words.terms import TERM_CHARS_MAX, extract_terms, find_pieces, stem

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def fields(content: str, **more: object) -> SearchFields:
    """What the index would hold of a memory written now."""
    record = Record.model_validate(
        {
            "id": RecordId("0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"),
            "kind": "fact",
            "content": content,
            "scope": Scope(user="u"),
            "created_at": NOW,
            **more,
        }
    )
    return extract_fields(record)


def asked(question: str) -> list[str]:
    """The terms of a question."""
    return [term.text for term in parse_query(question, NOW).terms]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("painted", "painting"),
        ("hopping", "hops"),
        ("relational", "relate"),
        ("cities", "city"),
        ("bought", "buying"),
        ("went", "goes"),
        ("children", "child"),
        ("agreed", "agrees"),
        ("controlled", "control"),
    ],
)
def test_forms_of_a_word_are_one_term(one: str, other: str) -> None:
    """A question rarely uses the form that the memory used."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["is", "py", "a1b2", "größe", "hello" * 10])
def test_what_is_no_english_word_is_left_alone(word: str) -> None:
    """Cutting off what only looks like an ending would make strangers meet."""
    assert stem(word) in (word, "be")


def test_case_and_accents_are_forgotten() -> None:
    """People write Zurich for Zürich."""
    assert extract_terms("ZÜRICH Straße résumé") == extract_terms("zurich strasse resume")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("parseUserConfig", {"parseuserconfig", "user", "config"}),
        ("user_session_timeout", {"usersessiontimeout", "session", "timeout"}),
        ("src/app/main.py", {"srcappmainpi", "src", "app", "main", "py", "appmainpi", "mainpi"}),
        ("deployments deployed deploys", {"deploi"}),
        ("ERR_CONN", {"errconn", "err", "conn"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("v2.3.1", {"2d3d1", "2d3"}),
        ("1,200", {"1200"}),
        ("7:30", {"7h30"}),
        ("10km", {"10km", "10", "km"}),
        ("C++", {"cplusplus"}),
        ("self-care", {"selfcar", "self", "care"}),
    ],
)
def test_an_identifier_is_known_whole_and_by_its_parts(text: str, wanted: set[str]) -> None:
    """Some ask for the name as it stands, others for a word in it."""
    assert wanted <= set(extract_terms(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Caroline's dog", ["carolin", "dog"]),
        ("l'homme", ["homm"]),
        ("don\u2019t", ["dont"]),
        ("O'Brien", ["obrien"]),
    ],
)
def test_apostrophes_do_not_hide_a_word(text: str, wanted: list[str]) -> None:
    """Caroline's dog belongs to Caroline."""
    assert [term for term in extract_terms(text) if term not in ("o", "brien")] == wanted


def test_scripts_without_spaces_are_known_by_pairs() -> None:
    """No dictionary is needed to find a word inside a sentence."""
    assert {"東京", "タワ", "ワー"} <= set(extract_terms("東京タワーへ行った"))
    assert set(extract_terms("학교")) <= set(extract_terms("학교에서"))
    assert set(extract_terms("ไทย")) <= set(extract_terms("ภาษาไทย"))
    assert extract_terms("猫")[0] in extract_terms("我喜欢猫")


def test_vowels_that_are_marks_stay_with_their_letter() -> None:
    """In Hindi the vowels are half of the word."""
    assert extract_terms("नमस्ते हिन्दी") == ["नमस्ते", "हिन्दी"]


@given(st.text(max_size=200))
def test_terms_are_never_syntax(text: str) -> None:
    """Nothing that a user writes may reach the index's query language."""
    for term in extract_terms(text):
        assert 0 < len(term) <= TERM_CHARS_MAX
        assert not set(term) & set(" \"'*():^-+.\t\n")
        assert term == term.casefold()


@given(st.text(alphabet=st.characters(categories=("L", "N")), min_size=1, max_size=40))
def test_a_word_finds_the_memory_that_holds_it(word: str) -> None:
    """Whatever the script, asking for what was written finds it."""
    held = fields(f"x {word} y")
    question = parse_query(word, NOW)

    assert set(question.every) <= set(f"{held.body} {held.dates}".split())


def test_the_beginning_of_a_turn_gives_up_its_day_and_its_speaker() -> None:
    """Neither the hour nor the name before the colon was said."""
    held = fields("[1:56 pm on 8 May, 2023] Caroline: I went to a group yesterday.")

    assert held.day == "2023-05-08"
    assert held.names == "carolin"
    assert held.body == "i go to a group yesterdai"
    assert {"20230508", "20230507", "202305", "2023", "m05"} <= set(held.dates.split())


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08 Caroline: I went home.",
        "Caroline (8 May 2023): I went home.",
        "Caroline [1:56 pm on 8 May, 2023]: I went home.",
        "8 May 2023\nCaroline: I went home.",
    ],
)
def test_day_and_speaker_may_come_in_either_order(text: str) -> None:
    """Logs are written in many hands."""
    held = fields(text)

    assert (held.day, held.names, held.body) == ("2023-05-08", "carolin", "i go home")


def test_a_label_is_no_speaker() -> None:
    """ "Decision: use JWT" was said by nobody called Decision."""
    assert fields("Decision: use JWT").names == ""
    assert fields("note: use JWT").names == ""
    assert "decis" in fields("Decision: use JWT").body


def test_days_are_counted_from_the_writing_if_the_text_has_none() -> None:
    """Yesterday is the day before the memory was written."""
    held = fields("The deploy failed yesterday")

    assert held.day == ""
    assert "20261120" in held.dates.split()


def test_title_tags_and_category_are_searched() -> None:
    """What the caller put beside the text is worth finding it by."""
    held = fields("We sign with RS256", title="Tokens", category="security", tags=("auth",))

    assert "token" in held.body.split()
    assert held.extra.split() == extract_terms("security auth")


def test_a_question_is_marked() -> None:
    """What asks tells less than what answers."""
    assert QUESTION_TERM in fields("Where do we keep the keys?").extra
    assert QUESTION_TERM not in fields("The keys are in the vault.").extra


def test_stop_words_are_dropped_unless_there_is_nothing_else() -> None:
    """ "Who are you" is a question too."""
    assert asked("When did Caroline go to the group?") == ["carolin", "go", "group"]
    assert asked("who are you") == ["who", "be", "you"]


def test_days_in_a_question_are_seen_from_now() -> None:
    """Last week is not the week that the memory calls last."""
    assert asked("What did I do last week?") == ["2026w46"]
    assert "202305" in asked("Where was Mel in May 2023?")


def test_a_question_knows_where_its_terms_stand_and_what_is_exact() -> None:
    """Token vectors are weighed by the word they are of; names are found by letters only."""
    question = parse_query("what does Felix set in user_timeout?", NOW)
    by_text = {term.text: term for term in question.terms}

    assert by_text["felix"].spans == ((10, 15),)
    assert by_text["felix"].exact
    assert by_text["usertimeout"].exact
    assert by_text["timeout"].kind == "part"
    assert not by_text["set"].exact


def test_the_rarest_terms_stay_and_expansion_is_remembered() -> None:
    """A long task description must not cost more than a question."""
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(60)]
    question = parse_query(" ".join(words), NOW)
    counts = {term.text: 100 - n for n, term in enumerate(question.terms)}

    kept = keep_rarest_terms(question, counts)

    assert len(kept.terms) == limits.QUERY_TERMS_MAX
    assert [term.text for term in kept.terms] == [t.text for t in question.terms[-32:]]
    more = expand_query(kept, {kept.terms[0].text: ["other"]})
    assert more.terms[0].alternatives == ("other",)
    assert "other" in more.every


def test_a_text_without_marks_is_cut_as_one_with_them() -> None:
    """For it a pattern is asked that knows none of the marks of other scripts."""
    text = "C++ isn't src/app/main.py: v1,200.5 at 7:30, o'clock_x @me #tag ,a, F# a--b"
    both = [
        [(piece, start, end) for piece, start, end in find_pieces(each) if piece != "é"]
        for each in (text, f"{text} é")
    ]

    assert both[0] == both[1]
    assert both[0][0][0] == "C++"


def test_for_a_text_without_marks_none_are_looked_up() -> None:
    """There are two thousand of them, and a short command meets none."""
    script = "from memory_mcp.words import terms; terms.extract_terms('Orders live in Kiel.');"
    asked = "print(terms._compile_piece.cache_info().currsize)"
    done = subprocess.run(
        [sys.executable, "-c", script + asked], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n"
