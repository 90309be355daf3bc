"""A stateful fake of the cloud service, for tests: what its documents say it does, over a dict.

It promises what the contract promises and nothing better: an add is not found at once, a second
post under an id appends, hits are chunks. It knows no HTTP: `cloud_app` does, `cloud_server` serves
it, `cloud_faults` says what goes wrong, `cloud_contract` judges. Whatever the vendor leaves open is
a field of `Cloud`, so that a client can be tried with either answer.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import RLock
from typing import Any, Final

from cloud_contract import Violation
from cloud_faults import Faults
from cloud_views import Document, Json, Status, TaskType, View

__all__ = ["Cloud", "Document", "Refusal", "Request"]

_JUST_A_URL: Final = re.compile(r"\s*https?://\S+\s*", re.IGNORECASE)
_NOT_FOUND: Final = "Document not found"


class Refusal(Exception):  # noqa: N818  # an answer, not a fault of ours
    """An answer of the service that is not a success."""

    def __init__(self, status: int, error: str, details: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.body: Json = {"error": error, **({"details": details} if details else {})}


@dataclass
class Request:
    """One request as it arrived; `status` is None while, or if, it got no answer."""

    method: str
    path: str
    query: str
    namespace: str | None
    body: Any
    fault: str | None = None
    status: int | None = None


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(kw_only=True)
class Cloud:
    """The service. Hold `lock` to look at several things at once while it is being served.

    A document is done `processing_seconds` after it was accepted. One whose id is in
    `fails_processing` fails then instead, and is gone `failed_seconds` later. `posted` counts how
    often content was accepted for an id; `appended` and `fetched` are the two ways in which the
    service stores something else than was sent.
    """

    answers_own_ids: bool = True
    hits_have_metadata: bool = True
    neq_matches_missing: bool = True
    processing_seconds: float = 0.0
    failed_seconds: float = 120.0
    now: Callable[[], datetime] = _now
    keys: set[str] = field(default_factory=lambda: {"sm_test"})
    fails_processing: set[str] = field(default_factory=set[str])
    refused_in_batch: set[str] = field(default_factory=set[str])
    faults: Faults = field(default_factory=Faults)
    url: str = ""

    requests: list[Request] = field(default_factory=list[Request])
    posted: Counter[str] = field(default_factory=Counter[str])
    appended: list[str] = field(default_factory=list[str])
    fetched: list[str] = field(default_factory=list[str])
    violations: list[Violation] = field(default_factory=list[Violation])
    opened: dict[str, datetime] = field(default_factory=dict[str, datetime])
    lock: RLock = field(default_factory=RLock)

    _spaces: dict[str, dict[str, Document]] = field(default_factory=dict[str, dict[str, Document]])
    _own_ids: dict[str, str] = field(default_factory=dict[str, str])
    _accepted: int = 0

    @property
    def view(self) -> View:
        return View(self.answers_own_ids, self.hits_have_metadata, self.neq_matches_missing)

    # --- for tests -----------------------------------------------------------------------------

    def documents(self, namespace: str) -> dict[str, Document]:
        """What is stored, by the caller's ids."""
        with self.lock:
            return dict(self.space(namespace))

    def namespaces(self) -> list[str]:
        """Every namespace that was ever written to and not deleted."""
        with self.lock:
            return sorted(self._spaces)

    def add_document(
        self,
        namespace: str,
        content: str,
        *,
        id: str | None = None,  # noqa: A002  # the contract's name
        metadata: Json | None = None,
        task_type: TaskType = "superrag",
    ) -> Document:
        """Put a document there as if it had been done long ago; not counted as posted."""
        given = {"content": content, "metadata": metadata or {}, **({"id": id} if id else {})}
        with self.lock:
            document = self._accept(namespace, given, task_type)
            document.ready_at = document.created_at
            return document

    def status(self, document: Document) -> Status:
        """How far the processing is."""
        if self.now() < document.ready_at:
            return "queued"
        return "failed" if document.id in self.fails_processing else "done"

    # --- documents -----------------------------------------------------------------------------

    def add(self, namespace: str, sent: Json) -> Json:
        """Accept one document under a new id, or append to the one that has the id already."""
        document, status = self._take(namespace, sent, sent.get("taskType", "memory"))
        return {"id": self.view.id_of(document), "status": status}

    def add_batch(self, namespace: str, sent: Json) -> Json:
        """Accept many. The accepted are told first, whatever the order was."""
        shared = {name: value for name, value in sent.items() if name != "documents"}
        accepted: list[Json] = []
        refused: list[Json] = []
        for item in sent["documents"]:
            if item.get("id") in self.refused_in_batch:
                refused.append({"id": item["id"], "status": "error", "error": "Not accepted"})
            else:
                accepted.append(self.add(namespace, {**item, **shared}))
        return {"results": accepted + refused, "count": len(accepted), "failed": len(refused)}

    def update(self, namespace: str, name: str, sent: Json) -> Json:
        """Replace what is given; new content is processed anew."""
        document = self.find(namespace, name)
        if not sent.keys() - {"taskType", "dreaming"}:
            raise Refusal(400, "Nothing to update")
        if self.status(document) == "queued":
            raise Refusal(409, "Document is still being processed")
        document.updated_at = self.now()
        document.metadata = sent.get("metadata", document.metadata)
        document.given |= {n: v for n, v in sent.items() if n != "content"}
        status: Status = self.status(document)
        if "content" in sent and sent["content"] != document.content:
            document.content = sent["content"]
            status = self._queue(document)
        return {"id": self.view.id_of(document), "status": status}

    def delete(self, namespace: str, sent: Json) -> Json:
        """Remove for good. Each id is tried on its own."""
        errors: list[Json] = []
        ids = dict.fromkeys(sent["ids"])
        for name in ids:
            try:
                del self.space(namespace)[self.find(namespace, name).id]
            except Refusal:
                errors.append({"id": name, "error": _NOT_FOUND})
        return {"count": len(ids) - len(errors), "errors": errors}

    def forget(self, namespace: str, sent: Json) -> Json:
        """Hide extracted facts. These ids are no ids of documents."""
        facts = {d.memory_id: d for d in self.done(namespace) if d.has_memory}
        ids = list(dict.fromkeys(sent["ids"]))
        matches = [name for name in ids if name in facts]
        for name in matches:
            facts[name].forgotten = True
        return {
            "count": len(matches),
            "matches": [{"id": name, "memory": facts[name].content} for name in matches],
            "errors": [{"id": n, "error": "Memory not found"} for n in ids if n not in facts],
        }

    # --- namespaces ----------------------------------------------------------------------------

    def delete_namespace(self, namespace: str, move_to: str | None) -> tuple[int, Json]:
        """Remove a namespace with all that is in it, or move that elsewhere."""
        if namespace not in self._spaces:
            raise Refusal(404, "Namespace not found")
        if move_to == namespace:
            raise Refusal(409, "Cannot move a namespace into itself")
        documents = self._spaces.pop(namespace)
        del self.opened[namespace]
        moved = {"status": "queued", "operationId": f"op_{self._accepted}", "namespace": namespace}
        if move_to is not None:
            self._open(move_to).update(documents)
            return 202, {**moved, "moveTo": move_to}
        return 200, {
            "status": "deleted",
            "namespace": namespace,
            "deletedDocumentsCount": len(documents),
            "deletedMemoriesCount": sum(d.has_memory for d in documents.values()),
        }

    # --- inside --------------------------------------------------------------------------------

    def _open(self, namespace: str) -> dict[str, Document]:
        self.opened.setdefault(namespace, self.now())
        return self._spaces.setdefault(namespace, {})

    def space(self, namespace: str) -> dict[str, Document]:
        """The documents of a namespace, without those that failed long enough ago to be gone."""
        space = self._spaces.get(namespace, {})
        gone = self.now() - timedelta(seconds=self.failed_seconds)
        for name in self.fails_processing & space.keys():
            if space[name].ready_at <= gone:
                del space[name]
        return space

    def done(self, namespace: str) -> list[Document]:
        """What can be found, the newest first."""
        found = [d for d in self.space(namespace).values() if self.status(d) == "done"]
        return sorted(found, key=lambda document: document.accepted, reverse=True)

    def find(self, namespace: str, name: str) -> Document:
        """The document of that id, ours or the vendor's."""
        space = self.space(namespace)
        document = space.get(name) or space.get(self._own_ids.get(name, ""))
        if document is None:
            raise Refusal(404, _NOT_FOUND)
        return document

    def _take(self, namespace: str, sent: Json, task_type: TaskType) -> tuple[Document, Status]:
        """New content is queued; what is there already stays what it is."""
        if _JUST_A_URL.fullmatch(sent["content"]):
            self.fetched.append(sent["content"])
            sent = {**sent, "content": f"What is to be read at {sent['content'].strip()}"}
        try:
            document = self.find(namespace, sent.get("id", ""))
        except Refusal:
            document = self._accept(namespace, sent, task_type)
            self.posted[document.id] += 1
            return document, "queued"
        self.posted[document.id] += 1
        status = self.status(document)
        if status != "failed" and sent["content"] == document.content:
            return document, status
        if status == "failed":
            document.content = sent["content"]
        else:
            document.content += "\n" + sent["content"]
            self.appended.append(document.id)
        document.metadata = sent.get("metadata", document.metadata)
        return document, self._queue(document)

    def _accept(self, namespace: str, sent: Json, task_type: TaskType) -> Document:
        self._accepted += 1
        vendor_id = f"doc_{self._accepted:06}"
        now = self.now()
        document = Document(
            id=sent.get("id", vendor_id),
            vendor_id=vendor_id,
            content=sent["content"],
            accepted=self._accepted,
            created_at=now,
            updated_at=now,
            ready_at=now,
            metadata=sent.get("metadata", {}),
            task_type=task_type,
            given={n: v for n, v in sent.items() if n not in ("id", "content", "metadata")},
        )
        self._queue(document)
        self._own_ids[vendor_id] = document.id
        self._open(namespace)[document.id] = document
        return document

    def _queue(self, document: Document) -> Status:
        document.updated_at = self.now()
        document.ready_at = document.updated_at + timedelta(seconds=self.processing_seconds)
        return "queued"
