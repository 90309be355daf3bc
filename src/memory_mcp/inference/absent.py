"""The embedder of a machine that was told to have one and has none."""

from collections.abc import Sequence
from typing import NoReturn

from memory_mcp.domain.vectors import Passage, QueryVectors
from memory_mcp.errors import ModelUnavailableError

__all__ = ["AbsentEmbedder"]


class AbsentEmbedder:
    """Every call says what is missing. Its identity names no vectors, because it makes none."""

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self.why = why

    @property
    def here(self) -> bool:
        return False

    @property
    def identity(self) -> str:
        return f"{self._name}/absent"

    async def passages(self, texts: Sequence[str]) -> list[Passage]:
        del texts
        self._refuse()

    async def question(self, text: str) -> QueryVectors:
        del text
        self._refuse()

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _refuse(self) -> NoReturn:
        raise ModelUnavailableError(self.why)
