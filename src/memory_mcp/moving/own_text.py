"""Our own export as text: one JSON file, or a folder of Markdown.

    {"format": "memory-mcp", "version": 1, …, "records": [      the JSON, a record on each line
    {…},
    {…}
    ], "count": 2}

    index.md                                      what it is of, and a list of what is in it
    project/2026-01/jwt-for-auth-<id>.md          a record each: its fields as JSON between two
    user/2026-01/tabs-not-spaces-<id>.md          `---`, below them its text as it is

Both hold every field as it is stored. The name of a Markdown file is for people: what counts is
within. An index that says `complete: false` is of an export that was cut short.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, Final

from memory_mcp.domain.drafts import Reach
from memory_mcp.domain.ids import month_of
from memory_mcp.domain.moving import EXPORT_FORMAT, EXPORT_VERSION, Export
from memory_mcp.domain.record import Record, iso

INDEX_NAME: Final = "index.md"

_NAME_CHARS_MAX: Final = 48
_TITLE_CHARS_MAX: Final = 100
_WORD: Final = re.compile(r"[a-z0-9]+")
_OURS: Final = re.compile(
    r"(?:project|user)/\d{4}-\d\d/[a-z0-9-]*"
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.md"
)


def json_start(about: Export) -> str:
    """What comes before the records."""
    head = json.dumps(_head(about), ensure_ascii=False)
    return f'{head[:-1]}, "records": [\n'


def json_line(record: Record, *, first: bool) -> str:
    """A record, and what parts it from the one before."""
    return ("" if first else ",\n") + json.dumps(record.as_json(), ensure_ascii=False)


def json_end(count: int) -> str:
    """What comes after the records."""
    return f'\n], "count": {count}}}\n'


def note_name(record: Record) -> str:
    """The file of a record, below the folder of the export."""
    plain = unicodedata.normalize("NFKD", record.title or record.content[:200])
    words = "-".join(_WORD.findall(plain.encode("ascii", "ignore").decode().lower()))
    words = words[:_NAME_CHARS_MAX].rstrip("-") or record.kind
    return f"{pool_name(record)}/{month_of(record.id)}/{words}-{record.id}.md"


def note_text(record: Record) -> str:
    """The file's text. The last end of line is the file's own; all else is the text's."""
    fields = record.as_json()
    content = fields.pop("content")
    del fields["container_tags"]  # they follow from the rest
    lines = "".join(f"{name}: {_value(value)}\n" for name, value in fields.items())
    return f"---\n{lines}---\n{content}\n"


def index_text(about: Export, count: int, lines: Iterable[str], *, complete: bool) -> str:
    """The index: what the export is, and a line for each record."""
    fields = {**_head(about), "count": count, "complete": complete}
    head = "".join(f"{name}: {_value(value)}\n" for name, value in fields.items())
    whose = about.scope.project if "project" in about.pools else about.scope.user
    return "\n".join([f"---\n{head}---\n# Memories of {whose}\n", *lines, ""])


def index_lines(records: Iterable[Record]) -> Iterator[str]:
    """What leads to the records' files."""
    for record in records:
        said = " ".join((record.title or record.content[: 2 * _TITLE_CHARS_MAX]).split())
        said = said if len(said) <= _TITLE_CHARS_MAX else f"{said[: _TITLE_CHARS_MAX - 1]}\u2026"
        said = re.sub(r"([\[\]\\`*_<>])", r"\\\1", said) or record.kind
        yield f"- [{said}]({note_name(record)}) {record.kind}, {record.created_at:%Y-%m-%d}"


def is_file_of_ours(name: str) -> bool:
    """Whether a name below the folder is one that an export gave."""
    return _OURS.fullmatch(name) is not None


def pool_name(record: Record) -> Reach:
    """A record without a project is the user's."""
    return "user" if record.scope.project is None else "project"


def _head(about: Export) -> dict[str, Any]:
    return {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "exported_at": iso(about.at),
        "scope": about.scope.model_dump(mode="json", exclude_none=True),
        "branch": about.branch,
        "pools": list(about.pools),
        "history": about.history,
    }


def _value(value: object) -> str:
    """A value as JSON on one line, on which every reader agrees what a line is."""
    said = json.dumps(value, ensure_ascii=False)
    return said if said.isprintable() else json.dumps(value)
