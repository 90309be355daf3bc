"""The contract of `ports.Remote`, against servers that are no Supermemory: portals, proxies, liars.

Every one of them is a real socket that says what the test wrote.
"""

import traceback
from typing import Any

import pytest
from cloud import Cloud
from remotes import CALLS, KEY, SPACE, Call, Parrot, answer, document, fresh_id, remote_of, saying

from memory_mcp.errors import (
    RemoteBlockedError,
    RemoteError,
    RemoteRejectedError,
    RemoteUnavailableError,
)

pytestmark = pytest.mark.anyio

SECRET = "sm_Uv3-ry_s3cret"  # noqa: S105  # it opens nothing
JSON = "Content-Type: application/json"
LISTING = '{"documents":[],"pagination":{"currentPage":1,"totalItems":1,"totalPages":1}}'


async def outcomes(*pieces: bytes) -> dict[str, RemoteError]:
    """The error that comes of an answer, of each of the calls."""
    found: dict[str, RemoteError] = {}
    async with saying(*pieces) as parrot:
        remote = remote_of(parrot.url)
        for name, call in CALLS.items():
            with pytest.raises(RemoteError) as caught:
                await call(remote)
            found[name] = caught.value
        await remote.aclose()
    return found


async def outcome(
    *pieces: bytes, call: Call = CALLS["probe"], seconds: float = 0.0, patience: float = 10.0
) -> RemoteError:
    """The error that comes of an answer, of which each piece takes some seconds."""
    async with saying(*pieces, seconds=seconds) as parrot:
        remote = remote_of(parrot.url, search_seconds=patience)
        with pytest.raises(RemoteError) as caught:
            await call(remote)
        await remote.aclose()
    return caught.value


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, RemoteRejectedError), (401, RemoteBlockedError), (402, RemoteBlockedError),
        (403, RemoteBlockedError), (404, RemoteRejectedError), (405, RemoteRejectedError),
        (408, RemoteUnavailableError), (409, RemoteUnavailableError), (413, RemoteRejectedError),
        (422, RemoteRejectedError), (425, RemoteUnavailableError), (429, RemoteUnavailableError),
        (500, RemoteUnavailableError), (502, RemoteUnavailableError), (504, RemoteUnavailableError),
    ],
)  # fmt: skip
async def test_a_status_code_says_who_has_to_act(status: int, expected: type[RemoteError]) -> None:
    """If the service says so itself, in its own form."""
    error = await outcome(answer(status, {"error": "so it is", "details": "really"}, JSON))

    assert type(error) is expected
    assert str(error).startswith(f"127.0.0.1 answered {status}: so it is, really")
    if isinstance(error, RemoteUnavailableError):
        assert error.refused is (status in (409, 429))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 407, 422, 429, 500, 503])
@pytest.mark.parametrize(
    "body",
    [b"<html>Not Found", b"", b"null", b"[]", b'{"type":"about:blank","title":"x"}', b"\xff{}"],
)
async def test_what_is_not_the_services_own_word_is_an_outage(status: int, body: bytes) -> None:
    """A portal's 404 must not pass for "it is not there", nor its 403 for a bad key."""
    for name, error in (await outcomes(answer(status, body, JSON))).items():
        assert type(error) is RemoteUnavailableError, name
        assert (error.refused, error.retry_after) == (False, None)


@pytest.mark.parametrize(
    "body",
    [
        b"{}", b"null", b"[]", b"3", b'"ok"', b"{", b"\xff\xfe", b'{"error": "x"}', b"[" * 100_000,
        b'{"id": 1, "results": {}, "documents": 7, "profile": [], "errors": "x", "namespaces": 0}',
        b'{"id": "", "status": ""}', b'{"id": null, "status": "done"}',
        b'{"results": [{"id": "x"}], "documents": [{}], "count": -1, "errors": [null]}',
    ],
)  # fmt: skip
async def test_a_success_of_another_shape_is_none(body: bytes) -> None:
    """Memories were lost once to a bare 200 of a proxy."""
    for name, error in (await outcomes(answer(200, body, JSON))).items():
        assert type(error) is RemoteUnavailableError, name


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", '"x"', "null", "[]"])
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("listing", LISTING.replace('"totalItems":1', '"totalItems":#')),
        ("listing", LISTING.replace('"totalPages":1', '"totalPages":#')),
        ("search", '{"searchTime":1,"results":[{"metadata":{},"similarity":#}]}'),
    ],
)  # fmt: skip
async def test_numbers_that_are_none_are_no_answer(name: str, body: str, number: str) -> None:
    """JSON of other languages knows infinity; nothing can be counted or compared with it."""
    said = answer(200, body.replace("#", number).encode(), JSON)
    assert type(await outcome(said, call=CALLS[name])) is RemoteUnavailableError


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"error": [{"message": "too short", "path": ["content", 0]}]}, "content.0: too short"),
        ({"error": [{"message": "too short"}]}, "too short"),
        ({"error": [{"message": "too short", "path": 5}]}, "too short"),
        ({"error": [{"message": "too short", "path": "content"}]}, "too short"),
        ({"error": [{"message": 7}]}, "message"),
        ({"error": []}, ""),
        ({"error": None}, ""),
        ({"error": {"deep": ["x"]}}, "deep"),
        ({"error": "x" * 9_000}, "x" * 199 + "…"),
    ],
)
async def test_the_services_words_are_repeated_in_any_form(said: object, expected: str) -> None:
    """They may say how to go on; a form that is not foreseen must not hide the error itself."""
    error = await outcome(answer(400, said, JSON))

    assert type(error) is RemoteRejectedError
    assert expected in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize("status", [400, 401, 429, 500])
@pytest.mark.parametrize("before", [0, 180])
async def test_a_service_that_repeats_the_key_is_not_repeated(status: int, before: int) -> None:
    """What an error says goes to the model, to the screen and to the outbox's file."""
    secret = SECRET
    body = {"error": "x" * before + f"No such key: {secret}", "details": secret}
    async with saying(answer(status, body, JSON)) as parrot:
        remote = remote_of(parrot.url, lambda: secret)
        with pytest.raises(RemoteError) as caught:
            await remote.probe()
        await remote.aclose()

    told = "".join(traceback.format_exception(caught.value))
    assert secret not in told
    assert secret[:5] not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("7", {}, 7.0), ("7", {"retryAfterSeconds": 2.5}, 2.5), ("0", {}, 0.0), ("-5", {}, 0.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", {}, None), ("soon", {"retryAfterSeconds": None}, None),
        ("7", {"retryAfterSeconds": "x"}, 7.0), ("nan", {}, None), ("inf", {}, None),
        ("7", {"retryAfterSeconds": float("inf")}, 7.0), ("", {}, None),
        ("7", {"retryAfterSeconds": True}, 7.0), ("1e999", {}, None),
    ],
)  # fmt: skip
async def test_a_pause_is_a_number_of_seconds_or_none(
    header: str, body: dict[str, Any], expected: float | None
) -> None:
    """A pause that never ends would be kept in a file and shared by all sessions."""
    said = answer(429, {"error": "too many", **body}, JSON, f"Retry-After: {header}")
    error = await outcome(said)

    assert isinstance(error, RemoteUnavailableError)
    assert error.refused
    assert error.retry_after == expected


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    """The key and the memories go to the address that was set, and to no other."""
    async with saying(answer(200, {}, JSON)) as elsewhere:
        location = f"Location: {elsewhere.url}/ns"
        found = await outcomes(answer(status, b"{}", JSON, location))
        assert elsewhere.heard == []

    assert {type(error) for error in found.values()} == {RemoteUnavailableError}


async def test_the_key_goes_to_the_service_as_a_bearer(cloud: Cloud) -> None:
    """In one header, of which the other end knows what to make."""
    async with saying(answer(200, {}, JSON)) as parrot:
        remote = remote_of(parrot.url)
        with pytest.raises(RemoteUnavailableError):
            await remote.probe()
        await remote.aclose()

    assert parrot.heard[0].count(KEY.encode()) == 1
    assert f"authorization: bearer {KEY}\r\n".encode() in parrot.heard[0].lower()
    assert cloud.requests == []


async def test_an_answer_that_drips_is_given_up_in_time() -> None:
    """Each byte comes in time, and the whole never does."""
    whole = answer(200, {"results": [], "searchTime": 1}, JSON)
    pieces = [whole[n : n + 1] for n in range(len(whole))]
    error = await outcome(*pieces, seconds=0.02, call=CALLS["search"], patience=0.3)

    assert "within 0.3 s" in str(error)


@pytest.mark.parametrize(
    "said",
    [
        b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["closed", "no-http", "cut", "no-gzip", "no-chunk"],
)  # fmt: skip
async def test_what_is_no_http_is_an_outage(said: bytes) -> None:
    """Whatever listens there."""
    found = await outcomes(said)
    assert {type(error) for error in found.values()} == {RemoteUnavailableError}


async def test_a_404_is_an_answer_to_get_alone(cloud: Cloud) -> None:
    """Everywhere else it means that this server does not speak our language."""
    said = answer(404, {"error": "Document not found"}, JSON)
    async with saying(said) as parrot:
        remote = remote_of(parrot.url)
        assert await remote.get(SPACE, fresh_id()) is None
        for name, call in CALLS.items():
            if name != "get":
                with pytest.raises(RemoteRejectedError):
                    await call(remote)
        with pytest.raises(RemoteRejectedError, match="SUPERMEMORY_BASE_URL"):
            await remote.probe()
        await remote.aclose()
    assert cloud.requests == []


async def asked(parrot: Parrot, call: Call) -> Any:
    remote = remote_of(parrot.url)
    try:
        return await call(remote)
    finally:
        await remote.aclose()


async def test_an_answer_about_others_says_nothing_of_ours() -> None:
    """Results are matched by id. What was not asked about is left out; unnamed failures are all."""
    sent = [document(), document()]
    results = [{"id": "x", "status": "queued"}, {"id": sent[0].id, "status": "failed"}]
    async with saying(answer(200, {"results": results, "count": 1, "failed": 1}, JSON)) as parrot:
        assert await asked(parrot, lambda r: r.deliver(SPACE, sent)) == {sent[0].id: "failed"}

    errors = [{"id": "theirs", "error": "busy"}]
    async with saying(answer(200, {"count": 1, "errors": errors}, JSON)) as parrot:
        failed = await asked(parrot, lambda r: r.erase(SPACE, [d.id for d in sent]))
    assert failed == {d.id: "busy" for d in sent}


async def test_similarity_is_within_its_bounds() -> None:
    """Scores of other scales must not outrank everything."""
    id_ = fresh_id()
    hits = [{"metadata": {"memory_id": id_}, "chunk": "x", "similarity": s} for s in (7, 0.5, -1)]
    async with saying(answer(200, {"results": hits, "searchTime": 1}, JSON)) as parrot:
        found = await asked(parrot, CALLS["search"])

    assert [hit.similarity for hit in found] == [1.0, 0.5, 0.0]
