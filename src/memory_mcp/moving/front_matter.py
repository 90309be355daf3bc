"""The lines between two `---` at the beginning of a Markdown file, as far as notes use them.

No YAML library: what is read here are the few forms that notes of programs have, and what these
would mean by the rest is not guessed: it is a text. A value in JSON is YAML as well, so what we
write is read by both.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

_FENCE: Final = "---"
_FIELD: Final = re.compile(r"(?P<name>[^\s:#][^:]*):(?:\s+(?P<value>.*))?$")
_BLOCK: Final = re.compile(r"[|>][+-]?\d?$")
_COMMENT: Final = re.compile(r"\s#.*$")


def apart(text: str) -> tuple[str | None, str]:
    """The front matter of a file, if there is any, and what stands below it, each as it was."""
    if not text.startswith(f"{_FENCE}\n"):
        return None, text
    start = len(_FENCE) + 1
    if text.startswith(f"{_FENCE}\n", start):
        return "", text[start + len(_FENCE) + 1 :]
    end = text.find(f"\n{_FENCE}\n", start)
    if end >= 0:
        return text[start:end], text[end + len(_FENCE) + 2 :]
    if text.endswith(f"\n{_FENCE}"):
        return text[start : -len(_FENCE) - 1], ""
    return None, text


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a note and what stands below them; without front matter there are none.

    What holds no field is none: two rules may stand about a part of the text.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, body = apart(text)
    fields = fields_in(head) if head else {}
    return (fields, body) if fields or not head else ({}, text)


def fields_in(head: str) -> dict[str, Any]:
    """The fields of a front matter: texts, lists of texts, and fields within a field."""
    return _fields(head.split("\n"), 0)


def _fields(lines: Sequence[str], indent: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        field = _FIELD.match(line[indent:]) if _indent(line) == indent else None
        if field is None:
            continue
        below: list[str] = []
        while place < len(lines) and _belongs(lines[place], indent):
            below.append(lines[place])
            place += 1
        found[field["name"].strip().strip("\"'")] = _value((field["value"] or "").strip(), below)
    return found


def _belongs(line: str, indent: int) -> bool:
    """Whether a line goes on with the field above it."""
    return not line.strip() or _indent(line) > indent or line[indent:].startswith("- ")


def _value(given: str, below: Sequence[str]) -> Any:
    there = [line for line in below if line.strip()]
    if _BLOCK.match(given):
        least = min((_indent(line) for line in there), default=0)
        cut = [line[least:] for line in below]
        return ("\n" if given[0] == "|" else " ").join(cut).strip()
    if given:
        return _scalar(" ".join([given, *(line.strip() for line in there)]))
    if not there:
        return ""
    if there[0].strip().startswith("- "):
        return [_scalar(line.strip()[2:]) for line in there if line.strip().startswith("- ")]
    return _fields(there, _indent(there[0]))


def _scalar(given: str) -> Any:
    given = given.strip()
    if given[:1] in ("[", "{", '"'):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            pass
    if given.startswith("[") and given.endswith("]"):
        return [_plain(part) for part in given[1:-1].split(",") if part.strip()]
    return _plain(given)


def _plain(given: str) -> str:
    given = given.strip()
    if len(given) > 1 and given[0] == given[-1] and given[0] in "\"'":
        return given[1:-1].replace("''", "'") if given[0] == "'" else given[1:-1]
    return _COMMENT.sub("", given)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
