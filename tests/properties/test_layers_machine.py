"""Random trees of nodes, held against plain sets that are copied when a node is forked.

One of the two sessions runs in a process of its own.
"""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from depth import depth
from fakes import FakeClock, FakeIds, close_workspace, real_workspace
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from plain_nodes import PlainTree

from memory_mcp import branches, layers, memories
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.layers import (
    ArchivalUpdate,
    ArchivalWrite,
    Consolidate,
    CoreDelete,
    CoreSet,
    LayerReceipt,
    NodeDiscarded,
    NodeForked,
    NodeJoined,
    NodeView,
    RecallAppend,
    RecallEvict,
    Write,
)
from memory_mcp.domain.outcomes import Backtracked, MemoryForgotten
from memory_mcp.engine.workspace import Workspace

T = TypeVar("T")
PICK = st.integers(0, 10_000)
KEYS = st.sampled_from(["seed é", "node: 3"])
TEXTS = st.sampled_from(["", "the same", "the same too"])
"""An empty one stands for a word that nobody wrote before."""

PREFER = st.sampled_from([None, "parent", "child"])
NAMES = ["stage1/node:3", "node 3", "Node 3", "節", "a%2Fb", "..", "-x", "café"]

UseCase = Callable[..., Coroutine[Any, Any, Any]]


class Session:
    """A workspace with a loop of its own; time and ids are the test's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runner = asyncio.Runner()
        self.ids = FakeIds()
        self.workspace: Workspace = real_workspace(folder, FakeClock(), self.ids)

    def call(self, last: int, node: str, use_case: UseCase, args: Sequence[Any]) -> tuple[int, Any]:
        """What the use case returns, and the last id that it took."""
        self.ids.last = last
        done = self.runner.run(use_case(self.workspace.at(BranchName(node)), *args))
        return self.ids.last, done

    def close(self) -> None:
        self.runner.run(close_workspace(self.workspace))
        self.runner.close()


_there: list[Session] = []


def call_there(folder: Path, *call: Any) -> tuple[int, Any]:
    """The session of this process, which is the other one."""
    if _there and _there[0].folder != folder:
        _there.pop().close()
    if not _there:
        _there.append(Session(folder))
    return _there[0].call(*call)


def close_there() -> None:
    while _there:
        _there.pop().close()


@cache
def other_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"))


class TreeOfNodes(RuleBasedStateMachine):
    """Real use cases over real files and real SQLite; only time and ids are the test's own."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.plain = PlainTree()
        self.count = self.last = 0
        self.here: Session | None = None
        self.two = True
        self.restart()
        self.two = True

    def teardown(self) -> None:
        self.close()
        self.temporary.cleanup()

    def close(self) -> None:
        if self.here is not None:
            self.here.close()
        if self.two:
            other_process().submit(close_there).result()

    def call(self, node: str, door: int, use_case: UseCase, *args: Any) -> Any:
        call = (self.last, node, use_case, args)
        if self.two and door % 2:
            self.last, done = other_process().submit(call_there, self.folder, *call).result()
        else:
            assert self.here
            self.last, done = self.here.call(*call)
        return done

    def word(self, text: str = "") -> str:
        self.count += not text
        return text or f"zq{self.count:05}x"

    def choose(self, pick: int) -> str:
        return [*self.plain.states][pick % len(self.plain.states)]

    def write(self, node: str, door: int, *writes: Write) -> LayerReceipt:
        done = self.call(node, door, layers.write_node, writes)
        assert isinstance(done, LayerReceipt)
        return done

    @rule()
    def restart(self) -> None:
        """Every process ends, and one begins anew."""
        self.close()
        self.here, self.two = Session(self.folder), False

    @precondition(lambda self: not self.two)
    @rule()
    def second(self) -> None:
        """Another process opens the same project."""
        self.two = True

    @initialize(parents=st.lists(PICK, min_size=1, max_size=3))
    def begin(self, parents: list[int]) -> None:
        """A tree in which the nodes have something to change."""
        for parent in parents:
            self.write_all(parent, 0, "node: 3")
            self.fork(parent, 1)

    @precondition(lambda self: len(self.plain.states) <= len(NAMES))
    @rule(parent=PICK, door=PICK)
    def fork(self, parent: int, door: int) -> None:
        above, name = self.choose(parent), NAMES[len(self.plain.states) - 1]
        for created in ((name,), ()):
            done = self.call("main", door, layers.fork_node, above, name)
            assert isinstance(done, NodeForked)
            assert done.created == created
        self.plain.fork(above, name)

    @rule(pick=PICK, door=PICK, key=KEYS, text=TEXTS)
    def set_core(self, pick: int, door: int, key: str, text: str) -> None:
        node, value = self.choose(pick), self.word(text)
        self.write(node, door, CoreSet(key=key, value=value))
        self.note_core(node, key, value)

    def note_core(self, node: str, key: str, value: str) -> None:
        known = [each.number for each in self.plain.sees(node, "core") if each.key == key]
        if known or value:
            self.plain.write(node, "core", key=key, text=value, hides=frozenset(known))

    @rule(pick=PICK, door=PICK, key=KEYS)
    def delete_core(self, pick: int, door: int, key: str) -> None:
        node = self.choose(pick)
        self.write(node, door, CoreDelete(key=key))
        if key in self.plain.core(node):
            self.note_core(node, key, "")

    @rule(pick=PICK, door=PICK, key=KEYS)
    def write_all(self, pick: int, door: int, key: str) -> None:
        """Several layers in one step."""
        node, value, event, text = self.choose(pick), self.word(), self.word(), self.word()
        done = self.write(
            node, door, CoreSet(key=key, value=value), RecallAppend(summary=event),
            ArchivalWrite(text=text),
        )  # fmt: skip
        self.note_core(node, key, value)
        self.plain.write(node, "event", text=event, id=done.events[0])
        self.plain.write(node, "archive", text=text, id=done.archival[0])

    @rule(pick=PICK, door=PICK)
    def append(self, pick: int, door: int) -> None:
        node, event = self.choose(pick), self.word()
        done = self.write(node, door, RecallAppend(summary=event))
        self.plain.write(node, "event", text=event, id=done.events[0])

    @rule(pick=PICK, door=PICK, keep=st.integers(0, 3))
    def evict(self, pick: int, door: int, keep: int) -> None:
        node = self.choose(pick)
        seen = self.plain.sees(node, "event")
        gone = seen[: max(0, len(seen) - keep)]
        assert self.write(node, door, RecallEvict(keep=keep)).evicted == len(gone)
        if gone:
            self.plain.write(node, "exclusion", hides=frozenset(each.number for each in gone))

    @rule(pick=PICK, which=PICK, door=PICK, text=TEXTS)
    def update_archive(self, pick: int, which: int, door: int, text: str) -> None:
        node, text = self.choose(pick), self.word(text)
        if not (archive := self.plain.sees(node, "archive")):
            return
        old = archive[which % len(archive)]
        done = self.write(node, door, ArchivalUpdate(id=old.id, text=text))
        if text == old.text:  # nothing changes, so nothing that the other side changes meets it
            assert done.archival == (old.id,)
            return
        hides = frozenset({old.number})
        self.plain.write(node, "archive", text=text, id=done.archival[0], hides=hides)

    @rule(pick=PICK, door=PICK, text=TEXTS)
    def consolidate(self, pick: int, door: int, text: str) -> None:
        node, text = self.choose(pick), self.word(text)
        if not (inherited := frozenset(each.number for each in self.plain.inherited(node))):
            return
        done = self.write(node, door, Consolidate(summary=text))
        assert done.sums_up == len(inherited)
        assert done.summary
        made = self.plain.write(node, "event", text=text, id=done.summary, because=inherited)
        because = frozenset({made.number})
        self.plain.write(node, "exclusion", hides=inherited, because=because)

    @rule(pick=PICK, which=PICK, door=PICK)
    def take_summary_back(self, pick: int, which: int, door: int) -> None:
        """What it summed up is there again, on every node."""
        node = self.choose(pick)
        if summaries := [each for each in self.plain.sees(node, "event") if each.because]:
            taken = summaries[which % len(summaries)]
            erase = partial(memories.forget_memory, erase=True)
            done = self.call(node, door, erase, taken.id, "")
            assert isinstance(done, MemoryForgotten)
            self.plain.erase(taken.number)

    @rule(pick=PICK, which=PICK, door=PICK, key=KEYS, texts=st.tuples(TEXTS, TEXTS))
    def change_both(
        self, pick: int, which: int, door: int, key: str, texts: tuple[str, str]
    ) -> None:
        """A node and its parent change the same, to the same or not."""
        node = self.choose(pick)
        nodes = [*self.plain.states]
        for each, text in zip((node, self.plain.parents.get(node, node)), texts, strict=True):
            self.set_core(nodes.index(each), door, key, text)
            self.update_archive(nodes.index(each), which, door + 1, text)
            self.consolidate(nodes.index(each), door, text)

    @rule(pick=PICK, door=PICK, prefer=PREFER)
    def join(self, pick: int, door: int, prefer: str | None) -> None:
        """What both changed is a conflict, and nothing moves unless one is preferred."""
        node = self.choose(pick)
        if (parent := self.plain.parents.get(node)) is None:
            return
        losers = self.plain.find_losers(parent, node, prefer)
        done = self.call(node, door, layers.join_node, None, prefer)
        assert isinstance(done, NodeJoined)
        assert done.joined == (losers is not None)
        if losers is not None:
            assert done.move
            self.plain.join(parent, node, done.move, losers)

    @rule(pick=PICK, which=PICK, door=PICK)
    def take_join_back(self, pick: int, which: int, door: int) -> None:
        """One side goes back to before a join; the other stays as it is."""
        node = self.choose(pick)
        joins = self.plain.states[node].joins
        if not joins:
            return
        at = which % len(joins)
        move, before = joins[at]
        done = self.call(node, door, branches.backtrack, move, "continue")
        assert isinstance(done, Backtracked)
        self.plain.go_back(node, done.line, at, before)

    @rule(pick=PICK, door=PICK)
    def discard(self, pick: int, door: int) -> None:
        node = self.choose(pick)
        if node not in self.plain.begun:
            return
        done = self.call(node, door, layers.discard_node)
        assert isinstance(done, NodeDiscarded)
        self.plain.leave(node, done.line, self.plain.begun[node])

    @precondition(lambda self: self.plain.left)
    @rule(pick=PICK, door=PICK)
    def restore(self, pick: int, door: int) -> None:
        """What a discard, or the way back from a join, left is there again."""
        node, line, state = self.plain.left.pop(pick % len(self.plain.left))
        done = self.call(node, door, branches.backtrack, line, "continue")
        assert isinstance(done, Backtracked)
        self.plain.leave(node, done.line, state)

    @invariant()
    def every_node_sees_what_it_should(self) -> None:
        for door in range(1 + self.two):
            for node in self.plain.states:
                view = self.call(node, door, layers.read_node)
                assert isinstance(view, NodeView)
                events, archive = (self.plain.sees(node, what) for what in ("event", "archive"))
                assert {entry.key: entry.value for entry in view.core} == self.plain.core(node)
                assert [each.summary for each in view.recall] == [e.text for e in events[-50:]]
                assert {each.id: each.text for each in view.archival} == {
                    each.id: each.text for each in archive[-20:]
                }


TestTreeOfNodes = TreeOfNodes.TestCase
TestTreeOfNodes.settings = settings(
    max_examples=depth(3, 300), stateful_step_count=depth(15, 60), deadline=None
)
