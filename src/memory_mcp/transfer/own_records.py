"""Records of an export of ours, on their way in: as they were, or placed where this branch stands.

With its history an export comes in as the folder of another clone would: its records as they are,
byte for byte, and the timelines become one. The history of another project becomes that of one that
has none yet, and is called by its name; it is not mixed into another. Without history, what held
there is taken as if it had been learnt here: at this branch's tip, with its id, so that it is known
again.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from memory_mcp.domain.deduplication import Secrets
from memory_mcp.domain.ids import ROOT, BranchName, RecordId, SegmentId, made_id, time_of
from memory_mcp.domain.record import TOLD, Lineage, Reach, Record, Scope
from memory_mcp.domain.transfer import LeftOut, OwnExport
from memory_mcp.engine.cleaning import clean
from memory_mcp.errors import InvalidRequestError
from memory_mcp.text.secrets import Redacted
from memory_mcp.timeline.moves import fold
from memory_mcp.transfer.existing import FORGOTTEN, Beside, Here

Place = tuple[SegmentId, BranchName, Scope, Lineage]

_TEXTS: Final = ("content", "title", "category", "key")
_ORIGIN: Final = ("client", "session", "git_branch")
"""The texts of a record, and of its origin: a secret may stand in any of them."""

_KEYED: Final = ("project", "phase", "gardener")
"""The keys that name a project after this word."""


@dataclass
class Arriving:
    """What is done with every record, and what became of those that are not new."""

    secrets: Secrets
    reach: Reach | None
    pools: tuple[Reach, ...]
    known: int = 0
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    redactions: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])

    def leave(self, record: Record, reason: str) -> None:
        """Say why a record does not come in."""
        self.left_out.append(LeftOut(record.id, reason))

    def fresh(
        self,
        records: tuple[Record, ...],
        known: AbstractSet[RecordId],
        erased: AbstractSet[RecordId],
    ) -> Iterator[Record]:
        """The records that are wanted and were not forgotten; also those that are here."""
        for record in records:
            whose = "user" if record.scope.project is None else "project"
            if whose not in self.pools:
                self.leave(record, f"belongs to the {whose} scope, of which the export is not")
            elif self.reach is not None and whose != self.reach:
                self.leave(record, f"belongs to the {whose} scope, which was not asked for")
            elif record.id not in known and (
                record.id in erased or not erased.isdisjoint(record.derived_from)
            ):
                self.leave(record, FORGOTTEN)
            else:
                yield record

    def without_secrets(self, record: Record) -> Record | None:
        """The record as it may be written: as it is, unless there is a secret in it.

        None if it is nothing but that.

        Raises:
            InvalidRequestError: there is one, and those are to be refused.
        """
        texts = {name: str(getattr(record, name)) for name in _TEXTS}
        texts |= {f"tag {number}": tag for number, tag in enumerate(record.tags)}
        texts |= {f"origin.{name}": str(getattr(record.origin, name)) for name in _ORIGIN}
        found = {name: clean(text, self.secrets, name) for name, text in texts.items()}
        held = {name: said for name, said in found.items() if said.redactions}
        if not held:
            return record
        if "content" in held and Redacted(held["content"].text).nothing_left and not record.move:
            return None
        self.redactions.update(r.rule for said in held.values() for r in said.redactions)
        clear = {name: said.text for name, said in held.items() if name in Record.model_fields}
        tags = tuple(
            held[name].text if (name := f"tag {number}") in held else tag
            for number, tag in enumerate(record.tags)
        )
        origin = {n: held[f"origin.{n}"].text for n in _ORIGIN if f"origin.{n}" in held}
        return record.model_copy(
            update={**clear, "tags": tags, "origin": record.origin.model_copy(update=origin)}
        )


def at_home(own: OwnExport, scope: Scope, here: Here) -> OwnExport:
    """A history under the name of this project: another one's only where there is none yet.

    It is the same project under another name if anything of it is here: a name follows from a
    remote, or from the place of a folder.

    Raises:
        InvalidRequestError: it is the history of another project.
    """
    theirs = own.about.scope.project
    ours = [record for record in own.records if record.scope.project is not None]
    if not ours or theirs == scope.project or any(record.id in here.ours for record in ours):
        return own
    if here.ours:
        raise InvalidRequestError(
            f"It is the history of the project {theirs!r}, and this is {scope.project!r}: two "
            "histories do not become one. Export there without --history, and import that. "
            "Nothing was changed."
        )
    renamed = {
        record.id: record.model_copy(update={"scope": scope, "key": _rekeyed(record, scope)})
        for record in ours
    }
    return replace(own, records=tuple(renamed.get(r.id, r) for r in own.records))


def refuse_the_root(records: list[Record], here: Here) -> None:
    """The first segment is the same in every project: who forgets it would erase this one whole.

    Raises:
        InvalidRequestError: one of the records does, and this project has something to lose.
    """
    for record in records:
        if here.ours and record.move is not None and ROOT in record.move.forgets:
            raise InvalidRequestError(
                f"The export gives up the first part of the timeline for good (record {record.id}),"
                " and that would erase what is here. Export without --history, and import that. "
                "Nothing was changed."
            )


def with_history(arriving: Arriving, own: OwnExport, there: Beside) -> list[Record]:
    """The records that are new here, as they are.

    Raises:
        InvalidRequestError: one holds a secret, and those are to be refused: a history of which
            a part is missing would be another.
    """
    here = there.here
    erased = here.erased | {id_ for record in own.records for id_ in record.erases}
    joined = fold(own.records, onto=here.timeline)
    found: list[Record] = []
    for record in arriving.fresh(own.records, here.ids, erased):
        if there.is_the_same(record):
            arriving.known += 1
            continue
        redacted = arriving.redactions.copy()
        clear = arriving.without_secrets(record)
        if record.id in here.ids:
            arriving.redactions = redacted  # nothing is written of it
            if clear is not None and there.is_the_same(clear):
                arriving.known += 1
            else:
                arriving.leave(record, there.unknown_because(clear or record))
        elif record.segment in joined.forgotten and record.move is None:
            arriving.leave(record, "is on a line that was given up for good")
        elif clear is None:
            arriving.leave(record, "is nothing but a secret, which is not kept")
        else:
            found.append(clear)
    _refuse_secret_names(found, arriving.secrets)
    segments = {ROOT, *joined.segments, *joined.forgotten}
    if adrift := sum(r.segment is not None and r.segment not in segments for r in found):
        arriving.notes.append(
            f"{adrift} record(s) are on a part of the timeline that did not come along, so they "
            "cannot be seen until it does."
        )
    return found


def _refuse_secret_names(records: list[Record], secrets: Secrets) -> None:
    """A name that is cut is another name, so a secret cannot be taken out of it.

    Raises:
        InvalidRequestError: there is one in a name.
    """
    names: set[str] = set()
    for record in records:
        names |= {record.scope.user, record.scope.project or "", record.branch or ""}
        names |= {record.move.branch, *record.move.opens} if record.move else set()
    if any(clean(name, secrets).redactions for name in names):
        raise InvalidRequestError(
            "The name of a branch, a user or a project in the export holds what looks like a "
            "secret. Export without --history, and import that. Nothing was changed."
        )


def placed_here(
    arriving: Arriving, own: OwnExport, here: Here, *, place: Place
) -> Iterator[Record]:
    """The memories of it, each at this place of the timeline.

    What they were made of and did not come along is no longer named: it would count as abandoned.
    """
    there = here.ids | {record.id for record in own.records}
    for record in arriving.fresh(own.records, here.ids, here.erased):
        alone = record.kind == "checkpoint" and record.id not in here.ids
        made = _summed_up(record) if alone else record
        if not made.recalled:
            arriving.leave(record, f"is a {made.kind}, which is part of a history")
        elif made.expires_at is not None and made.expires_at <= here.view.now:
            arriving.leave(record, f"expired on {made.expires_at:%Y-%m-%d}")
        elif (clear := _without_secrets(arriving, made)) is not None:
            yield _placed(clear, there, place)


def _without_secrets(arriving: Arriving, record: Record) -> Record | None:
    try:
        clear = arriving.without_secrets(record)
    except InvalidRequestError:
        arriving.leave(record, "holds what looks like a secret (MEMORY_SECRETS=refuse)")
        return None
    if clear is None:
        arriving.leave(record, "is nothing but a secret, which is not kept")
    return clear


def _summed_up(checkpoint: Record) -> Record:
    """A checkpoint without its timeline is what was said of it.

    It has an id of its own: the checkpoint itself may come one day, with its history.
    """
    return checkpoint.model_copy(
        update={
            "id": made_id(time_of(checkpoint.id), f"summary of\n{checkpoint.id}"),
            "kind": "event",
            "category": "checkpoint",
            "move": None,
            "key": "",
        }
    )


def _placed(record: Record, there: AbstractSet[RecordId], place: Place) -> Record:
    segment, branch, scope, lineage = place
    mine = record.scope.project is None
    same = record.scope.project == scope.project
    return record.model_copy(
        update={
            "segment": None if record.durable else segment,
            "branch": None if record.durable else branch,
            "lineage": Lineage() if record.durable else lineage,
            "scope": Scope(user=scope.user) if mine else scope,
            "key": record.key if mine or same else _rekeyed(record, scope),
            "move": None,
            "erases": (),
            "derived_from": tuple(
                id_ for id_ in record.derived_from if id_ in there or id_ in record.supersedes
            ),
        }
    )


def _rekeyed(record: Record, scope: Scope) -> str:
    told = TOLD if record.key.startswith(TOLD) else ""
    key = record.key.removeprefix(told)
    for word in _KEYED:
        old = f"{word}:{record.scope.project}:"
        if key.startswith(old):
            return f"{told}{word}:{scope.project or 'none'}:{key.removeprefix(old)}"
    return record.key
