"""Read what is typed or piped in: texts, JSON and the names of files.

Every error names what was given and says how to write it.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memory_mcp.cli.arguments import describe_wrong_byte
from memory_mcp.errors import InvalidRequestError
from memory_mcp.locations import name_in_full
from memory_mcp.shutdown import interruptible

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter  # few commands read JSON

Form = TypeVar("Form", bound="BaseModel")
Value = TypeVar("Value")


class UsageError(InvalidRequestError):
    """What was typed does not fit together: no state of the memory would make it work."""


def read_text(argument: str) -> str:
    """The argument itself, or for a dash what is piped in or typed to the end of input.

    Raises:
        InvalidRequestError: what is piped in is no text in UTF-8.
    """
    if argument != "-":
        return argument
    with interruptible():
        text = sys.stdin.read()
    if wrong := describe_wrong_byte(text):
        raise InvalidRequestError(
            f"stdin is no UTF-8 ({wrong}), and nothing was done. Convert it first, as in: "
            "iconv -f LATIN1 -t UTF-8 FILE | memory-mcp …"
        )
    if "\0" in text:
        raise InvalidRequestError(
            f"stdin holds a zero byte (at character {text.index(chr(0))}), so it is no text, and "
            "nothing was done. Take it out first, as in: tr -d '\\000' <FILE | memory-mcp …"
        )
    return text


def find_target(target: str) -> Path:
    """The absolute path of what is to be written.

    It is without `..`, which behind a link leads elsewhere than it says.

    Raises:
        InvalidRequestError: its folder is not there. Nobody meant a name that is only mistyped.
    """
    path = Path(name_in_full(target))
    if not os.path.lexists(path.parent):
        raise InvalidRequestError(
            f"{target!r} is not written: there is no folder {str(path.parent)!r}. Correct the "
            "name, or make the folder first."
        )
    return path


def read_form(form: type[Form], argument: str) -> Form:
    """Read a JSON object.

    Raises:
        InvalidRequestError: the JSON does not fit the form.
    """
    from pydantic import TypeAdapter

    known = ", ".join(form.model_fields)
    expected = f"Give one object with any of: {known}."
    return read_json(TypeAdapter(form), argument, "The JSON", expected)


def read_json(adapter: "TypeAdapter[Value]", argument: str, what: str, expected: str) -> Value:
    """Read JSON; an error says what cannot be read, and what is expected instead.

    Raises:
        InvalidRequestError: the JSON does not fit.
    """
    from pydantic import ValidationError

    from memory_mcp.domain.input_form import describe_errors

    try:
        return adapter.validate_json(read_text(argument))
    except ValidationError as error:
        wrong = InvalidRequestError if argument == "-" else UsageError
        raise wrong(f"{what} cannot be read: {describe_errors(error)}. {expected}") from error
