"""What is written with a checkpoint: cleaned, told from what is known, and hidden if it is skipped.

The records lie in the segment that the checkpoint seals, so they hold exactly where it does. Those
of a pending checkpoint count from the first; if the user then skips it, they are hidden in the same
step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memory_mcp.deduplication.decide import rejection, twins
from memory_mcp.domain.outcomes import Closeout, ClosingDecision
from memory_mcp.domain.record import Record, Writing
from memory_mcp.domain.timeline import Checkpoint, Timeline
from memory_mcp.engine.cleaning import kept_text
from memory_mcp.engine.head import view_on
from memory_mcp.engine.reading import load
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.text.closeouts import check_closeout
from memory_mcp.text.merge import makes_superfluous

_REJECTED: Final = "Not stored: {!r} was rejected on {:%Y-%m-%d} ({})."
_SHOWN_CHARS_MAX: Final = 80


@dataclass(frozen=True)
class Judged:
    """Which records of a closeout are written, and which visible ones say the same already."""

    written: tuple[Record, ...] = ()
    known: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()


async def cleaned_closeout(
    workspace: Workspace, given: Closeout
) -> tuple[Closeout, tuple[str, ...]]:
    """The closeout as it may be stored, and sentences about what was left out of it.

    Raises:
        InvalidRequestError: it cannot be stored, or it holds a secret and that is to be refused.
    """
    check_closeout(given)
    notes: list[str] = []

    async def plain(field: str, text: str) -> str:
        kept, said = await kept_text(workspace, field, text)
        notes.extend(said)
        return kept

    async def every(field: str, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple([kept for text in texts if (kept := await plain(field, text))])

    decisions = [
        ClosingDecision(kept, await plain("rationale", each.rationale))
        for each in given.decisions
        if (kept := await plain("decisions", each.text))
    ]
    closeout = Closeout(
        decisions=tuple(decisions),
        artifacts=await every("artifacts", given.artifacts),
        issues=await every("issues", given.issues),
        agents=await every("agents", given.agents),
    )
    check_closeout(closeout)  # a marker may be longer than what it stands for
    return closeout, tuple(dict.fromkeys(notes))


async def judged(workspace: Workspace, timeline: Timeline, records: Iterable[Record]) -> Judged:
    """What is known word for word is not stored again, and what the user rejected not at all."""
    view = view_on(workspace, timeline)
    written: list[Record] = []
    known: list[Record] = []
    notes: list[str] = []
    for record in records:
        there = await twins(workspace, workspace.project, record, view)
        tombstone = rejection(there)
        if tombstone is not None:
            shown = record.content[:_SHOWN_CHARS_MAX]
            notes.append(_REJECTED.format(shown, tombstone.created_at, tombstone.content))
        elif twin := next((one for one in there if _same(one, record)), None):
            known.append(twin)
        else:
            written.append(record)
    return Judged(tuple(written), tuple(known), tuple(notes))


def _same(known: Record, new: Record) -> bool:
    """Of an open issue the phase does not matter; whatever else closes a phase belongs to it."""
    if new.kind == "decision":
        return makes_superfluous(known, new)
    if known.kind != new.kind:
        return False
    part = new.key.rpartition(":")[2]
    if part == "closeout":  # it counts what this checkpoint closed, and no other
        return False
    return known.key == new.key or (part == "issues" == known.key.rpartition(":")[2])


async def carried_by(workspace: Workspace, asked: Checkpoint) -> Sequence[Record]:
    """The records that were written with the checkpoint, as far as they are still there.

    Raises:
        InvalidRequestError: the checkpoint's record cannot be read, so nobody knows.
    """
    moves = await load(workspace.project, [asked.move])
    if not moves:
        raise InvalidRequestError(
            f"The record of checkpoint {asked.id!r} cannot be read: run `memory-mcp doctor`."
        )
    move = moves[0].move
    return await load(workspace.project, list(move.carries if move else ()))


def hiding(carried: Sequence[Record], place: Writing) -> tuple[Record, ...]:
    """What hides the records that were written with a checkpoint which the user then skips.

    It lies where they lie: whoever could see them sees that they were skipped.
    """
    if not carried:
        return ()
    return (
        Record(
            id=place.id,
            kind="tombstone",
            content="The checkpoint that it was written with was skipped.",
            segment=carried[0].segment,
            branch=carried[0].branch,
            lineage=carried[0].lineage,
            supersedes=tuple(record.id for record in carried),
            scope=place.scope,
            origin=place.origin,
            created_at=place.at,
        ),
    )
