"""The contract of `ports.TextSearch`, for every index."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from fakes import Scribe
from index_doors import ANY, ELSEWHERE, HERE, candidates, matched, seen

from memory_mcp.domain.ids import SegmentId
from memory_mcp.domain.record import Origin, Record
from memory_mcp.domain.search import CorpusStatistics
from memory_mcp.engine.fields import make_fields
from memory_mcp.ports import SearchIndex
from memory_mcp.words.terms import extract_terms

pytestmark = pytest.mark.anyio


async def test_equal_matches_stand_in_one_order_however_they_came_in(
    index: SearchIndex, scribe: Scribe
) -> None:
    """The same memories give the same answer after a rebuild, which reads them in any order."""
    records = [scribe.record("the same words", segment=HERE) for _ in range(4)]
    answers: set[tuple[Any, ...]] = set()
    for order in permutations(records):
        await index.reset()
        await index.mark_complete()
        for record in order:
            await index.add([record])
        answers.add(tuple(await matched(index, "same words", seen(scribe), ANY, 3)))

    assert answers == {tuple(record.id for record in reversed(records[1:]))}


async def test_match_needs_one_term_and_brings_what_ranking_needs(
    index: SearchIndex, scribe: Scribe
) -> None:
    """Title, text and tags are searched; how rare a term is, is told with it."""
    both = scribe.record("apple pear", importance=5, pinned=True, segment=HERE)
    one = scribe.record("something", title="Äpple", segment=HERE)
    tagged = scribe.record("else", tags=("PEAR",), segment=HERE)
    others = [scribe.record("apple tree", segment=HERE) for _ in range(4)]
    await index.add([both, one, tagged, scribe.record("nothing", segment=HERE), *others])

    found = await candidates(index, "kiwi apples pear", seen(scribe))

    assert found[0].id == both.id
    assert (found[0].importance, found[0].pinned) == (5, True)
    assert found[0].fields == make_fields(both)
    assert {c.id for c in found} == {both.id, one.id, tagged.id, *(r.id for r in others)}
    corpus = await index.corpus(extract_terms("kiwi apples pear"), seen(scribe))
    assert list(corpus.counts.values()) == [0, 6, 2]
    assert corpus.records == 8
    assert await matched(index, "kiwi", seen(scribe)) == []
    assert await index.match([], corpus, seen(scribe), ANY, 60) == []


@pytest.mark.parametrize("both", [3, 25])
@pytest.mark.parametrize("limit", [10, 60])
async def test_common_words_find_in_a_large_bank_what_they_find_in_a_small_one(
    index: SearchIndex, scribe: Scribe, both: int, limit: int
) -> None:
    """There an index may go back through the newest memories instead of looking all of them up."""
    texts = ["apple and pear " + "so " * n for n in range(both)]
    texts += ["apple " * (1 + n % 3) + "pie " * n for n in range(10)]
    texts += ["a pear", "pear pear tree", "nothing", "neither of the two"]
    records = [scribe.record(text, segment=HERE) for text in texts]
    records += [scribe.record("a tree", title="Pear", tags=("apple",), segment=HERE)]
    records += [scribe.record("apple pear", segment=ELSEWHERE)]
    await index.add(records)

    answers: list[list[str]] = []
    for times in (1, 100):
        counts: dict[str, int] = {"appl": 2_000 * times, "pear": 2_000 * times}
        corpus = CorpusStatistics(records=10_000 * times, counts=counts)
        found = await index.match([*counts], corpus, seen(scribe), ANY, limit)
        answers.append([candidate.id for candidate in found])
    small, large = answers

    assert large == small
    assert len(small) == min(limit, both + 13)


async def test_terms_are_counted_as_long_as_a_record_holds_them(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A word of a forgotten memory must not be left in the vocabulary: it may be the secret."""
    kept, gone = (
        scribe.record("apple", segment=HERE),
        scribe.record("apple swordfish", segment=HERE),
    )
    await index.add([kept, gone])
    assert await index.spellings(["swordfesh"]) == {"swordfesh": ["swordfish"]}

    await index.remove({gone.id})

    assert (await index.corpus(["appl", "swordfish"], seen(scribe))).counts == {
        "appl": 1,
        "swordfish": 0,
    }
    assert await index.spellings(["swordfesh"]) == {"swordfesh": []}


async def test_spellings_share_letters_with_what_was_asked(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A typing error, or a part of an identifier, finds the terms that may be meant."""
    await index.add([scribe.record("kubernetes deployments banana", segment=HERE)])

    found = await index.spellings(["kubernets", "zz", "qqqqqq"])
    assert found["kubernets"][0].startswith("kubernet")
    assert (found["zz"], found["qqqqqq"]) == ([], [])


async def test_neighbours_are_what_was_written_in_the_same_go(
    index: SearchIndex, scribe: Scribe
) -> None:
    """An answer often stands beside what holds the words of the question; hidden ones do not."""

    def of(session: str, content: str = "x", segment: SegmentId = HERE) -> Record:
        return scribe.record(content, segment=segment, origin=Origin(session=session))

    first, hidden, second, mine = of("a"), of("a", segment=ELSEWHERE), of("a"), of("a")
    other, after = of("b"), of("a")
    scribe.clock.advance(timedelta(hours=1))
    late = of("a")
    await index.add([late, mine, first, hidden, second, other, after])

    near = await index.around([mine.id], seen(scribe), ANY)

    assert {n.steps: n.id for n in near} == {-2: first.id, -1: second.id, 1: after.id}
    assert all(n.of == mine.id and n.fields == make_fields(first) for n in near)


async def test_what_says_it_is_of_another_day_is_no_neighbour(
    index: SearchIndex, scribe: Scribe
) -> None:
    """Diaries and logs are written down in one go, day after day."""
    days = ["2024-03-01: one", "2024-03-02: two", "2024-03-02: three", "four"]
    records = [scribe.record(text, segment=HERE) for text in days]
    await index.add(records)

    near = await index.around([records[1].id], seen(scribe), ANY)

    assert [(n.steps, n.id) for n in near] == [(1, records[2].id)]


async def test_what_is_hidden_does_not_tell_of_itself_by_its_words(
    index: SearchIndex, scribe: Scribe
) -> None:
    """A typing error that was corrected must not be taken for a word, nor a hidden name known."""
    there = [scribe.record("pgbouncer pools", segment=HERE) for _ in range(3)]
    hidden = [scribe.record("pgbuoncer pools", segment=ELSEWHERE) for _ in range(3)]
    await index.add([*there, *hidden])

    counts = (await index.corpus(["pgbuoncer", "pgbouncer", "pool"], seen(scribe))).counts
    assert counts == {"pgbuoncer": 0, "pgbouncer": 3, "pool": 3}
