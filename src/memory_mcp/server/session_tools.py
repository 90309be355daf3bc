"""The tools for a session's beginning and end. Descriptions are written for the model."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BeforeValidator, ConfigDict, Field

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.context.episode_text import episode_fields
from memory_mcp.context.session_text import consolidation_fields
from memory_mcp.domain.consolidation import ToConsolidate
from memory_mcp.domain.episodes import Turn
from memory_mcp.domain.given import Given, spoken
from memory_mcp.server.asks import rooms_of
from memory_mcp.server.speak import answer


class Message(Given):
    """One message of the session."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: str
    at: datetime | None = None


async def episodic_capture(
    *,
    turns: Annotated[
        list[Message],
        BeforeValidator(spoken),
        Field(description="The last dozen messages, oldest first, without tool output"),
    ],
    turn: Annotated[int, Field(description="Number of the last one in the session, from 1")],
    ctx: Context[Rooms],
    final: Annotated[bool, Field(description="The session ends here")] = False,
) -> CallToolResult:
    """Write down what the last messages were about, as an episode.

    Call it now and then, and at the end: it sums up, leaves out small talk and what was recalled,
    and waits by itself if it is too early.
    """
    given = [Turn(each.role, each.content, _aware(each.at)) for each in turns]
    outcome = await app.episodic_capture(rooms_of(ctx), given, turn, final=final)
    return answer(episode_fields(outcome))


async def consolidate(
    *,
    ctx: Context[Rooms],
    history_entry: Annotated[str, Field(description="What happened, as one paragraph")] = "",
    memory_update: Annotated[str, Field(description="What is true now")] = "",
    insights: Annotated[
        str | list[str],
        Field(description="All that was learnt"),
    ] = "",
    session_id: Annotated[str, Field(description="If not yours")] = "",
    final: Annotated[bool, Field(description="It ends here")] = False,
) -> CallToolResult:
    """Hand on what a later session needs, now and then and at the end.

    memory_update and insights replace this session's earlier ones. Without text it answers
    what was handed on last.
    """
    texts = [insights] if isinstance(insights, str) else insights
    given = ToConsolidate(
        history_entry=history_entry,
        memory_update=memory_update,
        insights=tuple(text for text in texts if text.strip()),
        session=session_id.strip(),
        final=final,
    )
    rooms = rooms_of(ctx)
    outcome = await app.consolidate(rooms, given)
    if history_entry or memory_update or given.insights:
        rooms.session.handed_on(rooms.conversation)
    return answer(consolidation_fields(outcome))


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
