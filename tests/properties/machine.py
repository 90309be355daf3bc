"""What can be done to a memory, done to the real one and to the plain model alike."""

import asyncio
import tempfile
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from fakes import FakeClock, FakeIds, close_workspace, real_workspace, switched
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from looking import SEALED, look
from plain_model import DURABLE, Entry, PlainModel, Seal

from memory_mcp import branches, memories, sessions
from memory_mcp.domain.outcomes import (
    Backtracked,
    BranchReady,
    CheckpointDecided,
    CheckpointSaved,
    MemoryAdded,
    MemoryForgotten,
    MoveAborted,
    MovePreview,
    PhaseSealed,
)
from memory_mcp.domain.record import Approval, Draft, Kind, Reach
from memory_mcp.engine.workspace import Workspace
from memory_mcp.errors import InvalidRequestError, UnknownMemoryError

T = TypeVar("T")
PICK = st.integers(0, 10_000)  # which one of those there are, modulo their number


class CoherentMemory(RuleBasedStateMachine):
    """Real use cases over real files and real SQLite; only time and ids are the test's own."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.clock = FakeClock()
        self.ids = FakeIds()
        self.model = PlainModel()
        self.words: list[str] = []
        self.workspace = self.open()

    def teardown(self) -> None:
        self.run(close_workspace(self.workspace))
        self.runner.close()
        self.temporary.cleanup()

    def open(self, branch: str = "main") -> Workspace:
        return real_workspace(self.folder, self.clock, self.ids, branch=branch)

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    def word(self) -> str:
        self.words.append(f"zq{len(self.words):05}x")
        return self.words[-1]

    def seen(self) -> list[Entry]:
        """The memories that can be corrected or forgotten from here."""
        there = self.model.holds(self.model.on(self.workspace.caller.branch), self.clock.now())
        return [entry for entry in there if entry.nature == "memory"]

    # memories

    @rule(
        kind=st.sampled_from(["fact", "decision", "preference", "lesson", "event"]),
        reach=st.sampled_from(["project", "project", "user"]),
        lives=st.sampled_from([None, None, 1, 60_000]),
        replaces=st.none() | PICK,
    )
    def remember(self, kind: Kind, reach: Reach, lives: int | None, replaces: int | None) -> None:
        word = self.word()
        expires = None if lives is None else self.clock.now() + timedelta(milliseconds=lives)
        alike = [entry for entry in self.seen() if entry.bank == reach]
        old = [alike[replaces % len(alike)]] if replaces is not None and alike else []
        supersedes = tuple(f" {entry.id}\n" for entry in old)  # a model may send blanks along
        draft = Draft(
            f"remember {word}", kind=kind, expires_at=expires, supersedes=supersedes, reach=reach
        )
        added = self.run(memories.add_memory(self.workspace, draft))
        assert isinstance(added, MemoryAdded)
        durable = reach == "user" or kind in DURABLE
        segment = None if durable else self.model.tips[self.workspace.caller.branch]
        self.model.write(
            word, kind, bank=reach, segment=segment, hides=old, expires=expires,
            id_=added.record.id,
        )  # fmt: skip

    @rule(pick=PICK)
    def correct(self, pick: int) -> None:
        if not (there := self.seen()):
            return
        old = there[pick % len(there)]
        word = self.word()
        added = self.run(memories.update_memory(self.workspace, old.id, f"correct {word}"))
        assert isinstance(added, MemoryAdded)
        segment = None if old.segment is None else self.model.tips[self.workspace.caller.branch]
        self.model.write(
            word, old.kind, bank=old.bank, segment=segment, hides=[old], expires=old.expires,
            id_=added.record.id,
        )  # fmt: skip

    @rule(pick=PICK, erase=st.booleans())
    def forget(self, pick: int, *, erase: bool) -> None:
        if not (there := self.seen()):
            return
        target = there[pick % len(there)]
        done = self.run(memories.forget_memory(self.workspace, target.id, "", erase=erase))
        assert isinstance(done, MemoryForgotten)
        self.model.bury(target, self.workspace.caller.branch, erase=erase)

    @rule(pick=PICK)
    def touch_what_cannot_be_seen(self, pick: int) -> None:
        if not (hidden := self.hidden()):
            return
        target = hidden[pick % len(hidden)]
        refusal = UnknownMemoryError if target.kind != "checkpoint" else InvalidRequestError
        with pytest.raises(refusal):
            self.run(memories.update_memory(self.workspace, target.id, "never"))
        with pytest.raises(refusal):
            self.run(memories.forget_memory(self.workspace, target.id, "", erase=False))

    @rule(pick=PICK)
    def erase_what_cannot_be_seen(self, pick: int) -> None:
        if not (hidden := [e for e in self.hidden() if e.nature == "memory"]):
            return
        target = hidden[pick % len(hidden)]
        done = self.run(memories.forget_memory(self.workspace, target.id, "", erase=True))
        assert isinstance(done, MemoryForgotten)
        self.model.bury(target, self.workspace.caller.branch, erase=True)

    def hidden(self) -> list[Entry]:
        there = {entry.id for entry in self.seen()}
        return [e for e in self.model.entries if e.id and e.id not in there]

    # checkpoints and branches

    @rule(
        phase=st.none() | st.integers(0, 3),
        approval=st.sampled_from(["approved", "auto", "pending"]),
        again=st.booleans(),
    )
    def seal(self, phase: int | None, approval: Approval, *, again: bool) -> None:
        word = self.word()
        refused = self.model.refuses(self.workspace.caller.branch, phase) and not again
        done = self.run(
            branches.checkpoint(
                self.workspace, f"{SEALED} {word}", phase, again=again, approval=approval
            )
        )
        if refused:
            assert isinstance(done, PhaseSealed)
            return
        assert isinstance(done, CheckpointSaved)
        sealed = done.checkpoint
        assert sealed.id not in self.model.seals
        tip = self.model.tips[self.workspace.caller.branch]
        seal = Seal(sealed.id, tip, phase, approval, self.workspace.caller.branch, word)
        self.model.seal(seal, self.workspace.caller.branch, sealed.move)

    @rule(pick=PICK, decision=st.sampled_from(["save", "edit", "skip"]))
    def decide(self, pick: int, decision: branches.Decision) -> None:
        waiting = self.model.pending(self.workspace.caller.branch)
        if not waiting:
            return
        asked = waiting[pick % len(waiting)]
        word = self.word() if decision == "edit" else asked.word
        done = self.run(
            branches.decide_checkpoint(
                self.workspace, asked.id, decision, f"{SEALED} {word}", again=True
            )
        )
        assert isinstance(done, CheckpointDecided)
        self.model.decide(asked.id, "skipped" if decision == "skip" else "approved", word)

    @rule(pick=PICK, here=st.booleans())
    def fork(self, pick: int, *, here: bool) -> None:
        if len(self.model.tips) > 3:
            return
        valid = self.model.valid(self.workspace.caller.branch)
        at = None if here or not valid else valid[pick % len(valid)]
        name = f"side-{len(self.model.tips)}"
        before = self.workspace.caller.branch
        done = self.run(branches.fork_branch(self.workspace, name, at.id if at else ""))
        assert isinstance(done, BranchReady)
        self.workspace = self.workspace.at(done.branch)
        self.model.fork(before, name, at)

    @rule(pick=PICK)
    def switch(self, pick: int) -> None:
        names = sorted(self.model.tips)
        self.workspace = self.run(switched(self.workspace, names[pick % len(names)]))

    # backtrack and restore

    @rule(
        pick=PICK,
        mode=st.sampled_from(["continue", "continue", "forget"]),
        by_phase=st.booleans(),
        lesson=st.booleans(),
    )
    def go_back(
        self, pick: int, mode: Literal["continue", "forget"], *, by_phase: bool, lesson: bool
    ) -> None:
        valid = self.model.valid(self.workspace.caller.branch)
        chosen = [*valid, None][pick % (len(valid) + 1)]
        to = "start" if chosen is None else chosen.id
        if by_phase and chosen is not None and chosen.phase is not None:
            to = f"Phase {chosen.phase}"
            chosen = [s for s in valid if s.phase == chosen.phase][-1]
        self.moves(to, chosen.segment if chosen else None, mode, lesson=lesson)

    @rule(
        pick=PICK,
        mode=st.sampled_from(["continue", "continue", "forget"]),
        by_checkpoint=st.booleans(),
    )
    def go_the_left_road(
        self, pick: int, mode: Literal["continue", "forget"], *, by_checkpoint: bool
    ) -> None:
        lines = list(self.model.left(self.workspace.caller.branch).items())
        marked = self.model.invalidated(self.workspace.caller.branch)
        if by_checkpoint and marked:
            seal = marked[pick % len(marked)]
            roads = self.model.carrying(self.workspace.caller.branch, seal)
            if len(roads) == 1:
                self.moves(seal.id, roads[0], mode, lesson=False)
            else:  # it lies on several lines, or on none of this branch that is left
                with pytest.raises(InvalidRequestError):
                    self.run(branches.preview_backtrack(self.workspace, seal.id))
        elif lines:
            name, tip = lines[pick % len(lines)]
            self.moves(name, tip, mode, lesson=False)

    def moves(
        self, to: str, target: int | None, mode: Literal["continue", "forget"], *, lesson: bool
    ) -> None:
        word = self.word() if lesson else ""
        expected = self.model.going_to(self.workspace.caller.branch, target, self.clock.now())
        durable = self.durable_files()
        preview = self.run(branches.preview_backtrack(self.workspace, to))
        assert isinstance(preview, MovePreview)
        assert preview.hides == len(expected.hidden)
        assert preview.brings == len(expected.brought)
        assert preview.erases == expected.erases
        assert isinstance(self.run(branches.backtrack(self.workspace, to, "abort")), MoveAborted)

        done = self.run(
            branches.backtrack(
                self.workspace,
                to,
                mode,
                lesson=f"learnt {word}" if word else "",
                token=preview.token,
            )
        )

        assert isinstance(done, Backtracked)
        assert done.preview == preview
        assert (done.line is None) == (mode == "forget")
        assert done.erased == (expected.erases if mode == "forget" else 0)
        self.model.move(
            self.workspace.caller.branch, expected, line=done.line, forget=mode == "forget"
        )
        assert self.durable_files().items() >= durable.items()
        if word:
            assert done.lesson is not None
            self.model.write(word, "lesson", id_=done.lesson)

    def durable_files(self) -> dict[str, bytes]:
        """What a backtrack must not touch, byte for byte."""
        ids = [e.id for e in self.model.entries if e.segment is None and e.id]
        files = {path.stem: path for path in self.folder.rglob("*.json")}
        return {id_: files[id_].read_bytes() for id_ in ids}

    # the world around

    @rule(milliseconds=st.sampled_from([1, 999, 60_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.clock.advance(timedelta(milliseconds=milliseconds))

    @rule(loses=st.sampled_from(["nothing", "index", "head", "both"]))
    def another_process_comes(self, loses: str) -> None:
        """Nothing may rest in a process's memory, in the index or in the head alone."""
        branch = self.workspace.caller.branch
        self.run(close_workspace(self.workspace))
        patterns = {"index": ["index.sqlite3*"], "head": ["memory-head.json"]}
        patterns["both"] = patterns["index"] + patterns["head"]
        for pattern in patterns.get(loses, []):
            for path in self.folder.rglob(pattern):
                path.unlink()
        self.workspace = self.open(branch)
        if loses == "nothing":
            assert self.run(sessions.catch_up(self.workspace)).erased == 0

    @invariant()
    def everything_seen_is_what_must_be_seen(self) -> None:
        self.run(look(self.workspace, self.model, self.words, self.folder))
