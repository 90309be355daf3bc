"""Supermemory (v5) as a `ports.Remote`: our ids in, our ids out.

One document a record, under the record's own id, never appended to. Whatever the service calls a
document in its answers, the metadata field `memory_id` says which record it is. Routes, limits and
shapes: the vendor's OpenAPI document of SDK 5.0.1.

Request bodies are closed: the service refuses an unknown field. Answers may have more fields than
we read. A list has no more items than were asked for, and the first that is wrong ends the reading:
of a million wrong ones, each would be an error of its own.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, FailFast, Field, FiniteFloat, ValidationError

from memory_mcp.domain.cloud import Listing, RemoteDocument, RemoteHit, RemoteProfile, Stored, Test
from memory_mcp.domain.cloud import State as DocumentState
from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.domain.limits import (
    BATCH_IDS_MAX,
    REMOTE_DELIVERY_SECONDS_MAX,
    REMOTE_ERROR_CHARS_MAX,
    REMOTE_FACT_CHARS_MAX,
    REMOTE_HITS_MAX,
)
from memory_mcp.domain.normalise import message_line
from memory_mcp.errors import (
    RemoteBlockedError,
    RemoteError,
    RemoteRejectedError,
    RemoteUnavailableError,
    StoreUnavailableError,
)

Json = dict[str, Any]


def fields(document: RemoteDocument) -> Json:
    """A document to add, under our id."""
    return {
        "id": document.id,
        "content": document.content,
        "metadata": dict(document.metadata),
        "date": document.date,
    }


def task(*, extract: bool) -> Json:
    """What to do with it: keep it verbatim, or draw facts from it at once."""
    return {"taskType": "memory", "dreaming": "instant"} if extract else {"taskType": "superrag"}


def filtered(tests: Sequence[Test]) -> Json:
    """The tests as the service's filter: all of them must hold."""
    operands = [part for test in tests for part in _operands(test)]
    match operands:
        case []:
            return {}
        case [one]:
            return {"filter": one}
        case _:
            return {"filter": {"operator": "and", "operands": operands}}


def _operands(test: Test) -> list[Json]:
    operator = "arrayContains" if test.contains else "neq" if test.unlike else "eq"
    parts: list[Json] = [
        {"field": test.field, "operator": operator, "value": value} for value in test.values
    ]
    if test.contains or test.unlike or len(parts) == 1:
        return parts
    return [{"operator": "or", "operands": parts}]


Metadata = dict[str, Any]
Count = int

_NAMED_MAX = 1_000
"""Items of a list that is as long as the request was, or as the service sees fit."""


class AcceptedAnswer(BaseModel):
    """A document was taken for processing."""

    id: str = Field(min_length=1)
    status: str = Field(min_length=1)


class _BatchItem(BaseModel):
    id: str
    status: str
    error: str = ""
    details: str = ""


class BatchAnswer(BaseModel):
    """Some, all or none were taken."""

    results: Annotated[list[_BatchItem], FailFast(), Field(max_length=_NAMED_MAX)]
    count: Count
    failed: Count


class _DeleteFailure(BaseModel):
    id: str
    error: str


class DeletedAnswer(BaseModel):
    """Each id was tried on its own."""

    count: Count
    errors: Annotated[list[_DeleteFailure], FailFast(), Field(max_length=_NAMED_MAX)]


class _System(BaseModel):
    status: str
    createdAt: str  # noqa: N815  # the service's names


class DocumentAnswer(BaseModel):
    """A document, or a row of a listing."""

    id: str
    content: str | None = None
    metadata: Metadata
    system: _System


class _Pagination(BaseModel):
    currentPage: FiniteFloat  # noqa: N815
    totalItems: FiniteFloat  # noqa: N815
    totalPages: FiniteFloat  # noqa: N815


class ListAnswer(BaseModel):
    """A page of documents."""

    documents: Annotated[list[DocumentAnswer], FailFast(), Field(max_length=BATCH_IDS_MAX)]
    pagination: _Pagination


class _Source(BaseModel):
    id: str
    metadata: Metadata = Field(default_factory=Metadata)


class _Included(BaseModel):
    document: _Source | None = None


class _Hit(BaseModel):
    memory: str = ""
    chunk: str = ""
    metadata: Metadata
    similarity: FiniteFloat
    included: _Included = _Included()


class SearchAnswer(BaseModel):
    """Passages, best first."""

    results: Annotated[list[_Hit], FailFast(), Field(max_length=REMOTE_HITS_MAX)]
    searchTime: FiniteFloat  # noqa: N815


class _Fact(BaseModel):
    memory: str


class _Facts(BaseModel):
    static: Annotated[list[_Fact], FailFast(), Field(max_length=_NAMED_MAX)]
    dynamic: Annotated[list[_Fact], FailFast(), Field(max_length=_NAMED_MAX)]


class ProfileAnswer(BaseModel):
    """What the service made of a namespace."""

    profile: _Facts


class NamespacesAnswer(BaseModel):
    """The namespaces that the key may see: proof that the server speaks v5."""

    namespaces: list[Any]
    pagination: _Pagination


if TYPE_CHECKING:
    from memory_mcp.storage.supermemory.http import Wire  # httpx


A = TypeVar("A", bound=BaseModel)
T = TypeVar("T")
Taken = dict[RecordId, str | None]

_NAMESPACE: Final = re.compile(r"[A-Za-z0-9_:-]{1,100}")
_THRESHOLD: Final = 0.3
"""Similarity below which the service need not answer (its own default, said aloud)."""


class Supermemory:
    """Implements `ports.Remote`.

    `key` is asked with the first request, not before, and in a thread: somebody may have to unlock
    a keyring. Without one (a server on this machine) none is sent.
    """

    def __init__(
        self,
        base_url: str,
        key: Callable[[], str],
        *,
        search_seconds: float,
        extraction: bool = False,
    ) -> None:
        self._base_url = base_url
        self._key = key
        self._search_seconds = search_seconds
        self._mode = "hybrid" if extraction else "chunks"
        self._wire: Wire | None = None
        self._opening: asyncio.Task[Wire] | None = None

    async def deliver(
        self, namespace: str, documents: Sequence[RemoteDocument]
    ) -> Mapping[RecordId, str | None]:
        answers: Taken = {}
        for extract in sorted({document.extract for document in documents}):
            alike = [document for document in documents if document.extract is extract]
            add = self._add_batch if len(alike) > 1 else self._add
            # what was taken before a failure counts; the others are not named
            with suppress(RemoteError) if answers else nullcontext():
                answers |= await add(namespace, alike)
        return answers

    async def get(self, namespace: str, record_id: RecordId) -> Stored | None:
        space = _in(namespace)
        if not is_record_id(record_id):  # as `..` it would name another route
            return None
        said = await self._ask("GET", f"{space}/document/{record_id}", missing=True)
        if said is None:
            return None
        found = await _read(DocumentAnswer, said)
        return Stored(record_id, found.content, found.metadata, _state(found.system.status))

    async def erase(self, namespace: str, record_ids: Sequence[RecordId]) -> Mapping[RecordId, str]:
        said = await self._ask("DELETE", f"{_in(namespace)}/document", {"ids": list(record_ids)})
        answer = await _read(DeletedAnswer, said)
        failed = {RecordId(each.id): _error(each.error) for each in answer.errors}
        if failed.keys() <= set(record_ids):
            return failed
        # named by ids of its own: which of ours they are is for whoever looks to find out
        return dict.fromkeys(record_ids, _error("; ".join(sorted(set(failed.values())))))

    async def search(
        self, namespace: str, query: str, tests: Sequence[Test], limit: int
    ) -> list[RemoteHit]:
        body: Json = {
            "query": query,
            "searchMode": self._mode,
            "limit": limit,
            "threshold": _THRESHOLD,
            "include": {"documents": True},
            **filtered(tests),
        }
        path = f"{_in(namespace)}/search"
        said = await self._ask("POST", path, body, seconds=self._search_seconds)
        answer = await _read(SearchAnswer, said)
        hits: list[RemoteHit] = []
        for hit in answer.results:
            source = hit.included.document
            record_id = (source and _our_id(source.metadata, source.id)) or _our_id(hit.metadata)
            if record_id:
                similarity = min(1.0, max(0.0, hit.similarity))
                hits.append(RemoteHit(record_id, hit.chunk or hit.memory, similarity))
        return hits

    async def listing(
        self,
        namespace: str,
        tests: Sequence[Test],
        page: int,
        *,
        content: bool = False,
        newest_first: bool = False,
    ) -> Listing:
        said = await self._ask(
            "POST",
            f"{_in(namespace)}/list/documents",
            {"include": {"content": content}, **filtered(tests)},
            params={
                "page": page,
                "limit": BATCH_IDS_MAX,
                "sort": "createdAt",
                "order": "desc" if newest_first else "asc",
            },
        )
        answer = await _read(ListAnswer, said)
        rows = [(_our_id(row.metadata, row.id), row) for row in answer.documents]
        return Listing(
            documents=tuple(
                Stored(
                    record_id,
                    row.content,
                    row.metadata,
                    _state(row.system.status),
                    row.system.createdAt,
                )
                for record_id, row in rows
                if record_id
            ),
            total=int(answer.pagination.totalItems),
            more=bool(rows) and page < answer.pagination.totalPages,
        )

    async def profile(self, namespace: str, tests: Sequence[Test]) -> RemoteProfile:
        path = f"{_in(namespace)}/profile"
        said = await self._ask("POST", path, filtered(tests), seconds=self._search_seconds)
        facts = (await _read(ProfileAnswer, said)).profile
        return RemoteProfile(
            static=tuple(_fact(fact.memory) for fact in facts.static),
            dynamic=tuple(_fact(fact.memory) for fact in facts.dynamic),
        )

    async def probe(self) -> None:
        try:
            said = await self._ask("GET", "/ns", params={"limit": 1})
        except RemoteRejectedError as error:
            raise RemoteRejectedError(
                f"{error} This server does not speak Supermemory's v5: see SUPERMEMORY_BASE_URL."
            ) from error
        await _read(NamespacesAnswer, said)

    async def aclose(self) -> None:
        wire, self._wire = self._wire, None
        if self._opening is not None:
            self._opening.cancel()
        if wire is not None:
            await wire.aclose()

    async def _add(self, namespace: str, documents: Sequence[RemoteDocument]) -> Taken:
        (document,) = documents
        body = {**fields(document), **task(extract=document.extract)}
        said = await self._ask("POST", f"{_in(namespace)}/document", body)
        answer = await _read(AcceptedAnswer, said)
        return {document.id: "failed" if answer.status == "failed" else None}

    async def _add_batch(self, namespace: str, documents: Sequence[RemoteDocument]) -> Taken:
        body = {"documents": [fields(d) for d in documents], **task(extract=documents[0].extract)}
        said = await self._ask("POST", f"{_in(namespace)}/document/batch", body)
        ours = {document.id for document in documents}
        answers: Taken = {}
        for item in (await _read(BatchAnswer, said)).results:
            failed = item.status in ("error", "failed")
            answers[RecordId(item.id)] = (
                _error(item.error or item.details or item.status) if failed else None
            )
        return {record_id: said for record_id, said in answers.items() if record_id in ours}

    async def _ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        params: Mapping[str, str | int] | None = None,
        seconds: float = REMOTE_DELIVERY_SECONDS_MAX,
        missing: bool = False,
    ) -> Json | None:
        wire = self._wire
        if wire is None:
            if self._opening is None or self._opening.done():  # one question for all who wait
                self._opening = asyncio.create_task(_in_a_thread(self._open))
            try:
                wire = await asyncio.shield(self._opening)
            except StoreUnavailableError as error:  # the keyring; its message says what to do
                raise RemoteBlockedError(str(error)) from error
            self._wire = wire
        return await wire.ask(
            method, path, seconds=seconds, body=body, params=params, missing=missing
        )

    def _open(self) -> "Wire":
        from memory_mcp.storage.supermemory.http import Wire  # noqa: PLC0415  # httpx

        return Wire(self._base_url, self._key())


async def _in_a_thread(call: Callable[[], T]) -> T:
    """Like `asyncio.to_thread`, but no process waits for it at its end.

    Somebody may be asked to unlock a keyring, and may not be there.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def tell(tell: Callable[[Any], None], what: object) -> None:
        if not answer.done():
            tell(what)

    def run() -> None:
        try:
            result = call()
        except Exception as error:  # noqa: BLE001  # raised where it is awaited
            told: tuple[Callable[[Any], None], object] = (answer.set_exception, error)
        else:
            told = (answer.set_result, result)
        with suppress(RuntimeError):  # the loop is over
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=run, daemon=True).start()
    return await answer


def _in(namespace: str) -> str:
    """The path of a namespace; nothing that is handed in can lead out of it."""
    if _NAMESPACE.fullmatch(namespace) is None:
        raise AssertionError(f"no namespace: {namespace!r}")
    return f"/ns/{namespace}"


async def _read(shape: type[A], said: Json | None) -> A:
    try:
        return await asyncio.to_thread(shape.model_validate, said or {})
    except ValidationError as error:
        raise RemoteUnavailableError(
            f"The service answered in a shape that is not its own ({error.error_count()} fields)."
        ) from error


def _error(words: str) -> str:
    return message_line(words, REMOTE_ERROR_CHARS_MAX)


def _fact(words: str) -> str:
    return message_line(words, REMOTE_FACT_CHARS_MAX)


def _state(status: str) -> DocumentState:
    return status if status in ("done", "failed") else "processing"


def _our_id(metadata: Mapping[str, Any], document_id: str = "") -> RecordId | None:
    for value in (metadata.get("memory_id"), document_id):
        if isinstance(value, str) and is_record_id(value):
            return RecordId(value)
    return None
