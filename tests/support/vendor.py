"""The cloud service that a test asks: a fake of it, or the real one.

The real one is asked in namespaces of its own, with names that nobody else has; they are deleted
in the end, whatever became of the test.
"""

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio
import httpx
from cloud import Cloud
from cloud_server import serving
from doors import Json, trust, trust_cloud

from memory_mcp.config.settings import Settings
from memory_mcp.domain.cloud import RemoteDocument
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Record, Scope
from memory_mcp.domain.secret import Secret
from memory_mcp.storage.files.host import SystemIds
from memory_mcp.storage.supermemory.client import Supermemory
from memory_mcp.storage.supermemory.documents import to_document

__all__ = ["LIVE_KEY", "SCOPED_KEY", "Vendor", "a_document", "fake_vendor", "live_vendor"]

LIVE_KEY: Final = os.environ.get("SUPERMEMORY_LIVE_API_KEY", "").strip()
SCOPED_KEY: Final = os.environ.get("SUPERMEMORY_LIVE_SCOPED_KEY", "").strip()
_LIVE_URL: Final = os.environ.get("SUPERMEMORY_BASE_URL", "").strip() or Settings.base_url
"""Read while the tests are collected: each test begins with an empty environment."""

_LIVE_SECONDS_MAX: Final = 300
_FAKE_PROCESSING_SECONDS: Final = 0.3


@dataclass
class Vendor:
    """Where it is, and what to show it. `about` names it in what a test tells.

    It is looked at every `pause_seconds`; what it was doing is over after `settle_seconds`.
    """

    about: str
    url: str
    key: str
    scoped_key: str
    pause_seconds: float
    settle_seconds: float
    user: str = field(default_factory=lambda: f"live-{uuid4().hex[:12]}")
    used: set[str] = field(default_factory=set[str])

    @property
    def namespace(self) -> str:
        """For tests that need no more than one."""
        return self.using(f"cc_u-{self.user}_p-asked")

    def using(self, namespace: str) -> str:
        """A namespace that is to be deleted in the end."""
        self.used.add(namespace)
        return namespace

    def remote(self, key: str = "") -> Supermemory:
        """Our own client."""
        return Supermemory(self.url, lambda: key or self.key, search_seconds=30)

    def settings(self, folder: Path) -> Settings:
        """A session on a machine of its own, on the project that every such machine has."""
        git = folder / "shop" / ".git"
        git.mkdir(parents=True)
        remote = f"https://git.example/{self.user}/shop.git"
        (git / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n', "utf-8")
        trust(folder / "shop", folder / "home")
        trust_cloud(self.url, folder / "home")
        return Settings(
            project_dir=folder / "shop",
            home=folder / "home",
            user=self.user,
            approval="auto",
            provider="supermemory",
            api_key=Secret(self.key),
            base_url=self.url,
            remote_timeout=30,
        )

    async def handed_over(self, *documents: RemoteDocument) -> None:
        """The documents are there and done."""
        remote = self.remote()
        answers = await remote.deliver(self.namespace, documents)
        await remote.aclose()
        assert set(answers.values()) <= {None}
        assert answers.keys() <= {document.id for document in documents}
        for document in documents:
            assert await self.eventually(lambda d=document: self.done(d.id)) is not None

    async def done(self, document_id: RecordId) -> bool:
        """Whether it can be found by now; asking for it must never fail."""
        remote = self.remote()
        found = await remote.get(self.namespace, document_id)
        await remote.aclose()
        return found is not None and found.state == "done"

    async def asked(self, method: str, path: str, body: Json | None = None, key: str = "") -> Any:
        """The plain answer, for what our client has no need to ask; status and JSON."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60) as client:
            answer = await client.request(method, path, json=body)
        return answer.status_code, answer.json() if answer.content else None

    async def eventually(self, what: Callable[[], Awaitable[bool]]) -> float | None:
        """The seconds until that was so; None if it never was."""
        begin = time.perf_counter()
        with anyio.move_on_after(_LIVE_SECONDS_MAX):
            while not await what():  # noqa: ASYNC110  # a service tells nobody
                await anyio.sleep(self.pause_seconds)
            return time.perf_counter() - begin
        return None

    async def clean(self) -> None:
        """Leave nothing behind."""
        for namespace in sorted(self.used):
            status, said = await self.asked("DELETE", f"/ns/{namespace}")
            assert status in (200, 202, 404), (namespace, status, said)


def a_document(text: str, **metadata: str) -> RemoteDocument:
    """A memory's document with an id that nobody has used."""
    now = datetime.now(UTC)
    ids = SystemIds()
    record = Record(
        id=RecordId(ids.new(now)), kind="fact", content=text, scope=Scope(user="ada"),
        created_at=now.replace(microsecond=now.microsecond // 1000 * 1000),
    )  # fmt: skip
    document = to_document(record, extract=False)
    return RemoteDocument(document.id, text, {**document.metadata, **metadata}, document.date)


@asynccontextmanager
async def live_vendor() -> AsyncGenerator[Vendor]:
    """The real one."""
    vendor = Vendor("live", _LIVE_URL.rstrip("/"), LIVE_KEY, SCOPED_KEY, 1, 30)
    try:
        yield vendor
    finally:
        await vendor.clean()


@asynccontextmanager
async def fake_vendor(*, as_documented: bool = True) -> AsyncGenerator[Vendor]:
    """The fake, with one answer or the other to each question that the vendor leaves open."""
    cloud = Cloud(
        answers_own_ids=as_documented,
        hits_have_metadata=as_documented,
        neq_matches_missing=as_documented,
        processing_seconds=_FAKE_PROCESSING_SECONDS,
        keys={"sm_test", "sm_scoped"},
    )
    with serving(cloud) as url:
        vendor = Vendor("fake", url, "sm_test", "sm_scoped", 0.02, 0.5)
        yield vendor
        await vendor.clean()
        assert cloud.namespaces() == []
    assert cloud.violations == []
