"""A text is shortened to a limit: by a model if one is set, and always to no more than asked."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from chat_server import EmbeddingServer, Heard, Said, chat_server, given, said

from memory_mcp import Memory

pytestmark = pytest.mark.anyio

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
LOG = (
    "The baseline reaches 71.2 % on the small set. It took 40 minutes on one card. "
    "The second run was no better. Nobody knows why it stopped so early."
)


@pytest.fixture
def server() -> Generator[EmbeddingServer]:
    with chat_server() as served:
        yield served


@asynccontextmanager
async def opened(tmp_path: Path, url: str = "") -> AsyncGenerator[Memory]:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    settings = {"MEMORY_HOME": str(tmp_path / "home"), "MEMORY_EMBEDDER": "none"}
    if url:
        settings |= {"MEMORY_LLM_BASE_URL": url, "MEMORY_LLM_MODEL": "talker"}
    async with Memory.open(project, settings) as memory:
        yield memory


async def test_what_fits_is_not_changed(tmp_path: Path, server: EmbeddingServer) -> None:
    """To the last space, and nobody is asked."""
    async with opened(tmp_path, server.url) as memory:
        assert await memory.compress(f" {LOG}\n", len(LOG) + 2) == f" {LOG}\n"
    assert server.heard == []


@pytest.mark.parametrize(
    ("max_chars", "expected"),
    [
        (100, "The baseline reaches 71.2 % on the small set. It took 40 minutes on one card."),
        (46, "The baseline reaches 71.2 % on the small set."),
        (30, "The baseline reaches 71.2 % on"),
        (5, "The"),
        (2, "Th"),
        (0, ""),
        (-3, ""),
    ],
)
async def test_without_a_model_it_ends_at_a_sentence_or_a_word(
    tmp_path: Path, max_chars: int, expected: str
) -> None:
    """Half a word would be read as another one."""
    async with opened(tmp_path) as memory:
        assert await memory.compress(LOG, max_chars, "a log") == expected


async def test_a_model_is_asked_until_it_fits_and_then_never_again(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    """Each round is checked; what came of it is known from then on."""
    async with opened(tmp_path, server.url) as memory:
        server.once(said(text="The baseline reaches 71.2 % on the small set. It took 40 minutes."))
        first = await memory.compress(LOG, 50, "a log")

        assert first == "The baseline reaches 71.2 % on the small set."
        assert len(server.heard) == 2
        assert given(server.heard[0]) == {"about": "a log", "text": LOG}
        assert "less than 50 characters" in server.heard[0].body["messages"][0]["content"]

        assert await memory.compress(LOG, 50, "a log") == first
        assert len(server.heard) == 2
        await memory.compress(LOG, 51, "a log")
        await memory.compress(LOG, 50, "another log")
        assert await memory.compress(LOG, 50, "a log", use_cache=False) == first
        assert len(server.heard) == 5


async def test_a_model_that_never_gets_there_is_asked_so_often_and_cut(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    """A loop without an end would cost more than the text is worth."""
    words = LOG.split()

    def drop_a_word(heard: Heard) -> Said:
        return said(text=" ".join(given(heard)["text"].split()[:-1]))

    server.behaves = drop_a_word
    async with opened(tmp_path, server.url) as memory:
        short = await memory.compress(LOG, 20, max_iterations=3)

    assert len(server.heard) == 3
    assert " ".join(words).startswith(short)
    assert 10 <= len(short) <= 20


@pytest.mark.parametrize(
    "answer",
    [said(text="We reached 99 % on every set."), said(other="form"), Said({}, 500), said(text=LOG)],
    ids=["invented", "form", "down", "no shorter"],
)
async def test_a_model_that_fails_leaves_the_beginning(
    tmp_path: Path, server: EmbeddingServer, answer: Said
) -> None:
    """It is an improvement, and nothing may depend on it."""
    server.behaves = lambda _: answer
    async with opened(tmp_path, server.url) as memory:
        short = await memory.compress(LOG, 46)

    assert short == "The baseline reaches 71.2 % on the small set."


async def test_instructions_of_the_caller_are_used(tmp_path: Path, server: EmbeddingServer) -> None:
    """The text stays data beside them, and no brace of theirs breaks anything."""
    template = "Keep {figures} of {text} ({context_hint}) in {max_chars} signs."
    async with opened(tmp_path, server.url) as memory:
        await memory.compress(LOG, 50, "a log", prompt_template=template)

    system, user = server.heard[0].body["messages"]
    assert system["content"].startswith('Keep {figures} of "text" ("about") in 50 signs.')
    assert LOG not in system["content"]
    assert LOG in user["content"]


async def test_no_secret_is_sent_or_cut_in_half(tmp_path: Path, server: EmbeddingServer) -> None:
    """Half a token is still half of it, and no rule knows it again."""
    text = f"The job ran with {TOKEN} all night. {LOG}"
    async with opened(tmp_path, server.url) as memory:
        short = await memory.compress(text, 60, f"log of {TOKEN}", f"Use {TOKEN}: {{text}}")
    async with opened(tmp_path) as memory:
        cut = await memory.compress(text, 40)

    assert server.heard
    for shown in (*(str(heard.body) for heard in server.heard), short, cut):
        assert "ghp_" not in shown


async def test_a_long_text_is_shortened_piece_by_piece(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    """A model reads only so much at once; what is at the end counts, too."""
    text = "\n\n".join(f"Run of node {number}. {'It went on and on ' * 60}" for number in range(60))
    async with opened(tmp_path, server.url) as memory:
        short = await memory.compress(text, 100)

    pieces = [given(heard)["text"] for heard in server.heard]
    assert len(pieces) == 3
    assert len(short.splitlines()) == 3
    assert all(line.startswith("Run of node ") for line in short.splitlines())
