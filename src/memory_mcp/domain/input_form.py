"""The base of forms that a model, a client or a person fills in, and what is wrong in one."""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from memory_mcp.domain.json_input import drop_nulls

_TOLD_MAX: Final = 3
"""Errors that are told at once."""
_VALUE_CHARS_MAX: Final = 80
"""Of a wrong value: it is a part of one line."""


class InputForm(BaseModel):
    """Base of every form that a model, a client or a person fills in: null means absent."""

    model_config = ConfigDict(defer_build=True)  # until the first is filled in

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return drop_nulls(value)


def describe_errors(error: ValidationError) -> str:
    """What is wrong in a form, in one sentence: the fields, what each must be, what it is."""
    return "; ".join(
        " ".join(filter(None, (
            ".".join(map(str, each["loc"])),
            _ERROR_WORDS.get(each["type"]) or _name_need(each["msg"]),
            "" if each["type"] in _WITHOUT_VALUE else f"(got {_short(each['input'])})",
        )))
        for each in error.errors(include_url=False)[:_TOLD_MAX]
    )  # fmt: skip


def _name_need(message: str) -> str:
    """`Input should be 'fact' or 'lesson'` as it follows the name of a field."""
    _, should, need = message.partition(" should ")
    return f"must {need}" if should else message


_TIME: Final = "must be a time, such as 2026-01-31 or 2026-01-31T14:30:00Z"
_ERROR_WORDS: Final = {
    "datetime_from_date_parsing": _TIME,
    "datetime_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "sequence_str": "must be a list",
    "is_instance_of": "must be a list",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "extra_forbidden": "is no name that is known here",
    "missing": "is missing",
}
"""Errors of the validator in plainer words; others keep its own, as what must be."""
_WITHOUT_VALUE: Final = ("missing", "json_invalid")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _VALUE_CHARS_MAX else f"{shown[: _VALUE_CHARS_MAX - 3]}…"
