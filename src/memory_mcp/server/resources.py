"""The resources: what a client can read, list and attach without a tool call.

Descriptions are written for the model that chooses among them. Recalled text comes fenced as data.
The list is short and rarely changes: people choose from it with `@`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, unquote

from mcp_types import Annotations, Resource, ResourceTemplate

from memory_mcp import branches, profile, sessions
from memory_mcp.bootstrap.views import read_history
from memory_mcp.branches.get import get_checkpoint, get_memory, list_checkpoints
from memory_mcp.domain.limits import HISTORY_RECORDS_MAX, LISTED_CHECKPOINTS_MAX
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.record import format_time
from memory_mcp.domain.timeline import Checkpoint
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, MemoryMcpError
from memory_mcp.render.outcomes import render_text

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


@dataclass(frozen=True)
class _Listed:
    """A resource, or a template of some, as a client lists it."""

    uri: str
    name: str
    title: str
    description: str
    priority: float
    audience: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    mime_type: str = "text/markdown"

    @property
    def annotations(self) -> Annotations:
        return Annotations(audience=list(self.audience), priority=self.priority)


@dataclass(frozen=True, kw_only=True)
class _FixedResource(_Listed):
    """A resource that there is always."""

    read: Callable[[Workspace], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class _ResourceById(_Listed):
    """Resources that are told apart by an id."""

    read: Callable[[Workspace, str], Awaitable[str]]

    @property
    def prefix(self) -> str:
        return self.uri.partition("{")[0]


async def _context(workspace: Workspace) -> str:
    return render_text(
        await sessions.memory_context(workspace, "", workspace.policy.opening.bootstrap_tokens)
    )


async def _head(workspace: Workspace) -> str:
    return render_text(await branches.report_head(workspace))


async def _profile(workspace: Workspace) -> str:
    return render_text(await profile.get_profile(workspace))


async def _history(workspace: Workspace) -> str:
    return render_text(await read_history(workspace, HISTORY_RECORDS_MAX))


async def _memory(workspace: Workspace, memory_id: str) -> str:
    return render_text(await get_memory(workspace, memory_id))


async def _checkpoint(workspace: Workspace, checkpoint_id: str) -> str:
    return render_text(await get_checkpoint(workspace, checkpoint_id))


RESOURCES: Final[tuple[_FixedResource, ...]] = (
    _FixedResource(
        CONTEXT,
        "context",
        "What matters now",
        "The opening of a session: who the user is, where the project stands, preferences, "
        "lessons, decisions that hold. The same as the tool memory_context without a task.",
        priority=1.0,
        audience=("assistant",),
        read=_context,
    ),
    _FixedResource(
        HEAD,
        "head",
        "Where the project stands",
        "Phase, checkpoints with what a backtrack to each would hide, approvals pending, lines "
        "that can be restored. The same as the tool memory_head.",
        priority=0.8,
        mime_type="text/plain",
        read=_head,
    ),
    _FixedResource(
        PROFILE,
        "profile",
        "Who the user is",
        "What the user said of themselves, field by field, with the memory each rests on.",
        priority=0.5,
        read=_profile,
    ),
    _FixedResource(
        HISTORY,
        "history",
        "What happened",
        "Dated paragraphs, newest first: what was told, checkpoints, episodes of sessions. Only "
        "what holds on this line.",
        priority=0.4,
        read=_history,
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
        read=_memory,
    ),
    _ResourceById(
        CHECKPOINT,
        "checkpoint",
        "One checkpoint",
        "Its summary, what a backtrack to it would hide, and what was decided and closed with it. "
        "{id} is its id, or a phase.",
        priority=0.6,
        read=_checkpoint,
    ),
)


async def read_resource(workspace: Workspace, uri: str) -> str:
    """The text of a resource. A memory that is off says so, which is no error.

    Raises:
        UnknownResourceError: there is no resource of that form.
        UnknownMemoryError, UnknownTargetError, InvalidRequestError: not of that id; says why.
        StoreError: it could not be read.
    """
    wanted = uri.removesuffix("/")
    for whole in RESOURCES:
        if wanted == whole.uri:
            return await whole.read(workspace)
    for named in TEMPLATES:
        if wanted.startswith(named.prefix):
            return await named.read(workspace, unquote(wanted.removeprefix(named.prefix)))
    raise UnknownResourceError(uri)


def mime_type_of(uri: str) -> str:
    """Of what type the text of a resource is."""
    return next((each.mime_type for each in RESOURCES if each.uri == uri), "text/markdown")


async def list_resources(workspace: Workspace) -> list[Resource]:
    """What there is always, and the newest checkpoints one can go back to."""
    always = [
        Resource(
            uri=each.uri,
            name=each.name,
            title=each.title,
            description=each.description,
            mime_type=each.mime_type,
            annotations=each.annotations,
        )
        for each in RESOURCES
    ]
    try:
        valid = await list_checkpoints(workspace)
    except MemoryMcpError:  # whoever reads one is told what is wrong
        return always
    return [*always, *(_restore_point(each) for each in valid[:LISTED_CHECKPOINTS_MAX])]


def list_templates() -> Sequence[ResourceTemplate]:
    """The forms of URI that take an id."""
    return [
        ResourceTemplate(
            uri_template=each.uri,
            name=each.name,
            title=each.title,
            description=each.description,
            mime_type=each.mime_type,
            annotations=each.annotations,
        )
        for each in TEMPLATES
    ]


def _restore_point(known: Checkpoint) -> Resource:
    phase = "" if known.phase is None else f"Phase {known.phase}: "
    title = cut(f"{phase}{' '.join(known.summary.split())}", _TITLE_CHARS_MAX)
    return Resource(
        uri=CHECKPOINT.replace("{id}", quote(known.id)),
        name=known.id,
        title=title,
        description="A checkpoint: its summary, what was decided, what a backtrack would hide.",
        mime_type="text/markdown",
        annotations=Annotations(
            audience=["user", "assistant"], priority=0.3, last_modified=format_time(known.at)
        ),
    )
