"""Plans an import: which records a source gives, what is known, what stays out and why.

A plan writes nothing. A dry run shows it and an import carries it out.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.deduplication import SecretPolicy, find_rejection, makes_superfluous
from memory_mcp.domain.ids import RecordId, derive_id
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.record import Draft, Kind, Origin, Reach, Record, RecordContext
from memory_mcp.domain.transfer import (
    ForeignMemory,
    ImportEffect,
    ImportReport,
    LeftOutItem,
    ParsedExport,
    ParsedSource,
)
from memory_mcp.engine.redaction import redact_text
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError
from memory_mcp.fence import OPEN
from memory_mcp.frozen import frozen, mutable
from memory_mcp.sync.pull import describe_future_date
from memory_mcp.text.drafts import build_record, check_draft
from memory_mcp.text.recalled import drop_headings, find_recalled_ids, separate_recalled
from memory_mcp.text.secrets import RedactedText
from memory_mcp.text.sentences import number_title, split_pieces
from memory_mcp.text.truths import mark_truths
from memory_mcp.transfer.existing import (
    FORGOTTEN,
    NAMED_MAX,
    ExistingRecords,
    ImportEffects,
    Inventory,
    find_effects,
    load_existing,
    statement_key,
    summarise_in_line,
    take_inventory,
)
from memory_mcp.transfer.own_records import (
    RecordSelection,
    place_records,
    refuse_root_forget,
    rename_project,
    select_history,
)

ReportProgress = Callable[[int, int], None]
"""Called with how many items are done, and of how many."""

_LOOKED_BACK_MAX: Final = 1_000
"""Items before a repeated one that may have contradicted it: a repeat is rare, and each is read."""

_UNDATED: Final = datetime.fromisoformat("2000-01-01T00:00:00Z")
"""Stands in the ids of undated items: the time of their file changes when it is copied."""


@mutable
class ImportPlan:
    """The records that an import writes, and what becomes of the rest of its source."""

    records: list[Record] = field(default_factory=list[Record])
    stored: int = 0
    known: int = 0
    left_out: list[LeftOutItem] = field(default_factory=list[LeftOutItem])
    redactions: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    effects: ImportEffects = field(default_factory=ImportEffects)
    _statements: dict[tuple[Reach, str], Record] = field(
        default_factory=dict[tuple[Reach, str], Record]
    )

    def report(self, parsed: ParsedSource, *, dry: bool) -> ImportReport:
        """The outcome of the import, or of its dry run."""
        kinds: Counter[Kind] = Counter(record.kind for record in self.records)
        effects = self.effects
        touched: dict[ImportEffect, tuple[str, ...]] = {
            "erases": effects.erases.first,
            "hides": effects.hides.first,
            "replaces": effects.replaces.first,
        }
        return ImportReport(
            source=parsed.source,
            dry=dry,
            read=parsed.read,
            stored=self.stored,
            known=self.known,
            left_out=tuple(self.left_out),
            records=len(self.records),
            kinds=dict(kinds),
            redactions=dict(self.redactions),
            erases=effects.erases.count,
            hides=effects.hides.count,
            replaces=effects.replaces.count,
            affected={touch: first for touch, first in touched.items() if first},
            first=tuple(summarise_in_line(r) for r in self.records if r.recalled)[:NAMED_MAX],
            notes=(*parsed.notes, *self.notes),
        )

    def add_item(self, label: str, records: Sequence[Record], existing: ExistingRecords) -> None:
        """Add the records of one item that are new; leave it out whole if one is not wanted."""
        fresh: list[Record] = []
        for record in records:
            if reason := _explain_rejection(record, existing):
                self.left_out.append(LeftOutItem(label, reason))
                return
            if record.id in existing.inventory.ids:
                continue
            if existing.holds_already(record) or self._repeats(record):
                continue
            fresh.append(record)
        self.records += fresh
        self.stored += bool(fresh)
        self.known += not fresh

    def _repeats(self, record: Record) -> bool:
        """Whether an earlier item stated this already. Remembers the statement.

        What another item contradicted in between is stated anew.
        """
        key = statement_key(record)
        earlier = self._statements.setdefault(key, record)
        if earlier is record or not makes_superfluous(earlier, record):
            return False
        between = [
            each
            for each in self.records[-_LOOKED_BACK_MAX:]
            if earlier.created_at < each.created_at < record.created_at
        ]
        if any(mark_truths([earlier, each]).outdated for each in between):
            self._statements[key] = record
            return False
        return True


def _explain_rejection(record: Record, existing: ExistingRecords) -> str:
    """Why a record is left out; empty if it is new or known."""
    if record.id in existing.inventory.erased:
        return FORGOTTEN
    if record.id in existing.inventory.ids:
        return existing.explain_conflict(record)
    if tombstone := find_rejection(existing.find_twins(record)):
        return f"was rejected here on {tombstone.created_at:%Y-%m-%d}: {tombstone.content}"
    return ""


async def plan_import(
    workspace: Workspace, parsed: ParsedSource, reach: Reach | None, advance: ReportProgress
) -> ImportPlan:
    """What would become of a source that was read. `reach`, if given, is the scope of all of it.

    Raises:
        InvalidRequestError: an export of ours cannot be taken as it is; the message says why.
    """
    workspace.banks_of(reach)  # refuses a team that is not there, before anything is read
    inventory = await take_inventory(workspace)
    if parsed.own is not None:
        plan = await _plan_own(workspace, parsed.own, reach, inventory)
        plan.effects = await find_effects(workspace, inventory, plan.records)
    else:
        plan = await _plan_foreign(workspace, parsed, reach, inventory, advance)
    plan.left_out = [*parsed.left_out, *plan.left_out]
    return plan


async def _plan_own(
    workspace: Workspace, own: ParsedExport, reach: Reach | None, inventory: Inventory
) -> ImportPlan:
    plan = ImportPlan()
    for record in own.records:
        if fault := describe_future_date(record, inventory.view.now):
            raise InvalidRequestError(
                f"The export is not right: record {record.id}: {fault} Nothing was changed."
            )
    selection = RecordSelection(workspace.policy.secrets, reach, own.about.banks, workspace.reaches)
    if own.about.history:
        own = rename_project(own, workspace.scope, inventory)
        existing = await load_existing(workspace, inventory, own.records)
        plan.records += select_history(selection, own, existing)
        plan.stored = len(plan.records)
        refuse_root_forget(plan.records, inventory)
    else:
        tip = inventory.segment
        lineage = inventory.timeline.lineage(inventory.branch, tip)
        place = (tip, inventory.branch, workspace.scope, lineage, workspace.caller.team)
        placed = list(place_records(selection, own, inventory, place=place))
        existing = await load_existing(workspace, inventory, placed)
        for record in placed:
            plan.add_item(str(record.id), [record], existing)
    plan.known += selection.known
    plan.left_out += selection.left_out
    plan.redactions = selection.redactions
    plan.notes += selection.notes
    return plan


async def _plan_foreign(
    workspace: Workspace,
    parsed: ParsedSource,
    reach: Reach | None,
    inventory: Inventory,
    advance: ReportProgress,
) -> ImportPlan:
    plan = ImportPlan()
    cleaner = _ItemCleaner(
        parsed.source, workspace.policy.secrets, reach, inventory.ids, inventory.view.now
    )
    origin = Origin(by="user", client=f"import:{parsed.source}", session=workspace.origin().session)
    tip = inventory.segment
    lineage = inventory.timeline.lineage(inventory.branch, tip)
    items: list[tuple[str, list[Record]]] = []
    for done, item in enumerate(parsed.memories, 1):
        cleaned = cleaner.redact(item)
        advance(done, len(parsed.memories))
        if isinstance(cleaned, LeftOutItem):
            plan.left_out.append(cleaned)
            continue
        circumstances = (
            cleaned.at, tip, inventory.branch, workspace.scope, origin, lineage,
            workspace.caller.team,
        )  # fmt: skip
        records = [
            build_record(draft, RecordContext(id_, *circumstances)) for id_, draft in cleaned.pieces
        ]
        items.append((cleaned.label, records))
    incoming = [record for _, records in items for record in records]
    existing = await load_existing(workspace, inventory, incoming)
    for label, records in items:
        plan.add_item(label, records, existing)
    plan.redactions = cleaner.redactions
    plan.notes += cleaner.notes
    return plan


@frozen
class _CleanedItem:
    """An item of another program as it may be stored: a draft with its id for each piece."""

    label: str
    pieces: tuple[tuple[RecordId, Draft], ...]
    at: datetime


@mutable
class _ItemCleaner:
    """Cleans items of another program and cuts them to size. Counts what it takes out of them.

    `known` are the ids that exist here.
    """

    source: str
    secrets: SecretPolicy
    reach: Reach | None
    known: Collection[RecordId]
    now: datetime
    redactions: Counter[str] = field(default_factory=Counter[str])
    labels_lost: int = 0
    split: int = 0
    ahead: int = 0

    @property
    def notes(self) -> list[str]:
        """What the report should say of the items."""
        notes: list[str] = []
        if self.split:
            split = pluralise(self.split, "item was", "items were")
            notes.append(f"{split} too long for one memory and split.")
        if self.labels_lost:
            lost = pluralise(self.labels_lost, "tag or category was", "tags or categories were")
            notes.append(f"{lost} too long or too many.")
        if self.ahead:
            ahead = pluralise(self.ahead, "item was dated after today and counts",
                              "items were dated after today and count")  # fmt: skip
            notes.append(f"{ahead} as of now.")
        return notes

    def redact(self, item: ForeignMemory) -> _CleanedItem | LeftOutItem:
        """The item as it may be stored, or why it may not."""
        if len(item.content) > limits.ITEM_CHARS_MAX:
            return LeftOutItem(
                item.item,
                f"has {len(item.content):,} characters; up to {limits.ITEM_CHARS_MAX:,} are split "
                "into memories, more is a document",
            )
        found: Counter[str] = Counter()
        try:
            draft = self._make_draft(item, found)
            reason = self._explain_refusal(item, draft)
            pieces = () if reason else self._split(item, draft)
            for _, piece in pieces:
                check_draft(piece, self.now)
        except _SecretError:
            return LeftOutItem(
                _place(item), "holds what looks like a secret (MEMORY_SECRETS=refuse)"
            )
        except InvalidRequestError as error:
            return LeftOutItem(_place(item), str(error))
        label = _place(item) if found else item.item
        if reason:
            return LeftOutItem(label, reason)
        self.redactions += found
        self.split += len(pieces) > 1
        self.ahead += self._is_ahead(item)
        at = item.at or item.guessed_at or self.now
        return _CleanedItem(label, pieces, min(at, self.now))

    def _is_ahead(self, item: ForeignMemory) -> bool:
        """Whether its date is in the future; such a date does not count."""
        return item.at is not None and item.at > self.now

    def _make_draft(self, item: ForeignMemory, found: Counter[str]) -> Draft:
        def redact(text: str) -> str:
            try:
                redacted = redact_text(text, self.secrets)
            except InvalidRequestError as error:
                raise _SecretError from error
            found.update(redaction.rule for redaction in redacted.redactions)
            return redacted.text

        title = " ".join(redact(item.title).split())
        content = self._drop_recalled(redact(item.content))
        if len(title) > limits.TITLE_CHARS_MAX:  # keep the whole title in the content
            content = content if title in content else f"{title}\n\n{content}"
            title = f"{title[: limits.TITLE_CHARS_MAX - 1].rstrip()}\u2026"
        tags = [redact(tag).strip() for tag in item.tags]
        return Draft(
            content=content.strip(),
            kind=item.kind,
            title=title,
            category=next(iter(self._keep_short([redact(item.category)], 1)), ""),
            tags=tuple(self._keep_short(tags, limits.TAGS_MAX)),
            expires_at=item.expires_at,
            reach=self.reach or item.reach,
        )

    def _drop_recalled(self, content: str) -> str:
        """The content without text of our own recall, known by our fence or by an id of ours."""
        if OPEN in content:
            return separate_recalled(content).own
        if any(id_ in self.known for id_ in find_recalled_ids(content)):
            return drop_headings(separate_recalled(content).own)
        return content

    def _explain_refusal(self, item: ForeignMemory, draft: Draft) -> str:
        if RedactedText(draft.content).holds_only_markers:
            return "is nothing but a secret, which is not kept"
        if not draft.content and item.content.strip():
            return "came out of this memory's own recall"
        if draft.expires_at is not None and draft.expires_at <= self.now:
            return f"expired on {draft.expires_at:%Y-%m-%d}"
        return ""

    def _split(self, item: ForeignMemory, draft: Draft) -> tuple[tuple[RecordId, Draft], ...]:
        """The draft in pieces. Their ids follow from the item, so that it is known again."""
        parts = split_pieces(draft.content, limits.CONTENT_CHARS_MAX) or [draft.content]
        scope = "" if draft.reach == "project" else f"{draft.reach}\n"
        at = _UNDATED if item.at is None or self._is_ahead(item) else item.at
        pieces: list[tuple[RecordId, Draft]] = []
        for number, part in enumerate(parts, 1):
            which = f"\n{number}" if len(parts) > 1 else ""
            title = number_title(draft.title, number, len(parts), limits.TITLE_CHARS_MAX)
            id_ = derive_id(at, f"{scope}{self.source}\n{item.identity}{which}")
            pieces.append((id_, replace(draft, content=part, title=title)))
        return tuple(pieces)

    def _keep_short(self, labels: list[str], limit: int) -> list[str]:
        """The labels that fit; the others are counted."""
        wanted = list(dict.fromkeys(label for label in labels if label))
        kept = [label for label in wanted if len(label) <= limits.TAG_CHARS_MAX][:limit]
        self.labels_lost += len(wanted) - len(kept)
        return kept


class _SecretError(Exception):
    """A text holds a secret, and those are to be refused."""


def _place(item: ForeignMemory) -> str:
    """Where an item stands, without its first words: they may be the secret."""
    return item.item.partition(": ")[0]
