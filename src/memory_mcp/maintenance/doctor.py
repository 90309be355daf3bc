"""Checks every invariant of the design against what is stored, and repairs what can be repaired.

With `repair` only what needs no guess is repaired. A damaged record or a file out of place is left
for a person.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, Literal

from memory_mcp.bootstrap.views import check_views
from memory_mcp.domain.ids import ROOT, RecordId
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head, Timeline
from memory_mcp.engine.git_left import find_left_over
from memory_mcp.engine.head import absorb_moves, load_head
from memory_mcp.engine.mirror import Mirror
from memory_mcp.engine.recovery import recover_head
from memory_mcp.engine.workspace import GitFollower, MemoryBank, Workspace
from memory_mcp.errors import GitSilentError, StoreError
from memory_mcp.memories.waiting import find_waiting_writes
from memory_mcp.sessions.inbox import inbox_findings
from memory_mcp.timeline.moves import fold_moves
from memory_mcp.transfer.import_memories import check_import
from memory_mcp.trust.erasing import describe_pending_erasures, list_pending_erasures
from memory_mcp.trust.strangers import find_strangers

_MENDS: Final = "`memory-mcp doctor --repair` mends it; so does the next start of the server."
_RESTORE_MOVES: Final = (
    "Restore the records of the moves from a backup; or move {} away and run `memory-mcp doctor "
    "--repair`, which makes it from those that are left."
)

_FINDINGS: Final[Mapping[str, tuple[Literal["must", "should"], str, str]]] = {
    "project-lost": ("must", "{}", ""),
    "setting-wrong": ("should", "{}", ""),
    "git-silent": (
        "should",
        "Git could not be followed: {}.",
        "Mend that, or switch it off: `memory-mcp git off`.",
    ),
    "orphans": ("should", "Records that are not in the index: {}.", _MENDS),
    "index-ghosts": ("should", "Rows of the index without a readable record: {}.", _MENDS),
    "index-unusable": ("should", "{}", "Run `memory-mcp doctor --reindex`."),
    "forget-unfinished": ("must", "{}. The forget was cut short.", _MENDS),
    "erasing-waits": ("should", "{}", "Nothing is recalled of them."),
    "trust-waits": (
        "should",
        "{} for nothing: not written on this machine, or the ledger that says so is lost.",
        "`memory-mcp trust` shows them, and lets them count.",
    ),
    "move-unwritten": ("must", "The last move {} has no record of its own yet.", _MENDS),
    "moves-unknown": ("should", "Moves of another clone that are not in the head yet: {}.", _MENDS),
    "records-unwritten": (
        "must",
        "Records that the head names and that have no file of their own yet: {}.",
        _MENDS,
    ),
    "history-unreadable": ("should", "{}", "Mend that, and look again."),
    "history-gap": ("should", "Moves that are missing from the history: {}.", _MENDS),
    "head-differs": (
        "must",
        "The head puts branch {} elsewhere than the moves on record do.",
        "`memory-mcp doctor --repair` makes the head anew from them.",
    ),
    "checkpoint-unrecorded": (
        "must",
        "These checkpoints of the head have no record: {}.",
        "Restore their files from git or a backup.",
    ),
    "segment-unknown": (
        "must",
        "Records of a segment that no move begins: {}, {} among them.",
        "Copy the missing records of kind checkpoint and move from where these came from.",
    ),
    "forgotten-left": (
        "should",
        "Records of a forgotten line on disk: {}, {} among them. Another clone wrote there.",
        "`memory-mcp status` names the line: restore it, or forget the memories.",
    ),
    "link-dangling": (
        "should",
        "{} names {}, which is not here.",
        "Copy the missing record from where this one came from, if it still exists.",
    ),
}
"""What the doctor itself may find: how severe it is, what it is, and what to do."""


async def run_doctor(workspace: Workspace, *, repair: bool = False) -> list[Finding]:
    """Everything that is not as it must or should be; empty if all is well."""
    code = "project-lost" if workspace.policy.lost else "setting-wrong"
    found = [_finding(code, warning) for warning in workspace.policy.warnings]
    if git := workspace.git:  # first: whoever looks at git writes anew what is damaged
        found += await _check_git(workspace, git, repair=repair)
    found += await check_import(workspace, repair=repair)
    with suppress(StoreError):  # a check below reports why it cannot be read
        found += await inbox_findings(workspace)
    found += await workspace.heads.findings(repair=repair)
    found += await find_waiting_writes(workspace)
    if strangers := await find_strangers(workspace):
        counted = pluralise(strangers.count, "memory counts", "memories count")
        found.append(_finding("trust-waits", counted))
    records: list[Record] = []
    for bank in workspace.banks:
        of_records, stored = await bank.records.check(repair=repair)
        of_index = await bank.index.findings(repair=repair)
        found += [*of_records, *of_index]
        if not any(finding.code == "index-unusable" for finding in of_index):
            found += await _check_index(bank, stored, repair=repair)
        if bank.mirror:
            found += await _check_outbox(bank, bank.mirror, stored, repair=repair)
        records += stored
    if any(finding.code.startswith("head-") and not finding.repaired for finding in found):
        return found  # the rest cannot be judged without a head
    found += await _check_head(workspace, records, repair=repair)
    found += _check_links(records)
    found += [
        _finding("erasing-waits", note) for note in await describe_pending_erasures(workspace)
    ]
    found += await check_views(workspace, repair=repair)
    return found


async def _check_git(workspace: Workspace, git: GitFollower, *, repair: bool) -> list[Finding]:
    """What is remembered of git, whether git can be asked, and what it was left in."""
    chosen = git.asked is None
    found = await asyncio.to_thread(git.history.findings, repair=repair, chosen=chosen)
    if git.find_mode() == "off":
        return found
    try:
        if git.history.look().followed:
            await asyncio.to_thread(git.history.require_git)
    except GitSilentError as error:
        found.append(_finding("git-silent", error))
    if left := find_left_over(git.history, workspace.clock.now()):
        what = f"{left.what[:1].upper()}{left.what[1:]} Until it ends, git is not followed."
        found.append(Finding("git-unfinished", "should", what, left.remedy))
    return found


def _finding(code: str, *values: object, repaired: bool = False) -> Finding:
    severity, what, remedy = _FINDINGS[code]
    return Finding(code, severity, what.format(*values), remedy, repaired=repaired)


async def _check_outbox(
    bank: MemoryBank, mirror: Mirror, stored: list[Record], *, repair: bool
) -> list[Finding]:
    """Where the outbox begins anew, nothing tells any more which records came from the cloud.

    So every record that erases counts as pulled: its erasure waits for the user's word.
    """
    found = await mirror.outbox.findings(repair=repair)
    if any(finding.code == "outbox-damaged" and finding.repaired for finding in found):
        erasers = {r.id for r in stored if r.erases or (r.move and r.move.forgets)}
        await bank.index.note_pulled(erasers)
    return found


async def _check_index(bank: MemoryBank, stored: list[Record], *, repair: bool) -> list[Finding]:
    """The index holds exactly the records, and no erased record is left."""
    try:
        known = await bank.index.ids()
        ordered = await bank.index.ordered()
        own = await bank.index.own(record.id for record in stored)
    except StoreError as error:
        return [_finding("index-unusable", error)]
    there = {record.id for record in stored}
    erased = {id_ for record in stored if record.id in own for id_ in record.erases}
    erased &= there | ordered
    found: list[Finding] = []
    if orphans := there - known - erased:
        found.append(_finding("orphans", len(orphans), repaired=repair))
    if ghosts := known - there:
        found.append(_finding("index-ghosts", len(ghosts), repaired=repair))
    if erased:
        what = f"Forgotten records still on disk: {len(erased)}"
        found.append(_finding("forget-unfinished", what, repaired=repair))
    if repair:
        if ghosts:
            await bank.index.remove(ghosts)
        await bank.index.catch_up()
    return found


async def _check_head(
    workspace: Workspace, records: list[Record], *, repair: bool
) -> list[Finding]:
    """The head agrees with the moves, and each move has its record and its line of history."""
    # read as stored: `current` would complete it
    head = await workspace.heads.read() or await load_head(workspace)
    moves = [record for record in records if record.move is not None]
    found: list[Finding] = []
    known = {record.id for record in records}
    if head.last is not None and head.last.id not in known:
        found.append(_finding("move-unwritten", head.last.id, repaired=repair))
        moves.append(head.last)
    found += await _check_held_records(workspace, head, records, repair=repair)
    if repair:
        head = await recover_head(workspace, head)
    if fresh := {move.id for move in moves} - head.timeline.moves:
        found.append(_finding("moves-unknown", len(fresh), repaired=repair))
        if repair:
            await absorb_moves(workspace)
            head = await load_head(workspace)
    found += await _check_timeline(workspace, head, [*records, *moves], repair=repair)
    found += await _check_history(workspace, moves, repair=repair)
    waiting: set[RecordId] = set()
    with suppress(StoreError):  # the check of the index reports it
        waiting = {record.id for record in await list_pending_erasures(workspace)}
    found += _check_segments(head.timeline, [r for r in records if r.id not in waiting])
    return found


async def _check_held_records(
    workspace: Workspace, head: Head, records: list[Record], *, repair: bool
) -> list[Finding]:
    """What was written in one step with the head has its files, unless it was forgotten since."""
    held = {record.id for record in head.with_last}
    own = await workspace.project.index.own(record.id for record in records)
    erased = held.intersection(
        id_ for record in records if record.id in own for id_ in record.erases
    )
    found: list[Finding] = []
    if missing := held - erased - await workspace.project.records.ids():
        found.append(_finding("records-unwritten", len(missing), repaired=repair))
    if erased:
        what = f"Forgotten records still in the head: {len(erased)}"
        found.append(_finding("forget-unfinished", what, repaired=repair))
    return found


async def _check_history(
    workspace: Workspace, moves: list[Record], *, repair: bool
) -> list[Finding]:
    try:
        gaps = await workspace.heads.find_unlogged(moves)
    except StoreError as error:
        return [_finding("history-unreadable", error)]
    if gaps and repair:
        await workspace.heads.log(gaps)
    return [_finding("history-gap", len(gaps), repaired=repair)] if gaps else []


async def _check_timeline(
    workspace: Workspace, head: Head, records: list[Record], *, repair: bool
) -> list[Finding]:
    """The head against the moves on record; made anew from them if they hold all that it knows."""
    timeline, folded = head.timeline, fold_moves(records).drop_spare_bases()
    complete = timeline.moves.issubset(folded.moves)
    found: list[Finding] = []
    # by what a reader sees: what was forgotten has no records to fold
    for branch in timeline.find_differing(folded):
        finding = _finding("head-differs", branch, repaired=complete and repair)
        remedy = finding.remedy if complete else _RESTORE_MOVES.format(workspace.heads.place)
        found.append(replace(finding, remedy=remedy))
    gone = set(timeline.checkpoints) - set(folded.checkpoints)
    missing = timeline.moves - folded.moves
    if missing and (found or gone) and missing <= await _list_committed(workspace, missing):
        return []  # another commit of git has them, and the head is told of all commits
    if found and complete and repair:
        update = {"revision": head.revision + 1, "timeline": folded}
        await workspace.heads.replace(head.model_copy(update=update), expected=head.revision)
        return found
    if gone:
        found.append(_finding("checkpoint-unrecorded", ", ".join(sorted(gone))))
    return found


async def _list_committed(workspace: Workspace, ids: Collection[RecordId]) -> set[RecordId]:
    """Those of these records that any commit of git has; none if git does not answer."""
    if workspace.git is None:
        return set()
    with suppress(GitSilentError):
        return await asyncio.to_thread(workspace.git.history.list_committed, ids)
    return set()


def _check_segments(timeline: Timeline, records: list[Record]) -> Iterator[Finding]:
    known = set(timeline.segments) | {ROOT} | timeline.forgotten
    lost = [r.id for r in records if r.segment is not None and r.segment not in known]
    if lost:
        yield _finding("segment-unknown", len(lost), lost[0])
    forgotten = [r.id for r in records if r.segment in timeline.forgotten]
    if forgotten:
        yield _finding("forgotten-left", len(forgotten), forgotten[0])


def _check_links(records: list[Record]) -> Iterator[Finding]:
    """A record may name one that was erased, but not one that never was.

    A part of a merged record is an exception: it is written after the record that stands for it.
    """
    known = {record.id for record in records}
    known |= {id_ for record in records for id_ in record.erases}
    for record in records:
        parts = set(record.supersedes) & set(record.derived_from)
        carried = record.move.carries if record.move else ()
        named = {*record.supersedes, *record.derived_from, *carried} - parts
        missing = sorted(named - known)
        if missing and record.kind != "tombstone":
            yield _finding("link-dangling", record.id, missing[0])
