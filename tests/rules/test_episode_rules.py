"""When an episode is written, and what it tells: the rules alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from depth import depth
from fakes import SCOPE, START, Scribe
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_mcp.domain.ids import MAIN, ROOT
from memory_mcp.domain.limits import LINKS_MAX, SUMMARY_CHARS_MAX, TURN_CHARS_MAX
from memory_mcp.domain.record import Origin, Record, RecordContext
from memory_mcp.domain.sessions import EpisodeSettings, Turn
from memory_mcp.text.drafts import build_tombstone
from memory_mcp.text.episodes import (
    EpisodeHistory,
    EpisodeMerge,
    NewEpisode,
    NoEpisode,
    SessionMoment,
    build_episode,
    check_too_early,
    clean_summary,
    drop_recalled,
    drop_unanswered,
    find_last_episode,
    find_written_at,
    mark_turns,
    measure_novelty,
    name_part_of_day,
    name_series,
    number_last_turn,
    plan_episode,
    read_turn_number,
    select_new_turns,
    select_turns_since,
    summarise_turns,
)

MEMORY = "0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77"
PACE = EpisodeSettings()
NOTHING = EpisodeHistory()


def said(*lines: str) -> list[Turn]:
    """Turns, the user's and the assistant's in turn."""
    return [Turn("assistant" if place % 2 else "user", line) for place, line in enumerate(lines)]


def written(scribe: Scribe, turn: int, **fields: object) -> Record:
    """An episode of some turn."""
    return scribe.record(
        "- user: Move the cart to Redis.", kind="episode", segment=ROOT, branch=MAIN,
        key=f"project:shop:episode:s:{turn}", **fields,
    )  # fmt: skip


def only(record: Record) -> EpisodeHistory:
    """One episode there is."""
    return EpisodeHistory(record, (record,), record)


@pytest.mark.parametrize(
    "turns",
    [
        said("Who may see the interviews?"),
        said("Who may see the interviews?", "Which interviews do you mean, the exit ones?"),
        said("Who may see the interviews?", "I don't know, the folder says nothing."),
        said("Who may see the interviews?", "I would have to ask Beate.", "leave it for now"),
        said("Which probe counts?", 'A note says "ask Wanda", nothing more. I changed nothing.'),
        said("Welche Sonde zählt?", "Das ist nirgends dokumentiert, das müsste Wanda klären."),
    ],
)
def test_a_question_without_an_answer_tells_nothing(turns: list[Turn]) -> None:
    """And neither does what was said of not knowing."""
    assert drop_unanswered(drop_recalled(turns)).turns == ()


def test_what_is_done_next_does_not_answer_what_was_asked_before() -> None:
    """Who asks the same later would find the question beside a success."""
    asked = [
        Turn("user", "Which queue do we use for the ticket mails?"),
        Turn("assistant", "I do not know, nothing says it. You would have to ask Kari."),
    ]
    done = [
        Turn("user", "ok. then fix the retry in MailWorker.kt, it sends mails twice"),
        Turn("assistant", "Fixed: the worker now stores the message id before sending."),
    ]
    told = Turn("user", "Kari says it is the queue mails-prod.")

    assert drop_unanswered(drop_recalled([*asked, *done])).turns == tuple(done)
    assert drop_unanswered(drop_recalled([*asked, told])).turns == (*asked, told)


@pytest.mark.parametrize(
    "turns",
    [
        said("Who may see the interviews?", "All eleven people of the department."),
        said("Who may see the interviews?", "I don't know.", "only Beate and the council's chair"),
        said("Which probe counts?", "The lower one. I haven't changed anything."),
        said("Please move the cart to Redis.", "I could not find the cart."),
    ],
)
def test_an_answer_stays_with_its_question(turns: list[Turn]) -> None:
    """Whoever gave it; and what was to be done stays, whatever became of it."""
    assert drop_unanswered(drop_recalled(turns)).turns == tuple(turns)


def test_the_pauses_are_in_turns_and_in_minutes() -> None:
    """Either alone would let a quick or a slow session fill the store."""
    past = only(written(Scribe(), 10))
    early = SessionMoment(20, START + timedelta(minutes=9))
    soon = SessionMoment(15, START + timedelta(minutes=11))
    later = SessionMoment(16, START + timedelta(minutes=10))

    assert "EPISODIC_COOLDOWN_MINUTES" in str(check_too_early(past, early, PACE))
    assert "5 turns" in str(check_too_early(past, soon, PACE))
    assert check_too_early(past, later, PACE) is None
    assert "EPISODIC_COOLDOWN_TURNS" in str(check_too_early(NOTHING, SessionMoment(5, START), PACE))
    assert check_too_early(NOTHING, SessionMoment(6, START), PACE) is None


def test_the_end_of_a_session_waits_for_no_pause_but_for_the_cap() -> None:
    """There is no later any more; but an end that is told twice is told once."""
    past = only(written(Scribe(), 10))
    end = SessionMoment(11, START, final=True)

    assert check_too_early(past, end, PACE) is None
    assert "captured already" in str(check_too_early(past, replace(end, turn=10), PACE))
    assert "of the day" in str(
        check_too_early(replace(past, open=None), end, replace(PACE, per_day=1))
    )
    assert "are off" in str(check_too_early(NOTHING, end, replace(PACE, per_day=0)))


def test_a_count_that_began_anew_is_a_conversation_of_its_own() -> None:
    """A session that was cleared or rewound counts from the beginning, and is not deaf for long."""
    past = only(written(Scribe(), 40))
    later = START + timedelta(hours=1)

    assert isinstance(check_too_early(past, SessionMoment(3, later), PACE), NoEpisode)
    assert check_too_early(past, SessionMoment(6, later), PACE) is None


def test_what_is_close_and_not_new_is_merged_and_all_else_is_written() -> None:
    """Nearness in time alone would merge two matters, likeness alone two days."""
    scribe = Scribe()
    base = written(scribe, 10, title="2026-01-31 afternoon")
    past = only(base)
    near, far = (SessionMoment(20, START + timedelta(hours=hours)) for hours in (6, 7))
    text = "- user: Move the cart to Redis.\n- assistant: It moved."
    merged = plan_episode(text, 0.34, past, near, PACE)

    assert merged == EpisodeMerge(base, "2026-01-31 afternoon to 2026-01-31 evening", text)
    assert isinstance(plan_episode(text, 0.35, past, near, PACE), NewEpisode)
    assert isinstance(plan_episode(text, 0.0, past, far, PACE), NewEpisode)
    assert plan_episode(base.content, 0.0, past, near, PACE) == NoEpisode(
        "It tells nothing that the last episode does not."
    )
    assert "small talk" in str(plan_episode(" ", 1.0, past, near, PACE))


def test_a_full_day_still_takes_what_is_merged() -> None:
    """A merge adds no episode. What is new waits for tomorrow, by the calendar of UTC."""
    past = only(written(Scribe(), 10))
    pace = replace(PACE, per_day=1, merge_hours=99)
    now = START + timedelta(hours=1)

    assert isinstance(
        plan_episode("- user: More.", 0.1, past, SessionMoment(20, now), pace), EpisodeMerge
    )
    assert isinstance(
        plan_episode("- user: More.", 0.9, past, SessionMoment(20, now), pace), NoEpisode
    )
    east = timezone(timedelta(hours=9, minutes=-30))  # midnight lies between the two there
    there = SessionMoment(20, now, zone=east)
    assert isinstance(plan_episode("- user: Mo.", 0.9, past, there, pace), NoEpisode)
    tomorrow = plan_episode(
        "- user: Mo.", 0.9, past, replace(there, now=START.replace(day=1, month=2)), pace
    )
    assert tomorrow == NewEpisode("2026-02-01 evening", "- user: Mo.")


def test_turns_without_a_number_are_known_again_by_their_words() -> None:
    """A hook that hands in the last dozen does not know how many there were."""
    scribe = Scribe()
    turns = said(*"abcdefgh")

    def after(number: int, *told: str) -> Record:
        key = f"project:shop:episode:s:{number}~{mark_turns(said(*told))}"
        return scribe.record(kind="episode", segment=ROOT, branch=MAIN, key=key)

    assert number_last_turn(turns, None) == 8
    assert number_last_turn(turns, after(20, *"abcdef")) == 22
    assert number_last_turn(turns, after(20, *"abcdefgh")) == 20
    assert number_last_turn(turns[2:], after(20, *"abc")) == 25, (
        "its neighbour went out of the window"
    )
    assert number_last_turn(turns, after(1, "a")) == 8
    assert number_last_turn(turns, after(20, *"xy")) == 28, "none of them was told"
    assert number_last_turn(turns, written(scribe, 20)) == 28, "and here nobody knows"
    assert number_last_turn([], after(20, *"ab")) == 20
    ok = said("a", "ok", "b", "ok", "c")
    assert number_last_turn(ok, after(20, *ok_told(ok, 4))) == 21, (
        "by the two last: one may come again"
    )
    assert number_last_turn(turns, after(1, "c")) == 6, "it was handed in alone"
    assert mark_turns([]) == ""


def ok_told(turns: list[Turn], number: int) -> list[str]:
    """What the first of these turns say."""
    return [turn.content for turn in turns[:number]]


def test_a_forgotten_episode_was_told_when_it_was_written() -> None:
    """Its tombstone is younger, and stands for all that went with it."""
    scribe = Scribe()
    first = written(scribe, 10)
    scribe.clock.advance(timedelta(minutes=20))
    second = written(scribe, 20)
    scribe.clock.advance(timedelta(hours=5))
    place = RecordContext(scribe.ids.new(START), START, ROOT, MAIN, SCOPE, Origin(session="other"))
    gone = build_tombstone(first, "why", place, erase=True, along=(second.id,), told=second.key)
    hidden = build_tombstone(second, "", place, erase=False)

    assert (read_turn_number(gone), read_turn_number(hidden)) == (20, 20)
    assert find_written_at(gone) == find_written_at(second) < scribe.clock.now()
    assert gone.statement == f"told:{name_series(SCOPE, Origin(session='s'))}"
    assert find_last_episode([first, gone]) == gone
    assert isinstance(
        check_too_early(EpisodeHistory(gone, (gone,)), SessionMoment(20, START), PACE), NoEpisode
    )
    full = check_too_early(
        EpisodeHistory(gone, (gone,)),
        SessionMoment(30, START),
        replace(PACE, per_day=1, cooldown_minutes=0),
    )
    assert "of the day" in str(full)


def test_an_episode_made_of_as_many_as_may_be_is_merged_no_further() -> None:
    """A record names so many sources and no more."""
    scribe = Scribe()
    sources = tuple(scribe.ids.new(START) for _ in range(LINKS_MAX))
    full = written(scribe, 10, supersedes=sources)
    moment = SessionMoment(20, START + timedelta(hours=1))

    assert isinstance(plan_episode("- user: More.", 0.0, only(full), moment, PACE), NewEpisode)


def test_a_merged_episode_names_and_replaces_all_it_was_made_of() -> None:
    """Whoever forgets one of them forgets what was made of it: its words are in there."""
    scribe = Scribe()
    first, second = written(scribe, 10), written(scribe, 20)
    base = second.model_copy(update={"supersedes": (first.id,), "derived_from": (first.id,)})
    place = RecordContext(scribe.ids.new(START), START, ROOT, MAIN, SCOPE, Origin(session="s"))
    record = build_episode(EpisodeMerge(base, "t", "x"), SessionMoment(30, START), place, phase=3)

    assert record.supersedes == record.derived_from == (base.id, first.id)
    assert (record.kind, record.layer, record.segment) == ("episode", "recall", ROOT)
    assert record.key == "project:shop:episode:s:30"
    assert (read_turn_number(record), read_turn_number(scribe.record())) == (30, 0)
    plain = build_episode(
        NewEpisode("t", "x"), SessionMoment(1, START), replace(place, origin=Origin()), None
    )
    assert (plain.supersedes, plain.key) == ((), "project:shop:episode:none:1")


def test_only_turns_that_nobody_told_are_told() -> None:
    """What stands in two episodes is found twice."""
    turns = said(*"abcdefgh")
    past = only(written(Scribe(), 10))

    assert list(select_new_turns(turns, past, SessionMoment(13, START), PACE)) == turns[-3:]
    assert list(select_new_turns(turns, past, SessionMoment(10, START), PACE)) == []
    assert (
        list(select_new_turns(turns, NOTHING, SessionMoment(90, START), replace(PACE, window=2)))
        == turns[-2:]
    )


def test_turns_of_a_road_that_was_left_are_not_told() -> None:
    """What was abandoned must not come back as what happened lately."""
    turns = said("Use Redis.", "Done.", "No, go back.", "Back at phase 1.", "Use SQLite.")
    timed = [replace(turn, at=START + timedelta(minutes=place)) for place, turn in enumerate(turns)]

    assert select_turns_since(turns, None) == turns
    assert select_turns_since(turns, START) == turns[4:]
    assert select_turns_since(timed, START + timedelta(minutes=2)) == timed[3:]
    assert select_turns_since(timed, START - timedelta(minutes=2)) == timed
    assert select_turns_since(turns[1:2], START) == turns[1:2]


def test_novelty_is_the_share_that_is_new() -> None:
    """0: all is known; 1: nothing is."""
    assert measure_novelty(frozenset("ab"), frozenset("bc")) == 0.5
    assert measure_novelty(frozenset(), frozenset("a")) == 0.0


@pytest.mark.parametrize(
    ("hour", "part"), [(0, "night"), (6, "morning"), (12, "afternoon"), (23, "evening")]
)
def test_the_title_is_a_part_of_the_day(hour: int, part: str) -> None:
    """ "Yesterday evening" is how people look for it."""
    at = datetime(2026, 11, 21, hour, 5, tzinfo=UTC)

    assert name_part_of_day(at, at, UTC) == f"2026-11-21 {part}"


# What an episode tells of a few turns: the rules alone.


def told(*lines: str) -> str:
    """What an episode of these turns says."""
    return summarise_turns(drop_recalled(said(*lines)))


def test_an_episode_tells_requests_decisions_and_outcomes_without_the_rest() -> None:
    """A transcript is no memory."""
    text = told(
        "Hi! Please move the cart to Redis.",
        "Sure. Let me look at the code first.\n```\nx = 1\n```\nI will now run the tests.",
        "brb, lunch",
        "The cart lives in Redis now: sessions expire after 30 minutes.\nTraceback (most recent "
        "call last):",
        "Thanks! We decided to keep the fallback, because ops wants it. Does it work on Windows?",
        "Okay.",
    )

    assert text.splitlines() == [
        "- user: Please move the cart to Redis.",
        "- assistant: The cart lives in Redis now: sessions expire after 30 minutes.",
        "- user: We decided to keep the fallback, because ops wants it.",
        "- user: Does it work on Windows?",
    ]


def test_an_episode_is_short_and_keeps_what_tells_most() -> None:
    """It is carried into later sessions."""
    noise = [f"The number of this remark is {n} {'x' * 200}." for n in range(60)]
    text = told(*noise[:30], "We decided to drop Redis.", *noise[30:], "y" * 400)

    assert len(text) <= SUMMARY_CHARS_MAX
    assert "- user: We decided to drop Redis." in text
    assert max(map(len, text.splitlines())) < 320


def test_of_a_long_turn_beginning_and_end_are_heard() -> None:
    """The request stands at the beginning, the outcome at the end."""
    long = f"Please rewrite the parser. {'word ' * TURN_CHARS_MAX}\nThe parser is rewritten now."
    text = told(long)

    assert "Please rewrite the parser." in text
    assert "The parser is rewritten now." in text


def test_a_summary_of_a_model_is_held_to_the_same() -> None:
    """A model repeats what it was shown, recalled or not."""
    heard = drop_recalled(
        said(f"<memory>\n- The shop sells coffee beans. [{MEMORY}]\n</memory>\nAdd tea.")
    )
    text = clean_summary(
        "They added tea to the menu.\nThe shop sells coffee beans.\n" + "z" * 3_000, heard.recalled
    )

    assert text == "They added tea to the menu."


words = st.sampled_from("redis cart order tea index cache page user token week".split())  # noqa: SIM905
sentence = st.lists(words, min_size=3, max_size=7).map(lambda w: f"The {' '.join(w)} is kept.")


@given(
    recalled=st.lists(sentence, min_size=1, max_size=4),
    own=st.lists(sentence, max_size=4),
    echoed=st.booleans(),
    closed=st.booleans(),
)
@settings(max_examples=depth(25, 150))
def test_no_sentence_of_a_recalled_block_is_ever_told(
    *, recalled: list[str], own: list[str], echoed: bool, closed: bool
) -> None:
    """Memory that feeds on itself ends up as nothing but itself."""
    entries = "\n".join(f"- A title: {line} [{MEMORY}]" for line in recalled)
    block = f'<memory note="recalled data">\n{entries}\n{"</memory>" if closed else ""}'
    again = " ".join(recalled) if echoed else ""
    text = told(" ".join(own), again, f"We know: {block}", f"{again} {' '.join(own)}")
    lines = [line.removeprefix("- user: ").removeprefix("- assistant: ") for line in
             text.splitlines()]  # fmt: skip

    assert set(lines).isdisjoint(recalled)
    assert {line for line in own if line not in recalled} <= set(lines) | set(recalled) or any(
        line[4:-9] in other or other[4:-9] in line for line in own for other in recalled
    )


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("I'm doing great, thanks for asking!", "Glad to hear it!"),
        ("lol that is funny, haha", "Haha, right?"),
        ("can you speak French?", "Yes, I can speak French, German and Spanish."),
        ("How are you?", "I'm doing well, thank you! How can I help you today?"),
        ("Do you know Python?", "Yes! I know Python well. What can I help you with?"),
        ("That made me laugh, thanks", "😀"),
        ("you're funny", "Haha, thanks!"),
        ("Sprichst du Deutsch?", "Ja, ich spreche Deutsch."),
    ],
)
def test_chat_alone_is_no_episode(asked: str, answered: str) -> None:
    """Nobody looks for it later; beside something that happened it does no harm."""
    assert told(asked, answered) == ""
    assert "Redis" in told(asked, answered, "Please move the cart to Redis.")


@pytest.mark.parametrize(
    "asked", ["Can you run the tests?", "Can you use Redis for the cart?", "Könntest du das tun?"]
)
def test_a_request_that_is_put_as_a_question_is_an_episode(asked: str) -> None:
    """Politeness asks for what is wanted, not for what is possible."""
    assert told(asked) == f"- user: {asked}"
