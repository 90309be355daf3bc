"""Other people's tools judge the fake cloud.

Run them with `pip install '.[test,referees]' && pytest -m referees`; it takes some minutes.
Schemathesis asks whatever the contract allows, and whatever it forbids; Prism stands between the
vendor's client and the fake, and holds both to the contract. Neither knows our own checks.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import cloud_app
import httpx
import pytest
from cloud import Cloud
from cloud_contract import DOCUMENT
from cloud_server import serving
from cloud_tour import tour, vendor_client
from doors import add, agent, call, read, seal
from mirrors import eventually, kept, machine, synced
from supermemory.core.api_error import ApiError

pytestmark = pytest.mark.referees

PRISM: Final = "@stoplight/prism-cli@5.14.2"
NODE_OLDEST: Final = 18
EXAMPLES: Final = 40

# That an update must name something is said in the contract in words only. `use_after_free` takes
# any 200 to a DELETE for the end of every document, also if it names another id and lists an error.
SCHEMATHESIS: Final = """
[checks]
use_after_free.enabled = false

[[operations]]
include-operation-id = "updateDocument"

[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409"]
"""


with_schemathesis = pytest.mark.skipif(
    find_spec("schemathesis") is None, reason="pip install '.[referees]'"
)


def schemathesis(url: str, folder: Path, *more: str) -> tuple[int, str]:
    """Its verdict, and what it said."""
    settings = folder / "schemathesis.toml"
    settings.write_text(SCHEMATHESIS, "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings), "run",
         str(DOCUMENT), "--url", url, "--header", "Authorization: Bearer sm_test",
         "--max-examples", str(EXAMPLES), "--seed", "20261121", "--no-color",
         "--generation-database", "none", *more],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr


@with_schemathesis
@pytest.mark.parametrize("own_ids", [True, False], ids=["our ids", "vendor ids"])
def test_schemathesis_finds_no_fault(tmp_path: Path, own_ids: bool) -> None:  # noqa: FBT001  # parametrised
    """Thousands of requests, right and wrong: the right are served, the wrong refused."""
    cloud = Cloud(answers_own_ids=own_ids)
    with serving(cloud) as url:
        verdict, said = schemathesis(url, tmp_path)

    assert verdict == 0, said
    assert len(cloud.requests) > 1000
    assert {request.status for request in cloud.requests} >= {200, 400, 401, 404, 405}
    assert [violation for violation in cloud.violations if violation.of == "answer"] == []


@with_schemathesis
def test_schemathesis_would_find_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that passes everything would prove nothing."""

    def drifted(*_: Any) -> Any:
        return {"hits": []}

    monkeypatch.setitem(cloud_app.OPERATIONS, "search", drifted)
    with serving(Cloud()) as url:
        verdict, said = schemathesis(url, tmp_path, "--include-operation-id", "search")

    assert verdict == 1, said
    assert "Response violates schema" in said


def free_port() -> int:
    """A port that nobody had a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def node_is_there() -> bool:
    """Prism needs Node, which is not Python's to install."""
    node, npx = shutil.which("node"), shutil.which("npx")
    if os.name != "posix" or not node or not npx:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return int(told.stdout.lstrip("v").partition(".")[0]) >= NODE_OLDEST


@contextmanager
def prism(upstream: str, folder: Path) -> Generator[str]:
    """The contract, standing between a client and the service; yields its URL."""
    port = free_port()
    npx = shutil.which("npx")
    assert npx is not None
    proxy = subprocess.Popen(
        [npx, "--yes", PRISM, "proxy", "--errors", "-h", "127.0.0.1", "-p", str(port),
         str(DOCUMENT), upstream],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        cwd=folder, start_new_session=True,
    )  # fmt: skip
    with proxy:
        assert proxy.stdout is not None
        said: list[str] = []
        try:
            for line in proxy.stdout:
                said.append(line)
                if "Prism is listening" in line:
                    break
            else:
                raise AssertionError("".join(said))
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(proxy.pid, signal.SIGTERM)
            proxy.stdout.read()


@pytest.mark.skipif(not node_is_there(), reason=f"Prism needs Node {NODE_OLDEST}, with npx")
def test_prism_lets_the_vendors_client_through_and_nothing_wrong(tmp_path: Path) -> None:
    """The contract between the two is silent on the whole tour, and on nothing that is wrong."""
    cloud = Cloud()
    with serving(cloud) as url, prism(url, tmp_path) as proxy:
        with vendor_client(proxy) as sdk:
            tour(sdk)
            asked = len(cloud.requests)
            assert asked > 15
            with pytest.raises(ApiError) as refused:
                sdk.search("shop", query="orders", limit=101)
        assert refused.value.status_code == 422
        assert len(cloud.requests) == asked

        cloud.faults.next("other-json")
        body = {"content": "Orders live in MySQL.", "id": "mem_1"}
        headers = {"Authorization": "Bearer sm_test"}
        answer = httpx.post(f"{proxy}/ns/shop/document", json=body, headers=headers)
    assert answer.status_code == 500
    assert "stoplight.io/prism" in answer.json()["type"]
    assert cloud.violations == []


@pytest.mark.anyio
@pytest.mark.skipif(not node_is_there(), reason=f"Prism needs Node {NODE_OLDEST}, with npx")
@pytest.mark.parametrize("own_ids", [True, False], ids=["our ids", "vendor ids"])
async def test_prism_lets_our_own_client_through(tmp_path: Path, own_ids: bool) -> None:  # noqa: FBT001  # parametrised
    """Every request that we make is one of the contract, and we need no more than it promises."""
    cloud = Cloud(answers_own_ids=own_ids)
    with serving(cloud) as url, prism(url, tmp_path) as proxy:
        cloud.url = proxy
        desk = machine(tmp_path / "desk", cloud, extraction=True, remote_timeout=20.0)
        laptop = machine(tmp_path / "laptop", cloud, remote_timeout=20.0)
        async with agent(desk, "auto") as client:
            ids = [await add(client, f"Rule {number} of the house.") for number in range(25)]
            await seal(client, "One", phase=1)
            await call(client, "forget_memory", memory_id=ids[0])
            await add(client, "Sessions live in Redis.", metadata={"tags": ["db"]})
            await call(client, "backtrack", to=1, mode="forget")
            await synced(desk)
            await eventually(lambda: ids[1] in kept(cloud))
            assert "Rule" in (await read(client, "memory_context")).split("What the cloud")[1]
        async with agent(laptop, "auto") as client:
            found = await call(
                client, "search_memories", query="rule house", category="", kind="fact", limit=10
            )
        await synced(laptop, push_all=True)

    assert found["mode"] == "lexical+supermemory"
    assert len(found["results"]) == 10
    assert ids[0] not in kept(cloud)
    assert {request.status for request in cloud.requests} <= {200, 404}
    assert cloud.violations == []
    assert cloud.appended == []
