"""What would become of a source: which records it gives, what is known, what stays out and why.

A plan writes nothing; the same plan is shown by a dry run and carried out by an import.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from memory_mcp.deduplication.decide import rejection
from memory_mcp.domain.record import Kind, Origin, Reach, Record, Writing
from memory_mcp.domain.transfer import Imported, LeftOut, OwnExport, Parsed, Touch
from memory_mcp.engine.workspace import Workspace
from memory_mcp.sync.checks import check_records
from memory_mcp.text.drafts import build_record
from memory_mcp.text.merge import makes_superfluous
from memory_mcp.transfer.existing import (
    FORGOTTEN,
    Beside,
    Effects,
    Here,
    beside,
    effects,
    first_words,
    look,
)
from memory_mcp.transfer.foreign_records import Adopting
from memory_mcp.transfer.own_records import (
    Arriving,
    at_home,
    placed_here,
    refuse_the_root,
    with_history,
)

Advance = Callable[[int, int], None]

_FIRST: Final = 5


@dataclass
class Plan:
    """What is to be written, and what became of the rest."""

    records: list[Record] = field(default_factory=list[Record])
    stored: int = 0
    known: int = 0
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    redactions: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    effects: Effects = field(default_factory=Effects)
    _statements: dict[tuple[bool, str], Record] = field(
        default_factory=dict[tuple[bool, str], Record]
    )

    def report(self, parsed: Parsed, *, dry: bool) -> Imported:
        """The plan as it is told."""
        kinds: Counter[Kind] = Counter(record.kind for record in self.records)
        done = self.effects
        touched: dict[Touch, tuple[str, ...]] = {
            "erases": done.erased,
            "hides": done.hidden,
            "replaces": done.replaced,
        }
        return Imported(
            source=parsed.source,
            dry=dry,
            read=parsed.read,
            stored=self.stored,
            known=self.known,
            left_out=tuple(self.left_out),
            records=len(self.records),
            kinds=dict(kinds),
            redactions=dict(self.redactions),
            erases=done.erases,
            hides=done.hides,
            replaces=done.replaces,
            touched={name: said for name, said in touched.items() if said},
            first=tuple(first_words(r) for r in self.records if r.recalled)[:_FIRST],
            notes=(*parsed.notes, *self.notes),
        )

    def said_before(self, record: Record) -> bool:
        """Whether this very statement is in the plan already; it is from now on."""
        name = (record.scope.project is None, record.statement)
        other = self._statements.setdefault(name, record)
        return other is not record and makes_superfluous(other, record)

    def weigh(self, records: Sequence[Record], item: str, there: Beside) -> None:
        """One item, with all its pieces: new, known, or not wanted."""
        fresh: list[Record] = []
        for record in records:
            if reason := _unwanted(record, there):
                self.left_out.append(LeftOut(item, reason))
                return
            if record.id in there.here.ids:
                continue
            twins = there.twins(record)
            if any(makes_superfluous(known, record) for known in twins) or self.said_before(record):
                continue
            fresh.append(record)
        self.records += fresh
        self.stored += bool(fresh)
        self.known += not fresh


def _unwanted(record: Record, there: Beside) -> str:
    """Why a record does not come in, and is not known either."""
    if record.id in there.here.erased:
        return FORGOTTEN
    if record.id in there.here.ids:
        return there.unknown_because(record)
    if tombstone := rejection(there.twins(record)):
        return f"was rejected here on {tombstone.created_at:%Y-%m-%d}: {tombstone.content}"
    return ""


async def planned(
    workspace: Workspace, parsed: Parsed, reach: Reach | None, advance: Advance
) -> Plan:
    """What would become of a source that was read; `reach` says whose all of it is to be.

    Raises:
        InvalidRequestError: an export of ours cannot be taken as it is; the message says why.
    """
    here = await look(workspace)
    if parsed.own is not None:
        plan = await _own(workspace, parsed.own, reach, here)
        plan.effects = await effects(workspace, here, plan.records)
    else:
        plan = await _foreign(workspace, parsed, reach, here, advance)
    plan.left_out = [*parsed.left_out, *plan.left_out]
    return plan


async def _foreign(
    workspace: Workspace, parsed: Parsed, reach: Reach | None, here: Here, advance: Advance
) -> Plan:
    plan = Plan()
    taking = Adopting(parsed.source, workspace.policy.secrets, reach, here.ids, here.view.now)
    origin = Origin(by="user", client=f"import:{parsed.source}", session=workspace.origin().session)
    tip = here.timeline.tips(here.branch)[-1]
    lineage = here.timeline.lineage(here.branch, tip)
    items: list[tuple[str, list[Record]]] = []
    for done, item in enumerate(parsed.memories, 1):
        adopted = taking.take(item)
        advance(done, len(parsed.memories))
        if isinstance(adopted, LeftOut):
            plan.left_out.append(adopted)
            continue
        circumstances = (adopted.at, tip, here.branch, workspace.scope, origin, lineage)
        records = [
            build_record(draft, Writing(id_, *circumstances)) for id_, draft in adopted.pieces
        ]
        items.append((adopted.item, records))
    there = await beside(workspace, here, [record for _, records in items for record in records])
    for label, records in items:
        plan.weigh(records, label, there)
    plan.redactions = taking.redactions
    if taking.split:
        plan.notes.append(f"{taking.split} item(s) were too long for one memory, and were split.")
    if taking.labels_lost:
        plan.notes.append(f"{taking.labels_lost} tag(s) or categories were too long or too many.")
    if taking.ahead:
        plan.notes.append(f"{taking.ahead} item(s) were dated after today, and count as of now.")
    return plan


async def _own(workspace: Workspace, own: OwnExport, reach: Reach | None, here: Here) -> Plan:
    plan = Plan()
    check_records(own.records, here.view.now)
    arriving = Arriving(workspace.policy.secrets, reach, own.about.pools)
    if own.about.history:
        own = at_home(own, workspace.scope, here)
        there = await beside(workspace, here, own.records)
        plan.records += with_history(arriving, own, there)
        plan.stored = len(plan.records)
        refuse_the_root(plan.records, here)
    else:
        tip = here.timeline.tips(here.branch)[-1]
        place = (tip, here.branch, workspace.scope, here.timeline.lineage(here.branch, tip))
        placed = list(placed_here(arriving, own, here, place=place))
        there = await beside(workspace, here, placed)
        for record in placed:
            plan.weigh([record], str(record.id), there)
    plan.known += arriving.known
    plan.left_out += arriving.left_out
    plan.redactions = arriving.redactions
    plan.notes += arriving.notes
    return plan
