"""Prepares the records of an export of ours: unchanged with their history, else placed here.

With its history an export comes in as another clone's folder would: the records as they are, and
the two timelines become one. The history of another project is taken only where none exists yet,
and under the name of this project. Without history, its memories are placed at the tip of this
branch and keep their ids, so that they are known again.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from typing import Final

from memory_mcp.domain.deduplication import SecretPolicy
from memory_mcp.domain.ids import ROOT, BranchName, RecordId, SegmentId, derive_id, parse_id_time
from memory_mcp.domain.normalise import pluralise
from memory_mcp.domain.record import EPISODE_PREFIX, Lineage, Reach, Record, RecordContext, Scope
from memory_mcp.domain.transfer import LeftOutItem, ParsedExport
from memory_mcp.engine.redaction import redact_text
from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import mutable
from memory_mcp.text.secrets import RedactedText
from memory_mcp.timeline.moves import fold_moves
from memory_mcp.transfer.existing import FORGOTTEN, ExistingRecords, Inventory

Place = tuple[SegmentId, BranchName, Scope, Lineage, str]
"""Segment, branch, the scope of the project's records, lineage, and the writer's team."""

_TEXTS: Final = ("content", "title", "category", "key")
_ORIGIN_TEXTS: Final = ("client", "session", "git_branch")
"""The texts of a record, and of its origin, in which a secret may stand."""

_NOTHING_LEFT: Final = "is nothing but a secret, which is not kept"

_KEY_PREFIXES: Final = ("project", "phase", "gardener")
"""Keys that name a project after one of these words."""


@mutable
class RecordSelection:
    """Selects the wanted records of an export, and collects what becomes of the others.

    `banks` are those that the export is of, `there` those of this workspace.
    """

    secrets: SecretPolicy
    reach: Reach | None
    banks: tuple[Reach, ...]
    there: tuple[Reach, ...]
    known: int = 0
    left_out: list[LeftOutItem] = field(default_factory=list[LeftOutItem])
    redactions: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])

    def leave_out(self, record: Record, reason: str) -> None:
        """Note why a record does not come in."""
        self.left_out.append(LeftOutItem(record.id, reason))

    def select(
        self,
        records: tuple[Record, ...],
        known: AbstractSet[RecordId],
        erased: AbstractSet[RecordId],
    ) -> Iterator[Record]:
        """The records of the wanted scope that were not forgotten; known ones are among them."""
        for record in records:
            scope = record.scope.reach
            if scope not in self.there:
                self.leave_out(record, f"belongs to a {scope}, and there is none here")
            elif scope not in self.banks:
                self.leave_out(record, f"belongs to the {scope} scope, of which the export is not")
            elif self.reach is not None and scope != self.reach:
                self.leave_out(record, f"belongs to the {scope} scope, which was not asked for")
            elif record.id not in known and (
                record.id in erased or not erased.isdisjoint(record.derived_from)
            ):
                self.leave_out(record, FORGOTTEN)
            else:
                yield record

    def redact(self, record: Record) -> Record | None:
        """The record without secrets; None if it is nothing but a secret.

        Raises:
            InvalidRequestError: it holds a secret, and those are to be refused.
        """
        texts = {name: str(getattr(record, name)) for name in _TEXTS}
        texts |= {f"tag {number}": tag for number, tag in enumerate(record.tags)}
        texts |= {f"origin.{name}": str(getattr(record.origin, name)) for name in _ORIGIN_TEXTS}
        cleaned = {name: redact_text(text, self.secrets, name) for name, text in texts.items()}
        found = {name: text for name, text in cleaned.items() if text.redactions}
        if not found:
            return record
        if (
            "content" in found
            and RedactedText(found["content"].text).holds_only_markers
            and not record.move
        ):
            return None
        self.redactions.update(r.rule for text in found.values() for r in text.redactions)
        update = {name: found[name].text for name in _TEXTS if name in found}
        tags = tuple(
            found[name].text if (name := f"tag {number}") in found else tag
            for number, tag in enumerate(record.tags)
        )
        origin = {n: found[f"origin.{n}"].text for n in _ORIGIN_TEXTS if f"origin.{n}" in found}
        return record.model_copy(
            update={**update, "tags": tags, "origin": record.origin.model_copy(update=origin)}
        )


def rename_project(own: ParsedExport, scope: Scope, inventory: Inventory) -> ParsedExport:
    """A history under the name of this project; another project's only where there is none yet.

    It is this project under another name if any of its records is here: the name follows from a
    remote or a folder, which may change.

    Raises:
        InvalidRequestError: it is the history of another project.
    """
    theirs = own.about.scope.project
    records = [record for record in own.records if record.scope.reach == "project"]
    known = any(record.id in inventory.ids_of["project"] for record in records)
    if not records or theirs == scope.project or known:
        return own
    if inventory.ids_of["project"]:
        raise InvalidRequestError(
            f"It is the history of the project {theirs!r}, and this is {scope.project!r}: two "
            "histories do not become one. Export there without --history, and import that. "
            "Nothing was changed."
        )
    renamed = {
        record.id: record.model_copy(update={"scope": scope, "key": _rename_key(record, scope)})
        for record in records
    }
    return replace(own, records=tuple(renamed.get(r.id, r) for r in own.records))


def refuse_root_forget(records: list[Record], inventory: Inventory) -> None:
    """Refuse a move that forgets the first segment, which is the same one in every project.

    Raises:
        InvalidRequestError: one does, and this project has records.
    """
    for record in records:
        if inventory.ids_of["project"] and record.move is not None and ROOT in record.move.forgets:
            raise InvalidRequestError(
                f"The export gives up the first part of the timeline for good (record {record.id}),"
                " and that would erase what is here. Export without --history, and import that. "
                "Nothing was changed."
            )


def select_history(
    selection: RecordSelection, own: ParsedExport, existing: ExistingRecords
) -> list[Record]:
    """The records that are new here, as they are.

    Raises:
        InvalidRequestError: one holds a secret, and those are to be refused. A history without
            that record would be another one.
    """
    inventory = existing.inventory
    erased = inventory.erased | {id_ for record in own.records for id_ in record.erases}
    joined = fold_moves(own.records, onto=inventory.timeline)
    found: list[Record] = []
    for record in selection.select(own.records, inventory.ids, erased):
        if existing.holds_same(record):
            selection.known += 1
            continue
        redactions = selection.redactions.copy()
        redacted = selection.redact(record)
        if record.id in inventory.ids:
            selection.redactions = redactions  # nothing of it is written
            if redacted is not None and existing.holds_same(redacted):
                selection.known += 1
            else:
                selection.leave_out(record, existing.explain_conflict(redacted or record))
        elif record.segment in joined.forgotten and record.move is None:
            selection.leave_out(record, "is on a line that was given up for good")
        elif redacted is None:
            selection.leave_out(record, _NOTHING_LEFT)
        else:
            found.append(redacted)
    _refuse_secret_names(found, selection.secrets)
    segments = {ROOT, *joined.segments, *joined.forgotten}
    if adrift := sum(r.segment is not None and r.segment not in segments for r in found):
        selection.notes.append(
            f"{pluralise(adrift, 'record is', 'records are')} on a part of the timeline that did "
            "not come along: not to be seen until it does."
        )
    return found


def _refuse_secret_names(records: list[Record], secrets: SecretPolicy) -> None:
    """Refuse a secret in a name: without it, it would be another name.

    Raises:
        InvalidRequestError: a name holds one.
    """
    names: set[str] = set()
    for record in records:
        names |= {record.scope.user, record.scope.project or "", record.scope.team or ""}
        names.add(record.branch or "")
        names |= {record.move.branch, *record.move.opens} if record.move else set()
    if any(redact_text(name, secrets).redactions for name in names):
        raise InvalidRequestError(
            "The name of a branch, a user or a project in the export holds what looks like a "
            "secret. Export without --history, and import that. Nothing was changed."
        )


def place_records(
    selection: RecordSelection, own: ParsedExport, inventory: Inventory, *, place: Place
) -> Iterator[Record]:
    """The memories of an export without history, each at this place of the timeline."""
    present = inventory.ids | {record.id for record in own.records}
    for record in selection.select(own.records, inventory.ids, inventory.erased):
        is_new_checkpoint = record.kind == "checkpoint" and record.id not in inventory.ids
        memory = _summarise_checkpoint(record) if is_new_checkpoint else record
        if not memory.recalled:
            selection.leave_out(record, f"is a {memory.kind}, which is part of a history")
        elif memory.expires_at is not None and memory.expires_at <= inventory.view.now:
            selection.leave_out(record, f"expired on {memory.expires_at:%Y-%m-%d}")
        else:
            try:
                redacted = selection.redact(memory)
            except InvalidRequestError:
                what = "holds what looks like a secret (MEMORY_SECRETS=refuse)"
                selection.leave_out(memory, what)
                continue
            if redacted is None:
                selection.leave_out(memory, _NOTHING_LEFT)
            else:
                yield _place_record(redacted, present, place)


def _summarise_checkpoint(checkpoint: Record) -> Record:
    """The summary of a checkpoint that comes without its timeline, as an event.

    It has an id of its own: the checkpoint itself may come later, with its history.
    """
    return checkpoint.model_copy(
        update={
            "id": derive_id(parse_id_time(checkpoint.id), f"summary of\n{checkpoint.id}"),
            "kind": "event",
            "category": "checkpoint",
            "move": None,
            "key": "",
        }
    )


def _place_record(record: Record, present: AbstractSet[RecordId], place: Place) -> Record:
    """The record at this place. Sources that are absent are not named: they count as abandoned."""
    segment, branch, scope, lineage, team = place
    context = RecordContext(record.id, record.created_at, segment, branch, scope, record.origin,
                            lineage, team)  # fmt: skip
    same_key = record.scope.project in (None, scope.project)
    return record.model_copy(
        update={
            "segment": None if record.durable else segment,
            "branch": None if record.durable else branch,
            "lineage": Lineage() if record.durable else lineage,
            "scope": context.scope_of(record.scope.reach),
            "key": record.key if same_key else _rename_key(record, scope),
            "move": None,
            "erases": (),
            "derived_from": tuple(
                id_ for id_ in record.derived_from if id_ in present or id_ in record.supersedes
            ),
        }
    )


def _rename_key(record: Record, scope: Scope) -> str:
    told = EPISODE_PREFIX if record.key.startswith(EPISODE_PREFIX) else ""
    key = record.key.removeprefix(told)
    for prefix in _KEY_PREFIXES:
        old = f"{prefix}:{record.scope.project}:"
        if key.startswith(old):
            return f"{told}{prefix}:{scope.project or 'none'}:{key.removeprefix(old)}"
    return record.key
