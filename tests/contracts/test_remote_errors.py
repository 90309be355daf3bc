"""The contract of `ports.Remote`, for Supermemory over the fake cloud: whatever goes wrong.

What only a server of another kind can do is in `test_wire`.
"""

import asyncio
import logging
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from typing import get_args

import pytest
from cloud import Cloud
from cloud_faults import CARRIED_OUT, Kind
from remotes import CALLS, KEY, SPACE, Call, answer, document, fresh_id, remote_of, saying

from memory_mcp.errors import (
    RemoteBlockedError,
    RemoteError,
    RemoteRejectedError,
    RemoteUnavailableError,
    StoreUnavailableError,
)
from memory_mcp.storage.supermemory import http
from memory_mcp.storage.supermemory.client import Supermemory
from memory_mcp.storage.supermemory.http import HttpClient

pytestmark = pytest.mark.anyio

BLOCKING: dict[Kind, type[RemoteError]] = dict.fromkeys(("401", "402", "403"), RemoteBlockedError)
AT_ONCE = sorted(set(get_args(Kind)) - {"hang", "lost-hang"})
CALL = pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", AT_ONCE)
async def test_every_fault_of_every_call_is_one_of_our_errors(
    cloud: Cloud, remote: Supermemory, kind: Kind
) -> None:
    """Callers know three classes: wait, ask a person, give up. Nothing else may come out."""
    for name, call in CALLS.items():
        cloud.faults.always(kind)
        with pytest.raises(RemoteError) as caught:
            await call(remote)

        assert caught.type is BLOCKING.get(kind, RemoteUnavailableError), name
        if isinstance(caught.value, RemoteUnavailableError):
            asked_to_wait = kind == "429"
            assert caught.value.refused is asked_to_wait
            assert caught.value.retry_after == (1.0 if asked_to_wait else None)
        cloud.faults.heal()
        await call(remote)


@pytest.mark.parametrize("kind", sorted(CARRIED_OUT - {"lost-hang"}))
async def test_what_may_have_been_carried_out_is_not_called_refused(
    cloud: Cloud, remote: Supermemory, kind: Kind
) -> None:
    """The outbox would take it for never sent, and a deletion would leave it there."""
    cloud.faults.next(kind)
    sent = document()
    with pytest.raises(RemoteUnavailableError) as caught:
        await remote.deliver(SPACE, [sent])

    assert not caught.value.refused
    assert await remote.get(SPACE, sent.id) is not None


async def test_a_pause_is_as_long_as_was_asked(cloud: Cloud, remote: Supermemory) -> None:
    """The body tells it more exactly than the header."""
    cloud.faults.retry_after_seconds = 2.5
    cloud.faults.next("429")
    with pytest.raises(RemoteUnavailableError) as caught:
        await remote.probe()

    assert (caught.value.retry_after, caught.value.refused) == (2.5, True)


@pytest.mark.parametrize("name", ["search", "profile"])
async def test_what_hangs_is_given_up_in_time(cloud: Cloud, name: str) -> None:
    """A session waits for the cloud as long as it was told to, and then goes on without."""
    remote = remote_of(cloud.url, search_seconds=0.2)
    cloud.faults.always("hang")
    with pytest.raises(RemoteUnavailableError, match=r"within 0\.2 s"):
        await CALLS[name](remote)
    cloud.faults.heal()

    await remote.probe()
    await remote.aclose()


@pytest.mark.sampled(3)
@CALL
async def test_closing_ends_what_hangs(cloud: Cloud, call: Call) -> None:
    """A session that leaves does not wait for the cloud, and nothing strange comes of it."""
    remote = remote_of(cloud.url)
    cloud.faults.always("hang")
    asking = asyncio.create_task(call(remote))
    while not cloud.requests:  # noqa: ASYNC110  # which grows in another thread
        await asyncio.sleep(0.01)
    await remote.aclose()

    with pytest.raises(RemoteUnavailableError):
        await asking


async def test_nobody_there_is_an_outage(unused_tcp_port: int) -> None:
    """No network, or a server that is not running."""
    remote = remote_of(f"http://127.0.0.1:{unused_tcp_port}")
    for call in CALLS.values():
        with pytest.raises(RemoteUnavailableError, match=r"127\.0\.0\.1"):
            await call(remote)
    await remote.aclose()


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


async def test_a_wrong_request_is_rejected_with_the_services_words(
    cloud: Cloud, remote: Supermemory
) -> None:
    """Repeating it would never help; what it says is for whoever mends it."""
    with pytest.raises(RemoteRejectedError, match=r"127\.0\.0\.1 answered 400: .*limit"):
        await remote.search(SPACE, "orders", (), 0)
    cloud.violations.clear()  # asked on purpose


async def test_a_key_that_the_service_does_not_know_blocks(
    cloud: Cloud, remote: Supermemory
) -> None:
    """Until a person has acted; then the same client works again."""
    for call in CALLS.values():
        cloud.keys.clear()
        with pytest.raises(RemoteBlockedError, match="401"):
            await call(remote)
        cloud.keys.add(KEY)
        await call(remote)


async def test_without_a_key_none_is_sent(cloud: Cloud) -> None:
    """A server on this machine may need none; an empty one would be a broken header."""
    remote = remote_of(cloud.url, lambda: "")
    with pytest.raises(RemoteBlockedError):
        await remote.probe()
    await remote.aclose()


async def test_the_key_is_asked_for_once_and_not_before_it_is_needed(cloud: Cloud) -> None:
    """It may take somebody to unlock the keyring; many requests at once ask once."""
    asked: list[int] = []

    def key() -> str:
        asked.append(1)
        return KEY

    remote = remote_of(cloud.url, key)
    await remote.aclose()
    assert await remote.deliver(SPACE, []) == {}
    assert await remote.get(SPACE, fresh_id().upper()) is None  # pyright: ignore[reportArgumentType]  # no id
    assert asked == []
    await asyncio.gather(*(remote.probe() for _ in range(5)))
    assert asked == [1]
    await remote.aclose()


async def test_a_keyring_that_stays_locked_blocks_and_is_asked_again(cloud: Cloud) -> None:
    """Nothing works until a person acts; its own message says how."""
    locked = [True, True, False]

    def key() -> str:
        if locked.pop(0):
            raise StoreUnavailableError("The keyring is locked. Unlock it, or set a variable.")
        return KEY

    remote = remote_of(cloud.url, key)
    for _ in range(2):
        with pytest.raises(RemoteBlockedError, match=r"^The keyring is locked\. Unlock it"):
            await remote.probe()
    await remote.probe()
    assert len(cloud.requests) == 1
    await remote.aclose()


def test_httpx_is_not_imported_before_the_first_request() -> None:
    """Importing it takes longer than storing a memory; most sessions never need it."""
    code = (
        "import sys\n"
        "import memory_mcp.build\n"
        "from memory_mcp.storage.supermemory.client import Supermemory\n"
        "Supermemory('https://cloud.invalid', lambda: 1 / 0, search_seconds=1)\n"
        "sys.exit('httpx' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_the_key_is_told_to_nobody_but_the_service(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in a text, a repr, a chain of causes or a log, whatever goes wrong and however loud."""
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "memory_mcp", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    secret = "sm_Uv3-ry_s3cret"  # noqa: S105  # it opens nothing
    cloud.keys.add(secret)
    remote = remote_of(cloud.url, lambda: secret)
    told = [repr(remote), str(vars(remote))]
    for call in CALLS.values():
        await call(remote)
    for kind in AT_ONCE:
        for call in CALLS.values():
            cloud.faults.next(kind)
            with pytest.raises(RemoteError) as caught:
                await call(remote)
            told += [repr(caught.value), *traceback.format_exception(caught.value)]
    cloud.keys.clear()
    with pytest.raises(RemoteBlockedError) as caught:
        await remote.probe()
    told += [str(caught.value), repr(remote), str(vars(remote)), repr(vars(remote)["_http"])]
    await remote.aclose()

    told += [f"{record.name} {record.getMessage()} {record.args}" for record in caplog.records]
    assert {record.name.split(".")[0] for record in caplog.records} >= {"httpx", "httpcore"}
    assert [line for line in told if secret in line] == []


async def test_ids_and_status_codes_are_logged_and_no_text(
    cloud: Cloud, remote: Supermemory, caplog: pytest.LogCaptureFixture
) -> None:
    """A log may be shown to others; a memory is not meant for them."""
    for name in ("httpx", "httpcore", "memory_mcp"):
        caplog.set_level(logging.DEBUG, logger=name)
    sent = document("the very private text", tags=["privately"])
    await remote.deliver(SPACE, [sent])
    await remote.search(SPACE, "privately", (), 10)
    await remote.get(SPACE, sent.id)

    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "privat" in line] == []
    assert [line for line in lines if sent.id in line and "200" in line] != []
    assert cloud.violations == []


@pytest.mark.parametrize(
    "variables",
    [
        {"ALL_PROXY": "gopher://127.0.0.1:1"},
        {"HTTPS_PROXY": "://"},
        {"SSL_CERT_FILE": "{tmp}/nothing.pem"},
        {"SSL_CERT_FILE": "{tmp}/bad.pem"},
        {"ALL_PROXY": "socks5://127.0.0.1:1"},
    ],
    ids=["odd-proxy", "broken-proxy", "no-certificates", "bad-certificates", "socks-proxy"],
)  # fmt: skip
async def test_a_machine_that_cannot_speak_to_the_cloud_says_what_to_look_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str]
) -> None:
    """Settings of the machine are mended by a person; no session may break over them."""
    (tmp_path / "bad.pem").write_text("no certificate")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    remote = remote_of("https://cloud.invalid")
    expected = RemoteError if "socks" in str(variables) else RemoteBlockedError
    with pytest.raises(expected) as caught:  # a machine may have what SOCKS takes
        await remote.probe()
    await remote.aclose()

    assert "cloud.invalid" in str(caught.value)
    if caught.type is RemoteBlockedError:
        assert "SSL_CERT_FILE" in str(caught.value)


async def test_a_proxy_is_not_asked_for_this_machine(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no way here."""
    async with saying(answer(200, {})) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        remote = remote_of(cloud.url)
        await remote.probe()
        await remote.aclose()
        assert proxy.heard == []

    assert len(cloud.requests) == 1


async def test_a_request_that_comes_as_the_client_opens_makes_no_second_one(
    remote: Supermemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is replaced is never closed, and its connection is left open."""
    made: list[HttpClient] = []

    class Counted(HttpClient):
        def __init__(self, base_url: str, key: str) -> None:
            super().__init__(base_url, key)
            made.append(self)

    monkeypatch.setattr(http, "HttpClient", Counted)
    first = asyncio.create_task(remote.probe())
    while not (opening := vars(remote)["_opening"]) or not opening.done():  # noqa: ASYNC110
        await asyncio.sleep(0)
    await asyncio.gather(first, remote.probe())

    assert len(made) == 1
