"""The tools that write and read memories. Descriptions are written for the model."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import ConfigDict, Field

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.context.receipts import added_fields, forgotten_fields
from memory_mcp.context.render import Block
from memory_mcp.context.words import found_fields
from memory_mcp.domain.drafts import Draft, Reach
from memory_mcp.domain.given import Given
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.limits import RESULTS_DEFAULT
from memory_mcp.domain.outcomes import Skipped
from memory_mcp.domain.views import Filters, Wish
from memory_mcp.server.asks import rooms_of
from memory_mcp.server.speak import answer, prose

GivenKind = Literal[
    "fact", "preference", "convention", "pattern", "identity", "decision", "lesson", "event"
]
HappenedKind = Literal["checkpoint", "closeout", "summary", "episode"]
AnyKind = Literal[GivenKind, HappenedKind]
"""One list of names: a union would cost every session two."""
Rs = Context[Rooms]

REMINDER: Final = (
    "Much was stored without a restore point: if a piece of work is done, call checkpoint; if not, "
    "consolidate."
)
"""What receipts say where no hook says it."""


class Metadata(Given):
    """What describes a memory."""

    model_config = ConfigDict(extra="forbid")

    title: str = ""
    category: str = ""
    tags: list[str] = Field(default_factory=list[str])
    importance: int = Field(default=3, description="1-5")
    pinned: bool = False
    expires_at: datetime | None = None


async def add_memory(
    *,
    content: Annotated[str, Field(description="One self-contained statement, ≤ 8000 characters")],
    ctx: Rs,
    metadata: Metadata | None = None,
    kind: GivenKind = "fact",
    scope: Annotated[
        Literal["project", "user"], Field(description="user: holds in every project")
    ] = "project",
    supersedes: Annotated[
        list[str] | None, Field(description="memoryIds that this replaces")
    ] = None,
    phase: int | None = None,
    gate: Annotated[bool, Field(description="store it only if it is worth keeping")] = False,
) -> CallToolResult:
    """Remember one thing: a decision with its reason, a fact, a preference, a lesson.

    preference, convention, pattern, identity and lesson are durable: no backtrack hides them.
    Secrets are taken out. A newer version of a known fact takes its place; read the receipt.
    """
    about = metadata or Metadata()
    draft = Draft(
        content=content,
        kind=kind,
        title=about.title,
        category=about.category,
        tags=tuple(about.tags),
        importance=about.importance,
        pinned=about.pinned,
        expires_at=_aware(about.expires_at),
        phase=phase,
        supersedes=tuple(supersedes or ()),
        reach=scope,
    )
    rooms = rooms_of(ctx)
    return _receipt(rooms, added_fields(await app.add_memory(rooms, draft, gate=gate)))


async def search_memories(
    *,
    ctx: Rs,
    query: Annotated[str, Field(description="empty: the newest")] = "",
    limit: Annotated[int, Field(description="1-10")] = RESULTS_DEFAULT,
    category: str = "",
    tags: Annotated[list[str] | None, Field(description="all must match")] = None,
    key: Annotated[str, Field(description="user:preferences:name or user:*")] = "",
    kind: AnyKind | None = None,
    phase: int | None = None,
    scope: Annotated[Reach | None, Field(description="default: both")] = None,
    branch: Annotated[str, Field(description="written on it")] = "",
    since: datetime | None = None,
    until: datetime | None = None,
    min_score: Annotated[float, Field(description="0.5: more likely relevant than not")] = 0.0,
    diverse: Annotated[bool, Field(description="leave out near twins")] = False,
    why: Annotated[bool, Field(description="show each score's parts")] = False,
) -> CallToolResult:
    """Recall what holds now, before you assume or ask. Ask as you would a person: words may differ.

    Never returns what was abandoned, superseded or forgotten, or has expired. An empty list:
    nothing relevant is known.
    """
    filters = Filters(
        category=category,
        key=key.strip(),
        tags=tuple(tags or ()),
        kinds=frozenset({kind} if kind else ()),
        phase=phase,
        branch=BranchName(branch) if branch else None,
        reach=scope,
        since=_aware(since),
        until=_aware(until),
    )
    wish = Wish(min_score=min_score, diverse=diverse)
    found = await app.search_memories(rooms_of(ctx), query, filters, limit, wish)
    return answer(found_fields(found, why=why, keys=bool(key)))


async def memory_context(
    *,
    ctx: Rs,
    task: Annotated[str, Field(description="What you are about to do")] = "",
    budget_tokens: int | None = None,
    since: Annotated[
        str, Field(description="Only what changed: since=… of an earlier context, or a time")
    ] = "",
) -> CallToolResult:
    """What matters now, within a token budget. Call it first in a session.

    Head, decisions that hold, preferences, lessons, open issues, and what fits the task.
    """
    match await app.memory_context(rooms_of(ctx), task, budget_tokens, since):
        case Block() as block:
            return prose(block.text)
        case Skipped(reason):
            return prose(reason)


async def update_memory(
    *,
    memory_id: str,
    content: Annotated[str, Field(description="The whole new text")],
    ctx: Rs,
    title: str = "",
    reason: Annotated[str, Field(description="Why the old text is wrong")] = "",
) -> CallToolResult:
    """Correct a memory: the new text replaces the old one."""
    rooms = rooms_of(ctx)
    outcome = await app.update_memory(rooms, memory_id, content, title, reason)
    return _receipt(rooms, added_fields(outcome))


async def forget_memory(
    *,
    memory_id: str,
    ctx: Rs,
    mode: Annotated[
        Literal["erase", "hide"], Field(description="hide: it no longer holds, but keep it")
    ] = "erase",
    reason: Annotated[str, Field(description="Why it is wrong, if it is")] = "",
) -> CallToolResult:
    """Erase one memory everywhere, for good; or hide it from here on."""
    rooms = rooms_of(ctx)
    outcome = await app.forget_memory(rooms, memory_id, reason, erase=mode == "erase")
    return _receipt(rooms, forgotten_fields(outcome))


def _receipt(rooms: Rooms, fields: Mapping[str, Any]) -> CallToolResult:
    """What came of a call that writes; every now and then with a reminder to sum up."""
    interval = rooms.policy.opening.interval if rooms.policy.reminds else 0
    if fields.get("success", True) and interval:
        written = rooms.session.wrote(rooms.conversation)
        if written and written % interval == 0:
            return answer({**fields, "reminder": REMINDER})
    return answer(fields)


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
