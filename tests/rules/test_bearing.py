"""Which of the ranked memories bears on a prompt, or that none does."""

import math
import struct
from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import mul

import pytest

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import PARTS, RankedCandidate, SearchFields
from memory_mcp.ranking.analysis import analyse_text
from memory_mcp.ranking.bearing import (
    WORDS,
    Meanings,
    choose_bearing,
    describe_candidates,
    describe_prompt,
    find_subjects,
    load_learnt,
    weigh_words,
)
from memory_mcp.ranking.bearing_vectors import weigh_vectors
from memory_mcp.ranking.query import parse_query
from memory_mcp.words.terms import extract_terms

MODEL = "minilm-l6-v2"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
RULE = "No deploys between Friday noon and Monday; one person is on call."
OTHERS = (
    "The canteen serves soup.",
    "The archive goes back to 1871.",
    "Icons are drawn by Ana.",
    "The office dog is called Volt.",
)


def choose(
    prompt: str,
    *texts: str,
    wholes: Sequence[float] = (),
    met: Sequence[Sequence[float]] = (),
    meanings: Meanings | None = None,
    read_by: str = WORDS,
) -> tuple[str, float] | None:
    """The memory chosen among conventions that were ranked in this order, and how likely.

    `wholes`: what its meaning adds to the logit of each, as a whole and by its parts. `met`: how
    well each meets the parts of the prompt. `meanings` are those of the prompt's words by default.
    """
    query = parse_query(prompt, NOW)
    known = {RecordId(f"id{n}"): text for n, text in enumerate(texts)}
    fields: dict[RecordId, SearchFields] = {id_: analyse_text(text) for id_, text in known.items()}
    pieces = [
        tuple(whole if part in ("whole", "tokens") else 0.0 for part in PARTS)
        for whole in wholes or [0.0] * len(texts)
    ]
    ranked = [
        RankedCandidate(id_, 0.2, each, agreement=0.2, met=parts)
        for id_, each, parts in zip(known, pieces, met or [()] * len(texts), strict=True)
    ]
    states = {id_: {"convention": 1.0} for id_ in known}
    described = describe_candidates(query, ranked, fields, states)
    none = describe_prompt(query, prompt, asks=False)
    chosen = choose_bearing(described, none, meanings or weigh_words(query), read_by)
    return chosen and (known[chosen[0]], chosen[1])


def test_an_act_and_the_rule_about_it_speak_of_one_subject() -> None:
    """ "Ship" and "deploy" share no letter that tells."""
    shipped = find_subjects(extract_terms("ship it on friday"))
    ruled = find_subjects(extract_terms(RULE))

    assert {"deploy", "when"} <= shipped & ruled
    assert not find_subjects(extract_terms("The office dog is called Volt.")) & {"deploy", "when"}


def test_a_time_of_day_speaks_of_when_something_may_be_done() -> None:
    """However it is written; a ratio or a version is none."""
    times = [find_subjects(extract_terms(f"run it at {time}")) for time in ("7:30", "07:30")]
    none = find_subjects(extract_terms("a mix of 3:97, and 7.30 of libfoo"))

    assert all("when" in subjects for subjects in times)
    assert "when" not in none


def test_the_rule_about_the_act_is_chosen_though_others_were_ranked_as_high() -> None:
    """What a colleague would mention shares a subject, not words."""
    chosen = choose("ship the release tonight, it is friday anyway", *OTHERS, RULE)

    assert chosen is not None
    assert chosen[0] == RULE


def test_what_speaks_of_nothing_in_the_prompt_is_unlikely() -> None:
    """The likelihood is shared with "none of them"."""
    chosen = choose("rename the loop variable to index", *OTHERS)

    assert chosen is not None
    assert chosen[1] < 0.5


def test_nothing_is_chosen_of_no_candidates() -> None:
    """An empty store brings nothing."""
    assert choose("deploy it") is None


def test_a_word_that_every_memory_of_the_store_has_tells_little() -> None:
    """In a store about beehives "hive" is no evidence, though it is rare in any other text."""
    rule = "Paint only from May on."
    places = ("wood", "river", "chapel", "mill", "meadow", "quarry")
    hives = [f"Hive by the {place}: a swarm is caught at once." for place in places]

    chosen = choose("paint the hive of the swarm", *hives, rule)

    assert chosen is not None
    assert chosen[0] == rule


def test_where_a_model_has_read_them_what_is_nearer_than_the_others_is_likelier() -> None:
    """As near as its neighbours it tells nothing, however near they all are."""
    texts = ("Dependencies change on Mondays alone.", *OTHERS)
    apart, alike = (
        choose(
            "please bump lodash",
            *texts,
            wholes=(2.0, *others),
            meanings=Meanings({}, 0.0),
            read_by=MODEL,
        )
        for others in ([0.4] * 4, [2.0] * 4)
    )

    assert apart is not None
    assert alike is not None
    assert apart[0] == texts[0]
    assert apart[1] > load_learnt()[MODEL]["from"] > alike[1]


def test_what_meets_a_part_of_the_prompt_better_than_many_others_is_likelier() -> None:
    """As well as each of the others it tells nothing, and beside few others little."""
    many = [f"Shelf {place} is painted grey." for place in range(15)]
    apart, alike, few = (
        choose("please bump lodash", *texts, met=((0.3, 0.3), *others))
        for texts, others in (
            (many, [(0.3, 0.0)] * 14),
            (many, [(0.3, 0.3)] * 14),
            (many[:2], [(0.3, 0.0)]),
        )
    )

    assert apart is not None
    assert alike is not None
    assert few is not None
    assert apart[0] == many[0]
    assert apart[1] > 1.5 * alike[1]
    assert few[1] < apart[1]


def test_one_that_another_reader_read_is_chosen_by_its_words() -> None:
    """One that the model has not read yet has parts of its own, which are compared with none."""
    read = (0.1, 0.1, 0.1)

    chosen = choose("deploy it on friday", *OTHERS, RULE, met=(*[read] * 4, (0.5, 0.5)))

    assert chosen is not None
    assert chosen[0] == RULE


def test_what_the_words_of_a_prompt_mean_says_whether_any_memory_bears_on_it() -> None:
    """An act on a service may break a rule; a question about a language breaks none."""
    act, question = (
        weigh_words(parse_query(prompt, NOW)).none
        for prompt in ("deploy the service to production", "what does a variable mean in python")
    )

    assert act < question


def test_vectors_are_weighed_along_the_directions_that_were_learnt_in_pairs() -> None:
    """What numpy multiplies is the sum over all pairs, and the two that stand alone."""
    learnt = load_learnt()[MODEL]
    count: int = learnt["directions"]
    of_prompts, of_memories = (
        _divide(struct.unpack(f"<{len(packed) // 2}e", packed), count)
        for packed in (b64decode(learnt[name]) for name in ("of prompts", "of memories"))
    )
    asked = [math.sin(place) / 14 for place in range(len(of_prompts[0]))]
    told = [round(9 * math.cos(3 * place)) for place in range(len(asked))]
    known = RecordId("id0")

    found = weigh_vectors(
        struct.pack(f"<{len(asked)}f", *asked), {known: bytes(each % 256 for each in told)}, MODEL
    )

    *along, none = (_multiply(row, asked) for row in of_prompts)
    weights = [_multiply((*along, 1.0), column) for column in zip(*of_memories, strict=True)]
    assert found.none == pytest.approx(none, rel=1e-4)
    assert found.memory[known] == pytest.approx(_multiply(weights, told) / 127, rel=1e-3)


def _divide(row: Sequence[float], count: int) -> list[Sequence[float]]:
    width = len(row) // count
    return [row[start : start + width] for start in range(0, len(row), width)]


def _multiply(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, one, other))
