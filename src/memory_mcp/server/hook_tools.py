"""The tool that Claude Code's hooks call with each prompt; no model has a use for it."""

import asyncio
import logging
from typing import Annotated, Final

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from pydantic_core import to_json

from memory_mcp import app
from memory_mcp.app.rooms import Rooms
from memory_mcp.domain.hook_limits import PROMPT_SECONDS_MAX
from memory_mcp.errors import MemoryMcpError
from memory_mcp.server.asks import rooms_of
from memory_mcp.server.speak import prose

_LOG: Final = logging.getLogger("memory_mcp.hooks")


async def prompt_context(
    *,
    prompt: Annotated[str, Field(description="As the user typed it")],
    session_id: Annotated[str, Field(description="The client's name for the session")] = "",
    ctx: Context[Rooms],
) -> CallToolResult:
    """Called by hooks with each prompt, never by you: use search_memories or memory_context."""
    said = ""
    try:
        async with asyncio.timeout(PROMPT_SECONDS_MAX):
            said = await app.prompt_context(rooms_of(ctx), prompt, session_id)
    except MemoryMcpError as error:
        _LOG.warning("nothing was recalled for a prompt: %s", error)
    except Exception:  # noqa: BLE001  # whatever it is, the prompt goes on without memory
        _LOG.warning("nothing was recalled for a prompt", exc_info=True)
    if not said:
        return prose("{}")
    context = {"hookEventName": "UserPromptSubmit", "additionalContext": said}
    return prose(to_json({"hookSpecificOutput": context}).decode())
