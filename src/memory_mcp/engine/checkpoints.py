"""Where checkpoints stand in git: each where the segment does that it was made in.

Where records are committed with the code, one whose file git has taken stands elsewhere, too.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.git import Mark
from memory_mcp.domain.ids import MAIN, CheckpointId
from memory_mcp.domain.timeline import Checkpoint
from memory_mcp.engine.git import get_standing
from memory_mcp.engine.workspace import Workspace
from memory_mcp.frozen import frozen


@frozen
class CheckpointPlaces:
    """The marks of the checkpoints that do not stand on this commit; the `hidden` are not shown."""

    marks: Mapping[CheckpointId, Mark]
    hidden: Collection[CheckpointId]

    def select_here(self, checkpoints: Collection[Checkpoint]) -> Collection[Checkpoint]:
        """Those that stand here, in the order given."""
        return [c for c in checkpoints if c.id not in self.marks] if self.marks else checkpoints

    def order_shown(self, checkpoints: Iterable[Checkpoint]) -> list[Checkpoint]:
        """Those that are shown: what stands here comes last, where the newest do."""
        shown = [c for c in checkpoints if c.id not in self.hidden]
        return sorted(shown, key=lambda c: c.id not in self.marks)


async def place_checkpoints(
    workspace: Workspace, checkpoints: Collection[Checkpoint]
) -> CheckpointPlaces:
    """Where these stand, seen from the caller's branch and work tree."""
    git, standing = workspace.git, get_standing(workspace)
    if git is None or git.mode == "off" or workspace.caller.branch != MAIN:
        return _EVERYWHERE
    with_code = git.history.load().with_code
    if not (standing.marks or with_code):
        return _EVERYWHERE
    marks = {c.id: mark for c in checkpoints if (mark := standing.marks.get(c.segment))}
    hidden = {c.id for c in checkpoints if git.mode == "follow" and c.segment in standing.hides}
    if with_code:
        there = await workspace.project.index.ids({c.move for c in checkpoints})
        taken = {c.id for c in checkpoints if c.move not in there}
        marks |= {id_: marks.get(id_) or Mark("elsewhere") for id_ in taken}
        hidden |= taken
    return CheckpointPlaces(marks, hidden)


_EVERYWHERE: Final = CheckpointPlaces(MappingProxyType({}), ())
