"""Which tools there are, in the order a model should meet them."""

from mcp_types import ToolAnnotations

from memory_mcp.server.hook_tools import prompt_context
from memory_mcp.server.memory_tools import (
    add_memory,
    forget_memory,
    memory_context,
    search_memories,
    update_memory,
)
from memory_mcp.server.session_tools import consolidate, episodic_capture
from memory_mcp.server.speak import SpeakingTool, speaking
from memory_mcp.server.timeline_tools import backtrack, checkpoint, memory_head, switch_branch

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(destructive_hint=False, open_world_hint=False)
_ERASES = ToolAnnotations(destructive_hint=True, open_world_hint=False)


def default_tools() -> list[SpeakingTool]:
    """The tools every client gets."""
    return [
        speaking(add_memory, _ADDS),
        speaking(search_memories, _READS),
        speaking(memory_context, _READS, "prose"),
        speaking(memory_head, _READS, "prose"),
        speaking(checkpoint, _ADDS),
        speaking(backtrack, _ERASES),
        speaking(update_memory, _ADDS),
        speaking(forget_memory, _ERASES),
        speaking(consolidate, _ADDS),
    ]


def toolset(name: str) -> list[SpeakingTool]:
    """The tools of a further toolset."""
    match name:
        case "branches":
            return [speaking(switch_branch, _ADDS)]
        case "session":
            return [speaking(episodic_capture, _ADDS)]
        case "hooks":
            return [speaking(prompt_context, _READS, "prose")]
        case _:
            raise AssertionError(name)  # the settings know the toolsets
