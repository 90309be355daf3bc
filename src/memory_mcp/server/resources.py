"""The resources: what a client can read, list and attach without a tool call.

Descriptions are written for the model that chooses among them. Recalled text comes fenced as data.
The list is short and rarely changes: people choose from it with `@`.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, Literal, TypeVar
from urllib.parse import quote, unquote

from mcp_types import Annotations, Resource, ResourceTemplate

from memory_mcp import branches, profile, sessions
from memory_mcp.bootstrap.pages import read_history
from memory_mcp.branches.get import get_checkpoint, get_memory, list_checkpoints
from memory_mcp.domain.limits import HISTORY_RECORDS_MAX, LISTED_CHECKPOINTS_MAX
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.record import format_time
from memory_mcp.domain.timeline import Checkpoint
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.frozen import frozen
from memory_mcp.render.outcomes import Readable, render_text

CONTEXT: Final = "memory://context"
HEAD: Final = "memory://head"
PROFILE: Final = "memory://profile"
HISTORY: Final = "memory://history"
MEMORY: Final = "memory://memory/{id}"
CHECKPOINT: Final = "memory://checkpoint/{id}"

_TITLE_CHARS_MAX: Final = 80


class UnknownResourceError(InvalidRequestError):
    """Nothing of ours has this URI."""

    def __init__(self, uri: str) -> None:
        known = ", ".join([*(each.uri for each in RESOURCES), *(each.uri for each in TEMPLATES)])
        super().__init__(f"No resource {uri[:_TITLE_CHARS_MAX]!r}. Known: {known}.")


R = TypeVar("R")


@frozen
class _ListedEntry(Generic[R]):
    """A resource, or a template of some, as a client lists it, and what reads one."""

    uri: str
    name: str
    title: str
    description: str
    priority: float
    read: R
    audience: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    mime_type: str = "text/markdown"

    def listing(self) -> dict[str, Any]:
        """The fields that a resource and a template are listed with."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mime_type": self.mime_type,
            "annotations": Annotations(audience=list(self.audience), priority=self.priority),
        }


_FixedResource = _ListedEntry[Callable[[Workspace], Awaitable[Readable]]]


@frozen
class _ResourceById(_ListedEntry[Callable[[Workspace, str], Awaitable[Readable]]]):
    """Resources that are told apart by an id."""

    @property
    def prefix(self) -> str:
        return self.uri.partition("{")[0]


async def _read_context(workspace: Workspace) -> Readable:
    return await sessions.memory_context(workspace, "", workspace.policy.opening.bootstrap_tokens)


async def _read_history(workspace: Workspace) -> Readable:
    return await read_history(workspace, HISTORY_RECORDS_MAX)


RESOURCES: Final[tuple[_FixedResource, ...]] = (
    _FixedResource(
        CONTEXT,
        "context",
        "What matters now",
        "The opening of a session: who the user is, where the project stands, preferences, "
        "lessons, decisions that hold. The same as the tool memory_context without a task.",
        priority=1.0,
        audience=("assistant",),
        read=_read_context,
    ),
    _FixedResource(
        HEAD,
        "head",
        "Where the project stands",
        "Phase, checkpoints with what a backtrack to each would hide, approvals pending, lines "
        "that can be restored. The same as the tool memory_head.",
        priority=0.8,
        mime_type="text/plain",
        read=branches.report_head,
    ),
    _FixedResource(
        PROFILE,
        "profile",
        "Who the user is",
        "What the user said of themselves, field by field, with the memory each rests on.",
        priority=0.5,
        read=profile.get_profile,
    ),
    _FixedResource(
        HISTORY,
        "history",
        "What happened",
        "Dated paragraphs, newest first: what was told, checkpoints, episodes of sessions. Only "
        "what holds on this line.",
        priority=0.4,
        read=_read_history,
    ),
)

TEMPLATES: Final[tuple[_ResourceById, ...]] = (
    _ResourceById(
        MEMORY,
        "memory",
        "One memory, whole",
        "The text of a memory as it was written, and what is known about it. {id} is its memoryId. "
        "One that does not hold any more is not shown; the error says what became of it.",
        priority=0.6,
        read=get_memory,
    ),
    _ResourceById(
        CHECKPOINT,
        "checkpoint",
        "One checkpoint",
        "Its summary, what a backtrack to it would hide, and what was decided and closed with it. "
        "{id} is its id, or a phase.",
        priority=0.6,
        read=get_checkpoint,
    ),
)


async def read_resource(workspace: Workspace, uri: str) -> str:
    """The text of a resource. A memory that is off says so, which is no error.

    Raises:
        UnknownResourceError: there is no resource of that form.
        UnknownMemoryError, UnknownTargetError, InvalidRequestError: not of that id; says why.
        StoreError: it could not be read.
    """
    uri_read = uri.removesuffix("/")
    for resource in RESOURCES:
        if uri_read == resource.uri:
            return render_text(await resource.read(workspace))
    for template in TEMPLATES:
        if uri_read.startswith(template.prefix):
            resource_id = unquote(uri_read.removeprefix(template.prefix))
            return render_text(await template.read(workspace, resource_id))
    raise UnknownResourceError(uri)


def find_mime_type(uri: str) -> str:
    """The type of a resource's text."""
    return next((each.mime_type for each in RESOURCES if each.uri == uri), "text/markdown")


async def list_resources(workspace: Workspace) -> list[Resource]:
    """What there is always, and the newest checkpoints one can go back to."""
    fixed = [Resource(uri=each.uri, **each.listing()) for each in RESOURCES]
    try:
        valid = await list_checkpoints(workspace)
    except MemoryMcpError:  # whoever reads one is told what is wrong
        return fixed
    return [*fixed, *(_list_checkpoint(each) for each in valid[:LISTED_CHECKPOINTS_MAX])]


def list_templates() -> list[ResourceTemplate]:
    """The forms of URI that take an id."""
    return [ResourceTemplate(uri_template=each.uri, **each.listing()) for each in TEMPLATES]


def _list_checkpoint(checkpoint: Checkpoint) -> Resource:
    phase = "" if checkpoint.phase is None else f"Phase {checkpoint.phase}: "
    return Resource(
        uri=CHECKPOINT.replace("{id}", quote(checkpoint.id)),
        name=checkpoint.id,
        title=cut(f"{phase}{' '.join(checkpoint.summary.split())}", _TITLE_CHARS_MAX),
        description="A checkpoint: its summary, what was decided, what a backtrack would hide.",
        mime_type="text/markdown",
        annotations=Annotations(
            audience=["user", "assistant"], priority=0.3, last_modified=format_time(checkpoint.at)
        ),
    )
