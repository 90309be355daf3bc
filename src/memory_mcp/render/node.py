"""The layers of a node as text for a prompt, and a log of what went in, what was cut and why.

The text is never longer than the budget, and the same for the same node. A section that needs less
than its share leaves the rest to the others. Within a section room goes to as many items as can be
shown at a useful length; of these, short ones are whole and long ones are cut alike.
"""

from collections.abc import Sequence
from typing import Final, Literal

from memory_mcp.domain.layers import ArchivalRecord, CoreEntry, NodeView, RecallEvent
from memory_mcp.domain.normalise import cut
from memory_mcp.domain.resources import RESOURCE_INDEX_KEY
from memory_mcp.fence import CLOSE, OPEN, enclose
from memory_mcp.frozen import frozen

SectionName = Literal["resources", "core", "recall", "archival"]

_FRAME_CHARS: Final = len(OPEN) + len(CLOSE) + 1
_MARK: Final = "- "


@frozen
class SectionLog:
    """What became of a section: `items` are `whole`, `cut` or `left_out`, for the reason `why`.

    `room` is its share of the budget, of which it took `chars`. `beyond` counts what the node has
    and was no candidate: events out of the window, and texts of the archive that were not found.
    """

    section: SectionName
    items: int
    whole: int
    cut: int
    left_out: int
    chars: int
    room: int
    beyond: int = 0
    why: str = ""


@frozen
class RenderLog:
    """What was made of a node's layers; without a limit `budget_chars` is None."""

    node: str
    budget_chars: int | None
    chars: int
    sections: tuple[SectionLog, ...] = ()
    note: str = ""


@frozen
class NodePrompt:
    """The text for a prompt, and its log."""

    text: str
    log: RenderLog


@frozen
class _Section:
    """Texts by rank, best first; shown in the order of `places`. A cut one has `least` chars."""

    name: SectionName
    heading: str
    texts: Sequence[str]
    places: Sequence[int]
    weight: int
    least: int
    beyond: int = 0

    @property
    def need(self) -> int:
        lines = sum(len(_MARK) + len(text) + 1 for text in self.texts)
        return len(self.heading) + 1 + lines if self.texts else 0


def render_node(
    view: NodeView, budget_chars: int | None, lessons: Sequence[ArchivalRecord] = ()
) -> NodePrompt:
    """Resource index, core, recall and archival, in this order; no limit if the budget is None.

    Lessons are the first of the archive.
    """
    archive = _list_archival(view, lessons)
    sections = (_list_resources(view), _list_core(view), _list_recall(view), archive)
    needs = [section.need for section in sections]
    room = sum(needs) if budget_chars is None else max(0, budget_chars - _FRAME_CHARS)
    shares = share_room(needs, [section.weight for section in sections], room)
    filled = [_fill(each, share) for each, share in zip(sections, shares, strict=True)]
    lines = [line for shown, _ in filled for line in shown]
    text = enclose("\n".join(lines)) if lines else ""
    logs = tuple(log for _, log in filled)
    return NodePrompt(text, RenderLog(view.node, budget_chars, len(text), logs))


def share_room(needs: Sequence[int], weights: Sequence[int], room: int) -> list[int]:
    """Each one's part of the room: no more than it needs, and what one leaves the others have."""
    shares: list[int] = [0 for _ in needs]
    waiting: list[int] = [place for place, need in enumerate(needs) if need > 0]
    while waiting:
        total = sum(weights[place] for place in waiting)
        content = [p for p in waiting if needs[p] * total <= room * weights[p]]
        if not content:
            for place in waiting:
                shares[place] = room * weights[place] // total
            break
        for place in content:
            shares[place] = needs[place]
        room -= sum(needs[place] for place in content)
        waiting: list[int] = [place for place in waiting if place not in content]
    return shares


def _fill(section: _Section, room: int) -> tuple[list[str], SectionLog]:
    """The lines of a section that fit, and its log."""
    left = room - len(section.heading) - 1
    costs = [len(_MARK) + len(text) + 1 for text in section.texts]
    chosen = _count_shown([min(cost, section.least) for cost in costs], left)
    shares = share_room(costs[:chosen], [1] * chosen, left)
    shown = [
        _MARK + cut(text, share - len(_MARK) - 1)
        for text, share in zip(section.texts[:chosen], shares, strict=True)
    ]
    ordered = [shown[rank] for rank in sorted(range(chosen), key=lambda r: section.places[r])]
    lines = [section.heading, *ordered] if shown else []
    whole = sum(share == cost for share, cost in zip(shares, costs[:chosen], strict=True))
    left_out = len(costs) - chosen
    why = ""
    if whole < len(costs):
        why = f"{section.need} characters were needed, and {room} were this section's share."
    log = SectionLog(
        section=section.name,
        items=len(costs),
        whole=whole,
        cut=chosen - whole,
        left_out=left_out,
        chars=sum(len(line) + 1 for line in lines),
        room=room,
        beyond=section.beyond,
        why=why,
    )
    return lines, log


def _count_shown(least: Sequence[int], room: int) -> int:
    """How many of them, from the first on, have room for the least that is shown of each."""
    for count, chars in enumerate(least):
        room -= chars
        if room < 0:
            return count
    return len(least)


def _indent(text: str) -> str:
    """The text as an item of a list."""
    return text.strip().replace("\n", "\n  ")


def _list_resources(view: NodeView) -> _Section:
    index = [each.value for each in view.core if each.key == RESOURCE_INDEX_KEY]
    lines = [line for value in index for line in value.splitlines() if line.strip()]
    return _Section("resources", "## Resources", lines, range(len(lines)), 1, 80)


def _list_core(view: NodeView) -> _Section:
    """Every key, the most important first; what is durable behind it."""
    own = [each for each in view.core if each.key != RESOURCE_INDEX_KEY]
    own.sort(key=lambda each: (each.durable, -each.importance, each.key))
    texts = [_indent(_render_entry(each)) for each in own]
    return _Section("core", "## Core", texts, range(len(texts)), 4, 80)


def _render_entry(entry: CoreEntry) -> str:
    mark = " (preference)" if entry.durable else ""
    return f"{entry.key}{mark}: {entry.value}"


def _list_recall(view: NodeView) -> _Section:
    """The newest events rank first, and are shown last."""
    texts = [_indent(_render_event(each, view.node)) for each in reversed(view.recall)]
    places = range(len(texts), 0, -1)
    beyond = max(0, view.events - len(texts))
    return _Section("recall", "## Events, oldest first", texts, places, 3, 120, beyond)


def _render_event(event: RecallEvent, node: str) -> str:
    labels = "/".join(label for label in (event.phase, event.kind) if label)
    parts = [
        f"{event.ts:%Y-%m-%d %H:%M}",
        f"[{labels}]" if labels else "",
        f"({event.node})" if event.node != node else "",
        f"(sums up {event.sums_up})" if event.sums_up else "",
        event.summary,
    ]
    head = " ".join(part for part in parts if part)
    return f"{head}\n{event.text}" if event.text and event.text != event.summary else head


def _list_archival(view: NodeView, lessons: Sequence[ArchivalRecord]) -> _Section:
    learnt = {each.id for each in lessons}
    rest = [each for each in view.archival if each.id not in learnt]
    texts = [_indent(_render_archived(each, "lesson", *each.tags)) for each in lessons]
    texts += [_indent(_render_archived(each, *each.tags)) for each in rest]
    beyond = max(0, view.archived - len(rest))
    return _Section("archival", "## From the archive", texts, range(len(texts)), 2, 160, beyond)


def _render_archived(record: ArchivalRecord, *marks: str) -> str:
    if record.outdated_by:
        marks += (f"outdated by {record.outdated_by}",)
    elif record.disputed_with:
        marks += (f"disputed with {', '.join(record.disputed_with)}",)
    marked = f" ({', '.join(marks)})" if marks else ""
    return f"[{record.id}]{marked} {record.text}"
