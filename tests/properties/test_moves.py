"""Folding moves is joining sets: no order, no split between clones, makes a difference."""

from typing import Any

import pytest
from fakes import SCOPE, FakeIds, Scribe
from hypothesis import given
from hypothesis import strategies as st

from memory_mcp.domain.ids import (
    MAIN,
    ROOT,
    BranchName,
    CheckpointId,
    LineId,
    SegmentId,
    make_checkpoint_id,
    make_line_id,
    make_unique_name,
)
from memory_mcp.domain.record import Move, Record
from memory_mcp.domain.timeline import Timeline
from memory_mcp.errors import UnknownTargetError
from memory_mcp.timeline.moves import apply_move, fold_moves
from memory_mcp.timeline.plans import find_forgotten_segments, plan_backtrack, spare_away


class Clone:
    """One clone of a project, moving its head from what it knows."""

    def __init__(self, known: list[Record], scribe: Scribe) -> None:
        self.records = list(known)
        self.timeline = fold_moves(known)
        self.scribe = scribe

    def move(self, draw: st.DrawFn) -> None:
        branch = draw(st.sampled_from(self.timeline.branches))
        act = draw(
            st.sampled_from(["checkpoint", "checkpoint", "decide", "reopen", "fork", "backtrack"])
        )
        match act:
            case "checkpoint":
                self.seal(branch, draw(st.sampled_from(["approved", "pending"])))
            case "decide":
                self.decide(branch)
            case "reopen":
                self.reopen(branch)
            case "fork":
                self.fork(branch, BranchName(f"b{draw(st.integers(0, 2))}"))
            case _:
                names = [c.id for c in self.timeline.valid(branch)]
                names += [line.id for line in self.lines(branch)]
                away = draw(st.sets(st.sampled_from(sorted(self.timeline.chain(branch)))))
                self.go(
                    branch, draw(st.sampled_from([*names, "start"])), frozenset(away),
                    forget=draw(st.booleans()),
                )  # fmt: skip

    def lines(self, branch: BranchName) -> list[Any]:
        return [line for line in self.timeline.left_lines() if line.branch == branch]

    def seal(self, branch: BranchName, approval: Any) -> None:
        name = make_unique_name(
            make_checkpoint_id(1, self.scribe.clock.now()), self.timeline.checkpoints
        )
        tips = self.timeline.tips(branch)
        self.make(
            Move(
                act="checkpoint", branch=branch, opens={branch: self.segment()}, parents=tips,
                leaves=tips, checkpoint=CheckpointId(name), phase=1, approval=approval,
            )
        )  # fmt: skip

    def decide(self, branch: BranchName) -> None:
        for asked in self.timeline.pending(branch)[:1]:
            self.make(
                Move(
                    act="decide", branch=asked.branch, parents=asked.seals, checkpoint=asked.id,
                    approval="approved", decides=asked.move,
                )
            )  # fmt: skip

    def reopen(self, branch: BranchName) -> None:
        for asked in self.timeline.answered(branch)[:1]:
            answers = {
                r.id: r.move for r in self.records if r.move and r.move.decides == asked.move
            }
            taken_back = {id_ for move in answers.values() for id_ in move.undoes}
            undoes = [id_ for id_, m in answers.items() if not m.undoes and id_ not in taken_back]
            if undoes:
                self.make(
                    Move(
                        act="decide", branch=asked.branch, parents=asked.seals,
                        checkpoint=asked.id, approval="pending", decides=asked.move,
                        undoes=tuple(undoes),
                    )
                )  # fmt: skip

    def fork(self, branch: BranchName, name: BranchName) -> None:
        if name in self.timeline.branches:
            return
        tips = self.timeline.tips(branch)
        opens = {name: self.segment(), branch: self.segment()}
        chain = self.timeline.chain(branch)
        gives_up, keeps = self.timeline.find_fork_effect(branch, tips)
        self.make(
            Move(
                act="fork", branch=name, opens=opens, parents=tips, leaves=tips,
                gives_up=tuple(sorted(gives_up)), keeps=tuple(sorted(keeps)),
            )
        )  # fmt: skip
        assert self.timeline.chain(name) == chain | {opens[name]}, "it begins with what this holds"

    def go(
        self, branch: BranchName, to: str, away: frozenset[SegmentId] = frozenset(), *, forget: bool
    ) -> None:
        before = self.timeline
        plan = spare_away(before, branch, plan_backtrack(before, branch, to), away)
        gone = sorted(find_forgotten_segments(before, branch, plan, away)) if forget else []
        after = before.chain_after(branch, plan.parents, plan.gives_up, plan.undoes, plan.keeps)
        line = make_unique_name(make_line_id(self.scribe.clock.now()), self.timeline.lines)
        self.make(
            Move(
                act="backtrack", branch=branch, opens={branch: self.segment()},
                parents=plan.parents, leaves=(*plan.leaves, *gone), forgets=tuple(gone),
                gives_up=(*sorted(plan.gives_up), *gone),
                keeps=tuple(sorted(plan.keeps)),
                undoes=plan.undoes,
                line=None if forget or not plan.leaves else LineId(line),
            )
        )  # fmt: skip
        chain = self.timeline.chain(branch)
        assert chain >= before.chain(branch) & away, "what is away stays"
        assert chain.isdisjoint((*plan.gives_up, *gone)), "what is left goes"
        assert chain & before.segments.keys() | {ROOT} == after | {ROOT}, "as it was said before"

    def segment(self) -> SegmentId:
        return SegmentId(self.scribe.ids.new(self.scribe.clock.now()))

    def make(self, step: Move) -> None:
        """Made and folded in at once; the clock stands still, so names collide between clones."""
        kind = "checkpoint" if step.act in ("checkpoint", "decide") else "move"
        record = self.scribe.record("a move", kind=kind, move=step, scope=SCOPE)
        self.records.append(record)
        self.timeline = apply_move(self.timeline, record)


@st.composite
def two_clones(draw: st.DrawFn) -> tuple[Clone, Clone]:
    """A common past, then each goes its own way within the same second."""
    past = Clone([], Scribe())
    for _ in range(draw(st.integers(0, 5))):
        past.move(draw)
    clock = past.scribe.clock
    here, there = (
        Clone(past.records, Scribe(clock, ids)) for ids in (past.scribe.ids, FakeIds(process=7))
    )
    for clone in (here, there):
        for _ in range(draw(st.integers(0, 5))):
            clone.move(draw)
    return here, there


def said(timeline: Timeline) -> dict[str, Any]:
    """All that a timeline says; what it has computed meanwhile does not count."""
    return timeline.model_dump()


def united(here: Clone, there: Clone) -> list[Record]:
    return list({record.id: record for record in [*here.records, *there.records]}.values())


@given(two_clones(), st.randoms(use_true_random=False))
def test_folding_does_not_depend_on_order_or_repetition(
    clones: tuple[Clone, Clone], random: Any
) -> None:
    """Two clones that exchanged their records stand at the same timeline."""
    records = united(*clones)
    shuffled = [*records, *records[:3]]
    random.shuffle(shuffled)

    assert said(fold_moves(shuffled)) == said(fold_moves(records))


@given(two_clones())
def test_folding_all_is_what_each_step_made(clones: tuple[Clone, Clone]) -> None:
    """The head that grew move by move can be made anew from the records."""
    here, _ = clones

    assert said(fold_moves(here.records)) == said(here.timeline)


@given(two_clones())
def test_taking_in_another_clones_moves_gives_both_the_same_chains(
    clones: tuple[Clone, Clone],
) -> None:
    """Onto what either knew already, or from the start: what is recalled is the same."""
    here, there = clones
    whole = fold_moves(united(here, there))

    for mine, other in ((here, there), (there, here)):
        joined = fold_moves(other.records, onto=mine.timeline)
        assert joined.segments == whole.segments
        assert (joined.left, joined.forgotten) == (whole.left, whole.forgotten)
        assert joined.moves == whole.moves
        for branch in whole.branches:
            assert joined.chain(branch) == whole.chain(branch)
    assert whole.forgotten == here.timeline.forgotten | there.timeline.forgotten


@given(two_clones())
def test_two_heads_differ_where_a_chain_does(clones: tuple[Clone, Clone]) -> None:
    """The doctor names each branch that the head puts elsewhere than the records do."""
    here, there = (clone.timeline for clone in clones)
    branches = sorted({*here.branches, *there.branches})

    assert here.find_differing(there) == [b for b in branches if here.chain(b) != there.chain(b)]
    assert fold_moves(clones[0].records).find_differing(here) == []


@given(two_clones())
def test_no_name_stands_for_two_things(clones: tuple[Clone, Clone]) -> None:
    """A checkpoint or a line that another clone named alike keeps a name of its own."""
    records = united(*clones)
    timeline = fold_moves(records)
    lines = [record for record in records if record.move and record.move.line]

    assert len({line.move for line in timeline.lines.values()}) == len(lines)
    assert all(name == line.id for name, line in timeline.lines.items())
    assert all(name == found.id for name, found in timeline.checkpoints.items())


def _found(timeline: Timeline) -> list[object]:
    """Everything that a timeline is asked for; sets as they are, lists with their order."""
    names = timeline.branches
    return [
        timeline.held(),
        [(timeline.tips(b), timeline.chain(b), timeline.held(but=b)) for b in names],
        [[c.id for c in (*timeline.valid(b), *timeline.pending(b))] for b in names],
        [[c.id for c in timeline.invalidated(b)] for b in names],
        [line.id for line in timeline.left_lines()],
        [timeline.lineage(b, timeline.tips(b)[-1]) for b in names],
        {c.id: timeline.holds(c.branch, c.seals) for c in timeline.decided()},
    ]


@given(two_clones())
def test_what_a_timeline_hands_on_is_what_the_next_one_would_find(
    clones: tuple[Clone, Clone],
) -> None:
    """A move need not look at a thousand branches that it does not concern."""
    here, there = clones
    timeline = part = fold_moves(here.records[:2])
    for record in [*here.records[2:], *there.records]:
        timeline = apply_move(timeline, record)
        fresh = Timeline(**dict(timeline))

        assert _found(timeline) == _found(fresh)
        assert fresh.held() == frozenset[SegmentId]().union(*map(fresh.chain, fresh.branches))
        assert timeline.find_beyond(part) == fresh.find_beyond(part)
        for branch in fresh.branches:
            assert fresh.holds(branch, fresh.segments.keys()) == (
                fresh.chain(branch) >= fresh.segments.keys()
            )


def test_what_another_clone_wrote_on_the_abandoned_road_is_on_no_branch() -> None:
    """Though another branch still stands on what this one gave up."""
    here, there = Clone([], Scribe()), Clone([], Scribe(ids=FakeIds(process=7)))
    here.fork(MAIN, BranchName("side"))
    here.go(MAIN, "start", forget=False)
    there.seal(MAIN, "approved")

    timeline = fold_moves(here.records)
    timeline.held()
    timeline = apply_move(timeline, there.records[0])

    assert there.timeline.tips(MAIN)[0] not in timeline.held()
    assert timeline.held() == Timeline(**dict(timeline)).held()


def test_the_whole_id_of_another_branchs_checkpoint_stands_for_no_other() -> None:
    """Two of the same second: the id of one is how the other's begins."""
    clone, side = Clone([], Scribe()), BranchName("side")
    clone.fork(MAIN, side)
    clone.seal(MAIN, "approved")
    clone.seal(side, "approved")
    there, here = clone.timeline.valid(MAIN)[0].id, clone.timeline.valid(side)[0].id

    assert here.startswith(there)
    with pytest.raises(UnknownTargetError):
        plan_backtrack(clone.timeline, side, there)
    assert plan_backtrack(clone.timeline, side, here).parents


def test_what_is_kept_stays_without_what_it_grew_from() -> None:
    """What git keeps away may have grown from what is left: the preview says what happens."""
    clone, branch = Clone([], Scribe()), BranchName("b0")
    clone.seal(MAIN, "approved")
    clone.seal(MAIN, "approved")
    (second,) = clone.timeline.tips(MAIN)
    clone.fork(MAIN, branch)

    clone.go(branch, clone.timeline.valid(branch)[0].id, frozenset({second}), forget=False)

    assert second in clone.timeline.chain(branch)
