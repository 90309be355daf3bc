"""The timeline as a value: segments, checkpoints, left lines, and phases."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, cast

from memory_mcp.domain.checked import FrozenModel, constrain
from memory_mcp.domain.fields import (
    BranchField,
    CheckpointField,
    Commit,
    LineField,
    Name,
    Phase,
    RecordIdField,
    SegmentField,
    SegmentIds,
    StrictInt,
    Summary,
)
from memory_mcp.domain.ids import (
    MAIN,
    ROOT,
    BranchName,
    CheckpointId,
    LineId,
    RecordId,
    SegmentId,
    make_line_id,
    parse_id_time,
)
from memory_mcp.domain.limits import LINEAGE_SEGMENTS_MAX, REVISION_MAX, TIMELINE_SEGMENTS_MAX
from memory_mcp.domain.record import Approval, Lineage, Record, Timestamp
from memory_mcp.frozen import frozen

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_APPROVED: Final[tuple[Approval, ...]] = ("approved", "auto")

_PLACING: Final = ("segments", "forgotten", "given_up", "undone", "bases")
"""The fields of a timeline on which its chains depend."""

_ANCESTORS_MAX: Final = 64
"""Segments whose ancestors are remembered: a report names ten checkpoints and ten lines."""
_EFFECTS_MAX: Final = 10
"""Lines of which it is remembered what restoring them leads to: a report looks into as many."""


class Segment(FrozenModel):
    """The stretch between two checkpoints. Two parents only where two clones were joined."""

    id: SegmentField
    parents: SegmentIds
    branch: BranchField
    move: RecordIdField


class Checkpoint(FrozenModel):
    """A restore point: everything in the segments it `seals` and in their ancestors.

    It was made in the last of these: there lies its record, and where that stands, it does.
    """

    id: CheckpointField
    phase: Phase | None = None
    summary: Summary = ""
    approval: Approval
    seals: SegmentIds
    branch: BranchField
    move: RecordIdField
    at: Timestamp

    @property
    def segment(self) -> SegmentId:
        """The one in which it was made."""
        return self.seals[-1]


class Line(FrozenModel):
    """What a backtrack or a restore (`move`) left. Its id restores it."""

    id: LineField
    tips: SegmentIds
    branch: BranchField
    move: RecordIdField | None = None
    at: Timestamp


class Anchor(FrozenModel):
    """What is written in these segments holds where this commit of git is part of the history."""

    segments: SegmentIds
    commit: Commit
    git_branch: Name = ""


_MANY: Final = constrain(max_length=TIMELINE_SEGMENTS_MAX)


class AbandonedSegments(FrozenModel):
    """The segments that one backtrack or restore took off a branch, with what grew from them.

    What it `keeps` and what grew from that stays on the branch.
    """

    branch: BranchField
    segments: Annotated[frozenset[SegmentField], _MANY]
    keeps: Annotated[frozenset[SegmentField], _MANY] = frozenset()


class RestoreEffect(NamedTuple):
    """Restoring a left line: the moves it undoes, the segments it gives up, and the new chain."""

    undoes: tuple[RecordId, ...]
    gives_up: frozenset[SegmentId]
    chain: frozenset[SegmentId]


class JoinEffect(NamedTuple):
    """A join: the moves it undoes, and what of these each side goes on without.

    The side that is joined into `gives_up` its part, and the node is left `stranded` without its.
    """

    undoes: tuple[RecordId, ...]
    gives_up: frozenset[SegmentId]
    stranded: frozenset[SegmentId]


@frozen
class _Position:
    """Where a branch stands: its tips, and what its chain is made of.

    `on` are the segments begun on it that it did not abandon, oldest first; `off` is what grew from
    those that it abandoned; `base` is what it was forked from, where no move tells.
    """

    tips: tuple[SegmentId, ...]
    on: tuple[SegmentId, ...]
    off: frozenset[SegmentId] = frozenset()
    base: frozenset[SegmentId] = frozenset()

    @cached_property
    def own(self) -> frozenset[SegmentId]:
        return frozenset(self.on)


class _Cache:
    """What was found out about one timeline, which never changes."""

    def __init__(self) -> None:
        self.complete: bool | None = None
        self.branches: tuple[BranchName, ...] | None = None
        self.opened: dict[BranchName, list[SegmentId]] | None = None
        self.children: dict[SegmentId, list[SegmentId]] | None = None
        self.parents: dict[SegmentId, tuple[SegmentId, ...]] | None = None
        self.in_effect: dict[BranchName, list[RecordId]] | None = None
        self.held: dict[BranchName | None, frozenset[SegmentId]] = {}
        self.decided: list[Checkpoint] | None = None
        self.valid: dict[BranchName, list[Checkpoint]] = {}
        self.positions: dict[BranchName, _Position] = {}
        self.chains: dict[BranchName, frozenset[SegmentId]] = {}
        self.lineages: dict[tuple[BranchName, SegmentId | None], Lineage] = {}
        self.older: dict[tuple[SegmentId, BranchName], list[SegmentId]] = {}
        self.ancestors: dict[SegmentId, frozenset[SegmentId]] = {}  # of _ANCESTORS_MAX at most
        self.following: tuple[object, Timeline] | None = None
        self.beyond: tuple[Timeline, Timeline] | None = None
        self.left: tuple[frozenset[SegmentId], list[Line]] | None = None
        self.lost: tuple[BranchName, frozenset[SegmentId], list[Checkpoint]] | None = None
        self.effects: dict[tuple[BranchName, tuple[SegmentId, ...]], RestoreEffect] = {}


class Timeline(FrozenModel):
    """All segments of a project, and what became of them.

    A branch holds the segments begun on it and those it was forked from (`bases`), less those that
    a move abandoned (`given_up`) and no later move took back (`undone`), and less what grew on
    these and was not kept. Segments of which another git branch has the files may be missing in
    between.
    """

    segments: Annotated[dict[SegmentId, Segment], _MANY] = field(
        default_factory=dict[SegmentId, Segment]
    )
    left: Annotated[frozenset[SegmentField], _MANY] = frozenset()
    forgotten: Annotated[frozenset[SegmentField], _MANY] = frozenset()
    checkpoints: Annotated[dict[CheckpointId, Checkpoint], _MANY] = field(
        default_factory=dict[CheckpointId, Checkpoint]
    )
    lines: Annotated[dict[LineId, Line], _MANY] = field(default_factory=dict[LineId, Line])
    given_up: Annotated[dict[RecordIdField, AbandonedSegments], _MANY] = field(
        default_factory=dict[RecordId, AbandonedSegments]
    )
    undone: Annotated[frozenset[RecordIdField], _MANY] = frozenset()
    bases: Annotated[dict[BranchField, frozenset[SegmentField]], _MANY] = field(
        default_factory=dict[BranchName, frozenset[SegmentId]]
    )
    anchors: Annotated[dict[RecordIdField, Anchor], _MANY] = field(
        default_factory=dict[RecordId, Anchor]
    )
    moves: Annotated[frozenset[RecordIdField], _MANY] = frozenset()

    @cached_property
    def _cache(self) -> _Cache:
        return _Cache()

    def change(self, moved: "MovesMade | None" = None, **changes: Any) -> "Timeline":
        """A new timeline with these changes.

        If moves made them, other branches stand where they stood: what was found out about these is
        kept.
        """
        after = make_timeline({**dict(self), **changes})
        if moved is not None and self._complete:
            after._inherit(self, moved)
        return after

    def drop_spare_bases(self) -> "Timeline":
        """The same timeline without its bases, if they tell nothing that its segments do not.

        A clone may know from a base alone what a branch stands on, where a move is missing.
        """
        if not self.bases or not self._knows_parents(self.segments.values()):
            return self
        bare = self.change(bases={})
        begun = sorted((bare.find_first(branch) or ROOT, branch) for branch in self.bases)
        for first, branch in begun:  # what one was forked from is most of what the next one was
            bare.ancestors(bare._parents.get(first, ()))
            if not self.bases[branch] <= bare.chain(branch) | bare._position(branch).off:
                return self
        return bare

    def find_beyond(self, part: "Timeline") -> "Timeline | None":
        """What this timeline has and the part has not; None if the part has anything else."""
        known = self._cache.beyond
        if known is not None and known[0] is part:
            return known[1]
        beyond: dict[str, Any] = {}
        for name, mine in self:
            theirs = getattr(part, name)
            if isinstance(mine, frozenset):
                holds, beyond[name] = mine >= theirs, mine - theirs
            else:
                holds = mine.items() >= theirs.items()
                beyond[name] = {key: each for key, each in mine.items() if key not in theirs}
            if not holds:
                return None
        self._cache.beyond = known = part, make_timeline(beyond)
        return known[1]

    def count(self) -> int:
        """How many entries it has: segments, moves and all else."""
        return sum(len(each) for _, each in self)

    def find_next(self, step: object, make: Callable[[], "Timeline"]) -> "Timeline":
        """The timeline after a step: that of the last call, or else made now."""
        known = self._cache.following
        if known is None or known[0] != step:
            self._cache.following = known = step, make()
        return known[1]

    def _inherit(self, before: "Timeline", moved: "MovesMade") -> None:
        """Take over what is known of the timeline before, without comparing the two."""
        begun, concerns = moved.added.segments.values(), moved.concerns
        if "segments" in moved.replaced or not self._knows_parents(begun):
            return
        cache, known, opened = self._cache, before._cache, dict(before._opened)
        children, parents_of = dict(before._children), dict(before._parents)
        for segment in begun:
            parents_of[segment.id] = segment.parents
            opened[segment.branch] = _sort_by_age([*opened.get(segment.branch, ()), segment.id])
            for parent in segment.parents:
                children[parent] = [*children.get(parent, ()), segment.id]
        cache.complete, cache.opened = True, opened
        cache.children, cache.parents = children, parents_of
        sealed = self._inherit_decided(before, moved)
        if known.beyond is not None and not moved.replaced:
            part, beyond = known.beyond
            cache.beyond = part, join_parts([beyond, moved.added])
        same = self.given_up is before.given_up and self.undone is before.undone
        if same:
            cache.in_effect = known.in_effect
        cache.ancestors = dict(known.ancestors)
        cache.positions = {b: p for b, p in known.positions.items() if b not in concerns}
        cache.held = {b: held for b, held in known.held.items() if {b} == {*concerns}}
        held = known.held.get(None)
        grows = same and not moved.replaced and not self._keeps_any
        grown_on = ((before._find_off(s.branch), s.parents) for s in begun)
        grows = grows and all(off.isdisjoint(parents) for off, parents in grown_on)
        if held and grows and all(held.issuperset(segment.parents) for segment in begun):
            cache.held[None] = held.union(segment.id for segment in begun)
        for segment in begun:
            branch, parents = segment.branch, frozenset(segment.parents)
            chain = known.chains.get(branch)
            grew = opened[branch][:-1] == before._find_opened(branch)
            if chain is not None and grew and same and parents <= chain:
                was = before._position(branch)
                tips = (*(tip for tip in was.tips if tip not in parents), segment.id)
                cache.positions[branch] = _Position(tips, (*was.on, segment.id), was.off)
                cache.chains[branch] = grown = chain | {segment.id}
                if sealed is not None and branch in known.valid:
                    more = [c for c in sealed if self._lies_on(grown, c)]
                    cache.valid[branch] = [*known.valid[branch], *more]

    def _inherit_decided(self, before: "Timeline", moved: "MovesMade") -> list[Checkpoint] | None:
        """The approved checkpoints that came last, if all others are what they were."""
        known = before._cache.decided
        if known is None or "checkpoints" in moved.replaced:
            return None
        fresh = moved.added.checkpoints.values()
        approved = sorted((c for c in fresh if c.approval in _APPROVED), key=_order)
        if known and approved and _order(approved[0]) < _order(known[-1]):
            return None
        self._cache.decided = [*known, *approved]
        return approved

    @property
    def branches(self) -> tuple[BranchName, ...]:
        """Every branch, `main` first."""
        if self._cache.branches is None:
            self._cache.branches = (MAIN, *sorted(self._opened.keys() - {MAIN}))
        return self._cache.branches

    def find_first(self, branch: BranchName) -> SegmentId | None:
        """The first segment that was begun on the branch; None if there is no such branch."""
        return next(iter(self._find_opened(branch)), None)

    def list_moved(self, limit: int) -> list[BranchName]:
        """The branches on which a segment was begun last, the newest first."""
        moved: dict[BranchName, None] = {}
        for segment in sorted(self.segments, reverse=True):
            if len(moved) == limit:
                break
            moved[self.segments[segment].branch] = None
        return [*moved]

    def tips(self, branch: BranchName) -> tuple[SegmentId, ...]:
        """Where the branch stands, newest last: one segment, or several after a union."""
        return self._position(branch).tips

    def chain(self, branch: BranchName) -> frozenset[SegmentId]:
        """The segments on the branch."""
        cache = self._cache.chains
        if branch not in cache:
            cache[branch] = self._find_chain(self._position(branch))
        return cache[branch]

    def find_differing(self, other: "Timeline") -> list[BranchName]:
        """The branches whose chain is not the same in the other one, sorted."""
        if all(getattr(self, name) == getattr(other, name) for name in _PLACING):
            return []  # to walk the chains of a thousand branches twice would take seconds
        branches = sorted({*self.branches, *other.branches})
        return [branch for branch in branches if self.chain(branch) != other.chain(branch)]

    def holds(self, branch: BranchName, segments: Collection[SegmentId]) -> bool:
        """Whether all these segments are on the branch; quicker than to ask for its chain."""
        own = self._position(branch).own
        return own.issuperset(segments) or self.chain(branch).issuperset(segments)

    def held(self, *, but: BranchName | None = None) -> frozenset[SegmentId]:
        """The segments that are on any branch, or on any but this one."""
        known = self._cache.held
        if but not in known:
            branches = [branch for branch in self.branches if branch != but]
            rest = next((branch for branch in known if branch), None)
            if but is None and rest:
                held = known[rest] | self.chain(rest)
            elif self._complete and not self._keeps_any:  # one closure, not one for each branch
                on = (self._position(branch).on for branch in branches)
                held = self.ancestors(segment for each in on for segment in each)
            else:
                held = _union(self.chain(branch) for branch in branches)
            known[but] = held
        return known[but]

    def predecessors(self, segment: SegmentId) -> Sequence[SegmentId]:
        """The parents of the segment, and what unknown parents must have stood on.

        No record is here that could tell where an unknown parent stood. It stood on what is older
        on the same branch and was not abandoned without it.
        """
        known = self.segments.get(segment)
        if known is not None:
            unknown = [p for p in known.parents if p not in self.segments and p != ROOT]
            older = [s for p in unknown for s in self._find_older(p, known.branch)]
            return (*known.parents, *older)
        if segment == ROOT:
            return ()
        if bases := [base for base in self.bases.values() if segment in base]:
            return [s for base in bases for s in base if _age(s) < _age(segment)]
        branches = (gone.branch for gone in self.given_up.values() if segment in gone.segments)
        following = (self.segments[child].branch for child in self._children.get(segment, ()))
        return self._find_older(segment, next(chain(branches, following), MAIN))

    def ancestors(self, starts: Iterable[SegmentId]) -> frozenset[SegmentId]:
        """These segments and everything before them."""
        starts, segments, known = list(starts), self.segments, self._cache.ancestors
        if not self._complete or any(s not in segments and s != ROOT for s in starts):
            return _closure(starts, self.predecessors)
        if len(starts) == 1 and starts[0] in known:
            return known[starts[0]]
        found = _closure(starts, self._parents.get, known)
        if len(starts) == 1:
            if len(known) >= _ANCESTORS_MAX:
                del known[next(iter(known))]
            known[starts[0]] = found
        return found

    def _find_ancestors_off(
        self, chains: frozenset[SegmentId], starts: Iterable[SegmentId]
    ) -> frozenset[SegmentId]:
        """These segments and everything before them that is not on the chains."""
        starts, segments, parents = list(starts), self.segments, self._parents
        closed = self._complete and not self._keeps_any  # all before what is on a chain is, too
        if not closed or any(s not in segments and s != ROOT for s in starts):
            return self.ancestors(starts) - chains
        return _closure(
            [s for s in starts if s not in chains],
            lambda s: [parent for parent in parents.get(s, ()) if parent not in chains],
        )

    def descendants(
        self, starts: Iterable[SegmentId], but: Collection[SegmentId] = ()
    ) -> frozenset[SegmentId]:
        """These segments and everything that grew from them, without `but` and what grew there."""
        if not but:
            return _closure(starts, self._children.get)
        children = self._children
        return _closure(starts, lambda s: [c for c in children.get(s, ()) if c not in but])

    def newest(self, segments: Collection[SegmentId]) -> tuple[SegmentId, ...]:
        """Those of these segments on which none of the others stands."""
        before = {parent for segment in segments for parent in self.predecessors(segment)}
        return tuple(_sort_by_age(s for s in segments if s not in before))

    def decided(self) -> list[Checkpoint]:
        """The approved checkpoints of every branch, oldest first."""
        if self._cache.decided is None:
            self._cache.decided = self._checkpoints(*_APPROVED)
        return self._cache.decided

    def pending(self, branch: BranchName) -> list[Checkpoint]:
        """The checkpoints on the branch that nobody has decided yet, oldest first."""
        chain = self.chain(branch)
        return [c for c in self._checkpoints("pending") if self._lies_on(chain, c)]

    def answered(self, branch: BranchName) -> list[Checkpoint]:
        """The checkpoints on the branch that were approved or skipped, oldest first."""
        chain = self.chain(branch)
        found = self._checkpoints("approved", "skipped")
        return [c for c in found if self._lies_on(chain, c)]

    def valid(self, branch: BranchName) -> list[Checkpoint]:
        """The approved checkpoints on the branch, oldest first."""
        if branch not in self._cache.valid:
            chain = self.chain(branch)
            self._cache.valid[branch] = [
                c for c in self.decided() if chain.issuperset(c.seals) or self._lies_on(chain, c)
            ]
        return self._cache.valid[branch]

    def invalidated(
        self, branch: BranchName, holding: Iterable[SegmentId] = ()
    ) -> list[Checkpoint]:
        """The approved checkpoints on lines that the branch left and can restore, oldest first."""
        asked, known = frozenset(holding), self._cache.lost
        if known is None or known[:2] != (branch, asked):
            found = self._find_invalidated(branch, asked)
            self._cache.lost = known = branch, asked, found
        return [*known[2]]

    def _find_invalidated(
        self, branch: BranchName, holding: frozenset[SegmentId]
    ) -> list[Checkpoint]:
        chain = self.chain(branch)
        tips = [line.tips for line in self.left_lines(holding) if line.branch == branch]
        beyond = self._find_ancestors_off(chain, (tip for line in tips for tip in line))
        gone = [
            c
            for c in self.decided()
            if not beyond.isdisjoint(c.seals) and not self._lies_on(chain, c)
        ]
        lines = (
            [self.ancestors(line) for line in tips] if any(len(c.seals) > 1 for c in gone) else []
        )
        return [c for c in gone if len(c.seals) == 1 or any(li.issuperset(c.seals) for li in lines)]

    def left_lines(self, holding: Iterable[SegmentId] = ()) -> list[Line]:
        """The lines that can be restored: not forgotten and on no branch, oldest first.

        Segments with records (`holding`) that are on no branch and that none of these lines would
        restore make lines of their own: another clone wrote there, unaware that the line was left
        or forgotten, or another git branch has the file of the move that left them.
        """
        asked, known = frozenset(holding), self._cache.left
        if known is None or known[0] != asked:
            self._cache.left = known = asked, self._find_left_lines(asked)
        return [*known[1]]

    def _find_left_lines(self, holding: frozenset[SegmentId]) -> list[Line]:
        held = self.held()
        left = [
            line
            for line in self.lines.values()
            if not held.issuperset(line.tips) and not self.forgotten.intersection(line.tips)
        ]
        if adrift := holding - held:
            adrift -= self._find_ancestors_off(held, (tip for line in left for tip in line.tips))
        for line in left if adrift else ():
            adrift -= self.find_restore_effect(line.branch, line).chain
        left += self._make_adrift_lines(adrift)
        return sorted(left, key=lambda line: (line.at, line.move or ""))

    def find_restore_effect(self, branch: BranchName, line: Line) -> RestoreEffect:
        """What restoring a line that the branch left would undo, give up, and lead to."""
        known, key = self._cache.effects, (branch, line.tips)
        if key not in known:
            if len(known) >= _EFFECTS_MAX:
                del known[next(iter(known))]
            known[key] = self._find_restore_effect(branch, line)
        return known[key]

    def _find_restore_effect(self, branch: BranchName, line: Line) -> RestoreEffect:
        restored = self.ancestors(line.tips)
        undoes = tuple(sorted(self._find_hiding(branch, line.tips)))
        freed = _union(self.given_up[move].segments for move in undoes)
        gives_up = (self.chain(branch) | freed) - restored
        return RestoreEffect(
            undoes, gives_up, self.chain_after(branch, line.tips, gives_up, undoes)
        )

    def find_join_effect(self, into: BranchName, node: BranchName) -> JoinEffect:
        """What joining a node undoes, and what either side then has to go on without.

        A side may have abandoned what the other one holds: with the join it stands on that again.
        """
        tips = (*self.tips(into), *self.tips(node))
        reached = self.ancestors(tips)
        freed = {side: self._find_hiding(side, tips) for side in (into, node)}
        mine, theirs = (
            _union(freed[side].values()) - reached - self._find_abandoned(side, freed[side])
            for side in (into, node)
        )
        undoes = tuple(sorted({*freed[into], *freed[node]}))
        return JoinEffect(undoes, mine, theirs)

    def find_fork_effect(
        self, branch: BranchName, parents: Iterable[SegmentId]
    ) -> tuple[frozenset[SegmentId], frozenset[SegmentId]]:
        """What a branch that is forked there gives up, and keeps, because this one does.

        A branch stands on nothing that it abandoned unless it kept what grew from that.
        """
        if not self._keeps_any:
            return frozenset(), frozenset()
        chain = self.chain(branch)
        gives_up = self.ancestors(parents) - chain
        return gives_up, self.descendants(gives_up) & chain

    def find_branch(self, segment: SegmentId) -> BranchName | None:
        """The branch that the segment was begun on, if that is known."""
        known = self.segments.get(segment)
        return known.branch if known else (MAIN if segment == ROOT else None)

    def chain_after(
        self,
        branch: BranchName,
        parents: Iterable[SegmentId],
        gives_up: frozenset[SegmentId],
        undoes: Iterable[RecordId] = (),
        keeps: Collection[SegmentId] = (),
    ) -> frozenset[SegmentId]:
        """The chain of the branch after a move."""
        reached, undoes = self.ancestors(parents), frozenset(undoes)
        opened = frozenset(self._find_opened(branch))
        reaches_all = self._complete and not keeps and not self._keeps_any
        # what it stands on it reaches with all before that; else what grew on the abandoned counts
        abandoned = self._find_abandoned(branch, undoes) | gives_up
        if reaches_all and reached.issuperset(opened - abandoned):
            return reached
        off = self._find_off(branch, undoes) | self.descendants(gives_up, keeps)
        if reaches_all and reached.issuperset(opened - off):
            return reached
        position = self._find_position(branch, off)
        held = self._find_chain(position) if position else self.bases.get(branch, frozenset())
        return (reached | held) - off  # what is kept may have grown from what is given up

    def lineage(self, branch: BranchName, segment: SegmentId | None = None) -> Lineage:
        """What a record on the branch says of its place, so that it needs no other file.

        Abandoned and undone moves and the base are cut to the newest if there are too many.
        """
        if (branch, segment) not in self._cache.lineages:
            self._cache.lineages[branch, segment] = self._find_lineage(branch, segment)
        return self._cache.lineages[branch, segment]

    def _find_lineage(self, branch: BranchName, segment: SegmentId | None) -> Lineage:
        known = self.segments.get(segment) if segment else None
        base: list[SegmentId] = []
        if branch != MAIN:
            forked_from = self.chain(branch).difference(self._find_opened(branch))
            base = _sort_by_age(forked_from)[-LINEAGE_SEGMENTS_MAX:]
        given_up: dict[RecordId, tuple[SegmentId, ...]] = {}
        kept: dict[RecordId, tuple[SegmentId, ...]] = {}
        room = LINEAGE_SEGMENTS_MAX
        for move, gone in sorted(self._moves_in_effect(branch), reverse=True):
            if room > 0:
                given_up[move] = tuple(_sort_by_age(gone.segments)[-room:])
                if gone.keeps:
                    kept[move] = tuple(_sort_by_age(gone.keeps)[-room:])
                room -= len(given_up[move]) + len(gone.keeps)
        undone = {
            move
            for move in self.undone
            if move not in self.given_up or self.given_up[move].branch == branch
        }
        return Lineage(
            move=known.move if known else None,
            parents=known.parents if known else (),
            given_up=given_up,
            kept=kept,
            undone=tuple(sorted(undone)[-LINEAGE_SEGMENTS_MAX:]),
            base=tuple(base),
        )

    def _checkpoints(self, *approvals: Approval) -> list[Checkpoint]:
        found = [c for c in self.checkpoints.values() if c.approval in approvals]
        return sorted(found, key=_order)

    def _moves_in_effect(
        self, branch: BranchName, undoes: Collection[RecordId] = ()
    ) -> Iterator[tuple[RecordId, AbandonedSegments]]:
        """The moves that abandoned segments of the branch and were not undone."""
        if self._cache.in_effect is None:
            in_effect: dict[BranchName, list[RecordId]] = {}
            for move, gone in self.given_up.items():
                if move not in self.undone:
                    in_effect.setdefault(gone.branch, []).append(move)
            self._cache.in_effect = in_effect
        for move in self._cache.in_effect.get(branch, ()):
            if move not in undoes:
                yield move, self.given_up[move]

    def _find_abandoned(
        self, branch: BranchName, undoes: Iterable[RecordId] = ()
    ) -> frozenset[SegmentId]:
        return _union(gone.segments for _, gone in self._moves_in_effect(branch, frozenset(undoes)))

    def _find_off(
        self, branch: BranchName, undoes: Collection[RecordId] = ()
    ) -> frozenset[SegmentId]:
        """What moves abandoned, and what grew from that and was not kept."""
        in_effect = [gone for _, gone in self._moves_in_effect(branch, undoes)]
        whole = _union(gone.segments for gone in in_effect if not gone.keeps)
        parts = (self.descendants(g.segments, g.keeps) for g in in_effect if g.keeps)
        return _union(parts) | (self.descendants(whole) if whole else whole)

    def _find_hiding(
        self, branch: BranchName, tips: Sequence[SegmentId]
    ) -> dict[RecordId, frozenset[SegmentId]]:
        """The moves in effect that abandoned what these tips stand on, and what each abandoned.

        What a move kept does not stand on what it abandoned.
        """
        reached = self.ancestors(tips)
        return {
            move: gone.segments
            for move, gone in self._moves_in_effect(branch)
            if gone.segments & reached
            and (not gone.keeps or self.descendants(gone.segments, gone.keeps).intersection(tips))
        }

    @property
    def _keeps_any(self) -> bool:
        """Whether a branch may hold what grew from what it abandoned."""
        return any(gone.keeps for gone in self.given_up.values())

    def _lies_on(self, chain: frozenset[SegmentId], checkpoint: Checkpoint) -> bool:
        """Whether all that the checkpoint seals is on the chain, as far as it is known."""
        known, seals = self.segments, checkpoint.seals
        return chain.issuperset(seals) or all(
            s in chain or (s not in known and s != ROOT) for s in seals
        )

    def _find_opened(self, branch: BranchName) -> list[SegmentId]:
        """The segments begun on the branch, oldest first."""
        return self._opened.get(branch, [])

    @property
    def _complete(self) -> bool:
        """Whether every parent is known: then a branch stands on nothing that it abandoned."""
        if self._cache.complete is None:
            self._cache.complete = not self.bases and self._knows_parents(self.segments.values())
        return self._cache.complete

    def _knows_parents(self, segments: Iterable[Segment]) -> bool:
        known = self.segments
        return all(p in known or p == ROOT for segment in segments for p in segment.parents)

    @property
    def _opened(self) -> dict[BranchName, list[SegmentId]]:
        """The segments begun on each branch, oldest first."""
        if self._cache.opened is None:
            opened: dict[BranchName, list[SegmentId]] = {MAIN: [ROOT]}
            for segment in sorted(self.segments):
                opened.setdefault(self.segments[segment].branch, []).append(segment)
            self._cache.opened = opened
        return self._cache.opened

    @property
    def _children(self) -> dict[SegmentId, list[SegmentId]]:
        """The segments that stand on each segment."""
        if self._cache.children is None:
            self._cache.children = {}
            for segment in self.segments.values():
                for parent in segment.parents:
                    self._cache.children.setdefault(parent, []).append(segment.id)
        return self._cache.children

    @property
    def _parents(self) -> dict[SegmentId, tuple[SegmentId, ...]]:
        """What each segment stands on."""
        if self._cache.parents is None:
            self._cache.parents = {s.id: s.parents for s in self.segments.values()}
        return self._cache.parents

    def _position(self, branch: BranchName) -> _Position:
        cache = self._cache.positions
        position = cache.get(branch) or self._find_position(branch, self._find_off(branch))
        if position is None:  # in a union each clone abandoned what the other stands on
            opened = [s for s in self._find_opened(branch) if s not in self.forgotten]
            position = _Position(tuple(opened[-1:]), tuple(opened[-1:]))
        cache[branch] = position
        return position

    def _find_position(self, branch: BranchName, off: frozenset[SegmentId]) -> _Position | None:
        base = self.bases.get(branch, frozenset[SegmentId]())
        on = tuple([s for s in self._find_opened(branch) if s not in off])
        if not on:
            return None
        segments = self.segments
        if all(one in segments[following].parents for one, following in pairwise(on)):
            return _Position(on[-1:], on, off, base)
        before = self.ancestors(_union(frozenset(self.predecessors(s)) for s in on))
        return _Position(tuple(segment for segment in on if segment not in before), on, off, base)

    def _find_chain(self, position: _Position) -> frozenset[SegmentId]:
        reached = self.ancestors(position.tips)
        if not reached.issuperset(position.on):
            reached |= self.ancestors(position.on)
        return reached.union(position.base) - position.off

    def _make_adrift_lines(self, segments: frozenset[SegmentId]) -> list[Line]:
        """A line for each of the newest of these segments."""
        tips = segments - _union(self.ancestors([s]) - {s} for s in segments)
        lines = [
            Line(
                id=LineId(f"{make_line_id(parse_id_time(tip))}-{tip[-8:]}"),
                tips=(tip,),
                branch=self.segments[tip].branch,
                at=parse_id_time(tip),
            )
            for tip in tips
            if tip in self.segments
        ]
        if ROOT in tips:
            lines.append(Line(id=make_line_id(_EPOCH), tips=(ROOT,), branch=MAIN, at=_EPOCH))
        return lines

    def _find_older(self, segment: SegmentId, branch: BranchName) -> list[SegmentId]:
        if (segment, branch) not in self._cache.older:
            abandoned_by = self._find_abandoning(segment, branch)
            older = [
                s
                for s in self._find_opened(branch)
                if _age(s) < _age(segment) and self._find_abandoning(s, branch) <= abandoned_by
            ]
            self._cache.older[segment, branch] = [*older, *self.bases.get(branch, ())]
        return self._cache.older[segment, branch]

    def _find_abandoning(self, segment: SegmentId, branch: BranchName) -> set[RecordId]:
        """The moves in effect that took the segment off the branch."""
        return {move for move, gone in self._moves_in_effect(branch) if segment in gone.segments}


@frozen
class MovesMade:
    """The branches that moves concern, and what they added to a timeline.

    `replaced` are the fields in which they changed or removed anything that was there before.
    """

    concerns: Collection[BranchName]
    added: Timeline
    replaced: Collection[str] = ()


def join_parts(parts: Sequence[Timeline]) -> Timeline:
    """The timeline of which these are the parts, the later ones of two that say different."""
    joined: dict[str, Any] = {}
    for part in parts:
        for name, each in part:
            if isinstance(each, frozenset):
                joined.setdefault(name, set()).update(each)
            else:
                joined.setdefault(name, {}).update(each)
    return make_timeline(joined)


def make_timeline(fields: Mapping[str, Any]) -> Timeline:
    """A timeline of parts that are valid: to validate a thousand of them anew takes longest.

    Raises:
        ValueError: it has too many of them.
    """
    for name, values in fields.items():
        if len(values) > TIMELINE_SEGMENTS_MAX:
            raise ValueError(
                f"a timeline of {len(values):,} {name}: {TIMELINE_SEGMENTS_MAX:,} at most"
            )
    made: dict[str, Any] = {
        name: frozenset(cast("set[str]", values)) if isinstance(values, set) else values
        for name, values in fields.items()
    }
    return Timeline.model_construct(**made)


def _order(checkpoint: Checkpoint) -> tuple[datetime, RecordId]:
    return checkpoint.at, checkpoint.move


def _age(segment: SegmentId) -> tuple[bool, SegmentId]:
    """Sort key: ids are made in the order of time, and the first segment has none."""
    return segment != ROOT, segment


def _sort_by_age(segments: Iterable[SegmentId]) -> list[SegmentId]:
    every = sorted(segments)  # without a key, and the first segment put where it belongs after
    if every and every[-1] == ROOT:
        every = [ROOT, *every[:-1]]
    return every


def _union(sets: Iterable[frozenset[SegmentId]]) -> frozenset[SegmentId]:
    return frozenset[SegmentId]().union(*sets)


def _closure(
    starts: Iterable[SegmentId],
    onward: Callable[[SegmentId], Iterable[SegmentId] | None],
    known: Mapping[SegmentId, frozenset[SegmentId]] = MappingProxyType({}),
) -> frozenset[SegmentId]:
    """All that is reached from the starts; `known` is what some segments reach."""
    seen: set[SegmentId] = set()
    waiting = list(starts)
    while waiting:
        segment = waiting.pop()
        if segment in seen:
            continue
        if segment in known:
            seen |= known[segment]
        else:
            seen.add(segment)
            waiting.extend(onward(segment) or ())
    return frozenset(seen)


class Head(FrozenModel):
    """Where a project stands: its timeline with a revision, and what was written last.

    `last` is the last move; `with_last` are the records written in one step with it, or after it
    without a move. A crash between replacing the head and writing their files loses nothing: the
    next process writes them. Once they have files the head drops them, because a file that is
    missing later was removed by git or by hand, and nobody restores it.
    """

    project: Name
    revision: Annotated[StrictInt, constrain(ge=0, le=REVISION_MAX)] = 0
    timeline: Timeline = field(default_factory=Timeline)
    last: Record | None = None
    with_last: tuple[Record, ...] = ()


@frozen
class CurrentPhase:
    """The phase, and its source: the session's setting, a transition, or the last checkpoint."""

    number: int | None = None
    by: Literal["setting", "transition", "checkpoint", ""] = ""

    @property
    def worked_on(self) -> int | None:
        """The phase in progress; one that a checkpoint has sealed is not."""
        return None if self.by == "checkpoint" else self.number


@frozen
class PhaseStep:
    """The project moved to the phase, or a checkpoint sealed it."""

    at: datetime
    number: int
    sealed: CheckpointId | None = None


@frozen
class PhaseHistory:
    """The current phase, and the steps to it, oldest first."""

    now: CurrentPhase
    steps: tuple[PhaseStep, ...]


@frozen
class PhaseChange:
    """The project is in the phase; without a record it was in it before."""

    number: int
    record: Record | None
    notes: tuple[str, ...] = ()


EMPTY_TIMELINE: Final = make_timeline({})
"""Made without a validator, which few starts of a process need."""
