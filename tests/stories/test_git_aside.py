"""What the index knows of records that git took away with a branch, and brings back with it.

Records are committed with the code here, so a checkout removes files of records and adds them.
"""

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest
from doors import agent, call, files_with, machine_dir, recalled, record_file, trust
from git_world import A, B, C, GitWorld, in_git, make_world, parted
from patient import examine
from real_git import commit_all, git

from memory_mcp.config.settings import Settings
from memory_mcp.domain.record import Record
from memory_mcp.domain.search import SearchFields
from memory_mcp.engine.fields import make_fields
from memory_mcp.storage.files.git import LocalGit

pytestmark = [pytest.mark.anyio, pytest.mark.files, pytest.mark.usefixtures("patient_git")]


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the memories that an index takes in, one after the other."""
    found: list[str] = []

    def make(record: Record) -> SearchFields:
        found.append(record.content)
        return make_fields(record)

    monkeypatch.setattr("memory_mcp.build.make_fields", make)
    return found


async def test_what_comes_back_with_its_branch_is_not_indexed_anew(
    settings: Settings, project: Path, indexed: list[str]
) -> None:
    """A thousand records of a branch cost a look at their files, not a second of a call."""
    async with parted(settings, project, ignored=False) as w:
        for _ in range(2):
            w.git("switch", "-q", "main")
            assert await w.recalled() == {A}
            assert await recalled(w.client, "Which store keeps sessions? Redis?") != [B]
            indexed.clear()
            w.git("switch", "-q", "feature")
            assert await recalled(w.client, "Redis") == [B]
            assert await w.recalled() == {A, B}
            assert indexed == []
        assert await examine(in_git(settings, "follow")) == {}


async def test_what_comes_back_with_other_line_ends_is_not_indexed_anew(
    settings: Settings, project: Path, indexed: list[str]
) -> None:
    """As git writes them on Windows."""
    async with parted(settings, project, ignored=False) as w:
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        w.git("config", "core.autocrlf", "true")
        indexed.clear()
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A, B}
        assert indexed == []
        month = next((project / ".claude" / "memory").glob("????-??"))
        assert any(b"\r\n" in path.read_bytes() for path in month.glob("*.json"))


async def test_no_text_is_asked_of_git_to_tell_what_it_took_and_brought(
    settings: Settings, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index knows which of the files are memories; git would print a thousand of them."""
    asked: list[Collection[str]] = []
    find_memories = LocalGit.find_memories

    def find(history: LocalGit, objects: Collection[str]) -> set[str]:
        asked.append(objects)
        return find_memories(history, objects)

    monkeypatch.setattr(LocalGit, "find_memories", find)
    async with parted(settings, project, ignored=False) as w:
        for branch in ("main", "feature"):
            w.git("switch", "-q", branch)
            await w.recalled()
        told = [note for note in w.told if "the files" in note]
        assert ["took" in note for note in told] == [True, False]
        assert asked == []


async def test_what_comes_back_with_another_text_is_indexed_anew(
    settings: Settings, project: Path, indexed: list[str]
) -> None:
    """Somebody corrected a record by hand, and committed that on the branch."""
    make_world(project, ignored=False)
    trust(project)
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        written = await w.write(B)
        w.commit("b")
        w.git("switch", "-q", "-c", "corrected")
        path = record_file(project, written)
        path.write_text(path.read_text("utf-8").replace("Redis", "Valky"), "utf-8")
        commit_all(project, "corrected")
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}
        indexed.clear()
        w.git("switch", "-q", "corrected")
        corrected = B.replace("Redis", "Valky")
        assert await recalled(client, "Valky") == [corrected]
        assert await w.recalled() == {A, corrected}
        assert indexed == [corrected]
        terms = list_terms(machine_dir(project) / "index.sqlite3")
        assert "valki" in terms or "valky" in terms
        assert not {term for term in terms if term.startswith("redi")}


def list_terms(index: Path) -> list[str]:
    """Every word in the index."""
    with closing(sqlite3.connect(index)) as db:
        return [term for (term,) in db.execute("SELECT term FROM term")]


async def test_what_another_clone_forgot_leaves_no_word_while_it_is_away(
    settings: Settings, project: Path, tmp_path: Path
) -> None:
    """The order to erase it comes with a merge; the memory itself never comes back."""
    make_world(project, ignored=False)
    trust(project)
    other = tmp_path / "other"
    async with agent(in_git(settings, "follow"), "auto") as client:
        w = GitWorld(client, project)
        await w.write(A)
        w.commit("a")
        w.git("switch", "-q", "-c", "feature")
        written = await w.write("The vault is behind the zebrafish.")
        w.commit("b")
        assert files_with(machine_dir(project), "zebrafish") != []
        w.git("switch", "-q", "main")
        assert await w.recalled() == {A}

        git(tmp_path, "clone", "-q", "--branch", "feature", str(project), str(other))
        trust(other)
        async with agent(in_git(settings, "follow", other), "auto") as elsewhere:
            await call(elsewhere, "forget_memory", memory_id=written)
            commit_all(other, "forgotten")
        w.git("pull", "-q", "--no-rebase", "--no-edit", str(other), "feature")
        assert await w.recalled() == {A}
        assert files_with(machine_dir(project), "zebrafish") == []
        w.git("switch", "-q", "feature")
        assert await w.recalled() == {A}
        assert await examine(in_git(settings, "follow")) == {}


async def test_a_memory_written_while_others_are_away_takes_nothing_of_theirs(
    settings: Settings, project: Path
) -> None:
    """What is known of the others stays theirs, and an index made anew gives the same answers."""
    async with parted(settings, project, ignored=False) as w:
        w.git("switch", "-q", "main")
        await w.write(C)
        w.commit("c")
        assert await recalled(w.client, "sessions in Redis") == []
        assert await recalled(w.client, "invoices at night") == [C]
        w.git("merge", "-q", "--no-edit", "feature")
        words = ("sessions in Redis", "invoices at night", "orders", "")
        found = [await recalled(w.client, query) for query in words]
        assert found == [[B], [C], [A], [C, B, A]]
    for file in machine_dir(project).glob("index.sqlite3*"):
        file.unlink()
    async with agent(in_git(settings, "follow"), "auto") as client:
        assert [await recalled(client, query) for query in words] == found
