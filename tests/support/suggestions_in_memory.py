"""Suggestions in memory."""

from collections.abc import Callable

from memory_mcp.domain.captures import Suggestions


class MemorySuggestions:
    """Implements `ports.SuggestionStore`."""

    def __init__(self) -> None:
        self.known: Suggestions = ()

    async def load(self) -> Suggestions:
        return self.known

    async def change(self, change: Callable[[Suggestions], Suggestions]) -> None:
        self.known = change(self.known)
