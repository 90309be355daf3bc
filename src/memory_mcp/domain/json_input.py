"""JSON from outside: files that anybody may have written, and forms that a model filled in."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, model_validator

from memory_mcp.domain.limits import JSON_VALUES_MAX


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


_OPENS_OR_PARTS: Final = (b"[", b"{", b",")


def load_json(data: bytes, values_max: int = JSON_VALUES_MAX) -> Any:
    """What the JSON says.

    Raises:
        ValueError: it is no JSON in UTF-8, says something twice, or holds more than `values_max`
            values: read, they take up to forty times the room that they take in the file.
        RecursionError: it is nested too deeply.
    """
    if sum(map(data.count, _OPENS_OR_PARTS)) > values_max:
        raise ValueError(f"holds more than {values_max:,} values")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"no UTF-8 at byte {error.start:,}") from error
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        where = f"at line {error.lineno}, column {error.colno}"
        raise ValueError(f"no JSON: {error.msg} {where}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("says something twice")
    return fields


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")
