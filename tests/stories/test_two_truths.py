"""Two truths: a newer value goes first, the older one is marked, and none is silent."""

from math import exp

import pytest
from command_line import Run, as_json
from doors import Era, Json, add, agent, call, read

from memory_mcp.config.settings import Settings
from memory_mcp.text.truths.updates import list_topic_terms
from memory_mcp.words.terms import extract_terms

pytestmark = pytest.mark.anyio

YARN = "The packages of the repo are installed with yarn."
PNPM = "The packages of the repo are installed with pnpm."


def _similar(told: Json) -> list[tuple[str, str]]:
    return [(each["memoryId"], each["relation"]) for each in told.get("similar", ())]


async def test_a_newer_value_is_reported_with_what_to_call(settings: Settings, era: Era) -> None:
    """Where replacing is not safe both stay, and the receipt names the older one."""
    async with agent(settings, era) as client:
        old = await add(client, YARN)
        told = await call(client, "add_memory", content=PNPM)

    assert _similar(told) == [(old, "outdated")]
    assert f"It contradicts {old}" in told["message"]
    assert "update_memory" in told["message"]


async def test_what_to_call_is_said_once_for_several(settings: Settings, era: Era) -> None:
    """Each memory is named, and one sentence says what to do if it holds too."""
    async with agent(settings, era) as client:
        olds = [
            await add(client, "The importer is written in Perl."),
            await add(client, "The importer is a Perl script."),
        ]
        told = await call(client, "add_memory", content="The importer is now in TypeScript.")

    assert sorted(_similar(told)) == sorted((old, "outdated") for old in olds)
    assert all(f"It contradicts {old}" in told["message"] for old in olds)
    assert told["message"].count("what still holds of it") == 1
    assert "a part of one of them does" in told["message"]


async def test_a_receipt_orders_nobody_to_merge_what_is_only_near(
    settings: Settings, era: Era
) -> None:
    """An agent that obeys each sentence keeps the memory that is about something else."""
    async with agent(settings, era) as client:
        await add(client, "Die Telefonnummer der Bereitschaft ist 4711.")
        near = await call(client, "add_memory", content="Die Bereitschaft wechselt freitags.")
        changed = await call(client, "add_memory", content="Die Bereitschaft ist jetzt länger.")

    assert [each["relation"] for each in near["similar"]] == ["similar"]
    for told in (near, changed):
        assert "otherwise nothing is to do" in told["message"]
        assert "takes the place of" not in told["message"]
        assert len(told["message"]) < 200


async def test_the_newer_answer_goes_first_in_whatever_words(settings: Settings, era: Era) -> None:
    """Nothing but the question tells that both are about one thing."""
    async with agent(settings, era) as client:
        old = await add(client, "Malt comes from Sedlmaier.")
        new = await add(client, "Our malt supplier is Weyland & Sons since the new year.")
        asked = "who delivers our malt?"
        found = await call(client, "search_memories", query=asked)

    assert [hit["memoryId"] for hit in found["results"]] == [new, old]
    assert [hit.get("outdated_by") for hit in found["results"]] == [None, new]
    assert [bool(hit.get("outdated_for")) for hit in found["results"]] == [False, True]


async def test_what_a_question_alone_outdates_stays_behind_what_it_is_outdated_by(
    settings: Settings, era: Era
) -> None:
    """The question may err: then what holds is the second, and not the last."""
    async with agent(settings, era) as client:
        old = await add(client, "Malt comes from Sedlmaier.")
        await add(client, "The malt mill is cleaned on Mondays.")
        await add(client, "Our malt is stored upstairs.")
        new = await add(client, "Our malt supplier is Weyland & Sons since the new year.")
        asked = "who delivers our malt?"
        found = await call(client, "search_memories", query=asked)

    assert [hit["memoryId"] for hit in found["results"]][:2] == [new, old]


async def test_no_turn_of_a_talk_is_outdated_by_a_later_one(settings: Settings, era: Era) -> None:
    """It tells what was said at that hour: that stays so, and keeps its place."""
    turns = [
        "[1:36 pm on 3 July, 2023] Mel: I signed up for a pottery class yesterday.",
        "[1:33 pm on 25 August, 2023] Mel: I changed to the painting class, no more pottery class.",
        "[9:10 am on 2 September, 2023] Mel: I now take a pottery class on Mondays.",
    ]
    async with agent(settings, era) as client:
        for turn in turns:
            await add(client, turn)
        asked = "when did Mel sign up for a pottery class?"
        found = await call(client, "search_memories", query=asked)

    assert found["results"][0]["content"] == turns[0]
    assert [hit for hit in found["results"] if hit.get("outdated_by")] == []


async def test_what_disputes_is_reported_as_such(settings: Settings, era: Era) -> None:
    """Neither is right by being later: the user must say."""
    async with agent(settings, era) as client:
        old = await add(client, "According to the wiki, uploads are kept for 30 days.")
        told = await call(
            client, "add_memory",
            content="The handbook gives 90 days as the time for which uploads are kept.",
        )  # fmt: skip
        found = await call(client, "search_memories", query="how long are uploads kept")

    assert _similar(told) == [(old, "disputed")]
    assert "nothing says which of the two is right" in told["message"]
    assert {hit["memoryId"]: hit["disputed_with"] for hit in found["results"]} == {
        old: [told["memoryId"]],
        told["memoryId"]: [old],
    }


@pytest.mark.parametrize("first", ["user", "project"])
async def test_what_a_project_says_holds_there_whichever_is_newer(
    settings: Settings, era: Era, first: str
) -> None:
    """The user's own holds in every other project, and neither is stored in silence."""
    texts = {
        "user": "Commit messages are written in German.",
        "project": "Commit messages are written in English.",
    }
    second = "project" if first == "user" else "user"
    async with agent(settings, era) as client:
        ids = {first: await add(client, texts[first], scope=first)}
        told = await call(client, "add_memory", content=texts[second], scope=second)
        ids[second] = told["memoryId"]
        found = await call(client, "search_memories", query="language of commit messages")

    assert _similar(told) == [(ids[first], "scope")]
    assert ("give the same text" in told["message"]) == (second == "user")
    marks = {hit["memoryId"]: hit.get("outdated_by") for hit in found["results"]}
    assert marks == {ids["project"]: None, ids["user"]: ids["project"]}


async def test_who_changed_what_holds_for_them_disputes_what_a_project_says(
    settings: Settings, era: Era
) -> None:
    """Whether the change is meant for this project, too, nothing says."""
    async with agent(settings, era) as client:
        old = await add(client, "Commit messages are written in English.")
        changed = "From now on commit messages are written in Dutch."
        told = await call(client, "add_memory", content=changed, scope="user")

    assert _similar(told) == [(old, "disputed")]
    assert "no memory was recognised" not in told["message"]


def test_who_asks_why_hears_what_a_question_outdates(run: Run) -> None:
    """A search marks it, so its provenance must not deny that; for another it is denied."""
    old = run("add", "Malt comes from Sedlmaier.")
    run("add", "Our malt supplier is Weyland & Sons since the new year.")
    other = run("add", "The parrot eats seeds.")
    found = run("search", "who delivers our malt?")[1]
    known, unknown = (run("show", out.split()[-1], "--why")[1] for _, out, _ in (old, other))

    assert "outdated, for a question that both answer, by:\n- Our malt supplier" in known
    assert "contradicts it by itself." in known
    assert "for this question" in found
    assert "No memory that holds here contradicts it." in unknown


async def test_a_value_of_a_part_is_no_contradiction(settings: Settings, era: Era) -> None:
    """Staging says nothing of production; and of two statements one still holds."""
    async with agent(settings, era) as client:
        both = await add(client, "The server has 4 GB RAM and sits in Oslo.")
        newer = await call(client, "add_memory", content="The server now has 8 GB RAM.")
        city, memory = [
            await call(client, "search_memories", query=query)
            for query in ("does the server sit in Oslo?", "how much RAM has the server?")
        ]
        near = await call(client, "add_memory", content="The staging server has 8 GB RAM.")

    assert _similar(newer) == [(both, "similar")]
    assert city["results"][0]["memoryId"] == both
    assert "outdated_by" not in str(city)
    assert [hit["memoryId"] for hit in memory["results"]] == [newer["memoryId"], both]
    assert "contradicts" not in str(near)


async def test_a_change_of_one_thing_leaves_its_sibling_where_it_is(
    settings: Settings, era: Era
) -> None:
    """The question names the sibling; whoever asks for what changed gets what holds now."""
    async with agent(settings, era) as client:
        await add(client, "Staging runs on PostgreSQL 14.")
        sibling = await add(client, "Production runs on PostgreSQL 14.")
        new = await add(client, "Staging now runs on PostgreSQL 16.")
        told = [
            await call(client, "search_memories", query=f"which postgres runs on {name}")
            for name in ("production", "staging")
        ]

    assert [found["results"][0]["memoryId"] for found in told] == [sibling, new]
    marked = [hit for found in told for hit in found["results"] if hit.get("outdated_by")]
    assert sibling not in [hit["memoryId"] for hit in marked]


async def test_a_change_of_which_nothing_is_known_is_said(settings: Settings, era: Era) -> None:
    """The older value may be there in other words: whoever wrote the new one can look."""
    async with agent(settings, era) as client:
        told = await call(client, "add_memory", content="We switched from Gitter to Discord.")
        plain = await call(client, "add_memory", content="The cat is called Mo.")

    assert "Search for one with the older value" in told["message"]
    assert "find it with search_memories" not in plain["message"]


async def test_in_a_small_store_a_change_is_compared_with_all(settings: Settings, era: Era) -> None:
    """No word is shared, and it is what changed."""
    async with agent(settings, era) as client:
        old = await add(client, "There is no type checking in the Python code.")
        told = await call(client, "add_memory", content="mypy is a required gate now.")

    assert _similar(told) == [(old, "similar")]


async def test_a_sentence_of_the_same_form_is_named(settings: Settings, era: Era) -> None:
    """There may be several reviews, so nothing says that one took the place of another: who writes
    it knows, and is asked."""
    async with agent(settings, era) as client:
        old = await add(client, "The art review is on Wednesdays.")
        await add(client, "The sound studio is in the cellar.")
        told = await call(client, "add_memory", content="The art review is on Mondays.")

    assert _similar(told) == [(old, "similar")]


OTHERS = (
    "The sound studio is in the cellar.",
    "Vera waters the plants.",
    "Releases are tagged in git.",
    "The choir sings on Tuesdays.",
    "Lunch is served at noon.",
    "Maps are drawn with QGIS.",
    "The bus stops at the church.",
    "Errors are shown as toasts.",
    "The firmware runs on an ESP32.",
    "Photos are resized in the browser.",
    "The boat lies in the harbour of Kiel.",
)
"""More than a change is compared with, whatever they say."""


async def test_the_nearest_is_named_though_no_word_is_shared(settings: Settings, era: Era) -> None:
    """Who writes it is a model that understands both; what is far is not worth a line.

    The likeliest goes first.
    """
    long = (
        "Money is stored as a float, as it has been since the very beginning, and it has been so "
        "ever since it was begun, and it is so also in all of what is there, and so on, as it is."
    )
    async with agent(settings, era) as client:
        for other in OTHERS:
            await add(client, other)
        old = await add(client, long)
        told = await call(client, "add_memory", content="Amounts are kept in whole cents.")
        far = await call(client, "add_memory", content="The cat is called Mo.")

    assert _similar(told)[0] == (old, "similar")
    assert "If it brings one of them up to date, call update_memory" in told["message"]
    assert len(told["similar"][0]["content"]) <= 160
    assert "similar" not in far


MORE = (
    "The museum shop sells postcards.",
    "Invoices are numbered by year.",
    "The lift is green.",
    "Bees are kept behind the mill.",
    "Salt is mined below the town.",
    "The bridge was built of oak.",
    "Stamps are collected by Ines.",
    "The lamp in the hall is of brass.",
    "Apples are pressed in October.",
    "The river is crossed by a rope ferry.",
)


async def test_a_newer_value_is_found_by_what_both_are_about(settings: Settings, era: Era) -> None:
    """Among more memories than are compared, and without a word in common."""
    async with agent(settings, era) as client:
        old = await add(client, "On-call rotates weekly.")
        for other in (*OTHERS, *MORE):
            await add(client, other)
        told = await call(client, "add_memory", content="Tobin carries the pager now.")

    assert _similar(told)[0] == (old, "similar")


async def test_what_shares_its_words_is_found_among_many_of_its_topics(
    settings: Settings, era: Era
) -> None:
    """In a store that grows there are ever more of the same topics, in ever rarer words."""
    new = "Builds are kept for six weeks on the share."
    own = ("Builds", "Weeks", "Shares", "Things that are kept")
    topics = sorted(list_topic_terms(extract_terms(new)).difference(extract_terms(new)))[:60]
    async with agent(settings, era) as client:
        old = await add(client, "Builds are kept for two weeks on the share.")
        for house, (one, other) in enumerate(zip(topics[::2], topics[1::2], strict=True)):
            await add(client, f"House {house} has a {one} and a {other}.")
            await add(client, f"{own[house % len(own)]} are blue in house {house}.")
        told = await call(client, "add_memory", content=new)

    assert old in {*told.get("replaced", ()), *(id_ for id_, _ in _similar(told))}


async def test_of_many_that_are_near_the_three_nearest_are_named(
    settings: Settings, era: Era
) -> None:
    """The strongest first: more is work for whoever reads it."""
    async with agent(settings, era) as client:
        for other in OTHERS:
            await add(client, other)
        texts = [
            f"The {kind} of the shop is open on Sundays." for kind in ("bakery", "bar", "cafe")
        ]
        ids = [await add(client, text) for text in (*texts, "The shop is open on Sundays as well.")]
        told = await call(client, "add_memory", content="The cafe of the shop is closed in May.")

    assert len(told["similar"]) == 3
    assert told["similar"][0]["memoryId"] == ids[2]
    scores = [each["score"] for each in told["similar"]]
    assert scores == sorted(scores, reverse=True)


async def test_the_newer_goes_first_and_the_older_is_marked_and_last(
    settings: Settings, era: Era
) -> None:
    """Ranked alone, what has more of the words would be first."""
    async with agent(settings, era) as client:
        old = await add(client, YARN)
        new = await add(client, PNPM)
        other = await add(client, "The repo is public and holds the packages of the shop.")
        found = await call(client, "search_memories", query="are the repo packages from yarn?")
        newest = await call(client, "search_memories")

    assert [hit["memoryId"] for hit in found["results"]] == [new, other, old]
    assert [hit.get("outdated_by") for hit in found["results"]] == [None, None, new]
    assert {h["memoryId"]: h.get("outdated_by") for h in newest["results"]}[old] == new


async def test_what_brings_a_hit_up_to_date_is_found_by_the_words_of_the_hit(
    settings: Settings, era: Era
) -> None:
    """The question names the older value alone."""
    async with agent(settings, era) as client:
        old = await add(client, YARN)
        new = await add(client, PNPM)
        found = await call(client, "search_memories", query="yarn", limit=1)
        both = await call(client, "search_memories", query="yarn", limit=2)

    assert [hit["memoryId"] for hit in found["results"]] == [new]
    assert [hit["memoryId"] for hit in both["results"]] == [new, old]


async def test_who_asks_for_what_was_gets_it_in_its_place(settings: Settings, era: Era) -> None:
    """It carries its mark, and is not moved."""
    async with agent(settings, era) as client:
        old = await add(client, YARN)
        new = await add(client, PNPM)
        found = await call(client, "search_memories", query="did we use yarn before?")

    assert (found["results"][0]["memoryId"], found["results"][0]["outdated_by"]) == (old, new)


async def test_who_quotes_what_was_gets_it_first(settings: Settings, era: Era) -> None:
    """Its own words, or three of them in a row, and not those of what holds now."""
    async with agent(settings, era) as client:
        old = await add(client, YARN)
        new = await add(client, PNPM)
        found = {
            words: await call(client, "search_memories", query=words)
            for words in (YARN, "repo are installed with yarn", "the packages of the repo")
        }

    first = {words: said["results"][0]["memoryId"] for words, said in found.items()}
    assert [*first.values()] == [old, old, new]
    assert found[YARN]["results"][0]["outdated_by"] == new


@pytest.mark.nightly
async def test_of_hundreds_that_differ_in_one_value_each_is_found_by_its_own_words(
    settings: Settings, era: Era
) -> None:
    """All but the newest are out of date, and none of them is beyond reach for it."""
    said = [f"The session {n % 5} of the crew has learnt the lesson {n}." for n in range(100)]
    async with agent(settings, era) as client:
        for text in said:
            await call(client, "add_memory", content=text)
        found = [await call(client, "search_memories", query=text, limit=1) for text in said[::7]]

    assert [each["results"][0]["content"] for each in found] == said[::7]


async def test_a_context_holds_what_holds(settings: Settings, era: Era) -> None:
    """In the opening and for a task an outdated memory takes no place beside its successor."""
    async with agent(settings, era) as client:
        await add(client, YARN, kind="decision")
        await add(client, PNPM, kind="decision")
        opening = await read(client, "memory_context")
        task = await read(client, "memory_context", task="install the packages of the repo")

    for text in (opening, task):
        assert PNPM in text
        assert YARN not in text


async def test_one_memory_replaced_and_another_contradicted(settings: Settings, era: Era) -> None:
    """A merge names what it leaves, too."""
    async with agent(settings, era) as client:
        await add(client, "The API rate limit is 100 requests per minute.")
        rival = await add(client, "As we agreed, the API rate limit is 200 requests, by the hour.")
        told = await call(
            client, "add_memory", content="The API rate limit is 300 requests per minute."
        )

    assert told["outcome"] in ("replaced", "merged")
    assert rival in str(told)


def test_the_command_line_shows_the_mark(run: Run) -> None:
    """A program sees the same as a model."""
    old = as_json(run, "add", YARN)["memoryId"]
    new = as_json(run, "add", PNPM)["memoryId"]
    found = as_json(run, "search", "repo packages")

    marks = {hit["memoryId"]: hit.get("outdated_by") for hit in found["results"]}
    assert marks == {new: None, old: new}


async def test_a_rule_for_a_part_stays_beside_the_rule_for_all(
    settings: Settings, era: Era
) -> None:
    """Whoever asks what holds elsewhere would find nothing if the exception had replaced it."""
    async with agent(settings, era) as client:
        every = await add(client, "Uploads are limited to 5 MB.")
        some = await call(
            client, "add_memory", content="Uploads are limited to 20 MB on the team plan."
        )
        scoped = await add(client, "Use tabs in Makefiles.")
        general = await call(client, "add_memory", content="Use tabs.")

    assert some["outcome"] == general["outcome"] == "inserted"
    assert every in str(some["similar"])
    assert scoped in str(general["similar"])


async def test_a_receipt_says_what_was_replaced(settings: Settings, era: Era) -> None:
    """A memory that goes without a word is lost to who could have said that it still holds."""
    async with agent(settings, era) as client:
        old = await add(client, "Photos are resized.")
        told = await call(client, "add_memory", content="Photos are resized to 1600 pixels.")

    assert told["message"].startswith(f"Stored. It takes the place of {old}")
    assert "says all of it: Photos are resized." in told["message"]


def test_all_that_reads_agrees_on_what_is_outdated(run: Run) -> None:
    """What a search puts last must not pass as true in a list, an opening, or when asked why."""
    old = as_json(run, "add", "Standup is at 9:15.")["memoryId"]
    new = as_json(run, "add", "Standup is now at 10:00.")["memoryId"]
    found = as_json(run, "search", "when is standup")
    listed = as_json(run, "list")
    lines = run("list")[1].splitlines()
    opening = run("context")[1]

    marks = {old: new, new: None}
    assert {hit["memoryId"]: hit.get("outdated_by") for hit in found["results"]} == marks
    assert {each["memoryId"]: each.get("outdated_by") for each in listed["memories"]} == marks
    assert lines[1].endswith(f"9:15. (outdated by {new[-8:]})")
    assert f"outdated by:\n- Standup is now at 10:00. [{new[-8:]}]" in run("show", old, "--why")[1]
    assert f"newer than:\n- Standup is at 9:15. [{old[-8:]}]" in run("show", new, "--why")[1]
    assert "10:00" in opening
    assert "9:15" not in opening


async def test_what_the_task_outdates_stands_nowhere_in_its_context(
    settings: Settings, era: Era
) -> None:
    """By the question alone it is known that the newer one answers what the older one did."""
    async with agent(settings, era) as client:
        await add(client, "Malt comes from Sedlmaier.", kind="preference")
        await add(client, "Our malt supplier is Weyland & Sons since the new year.")
        text = await read(client, "memory_context", task="who delivers our malt?")

    assert "Weyland" in text
    assert "Sedlmaier" not in text


@pytest.mark.parametrize(
    "values",
    [("yarn", "pnpm", "yarn"), ("yarn", "pnpm", "bun", "yarn"), ("yarn", "pnpm", "yarn", "pnpm")],
    ids="-".join,
)
async def test_a_value_that_returns_is_the_newest(
    settings: Settings, era: Era, values: tuple[str, ...]
) -> None:
    """Whoever goes back to yarn says so: as known already it would count as outdated for ever."""
    async with agent(settings, era) as client:
        texts = [f"The repo uses {value}." for value in values]
        *_, told = [await call(client, "add_memory", content=text) for text in texts]
        again = await call(client, "add_memory", content=texts[-1])
        found = await call(client, "search_memories", query="what does the repo use")
        opening = await read(client, "memory_context")

    now = values[-1]
    before = {value for value in values if value != now}
    assert told["outcome"] == "replaced"
    assert f"says all of it: The repo uses {now}." in told["message"]
    assert (again["outcome"], again["memoryId"]) == ("known", told["memoryId"])
    marks = {hit["content"]: hit.get("outdated_by") for hit in found["results"]}
    assert marks == {f"The repo uses {now}.": None} | {
        f"The repo uses {value}.": told["memoryId"] for value in before
    }
    assert f"uses {now}" in opening
    assert not [value for value in before if f"uses {value}" in opening]


@pytest.mark.parametrize(
    "form",
    [
        ("Hive scales send their weight over LoRaWAN.", "Hive scales send their weight over BLE."),
        ("Varroa counts are entered in the app.", "Varroa counts are entered on paper."),
        ("Henk does the firmware review.", "Marit does the firmware review."),
        ("Photos are resized by sharp.", "Photos are resized by libvips."),
    ],
    ids=lambda form: form[0].split()[0],
)
async def test_a_value_returns_where_no_rule_tells_that_there_is_one(
    settings: Settings, era: Era, form: tuple[str, str]
) -> None:
    """Who says the first one after the second one does not repeat it: it holds again."""
    first, second = form
    async with agent(settings, era) as client:
        old = await add(client, first)
        other = await add(client, second)
        told = await call(client, "add_memory", content=first)
        again = await call(client, "add_memory", content=first)
        found = await call(client, "search_memories", query=first)

    assert told["outcome"] == "replaced"
    assert told["memoryId"] not in (old, other)
    assert other in [memory_id for memory_id, _ in _similar(told)]
    assert (again["outcome"], again["memoryId"]) == ("known", told["memoryId"])
    assert found["results"][0]["memoryId"] == told["memoryId"]


async def test_what_there_may_be_several_of_is_known_though_another_one_followed(
    settings: Settings, era: Era
) -> None:
    """Two supported browsers take nothing back of each other."""
    async with agent(settings, era) as client:
        old = await add(client, "We support Chrome.")
        await add(client, "We support Firefox.")
        again = await call(client, "add_memory", content="We support Chrome.")

    assert (again["outcome"], again["memoryId"]) == ("known", old)


async def test_the_same_value_in_other_words_outdates_nothing(settings: Settings, era: Era) -> None:
    """Whoever corrects an older memory as the newer one says has two that agree."""
    asked = "how long before a burial is the heater switched on"
    async with agent(settings, era) as client:
        old = await add(
            client, "The chapel heater is switched on two hours before a burial, Kurt does it."
        )
        newer = await add(client, "Turns out the chapel heater needs four hours.")
        text = "The chapel heater is switched on four hours before a burial, Kurt does it."
        await call(client, "update_memory", memory_id=old, content=text)
        found = await call(client, "search_memories", query=asked)

    marks = {hit["memoryId"]: hit.get("outdated_by") for hit in found["results"]}
    assert marks[newer] is None


async def test_who_names_what_a_known_memory_replaces_is_heard(
    settings: Settings, era: Era
) -> None:
    """It says word for word what is known; what it is said in place of goes all the same."""
    async with agent(settings, era) as client:
        known = await add(client, "The team lunches at noon.")
        other = await add(client, "Lunch was moved by an hour.")
        told = await call(
            client, "add_memory", content="The team lunches at noon.", supersedes=[other]
        )
        found = await call(client, "search_memories")

    assert sorted(told["replaced"]) == sorted([known, other])
    assert [hit["memoryId"] for hit in found["results"]] == [told["memoryId"]]


@pytest.mark.parametrize(
    "asked", ["what did we deploy with before", "what did we use before Kamal"]
)
async def test_what_was_before_is_found_by_what_is(
    settings: Settings, era: Era, asked: str
) -> None:
    """The older one is the answer, also where the question names the newer one alone."""
    async with agent(settings, era) as client:
        old = await add(client, "We deploy with Helm.")
        new = await add(client, "We deploy with Kamal since May.")
        found = await call(client, "search_memories", query=asked)
        usual = await call(client, "search_memories", query="what do we deploy with")

    assert [hit["memoryId"] for hit in found["results"]] == [old, new]
    assert found["results"][0]["outdated_by"] == new
    assert usual["results"][0]["memoryId"] == new


def test_a_question_for_what_was_says_how_to_see_what_was_replaced(run: Run) -> None:
    """What was replaced is recalled nowhere, but it is not lost."""
    run("add", "The app listens on port 8080.")
    new = as_json(run, "add", "The app listens on port 9090.")["memoryId"]
    _, was, _ = run("search", "on which port did the app listen before?")
    _, now, _ = run("search", "on which port does the app listen?")
    _, why, _ = run("show", new, "--why")

    assert f"`memory-mcp show {new[-8:]} --why` shows what {new[-8:]} took the place of" in was
    assert "took the place of" not in now
    assert "The app listens on port 8080." in why


async def test_the_receipt_of_a_change_names_nothing_unrelated(
    settings: Settings, era: Era
) -> None:
    """What changed is known, so that nobody need look for it among the others."""
    async with agent(settings, era) as client:
        port = await add(client, "The app listens on port 8080.")
        yarn = await add(client, "The repo uses yarn.")
        await add(client, "The office dog is called Biscuit.")
        replaced = await call(client, "add_memory", content="The app now listens on port 9090.")
        outdated = await call(client, "add_memory", content="The repo now uses pnpm.")

    assert (replaced["replaced"], replaced.get("similar")) == ([port], None)
    assert _similar(outdated) == [(yarn, "outdated")]


def test_what_takes_a_score_says_what_that_adds(run: Run) -> None:
    """The question names the older value alone; the parts of each score add up to it."""
    as_json(run, "add", YARN)
    new = as_json(run, "add", PNPM)["memoryId"]
    found = as_json(run, "search", "which packages come from yarn", "--why")["results"]

    assert found[0]["memoryId"] == new
    assert found[0]["parts"]["newer"] > 0
    for hit in found:
        summed = 1 / (1 + exp(-sum(hit["parts"].values())))
        assert summed == pytest.approx(hit["score"], abs=0.01)


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("The main branch is called master.", "master was renamed to main.",
         "what is the main branch called"),
        ("The service account is called fl-bot.", "fl-bot has been renamed to fleet-robot.",
         "what is the service account called"),
        ("Der Testserver heißt otter.", "Der Testserver wurde in lynx umbenannt.",
         "wie heißt der Testserver"),
        ("Die Suche nutzt Elasticsearch.", "Die Suche wurde auf Meilisearch umgestellt.",
         "was nutzt die Suche"),
    ],
)  # fmt: skip
async def test_a_new_name_goes_before_the_old_one(
    settings: Settings, era: Era, old: str, new: str, asked: str
) -> None:
    """What states the old name is outdated, though no value stands where it stood."""
    async with agent(settings, era) as client:
        await add(client, "Run make lint on every branch before a push.")
        older = await add(client, old)
        newer = await call(client, "add_memory", content=new)
        found = await call(client, "search_memories", query=asked)

    assert _similar(newer)[0] == (older, "outdated")
    marks = [(hit["content"], hit.get("outdated_by")) for hit in found["results"]]
    assert marks[0] == (new, None)
    assert (old, newer["memoryId"]) in marks


@pytest.mark.parametrize(
    ("said", "new", "asked"),
    [
        ("Anna Schmidt reviews the security changes.", "Anna Schmidt is now called Anna Weber.",
         "who reviews the security changes"),
        ("Tom Berger owns the importer.", "Tom Berger is now Tom Huber.", "who owns the importer"),
        ("fl-bot pushes the release tags.", "fl-bot heißt jetzt fleet-robot.",
         "who pushes the release tags"),
    ],
)  # fmt: skip
async def test_a_new_name_stands_beside_what_is_said_of_the_old_one(
    settings: Settings, era: Era, said: str, new: str, asked: str
) -> None:
    """What was said of the old name holds of the new one, so it is not outdated."""
    async with agent(settings, era) as client:
        for other in OTHERS:
            await add(client, other)
        await add(client, said)
        await add(client, new)
        found = await call(client, "search_memories", query=asked)

    assert [hit["content"] for hit in found["results"]][:2] == [said, new]
    assert found["results"][0].get("outdated_by") is None


async def test_what_was_before_is_the_one_before(settings: Settings, era: Era) -> None:
    """Of several that were, the last one that another took the place of comes first."""
    said = ["Vite", "Webpack", "Vite", "esbuild", "Vite"]
    async with agent(settings, era) as client:
        for place, tool in enumerate(said):
            again = " again" if tool in said[:place] else ""
            await add(client, f"The bundler is {tool}{again}.")
        asked = "which bundler did we use before?"
        found = await call(client, "search_memories", query=asked)

    assert found["results"][0]["content"] == "The bundler is esbuild."


async def test_an_emoji_is_found_by_itself(settings: Settings, era: Era) -> None:
    """Whoever writes one alone may search for it alone."""
    async with agent(settings, era) as client:
        fire = await add(client, "🔥 the release of May took the site down")
        await add(client, "🚀 the release of June went well")
        found = await call(client, "search_memories", query="🔥")

    assert [hit["memoryId"] for hit in found["results"]] == [fire]


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ("数据库是 PostgreSQL 16。", "数据库是 MySQL 8。", "缓存是 Redis。"),
        ("定例会議は月曜日です。", "定例会議は水曜日です。", "朝会は金曜日です。"),
    ],
)
async def test_a_value_changes_in_scripts_without_spaces(
    settings: Settings, era: Era, old: str, new: str, other: str
) -> None:
    """The same skeleton with another value, as in English."""
    async with agent(settings, era) as client:
        await add(client, other)
        older = await add(client, old)
        newer = await call(client, "add_memory", content=new)

    assert [id_ for id_, relation in _similar(newer) if relation == "outdated"] == [older]
