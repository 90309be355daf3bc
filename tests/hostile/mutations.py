"""Breaks bytes in the ways that files and messages break; the same each time for one seed."""

import json
from random import Random
from typing import Any, cast

__all__ = ["mutated"]

_ODD: tuple[bytes, ...] = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"\\u0000", b"\\ud800", b"{", b"]", b"NaN", b"1e999",
    b"null", b"-1", b"9" * 400, b"../../", b"\n", b"\r\n", b"</memory>", b"\x1b[2J", b"true",
    b"[" * 3000,
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 1e308, "", "x" * 9_000, "../../x", "\u202e", "\ud800", [], {}, [[]],
    ["root"], {"a": {}}, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "root",
)  # fmt: skip


def mutated(data: bytes, random: Random) -> bytes:
    """The same, broken in one to four places: in its bytes, or in its fields if it has some."""
    for _ in range(random.randint(1, 4)):
        data = random.choice((_field, _field, _flip, _cut, _put, _double))(data, random)
    return data


def _flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _cut(data: bytes, random: Random) -> bytes:
    start, end = sorted(random.randint(0, len(data)) for _ in range(2))
    return data[:start] + data[end:]


def _put(data: bytes, random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.choice(_ODD) + data[at:]


def _double(data: bytes, random: Random) -> bytes:
    start, end = sorted(random.randint(0, len(data)) for _ in range(2))
    return data[:end] + data[start:end][:5_000] + data[end:]


def _field(data: bytes, random: Random) -> bytes:
    """Of JSON: another value in one place, a place less, or a name that is not known."""
    try:
        whole: Any = json.loads(data)
    except (ValueError, RecursionError):
        return _flip(data, random)
    places = list(_places(whole))
    if not places:
        return _put(data, random)
    inside, key = random.choice(places)
    match random.randrange(4):
        case 0:
            del inside[key]
        case 1 if isinstance(inside, dict):
            inside[random.choice(("__proto__", "id", "x" * 300))] = inside[key]
        case _:
            inside[key] = random.choice(_VALUES)
    return json.dumps(whole).encode()


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """Everything in a value that can be changed: what it is in, and under which name or number."""
    if depth > 20:
        return []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = list(enumerate(cast("list[Any]", value)))
    else:
        return []
    found: list[tuple[Any, Any]] = [(value, key) for key, _ in inner]
    return found + [place for _, each in inner for place in _places(each, depth + 1)]
