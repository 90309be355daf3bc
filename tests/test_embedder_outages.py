"""An embedder's server that is down, slow, busy or strict: a sentence, in time, without the key."""

import socket
from collections.abc import Generator

import pytest
from embedding_server import EmbeddingServer, Said, embedding_server, well
from endpoints import KEY, Embedder, failure, made

from memory_mcp.domain.limits import EMBED_ANSWER_BYTES_MAX
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.embedders import OllamaEmbedder, OpenAiEmbedder

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Generator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture(params=[OpenAiEmbedder, OllamaEmbedder])
def make(request: pytest.FixtureRequest) -> type[Embedder]:
    return request.param


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
