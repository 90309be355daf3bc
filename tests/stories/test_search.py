"""Finding: what matches, in what order, and what never comes back."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, as_json
from doors import Era, Json, add, agent, call, read, recalled, record_file, refused, seal
from fakes import fake_workspace

from memory_mcp import memories, search
from memory_mcp.config.settings import Settings
from memory_mcp.domain.deduplication import MergePolicy
from memory_mcp.domain.limits import CANDIDATES_MAX
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.record import Draft
from memory_mcp.domain.search import Filters
from memory_mcp.engine.index_sync import SelfHealingIndex

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
    assert found["mode"] == "words+table"
    assert found["success"] is True


async def test_a_word_finds_what_is_meant_also_where_not_everything_can_be_compared() -> None:
    """Before, a list was empty from the 81st memory on, though the answer was there."""
    workspace = fake_workspace()
    await memories.add_memory(workspace, Draft("Tickets are priced in whole cents."))
    await memories.add_memory(workspace, Draft("The guard dog is called Rex."))
    for number in range(CANDIDATES_MAX):
        await memories.add_memory(workspace, Draft(f"Valve {number} leaks."))

    for asked, answer in (("money", "cents"), ("cats", "dog")):
        found = await search.search_memories(workspace, asked, Filters(), 1)
        assert isinstance(found, SearchResults)
        assert [answer in hit.record.content for hit in found.hits] == [True]


async def test_a_row_of_words_is_looked_for_only_where_each_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a million memories that hold the common ones, each would be read for nothing."""
    workspace = fake_workspace()
    for text in ("Orders live in PostgreSQL.", "Invoices live in the ledger."):
        await memories.add_memory(workspace, Draft(content=text))
    asked: list[tuple[str, ...]] = []
    quote = SelfHealingIndex.quote

    async def note(self: Any, row: Sequence[str], *others: Any) -> Any:
        asked.append(tuple(row))
        return await quote(self, row, *others)

    monkeypatch.setattr(SelfHealingIndex, "quote", note)
    for query in ("orders live in the zoo", "orders live in PostgreSQL"):
        found = await search.search_memories(workspace, query, Filters(), 5)
        assert isinstance(found, SearchResults)
        assert found.hits[0].record.content == "Orders live in PostgreSQL."
    assert ["zoo" in row for row in asked] == [False]


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
        "mode": "words+table",
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

    assert all(result["score"] < 0.5 for result in little["results"])
    assert [result["score"] > 0.5 for result in much["results"]] == [True]


@pytest.mark.parametrize("query", ["…", "?!", '""', "*", "_"])
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


@pytest.mark.files
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
    assert "2 matching records cannot be read: run `memory-mcp doctor`." in found["message"]


# What can be asked of a search besides words: whose, when, where, how sure, and why.


async def test_only_the_scope_that_was_asked_for_is_searched(settings: Settings, era: Era) -> None:
    """What the user likes everywhere is no fact of this project."""
    async with agent(settings, era) as client:
        await add(client, "Tests run in parallel.")
        await add(client, "I like parallel tests.", kind="preference", scope="user")

        assert await recalled(client, "parallel tests", scope="project") == [
            "Tests run in parallel."
        ]
        assert await recalled(client, "parallel tests", scope="user") == ["I like parallel tests."]
        assert await recalled(client, scope="user") == ["I like parallel tests."]
        assert len(await recalled(client, "parallel tests")) == 2


async def test_times_and_branches_bound_what_is_searched(settings: Settings, era: Era) -> None:
    """From the one time, before the other; a branch is where something was written."""
    async with agent(settings, era) as client:
        await add(client, "Builds take nine minutes.")
        await seal(client, "Measured.")

        assert await recalled(client, "builds", since="2000-01-01", branch="main") != []
        assert await recalled(client, "builds", until="2000-01-01") == []
        assert await recalled(client, "builds", since="2999-01-01T00:00:00+02:00") == []
        nowhere = await refused(client, "search_memories", query="builds", branch="elsewhere")
        assert "main" in nowhere
        spelt = await call(client, "search_memories", query="builds", category="bilds")
        assert "check how they are spelt" in spelt["message"]
        said = await refused(
            client, "search_memories", query="builds", since="2001-01-01", until="2000-01-01"
        )
        assert "since (2001-01-01" in said


async def test_a_least_score_leaves_out_what_is_hardly_meant(settings: Settings, era: Era) -> None:
    """An agent that would rather know nothing than something wrong says how sure it must be."""
    async with agent(settings, era) as client:
        await add(client, "Orders are exported by the flamingo job at night.")
        await add(client, "Orders of the last year are paid.")
        all_of_them = await call(client, "search_memories", query="flamingo orders")
        sure = await call(client, "search_memories", query="flamingo orders", min_score=0.5)
        never = await call(client, "search_memories", query="orders last", min_score=1)

        assert len(all_of_them["results"]) == 2
        assert [r["content"] for r in sure["results"]] == [all_of_them["results"][0]["content"]]
        assert never["results"] == []
        assert "The best of what was found scores" in never["message"]
        said = await refused(client, "search_memories", query="orders", min_score=1.5)
        assert "min_score is 1.5; choose 0 to 1" in said


async def test_near_twins_are_left_out_only_when_asked(settings: Settings, era: Era) -> None:
    """Nothing may vanish by itself; who wants five different memories says so."""
    settings = replace(settings, merging=MergePolicy(topk=0, fallback_enabled=False))
    async with agent(settings, era) as client:
        for text in ("The login token expires hourly.", "Hourly the login token expires."):
            await add(client, text)
        await add(client, "The login token is never logged.")

        assert len(await recalled(client, "login token expires")) == 3
        assert len(await recalled(client, "login token expires", diverse=True)) == 2


async def test_a_word_that_sums_up_goes_behind_what_is_said_of_it(
    settings: Settings, era: Era
) -> None:
    """A checkpoint called "Auth" is as near to the word as a text can be, and says nothing."""
    async with agent(settings, era) as client:
        await add(client, "Auth uses JWT with refresh tokens that live 30 days.")
        await seal(client, "Auth")
        await seal(client, "The refresh of the tokens is done.")

        assert (await recalled(client, "auth"))[0].startswith("Auth uses JWT")
        block = await read(client, "memory_context")

    told = [block.index(f"- {begin}") for begin in ("The refresh of", "Auth uses JWT", "Auth [")]
    assert told == sorted(told)


FILLER = " ".join(["The north building is cleaned on Mondays, and its plants are watered."] * 9)
FROZEN = "Deploys are frozen from the tenth of December until the seventh of January."
LONG = f"{FILLER}\n\n{FROZEN}\n\n{FILLER}"


async def test_of_a_long_memory_the_passage_that_matched_is_shown(
    settings: Settings, era: Era
) -> None:
    """Eight thousand characters for the sake of one sentence would fill the model's context."""
    async with agent(settings, era) as client:
        memory_id = await add(client, LONG)
        await add(client, "Lunch is at noon.")
        found = await call(client, "search_memories", query="when are deploys frozen")
        context = await read(client, "memory_context", task="prepare the deploys of December")

    result = found["results"][0]
    assert FROZEN in result["content"]
    assert len(result["content"]) <= 600
    at = LONG.index(result["content"])
    whole = f"of {len(LONG):,}; whole: memory://memory/{memory_id}"
    assert result["passage"] == f"characters {at + 1:,} to {at + len(result['content']):,} {whole}"
    assert FROZEN in context


def test_a_person_is_told_how_to_read_the_whole_of_a_long_memory(run: Run) -> None:
    """In the words of the command line."""
    memory_id = as_json(run, "add", LONG)["memoryId"]

    assert f"whole: `memory-mcp show {memory_id[-8:]}`" in run("search", "deploys frozen")[1]
    assert FROZEN in run("show", memory_id)[1]


def test_a_person_is_told_why(run: Run) -> None:
    """In words, and as a table of what the scores are made of."""
    old = as_json(run, "add", "Refresh tokens live 30 days.")["memoryId"]
    new = as_json(run, "add", "Refresh tokens live 60 days now, no longer 30 days.")["memoryId"]

    lines = run("search", "how long does a refresh token live", "--why")[1].splitlines()
    whys = [line.strip() for line in lines if line.strip().startswith("why: ")]
    assert "same words: refresh, token, live" in whys[0]
    assert whys[0].endswith(f"newer than {old[-8:]}")
    assert whys[1].endswith(f"though outdated by {new[-8:]}")
    head = next(n for n, line in enumerate(lines) if line.startswith("score "))
    assert [line.split()[-1] for line in lines[head:]] == ["memory", new[-8:], old[-8:]]


def test_a_person_is_told_where_a_memory_is_from(run: Run) -> None:
    """Whoever doubts a memory asks who said so, what it replaced, and what contradicts it."""
    old = as_json(run, "add", "Refresh tokens live 20 days.")["memoryId"]
    new = as_json(run, "update", old, "Refresh tokens live 30 days.")["memoryId"]
    other = as_json(run, "add", "Refresh tokens live 60 days now, no longer 30 days.")["memoryId"]

    told = as_json(run, "show", new, "--why")["why"]
    assert told["by"] == "user"
    assert told["replaced"] == [{"memoryId": old, "content": "Refresh tokens live 20 days."}]
    assert [each["memoryId"] for each in told["outdatedBy"]] == [other]
    text = run("show", new, "--why")[1]
    assert f"replaced:\n- Refresh tokens live 20 days. [{old[-8:]}]" in text
    assert (
        f"outdated by:\n- Refresh tokens live 60 days now, no longer 30 days. [{other[-8:]}]"
        in text
    )
    assert "No memory that holds here contradicts it." in run("show", other, "--why")[1]
    assert "why" not in as_json(run, "show", new)


async def test_why_shows_what_a_score_is_made_of(settings: Settings, era: Era) -> None:
    """Whoever doubts an answer can look; whoever does not, pays nothing for it."""
    async with agent(settings, era) as client:
        await add(client, "Deploys happen on Mondays.", metadata={"importance": 5, "pinned": True})
        (plain,) = (await call(client, "search_memories", query="deploys"))["results"]
        (told,) = (await call(client, "search_memories", query="deploys", why=True))["results"]

    assert "why" not in plain
    assert told["why"] == "same words: deploys; near in meaning; important; pinned"
    assert told["parts"].keys() >= {"words", "importance", "pinned"}
    logit = sum(told["parts"].values())
    assert told["score"] == pytest.approx(1 / (1 + math.exp(-logit)), abs=0.001)


async def test_weights_can_put_the_pinned_first(settings: Settings, era: Era) -> None:
    """MEMORY_RERANK_WEIGHTS: who pins much may want to see it first."""

    async def order(given: Settings) -> list[str]:
        async with agent(given, era) as client:
            return await recalled(client, "release notes deadline")

    async with agent(settings, era) as client:
        await add(client, "The release notes have a deadline.")
        await add(client, "Release notes on Fridays.", metadata={"pinned": True})
    heavy = replace(settings, weights=replace(settings.weights, pinned=10))

    assert await order(settings) == [
        "The release notes have a deadline.",
        "Release notes on Fridays.",
    ]
    assert await order(heavy) == ["Release notes on Fridays.", "The release notes have a deadline."]


async def test_a_key_of_the_schema_is_read_whole_or_by_its_beginning(
    settings: Settings, era: Era
) -> None:
    """A later session asks for what an earlier one handed on, without guessing its words."""
    async with agent(replace(settings, toolsets=("session",)), era) as client:
        await add(client, "Tests run in parallel.", kind="decision")
        about = {"title": "Editor"}
        liked = await add(client, "I use Helix.", kind="preference", scope="user", metadata=about)
        await call(client, "consolidate", memory_update="Auth is done.", final=True)
        await call(client, "checkpoint", summary="Sealed.", phase=3, issues=["Rate limits"])

        async def found(key: str, query: str = "") -> list[str]:
            return await recalled(client, query, key=key)

        assert await found("user:preferences:editor") == ["I use Helix."]
        assert await found("user:preferences:edit") == []
        assert await found("user:preferences:*", "what editor do I use") == ["I use Helix."]
        assert await found("user:preferences:*", "parallel tests") == []
        assert await found("gardener:*") == ["Auth is done."]
        assert any("Rate limits" in text for text in await found("phase:*"))
        shown = await call(client, "search_memories", key="user:preferences:*")
        assert shown["results"][0]["metadata"]["key"] == "user:preferences:editor"
        assert shown["results"][0]["memoryId"] == liked
        assert "a * stands at its end" in await refused(client, "search_memories", key="a:*:b")


def test_search_by_key_on_the_command_line(run: Run) -> None:
    """`--key`, and the key is shown with what was found."""
    as_json(run, "add", "A web shop.", "--kind", "identity")
    _, out, _ = run("search", "--key", "project:*")

    assert "A web shop." in out
    assert ":identity] " in out
