"""What leaves with an export comes back with an import as it was: records, and whole timelines."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from depth import depth
from fakes import SCOPE, START, FakeIds, Scribe, close_workspace, real_workspace, switched
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from looking import words_in
from machine import CoherentMemory
from moving import Form, as_json, as_markdown, contents, exported, files_below, imported, read
from test_round_trips import NAME, records

from memory_mcp.domain.ids import MAIN, ROOT
from memory_mcp.domain.record import Record
from memory_mcp.domain.transfer import ExportHeader, SourceFile, SourceMaterial
from memory_mcp.engine.workspace import Workspace
from memory_mcp.timeline.moves import fold_moves

T = TypeVar("T")

ABOUT = ExportHeader(scope=SCOPE, at=START, branch=MAIN, banks=("project", "user"), history=True)

ODD = (
    "---\ntitle: x\n---\nfront matter within",
    "---",
    "\n---\n",
    "ends with lines\n\n\n",
    "\n\t\u200d\U0010ffff",
    "id: 7\n---\n",
    " ",
    "```\n---\n```",
)


def test_odd_texts_are_odd_in_both_formats() -> None:
    """Texts that look like the format itself, with titles that look like its lines."""
    scribe = Scribe()
    made = [scribe.record(text, title=text, tags=[text], key=text) for text in ODD]

    for form in (as_json, as_markdown):
        own = read(form(ABOUT, made)).own
        assert own is not None
        assert own.about == ABOUT
        assert list(own.records) == made


@example(made=[Scribe().record("\n---\n", title="", tags=["\n"])])
@given(made=st.lists(records(), max_size=4))
@settings(max_examples=depth(8, 150))
def test_any_record_comes_back_from_an_export_as_it_was(made: list[Record]) -> None:
    """Every field, whatever it says: that is what lossless means."""
    ids = FakeIds()  # the strategy gives each the same id
    made = [record.model_copy(update={"id": ids.new(START)}) for record in made]

    for form in (as_json, as_markdown):
        own = read(form(ABOUT, made)).own
        assert own is not None
        assert list(own.records) == made


@given(text=NAME)
def test_lines_that_git_turned_are_turned_back(text: str) -> None:
    """On Windows git may check out every file with other ends of lines."""
    made = Scribe().record(text)
    folder = as_markdown(ABOUT, [made])
    turned = tuple(
        SourceFile(d.name, d.text.replace("\n", "\r\n"), d.modified) for d in folder.documents
    )
    own = read(SourceMaterial(turned, folder=True)).own

    assert own is not None
    assert list(own.records) == [made]


def as_if_written(record: Record, ids: FakeIds) -> Record:
    """The record within the limits that an import holds every record to."""
    return record.model_copy(
        update={
            "id": ids.new(START),
            "kind": "fact" if record.kind == "move" else record.kind,
            "content": record.content if record.content.strip() else "x",
            "erases": (),
            "move": None,
            "title": record.title[:100],
            "category": record.category[:30],
            "tags": tuple(tag[:60] for tag in record.tags if tag[:60].strip()),
            "segment": record.segment and ROOT,
            "branch": record.branch and MAIN,
            "supersedes": tuple(ids.new(START) for _ in record.supersedes),
            "derived_from": tuple(ids.new(START) for _ in record.derived_from),
            "created_at": min(record.created_at, START),
        }
    )


@pytest.mark.parametrize("form", ["json", "markdown"])
@given(made=st.lists(records(), min_size=1, max_size=3))
@settings(
    max_examples=depth(1, 15),
)
def test_files_of_any_record_are_the_same_after_both_ways(
    tmp_path: Path, form: Form, made: list[Record]
) -> None:
    """With its history an export is the folder, byte for byte, also of what no use case writes."""

    async def both_ways() -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as name:
            here, there = (real_workspace(Path(name) / side) for side in ("here", "there"))
            ids = FakeIds()
            for record in made:
                await here.project.records.put(as_if_written(record, ids))
            await imported(there, await exported(here, form, history=True))
            assert files_below(Path(name) / "there") == files_below(Path(name) / "here")
            for workspace in (here, there):
                await close_workspace(workspace)

    asyncio.run(both_ways())


class MovedMemory(CoherentMemory):
    """A whole random life of a project, taken elsewhere now and then."""

    @precondition(lambda self: len(self.words) > 3)
    @rule(form=st.sampled_from(["json", "markdown"]))
    def everything_moves_elsewhere(self, form: Form) -> None:
        with tempfile.TemporaryDirectory() as name:
            there = real_workspace(Path(name), self.clock, FakeIds(7))
            try:
                self.run(self.moved(there, Path(name), form))
            finally:
                self.run(close_workspace(there))

    async def moved(self, there: Workspace, folder: Path, form: Form) -> None:
        whole = await exported(self.workspace, form, history=True)
        await imported(there, whole)
        assert files_below(folder) == files_below(self.folder)
        head, moved = await self.workspace.heads.read(), await there.heads.read()
        assert moved is not None
        if head is not None:
            stored = [
                r async for r in there.project.records.scan(await there.project.index.moves())
            ]
            assert moved.timeline == fold_moves(stored)
            assert moved.timeline.branches == head.timeline.branches
        for branch in moved.timeline.branches:
            here = real_workspace(self.folder, self.clock, branch=branch)
            there = await switched(there, branch)
            assert await contents(there) == await contents(here)
            await close_workspace(here)
        again = await imported(there, whole)
        assert again.stored == 0
        assert files_below(folder) == files_below(self.folder)

    @precondition(lambda self: len(self.words) > 3)
    @rule(form=st.sampled_from(["json", "markdown"]))
    def what_holds_moves_elsewhere(self, form: Form) -> None:
        material = self.run(exported(self.workspace, form))
        now = self.clock.now()
        there = self.model.holds(self.model.on(self.workspace.caller.branch), now)
        told = words_in("\n".join(document.text for document in material.documents))
        assert told == {entry.word for entry in there}

        with tempfile.TemporaryDirectory() as name:
            workspace = real_workspace(Path(name), self.clock, FakeIds(8))
            try:
                self.run(imported(workspace, material))
                assert sorted(self.run(contents(workspace))) == sorted(
                    self.run(contents(self.workspace))
                )
                files = files_below(Path(name))
                assert self.run(imported(workspace, material)).stored == 0
                assert files_below(Path(name)) == files
            finally:
                self.run(close_workspace(workspace))

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)


MovedMemory.TestCase.settings = settings(
    max_examples=depth(1, 12), stateful_step_count=25
)  # fmt: skip
TestMovedMemory = MovedMemory.TestCase
