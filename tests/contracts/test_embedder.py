"""The contract of `ports.Embedder`, held by each of its adapters."""

import asyncio
import math
import struct
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from embedding_server import embedding_server
from tiny_model import opened, tiny_minilm

from memory_mcp.domain.limits import CONTENT_CHARS_MAX
from memory_mcp.domain.search import Chunk, QueryVectors
from memory_mcp.models.embedders import OllamaEmbedder, OpenAiEmbedder
from memory_mcp.ports import Embedder

pytestmark = pytest.mark.anyio

TEA = "Ada prefers morning tea"
INVOICE = "The invoice number 4711 is due in March, by bank transfer."
LONG = " ".join(f"{word} {number}" for number, word in enumerate(TEA.split() * 200))
ODD = (
    "",
    " ",
    "\ud83d",
    "a\udcffb",
    "\x00",
    "🌊" * 40,
    "日本語のテキスト",
    "x" * 3_000,
    "##[MASK]",
)


@pytest.fixture(params=["tiny", "minilm", "openai", "ollama"])
async def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Embedder]:
    made: Embedder
    match request.param:
        case "tiny":
            made = tiny_minilm(tmp_path)
            yield made
        case "minilm":
            made = opened(request.getfixturevalue("minilm_folder"))
            yield made
        case kind:
            with embedding_server() as server:
                make = OpenAiEmbedder if kind == "openai" else OllamaEmbedder
                made = make(server.url, "letters")
                yield made
                await made.aclose()
            return
    await made.aclose()


def pooled(of: Chunk | QueryVectors) -> list[float]:
    """The vector of a stretch or a question, with a length of one."""
    if isinstance(of, QueryVectors):
        return list(struct.unpack(f"<{len(of.pooled) // 4}f", of.pooled))
    return [number / 127 for number in struct.unpack(f"{len(of.pooled)}b", of.pooled)]


def cosine(one: list[float], other: list[float]) -> float:
    """How alike two vectors are."""
    return (
        sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)
    )


async def test_each_text_gets_its_own_vectors_in_its_place(embedder: Embedder) -> None:
    """The index stores them by position; who shares a batch must make no difference."""
    together = await embedder.passages([TEA, LONG, INVOICE, TEA])

    alone = [(await embedder.passages([text]))[0] for text in (TEA, LONG, INVOICE)]
    assert together == [*alone, alone[0]]
    assert alone[0] != alone[2]
    assert await embedder.passages([]) == []


async def test_a_question_in_the_same_words_points_the_same_way(embedder: Embedder) -> None:
    """Questions and passages live in one space; lengths are one, give or take the rounding."""
    ((tea,), (invoice,)) = await embedder.passages([TEA, INVOICE])
    asked = await embedder.question(TEA)

    assert cosine(pooled(asked), pooled(tea)) > 0.99
    assert cosine(pooled(asked), pooled(tea)) > cosine(pooled(asked), pooled(invoice))
    assert math.hypot(*pooled(asked)) == pytest.approx(1, abs=1e-5)
    assert math.hypot(*pooled(tea)) == pytest.approx(1, abs=0.05)


async def test_tokens_have_the_dimensions_of_the_whole_and_say_where_they_are(
    embedder: Embedder,
) -> None:
    """Late interaction pairs them; an embedder that has none gives none at all."""
    ((chunk,),) = await embedder.passages([TEA])
    asked = await embedder.question(TEA)
    dimensions = len(chunk.pooled)

    assert len(asked.pooled) == 4 * dimensions
    assert len(asked.tokens) == 4 * dimensions * len(asked.spans)
    if not asked.spans:
        assert chunk.tokens == b""
        return
    assert len(chunk.tokens) == len(asked.spans) * dimensions // 8, "every word of it tells"
    assert "".join(TEA[start:end] for start, end in asked.spans) == TEA.replace(" ", "")
    numbers = struct.unpack(f"<{len(asked.tokens) // 4}f", asked.tokens)
    for at in range(0, len(numbers), dimensions):
        token = numbers[at : at + dimensions]
        assert math.hypot(*token) == pytest.approx(1, abs=1e-4)
        bits = chunk.tokens[at // 8 : (at + dimensions) // 8]
        signs = [bits[place // 8] >> (7 - place % 8) & 1 for place in range(dimensions)]
        assert signs == [int(number > 0) for number in token]


async def test_a_long_text_is_cut_into_chunks_that_overlap(embedder: Embedder) -> None:
    """What is said at the end of a memory is found too."""
    longest = LONG[:CONTENT_CHARS_MAX]
    ((*chunks,),) = await embedder.passages([longest])
    asked = await embedder.question(longest)

    assert 3 < len(chunks) < 60
    assert len({chunk.pooled for chunk in chunks}) > 1, "chunks of one text differ"
    assert cosine(pooled(asked), pooled(chunks[0])) > 0.99  # a question is its first chunk
    if asked.spans:
        token = len(chunks[0].pooled) // 8
        whole = len(asked.spans) * token
        assert 0 < len(chunks[0].tokens) <= whole
        assert sum(len(chunk.tokens) for chunk in chunks) > len(chunks[0].tokens)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", ODD, ids=ascii)
async def test_odd_texts_get_vectors_too(embedder: Embedder, text: str) -> None:
    """One strange memory must not keep a batch from being indexed."""
    (odd, plain) = await embedder.passages([text, TEA])
    asked = await embedder.question(text)

    assert len(odd) >= 1
    assert {len(chunk.pooled) for chunk in (*odd, *plain)} == {len(asked.pooled) // 4}
    assert all(0 <= start <= end <= len(text) for start, end in asked.spans)


async def test_the_identity_is_known_without_a_call_and_stays(embedder: Embedder) -> None:
    """Rows of vectors are kept under it."""
    before = embedder.identity
    await embedder.question(TEA)

    assert embedder.identity == before
    assert before.count("/") >= 2


async def test_several_calls_at_once_are_safe_and_the_loop_goes_on(embedder: Embedder) -> None:
    """A server answers others while it indexes."""
    calls: list[Callable[[], object]] = []
    expected = await embedder.passages([TEA, INVOICE])
    asked = await embedder.question(TEA)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while len(calls) < 8:
            turns += 1
            await asyncio.sleep(0)

    async def passages() -> None:
        assert await embedder.passages([TEA, INVOICE]) == expected
        calls.append(passages)

    async def question() -> None:
        assert await embedder.question(TEA) == asked
        calls.append(question)

    await asyncio.gather(count(), *(one() for one in (passages, question) * 4))
    assert turns > 2, "the calls kept the loop for themselves"


async def test_it_can_be_asked_again_after_it_was_let_go(embedder: Embedder) -> None:
    """A model is let go when idle, and a session may go on for days."""
    before = await embedder.passages([TEA])
    await embedder.aclose()

    assert await embedder.passages([TEA]) == before
