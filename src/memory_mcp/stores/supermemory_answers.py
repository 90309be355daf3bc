"""What Supermemory answers (v5), as far as we rely on it. Anything else is no answer.

Shapes from the vendor's OpenAPI document of SDK 5.0.1; answers may grow, so more is ignored.
"""

from typing import Any

from pydantic import BaseModel, Field, FiniteFloat

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

    results: list[_BatchItem]
    count: Count
    failed: Count


class _DeleteFailure(BaseModel):
    id: str
    error: str


class DeletedAnswer(BaseModel):
    """Each id was tried on its own."""

    count: Count
    errors: list[_DeleteFailure]


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

    documents: list[DocumentAnswer]
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

    results: list[_Hit]
    searchTime: FiniteFloat  # noqa: N815


class _Fact(BaseModel):
    memory: str


class _Facts(BaseModel):
    static: list[_Fact]
    dynamic: list[_Fact]


class ProfileAnswer(BaseModel):
    """What the service made of a namespace."""

    profile: _Facts


class NamespacesAnswer(BaseModel):
    """The namespaces that the key may see: proof that the server speaks v5."""

    namespaces: list[Any]
    pagination: _Pagination
