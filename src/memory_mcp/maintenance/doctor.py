"""Checking every invariant of the design against what is really there, and mending what can be.

Each check names what it finds; with `repair`, what can be mended without guessing is mended. What
needs a person (a damaged record, a file out of place) is left as it is.
"""

from collections.abc import Iterator
from contextlib import suppress

from memory_mcp.bootstrap.views import view_findings
from memory_mcp.domain.ids import ROOT, RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.head import absorb, current
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.recovery import settle
from memory_mcp.engine.workspace import Pool, Workspace
from memory_mcp.errors import StoreError
from memory_mcp.sessions.inbox import inbox_findings
from memory_mcp.timeline.moves import fold
from memory_mcp.transfer.import_memories import import_findings
from memory_mcp.trust.erasing import waiting_note, waiting_to_be_erased


async def doctor(workspace: Workspace, *, repair: bool = False) -> list[Finding]:
    """Everything that is not as it must or should be; an empty list is a clean bill."""
    found = await import_findings(workspace, repair=repair)
    with suppress(StoreError):  # what keeps it from being read is named below
        found += await inbox_findings(workspace)
    found += await workspace.heads.findings(repair=repair)
    records: list[Record] = []
    for pool in workspace.pools:
        found += await pool.records.findings(repair=repair)
        of_index = await pool.index.findings(repair=repair)
        found += of_index
        stored = [r async for r in pool.records.scan(await pool.records.ids())]
        if not any(finding.code == "index-unusable" for finding in of_index):
            found += await _against_index(pool, stored, repair=repair)
        if pool.mirror:
            found += await _outbox(pool, pool.mirror, stored, repair=repair)
        records += stored
    if any(finding.code.startswith("head-") and not finding.repaired for finding in found):
        return found  # what rests on the head cannot be judged
    found += await _against_head(workspace, records, repair=repair)
    found += list(_links(records))
    found += [
        Finding("erasing-waits", "should", note, "Nothing is recalled of them.")
        for note in await waiting_note(workspace)
    ]
    found += await view_findings(workspace, repair=repair)
    return found


async def _outbox(
    pool: Pool, mirror: Mirror, stored: list[Record], *, repair: bool
) -> list[Finding]:
    """What is wrong with the outbox. Where it begins anew, nobody knows what came from the cloud.

    So every record that erases counts as such: what has yet to go waits for the user's word.
    """
    found = await mirror.outbox.findings(repair=repair)
    if any(finding.code == "outbox-damaged" and finding.repaired for finding in found):
        erasers = {r.id for r in stored if r.erases or (r.move and r.move.forgets)}
        await pool.index.note_pulled(erasers)
    return found


async def _against_index(pool: Pool, stored: list[Record], *, repair: bool) -> list[Finding]:
    """The index holds exactly the records, and nothing that a record erases is still there."""
    try:
        known = await pool.index.ids()
        late = await pool.index.ordered()
        own = await pool.index.own(record.id for record in stored)
    except StoreError as error:
        return [Finding("index-unusable", "should", str(error), "Run `memory-mcp reindex`.")]
    there = {record.id for record in stored}
    ours = [record for record in stored if record.id in own]
    erased = {id_ for record in ours for id_ in record.erases} & (there | late)
    found: list[Finding] = []
    if there - known - erased:
        what = f"{len(there - known - erased)} record(s) are not in the index."
        found.append(_mendable("orphans", "should", what, repair=repair))
    if known - there:
        what = f"{len(known - there)} row(s) of the index have no readable record."
        found.append(_mendable("index-ghosts", "should", what, repair=repair))
    if erased:
        what = f"{len(erased)} forgotten record(s) are still on disk: the forget was cut short."
        found.append(_mendable("forget-unfinished", "must", what, repair=repair))
    if repair:
        if known - there:
            await pool.index.remove(known - there)
        await pool.index.catch_up()
    return found


async def _against_head(
    workspace: Workspace, records: list[Record], *, repair: bool
) -> list[Finding]:
    """The head says what the moves say, each of them has its record and its line of history."""
    head = await workspace.heads.read() or await current(
        workspace
    )  # as it lies there, not completed
    moves = [record for record in records if record.move is not None]
    found: list[Finding] = []
    known = {record.id for record in records}
    if head.last is not None and head.last.id not in known:
        what = f"The last move {head.last.id} has no record of its own yet."
        found.append(_mendable("move-unwritten", "must", what, repair=repair))
        moves.append(head.last)
    found += await _with_last(workspace, head, records, repair=repair)
    if repair:
        head = await settle(workspace, head)
    if fresh := {move.id for move in moves} - head.timeline.moves:
        what = f"{len(fresh)} move(s) of another clone are not in the head yet."
        found.append(_mendable("moves-unknown", "should", what, repair=repair))
        if repair:
            await absorb(workspace)
            head = await current(workspace)
    found += await _compared(workspace, head, [*records, *moves], repair=repair)
    found += await _against_history(workspace, moves, repair=repair)
    waits: set[RecordId] = set()
    with suppress(StoreError):  # named above
        waits = {waiting.id for waiting in await waiting_to_be_erased(workspace)}
    found += list(_lost_segments(head.timeline, [r for r in records if r.id not in waits]))
    return found


async def _with_last(
    workspace: Workspace, head: Head, records: list[Record], *, repair: bool
) -> list[Finding]:
    """What was written in one step with the head has its files, unless it was forgotten since."""
    written = {record.id for record in head.with_last}
    own = await workspace.project.index.own(record.id for record in records)
    erased = written.intersection(
        id_ for record in records if record.id in own for id_ in record.erases
    )
    found: list[Finding] = []
    if missing := written - erased - await workspace.project.records.ids():
        what = f"{len(missing)} record(s) that the head names have no file of their own yet."
        found.append(_mendable("records-unwritten", "must", what, repair=repair))
    if erased:
        what = f"The head still holds {len(erased)} forgotten record(s): the forget was cut short."
        found.append(_mendable("forget-unfinished", "must", what, repair=repair))
    return found


async def _against_history(
    workspace: Workspace, moves: list[Record], *, repair: bool
) -> list[Finding]:
    """Every move has its line."""
    found: list[Finding] = []
    try:
        gaps = await workspace.heads.unlogged(moves)
    except StoreError as error:
        return [Finding("history-unreadable", "should", str(error), "Mend that, and look again.")]
    if gaps:
        what = f"{len(gaps)} move(s) are missing from the history."
        found.append(_mendable("history-gap", "should", what, repair=repair))
        if repair:
            await workspace.heads.log(gaps)
    return found


async def _compared(
    workspace: Workspace, head: Head, records: list[Record], *, repair: bool
) -> list[Finding]:
    """The head against the moves; made anew from them where all that it knows is on record."""
    folded = fold(records)
    whole = head.timeline.moves.issubset(folded.moves)
    found = list(_elsewhere(head.timeline, folded, mend=whole and repair, mendable=whole))
    if found and whole and repair:
        anew = head.model_copy(update={"revision": head.revision + 1, "timeline": folded})
        await workspace.heads.replace(anew, expected=head.revision)
        return found
    return [*found, *_unrecorded(head.timeline, folded)]


def _elsewhere(
    timeline: Timeline, folded: Timeline, *, mend: bool, mendable: bool
) -> Iterator[Finding]:
    """Compared by what a reader sees; what was forgotten has no records to fold any more."""
    for branch in sorted({*timeline.branches, *folded.branches}):
        if timeline.chain(branch) != folded.chain(branch):
            yield Finding(
                "head-differs",
                "must",
                f"The head puts branch {branch} elsewhere than the moves on record do.",
                "`memory-mcp doctor --repair` makes the head anew from them."
                if mendable
                else "Another git branch may have the records of the moves: that is no harm. Else "
                "restore them from git or a backup; or move memory-head.json away and run "
                "`memory-mcp doctor --repair`, which makes it from those that are left.",
                repaired=mend,
            )


def _unrecorded(timeline: Timeline, folded: Timeline) -> Iterator[Finding]:
    if set(timeline.checkpoints) - set(folded.checkpoints):
        gone = ", ".join(sorted(set(timeline.checkpoints) - set(folded.checkpoints)))
        yield Finding(
            "checkpoint-unrecorded",
            "must",
            f"These checkpoints of the head have no record: {gone}.",
            "Restore their files from git or a backup.",
        )


def _lost_segments(timeline: Timeline, records: list[Record]) -> Iterator[Finding]:
    known = set(timeline.segments) | {ROOT} | timeline.forgotten
    lost = [r.id for r in records if r.segment is not None and r.segment not in known]
    if lost:
        yield Finding(
            "segment-unknown",
            "must",
            f"{len(lost)} record(s) belong to a segment that no move begins, {lost[0]} among them.",
            "Copy the missing records of kind checkpoint and move from where these came from.",
        )
    forgotten = [r.id for r in records if r.segment in timeline.forgotten]
    if forgotten:
        yield Finding(
            "forgotten-left",
            "should",
            f"{len(forgotten)} record(s) of a forgotten line are on disk, {forgotten[0]} among "
            "them: another clone wrote there.",
            "memory_head names the line: restore it, or forget the memories.",
        )


def _links(records: list[Record]) -> Iterator[Finding]:
    """A record may name one that was erased, but not one that never was.

    But for a part that it was composed of and stands for: that one is written after it.
    """
    known = {record.id for record in records}
    known |= {id_ for record in records for id_ in record.erases}
    for record in records:
        parts = set(record.supersedes) & set(record.derived_from)
        carried = record.move.carries if record.move else ()
        named = {*record.supersedes, *record.derived_from, *carried} - parts
        missing = sorted(named - known)
        if missing and record.kind != "tombstone":
            yield Finding(
                "link-dangling",
                "should",
                f"{record.id} names {missing[0]}, which is not here.",
                "Copy the missing record from where this one came from, if it still exists.",
            )


def _mendable(code: str, severity: str, what: str, *, repair: bool) -> Finding:
    return Finding(
        code,
        "must" if severity == "must" else "should",
        what,
        "`memory-mcp doctor --repair` mends it; so does the next start of the server.",
        repaired=repair,
    )
