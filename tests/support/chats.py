"""Chat models behind an address, as tests ask them, and the time that passes between."""

import re
import traceback
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from memory_mcp.domain.secret import Secret
from memory_mcp.errors import ModelUnavailableError
from memory_mcp.models.chat import ChatModel

KEY: Final = "sk-zebra42"
MODEL: Final = "talker"


Ask = Callable[[ChatModel], Awaitable[object]]


class Later:
    """The clock by which a server is left alone; it stands until `passes`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._now = 1_000.0
        clock = SimpleNamespace(monotonic=lambda: self._now)
        patch.setattr("memory_mcp.models.endpoint.time", clock)

    def passes(self, seconds: float) -> None:
        self._now += seconds


async def pause(model: ChatModel) -> int:
    """For how many seconds the model is left alone now."""
    with pytest.raises(ModelUnavailableError) as caught:
        await model.classify("x")
    (seconds,) = re.findall(r"is left alone for another (\d+) s\.$", str(caught.value))
    return int(seconds)


def made(url: str, **options: Any) -> ChatModel:
    """A model that does not wait before it tries again."""
    return ChatModel(url, MODEL, Secret(KEY), **{"retry_seconds": 0.0, **options})


async def failure(model: ChatModel, ask: Ask) -> str:
    """What a model says that cannot answer; nowhere in it is the key, or what hides one."""
    with pytest.raises(ModelUnavailableError) as caught:
        await ask(model)
    await model.aclose()
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in f"{shown} {model!r}"
    assert str(caught.value).isprintable()
    return str(caught.value)
