"""Embedders behind an address, as tests ask them."""

import traceback
from typing import Any, Final

import pytest

from memory_mcp.domain.secret import Secret
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.embedders import OllamaEmbedder, OpenAiEmbedder

KEY: Final = "sk-zebra42"

Embedder = OpenAiEmbedder | OllamaEmbedder


def made(make: type[Embedder], url: str, **options: Any) -> Embedder:
    """An embedder that does not wait before it tries again."""
    return make(url, "letters", Secret(KEY), **{"retry_seconds": 0.0, **options})


async def failure(embedder: Embedder, text: str = "tea") -> str:
    """What an embedder says that cannot answer; a passage says the same, or that it rests."""
    with pytest.raises(ModelUnavailableError) as caught:
        await embedder.question(text)
    with pytest.raises(ModelUnavailableError) as again:
        await embedder.passages([text])
    await embedder.aclose()
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in f"{shown} {embedder!r}"
    assert str(again.value) == str(caught.value) or "is left alone for" in str(again.value)
    return str(caught.value)
