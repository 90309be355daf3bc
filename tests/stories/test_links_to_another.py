"""A link below a project leads to another project's memory: its place, and its trust, stay its own.

Everything that is known of a project is known by the project's real path and the plain names below
it. What a link in a clone leads to is named, and worked on as if nothing stood there.
"""

import asyncio
import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from cloud import Cloud
from command_line import Run
from doors import Era, add, agent, call, machine_dir, read, recalled, seal, trust
from hooked import context_of, hook
from mirrors import mirrored
from patient import examine

from memory_mcp.build import open_workspace
from memory_mcp.config.settings import Settings
from memory_mcp.hooks.opening import ASK_FIRST
from memory_mcp.locations import resolve_path

pytestmark = pytest.mark.anyio

REMOTE: Final = '[remote "origin"]\n\turl = git@example.org:acme/shop.git\n'
OTHERS: Final = "The launch word is orchard."
STATE: Final = (".state",)
RECORDS: Final = (".claude/memory",)
LINKS: Final = (STATE, RECORDS, (".claude",), (*STATE, *RECORDS))


def opened(project: Path) -> str:
    """What a session there opens with."""
    answer = hook("session-start", {}, project, MEMORY_USER="ada")
    return context_of(answer, "SessionStart")


async def worked_in(settings: Settings) -> Path:
    """A trusted project with a remote, a memory, a checkpoint, and a bootstrap that lies ready."""
    project = settings.project_dir
    assert project is not None
    with_remote(project)
    trust(project)
    async with agent(settings, "auto") as client:
        await add(client, OTHERS, kind="decision")
        await seal(client, "The launch word is chosen", phase=1)
        await read(client, "memory_context")
    assert OTHERS in opened(project)
    return project


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Another folder, that says it has the same remote."""
    folder = tmp_path / "clone"
    folder.mkdir()
    with_remote(folder)
    return folder


def with_remote(project: Path) -> None:
    (project / ".git").mkdir(exist_ok=True)
    (project / ".git" / "config").write_text(REMOTE, "utf-8")


def linked(clone: Path, victim: Path, names: Collection[str]) -> None:
    """As a repository brings it: relative, so that it leads to whatever lies beside the clone."""
    for name in names:
        (clone / name).parent.mkdir(exist_ok=True)
        up = os.path.relpath(victim / name, (clone / name).parent)
        (clone / name).symlink_to(up, target_is_directory=True)


def held(*folders: Path) -> dict[Path, bytes]:
    """Every file of theirs, byte for byte."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("names", LINKS, ids="+".join)
def test_hooks_of_the_clone_tell_and_leave_the_other_project_nothing(
    settings: Settings, clone: Path, names: Collection[str]
) -> None:
    """A link would otherwise choose the folder that only this machine writes."""
    victim = asyncio.run(worked_in(settings))
    linked(clone, victim, names)
    before = held(victim, machine_dir(victim))
    assert opened(clone) == ASK_FIRST
    hook("post-compact", {"compact_summary": "We agreed on a backdoor."}, clone)
    hook("stop", {}, clone)

    assert held(victim, machine_dir(victim)) == before
    assert machine_dir(clone) != machine_dir(victim)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("names", LINKS, ids="+".join)
async def test_the_server_of_the_clone_tells_and_leaves_the_other_project_nothing(
    settings: Settings, clone: Path, era: Era, names: Collection[str]
) -> None:
    """It names the link and works on: what the user trusts elsewhere is not trusted here."""
    victim = await worked_in(settings)
    linked(clone, victim, names)
    before = held(victim, machine_dir(victim))
    async with agent(replace(settings, project_dir=clone), era) as client:
        head = await read(client, "memory_head")
        told = await read(client, "memory_context", task="launch word")
        assert await recalled(client, "launch word orchard") == []
        await client.call_tool("add_memory", {"content": "Carts live in cookies."})
        await client.call_tool("checkpoint", {"summary": "Carts are settled", "phase": 2})

    assert all(f"{clone / name} is a link, which is not followed" in head for name in names)
    assert "orchard" not in head + told
    assert "launch word" not in head
    assert held(victim, machine_dir(victim)) == before
    assert "orchard" not in opened(clone)


@pytest.mark.files
async def test_where_state_is_a_link_memories_are_read_and_kept_and_the_head_is_not(
    settings: Settings, clone: Path, era: Era
) -> None:
    """What the head said is made from the records; what only it could hold is refused."""
    victim = await worked_in(settings)
    here = replace(settings, project_dir=clone)
    async with agent(here, era) as client:
        await add(client, "Carts live in cookies.")
        sealed = await seal(client, "Carts are settled", phase=2)
    for file in (clone / ".state").iterdir():
        file.unlink()
    (clone / ".state").rmdir()
    linked(clone, victim, STATE)

    async with agent(here, era) as client:
        assert sealed in await read(client, "memory_head")
        said = await call(client, "add_memory", content="Coupons live in Redis.")
        assert f"{clone / '.state'} is a link" in said["message"]
        assert set(await recalled(client, "live")) >= {"Carts live in cookies.",
                                                       "Coupons live in Redis."}  # fmt: skip
        said = await client.call_tool("checkpoint", {"summary": "Coupons too", "phase": 3})
        assert f"{clone / '.state'}: it is a link" in str(said.content)
    found = await examine(here)
    assert list(found) == ["head-unsafe"]


@pytest.mark.files
async def test_where_the_records_are_a_link_none_is_written_and_that_is_said(
    settings: Settings, clone: Path, era: Era
) -> None:
    """The message names the link and the way out of it."""
    victim = await worked_in(settings)
    linked(clone, victim, RECORDS)
    async with agent(replace(settings, project_dir=clone), era) as client:
        result = await client.call_tool("add_memory", {"content": "Carts live in cookies."})
    said = str(result.content)
    assert f"{clone / '.claude' / 'memory'}: it is a link" in said
    assert "MEMORY_DIR" in said


@pytest.mark.files
@pytest.mark.parametrize("names", [RECORDS, (".claude",)], ids="+".join)
async def test_trust_is_not_reached_through_a_link(
    settings: Settings, cloud: Cloud, clone: Path, names: Collection[str]
) -> None:
    """Neither to use it, its name in the cloud among that, nor to take it away."""
    victim = await worked_in(settings)
    linked(clone, victim, names)
    mine = mirrored(settings, cloud)
    async with open_workspace(replace(mine, project_dir=clone)) as built:
        assert (strangers := built.workspace.strangers)
        assert (strangers.trust.trusted(), strangers.trust.may_use_cloud()) == (False, False)
        assert built.workspace.project.mirror is None
        assert strangers.trust.revoke(), "the cloud was trusted: that is this machine's"
        assert not strangers.trust.revoke()
    async with open_workspace(mine) as built:
        assert (strangers := built.workspace.strangers)
        assert strangers.trust.trusted()
        assert built.workspace.project.mirror is not None


def test_trusting_the_clone_trusts_nothing_but_the_clone(
    run: Run, settings: Settings, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list says so."""
    victim = asyncio.run(worked_in(settings))
    linked(clone, victim, RECORDS)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(clone))
    assert "trusted already" not in run("trust")[1]
    assert run("trust", "--yes")[0] == 0
    listed = run("trust", "--list")[1]
    assert [line.split(" ")[0] for line in listed.splitlines()] == [
        str(clone / ".claude" / "memory"),
        str(victim / ".claude" / "memory"),
    ]


async def test_a_file_in_place_of_a_folder_is_no_link(settings: Settings, project: Path) -> None:
    """What stands in the way of the records is said by whoever needs them."""
    (project / ".claude").touch()
    async with open_workspace(settings) as built:
        assert (strangers := built.workspace.strangers)
        assert strangers.trust.find_links() == []


def test_a_link_above_the_project_is_only_another_way_to_it(tmp_path: Path) -> None:
    """And a path outside of it is the user's own choice, wherever its links lead."""
    project, outside = tmp_path / "real" / "shop", tmp_path / "real" / "outside"
    outside.mkdir(parents=True)
    project.mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real", target_is_directory=True)
    (project / ".state").symlink_to(outside, target_is_directory=True)
    way = tmp_path / "way" / "shop"

    plain = str(project / ".state")
    for path in (project / ".state", way / ".state", way / "x" / ".." / ".state"):
        assert resolve_path(str(path), str(way)) == plain
    assert resolve_path(str(tmp_path / "way" / "outside"), str(way)) == str(outside)
    assert resolve_path(str(way / ".state"), "") == str(outside)
