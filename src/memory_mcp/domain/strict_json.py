"""JSON from a file that anybody may have written.

Python reads more than JSON: two values of one name (the last counts), `NaN`, UTF-16, a mark of the
byte order. Two programs may read such a file as two different records, so none of it is read here.
"""

import json
from typing import Any, Final

from memory_mcp.domain.limits import JSON_VALUES_MAX

__all__ = ["load_json"]

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
