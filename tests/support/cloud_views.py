"""What the cloud service shows of its documents: filters, chunks, hits and rows. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

Json = dict[str, Any]
Status = Literal["queued", "done", "failed"]
TaskType = Literal["memory", "superrag"]

CHUNK_CHARS_MAX: Final = 500
_PIECE: Final = re.compile(
    rf"\S(?:.{{0,{CHUNK_CHARS_MAX - 2}}}\S)?(?=\s|$)|\S{{1,{CHUNK_CHARS_MAX}}}", re.DOTALL
)
_WORD: Final = re.compile(r"\w+")


@dataclass
class Document:
    """One document of a namespace; `content` is what was sent, byte for byte.

    It is `queued` until `ready_at`, and found by no search before. `id` is the caller's, where the
    caller chose one; `vendor_id` is accepted everywhere too.
    """

    id: str
    vendor_id: str
    content: str
    accepted: int
    created_at: datetime
    updated_at: datetime
    ready_at: datetime
    metadata: Json = field(default_factory=dict[str, Any])
    task_type: TaskType = "memory"
    given: Json = field(default_factory=dict[str, Any])
    forgotten: bool = False

    @property
    def chunks(self) -> list[str]:
        """The content in pieces of at most 500 characters, cut between words if possible."""
        return _PIECE.findall(self.content)

    @property
    def memory_id(self) -> str:
        return f"fact_{self.vendor_id}"

    @property
    def has_memory(self) -> bool:
        """Only the pipeline `memory` extracts anything; here, the content as it is."""
        return self.task_type == "memory"


@dataclass(frozen=True)
class View:
    """How this service answers where the vendor's documents leave it open."""

    own_ids: bool = True
    hits_have_metadata: bool = True
    neq_matches_missing: bool = True

    def id_of(self, document: Document) -> str:
        return document.id if self.own_ids else document.vendor_id

    def matches(self, wanted: Json | None, metadata: Json) -> bool:
        """Whether a filter lets a document through."""
        if wanted is None:
            return True
        if "operands" in wanted:
            parts = (self.matches(operand, metadata) for operand in wanted["operands"])
            return all(parts) if wanted["operator"] == "and" else any(parts)
        name: str = wanted["field"]
        if name.startswith("sm_"):
            return False  # reserved, and not indexed
        negation = _NEGATIONS.get(wanted["operator"])
        if name not in metadata:
            return negation is not None and self.neq_matches_missing
        test = _TESTS[negation or wanted["operator"]]
        cased = wanted.get("caseSensitive", True)
        return test(_folded(metadata[name], cased), _folded(wanted["value"], cased)) != bool(
            negation
        )

    def hits(self, documents: Iterable[Document], asked: Json) -> list[Json]:
        """The hits of a search over documents that are done, best first.

        JSON knows no integers, so a limit may come as 10.0.
        """
        query = words(asked["query"])
        include: Json = asked.get("include", {})
        mode = asked.get("searchMode", "hybrid")
        found: list[tuple[float, Json]] = []
        for document in documents:
            if not self.matches(asked.get("filter"), document.metadata):
                continue
            texts: list[Json] = []
            shown = document.has_memory and (include.get("forgotten") or not document.forgotten)
            if mode != "chunks" and shown:
                texts.append({"id": document.memory_id, "memory": document.content})
            if mode != "memories":
                texts += [{"id": c["id"], "chunk": c["content"]} for c in chunk_rows(document)]
            for text in texts:
                score = similarity(query, text.get("chunk") or text.get("memory", ""))
                if score >= asked.get("threshold", 0.3):
                    found.append((score, self._hit(document, text, score, include)))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [hit for _, hit in found[: int(asked.get("limit", 10))]]

    def _hit(self, document: Document, text: Json, score: float, include: Json) -> Json:
        included: Json = {}
        if include.get("documents"):
            included["document"] = {
                "id": self.id_of(document),
                "title": None,
                "type": "text",
                "metadata": document.metadata,
                "summary": None,
                "system": _stamps(document),
            }
        if include.get("related"):
            included["related"] = {"parents": [], "children": [], "siblings": []}
        return {
            **text,
            "metadata": document.metadata if self.hits_have_metadata else {},
            "similarity": score,
            "isLatest": True,
            "isInference": False,
            "system": _stamps(document),
            **({"included": included} if included else {}),
        }

    def whole(self, document: Document, status: Status) -> Json:
        """The answer to a GET."""
        return {
            "id": self.id_of(document),
            "title": None,
            "type": "text",
            "summary": None,
            "content": document.content,
            "metadata": document.metadata,
            "system": {"status": status, "dreamingStatus": _dreaming(status), **_stamps(document)},
        }

    def row(self, document: Document, status: Status, include: Json) -> Json:
        """The document as a list shows it."""
        row: Json = {**self.whole(document, status), "url": None}
        if not include.get("content", False):
            del row["content"]
        if include.get("memoryCount", True):
            row["system"]["memoryCount"] = int(document.has_memory and status == "done")
        return row

    def chunk_rows(self, document: Document) -> list[Json]:
        """The chunks as a list shows them."""
        owner = self.id_of(document)
        return [{**chunk, "documentId": owner} for chunk in chunk_rows(document)]


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def similarity(query: frozenset[str], text: str) -> float:
    """The share of the query's words that the text has."""
    return len(query & words(text)) / len(query) if query else 0.0


def chunk_rows(document: Document) -> list[Json]:
    """The chunks of a document. Their ids are never the id of the document."""
    return [
        {
            "id": f"chk_{document.vendor_id}_{position}",
            "position": position,
            "content": content,
            "type": "text",
            "metadata": document.metadata,
            "system": {"createdAt": document.created_at.isoformat()},
        }
        for position, content in enumerate(document.chunks)
    ]


def memory_row(document: Document) -> Json:
    """What was learned from a document, as a list shows it."""
    return {
        "id": document.memory_id,
        "memory": document.content,
        "metadata": document.metadata,
        "isStatic": False,
        "isInference": False,
        "isLatest": True,
        "isForgotten": document.forgotten,
        "version": 1,
        "system": _stamps(document),
    }


def page_of(rows: Sequence[Json], page: int, limit: int) -> tuple[list[Json], Json]:
    """One page, and where it stands."""
    start = (page - 1) * limit
    pages = -(-len(rows) // limit)
    return list(rows[start : start + limit]), {
        "currentPage": page,
        "limit": limit,
        "totalItems": len(rows),
        "totalPages": pages,
    }


def _stamps(document: Document) -> Json:
    return {
        "createdAt": document.created_at.isoformat(),
        "updatedAt": document.updated_at.isoformat(),
    }


def _dreaming(status: Status) -> str:
    return "dreaming" if status == "queued" else "done"


def _folded(value: Any, cased: bool) -> Any:  # noqa: FBT001  # passed on from the filter
    return value.casefold() if isinstance(value, str) and not cased else value


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(test: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    return lambda there, wanted: _number(there) and test(there, wanted)


def _same(there: Any, wanted: Any) -> bool:
    """Equal and of one kind: `True` is not the number 1, nor the text `1`."""
    return isinstance(there, bool) == isinstance(wanted, bool) and there == wanted


_TESTS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": _same,
    "contains": lambda there, wanted: isinstance(there, str) and wanted in there,
    "arrayContains": lambda there, wanted: isinstance(there, list) and wanted in there,
    "gt": _compared(lambda there, wanted: there > wanted),
    "gte": _compared(lambda there, wanted: there >= wanted),
    "lt": _compared(lambda there, wanted: there < wanted),
    "lte": _compared(lambda there, wanted: there <= wanted),
}
_NEGATIONS: Final = {"neq": "eq", "notContains": "contains", "arrayNotContains": "arrayContains"}
