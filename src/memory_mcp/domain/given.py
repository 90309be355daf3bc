"""What somebody gave as JSON: null says what leaving it out says, at every depth."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, model_validator

__all__ = ["Given", "spoken", "without_null"]


def without_null(value: object) -> object:
    """The value without the fields that are null, and the items of which nothing else is left."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {name: without_null(each) for name, each in fields.items() if each is not None}
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        kept = ((each, without_null(each)) for each in items if each is not None)
        return [left for each, left in kept if left != {} or each == {}]
    return value


def spoken(messages: object) -> object:
    """The messages of a session that have a text, as they came.

    One that does not say whose it is counts as the assistant's: what the user said is believed.
    """
    if not isinstance(messages, list):
        return messages
    heard: list[object] = []
    for each in cast("list[object]", messages):
        if not isinstance(each, dict):
            heard.append(each)
        elif "content" in each:
            heard.append({"role": "assistant", **cast("dict[str, object]", each)})
    return heard


class Given(BaseModel):
    """Base of every form that a model, a client or a person fills in: null means absent in it."""

    @model_validator(mode="before")
    @classmethod
    def _drop_null(cls, given: Any) -> Any:
        return without_null(given)
