"""An import takes place or it does not: a cut is completed, an error is taken back."""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from command_line import Run
from crew import FAKES
from depth import depth
from doors import machine_dir
from moving import all_below, exported, imported, of_mem0, read
from operations import begin, go_back, seal
from power import FailingDisk, FullDisk, PowerCut
from project import (
    WORD,
    add,
    all_records,
    copy_project,
    doctor_is_content,
    head_agrees_with_records,
    make_project,
    opened,
    record_files,
    see,
)

from memory_mcp import maintenance, memories, sessions, transfer
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Scope
from memory_mcp.domain.transfer import ParsedSource, SourceMaterial
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.storage.files.imports import JOURNAL_FILE

pytestmark = pytest.mark.anyio

STRIDE: Final = depth(31, 1)
"""By default every so many steps one is cut."""

TEXTS: Final = [f"learnt elsewhere {number} {WORD}" for number in range(3)]


def foreign() -> ParsedSource:
    return of_mem0(*TEXTS)


async def a_history(root: Path, scope: Scope) -> ParsedSource:
    """Of another clone of a project: with a checkpoint, a left line and a forget."""
    make_project(root)
    async with opened(root) as built:
        first = await add(built.workspace, "mail goes by SES")
        sealed = await seal(built.workspace, "mail works", phase=1)
        await add(built.workspace, "mail has a footer")
        await go_back(built.workspace, sealed)
        await add(built.workspace, "mail is plain text")
        await memories.forget_memory(built.workspace, first, "", erase=True)
        material: SourceMaterial = await exported(built.workspace, history=True)
    parsed = read(material)
    assert parsed.own is not None
    about = replace(parsed.own.about, scope=scope)
    return replace(parsed, own=replace(parsed.own, about=about))


@pytest.mark.parametrize("source", ["foreign", "history"])
async def test_a_power_cut_at_any_step_leaves_all_or_nothing_of_an_import(
    tmp_path: Path, source: str
) -> None:
    """Whoever opens the project next sees either; the cut step decides which."""
    template = tmp_path / "template"
    await begin(template)
    parsed = foreign()
    if source == "history":
        async with opened(template) as built:
            parsed = await a_history(tmp_path / "other", built.workspace.scope)
    before = await _seen(template, tmp_path / "before")
    async with opened(_copy(template, tmp_path / "after")) as built:
        await imported(built.workspace, parsed)
        after = await see(built.workspace)
    assert before != after
    fates: list[bool] = []
    for cut_at in itertools.count(0, STRIDE):
        root = _copy(template, tmp_path / f"cut-{cut_at}")
        acknowledged = await _cut(root, parsed, cut_at)
        async with opened(root) as built:
            await sessions.catch_up(built.workspace)
            seen = await see(built.workspace)
            assert seen in (before, after)
            assert not await built.workspace.journal.waiting()
            await head_agrees_with_records(built)
            await doctor_is_content(built.workspace)
            assert (await imported(built.workspace, parsed)).stored in (0, parsed.read)
            assert await see(built.workspace) == after
        fates.append(seen == after)
        shutil.rmtree(root)
        if acknowledged:
            break

    assert fates == sorted(fates), "once it is decided, it stays decided"
    assert fates.count(True) > 3 * 5 // STRIDE, "from the journal on, each step is completed"


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot kill itself so there")
def test_a_process_that_is_killed_at_any_step_leaves_all_or_nothing(tmp_path: Path) -> None:
    """The real thing: no handler runs, the lock goes with the process, a command completes it."""
    source = tmp_path / "mem0.json"
    source.write_text(json.dumps([{"id": str(n), "memory": text} for n, text in enumerate(TEXTS)]))
    root = tmp_path / "root"
    worker = Path(__file__).with_name("importing.py")
    told: list[int] = []
    for step in itertools.count(0, 3):
        shutil.rmtree(root, ignore_errors=True)
        make_project(root)
        ended = subprocess.run(
            [sys.executable, str(worker), str(root), str(source), str(step)],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": FAKES},
        )  # fmt: skip
        asked = subprocess.run(
            [sys.executable, "-m", "memory_mcp", "--json", "search", "", "--limit", "10"],
            capture_output=True, text=True, check=True, cwd=root / "shop",
            env={**os.environ, "MEMORY_HOME": str(root / "home"), "PYTHONUTF8": "1"},
        )  # fmt: skip
        told.append(len(json.loads(asked.stdout).get("results", [])))
        assert told[-1] in (0, len(TEXTS))
        assert list(root.rglob(JOURNAL_FILE)) == []
        if ended.stdout == "done\n":
            break
        assert ended.returncode == -9, ended.stderr

    assert told[0] == 0
    assert told == sorted(told)
    assert told.count(len(TEXTS)) > 2


async def test_a_disk_that_runs_full_takes_everything_back(tmp_path: Path) -> None:
    """Nothing half: the records that were written are erased, and so is the journal."""
    await begin(tmp_path)
    before = record_files(tmp_path)
    for room in range(len(TEXTS) + 4):  # the journal is five writes, each record one
        async with opened(tmp_path, FullDisk(room)) as built:
            with pytest.raises(StoreUnavailableError):
                await transfer.import_memories(built.workspace, foreign(), "project")
            assert not await built.workspace.journal.waiting()
        assert record_files(tmp_path) == before
    async with opened(tmp_path) as built:
        assert (await imported(built.workspace, foreign())).stored == len(TEXTS)


async def test_an_import_that_is_interrupted_is_taken_back_and_says_so(tmp_path: Path) -> None:
    """Ctrl-C between any two records: no thread goes on to write behind our back."""
    await begin(tmp_path)
    before = record_files(tmp_path)
    for last in range(1, len(TEXTS) + 1):
        async with opened(tmp_path) as built:
            tasks: list[asyncio.Task[object]] = []

            def advance(
                done: int, _: int, last: int = last, tasks: list[asyncio.Task[object]] = tasks
            ) -> None:
                if done == last and len(record_files(tmp_path)) == len(before) + last:
                    tasks[0].cancel()

            task = asyncio.ensure_future(
                transfer.import_memories(built.workspace, foreign(), "project", advance)
            )
            tasks.append(task)
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            said = getattr(caught.value, "__notes__", [])
            kept = record_files(tmp_path) != before
            assert said == [
                "All of the import is kept: it was done."
                if kept
                else "Nothing of the import was kept."
            ]
            assert kept is (last == len(TEXTS))
            assert not await built.workspace.journal.waiting()


@pytest.mark.parametrize("repair", [False, True])
def test_the_doctor_names_an_import_before_it_is_completed(
    run: Run, project: Path, *, repair: bool
) -> None:
    """Whoever asks what is wrong must not find it mended unsaid."""
    assert run("add", "Orders rest in Postgres")[0] == 0
    record = json.loads(run("export")[1])["records"][0]
    head = {"schema_version": 1, "records": 1}
    journal = machine_dir(project) / JOURNAL_FILE
    journal.write_text(f"{json.dumps(head)}\n{json.dumps(record)}\n", "utf-8")
    _, out, _ = run("doctor", *(["--repair"] if repair else []))

    assert "An import of 1 record was cut short." in out
    assert journal.exists() is not repair


async def test_what_was_forgotten_before_an_import_is_completed_stays_forgotten(
    tmp_path: Path,
) -> None:
    """A cut, a forget by another session that saw a part of it, and then the completion."""
    make_project(tmp_path)
    async with opened(tmp_path) as built:
        parsed = foreign()
        await imported(built.workspace, parsed)
        records = await all_records(built)
        async with built.workspace.journal.alone():
            await built.workspace.journal.note(records)
            await memories.forget_memory(built.workspace, RecordId(records[0].id), "", erase=True)
        assert [f.code for f in await maintenance.run_doctor(built.workspace)] == [
            "import-unfinished"
        ]
        assert await transfer.complete_import(built.workspace) == len(TEXTS)
        left = {record.content for record in await all_records(built)}
    assert records[0].content not in left
    assert all(records[0].content.encode() not in data for data in all_below(tmp_path).values())


async def test_an_import_under_way_is_left_to_who_began_it(tmp_path: Path) -> None:
    """A server that starts meanwhile must not complete what may yet be taken back."""
    make_project(tmp_path)
    async with (
        opened(tmp_path) as first,
        opened(tmp_path) as second,
        first.workspace.journal.alone(),
    ):
        await first.workspace.journal.note([])
        assert await transfer.complete_import(second.workspace) == 0
        await sessions.catch_up(second.workspace)
        assert await maintenance.run_doctor(second.workspace) == []
        assert await first.workspace.journal.waiting()


async def _cut(root: Path, parsed: ParsedSource, cut_at: int) -> bool:
    try:
        async with opened(root, FailingDisk(cut_at)) as built:
            await transfer.import_memories(built.workspace, parsed, None)
    except PowerCut:
        return False
    return True


def _copy(template: Path, copy: Path) -> Path:
    return copy_project(template, copy)


async def _seen(template: Path, copy: Path) -> object:
    async with opened(_copy(template, copy)) as built:
        return await see(built.workspace)
