"""The order of what was found, its scores, and when nothing was."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.search import (
    Candidate,
    CorpusStatistics,
    Neighbour,
    RankedCandidate,
    RerankWeights,
    SearchFields,
    SemanticScores,
)
from memory_mcp.errors import IndexDamagedError
from memory_mcp.ranking.analysis import TURN_TERM, analyse_text
from memory_mcp.ranking.evidence import weigh_terms
from memory_mcp.ranking.order import keep_outstanding, rank_candidates, select_diverse
from memory_mcp.ranking.query import Query, parse_query
from memory_mcp.ranking.related import rank_far
from memory_mcp.words.table import compare_signs, load_word_table, unpack_meaning
from memory_mcp.words.terms import extract_terms

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WRITTEN = "2026-01-01T00:00:00.000Z"
TEXTS = (
    "We sign tokens with RS256",
    "The dashboard draws its charts with ECharts",
    "Caroline adopted a dog from the shelter",
    "The invoice of Bergmann was paid in March",
    "Tests run in four shards",
    "Deploys happen on Tuesday, never on Friday",
)


def fields(text: str, names: str = "", extra: str = "") -> SearchFields:
    """What is searched of a text."""
    return analyse_text(text)._replace(names=names, extra=extra)


def turn(text: str) -> SearchFields:
    """What is searched of a turn of a talk."""
    return fields(text, extra=TURN_TERM)


def candidate(number: int, text: str, importance: int = 3, written: str = WRITTEN) -> Candidate:
    """A record that may be meant."""
    return Candidate(
        RecordId(f"{number:04}"), fields(text), importance, pinned=False, created_at=written
    )


def corpus(question: Query, found: Sequence[Candidate], records: int = 500) -> CorpusStatistics:
    """A store in which each term occurs in these candidates only."""
    words = [set(one.fields.body.split()) for one in found]
    counts = {term: sum(term in each for each in words) for term in question.every}
    return CorpusStatistics(records, counts)


def ranked(
    asked: str,
    found: Sequence[Candidate],
    neighbours: Sequence[Neighbour] = (),
    near: SemanticScores | None = None,
    weights: RerankWeights | None = None,
    *,
    records: int = 500,
) -> list[RankedCandidate]:
    """The answer to a question."""
    question = parse_query(asked, NOW)
    return rank_candidates(
        question, corpus(question, found, records), found, neighbours, near,
        table=load_word_table(), weights=weights or RerankWeights(), now=NOW,
    )  # fmt: skip


FOUND = [candidate(number, text) for number, text in enumerate(TEXTS)]


def test_the_memory_with_the_words_comes_first_and_is_likely() -> None:
    """0.5 means more likely relevant than not."""
    answer = ranked("who adopted a dog?", FOUND)

    assert answer[0].id == "0002"
    assert answer[0].score > 0.5
    assert all(one.score < 0.5 for one in answer[1:])


def test_what_nothing_fits_is_far_from_likely() -> None:
    """The nearest strangers may be looked at; nobody may take them for the answer."""
    asked = "what is the capital city of Portugal called"
    far = SemanticScores({one.id: 0.1 for one in FOUND}, {})

    for near in (None, far):
        assert all(one.score < 0.2 for one in ranked(asked, FOUND, near=near))


@pytest.mark.parametrize("asked", ["RS256", "Bergmann", "shards", "how is Bergmann as a customer?"])
def test_a_rare_word_is_always_found(asked: str) -> None:
    """Whoever asks for an identifier knows that it was said."""
    near = SemanticScores({one.id: 0.0 for one in FOUND}, {})
    rare = {"RS256": "0000", "shards": "0004"}

    assert ranked(asked, FOUND)[0].id == rare.get(asked, "0003")
    assert ranked(asked, FOUND, near=near)


def nearness_of(
    asked: str, cosines: Mapping[RecordId, float], found: Sequence[Candidate] = FOUND
) -> SemanticScores:
    """What an embedder would say: words that a memory holds are near to themselves in it."""
    spans = [part.span() for part in re.finditer(r"\w+", asked)]
    terms = [extract_terms(asked[start:end]) for start, end in spans]
    best = {
        one.id: [0.8 if {*term} & {*one.fields.body.split()} else cosines[one.id] for term in terms]
        for one in found
        if one.id in cosines
    }
    return SemanticScores(cosines, best, spans)


@pytest.mark.parametrize("asked", ["charts", "tokens RS256", "invoice bergmann march"])
@pytest.mark.parametrize("cosine", [None, 0.5, 0.6])
def test_what_has_all_the_words_asked_for_is_likely(asked: str, cosine: float | None) -> None:
    """Who types words into a search box means the memory that holds them."""
    near = nearness_of(asked, {one.id: cosine for one in FOUND}) if cosine else None

    answer = ranked(asked, FOUND, near=near)

    assert answer[0].score > 0.5
    assert all(one.score < 0.5 for one in answer[1:])


@pytest.mark.parametrize("asked", ["pool.ts", "where is pool.ts", "db/pool.ts"])
@pytest.mark.parametrize("cosine", [None, 0.5])
def test_a_file_name_finds_the_file_before_those_that_contain_it(
    asked: str, cosine: float | None
) -> None:
    """Who asks for a file by its name does not know the folder, and means no other file."""
    texts = (
        "The pool size is 12.", "pool.test.ts is flaky.",
        "src/db/pool.ts opens at most 20 connections.",
    )  # fmt: skip
    found = [candidate(number, text) for number, text in enumerate(texts)]
    near = nearness_of(asked, {one.id: cosine for one in found}, found) if cosine else None

    answer = ranked(asked, found, near=near)

    assert answer[0].id == "0002"
    assert answer[0].score > 0.6
    assert all(one.score < 0.5 for one in answer[1:])


@pytest.mark.parametrize("cosine", [None, 0.5])
def test_the_number_of_a_ticket_is_exact(cosine: float | None) -> None:
    """Another one of the same form is another one."""
    texts = ("HLY-881 charges twice.", "HLY-123 breaks the build.", "Flags begin with hly-.")
    found = [candidate(number, text) for number, text in enumerate(texts)]
    near = nearness_of("HLY-881", {one.id: cosine for one in found}, found) if cosine else None

    answer = ranked("HLY-881", found, near=near)

    assert answer[0].id == "0000"
    assert answer[0].score > 0.6
    assert all(one.score < 0.3 for one in answer[1:])


def test_more_evidence_never_makes_a_memory_less_likely() -> None:
    """However long the question: all of it is not worth less than a half."""
    text = " ".join(f"word{chr(97 + n)}" for n in range(25))
    whole, half = candidate(1, text), candidate(1, text[: len(text) // 2])

    for cosines in (None, {whole.id: 0.5}):
        near = [nearness_of(text, cosines, [one]) if cosines else None for one in (whole, half)]
        (best,), (worse,) = (
            ranked(text, [one], near=of) for one, of in zip((whole, half), near, strict=True)
        )
        assert best.score > worse.score


TINY = [
    candidate(0, "Orders live in PostgreSQL because of JSONB."),
    candidate(1, "The user prefers short answers."),
    candidate(2, "Invoices are exported nightly by a cron job."),
]
TINY_IDS = [one.id for one in TINY]
ORDERS, PORTUGAL = (0.6, 0.05, 0.1), (-0.08, -0.05, -0.07)
"""How near an embedder finds these memories to what the tests ask."""


def asked_of_few(asked: str, cosines: Sequence[float] | None) -> list[RankedCandidate]:
    """The answer of a store with three memories; who has the words is a candidate, or all are."""
    if cosines is None:
        words = set(parse_query(asked, NOW).every)
        some = [one for one in TINY if not words.isdisjoint(one.fields.body.split())]
        return ranked(asked, some, records=3)
    near = nearness_of(asked, dict(zip(TINY_IDS, cosines, strict=True)), TINY)
    return ranked(asked, TINY, near=near, records=3)


@pytest.mark.parametrize("cosines", [None, ORDERS])
def test_three_memories_are_enough_to_answer_from(cosines: Sequence[float] | None) -> None:
    """Every store begins with a few: no word is common in it, and little evidence tells."""
    assert asked_of_few("where do orders live", cosines)[0].id == "0000"
    assert asked_of_few("where do orders live", cosines)[0].score > 0.5
    assert asked_of_few("which database do we use for orders", cosines)[0].id == "0000"


@pytest.mark.parametrize("cosines", [None, PORTUGAL])
def test_three_memories_do_not_answer_what_they_do_not_hold(
    cosines: Sequence[float] | None,
) -> None:
    """The nearest of three strangers is a stranger."""
    assert asked_of_few("what is the capital of Portugal", cosines) == []


@pytest.mark.parametrize("cosines", [None, ORDERS])
def test_a_score_means_the_same_in_a_small_store_and_in_a_large_one(
    cosines: Sequence[float] | None,
) -> None:
    """A threshold that fits one project fits the next."""
    asked = "which database do we use for orders"
    near = nearness_of(asked, dict(zip(TINY_IDS, cosines, strict=True)), TINY) if cosines else None
    few, many = (ranked(asked, TINY, near=near, records=n)[0] for n in (3, 10_000))

    assert few.id == many.id
    assert abs(few.score - many.score) < 0.1


PHRASINGS = (
    "excise duty",
    "declaring the excise duty",
    "when is the excise duty declared?",
    "Through which portal do we declare the excise duty?",
    """Our bookkeeper is away until the tenth and I have to take care of the excise duty for last
    month, by which day and through which portal is it declared, and may a trainee do that?""",
)
BREWERY = [
    candidate(number, text)
    for number, text in enumerate(
        (
            "The excise duty is declared by the tenth through the customs portal.",
            "Malt comes from Bamberg.",
            "The bottling line is cleaned on Mondays, and a trainee may do that.",
            "Sales of the last month are in the ledger of the bookkeeper.",
        )
    )
]


def test_a_word_and_a_long_request_score_alike() -> None:
    """What somebody tells besides the question takes nothing from its answer."""
    answers = [ranked(asked, BREWERY)[0] for asked in PHRASINGS]

    assert {one.id for one in answers} == {BREWERY[0].id}
    assert min(one.score for one in answers) > 0.5
    assert max(one.score for one in answers) - min(one.score for one in answers) <= 0.2
    assert answers[-1].agreement < 0.5


def test_a_long_request_does_not_make_its_subject_an_answer() -> None:
    """Two of its words are not what it asks."""
    asked = "A lorry of malt broke down near Bamberg, which insurance pays for goods and tow?"

    assert ranked(asked, BREWERY)[0].score < 0.5


@pytest.mark.parametrize("asked", PHRASINGS)
def test_scores_follow_the_order_and_are_the_sum_of_their_parts(asked: str) -> None:
    """Agreement decides, and no score says otherwise: it only tells it in steps of its own."""
    question = parse_query(asked, NOW)
    answer = rank_candidates(
        question, corpus(question, BREWERY), BREWERY, (), None,
        table=load_word_table(), weights=RerankWeights(), now=NOW, every_one=True,
    )  # fmt: skip

    agreed = [one.agreement for one in answer]
    assert agreed == sorted(agreed, reverse=True)
    assert [one.score for one in answer] == sorted((one.score for one in answer), reverse=True)
    for one in answer:
        assert math.isclose(one.score, 1 / (1 + math.exp(-sum(one.pieces))), abs_tol=1e-4)


@pytest.mark.parametrize("asked", ["the", "and", "use", "go"])
def test_a_word_that_any_text_holds_is_little_evidence(asked: str) -> None:
    """Half of the store holds it, and none of that is meant."""
    memories = [
        candidate(1, "Norwegian is the default and goes to the client; we use it."),
        candidate(2, "Fares are stored as Long."),
    ]

    assert all(one.score < 0.4 for one in ranked(asked, memories))


def test_a_word_of_every_day_tells_less_than_a_rare_one() -> None:
    """Who asks when we go live does not mean how long a token lives."""
    memories = [
        candidate(1, "JWT access tokens live 15 minutes, refresh tokens 14 days."),
        candidate(2, "Refunds go through Adyen within two weeks of the sailing."),
    ]

    (live,), (refund,) = ranked("go live", memories[:1]), ranked("go refund", memories[1:])

    assert live.score < refund.score - 0.1


@pytest.mark.parametrize(
    ("asked", "memory"),
    [
        ("who owns the admin panel", "The admin panel is React with Vite, in apps/admin."),
        ("who wrote HoldSweeper", "Seat holds expire soon; the sweeper job is HoldSweeper.kt."),
        ("where is the harbour master's office", "Weather goes through the harbour master."),
    ],
)
def test_a_row_of_three_words_is_no_answer_by_itself(asked: str, memory: str) -> None:
    """Its subject is known, and what is asked of it is not."""
    beside = [candidate(n, f"Fares of line {n} are stored as Long.") for n in range(2, 40)]

    assert ranked(asked, [candidate(1, memory), *beside])[0].score < 0.65


def test_no_candidates_are_no_answer() -> None:
    """An empty store is not an error."""
    assert ranked("anything", []) == []


def test_what_stands_beside_a_hit_is_found_by_it() -> None:
    """ "She loved it" is an answer only beside the turn that says what."""
    talk = [one._replace(fields=turn(text)) for one, text in zip(FOUND, TEXTS, strict=True)]
    beside = Neighbour(FOUND[2].id, 1, RecordId("9001"), turn("She loved it at once"))
    away = Neighbour(FOUND[4].id, 1, RecordId("9002"), turn("We met for lunch"))

    answer = [one.id for one in ranked("who adopted a dog?", talk, [beside, away])]

    assert answer[:2] == ["0002", "9001"]
    assert RecordId("9002") not in answer


def test_what_was_written_beside_a_statement_says_nothing_of_it() -> None:
    """Two decisions of one morning are two subjects."""
    beside = Neighbour(FOUND[2].id, 1, RecordId("9001"), fields("She loved it at once"))

    answer = {one.id: one.score for one in ranked("who adopted a dog?", FOUND, [beside])}

    assert answer[RecordId("0002")] > 0.5
    assert answer.get(RecordId("9001"), 0) < 0.2


def test_a_neighbour_that_does_not_pass_the_filters_only_helps() -> None:
    """Filters hold for every hit, however it was found."""
    beside = Neighbour(FOUND[2].id, 1, RecordId("9001"), fields("She loved the dog"), wanted=False)

    assert "9001" not in [one.id for one in ranked("who adopted a dog?", FOUND, [beside])]


def test_who_is_asked_for_comes_before_who_was_spoken_to() -> None:
    """Both turns hold the name; only one is hers."""
    hers = candidate(1, "I bought a tent")._replace(fields=fields("I bought a tent", "carolin"))
    other = candidate(2, "Caroline, I bought a tent")._replace(
        fields=fields("I bought a tent", "melani")
    )

    assert ranked("what did Caroline buy?", [other, hers])[0].id == hers.id


def test_meaning_finds_what_words_do_not() -> None:
    """A paraphrase shares no word with what it means."""
    near = SemanticScores({one.id: 0.7 if one.id == "0001" else 0.1 for one in FOUND}, {})

    assert ranked("which library makes the plots?", FOUND, near=near)[0].id == "0001"


def test_a_name_outweighs_a_likeness() -> None:
    """Embedders confuse names; letters do not."""
    near = SemanticScores({one.id: 0.6 if one.id == "0004" else 0.5 for one in FOUND}, {})

    assert ranked("was the invoice of Bergmann paid in March?", FOUND, near=near)[0].id == "0003"


def test_what_is_not_encoded_yet_is_found_by_its_words() -> None:
    """The encoder runs behind the writing; a search does not wait for it."""
    near = SemanticScores({one.id: 0.2 for one in FOUND if one.id != "0002"}, {})

    assert ranked("who adopted a dog?", FOUND, near=near)[0].id == "0002"


def test_ties_fall_to_importance_then_to_the_newer_then_to_the_id() -> None:
    """The same question has the same answer, however the index was filled."""
    same = [
        candidate(4, "tests run", written="2026-02-01T00:00:00.000Z"),
        candidate(3, "tests run"),
        candidate(2, "tests run", importance=5),
        candidate(1, "tests run"),
    ]
    none = RerankWeights(importance=0, recency=0, pinned=0)

    answer = [one.id for one in ranked("tests", same, weights=none)]

    assert answer == ["0002", "0004", "0001", "0003"]


def test_the_weights_of_the_user_count_and_are_shown() -> None:
    """Why a memory stands where it stands can be asked."""
    pinned = candidate(1, "tests run at night")._replace(pinned=True)
    plain = candidate(2, "tests run at night")

    answer = ranked("tests", [plain, pinned], weights=RerankWeights(pinned=3.0, recency=1.0))

    assert answer[0].id == pinned.id
    assert answer[0].parts["pinned"] == 3.0
    assert answer[0].parts["recency"] > 0
    assert "words" in answer[0].parts


@given(
    st.permutations(range(len(TEXTS))),
    st.sampled_from(["who paid the dashboard?", "tests", "dog charts tokens", "Friday in March"]),
    st.booleans(),
)
def test_the_order_of_candidates_does_not_matter(
    order: list[int],
    asked: str,
    semantic: bool,  # noqa: FBT001
) -> None:
    """Nor how the index happened to be filled; scores are in 0-1 and fall."""
    cosines = {one.id: (int(one.id) * 7 % 5) / 7 for one in FOUND}
    near = SemanticScores(cosines, {}) if semantic else None
    beside = [Neighbour(FOUND[n].id, 1, FOUND[n + 1].id, FOUND[n + 1].fields) for n in range(5)]

    answer = ranked(asked, FOUND, beside, near)

    assert ranked(asked, [FOUND[n] for n in order], beside[::-1], near) == answer
    scores = [one.score for one in answer]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_near_twins_are_dropped_only_when_asked() -> None:
    """Five wordings of one fact are one fact."""
    texts = ["the key is in the vault", "the key is in the vault", "the vault is in the cellar"]
    each = {RecordId(str(n)): fields(text) for n, text in enumerate(texts)}
    order = [RankedCandidate(record_id, 0.9 - n / 10) for n, record_id in enumerate(each)]

    alike = {one.id: bytes([100, 3, n]) for n, one in enumerate(order)}

    assert [one.id for one in select_diverse(order, each, 3, {})] == ["0", "2"]
    assert [one.id for one in select_diverse(order, each, 3, alike)] == ["0"]
    assert select_diverse([], each, 3, {}) == []


@pytest.mark.parametrize("packed", [b"x", b"longer", b"\0\0\x80\x3f\xff\xff", b"\0\0\x80\x3f"])
def test_a_meaning_that_nobody_packed_is_damage(packed: bytes) -> None:
    """A broken page of the index may hold anything; its records are there to make it anew."""
    with pytest.raises(IndexDamagedError, match="doctor --reindex"):
        unpack_meaning(packed, load_word_table())


def test_the_far_words_are_those_nearest_to_any_word_of_a_question() -> None:
    """Each as near as to the word that it is nearest to, telling ones counting more."""
    table, question = load_word_table(), parse_query("payment of a garden token", NOW)
    counts = CorpusStatistics(10_000, {"payment": 4_000, "garden": 3})

    found = rank_far(question, counts, table)

    weighted = weigh_terms(question, counts, table)
    asked = [
        (weight, table.find_signs(term.text))
        for term, weight in zip(weighted.terms, weighted.weights, strict=True)
        if term.kind == "word"
    ]
    nearness = {
        stem: max(
            weight * compare_signs(own, table.signs[place])
            for weight, own in asked
            if own is not None
        )
        for place, stem in enumerate(table.stems)
        if stem not in question.every
    }
    assert found == sorted(nearness, key=lambda stem: (-nearness[stem], stem))[:400]


def test_what_is_as_near_as_everything_else_does_not_stand_out() -> None:
    """A model that hardly knows a language finds all of its texts near; what is likely stays."""

    def places(*agreements: float) -> list[RankedCandidate]:
        ids = [RecordId(str(number)) for number in range(len(agreements))]
        return [RankedCandidate(id_, a, (), a) for id_, a in zip(ids, agreements, strict=True)]

    flood = places(0.53, *[0.31] * 9, *[0.25] * 10)
    many = places(*[0.7] * 20)
    few = places(0.3, 0.3)

    assert keep_outstanding(flood, flood) == flood[:1]
    assert keep_outstanding(many, many) == many
    assert keep_outstanding(few, few) == few
