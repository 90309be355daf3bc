"""Embedders behind an address, against real sockets that also misbehave."""

import math
import socket
from collections.abc import Generator
from typing import Any, cast

import pytest
from embedding_server import EmbeddingServer, Heard, Said, embedding_server, vector, well
from endpoints import KEY, Embedder, failure, made

from memory_mcp.domain.limits import EMBED_ANSWER_BYTES_MAX, EMBED_BATCH_MAX, EMBED_CHUNK_CHARS
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.embedders import OllamaEmbedder, OpenAiEmbedder

pytestmark = pytest.mark.anyio


LONG = "".join(chr(ord("a") + number % 26) for number in range(4_500))


@pytest.fixture
def server() -> Generator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture(params=[OpenAiEmbedder, OllamaEmbedder])
def make(request: pytest.FixtureRequest) -> type[Embedder]:
    return request.param


async def test_openai_is_asked_as_its_interface_says(server: EmbeddingServer) -> None:
    """The address may have a path of its own; the key goes in the header."""
    embedder = made(OpenAiEmbedder, f"{server.url}/v1")
    await embedder.passages(["tea", "milk"])
    await embedder.aclose()

    (heard,) = server.heard
    assert heard.path == "/v1/embeddings"
    assert heard.body == {"model": "letters", "input": ["tea", "milk"]}
    assert heard.headers["Authorization"] == f"Bearer {KEY}"
    assert embedder.identity == f"openai/{server.url.removeprefix('http://')}/letters"


async def test_ollama_is_asked_as_its_interface_says(server: EmbeddingServer) -> None:
    """Without a key there is no header."""
    embedder = OllamaEmbedder(server.url, "letters")
    await embedder.question("tea")
    await embedder.aclose()

    (heard,) = server.heard
    assert heard.path == "/api/embed"
    assert heard.body == {"model": "letters", "input": ["tea"]}
    assert "Authorization" not in heard.headers
    assert embedder.identity == f"ollama/{server.url.removeprefix('http://')}/letters"


async def test_long_texts_go_in_stretches_and_many_texts_in_batches(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """Servers cut or refuse what is too long, and every character must be in some stretch."""
    embedder = made(make, server.url)
    passages = await embedder.passages([LONG, *["tea"] * 2 * EMBED_BATCH_MAX, ""])
    await embedder.aclose()

    sent = [text for heard in server.heard for text in heard.body["input"]]
    assert [len(passage) for passage in passages] == [3, *[1] * 2 * EMBED_BATCH_MAX, 1]
    assert max(len(heard.body["input"]) for heard in server.heard) == EMBED_BATCH_MAX
    assert sent[0] == LONG[:EMBED_CHUNK_CHARS]
    assert sent[0][-200:] + sent[1][200:] in LONG
    assert sent[2] == LONG[3_600:]
    assert all(sent), "an empty text is refused by some servers"


@pytest.mark.parametrize("length", [1_999, 2_000, 2_001, 3_799, 3_800, 3_801, 8_000])
async def test_no_stretch_is_only_the_end_of_the_one_before(
    server: EmbeddingServer, length: int
) -> None:
    """It would cost a vector and say nothing new."""
    embedder = made(OllamaEmbedder, server.url)
    await embedder.passages([LONG[:length] * 2 if length > len(LONG) else LONG[:length]])
    await embedder.aclose()

    (heard,) = server.heard
    stretches: list[str] = heard.body["input"]
    assert all(len(stretch) > 200 for stretch in stretches)


async def test_the_answer_of_openai_may_come_in_any_order(server: EmbeddingServer) -> None:
    """`index` says which is which; a server that leaves it out means the order it gives."""
    embedder = made(OpenAiEmbedder, server.url)
    shuffled = await embedder.passages(["tea", "milk", "bread"])
    server.behaves = lambda heard: Said(
        {"data": [{"embedding": vector(text)} for text in heard.body["input"]]}
    )

    assert await embedder.passages(["tea", "milk", "bread"]) == shuffled
    await embedder.aclose()


def _but(change: object) -> list[object]:
    return [change, *vector("")[1:]]


NO_VECTORS: dict[str, Any] = {
    "none": [],
    "two": [vector("a"), vector("b")],
    "empty": [[]],
    "null": [None],
    "text": ["1.0"],
    "object": [{}],
    "too long": [vector("a") * 400],
    "nan": [_but(math.nan)],
    "inf": [_but(math.inf)],
    "null in it": [_but(None)],
    "text in it": [_but("1")],
    "true in it": [_but(change=True)],
    "list in it": [_but([1])],
    "no float": [_but(10**400)],
    "no length": [_but(1e308) * 9],
    "no direction": [[0.0] * 28],
    "prose": "abc",
    "number": 7,
    "nothing": None,
}


@pytest.mark.parametrize("vectors", NO_VECTORS.values(), ids=NO_VECTORS)
async def test_what_is_no_vector_for_each_text_is_no_answer(
    server: EmbeddingServer, make: type[Embedder], vectors: Any
) -> None:
    """One NaN in the index would spoil every comparison with it."""

    def nonsense(heard: Heard) -> Said:
        if heard.path.endswith("/api/embed"):
            return Said({"embeddings": vectors})
        if not isinstance(vectors, list):
            return Said({"data": vectors})
        rows = enumerate(cast("list[object]", vectors))
        return Said({"data": [{"index": place, "embedding": row} for place, row in rows]})

    server.behaves = nonsense
    said = await failure(made(make, server.url))

    assert "gave no usable vectors for the model 'letters'" in said
    assert said.endswith("Check MEMORY_EMBEDDER_URL and MEMORY_EMBEDDER_MODEL.")


@pytest.mark.parametrize("index", [1, -1, "0", None, 0.5, [0]], ids=repr)
async def test_an_index_that_fits_no_text_is_no_answer(
    server: EmbeddingServer, index: object
) -> None:
    """A vector of another text would be worse than none."""
    server.behaves = lambda _: Said({"data": [{"index": index, "embedding": vector("a")}]})

    assert "gave no usable vectors" in await failure(made(OpenAiEmbedder, server.url))


@pytest.mark.parametrize("body", [b"Welcome to the captive portal", b"", b"\xff", b"[" * 9_999])
async def test_prose_is_no_answer(
    server: EmbeddingServer, make: type[Embedder], body: bytes
) -> None:
    """Portals answer 200 to everything."""
    server.behaves = lambda _: Said(body)

    said = await failure(made(make, server.url))
    assert "something that is no JSON. Check MEMORY_EMBEDDER_URL." in said


@pytest.mark.parametrize("body", [b"null", b"[]", b"{}", b'"x"', b"7"])
async def test_json_of_another_kind_is_no_answer(
    server: EmbeddingServer, make: type[Embedder], body: bytes
) -> None:
    """Another service may be at that address."""
    server.behaves = lambda _: Said(body)

    assert "MEMORY_EMBEDDER_URL" in await failure(made(make, server.url))


async def test_vectors_of_another_length_are_refused(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """The server's model was exchanged while we ran: rows of one identity must stay alike."""
    embedder = made(make, server.url)
    await embedder.passages(["tea"])
    server.behaves = lambda heard: Said(
        {"embeddings": [[1.0, 2.0]]}
        if heard.path.endswith("/api/embed")
        else {"data": [{"embedding": [1.0, 2.0]}]}
    )

    assert "vectors of 28 and of 2 numbers" in await failure(embedder)


# An embedder's server that is down, slow, busy or strict: a sentence, in time, without the key.


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_server_in_trouble_is_asked_once_more(
    server: EmbeddingServer, make: type[Embedder], status: int
) -> None:
    """Models are loaded, limits pass; but whoever searches does not wait for long."""
    embedder = made(make, server.url)
    server.once(Said({"error": "busy"}, status))
    await embedder.question("tea")
    assert len(server.heard) == 2

    server.behaves = lambda _: Said({"error": {"message": f"busy, {KEY} or not"}}, status)
    said = await failure(embedder)
    assert said.endswith(f" answered {status}: busy, *** or not.")
    assert len(server.heard) == 2 + 4


async def test_a_server_that_does_not_answer_is_not_waited_for(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """A search goes on by words meanwhile."""
    server.behaves = lambda _: Said({}, late=True)
    embedder = made(make, server.url, seconds=0.2, question_seconds=0.2)

    assert (await failure(embedder)).endswith(" gave no vectors within 0.2 s.")


async def test_trying_again_does_not_prolong_the_wait(server: EmbeddingServer) -> None:
    """The time is that of the whole question."""
    server.behaves = lambda _: Said({}, 503)
    embedder = made(
        OllamaEmbedder, server.url, seconds=0.2, question_seconds=0.2, retry_seconds=60.0
    )

    assert (await failure(embedder)).endswith(" gave no vectors within 0.2 s.")


async def test_a_server_that_is_not_there_is_named(make: type[Embedder]) -> None:
    """Ollama was not started, most likely."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    said = await failure(made(make, f"http://127.0.0.1:{port}/v1"))
    assert said.startswith(f"127.0.0.1:{port} cannot be reached (ConnectError). Check MEMORY_EMB")


async def test_an_answer_that_breaks_off_is_none(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """Half a vector is no vector."""
    server.behaves = lambda _: Said(b'{"data": [', headers={"Content-Length": "9999"})

    assert "cannot be reached" in await failure(made(make, server.url))


async def test_a_proxy_that_cannot_be_used_is_said(
    monkeypatch: pytest.MonkeyPatch, make: type[Embedder]
) -> None:
    """The way to the server is this machine's setting, not the server's fault."""
    monkeypatch.setenv("ALL_PROXY", "nonsense://x")

    said = await failure(made(make, "https://embedder.invalid/v1"))
    assert "leave no way to embedder.invalid" in said
    assert "ALL_PROXY" in said


async def test_after_a_failure_the_next_call_is_a_new_one(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """A session goes on for days; its server comes back."""
    embedder = made(make, server.url)
    server.behaves = lambda _: Said(b"", 418)
    await failure(embedder)
    server.behaves = well

    await embedder.question("tea")
    await embedder.aclose()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error": {"message": f"bad key {KEY}."}},
         "401: bad key ***. Check MEMORY_EMBEDDER_API_KEY."),
        (403, b"<html>", "403. Check MEMORY_EMBEDDER_API_KEY."),
        (404, {"error": 'model "letters" not found'},
         '404: model "letters" not found. Check MEMORY_EMBEDDER_URL and MEMORY_EMBEDDER_MODEL.'),
        (400, {"error": "x" * 5_000}, f"400: {'x' * 200}."),
        (302, b"", "302."),
    ],
)  # fmt: skip
async def test_a_refusal_is_final_and_says_what_to_check(
    server: EmbeddingServer, make: type[Embedder], status: int, body: object, expected: str
) -> None:
    """Asking again would change nothing. A redirect is not followed: the key stays here."""
    headers = {"Location": f"{server.url}/elsewhere"}
    server.behaves = lambda _: Said(body, status, headers=headers)
    said = await failure(made(make, server.url))

    assert said == f"{server.url.removeprefix('http://')} answered {expected}"
    assert len(server.heard) == 2
    assert not any("elsewhere" in heard.path for heard in server.heard)


async def test_a_server_that_did_not_answer_is_left_alone(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """Else every search of an outage would wait out its time."""
    server.behaves = lambda _: Said({}, late=True)
    embedder = made(make, server.url, seconds=0.2, question_seconds=0.2)
    with pytest.raises(ModelUnavailableError, match=r"within 0\.2 s"):
        await embedder.question("tea")
    heard = len(server.heard)

    for _ in range(5):
        with pytest.raises(ModelUnavailableError, match="left alone for another"):
            await embedder.question("tea")
    await embedder.aclose()

    assert len(server.heard) == heard


async def test_an_answer_without_end_is_not_read_to_its_end(
    server: EmbeddingServer, make: type[Embedder]
) -> None:
    """It would fill the memory of the session that asked."""
    server.behaves = lambda _: Said(b" " * (EMBED_ANSWER_BYTES_MAX + 1_000_000))

    assert "answered with more than 16,000,000 bytes" in await failure(made(make, server.url))
