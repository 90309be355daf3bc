"""JSON from outside: files that anybody may have written, and what a model filled in."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from memory_mcp.domain.limits import JSON_VALUES_MAX

if TYPE_CHECKING:
    from pydantic import JsonValue
else:
    JsonValue = Any  # pydantic is not imported for a name

__all__ = ["JsonValue", "drop_nulls", "keep_spoken_messages", "load_json"]


def drop_nulls(value: object) -> object:
    """The value without null fields and null items; an item of nulls only goes as well."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {name: drop_nulls(each) for name, each in fields.items() if each is not None}
    if isinstance(value, list | tuple):
        items = [(each, drop_nulls(each)) for each in cast("list[object]", value)]
        return [rest for each, rest in items if each is not None and (rest != {} or each == {})]
    return value


def keep_spoken_messages(messages: object) -> object:
    """The messages of a session that have a text.

    One without a role counts as the assistant's, because what the user says is believed.
    """
    if not isinstance(messages, list):
        return messages
    spoken: list[object] = []
    for each in cast("list[object]", messages):
        if not isinstance(each, dict):
            spoken.append(each)
        elif "content" in each:
            spoken.append({"role": "assistant", **cast("dict[str, object]", each)})
    return spoken


_VALUE_MARKS: Final = (b"[", b"{", b",")


def load_json(data: bytes, values_max: int = JSON_VALUES_MAX) -> Any:
    """Parse JSON strictly.

    Raises:
        ValueError: it is no JSON in UTF-8, repeats a field, or holds more than `values_max`
            values: parsed, they take up to forty times their size in the file.
        RecursionError: it is nested too deeply.
    """
    if sum(map(data.count, _VALUE_MARKS)) > values_max:
        raise ValueError(f"holds more than {values_max:,} values")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"no UTF-8 at byte {error.start:,}") from error
    if text.startswith("\ufeff"):
        raise ValueError("no JSON: it begins with a byte order mark (BOM)")
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as error:
        where = f"at line {error.lineno}, column {error.colno}"
        raise ValueError(f"no JSON: {error.msg} {where}") from error


def _refuse_repeated_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("says something twice")
    return fields


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_fields, parse_constant=_refuse_constant
)
"""One for all: to make a decoder takes as long as to use it on a short record."""
