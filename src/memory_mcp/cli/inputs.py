"""Read what is typed or piped in: texts, times and JSON.

Every error names what was given and says how to write it.
"""

import sys
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from memory_mcp.domain.record import assume_utc
from memory_mcp.errors import InvalidRequestError
from memory_mcp.shutdown import interruptible

Form = TypeVar("Form", bound=BaseModel)
Value = TypeVar("Value")


def read_text(argument: str) -> str:
    """The argument itself, or for a dash what is piped in or typed to the end of input."""
    if argument != "-":
        return argument
    with interruptible():
        return sys.stdin.read()


def read_form(form: type[Form], argument: str) -> Form:
    """Read a JSON object.

    Raises:
        InvalidRequestError: the JSON does not fit the form.
    """
    known = ", ".join(form.model_fields)
    expected = f"Give one object with any of: {known}."
    return read_json(TypeAdapter(form), argument, "The JSON", expected)


def read_json(adapter: TypeAdapter[Value], argument: str, what: str, expected: str) -> Value:
    """Read JSON; an error says what cannot be read, and what is expected instead.

    Raises:
        InvalidRequestError: the JSON does not fit.
    """
    try:
        return adapter.validate_json(read_text(argument))
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        where = ".".join(map(str, first["loc"]))
        raise InvalidRequestError(
            f"{what} cannot be read{f' at {where}' if where else ''}: {first['msg']}. {expected}"
        ) from error


def parse_time(option: str, text: str) -> datetime | None:
    """Read the time given to an option; without a zone it is UTC, without a text there is none.

    Raises:
        InvalidRequestError: it is no time.
    """
    if not text:
        return None
    try:
        return assume_utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise InvalidRequestError(
            f"{option} {text!r} is no time. Write it like 2026-12-31 or 2026-12-31T18:00+01:00."
        ) from error
