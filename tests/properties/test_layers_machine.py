"""Random trees of nodes, held against plain dictionaries that are copied when a node is forked."""

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from depth import depth
from fakes import FakeClock, FakeIds, close_workspace, real_workspace
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memory_mcp import layers, memories
from memory_mcp.domain.ids import BranchName
from memory_mcp.domain.layers import (
    ArchivalUpdate,
    ArchivalWrite,
    Consolidate,
    CoreDelete,
    CoreSet,
    LayerReceipt,
    NodeView,
    RecallAppend,
    RecallEvict,
    Write,
)
from memory_mcp.engine.workspace import Workspace

T = TypeVar("T")
PICK = st.integers(0, 10_000)
KEYS = st.sampled_from(["goal", "lr", "seed é", "node: 3"])
NAMES = ["stage1/node:3", "node 3", "Node 3", "節", "a%2Fb", "..", "-x", "café"]


@dataclass
class Plain:
    """What one node knows. Texts are unique words, so that a text is its own name."""

    parent: str | None
    core: dict[str, str] = field(default_factory=dict[str, str])
    events: list[str] = field(default_factory=list[str])
    archive: dict[str, str] = field(default_factory=dict[str, str])
    own_events: set[str] = field(default_factory=set[str])
    begun: "Plain | None" = None

    def copy(self, parent: str | None) -> "Plain":
        return Plain(parent, dict(self.core), list(self.events), dict(self.archive))


class TreeOfNodes(RuleBasedStateMachine):
    """Real use cases over real files and real SQLite; only time and ids are the test's own."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.temporary = tempfile.TemporaryDirectory()
        self.clock, self.ids = FakeClock(), FakeIds()
        self.nodes: dict[str, Plain] = {"main": Plain(None)}
        self.summaries: list[tuple[str, str, list[str]]] = []
        self.count = 0
        self.open: list[Workspace] = []
        self.restart()
        self.second()

    def teardown(self) -> None:
        for workspace in self.open:
            self.run(close_workspace(workspace))
        self.runner.close()
        self.temporary.cleanup()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    def make(self) -> Workspace:
        return real_workspace(Path(self.temporary.name), self.clock, self.ids)

    def word(self) -> str:
        self.count += 1
        return f"zq{self.count:05}x"

    def choose(self, pick: int) -> tuple[str, Plain]:
        name = [*self.nodes][pick % len(self.nodes)]
        return name, self.nodes[name]

    def at(self, node: str, door: int) -> Workspace:
        return self.open[door % len(self.open)].at(BranchName(node))

    def write(self, node: str, door: int, *writes: Write) -> LayerReceipt:
        done = self.run(layers.write_node(self.at(node, door), writes))
        assert isinstance(done, LayerReceipt)
        return done

    @rule()
    def restart(self) -> None:
        """Every process ends, and one begins anew."""
        for workspace in self.open:
            self.run(close_workspace(workspace))
        self.open = [self.make()]

    @precondition(lambda self: len(self.open) < 2)
    @rule()
    def second(self) -> None:
        """A second workspace over the same files, as another process has it."""
        self.open.append(self.make())

    @precondition(lambda self: len(self.nodes) <= len(NAMES))
    @rule(parent=PICK, door=PICK)
    def fork(self, parent: int, door: int) -> None:
        above, plain = self.choose(parent)
        name = NAMES[len(self.nodes) - 1]
        workspace = self.open[door % len(self.open)]
        for created in ((name,), ()):
            done = self.run(layers.fork_node(workspace, above, name))
            assert getattr(done, "created", None) == created
        self.nodes[name] = plain.copy(above)
        self.nodes[name].begun = plain.copy(above)

    @rule(pick=PICK, door=PICK, key=KEYS)
    def set_core(self, pick: int, door: int, key: str) -> None:
        node, plain = self.choose(pick)
        plain.core[key] = self.word()
        self.write(node, door, CoreSet(key=key, value=plain.core[key]))

    @rule(pick=PICK, door=PICK, key=KEYS)
    def delete_core(self, pick: int, door: int, key: str) -> None:
        node, plain = self.choose(pick)
        plain.core.pop(key, None)
        self.write(node, door, CoreDelete(key=key))

    @rule(pick=PICK, door=PICK, key=KEYS)
    def write_all(self, pick: int, door: int, key: str) -> None:
        """Several layers in one step."""
        node, plain = self.choose(pick)
        event, text = self.word(), self.word()
        plain.core[key] = self.word()
        plain.events.append(event)
        plain.own_events.add(event)
        done = self.write(
            node, door, CoreSet(key=key, value=plain.core[key]), RecallAppend(summary=event),
            ArchivalWrite(text=text),
        )  # fmt: skip
        plain.archive[done.archival[0]] = text

    @rule(pick=PICK, door=PICK)
    def append(self, pick: int, door: int) -> None:
        node, plain = self.choose(pick)
        plain.events.append(self.word())
        plain.own_events.add(plain.events[-1])
        self.write(node, door, RecallAppend(summary=plain.events[-1]))

    @rule(pick=PICK, door=PICK, keep=st.integers(0, 3))
    def evict(self, pick: int, door: int, keep: int) -> None:
        node, plain = self.choose(pick)
        gone = len(plain.events) - keep
        assert self.write(node, door, RecallEvict(keep=keep)).evicted == max(0, gone)
        plain.events[:] = plain.events[max(0, gone) :]

    @rule(pick=PICK, which=PICK, door=PICK)
    def update_archive(self, pick: int, which: int, door: int) -> None:
        node, plain = self.choose(pick)
        if not plain.archive:
            return
        id_ = [*plain.archive][which % len(plain.archive)]
        text = self.word()
        done = self.write(node, door, ArchivalUpdate(id=id_, text=text))
        del plain.archive[id_]
        plain.archive[done.archival[0]] = text

    @rule(pick=PICK, door=PICK)
    def consolidate(self, pick: int, door: int) -> None:
        node, plain = self.choose(pick)
        inherited = [event for event in plain.events if event not in plain.own_events]
        if not inherited:
            return
        summary = self.word()
        done = self.write(node, door, Consolidate(summary=summary))
        assert done.sums_up == len(inherited)
        assert done.summary
        plain.events[:] = [e for e in plain.events if e in plain.own_events] + [summary]
        plain.own_events.add(summary)
        if not any(each.parent == node for each in self.nodes.values()):
            self.summaries.append((node, done.summary, inherited))

    @precondition(lambda self: self.summaries)
    @rule(door=PICK)
    def take_summary_back(self, door: int) -> None:
        """What it summed up is there again, in its old places."""
        node, id_, inherited = self.summaries.pop()
        plain = self.nodes[node]
        (record,) = self.run(self.load([id_]))
        forked = any(each.parent == node for each in self.nodes.values())
        if forked or record.content not in plain.events:  # others saw it, or it was evicted since
            return
        plain.events.remove(record.content)
        plain.events[:0] = inherited
        self.run(memories.forget_memory(self.at(node, door), id_, "", erase=True))

    async def load(self, ids: list[Any]) -> list[Any]:
        return [record async for record in self.open[0].project.records.scan(ids)]

    @rule(pick=PICK, door=PICK)
    def discard(self, pick: int, door: int) -> None:
        node, plain = self.choose(pick)
        if plain.begun is None:
            return
        self.run(layers.discard_node(self.at(node, door)))
        self.nodes[node] = plain.begun.copy(plain.parent)
        self.nodes[node].begun = plain.begun

    @invariant()
    def every_node_sees_what_it_should(self) -> None:
        for door in range(len(self.open)):
            for node, plain in self.nodes.items():
                view = self.run(layers.read_node(self.at(node, door)))
                assert isinstance(view, NodeView)
                assert {entry.key: entry.value for entry in view.core} == plain.core
                assert [event.summary for event in view.recall] == plain.events[-50:]
                assert {each.id: each.text for each in view.archival} == dict(
                    sorted(plain.archive.items())[-20:]
                )


TestTreeOfNodes = TreeOfNodes.TestCase
TestTreeOfNodes.settings = settings(
    max_examples=depth(4, 300), stateful_step_count=depth(20, 60), deadline=None
)
