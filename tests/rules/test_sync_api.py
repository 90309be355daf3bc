"""The two faces of the Python API are one: the same methods, signatures and words."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from memory_mcp.api import Memory, SyncMemory


def public(cls: type) -> dict[str, Any]:
    return {
        name: each
        for name, each in vars(cls).items()
        if not name.startswith("_") and name not in ("open", "open_sync")
    }


def parameters(method: Callable[..., Any]) -> list[tuple[str, object, object, object]]:
    signature = inspect.signature(method)
    return [
        (each.name, each.kind, each.default, each.annotation)
        for each in signature.parameters.values()
        if each.name != "self"
    ]


def test_both_have_the_same_methods() -> None:
    assert public(Memory).keys() == public(SyncMemory).keys()


@pytest.mark.parametrize("name", [*public(Memory)])
def test_a_method_is_the_same_with_and_without_await(name: str) -> None:
    """Run `python tools/sync_api.py` after a change."""
    one, other = getattr(Memory, name), getattr(SyncMemory, name)
    assert inspect.getdoc(one) == inspect.getdoc(other)
    if name in ("branch", "at"):
        return
    assert parameters(one) == parameters(other)
    assert inspect.signature(one).return_annotation == inspect.signature(other).return_annotation
    assert not inspect.iscoroutinefunction(other)
