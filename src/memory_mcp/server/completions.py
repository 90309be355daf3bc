"""What a client offers while an id is being typed: of what holds here, the newest first.

A memory is found by the beginning of its id or by words of it: nobody knows a UUID by heart.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from mcp_types import Completion, PromptReference, ResourceTemplateReference

from memory_mcp.app.heads import current, view_of
from memory_mcp.app.reading import newest
from memory_mcp.app.rooms import Rooms, reads_refused
from memory_mcp.domain.limits import COMPLETIONS_MAX
from memory_mcp.domain.record import MEMORY_KINDS, Record
from memory_mcp.domain.timeline import Timeline
from memory_mcp.domain.views import Filters
from memory_mcp.server.resources import CHECKPOINT, MEMORY
from memory_mcp.timeline.plans import START

_LOOKED_AT: Final = 300
"""Memories whose words are compared: a keystroke must not read a whole store."""

_WORDS_CHARS_MAX: Final = 500
"""Of a memory without a title so much is compared."""


async def completion(
    rooms: Rooms, ref: PromptReference | ResourceTemplateReference, argument: str, typed: str
) -> Completion:
    """What may be meant, at most a hundred values."""
    typed = typed.strip()
    if reads_refused(rooms):
        return Completion(values=[], total=0, has_more=False)
    match ref, argument:
        case ResourceTemplateReference(uri=uri), "id" if uri == MEMORY:
            return await _memories(rooms, typed)
        case ResourceTemplateReference(uri=uri), "id" if uri == CHECKPOINT:
            found = _restore_points((await current(rooms)).timeline, rooms)
        case PromptReference(name="review_backtrack"), "to":
            found = _places((await current(rooms)).timeline, rooms)
        case PromptReference(name="close_phase"), "phase":
            found = _phases((await current(rooms)).timeline, rooms)
        case _:
            return Completion(values=[], total=0, has_more=False)
    return _cut([each for each in found if typed.casefold() in each.casefold()])


async def _memories(rooms: Rooms, typed: str) -> Completion:
    filters = Filters(kinds=MEMORY_KINDS)
    looked_at = _LOOKED_AT if typed else COMPLETIONS_MAX + 1
    read = await newest(rooms, await view_of(rooms), filters, looked_at)
    words = typed.casefold().split()
    found = [r.id for r in read.records if r.id.startswith(typed) or _says(r, words)]
    return _cut(found, more=len(read.records) == looked_at)


def _says(record: Record, words: Sequence[str]) -> bool:
    text = f"{record.title} {record.content[:_WORDS_CHARS_MAX]}".casefold()
    return all(word in text for word in words)


def _restore_points(timeline: Timeline, rooms: Rooms) -> Sequence[str]:
    """The checkpoints that can be read, the newest first."""
    branch = rooms.session.branch
    return [c.id for c in [*timeline.valid(branch), *timeline.pending(branch)]][::-1]


def _places(timeline: Timeline, rooms: Rooms) -> list[str]:
    """Where a backtrack can lead: checkpoints and their phases, roads that were left, the start."""
    branch = rooms.session.branch
    valid = timeline.valid(branch)[::-1]
    phases = [f"phase {c.phase}" for c in valid if c.phase is not None]
    lines = [line.id for line in timeline.left_lines() if line.branch == branch][::-1]
    lost = [c.id for c in timeline.invalidated(branch)][::-1]
    return _once([*(c.id for c in valid), *phases, *lines, *lost, START])


def _phases(timeline: Timeline, rooms: Rooms) -> list[str]:
    """The phase that is worked on, then the one after the last that was sealed."""
    sealed = [c.phase for c in timeline.valid(rooms.session.branch) if c.phase is not None]
    known = [rooms.policy.phase, sealed[-1] + 1 if sealed else 1]
    return _once(str(phase) for phase in known if phase is not None)


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _cut(found: Sequence[str], *, more: bool = False) -> Completion:
    """No more than the protocol allows; the total is said where all were looked at."""
    return Completion(
        values=list(found[:COMPLETIONS_MAX]),
        total=None if more else len(found),
        has_more=more or len(found) > COMPLETIONS_MAX,
    )
