"""Checks every invariant of the design against what is stored, and repairs what can be repaired.

With `repair` only what needs no guess is repaired. A damaged record or a file out of place is left
for a person.
"""

import asyncio
from collections.abc import Collection, Container, Iterator, Mapping
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
from memory_mcp.engine.workspace import GitFollower, MemoryBank, Workspace, refuse_writes
from memory_mcp.errors import GitSilentError, StoreError, StoreUnavailableError
from memory_mcp.maintenance.contents import Contents
from memory_mcp.memories.waiting import find_waiting_writes
from memory_mcp.sessions.inbox import inbox_findings
from memory_mcp.transfer.import_memories import check_import
from memory_mcp.trust.erasing import describe_pending_erasures, list_pending_erasures
from memory_mcp.trust.strangers import describe_settings, find_strangers

_MENDS: Final = "`memory-mcp doctor --repair` mends it; so does the next start of the server."
_RESTORE_MOVES: Final = (
    "Restore the records of the moves from a backup; or move {} away and run `memory-mcp doctor "
    "--repair`, which makes it from those that are left."
)

_FINDINGS: Final[Mapping[str, tuple[Literal["must", "should"], str, str]]] = {
    "project-lost": ("must", "{}", ""),
    "setting-wrong": ("should", "{}", ""),
    "folder-unwritable": ("must", "{}", ""),
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
    "settings-wait": ("should", "{}", ""),
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
    if not refuse_writes(workspace):
        unwritable = await workspace.folders.find_unwritable()
        found += [_find_failure("folder-unwritable", error) for error in unwritable]
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
    if waiting := describe_settings(workspace):
        found.append(_finding("settings-wait", waiting))
    contents = Contents()
    for bank in workspace.banks:
        found += await _check_bank(bank, contents, repair=repair)
    if any(finding.code.startswith("head-") and not finding.repaired for finding in found):
        return found  # the rest cannot be judged without a head
    found += await _check_head(workspace, contents, repair=repair)
    found += [_finding("link-dangling", *each) for each in contents.find_dangling()]
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


def _find_failure(code: str, error: StoreError) -> Finding:
    severity, _, remedy = _FINDINGS[code]
    return Finding.of(code, severity, error, remedy)


async def _check_bank(bank: MemoryBank, contents: Contents, *, repair: bool) -> list[Finding]:
    """The records of a bank, which are added to the contents, its index and its outbox."""
    found: list[Finding] = []
    there: set[RecordId] = set()
    async for each in bank.records.check(repair=repair):
        if isinstance(each, Finding):
            found.append(each)
        else:
            there.add(each.id)
            contents.add(each)
    of_index = await bank.index.findings(repair=repair)
    found += of_index
    if not any(finding.code == "index-unusable" for finding in of_index):
        found += await _check_index(bank, contents, there, repair=repair)
    if bank.mirror:
        erasers = there.intersection({*contents.erases, *contents.forgets})
        found += await _check_outbox(bank, bank.mirror, erasers, repair=repair)
    return found


async def _check_outbox(
    bank: MemoryBank, mirror: Mirror, erasers: Collection[RecordId], *, repair: bool
) -> list[Finding]:
    """Where the outbox begins anew, nothing tells any more which records came from the cloud.

    So every record that erases counts as pulled: its erasure waits for the user's word.
    """
    found = await mirror.outbox.findings(repair=repair)
    if any(finding.code == "outbox-damaged" and finding.repaired for finding in found):
        await bank.index.note_pulled(erasers)
    return found


async def _check_index(
    bank: MemoryBank, contents: Contents, there: set[RecordId], *, repair: bool
) -> list[Finding]:
    """The index holds exactly the records that are there, and no erased record is left."""
    try:
        known = await bank.index.ids()
        ordered = await bank.index.ordered()
        own = await bank.index.own(there.intersection(contents.erases))
    except StoreError as error:
        failure = _find_failure("index-unusable", error)
        refused = isinstance(error, StoreUnavailableError)  # a rebuild does not help, and no search
        return [replace(failure, severity="must") if refused else failure]
    erased = contents.list_erased(own) & (there | ordered)
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


async def _check_head(workspace: Workspace, contents: Contents, *, repair: bool) -> list[Finding]:
    """The head agrees with the moves, and each move has its record and its line of history."""
    # read as stored: `current` would complete it
    head = await workspace.heads.read() or await load_head(workspace)
    moves = [*contents.moves]
    found: list[Finding] = []
    if head.last is not None and head.last.id not in contents.ids:
        found.append(_finding("move-unwritten", head.last.id, repaired=repair))
        moves.append(head.last)
    found += await _check_held_records(workspace, head, contents, repair=repair)
    if repair:
        head = await recover_head(workspace, head)
    if fresh := {move.id for move in moves} - head.timeline.moves:
        found.append(_finding("moves-unknown", len(fresh), repaired=repair))
        if repair:
            await absorb_moves(workspace)
            head = await load_head(workspace)
    found += await _check_timeline(workspace, head, contents.fold(moves), repair=repair)
    found += await _check_history(workspace, moves, repair=repair)
    waiting: set[RecordId] = set()
    with suppress(StoreError):  # the check of the index reports it
        waiting = {record.id for record in await list_pending_erasures(workspace)}
    found += _check_segments(head.timeline, contents, waiting)
    return found


async def _check_held_records(
    workspace: Workspace, head: Head, contents: Contents, *, repair: bool
) -> list[Finding]:
    """What was written in one step with the head has its files, unless it was forgotten since."""
    held = {record.id for record in head.with_last}
    erased = held & contents.list_erased(await workspace.project.index.own(contents.erases))
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
        return [_find_failure("history-unreadable", error)]
    if gaps and repair:
        await workspace.heads.log(gaps)
    return [_finding("history-gap", len(gaps), repaired=repair)] if gaps else []


async def _check_timeline(
    workspace: Workspace, head: Head, folded: Timeline, *, repair: bool
) -> list[Finding]:
    """The head against the moves on record; made anew from them if they hold all that it knows."""
    timeline, folded = head.timeline, folded.drop_spare_bases()
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


def _check_segments(
    timeline: Timeline, contents: Contents, waiting: Container[RecordId]
) -> Iterator[Finding]:
    known = set(timeline.segments) | {ROOT} | timeline.forgotten
    for code, segments in (
        ("segment-unknown", contents.by_segment.keys() - known),
        ("forgotten-left", contents.by_segment.keys() & timeline.forgotten),
    ):
        ids = [id_ for each in segments for id_ in contents.by_segment[each] if id_ not in waiting]
        if ids:
            yield _finding(code, len(ids), min(ids))
