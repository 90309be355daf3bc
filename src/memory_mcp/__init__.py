"""A memory for agents that stays coherent when the user goes back on a decision."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mcp.api import Memory

__all__ = ["Memory", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load the API when it is asked for: a hook must start without it."""
    if name == "Memory":
        from memory_mcp.api import Memory  # noqa: PLC0415

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
