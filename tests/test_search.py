"""Finding: what matches, in what order, and what never comes back."""

from pathlib import Path

import pytest
from doors import Era, Json, add, agent, call, recalled, record_file, refused, seal

from memory_mcp.config.settings import Settings

pytestmark = pytest.mark.anyio


async def test_a_result_is_whole_and_holds_nothing_empty(settings: Settings, era: Era) -> None:
    """The model decides from this alone: the text, how good it is, and what it is."""
    async with agent(settings, era) as client:
        memory_id = await add(
            client, "Orders live in PostgreSQL.", kind="decision", phase=1,
            metadata={"title": "Orders", "category": "storage", "tags": ["db"], "importance": 5},
        )  # fmt: skip
        found = await call(client, "search_memories", query="where do orders live")

    (result,) = found["results"]
    created = result.pop("createdAt")
    score = result.pop("score")
    assert created.endswith("Z")
    assert score > 0.5
    assert result == {
        "content": "Orders live in PostgreSQL.",
        "metadata": {
            "title": "Orders",
            "category": "storage",
            "tags": ["db"],
            "kind": "decision",
            "phase": 1,
            "importance": 5,
        },
        "memoryId": memory_id,
    }
    assert found["mode"] == "lexical"
    assert found["success"] is True


async def test_the_memory_with_more_of_the_telling_words_comes_first(
    settings: Settings, era: Era
) -> None:
    """Scores are comparable: what has all the words is likely meant, what has one is not."""
    async with agent(settings, era) as client:
        for number in range(8):
            await add(client, f"Orders of customer {number} are paid.")
        await add(client, "Orders are exported by the flamingo job at night.")
        found = await call(client, "search_memories", query="flamingo orders", limit=10)

    best, *others = found["results"]
    assert best["content"].startswith("Orders are exported")
    assert best["score"] > 0.5
    assert len(others) == 8
    assert all(0 < other["score"] < 0.5 for other in others)


async def test_words_match_by_stem_case_and_accent(settings: Settings, era: Era) -> None:
    """People and models spell the same thing differently."""
    async with agent(settings, era) as client:
        await add(client, "The Café closes migrations on Mondays.")
        assert await recalled(client, "cafe") != []
        assert await recalled(client, "CAFÉ MIGRATED") != []
        assert await recalled(client, "closing") != []


async def test_title_and_tags_are_searched_too(settings: Settings) -> None:
    """A title is often the only place where the subject is named."""
    async with agent(settings, "auto") as client:
        await add(client, "Every 30 minutes.", metadata={"title": "Backups", "tags": ["cron"]})
        assert await recalled(client, "backup") == ["Every 30 minutes."]
        assert await recalled(client, "cron") == ["Every 30 minutes."]


async def test_without_a_query_the_newest_come_first(settings: Settings, era: Era) -> None:
    """What happened last is the best guess when nothing is asked."""
    async with agent(settings, era) as client:
        for number in range(7):
            await add(client, f"Note {number}.")
        found = await call(client, "search_memories")

    assert [r["content"] for r in found["results"]] == [f"Note {n}." for n in (6, 5, 4, 3, 2)]
    assert found["mode"] == "newest"


async def test_filters_apply_before_the_limit(settings: Settings, era: Era) -> None:
    """k results means k results that were asked for, not what is left of k others."""
    async with agent(settings, era) as client:
        for number in range(3):
            await add(client, f"Wanted rule {number}.", kind="decision", phase=number,
                      metadata={"category": "Storage", "tags": ["DB", "rule"]})  # fmt: skip
        for number in range(20):
            await add(client, f"Other rule {number}.", metadata={"tags": ["rule"]})
        for filters in (
            {"category": "storage"},
            {"tags": ["db"]},
            {"tags": ["db", "rule"], "kind": "decision"},
        ):
            for query in ("rule", ""):
                texts = await recalled(client, query, **filters)
                assert sorted(texts) == [f"Wanted rule {n}." for n in range(3)], (query, filters)
        assert await recalled(client, "rule", phase=1) == ["Wanted rule 1."]
        assert await recalled(client, "rule", tags=["db", "no such tag"]) == []


async def test_a_sealed_checkpoint_is_found_by_its_summary(settings: Settings, era: Era) -> None:
    """What was reached in a phase is worth recalling like any decision."""
    async with agent(settings, era) as client:
        await seal(client, "Order storage chosen", phase=1)
        found = await call(client, "search_memories", query="storage", kind="checkpoint")

    (result,) = found["results"]
    assert result["content"] == "Order storage chosen"
    assert result["metadata"] == {"kind": "checkpoint", "phase": 1}


async def test_nothing_found_is_an_answer(settings: Settings, era: Era) -> None:
    """An empty list says that it was looked for; a missing one would say nothing."""
    async with agent(settings, era) as client:
        found = await call(client, "search_memories", query="flamingo")

    assert found == {
        "success": True,
        "results": [],
        "mode": "lexical",
        "message": "No visible memory matches.",
    }


_SYNTAX = 'content: "orders" AND NOT (title OR tags*) NEAR/2 ^orders - +'
_STRANGE = {
    "syntax": 'body: "orders" AND NOT (orders*) NEAR/2 ^orders - +',
    "quotes": '"orders\' """ ; DROP TABLE record; --',
    "like": "%orders_ orders%",
    "nul": "orders\x00orders",
    "emoji": "🦩 orders 👩‍👩‍👧",
    "long": "orders " + "flamingo " * 1_200,
    "one long word": "orders " + "x" * 9_900,
    "bidi": "\u202eorders\u202c \u200borders",
}


@pytest.mark.parametrize("query", _STRANGE.values(), ids=_STRANGE)
async def test_no_query_is_syntax(settings: Settings, era: Era, query: str) -> None:
    """A user's words are words, whatever the index's language makes of them."""
    async with agent(settings, era) as client:
        await add(client, "All orders live in PostgreSQL.")
        assert await recalled(client, query) == ["All orders live in PostgreSQL."]


@pytest.mark.parametrize("query", [_SYNTAX, "orders " + " ".join(f"w{n}" for n in range(3_000))])
async def test_one_word_of_many_says_little(settings: Settings, era: Era, query: str) -> None:
    """Nor is it syntax; asked for by itself it says much."""
    async with agent(settings, era) as client:
        await add(client, "All orders live in PostgreSQL.")
        little = await call(client, "search_memories", query=query)
        much = await call(client, "search_memories", query="orders")

    assert [result["score"] < 0.5 for result in little["results"]] == [True]
    assert [result["score"] > 0.5 for result in much["results"]] == [True]


@pytest.mark.parametrize("query", ["🦩", "?!", '""', "*", "_"])
async def test_a_query_without_a_word_says_so(settings: Settings, query: str) -> None:
    """Answering the newest instead would pass them off as matches."""
    async with agent(settings, "auto") as client:
        await add(client, "All orders live in PostgreSQL.")
        found = await call(client, "search_memories", query=query)

    assert found["results"] == []
    assert "The query holds no word to look for" in found["message"]


async def test_only_stop_words_are_looked_for_if_there_is_nothing_else(settings: Settings) -> None:
    """`to be or not to be` is a legitimate question."""
    async with agent(settings, "auto") as client:
        await add(client, "To be, or not to be.")
        assert await recalled(client, "to be or not to be") == ["To be, or not to be."]


@pytest.mark.parametrize("limit", [0, 11, -1])
async def test_a_limit_out_of_range_is_refused(settings: Settings, limit: int) -> None:
    """Cutting it in silence would look like there is nothing more."""
    async with agent(settings, "auto") as client:
        said = await refused(client, "search_memories", query="x", limit=limit)

    assert said == f"limit is {limit}; choose 1 to 10."


_ODD = {
    "a phase beyond any integer": ({"phase": 10**30}, "it must be 0 to 9999."),
    "a phase below the first": ({"phase": -1}, "phase is -1; it must be 0 to 9999."),
    "more tags than a record has": ({"tags": ["t"] * 33}, "33 tags; the limit is 32."),
    "a tag without end": ({"tags": ["t" * 65]}, "a tag has 65 characters"),
    "a category without end": ({"category": "c" * 65}, "category has 65 characters"),
}


@pytest.mark.parametrize("query", ["orders", ""])
@pytest.mark.parametrize(("filters", "words"), _ODD.values(), ids=_ODD)
async def test_a_filter_that_no_record_can_match_is_refused(
    settings: Settings, filters: Json, words: str, query: str
) -> None:
    """The answer names the limit; an empty list would look like nothing was remembered."""
    async with agent(settings, "auto") as client:
        assert words in await refused(client, "search_memories", query=query, **filters)


async def test_a_damaged_record_is_counted_and_the_others_are_found(
    settings: Settings, project: Path
) -> None:
    """A bad file neither breaks a search nor vanishes without a word; one that git took is gone."""
    async with agent(settings, "auto") as client:
        bad = await add(client, "Orders are paid by invoice.")
        await add(client, "Orders live in PostgreSQL.")
        empty = await add(client, "Orders are packed in boxes.")
        gone = await add(client, "Orders are sent by post.")
        record_file(project, bad).write_text("{")
        record_file(project, empty).write_bytes(b"")
        record_file(project, gone).unlink()
        found = await call(client, "search_memories", query="orders")

    assert [r["content"] for r in found["results"]] == ["Orders live in PostgreSQL."]
    assert "2 matching record(s) cannot be read: run `memory-mcp doctor`." in found["message"]
