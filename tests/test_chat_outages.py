"""A chat model's server that is down, slow or strict: a sentence, in time, without the key."""

import socket
from collections.abc import Awaitable, Generator

import pytest
from chat_server import EmbeddingServer, Heard, Said, chat_server, said, saying, well
from chats import KEY, Later, failure, made, pause

from memory_mcp.domain.deduplication import Judgement
from memory_mcp.domain.limits import EMBED_PAUSE_SECONDS_MAX, LANGUAGE_ANSWER_BYTES_MAX
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.chat import ChatModel

pytestmark = pytest.mark.anyio

OLD = "Ada's daughter is 3 years old."
NEW = "Ada's daughter is 4 years old."


@pytest.fixture
def server() -> Generator[EmbeddingServer]:
    with chat_server() as server:
        yield server


def judging(model: ChatModel) -> Awaitable[Judgement]:
    """Any question."""
    return model.same_fact(OLD, NEW)


async def test_a_server_that_hangs_is_not_waited_for_and_then_left_alone(
    server: EmbeddingServer,
) -> None:
    """Else every write of an outage would wait out its time, once for each candidate."""
    server.behaves = lambda _: Said({}, late=True)
    model = made(server.url, seconds=1.5)  # the first question of a process loads httpx too
    with pytest.raises(ModelUnavailableError, match=r"gave no answer within 1\.5 s\.$"):
        await judging(model)
    for _ in range(5):
        with pytest.raises(ModelUnavailableError, match="is left alone for another 5 s"):
            await model.classify(NEW)
    await model.aclose()

    assert len(server.heard) == 1


async def test_all_tries_together_have_the_time_of_one_question(server: EmbeddingServer) -> None:
    """The second one, and the one without JSON mode, do not begin it anew."""
    server.behaves = lambda _: Said({}, 503)
    told = await failure(made(server.url, seconds=0.2, retry_seconds=60.0), judging)
    assert told.endswith(" gave no answer within 0.2 s.")

    def strict(heard: Heard) -> Said:
        if "response_format" in heard.body:
            return Said({"error": "no JSON mode"}, 400)
        return Said({}, late=True)

    server.behaves = strict
    assert "gave no answer within 0." in await failure(made(server.url, seconds=0.3), judging)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_server_in_trouble_is_asked_once_more_and_then_left_alone(
    server: EmbeddingServer, status: int
) -> None:
    """Models are loaded, limits pass."""
    model = made(server.url)
    server.once(Said({"error": "busy"}, status))
    assert await judging(model) == "contradicts"
    assert len(server.heard) == 2

    server.behaves = lambda _: Said({"error": {"message": f"busy, {KEY}\x1b[2J\n\ud83d"}}, status)
    assert (await failure(model, judging)).endswith(f" answered {status}: busy, *** [2J.")
    assert "is left alone" in await failure(model, judging)
    assert len(server.heard) == 4


async def test_a_busy_server_says_how_long(server: EmbeddingServer) -> None:
    """Asking before that would make it longer; if it is too long, nothing waits for it."""
    server.once(Said({}, 429, headers={"Retry-After": "1"}))
    model = made(server.url)
    assert await judging(model) == "contradicts"

    server.once(Said({}, 429, headers={"Retry-After": "120"}))
    with pytest.raises(ModelUnavailableError, match="answered 429"):
        await judging(model)
    assert await pause(model) in (119, 120)
    await model.aclose()

    assert len(server.heard) == 3


@pytest.mark.parametrize("asked", ["-1", "nan", "inf", "9" * 400, "tomorrow", "1e9", "²", ""])
async def test_a_pause_that_is_none_is_not_kept(server: EmbeddingServer, asked: str) -> None:
    """A server must not silence the judge for a year."""
    headers = {"Retry-After": asked.encode().decode("latin-1")}
    server.behaves = lambda _: Said({}, 503, headers=headers)
    model = made(server.url)
    with pytest.raises(ModelUnavailableError, match="answered 503"):
        await judging(model)

    assert await pause(model) <= EMBED_PAUSE_SECONDS_MAX
    await model.aclose()


async def test_the_pause_grows_until_an_answer_is_of_use(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that only talks costs as much as one that is down; one bad text is no outage."""
    later = Later(monkeypatch)
    model = made(server.url)

    async def pauses(times: int) -> list[int]:
        found: list[int] = []
        for _ in range(times):
            with pytest.raises(ModelUnavailableError):
                await judging(model)
            found.append(await pause(model))
            later.passes(found[-1])
        return found

    server.behaves = lambda _: saying("They are the same, I think.")
    assert await pauses(8) == [5, 10, 20, 40, 80, 160, 300, 300]
    server.behaves = well
    assert await judging(model) == "contradicts"
    server.behaves = lambda _: said(text="Ada has a son.")
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match="is not used"):
            await model.compose(OLD, NEW)
    server.behaves = lambda _: Said({}, 500)
    assert await pauses(2) == [5, 10]
    await model.aclose()


async def test_a_server_that_is_not_there_is_named() -> None:
    """Ollama was not started, most likely."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    told = await failure(made(f"http://127.0.0.1:{port}/v1"), judging)
    assert told == (
        f"127.0.0.1:{port} cannot be reached (ConnectError). Check MEMORY_LLM_BASE_URL, and that "
        "the server runs."
    )


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error": {"message": f"bad key {KEY}."}},
         "401: bad key ***. Check MEMORY_LLM_API_KEY."),
        (403, b"<html>", "403. Check MEMORY_LLM_API_KEY."),
        (404, {"error": "no such model"},
         "404: no such model. Check MEMORY_LLM_BASE_URL and MEMORY_LLM_MODEL."),
        (413, {"error": "x" * 5_000}, f"413: {'x' * 200}."),
    ],
)  # fmt: skip
async def test_a_refusal_is_final_and_says_what_to_check(
    server: EmbeddingServer, status: int, body: object, expected: str
) -> None:
    """Asking again would change nothing."""
    server.behaves = lambda _: Said(body, status)
    told = await failure(made(server.url), judging)

    assert told == f"{server.url.removeprefix('http://')} answered {expected}"
    assert len(server.heard) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(server: EmbeddingServer, status: int) -> None:
    """The key and the texts are for this server, not for another one that it names."""
    with chat_server() as other:
        headers = {"Location": f"{other.url}/v1/chat/completions"}
        server.behaves = lambda _: Said(b"", status, headers=headers)
        told = await failure(made(server.url), judging)

        assert told.endswith(f" answered {status}.")
        assert other.heard == []


@pytest.mark.parametrize("body", [b"Welcome to the captive portal", b"", b"\xff", b"[" * 9_999])
async def test_prose_is_no_answer(server: EmbeddingServer, body: bytes) -> None:
    """Portals answer 200 to everything."""
    server.behaves = lambda _: Said(body)

    told = await failure(made(server.url), judging)
    assert "something that is no JSON. Check MEMORY_LLM_BASE_URL." in told


async def test_an_answer_that_breaks_off_is_none(server: EmbeddingServer) -> None:
    """Half a verdict is no verdict."""
    server.behaves = lambda _: Said(b'{"choices": [', headers={"Content-Length": "9999"})

    assert "cannot be reached" in await failure(made(server.url), judging)


async def test_an_answer_without_end_is_not_read_to_its_end(server: EmbeddingServer) -> None:
    """It would fill the memory of the session that asked."""
    server.behaves = lambda _: Said(b" " * 20_000_000)

    told = await failure(made(server.url), judging)
    assert f"more than {LANGUAGE_ANSWER_BYTES_MAX:,} bytes. Check MEMORY_LLM_BASE_URL." in told


async def test_a_proxy_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way to the server is this machine's setting, not the server's fault."""
    monkeypatch.setenv("ALL_PROXY", "nonsense://x")

    assert "leave no way to llm.invalid" in await failure(made("https://llm.invalid/v1"), judging)
