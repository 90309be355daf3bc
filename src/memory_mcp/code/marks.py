"""The word that stands with a memory which may not hold for the code as it is here."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from memory_mcp.code.citations import check_cites, name_changes
from memory_mcp.domain.citations import Checked, find_worst
from memory_mcp.domain.git import Mark
from memory_mcp.domain.ids import CheckpointId, RecordId
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import Hit, View
from memory_mcp.domain.timeline import Checkpoint
from memory_mcp.engine.checkpoints import place_checkpoints
from memory_mcp.engine.git import find_mark
from memory_mcp.engine.records import load_records
from memory_mcp.engine.workspace import Workspace
from memory_mcp.render.block import rank_mark


def make_marker(workspace: Workspace) -> Callable[[Record], str]:
    """What tells of a memory why it may not hold here; '' of one that stands on this commit."""

    def mark(record: Record) -> str:
        checked = check_cites(workspace, record)
        return _describe(workspace, record, name_changes(workspace, record.cites, checked))

    return mark


def _describe(workspace: Workspace, record: Record, checked: Sequence[Checked]) -> str:
    standing = find_mark(workspace, record)
    return "; ".join(str(each) for each in (standing, find_worst(checked)) if each)


def count_moved(workspace: Workspace, records: Iterable[Record]) -> int:
    """How many of these memories rest on code that is not as it was."""
    citing = {record.id: record for record in records if record.cites}
    return sum(find_worst(check_cites(workspace, each)) is not None for each in citing.values())


async def find_moved_ground(
    workspace: Workspace, view: View, checkpoints: Collection[Checkpoint]
) -> dict[CheckpointId, str]:
    """Why checkpoints may not hold here.

    They stand elsewhere in git, their turns were taken back, or what they cite has changed.
    """
    marks = (await place_checkpoints(workspace, checkpoints)).marks
    names = {checkpoint.move: checkpoint.id for checkpoint in checkpoints}
    visible = await workspace.project.index.visible(names, view) if names else set[RecordId]()
    found = {id_: mark.describe("made") for id_, mark in marks.items()}
    for record in await load_records(workspace.project, list(names)):
        # of one that waited for a word its answer is what is recalled, or nothing yet
        seen = record.id in visible or not record.recalled
        hidden = record.segment in view.chain and not seen
        rewound = workspace.git is not None and record.id in workspace.git.rewound
        checked = check_cites(workspace, record)
        worst = find_worst(name_changes(workspace, record.cites, checked))
        taken_back = Mark("rewound") if hidden or rewound else None
        standing = marks.get(names[record.id]) or taken_back
        words = [standing.describe("made")] if standing else []
        if words := [*words, *([str(worst)] if worst else ())]:
            found[names[record.id]] = "; ".join(words)
    return found


def mark_standing(workspace: Workspace, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with their marks; those that stand on this commit come first, each as it ranked."""
    checked = [check_cites(workspace, hit.record) for hit in hits]
    marked: list[Hit] = []
    for hit, each in zip(hits, checked, strict=True):  # once git works, it takes turns with us
        named = name_changes(workspace, hit.record.cites, each)
        standing = _describe(workspace, hit.record, named)
        if standing or named:
            hit = replace(hit, standing=standing, cites=tuple(map(str, named)))  # noqa: PLW2901
        marked.append(hit)
    return sorted(marked, key=lambda hit: rank_mark(hit.standing))
