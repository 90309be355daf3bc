"""The fake of the cloud service where the vendor's client does not reach."""

import subprocess
import sys
import threading
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import cloud_server
import httpx
import pytest
from cloud import Cloud
from cloud_server import serving
from cloud_views import CHUNK_CHARS_MAX
from fakes import FakeClock

KEY = {"Authorization": "Bearer sm_test"}


@pytest.fixture
def client(cloud: Cloud) -> Generator[httpx.Client]:
    with httpx.Client(base_url=cloud.url, headers=KEY, timeout=60) as client:
        yield client


def add(client: httpx.Client, content: str, id: str, space: str = "shop", **more: Any) -> Any:  # noqa: A002  # the contract's name
    """The answer to an add that was accepted."""
    body = {"content": content, "id": id, "taskType": "superrag", **more}
    return client.post(f"/ns/{space}/document", json=body).raise_for_status().json()


def get(client: httpx.Client, id: str, space: str = "shop", **query: str) -> Any:  # noqa: A002  # the contract's name
    """The document, or None where there is none."""
    answer = client.get(f"/ns/{space}/document/{id}", params=query)
    return None if answer.status_code == 404 else answer.raise_for_status().json()


def search(client: httpx.Client, query: str, space: str = "shop", **more: Any) -> list[Any]:
    """The hits, best first."""
    answer = client.post(f"/ns/{space}/search", json={"query": query, **more})
    return answer.raise_for_status().json()["results"]


def listed(client: httpx.Client, kind: str, space: str = "shop", **query: Any) -> list[Any]:
    """One page of a list."""
    answer = client.post(f"/ns/{space}/list/{kind}", params=query)
    return answer.raise_for_status().json()[kind]


def test_a_second_post_appends_unless_it_says_the_same(cloud: Cloud, client: httpx.Client) -> None:
    """A mirror that posts twice under one id must be caught: the text would be double."""
    assert add(client, "Orders live in MySQL.", "mem_1")["status"] == "queued"
    assert add(client, "Orders live in MySQL.", "mem_1")["status"] == "done"
    assert cloud.documents("shop")["mem_1"].content == "Orders live in MySQL."
    assert cloud.appended == []

    assert add(client, "They moved.", "mem_1")["status"] == "queued"
    assert get(client, "mem_1")["content"] == "Orders live in MySQL.\nThey moved."
    assert cloud.appended == ["mem_1"]
    assert cloud.posted == {"mem_1": 3}


def test_content_is_kept_as_sent_and_a_bare_address_is_not(
    cloud: Cloud, client: httpx.Client
) -> None:
    """The service fetches what is nothing but a URL, and stores the page instead."""
    text = "  two\r\n\tlines, é and \x00 and https://example.com \n"
    add(client, text, "mem_1")
    add(client, " https://example.com/a ", "mem_2")

    assert get(client, "mem_1")["content"] == text
    assert get(client, "mem_2")["content"] != " https://example.com/a "
    assert cloud.fetched == [" https://example.com/a "]


def test_a_batch_tells_the_accepted_first(cloud: Cloud, client: httpx.Client) -> None:
    """Whoever matches results by their position takes a refusal for a success."""
    cloud.refused_in_batch = {"mem_1"}
    documents = [{"id": f"mem_{n}", "content": f"Fact {n}"} for n in (1, 2, 3)]
    answer = client.post("/ns/shop/document/batch", json={"documents": documents}).json()

    assert [(r["id"], r["status"]) for r in answer["results"]] == [
        ("mem_2", "queued"),
        ("mem_3", "queued"),
        ("mem_1", "error"),
    ]
    assert (answer["count"], answer["failed"]) == (2, 1)
    assert cloud.documents("shop").keys() == {"mem_2", "mem_3"}
    assert cloud.posted == {"mem_2": 1, "mem_3": 1}


def test_nothing_is_found_or_changed_before_it_is_done(cloud: Cloud, client: httpx.Client) -> None:
    """A memory just mirrored is in no answer of the cloud yet."""
    clock = FakeClock()
    cloud.now, cloud.processing_seconds = clock.now, 5
    add(client, "Orders live in MySQL.", "mem_1")
    clock.advance(timedelta(seconds=4))
    assert get(client, "mem_1")["system"]["status"] == "queued"
    assert search(client, "orders", threshold=0) == listed(client, "chunks") == []
    assert client.patch("/ns/shop/document/mem_1", json={"content": "x"}).status_code == 409
    assert add(client, "Orders live in MySQL.", "mem_1")["status"] == "queued"

    clock.advance(timedelta(seconds=1))
    assert get(client, "mem_1")["system"]["status"] == "done"
    assert len(search(client, "orders")) == 1


def test_what_fails_in_processing_is_told_and_then_gone(cloud: Cloud, client: httpx.Client) -> None:
    """Accepted is not stored: the service deletes what it could not process."""
    clock = FakeClock()
    cloud.now, cloud.processing_seconds, cloud.fails_processing = clock.now, 5, {"mem_1"}
    add(client, "Orders live in MySQL.", "mem_1")
    clock.advance(timedelta(seconds=5))
    assert get(client, "mem_1")["system"]["status"] == "failed"
    assert search(client, "orders") == []
    clock.advance(timedelta(seconds=120))
    assert get(client, "mem_1") is None

    cloud.fails_processing.clear()
    assert add(client, "Orders live in MySQL.", "mem_1")["status"] == "queued"
    clock.advance(timedelta(seconds=5))
    assert len(search(client, "orders")) == 1
    assert cloud.appended == []


def test_namespaces_know_nothing_of_each_other(cloud: Cloud, client: httpx.Client) -> None:
    """What keeps two users apart is the namespace alone."""
    add(client, "Orders live in MySQL.", "mem_1", "ada")
    add(client, "Orders live in Redis.", "mem_1", "bob")
    add(client, "Only here.", "mem_2", "ada")

    assert get(client, "mem_1", "bob")["content"] == "Orders live in Redis."
    assert get(client, "mem_2", "bob") is None
    assert [hit["chunk"] for hit in search(client, "orders", "bob")] == ["Orders live in Redis."]
    gone = client.request("DELETE", "/ns/bob/document", json={"ids": ["mem_1", "mem_2"]}).json()
    assert gone == {"count": 1, "errors": [{"id": "mem_2", "error": "Document not found"}]}
    assert cloud.documents("ada").keys() == {"mem_1", "mem_2"}

    assert client.delete("/ns/bob").json()["deletedDocumentsCount"] == 0
    assert cloud.namespaces() == ["ada"]
    assert client.delete("/ns/ada", params={"moveTo": "eve"}).status_code == 202
    assert cloud.documents("eve").keys() == {"mem_1", "mem_2"}


def test_a_service_may_answer_with_ids_of_its_own(cloud: Cloud, client: httpx.Client) -> None:
    """Nobody knows yet which it does, so a client has to live with both."""
    cloud.answers_own_ids = False
    theirs = add(client, "Orders live in MySQL.", "mem_1")["id"]
    assert theirs.startswith("doc_")
    batch = {"documents": [{"id": "mem_2", "content": "Two"}]}
    results = client.post("/ns/shop/document/batch", json=batch).json()["results"]
    assert results[0]["id"].startswith("doc_")
    hit, *_ = search(client, "orders", include={"documents": True})
    assert get(client, "mem_1")["id"] == get(client, theirs)["id"] == theirs
    assert hit["included"]["document"]["id"] == theirs
    assert {row["id"] for row in listed(client, "documents")} == {theirs, results[0]["id"]}
    assert {row["documentId"] for row in listed(client, "chunks")} >= {theirs}
    assert cloud.documents("shop").keys() == {"mem_1", "mem_2"}

    body = {"ids": [theirs, "mem_2"]}
    assert client.request("DELETE", "/ns/shop/document", json=body).json()["count"] == 2


def test_a_long_text_is_found_by_each_of_its_chunks(cloud: Cloud, client: httpx.Client) -> None:
    """One document is several hits, and none of them has the document's id."""
    words = " ".join(f"orders{n}" for n in range(120)) + " " + "x" * 1200
    cloud.add_document("shop", words, id="mem_1", metadata={"memory_id": "mem_1"})
    hits = search(client, "orders0 orders119", searchMode="chunks", threshold=0, limit=100)
    rows = listed(client, "chunks", sort="position", order="asc", limit=100)

    assert len(hits) == len(rows) > 3
    assert [row["position"] for row in rows] == list(range(len(rows)))
    assert max(len(row["content"]) for row in rows) <= CHUNK_CHARS_MAX
    assert "".join("".join(row["content"] for row in rows).split()) == words.replace(" ", "")
    assert [hit["similarity"] for hit in hits[:3]] == [0.5, 0.5, 0]
    assert {hit["metadata"]["memory_id"] for hit in hits} == {"mem_1"}
    assert {hit["id"] for hit in hits} == {row["id"] for row in rows}
    assert get(client, hits[0]["id"]) is None


def test_modes_and_forgetting(cloud: Cloud, client: httpx.Client) -> None:
    """Facts are learned from `memory` documents alone, and forgetting one keeps the document."""
    cloud.add_document("shop", "Ada likes tea", id="mem_1", task_type="memory")
    cloud.add_document("shop", "Bob likes tea", id="mem_2", metadata={"who": "bob"})

    def found(mode: str) -> list[tuple[bool, bool]]:
        hits = search(client, "likes tea", searchMode=mode)
        return sorted(("memory" in hit, "chunk" in hit) for hit in hits)

    assert found("chunks") == [(False, True), (False, True)]
    assert found("memories") == [(True, False)]
    assert found("hybrid") == [(False, True), (False, True), (True, False)]

    body = {"ids": ["mem_1"]}
    assert client.request("DELETE", "/ns/shop/memories", json=body).json()["count"] == 0
    body = {"ids": [get(client, "mem_1", include="memories")["memories"][0]["id"]]}
    assert client.request("DELETE", "/ns/shop/memories", json=body).json()["count"] == 1
    assert found("memories") == []
    assert client.post("/ns/shop/profile").json()["profile"]["dynamic"] == []
    assert get(client, "mem_1")["content"] == "Ada likes tea"


def test_without_a_known_key_nothing_is_done(cloud: Cloud) -> None:
    """As with the real service, the key comes before everything."""
    for headers in ({}, {"Authorization": "Bearer sm_wrong"}, {"Authorization": "sm_test"}):
        answer = httpx.get(f"{cloud.url}/ns", headers=headers)
        assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})


def test_the_end_of_a_service_frees_whoever_still_waits() -> None:
    """A test that leaves a request hanging must not leave a thread behind."""
    cloud, told = Cloud(), list[str]()
    cloud.faults.always("hang")

    def wait() -> None:
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{cloud.url}/ns", headers=KEY, timeout=60)
        told.append("free")

    with serving(cloud):
        waiting = threading.Thread(target=wait)
        waiting.start()
        while not cloud.requests:
            threading.Event().wait(0.01)
    waiting.join()
    assert told == ["free"]
    assert [thread.name for thread in threading.enumerate() if thread.name == "cloud"] == []
    assert cloud.requests[0].status is None


def test_it_can_be_a_process_of_its_own(tmp_path: Path) -> None:
    """For whatever cannot be done from within pytest."""
    command = [sys.executable, str(Path(cloud_server.__file__)), "--vendor-ids"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        assert running.stdout is not None
        url = running.stdout.readline().removeprefix("serving on ").strip()
        with httpx.Client(base_url=url, headers=KEY) as client:
            assert add(client, "Orders live in MySQL.", "mem_1")["id"].startswith("doc_")
        running.terminate()
    assert running.returncode == 0
