"""The vendor's own client drives our fake of the service, and the contract judges both."""

from collections.abc import Generator
from typing import Any

import cloud_app
import httpx
import pytest
from cloud import Cloud
from cloud_contract import Violation
from cloud_server import serving
from cloud_tour import tour, vendor_client
from supermemory.errors import NotFoundError, UnauthorizedError


@pytest.fixture
def judged() -> Generator[Cloud]:
    """A service whose contract may be broken."""
    cloud = Cloud()
    with serving(cloud):
        yield cloud


def plain(cloud: Cloud) -> httpx.Client:
    """A client that sends whatever it is told to."""
    return httpx.Client(base_url=cloud.url, headers={"Authorization": "Bearer sm_test"})


def test_the_vendors_client_can_do_everything_with_the_fake(cloud: Cloud) -> None:
    """Two readings of the service, theirs and ours, that must agree; else ours is wrong."""
    with vendor_client(cloud.url) as sdk:
        tour(sdk)

    assert cloud.posted == {"mem_1": 2, "mem_2": 1, "mem_3": 1}
    assert cloud.appended == []
    assert {request.status for request in cloud.requests} == {200}


def test_errors_are_those_that_the_vendors_client_knows(cloud: Cloud) -> None:
    """An error body of another shape would be read by nobody."""
    with vendor_client(cloud.url) as sdk, pytest.raises(NotFoundError):
        sdk.documents.get("shop", "mem_gone")
    with vendor_client(cloud.url, "sm_wrong") as sdk, pytest.raises(UnauthorizedError):
        sdk.documents.get("shop", "mem_gone")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("method", "path", "body", "what"),
    [
        ("POST", "/ns/shop/document", {"id": "mem_1"}, "content"),
        ("POST", "/ns/shop/document", {"content": "x", "customId": "mem_1"}, "customId"),
        (
            "POST",
            "/ns/shop/document",
            {"content": "x", "metadata": {"a": {"b": 1}}},
            "$.metadata.a",
        ),
        ("POST", "/ns/shop/search", {"query": "x", "limit": 101}, "$.limit"),
        ("POST", "/ns/shop/search", {"query": "x", "filter": {"AND": []}}, "$.filter"),
        ("POST", "/ns/shop/list/documents?limit=many", {}, "limit"),
        ("POST", "/ns/shop/list/documents?containerTag=x", {}, "containerTag"),
        ("DELETE", "/ns/shop/document", {"ids": []}, "$.ids"),
        ("DELETE", "/ns/shop/document", {"ids": [str(i) for i in range(101)]}, "$.ids"),
        ("GET", "/ns/sh.op/document/mem_1", None, "namespace"),
        ("GET", "/ns/shop/document/mem_1?include=chunks&include=memories", None, "include"),
        ("PATCH", "/ns/shop/document/mem_1", None, "body"),
    ],
)
def test_a_request_that_breaks_the_contract_is_refused_and_noted(
    judged: Cloud, method: str, path: str, body: Any, what: str
) -> None:
    """The real service refuses it too; the test that sent it must not pass."""
    with plain(judged) as client:
        answer = client.request(method, path, json=body)

    assert answer.status_code == 400
    assert answer.json()["success"] is False
    (noted, *_) = judged.violations
    assert (noted.of, noted.method) == ("request", method)
    assert what in noted.what
    assert what in answer.json()["error"][0]["message"]
    assert judged.documents("shop") == {}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v3/documents", 404),
        ("GET", "/ns/shop/document/mem_1/chunks", 404),
        ("PUT", "/ns/shop/document", 405),
        ("GET", "/ns/shop/search", 405),
    ],
)
def test_a_path_that_the_contract_does_not_have_is_noted(
    judged: Cloud, method: str, path: str, status: int
) -> None:
    """A route of an older version answers 404 in the real service as well."""
    with plain(judged) as client:
        assert client.request(method, path).status_code == status

    assert [(noted.of, noted.path) for noted in judged.violations] == [("request", path)]


@pytest.mark.parametrize(
    ("answered", "what"),
    [
        ({"hits": []}, "'results' is a required property"),
        ({"results": [{"id": "chk_1", "chunk": "no score"}], "searchTime": 1}, "$.results[0]"),
        ((201, {"searchTime": 1}), "declares no answer 201"),
    ],
)
def test_a_wrong_answer_of_the_fake_is_noted(
    judged: Cloud, monkeypatch: pytest.MonkeyPatch, answered: Any, what: str
) -> None:
    """A fake that drifts from the contract would make the tests of its client worthless."""

    def drifted(*_: Any) -> Any:
        return answered

    monkeypatch.setitem(cloud_app.OPERATIONS, "search", drifted)
    with plain(judged) as client:
        client.post("/ns/shop/search", json={"query": "x"})

    (noted,) = judged.violations
    assert (noted.of, noted.path) == ("answer", "/ns/shop/search")
    assert what in noted.what


def test_a_bug_of_the_fake_does_not_pass_as_an_outage(
    judged: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 500 is declared, so the contract alone would accept it."""

    def broken(*_: Any) -> Any:
        raise KeyError("oops")

    monkeypatch.setitem(cloud_app.OPERATIONS, "search", broken)
    with plain(judged) as client:
        assert client.post("/ns/shop/search", json={"query": "x"}).status_code == 500

    said = '{"error": "The fake crashed: KeyError(\'oops\')"}'
    assert judged.violations == [Violation("answer", "POST", "/ns/shop/search", said)]
