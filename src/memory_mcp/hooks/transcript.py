"""Read the end of a transcript, and find out whether the user went back in it.

Claude Code sends no event for `/rewind`, but each entry of its transcript names the one before it
(`parentUuid`). So the prompt noted at the last stop is an ancestor of the newest one, unless the
conversation went back to a place before it. Only the end of the file is read: a rewind that it does
not show is not reported.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

TAIL_BYTES_MAX: Final = 524_288
"""Some dozens of turns; reading and parsing them takes a few milliseconds."""

_FOLDER: Final = "projects"
"""Claude Code keeps a transcript as `projects/<folder of the project>/<session>.jsonl`."""

_Fields = Mapping[str, Any]


class TranscriptEntry(NamedTuple):
    """One entry: its id, that of the one before, when it was written, whether it is a prompt.

    `beside`: it belongs to a subagent, not to the conversation.
    """

    uuid: str
    parent: str
    at: str
    prompt: bool
    beside: bool


def is_transcript(path: str, session: str, trees: Iterable[str], client: str = "") -> bool:
    """Whether it is the session's own transcript, in the folder where its client keeps them.

    `client` is the client's own folder, which hooks know from its environment; without it the name
    of the folder counts. A file in one of the work trees may come with a repository: it is none.
    """
    folder, name = os.path.split(path)
    projects = os.path.dirname(folder)
    if not session or name != f"{session}.jsonl" or not os.path.isabs(path):
        return False
    if os.path.basename(projects) != _FOLDER or os.pardir in path.replace("\\", "/").split("/"):
        return False
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        real = _resolve(folder)
        wanted = _resolve(os.path.join(client, _FOLDER) if client else projects)
        above = [os.path.join(_resolve(tree), "") for tree in trees if tree]
    except (OSError, ValueError):
        return False
    return os.path.dirname(real) == wanted and not real.startswith(tuple(above))


def read_tail(path: str, bytes_max: int = TAIL_BYTES_MAX) -> tuple[bytes, bool]:
    """The file's last bytes, from the beginning of a line, and whether that is all of it.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = max(0, size - bytes_max)
        file.seek(start)
        data = file.read(bytes_max)
    return (data.partition(b"\n")[2] if start else data), start == 0


def parse_entries(data: bytes) -> list[TranscriptEntry]:
    """The entries of the main conversation, oldest first; other lines are skipped."""
    found: list[TranscriptEntry] = []
    for line in data.splitlines():
        if b'"uuid"' not in line:
            continue
        try:
            fields: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(fields, dict):
            found.append(_make_entry(cast("_Fields", fields)))
    return [entry for entry in found if entry.uuid and not entry.beside]


def last_prompt(entries: list[TranscriptEntry]) -> str:
    """The id of the newest prompt; empty without one."""
    return next((entry.uuid for entry in reversed(entries) if entry.prompt), "")


def find_left_branch(entries: list[TranscriptEntry], noted: str) -> str | None:
    """When the first entry was written that the user left by going back; None if there is none.

    The noted prompt is left if the newest one does not follow from it, but both follow from an
    entry that is in the end of the file.
    """
    known = {entry.uuid: entry for entry in entries}
    ancestors = {entry.uuid for entry in _walk_up(known, last_prompt(entries))}
    if not ancestors or noted in ancestors:
        return None
    first_left = ""
    for entry in _walk_up(known, noted):
        if entry.uuid in ancestors:
            return first_left
        first_left = entry.at
    return None


def _resolve(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _walk_up(known: Mapping[str, TranscriptEntry], uuid: str) -> Iterable[TranscriptEntry]:
    """The entry and its ancestors, as far as they are known."""
    seen: set[str] = set()
    while uuid in known and uuid not in seen:
        seen.add(uuid)
        yield known[uuid]
        uuid = known[uuid].parent


def _make_entry(fields: _Fields) -> TranscriptEntry:
    return TranscriptEntry(
        uuid=_text(fields, "uuid"),
        # a compaction cuts the chain for the model, not for us
        parent=_text(fields, "parentUuid") or _text(fields, "logicalParentUuid"),
        at=_text(fields, "timestamp"),
        prompt=fields.get("type") == "user" and _is_prompt(fields),
        beside=bool(fields.get("isSidechain")),
    )


def _is_prompt(fields: _Fields) -> bool:
    """Whether a person typed it: no tool's result, no note of the program."""
    if fields.get("isMeta") or fields.get("isCompactSummary") or "toolUseResult" in fields:
        return False
    message = fields.get("message")
    content: Any = cast("_Fields", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
        return not any(
            isinstance(block, dict) and cast("_Fields", block).get("type") == "tool_result"
            for block in blocks
        )
    return isinstance(content, str)


def _text(fields: _Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
