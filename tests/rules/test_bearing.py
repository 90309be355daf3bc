"""Which of the ranked memories bears on a prompt, or that none does."""

from collections.abc import Sequence
from datetime import UTC, datetime

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import PARTS, RankedCandidate, SearchFields
from memory_mcp.ranking.analysis import analyse_text
from memory_mcp.ranking.bearing import (
    WORDS,
    choose_bearing,
    describe_candidates,
    describe_prompt,
    find_subjects,
)
from memory_mcp.ranking.query import parse_query
from memory_mcp.words.terms import extract_terms

NOW = datetime(2026, 1, 2, tzinfo=UTC)
RULE = "No deploys between Friday noon and Monday; one person is on call."
OTHERS = (
    "The canteen serves soup.",
    "The archive goes back to 1871.",
    "Icons are drawn by Ana.",
    "The office dog is called Volt.",
)


def choose(
    prompt: str, *texts: str, wholes: Sequence[float] = (), read_by: str = WORDS
) -> tuple[str, float] | None:
    """The memory chosen among conventions that were ranked in this order, and how likely.

    `wholes`: what its meaning adds to the logit of each, as a whole and by its parts.
    """
    query = parse_query(prompt, NOW)
    known = {RecordId(f"id{n}"): text for n, text in enumerate(texts)}
    fields: dict[RecordId, SearchFields] = {id_: analyse_text(text) for id_, text in known.items()}
    pieces = [
        tuple(whole if part in ("whole", "tokens") else 0.0 for part in PARTS)
        for whole in wholes or [0.0] * len(texts)
    ]
    ranked = [
        RankedCandidate(id_, 0.2, each, agreement=0.2)
        for id_, each in zip(known, pieces, strict=True)
    ]
    states = {id_: {"convention": 1.0} for id_ in known}
    described = describe_candidates(query, ranked, fields, states)
    chosen = choose_bearing(described, describe_prompt(query, prompt, asks=False), read_by)
    return chosen and (known[chosen[0]], chosen[1])


def test_an_act_and_the_rule_about_it_speak_of_one_subject() -> None:
    """ "Ship" and "deploy" share no letter that tells."""
    shipped = find_subjects(extract_terms("ship it on friday"))
    ruled = find_subjects(extract_terms(RULE))

    assert {"deploy", "when"} <= shipped & ruled
    assert not find_subjects(extract_terms("The office dog is called Volt.")) & {"deploy", "when"}


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
        choose("please bump lodash", *texts, wholes=(2.0, *others), read_by="minilm-l6-v2")
        for others in ([0.4] * 4, [2.0] * 4)
    )

    assert apart is not None
    assert alike is not None
    assert apart[0] == texts[0]
    assert apart[1] > 0.55 > alike[1]
