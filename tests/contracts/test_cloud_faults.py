"""What goes wrong with the fake cloud does so as its name says."""

from typing import get_args

import httpx
import pytest
from cloud import Cloud
from cloud_faults import CARRIED_OUT, Faults, Kind
from cloud_server import serving

KEY = {"Authorization": "Bearer sm_test"}
BODY = {"content": "Orders live in MySQL.", "id": "mem_1"}


def post(cloud: Cloud, timeout: float = 10) -> httpx.Response:
    """One add, on a connection of its own."""
    url = f"{cloud.url}/ns/shop/document"
    return httpx.post(url, json=BODY, headers=KEY, timeout=timeout)


def test_a_hanging_request_is_carried_out_only_if_the_caller_waits(cloud: Cloud) -> None:
    """Whoever gives up early finds nothing done; whoever waits is served in the end."""
    cloud.faults.next("hang")
    with pytest.raises(httpx.ReadTimeout):
        post(cloud, timeout=0.1)
    assert cloud.documents("shop") == {}

    cloud.faults.hang_seconds = 0.05
    cloud.faults.next("hang")
    assert post(cloud).json() == {"id": "mem_1", "status": "queued"}
    assert cloud.faults.injected == {"hang": 2}


@pytest.mark.parametrize(
    ("kind", "error"), [("reset", httpx.ReadError), ("lost", httpx.RemoteProtocolError)]
)
def test_a_connection_is_cut_without_an_answer(
    cloud: Cloud, kind: Kind, error: type[httpx.TransportError]
) -> None:
    """The caller cannot tell the two apart; only one of them was carried out."""
    cloud.faults.next(kind)
    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)) as caught:
        post(cloud)

    assert caught.type is error
    assert cloud.requests[0].status is None
    assert cloud.requests[0].fault == kind
    assert cloud.posted["mem_1"] == (kind == "lost")
    assert post(cloud).json()["status"] == ("done" if kind == "lost" else "queued")


@pytest.mark.parametrize(
    ("kind", "status"),
    [(k, int(k)) for k in ("401", "402", "403", "500", "503")] + [("lost-500", 500)],
)  # fmt: skip
def test_an_error_is_answered_in_the_contracts_form(cloud: Cloud, kind: Kind, status: int) -> None:
    """Only `lost-500` lies: it says no and has done it."""
    cloud.faults.next(kind)
    answer = post(cloud)

    assert answer.status_code == status
    assert isinstance(answer.json()["error"], str)
    assert len(cloud.documents("shop")) == (kind in CARRIED_OUT)
    assert post(cloud).status_code == 200


def test_too_many_requests_say_when_to_come_back(cloud: Cloud) -> None:
    """Both in the header and in the body."""
    cloud.faults.retry_after_seconds = 2.5
    cloud.faults.next("429")
    answer = post(cloud)

    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "3"
    assert answer.json()["retryAfterSeconds"] == 2.5
    assert cloud.documents("shop") == {}


@pytest.mark.parametrize(
    ("kind", "content_type", "start"),
    [
        ("html", "text/html; charset=utf-8", "<!doctype html>"),
        ("html-lost", "text/html; charset=utf-8", "<!doctype html>"),
        ("empty", None, ""),
        ("other-json", "application/json", '{"ok":true'),
    ],
)
def test_a_bare_200_is_no_promise(
    cloud: Cloud, kind: Kind, content_type: str | None, start: str
) -> None:
    """Proxies and login pages answer 200 for a service that never heard of the request."""
    cloud.faults.next(kind)
    answer = post(cloud)

    assert answer.status_code == 200
    assert answer.headers.get("content-type") == content_type
    assert answer.text.startswith(start)
    assert bool(answer.text) is bool(start)
    assert len(cloud.documents("shop")) == (kind in CARRIED_OUT)


def test_faults_come_in_the_order_told_and_hit_only_what_was_meant(cloud: Cloud) -> None:
    """A script of what goes wrong must go as written, whatever else is asked meanwhile."""

    def writes(method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/document")

    cloud.faults.next("503", "429", where=writes)
    cloud.faults.always("500", where=writes)
    assert httpx.get(f"{cloud.url}/ns", headers=KEY).status_code == 200
    assert [post(cloud).status_code for _ in range(4)] == [503, 429, 500, 500]
    assert httpx.get(f"{cloud.url}/ns", headers=KEY).status_code == 200
    cloud.faults.heal()
    assert post(cloud).status_code == 200
    assert cloud.faults.injected == {"503": 1, "429": 1, "500": 2}


def test_chaos_is_the_same_for_the_same_seed() -> None:
    """What a seed has found can be looked at again."""

    def drawn(seed: int) -> list[Kind | None]:
        faults = Faults.chaos(seed, share=0.5)
        return [faults.draw("POST", "/ns/shop/document") for _ in range(200)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 50 < len([kind for kind in drawn(1) if kind]) < 150
    assert Faults.chaos(1, share=0).draw("GET", "/ns") is None


def test_no_fault_is_taken_for_a_breach_of_the_contract() -> None:
    """Else no test could have one."""
    cloud = Cloud()
    cloud.faults.hang_seconds = 0.01
    cloud.faults.next(*get_args(Kind))
    with serving(cloud):
        for _ in get_args(Kind):
            try:
                post(cloud)
            except httpx.TransportError:
                assert cloud.requests[-1].fault in ("reset", "lost")

    assert len(cloud.requests) == len(get_args(Kind))
    assert cloud.violations == []
