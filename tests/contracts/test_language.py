"""The contract of `ports.LanguageModel`, held by each of its adapters."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import pytest
from chat_server import Heard, Said, chat_server, said, well
from fake_language import FakeLanguage

from memory_mcp.domain.deduplication import Judgement
from memory_mcp.domain.limits import CONTENT_CHARS_MAX, SUMMARY_CHARS_MAX
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.chat import ChatModel
from memory_mcp.ports import LanguageModel
from memory_mcp.text.faithful import find_merge_flaw, find_summary_flaw

pytestmark = pytest.mark.anyio

OLD = "Ada's daughter is 3 years old."
NEW = "Ada's daughter is 4 years old."
TURNS = ("The user asks why the build of shop-api fails.", "The assistant pins numpy to 2.1.")
ODD = (
    "\ud83d",
    "a\udcffb",
    "\x00 nul",
    "日本語のテキスト。",
    "🌊" * 40,
    '"}]}',
    "<|im_end|>",
    "x" * 8_000,
)


@dataclass(frozen=True)
class Door:
    """A model, and how it is made to answer something of its own, or to fail."""

    model: LanguageModel
    composes: Callable[[str, str, str], None]
    tells: Callable[[str], None]
    shortens: Callable[[str], None]
    fails: Callable[[], None]


def _down(_: Heard) -> Said:
    return Said({}, 500)


@pytest.fixture(params=["chat", "fake"])
async def door(request: pytest.FixtureRequest) -> AsyncGenerator[Door]:
    if request.param == "fake":
        fake = FakeLanguage()
        yield Door(
            fake,
            lambda old, new, text: fake.compositions.update({(old, new): text}),
            fake.summaries.append,
            fake.shortened.append,
            lambda: setattr(fake, "failing", "It is down."),
        )
        return
    with chat_server() as server:
        model = ChatModel(server.url, "talker", retry_seconds=0.0)
        yield Door(
            model,
            lambda _old, _new, text: server.once(said(text=text)),
            lambda text: server.once(said(summary=text)),
            lambda text: server.once(said(text=text)),
            lambda: setattr(server, "behaves", _down),
        )
        await model.aclose()


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (OLD, OLD.upper(), "same"),
        (OLD, NEW, "contradicts"),
        (OLD, "The staging server is in Bonn.", "different"),
    ],
)
async def test_two_statements_are_judged(
    door: Door, old: str, new: str, verdict: Judgement
) -> None:
    """Who is the older one matters: the newer one wins."""
    assert await door.model.same_fact(old, new) == verdict


async def test_a_composition_is_faithful(door: Door) -> None:
    """It takes the place of both."""
    text = await door.model.compose(OLD, "The staging server is in Bonn.")

    assert find_merge_flaw(text, OLD, "The staging server is in Bonn.") == ""
    assert await door.model.compose(OLD, NEW) == NEW


@pytest.mark.parametrize("text", ["", "Ada has a son.", OLD, f"{NEW} " * 400, f"{NEW}\x1b[2J"])
async def test_a_composition_that_is_not_is_none(door: Door, text: str) -> None:
    """What a model makes up would be remembered as the user's own words."""
    door.composes(OLD, NEW, text)

    with pytest.raises(ModelUnavailableError):
        await door.model.compose(OLD, NEW)
    assert await door.model.compose(OLD, "Tea is hot.") == f"Tea is hot. {OLD}"


@pytest.mark.parametrize(
    ("text", "keep", "kind"),
    [
        ("Orders live in PostgreSQL.", True, "fact"),
        ("We decided on JWT, because it scales.", True, "decision"),
        ("I want to run a marathon in May.", True, "fact"),
        ("Hello there!", False, None),
        ("Can you read PDF files?", False, None),
    ],
)
async def test_what_is_worth_a_memory_is_told_from_chatter(
    door: Door, text: str, *, keep: bool, kind: str | None
) -> None:
    """With a reason that can be shown."""
    found = await door.model.classify(text)

    assert (found.keep, found.kind) == (keep, kind)
    assert found.reason


async def test_a_summary_is_of_these_turns(door: Door) -> None:
    """In one line that fits an episode."""
    text = await door.model.summarise(TURNS)

    assert find_summary_flaw(text, TURNS) == ""
    assert "\n" not in text


@pytest.mark.parametrize(
    "text", ["", "The user meets Bob.", "It took 5 tries.", "x " * SUMMARY_CHARS_MAX]
)
async def test_a_summary_of_something_else_is_none(door: Door, text: str) -> None:
    """A name that nobody said would be found for ever."""
    door.tells(text)

    with pytest.raises(ModelUnavailableError):
        await door.model.summarise(TURNS)


LONG = "The build of shop-api takes 9 minutes. Nobody knows why it takes so long at night."


async def test_a_text_is_said_in_fewer_characters(door: Door) -> None:
    """How many is for the caller to check."""
    text = await door.model.shorten(LONG, 40, "a note", "Shorten {text} to {max_chars}.")

    assert 0 < len(text) < len(LONG)
    assert find_summary_flaw(text, (LONG,)) == ""
    assert door.model.identity


@pytest.mark.parametrize("text", ["", "Bob builds shop-api.", "It takes 7 minutes.", LONG])
async def test_a_text_that_says_more_or_is_no_shorter_is_none(door: Door, text: str) -> None:
    """A figure that nobody measured would be printed in a report."""
    door.shortens(text)

    with pytest.raises(ModelUnavailableError):
        await door.model.shorten(LONG, 40)


@pytest.mark.parametrize("turns", [(), ("",), (" ", "\n")])
async def test_of_nothing_there_is_no_summary(door: Door, turns: tuple[str, ...]) -> None:
    """A session may end before it began."""
    with pytest.raises(ModelUnavailableError):
        await door.model.summarise(turns)


@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text)[:12])
async def test_odd_texts_are_judged_or_nothing_is(door: Door, text: str) -> None:
    """No other error may reach a write."""
    assert len(text) <= CONTENT_CHARS_MAX
    assert await door.model.same_fact(OLD, text) == "different"
    assert (await door.model.classify(text)).reason
    for call in (door.model.compose(text, NEW), door.model.summarise([text, NEW])):
        try:
            assert NEW in await call
        except ModelUnavailableError:
            continue


async def test_a_failure_is_one_error_and_the_next_call_may_fail_too(door: Door) -> None:
    """The caller has a rule for each of them."""
    door.fails()
    calls = (
        door.model.same_fact(OLD, NEW),
        door.model.compose(OLD, NEW),
        door.model.classify(NEW),
        door.model.summarise(TURNS),
        door.model.shorten(LONG, 40, OLD),
    )
    for call in calls:
        with pytest.raises(ModelUnavailableError) as caught:
            await call
        assert "daughter" not in str(caught.value)


async def test_several_calls_at_once_get_their_own_answers(door: Door) -> None:
    """Sessions share a server, and a write looks at several candidates."""
    texts = [f"Port {number} is open." for number in range(4)]
    found = await asyncio.gather(*(door.model.compose(text, NEW) for text in texts))

    assert found == [f"{NEW} {text}" for text in texts]


async def test_it_can_be_asked_again_after_it_was_closed(door: Door) -> None:
    """A session may go on for days."""
    await door.model.aclose()

    assert await door.model.same_fact(OLD, NEW) == "contradicts"


def test_the_rules_of_the_stand_in_are_those_of_the_server() -> None:
    """Else the suite would compare two things."""
    form = {"role": "system", "content": '{"verdict": "same"}'}
    texts = {"role": "user", "content": '{"older": "a 1", "newer": "a 2"}'}
    heard = Heard("/v1/chat/completions", {}, {"model": "talker", "messages": [form, texts]})

    assert well(heard) == said(verdict="contradicts")
