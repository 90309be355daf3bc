"""What Supermemory answers (v5), as far as we rely on it. Anything else is no answer.

Shapes from the vendor's OpenAPI document of SDK 5.0.1; answers may grow, so more is ignored. A list
has no more items than were asked for, and the first that is wrong ends the reading: of a million
that are, each would be an error of its own.
"""

from typing import Annotated, Any

from pydantic import BaseModel, FailFast, Field, FiniteFloat

from memory_mcp.domain.limits import BATCH_IDS_MAX, REMOTE_HITS_MAX

__all__ = [
    "AcceptedAnswer",
    "BatchAnswer",
    "DeletedAnswer",
    "DocumentAnswer",
    "ListAnswer",
    "NamespacesAnswer",
    "ProfileAnswer",
    "SearchAnswer",
]

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
