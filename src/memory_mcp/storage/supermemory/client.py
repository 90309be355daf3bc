"""Supermemory (v5) as a `ports.Remote`: our ids in, our ids out.

One document a record, under the record's own id, never appended to. Whatever the service calls a
document in its answers, the metadata field `memory_id` says which record it is. Routes, limits and
shapes: the vendor's OpenAPI document of SDK 5.0.1.

Request bodies are closed: the service refuses an unknown field. Answers may have more fields than
we read. A list has no more items than were asked for, and validation stops at the first wrong one:
a million wrong items would be a million errors.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, FailFast, Field, FiniteFloat, ValidationError

from memory_mcp.domain.cloud import (
    DocumentPage,
    DocumentState,
    MetadataCondition,
    RemoteDocument,
    RemoteHit,
    RemoteProfile,
    StoredDocument,
)
from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.domain.limits import (
    BATCH_IDS_MAX,
    REMOTE_DELIVERY_SECONDS_MAX,
    REMOTE_ERROR_CHARS_MAX,
    REMOTE_FACT_CHARS_MAX,
    REMOTE_HITS_MAX,
)
from memory_mcp.domain.normalise import make_message_line
from memory_mcp.errors import (
    RemoteBlockedError,
    RemoteError,
    RemoteRejectedError,
    RemoteUnavailableError,
    StoreUnavailableError,
)
from memory_mcp.patterns import compile_later
from memory_mcp.storage.threads import run_in_daemon_thread

if TYPE_CHECKING:
    from memory_mcp.storage.supermemory.http import HttpClient  # httpx

Json = dict[str, Any]


def _document_fields(document: RemoteDocument) -> Json:
    return {
        "id": document.id,
        "content": document.content,
        "metadata": dict(document.metadata),
        "date": document.date,
    }


def _task_fields(*, extract: bool) -> Json:
    """The fields that say what to do with it: keep it verbatim, or draw facts from it at once."""
    return {"taskType": "memory", "dreaming": "instant"} if extract else {"taskType": "superrag"}


def _filter_fields(conditions: Sequence[MetadataCondition]) -> Json:
    """The conditions as the service's filter: all of them must hold."""
    operands = [part for condition in conditions for part in _filter_operands(condition)]
    match operands:
        case []:
            return {}
        case [one]:
            return {"filter": one}
        case _:
            return {"filter": {"operator": "and", "operands": operands}}


def _filter_operands(condition: MetadataCondition) -> list[Json]:
    operator = "arrayContains" if condition.contains else "neq" if condition.negated else "eq"
    parts: list[Json] = [
        {"field": condition.field, "operator": operator, "value": value}
        for value in condition.values
    ]
    if condition.contains or condition.negated or len(parts) == 1:
        return parts
    return [{"operator": "or", "operands": parts}]


_NAMED_MAX = 1_000
"""Items of a list whose length the service or the request decides."""


class _AcceptedAnswer(BaseModel):
    id: str = Field(min_length=1)
    status: str = Field(min_length=1)


class _BatchItem(BaseModel):
    id: str
    status: str
    error: str = ""
    details: str = ""


class _BatchAnswer(BaseModel):
    results: Annotated[list[_BatchItem], FailFast(), Field(max_length=_NAMED_MAX)]
    count: int
    failed: int


class _DeleteFailure(BaseModel):
    id: str
    error: str


class _DeletedAnswer(BaseModel):
    count: int
    errors: Annotated[list[_DeleteFailure], FailFast(), Field(max_length=_NAMED_MAX)]


class _System(BaseModel):
    status: str
    createdAt: str  # noqa: N815  # the service's names


class _DocumentAnswer(BaseModel):
    """A document, or a row of a listing."""

    id: str
    content: str | None = None
    metadata: Json
    system: _System


class _Pagination(BaseModel):
    currentPage: FiniteFloat  # noqa: N815
    totalItems: FiniteFloat  # noqa: N815
    totalPages: FiniteFloat  # noqa: N815


class _ListAnswer(BaseModel):
    documents: Annotated[list[_DocumentAnswer], FailFast(), Field(max_length=BATCH_IDS_MAX)]
    pagination: _Pagination


class _Source(BaseModel):
    id: str
    metadata: Json = Field(default_factory=Json)


class _Included(BaseModel):
    document: _Source | None = None


class _Hit(BaseModel):
    memory: str = ""
    chunk: str = ""
    metadata: Json
    similarity: FiniteFloat
    included: _Included = _Included()


class _SearchAnswer(BaseModel):
    results: Annotated[list[_Hit], FailFast(), Field(max_length=REMOTE_HITS_MAX)]
    searchTime: FiniteFloat  # noqa: N815


class _Fact(BaseModel):
    memory: str


class _Facts(BaseModel):
    static: Annotated[list[_Fact], FailFast(), Field(max_length=_NAMED_MAX)]
    dynamic: Annotated[list[_Fact], FailFast(), Field(max_length=_NAMED_MAX)]


class _ProfileAnswer(BaseModel):
    profile: _Facts


class _NamespacesAnswer(BaseModel):
    namespaces: list[Any]
    pagination: _Pagination


A = TypeVar("A", bound=BaseModel)
DeliveryAnswers = dict[RecordId, str | None]
"""For each document why the service refused it; None: accepted."""

_NAMESPACE: Final = compile_later(r"[A-Za-z0-9_:-]{1,100}")
_THRESHOLD: Final = 0.3
"""The least similarity of an answer: the service's own default."""


class Supermemory:
    """Implements `ports.Remote`.

    `key` is called with the first request, in a thread: somebody may have to unlock a keyring. An
    empty key (a server on this machine) is not sent.
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
        self._http: HttpClient | None = None
        self._opening: asyncio.Task[HttpClient] | None = None

    async def deliver(
        self, namespace: str, documents: Sequence[RemoteDocument]
    ) -> Mapping[RecordId, str | None]:
        answers: DeliveryAnswers = {}
        for extract in sorted({document.extract for document in documents}):
            batch = [document for document in documents if document.extract is extract]
            add = self._add_batch if len(batch) > 1 else self._add
            # after a failure the documents that were accepted before count; the others are unknown
            with suppress(RemoteError) if answers else nullcontext():
                answers |= await add(namespace, batch)
        return answers

    async def get(self, namespace: str, record_id: RecordId) -> StoredDocument | None:
        if not is_record_id(record_id):  # as `..` it would name another route
            return None
        path = f"{_namespace_path(namespace)}/document/{record_id}"
        answer = await self._ask("GET", path, or_missing=True)
        if answer is None:
            return None
        found = await _parse(_DocumentAnswer, answer)
        return StoredDocument(record_id, found.content, found.metadata, _state(found.system.status))

    async def erase(self, namespace: str, record_ids: Sequence[RecordId]) -> Mapping[RecordId, str]:
        path = f"{_namespace_path(namespace)}/document"
        answer = await _parse(
            _DeletedAnswer, await self._ask("DELETE", path, {"ids": list(record_ids)})
        )
        failed = {RecordId(each.id): _error(each.error) for each in answer.errors}
        if failed.keys() <= set(record_ids):
            return failed
        # the service named ids of its own: any of ours may be meant
        return dict.fromkeys(record_ids, _error("; ".join(sorted(set(failed.values())))))

    async def search(
        self, namespace: str, query: str, conditions: Sequence[MetadataCondition], limit: int
    ) -> list[RemoteHit]:
        body: Json = {
            "query": query,
            "searchMode": self._mode,
            "limit": limit,
            "threshold": _THRESHOLD,
            "include": {"documents": True},
            **_filter_fields(conditions),
        }
        path = f"{_namespace_path(namespace)}/search"
        answer = await _parse(
            _SearchAnswer, await self._ask("POST", path, body, seconds=self._search_seconds)
        )
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
        conditions: Sequence[MetadataCondition],
        page: int,
        *,
        content: bool = False,
        newest_first: bool = False,
    ) -> DocumentPage:
        answer = await self._ask(
            "POST",
            f"{_namespace_path(namespace)}/list/documents",
            {"include": {"content": content}, **_filter_fields(conditions)},
            params={
                "page": page,
                "limit": BATCH_IDS_MAX,
                "sort": "createdAt",
                "order": "desc" if newest_first else "asc",
            },
        )
        found = await _parse(_ListAnswer, answer)
        return DocumentPage(
            documents=tuple(
                StoredDocument(
                    record_id,
                    row.content,
                    row.metadata,
                    _state(row.system.status),
                    row.system.createdAt,
                )
                for row in found.documents
                if (record_id := _our_id(row.metadata, row.id))
            ),
            total=int(found.pagination.totalItems),
            more=bool(found.documents) and page < found.pagination.totalPages,
        )

    async def profile(
        self, namespace: str, conditions: Sequence[MetadataCondition]
    ) -> RemoteProfile:
        path = f"{_namespace_path(namespace)}/profile"
        body = _filter_fields(conditions)
        answer = await self._ask("POST", path, body, seconds=self._search_seconds)
        facts = (await _parse(_ProfileAnswer, answer)).profile
        return RemoteProfile(
            static=tuple(_fact(fact.memory) for fact in facts.static),
            dynamic=tuple(_fact(fact.memory) for fact in facts.dynamic),
        )

    async def probe(self) -> None:
        try:
            answer = await self._ask("GET", "/ns", params={"limit": 1})
        except RemoteRejectedError as error:
            raise RemoteRejectedError(
                f"{error} This server does not speak Supermemory's v5: see SUPERMEMORY_BASE_URL."
            ) from error
        await _parse(_NamespacesAnswer, answer)  # proof that the server speaks v5

    async def aclose(self) -> None:
        http, self._http = self._http, None
        if self._opening is not None:
            self._opening.cancel()
        if http is not None:
            await http.aclose()

    async def _add(self, namespace: str, documents: Sequence[RemoteDocument]) -> DeliveryAnswers:
        (document,) = documents
        body = {**_document_fields(document), **_task_fields(extract=document.extract)}
        path = f"{_namespace_path(namespace)}/document"
        answer = await _parse(_AcceptedAnswer, await self._ask("POST", path, body))
        return {document.id: "failed" if answer.status == "failed" else None}

    async def _add_batch(
        self, namespace: str, documents: Sequence[RemoteDocument]
    ) -> DeliveryAnswers:
        body = {
            "documents": [_document_fields(d) for d in documents],
            **_task_fields(extract=documents[0].extract),
        }
        path = f"{_namespace_path(namespace)}/document/batch"
        answer = await _parse(_BatchAnswer, await self._ask("POST", path, body))
        ours = {document.id for document in documents}
        answers: DeliveryAnswers = {}
        for item in answer.results:
            if (record_id := RecordId(item.id)) in ours:
                failed = item.status in ("error", "failed")
                reason = item.error or item.details or item.status
                answers[record_id] = _error(reason) if failed else None
        return answers

    async def _ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        params: Mapping[str, str | int] | None = None,
        seconds: float = REMOTE_DELIVERY_SECONDS_MAX,
        or_missing: bool = False,
    ) -> Json | None:
        http = self._http
        if http is None:
            if self._opening is None or self._opening.done():  # one question for all who wait
                self._opening = asyncio.create_task(self._open())
            try:
                http = await asyncio.shield(self._opening)
            except StoreUnavailableError as error:  # the keyring; its message says what to do
                raise RemoteBlockedError(str(error)) from error
        return await http.ask(
            method, path, seconds=seconds, body=body, params=params, or_missing=or_missing
        )

    async def _open(self) -> "HttpClient":
        """Make the client and keep it in one step, so that no later caller makes another."""
        self._http = await run_in_daemon_thread(self._make_http_client)
        return self._http

    def _make_http_client(self) -> "HttpClient":
        from memory_mcp.storage.supermemory.http import HttpClient  # noqa: PLC0415  # httpx

        return HttpClient(self._base_url, self._key())


def _namespace_path(namespace: str) -> str:
    """The path of a namespace; no name leads out of it."""
    if _NAMESPACE.fullmatch(namespace) is None:
        raise AssertionError(f"no namespace: {namespace!r}")
    return f"/ns/{namespace}"


async def _parse(shape: type[A], answer: Json | None) -> A:
    try:
        return await asyncio.to_thread(shape.model_validate, answer or {})
    except ValidationError as error:
        raise RemoteUnavailableError(
            f"The service answered in a shape that is not its own ({error.error_count()} fields)."
        ) from error


def _error(words: str) -> str:
    return make_message_line(words, REMOTE_ERROR_CHARS_MAX)


def _fact(words: str) -> str:
    return make_message_line(words, REMOTE_FACT_CHARS_MAX)


def _state(status: str) -> DocumentState:
    return status if status in ("done", "failed") else "processing"


def _our_id(metadata: Mapping[str, Any], document_id: str = "") -> RecordId | None:
    for value in (metadata.get("memory_id"), document_id):
        if isinstance(value, str) and is_record_id(value):
            return RecordId(value)
    return None
