"""What importers share: reading values out of JSON that others wrote, and collecting what is found.

A value of another form counts as absent.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from posixpath import basename
from typing import Any, Final, cast

from memory_mcp.domain.limits import IMPORT_ITEMS_MAX
from memory_mcp.domain.transfer import (
    ForeignMemory,
    LeftOutItem,
    ParsedSource,
    SourceFile,
    SourceMaterial,
)
from memory_mcp.errors import InvalidRequestError

Fields = Mapping[str, Any]
ParsedItem = ForeignMemory | LeftOutItem

_MARKDOWN: Final = (".md", ".markdown")
_MILLISECONDS_FROM: Final = 100_000_000_000
"""As seconds this would be the year 5138: from here on a number counts milliseconds."""


def collect(
    source: str, material: SourceMaterial, found: Iterable[ParsedItem], lost: Collection[str] = ()
) -> ParsedSource:
    """Everything found, and a note of the `lost` fields, for which no memory here has a place.

    `source` is the name in the table of sources. What the files of the material left out is passed
    on. The same item twice needs no care: the import knows it again by its identity and text.

    Raises:
        InvalidRequestError: there are too many items to be held at once.
    """
    memories: list[ForeignMemory] = []
    left_out = list(material.left_out)
    for each in found:
        refuse_too_many_items(len(memories) + len(left_out) + 1, material.limit_factor)
        if isinstance(each, ForeignMemory):
            memories.append(each)
        else:
            left_out.append(each)
    names = ", ".join(sorted(lost))
    note = f"Fields that no memory here has were not carried over: {names}."
    return ParsedSource(source, tuple(memories), tuple(left_out), (note,) if lost else ())


def refuse_too_many_items(count: int, limit_factor: int) -> None:
    """Refuse more items than can be held at once: so many times what a repository may bring."""
    most = limit_factor * IMPORT_ITEMS_MAX
    if count > most:
        raise InvalidRequestError(
            f"There are more than {most:,} items in it, and no more are taken in at once. Import "
            "it in parts; nothing was changed."
        )


def parse_json(text: str, name: str) -> Any:
    """The value of a text.

    Raises:
        InvalidRequestError: it is no JSON; the message says where it breaks off.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"{name} is no JSON: {error.msg} at line {error.lineno}, column {error.colno}. "
            "Was it cut short? Nothing was changed."
        ) from error
    except (RecursionError, ValueError) as error:  # nested without end, or a number without end
        raise InvalidRequestError(f"{name} is no JSON that can be read: {error}.") from error


def refuse_broken_json(document: SourceFile) -> None:
    """Refuse a text that begins as JSON does and breaks off, or is wrong somewhere."""
    try:
        json.loads(document.text)
    except json.JSONDecodeError as error:
        if document.text.lstrip()[:1] in ("{", "[") and not error.msg.startswith("Extra data"):
            parse_json(document.text, basename(document.name).casefold())
    except (ValueError, RecursionError):
        pass


def try_json(text: str, *hints: str) -> Any:
    """The value of a text that holds one of the hints; None if it has none or is no JSON."""
    if not any(hint in text for hint in hints):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_markdown(name: str) -> bool:
    """Whether a file is Markdown, by its name."""
    return name.casefold().endswith(_MARKDOWN)


def find_text(material: SourceMaterial) -> str:
    """The text of a single file that is not Markdown; '' of anything else."""
    document = material.documents[0]
    return "" if material.folder or is_markdown(document.name) else document.text


def as_fields(value: object) -> Fields:
    """The fields of an object; none of anything else."""
    return cast("Fields", value) if isinstance(value, Mapping) else {}


def as_items(value: object) -> Sequence[Any]:
    """The items of a list; a list may also stand there as JSON in a text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def as_texts(value: object) -> list[str]:
    """The texts of a list; one that stands alone may hold several, separated by commas."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        value = value.split(",")
    return [item.strip() for item in as_items(value) if isinstance(item, str) and item.strip()]


def as_text(value: object) -> str:
    """A text or a number; nothing else has a text. Half a character is replaced."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
    return text.strip()


def as_time(value: object) -> datetime | None:
    """A time as ISO 8601, or as seconds or milliseconds since 1970; without a zone it is UTC."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, str) and value.strip():
            at = datetime.fromisoformat(value.strip())
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
