"""Read the end of a transcript, and find out which turns the user left by going back in it.

Claude Code sends no event for `/rewind` and writes nothing until the next prompt. But each entry of
its transcript names the one before it (`parentUuid`), so a prompt that is no ancestor of the newest
one was left, and with it all that followed from it. Two things look alike and are none: results of
tools that ran side by side, which are no prompts, and turns that the user had summarized, whose
summary follows from the entry before them. Only the end of the file is read: a rewind that it does
not show is not reported.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

from memory_mcp.patterns import compile_later

TAIL_BYTES_MAX: Final = 524_288
"""Some turns; reading and parsing them takes a few milliseconds."""

FAR_BYTES_MAX: Final = 8_388_608
"""How far is read where those turns do not hold the prompt that was noted."""

LEFT_IDS_MAX: Final = 500
"""Ids named by the turns that were left: a search names ten."""

_RECORD_ID: Final = compile_later(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""An id of ours; Claude Code's own are of another version."""

_FOLDER: Final = "projects"
"""Claude Code keeps a transcript as `projects/<folder of the project>/<session>.jsonl`."""

_Fields = Mapping[str, Any]


class TranscriptEntry(NamedTuple):
    """One entry: its id, that of the one before, when it was written, whether it is a prompt.

    `beside`: it belongs to a subagent, not to the conversation. `sums_up`: it is the summary of a
    part that the user chose. `named` are the ids of ours in the result of a tool.
    """

    uuid: str
    parent: str
    at: str
    prompt: bool
    beside: bool
    sums_up: bool = False
    named: tuple[str, ...] = ()


class LeftTurns(NamedTuple):
    """What the user left by going back: since when, until when, and the ids its tools named."""

    since: str
    until: str
    ids: list[str]

    def as_event(self, session: str, branch: str) -> dict[str, Any]:
        """What the inbox is left of it."""
        return {"event": "rewound", "session": session, "branch": branch, **self._asdict()}


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


def read_left_turns(path: str, noted: str) -> tuple[LeftTurns | None, str]:
    """What was left since the noted prompt was the newest, and which prompt is that now.

    Raises:
        OSError: it cannot be read.
    """
    data, is_all = read_tail(path)
    if noted and not is_all and noted.encode() not in data:
        data = read_tail(path, FAR_BYTES_MAX)[0]
    entries = parse_entries(data)
    return find_left_turns(entries, noted), last_prompt(entries) or noted


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
            found.append(_make_entry(cast("_Fields", fields), line))
    return [entry for entry in found if entry.uuid and not entry.beside]


def last_prompt(entries: list[TranscriptEntry]) -> str:
    """The id of the newest prompt; empty without one."""
    return next((entry.uuid for entry in reversed(entries) if entry.prompt), "")


def find_left_turns(entries: list[TranscriptEntry], noted: str) -> LeftTurns | None:
    """What the user left since the noted prompt was the newest; None if that is nothing.

    A turn was left if its prompt does not lead to the newest one, but both follow from an entry
    that is known. It was left since then if the noted prompt is in it or after it, or before it in
    the file: what was left earlier has been reported.
    """
    known = {entry.uuid: entry for entry in entries}
    newest = last_prompt(entries)
    path = list(_walk_up(known, newest))
    if noted not in known or not path:
        return None
    ahead = {entry.uuid: entry.parent for entry in path}
    summed_up = {ahead.get(entry.parent) for entry in path if entry.sums_up}
    before = {entry.uuid for entry in _walk_up(known, noted)}
    passed = False
    roots: set[str] = set()
    for entry in entries:
        if entry.prompt and entry.uuid not in ahead and (passed or entry.uuid in before):
            join = next((up.uuid for up in _walk_up(known, entry.uuid) if up.uuid in ahead), None)
            if join is not None and join not in summed_up:
                roots.add(entry.uuid)
        passed = passed or entry.uuid == noted
    if not roots:
        return None
    left = _find_below(known, entries, roots)
    ids = dict.fromkeys(id_ for entry in left for id_ in entry.named)
    since = min(entry.at for entry in left)
    return LeftTurns(since, known[newest].at, list(ids)[-LEFT_IDS_MAX:])


def _find_below(
    known: Mapping[str, TranscriptEntry], entries: Iterable[TranscriptEntry], roots: set[str]
) -> list[TranscriptEntry]:
    """The entries that follow from these, and these themselves."""
    below = dict.fromkeys(roots, True)
    for entry in entries:
        way: list[str] = []
        for up in _walk_up(known, entry.uuid):
            if up.uuid in below:
                break
            way.append(up.uuid)
        found = bool(way) and below.get(known[way[-1]].parent, False)
        below.update(dict.fromkeys(way, found))
    return [entry for entry in entries if below[entry.uuid]]


def _resolve(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _walk_up(known: Mapping[str, TranscriptEntry], uuid: str) -> Iterable[TranscriptEntry]:
    """The entry and its ancestors, as far as they are known."""
    seen: set[str] = set()
    while uuid in known and uuid not in seen:
        seen.add(uuid)
        yield known[uuid]
        uuid = known[uuid].parent


def _make_entry(fields: _Fields, line: bytes) -> TranscriptEntry:
    result = fields.get("type") == "user" and "toolUseResult" in fields
    return TranscriptEntry(
        uuid=read_field(fields, "uuid"),
        # a compaction cuts the chain for the model, not for us
        parent=read_field(fields, "parentUuid") or read_field(fields, "logicalParentUuid"),
        at=read_field(fields, "timestamp"),
        prompt=fields.get("type") == "user" and _is_prompt(fields),
        beside=bool(fields.get("isSidechain")),
        sums_up=bool(fields.get("summarizeMetadata")),
        named=tuple(id_.decode() for id_ in _RECORD_ID.findall(line)) if result else (),
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


def read_field(fields: _Fields, name: str) -> str:
    """The text of a field; '' where there is none."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""
