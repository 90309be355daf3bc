"""Which folders share one memory: the work trees of a clone, and nothing that only says so."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from doors import Json, add, agent, call, machine_dir, recalled, records, seal, trust
from git_world import IGNORED
from hooked import dropped, hook
from real_git import commit_all, git, make_repository

from memory_mcp.config.places import find_project_folders
from memory_mcp.config.settings import Settings
from memory_mcp.hooks.place import find_place
from memory_mcp.locations import LostWorkTreeError, find_main_work_tree

pytestmark = pytest.mark.anyio

OURS = "Orders live in PostgreSQL."


@pytest.fixture
def main(project: Path) -> Path:
    """A clone with one commit."""
    return make_repository(project)


@pytest.fixture
def tree(main: Path, tmp_path: Path) -> Path:
    """A work tree that git linked to it, on a branch of its own."""
    git(main, "worktree", "add", "--quiet", "-b", "try/redis", str(tmp_path / "tree"))
    return tmp_path / "tree"


def of(settings: Settings, folder: Path) -> Settings:
    """A session in that folder."""
    return replace(settings, project_dir=folder)


def memories(folder: Path) -> list[Json]:
    """Every memory below a folder; a branch of git also begins a segment of its own there."""
    return [record for record in records(folder) if record["kind"] != "move"]


async def test_linked_work_trees_share_the_memory_of_the_main_one(
    settings: Settings, main: Path, tree: Path
) -> None:
    """Both servers run at once; each memory says on which of git's branches it was learnt."""
    async with agent(settings, "auto") as here, agent(of(settings, tree), "auto") as there:
        await add(here, OURS)
        assert await recalled(there, "orders") == [OURS]
        sealed = await seal(there, "Storage chosen", phase=1)
        await add(there, "Carts live in Redis.")
        assert await recalled(here, "carts redis") == ["Carts live in Redis."]
        report = await here.call_tool("memory_head", {})
    assert sealed in str(report.content)
    written = {record["content"]: record["origin"] for record in records(main)}
    assert written[OURS]["git_branch"] == "main"
    assert written["Carts live in Redis."]["git_branch"] == "try/redis"
    assert not (tree / ".claude").exists()
    assert not (tree / ".state").exists()
    assert git(tree, "status", "--porcelain") == ""


async def test_hooks_of_a_linked_work_tree_go_where_its_server_looks(
    settings: Settings, main: Path, tree: Path
) -> None:
    """An event that is left elsewhere is never worked off."""
    (tree / "deep").mkdir()
    environment = {"MEMORY_HOME": os.environ["MEMORY_HOME"]}
    for folder in (tree, tree / "deep", main):
        place = find_place(environment, {"cwd": str(folder)})
        found = find_project_folders(replace(settings, project_dir=None), folder)
        assert (place.state, place.machine) == (str(found.state_dir), str(found.machine_dir))
        assert (found.project_dir, found.machine_dir) == (main, machine_dir(main))
    assert hook("post-compact", {"compact_summary": "x"}, tree) == {}
    assert len(dropped(main)) == 1


async def test_a_session_that_is_told_the_work_tree_stands_in_it(
    settings: Settings, main: Path, tree: Path
) -> None:
    """The memory is the main one's, the branch of git that of the tree."""
    found = find_project_folders(of(settings, tree))
    assert (found.project_dir, found.work_tree) == (main, tree)
    assert found.scope == find_project_folders(settings).scope


async def test_work_trees_of_a_bare_repository_share_what_lies_in_it(
    settings: Settings, main: Path, tmp_path: Path
) -> None:
    """There is no main work tree; the repository's own folder is the one that all of them know."""
    (main / ".gitignore").write_text(IGNORED, "utf-8")
    commit_all(main, "ignore")
    git(tmp_path, "clone", "--quiet", "--bare", str(main), "bare.git")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "--quiet", "-b", name, str(tmp_path / name))
    one, two = of(settings, tmp_path / "one"), of(settings, tmp_path / "two")
    async with agent(one, "auto") as client:
        await add(client, OURS)
    async with agent(two, "auto") as client:
        assert await recalled(client) == [OURS]
    assert find_project_folders(one).project_dir == tmp_path / "bare.git"
    assert git(tmp_path / "one", "status", "--porcelain") == ""


async def test_work_trees_of_a_submodule_share_its_memory(
    settings: Settings, main: Path, tmp_path: Path
) -> None:
    """The repository lies in that of the project around it, and nothing is ever stored there."""
    git(main, "submodule", "--quiet", "add", str(make_repository(tmp_path / "library")), "lib")
    git(main / "lib", "worktree", "add", "--quiet", "-b", "try", str(tmp_path / "linked"))
    linked = of(settings, tmp_path / "linked")
    async with agent(of(settings, main / "lib"), "auto") as client:
        await add(client, OURS)
    async with agent(linked, "auto") as client:
        assert await recalled(client) == [OURS]
        await add(client, "Carts live in Redis.")

    assert len(memories(main / "lib")) == 2
    assert not (main / ".git" / "modules" / "lib" / ".claude").exists()
    assert not (main / ".claude").exists()
    git(main / "lib", "sparse-checkout", "init")  # git moves the name to another file
    assert find_project_folders(linked).project_dir == main / "lib"


async def test_work_trees_of_a_repository_elsewhere_share_once_it_names_the_main_one(
    settings: Settings, tmp_path: Path
) -> None:
    """Git itself does not know the main one; until somebody says it, nothing can go astray."""
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git(main, "init", "--quiet", "--separate-git-dir", str(tmp_path / "elsewhere"))
    commit_all(main, "begin")
    git(main, "worktree", "add", "--quiet", "-b", "try", str(tree))
    async with agent(of(settings, main), "auto") as client:
        await add(client, OURS)
    await _is_only_read(of(settings, tree), 'git config core.worktree "$PWD"')
    assert not (tmp_path / "elsewhere" / ".claude").exists()

    git(main, "config", "core.worktree", str(main))
    async with agent(of(settings, tree), "auto") as client:
        assert await recalled(client) == [OURS]


async def _is_only_read(settings: Settings, remedy: str) -> None:
    """Each answer says what to do; nothing is stored, and the hooks leave nothing."""
    assert settings.project_dir
    tree = settings.project_dir
    before = sorted(tree.rglob("*"))
    async with agent(settings, "auto") as client:
        said = await call(client, "add_memory", content="Nobody would see this.")
        found = await call(client, "search_memories", query="orders")
    assert said["success"] is False
    assert "Nothing was stored: it cannot be told where the memory" in said["message"]
    assert found["results"] == []
    for answer in (said, found):
        assert remedy in answer["note"]
        assert answer["note"].endswith("nothing lands in the wrong place.")
    hooked = hook("post-compact", {"compact_summary": "x"}, tree)
    assert remedy in str(hooked["systemMessage"])
    assert sorted(tree.rglob("*")) == before


@pytest.mark.files
@pytest.mark.parametrize("moved", ["shop", "tree"])
async def test_a_work_tree_that_lost_its_main_one_is_only_read_until_git_finds_it(
    settings: Settings, main: Path, tree: Path, tmp_path: Path, moved: str
) -> None:
    """What began in it would be hidden as soon as git is repaired."""
    async with agent(settings, "auto") as client:
        await add(client, OURS)
    (tmp_path / moved).rename(tmp_path / "moved")
    main, tree = (tmp_path / "moved", tree) if moved == "shop" else (main, tmp_path / "moved")
    await _is_only_read(of(settings, tree), "git worktree repair")

    git(main, "worktree", "repair", str(tree))
    trust(main)  # a folder that moved begins anew
    async with agent(of(settings, tree), "auto") as client:
        assert await recalled(client) == [OURS]
        await add(client, "Carts live in Redis.")
    assert len(memories(main)) == 2


def _of_another_tree(folder: Path, tree: Path) -> None:
    (folder / ".git").write_bytes((tree / ".git").read_bytes())


def _of_the_repository(folder: Path, tree: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {tree.parent / 'shop' / '.git'}\n", "utf-8")


def _a_link(folder: Path, tree: Path) -> None:
    (folder / ".git").symlink_to(tree.parent / "shop" / ".git", target_is_directory=True)


def _own_folder_with_a_common_one(folder: Path, tree: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (folder / ".git" / "commondir").write_text(f"{tree.parent / 'shop' / '.git'}\n", "utf-8")


def _both_ends_of_its_own(folder: Path, tree: Path) -> None:
    shipped = folder / "worktrees" / "tree"
    shipped.mkdir(parents=True)
    (folder / ".git").write_text("gitdir: worktrees/tree\n", "utf-8")
    (shipped / "gitdir").write_text(f"{folder / '.git'}\n", "utf-8")
    (shipped / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (shipped / "commondir").write_text(f"{tree.parent / 'shop' / '.git'}\n", "utf-8")


def _no_path(folder: Path, tree: Path) -> None:
    (folder / ".git").write_bytes(b"gitdir: %b/\0/worktrees/tree\n" % os.fsencode(tree))


def _a_repository_that_names_it(folder: Path, tree: Path) -> None:
    shipped = folder / "worktrees" / "tree"
    shipped.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {folder}\n", "utf-8")
    (folder / "config").write_text(f"[core]\n\tworktree = {tree.parent / 'shop'}\n", "utf-8")


@pytest.mark.files
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "forge",
    [
        _of_another_tree,
        _of_the_repository,
        _a_link,
        _own_folder_with_a_common_one,
        _both_ends_of_its_own,
        _no_path,
        _a_repository_that_names_it,
    ],
)
async def test_a_folder_that_only_says_it_belongs_to_a_clone_stands_for_itself(
    settings: Settings, main: Path, tree: Path, tmp_path: Path, forge: object
) -> None:
    """An archive may bring a `.git` that points anywhere; that repository does not know it."""
    folder = tmp_path / "forged"
    folder.mkdir()
    assert callable(forge)
    forge(folder, tree)
    async with agent(settings, "auto") as client:
        await add(client, OURS)
    async with agent(of(settings, folder), "auto") as client:
        assert await recalled(client) == []
        await add(client, "Written in the forged one.")
    assert find_main_work_tree(str(folder)) == str(folder)
    async with agent(settings, "auto") as client:
        assert await recalled(client) == [OURS]
    assert len(records(main)) == 1


@pytest.mark.files
async def test_a_repository_that_claims_a_work_tree_of_another_does_not_get_it(
    settings: Settings, main: Path, tree: Path, tmp_path: Path
) -> None:
    """The other way round: it lists our tree as one of its own, and our tree names ours."""
    other = make_repository(tmp_path / "other")
    claimed = other / ".git" / "worktrees" / "tree"
    claimed.mkdir(parents=True)
    (claimed / "gitdir").write_text(f"{tree / '.git'}\n", "utf-8")
    (claimed / "commondir").write_text("../..\n", "utf-8")
    (claimed / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    async with agent(of(settings, tree), "auto") as client:
        await add(client, OURS)

    assert find_main_work_tree(str(tree)) == str(main)
    assert find_main_work_tree(str(other)) == str(other)
    assert len(records(tree)) == 1
    assert records(other) == []


def _give_up(main: Path, tree: Path) -> None:
    """Only the pointer is left of the work tree."""
    pointer = (tree / ".git").read_bytes()
    git(main, "worktree", "remove", "--force", str(tree))
    tree.mkdir()
    (tree / ".git").write_bytes(pointer)


@pytest.mark.files
async def test_a_work_tree_that_git_gave_up_begins_anew_without_its_pointer(
    settings: Settings, main: Path, tree: Path
) -> None:
    """Its repository knows it no longer; it stands for itself as soon as that is said."""
    async with agent(settings, "auto") as client:
        await add(client, OURS)
    _give_up(main, tree)
    await _is_only_read(of(settings, tree), "or remove that file")
    (tree / ".git").unlink()
    async with agent(of(settings, tree), "auto") as client:
        assert await recalled(client) == []
        await add(client, "Written on its own.")
    assert len(records(main)) == 1


def _shipped_with_its_tree(folder: Path, bare: str, main: Path) -> Path:
    """An archive of a repository and its linked work tree; the repository names ours as main."""
    own = folder / "repository" / "worktrees" / "tree"
    own.mkdir(parents=True)
    (folder / "tree").mkdir()
    (folder / "tree" / ".git").write_text(f"gitdir: {own}\n", "utf-8")
    (own / "gitdir").write_text(f"{folder / 'tree' / '.git'}\n", "utf-8")
    (own / "commondir").write_text("../..\n", "utf-8")
    config = f"[core]\n\tbare = {bare}\n\tworktree = {main}\n"
    (folder / "repository" / "config").write_text(config, "utf-8")
    return folder / "tree"


@pytest.mark.files
async def test_a_repository_that_names_a_main_work_tree_of_another_does_not_get_it(
    settings: Settings, main: Path, tmp_path: Path
) -> None:
    """That one's own `.git` must lead back."""
    async with agent(settings, "auto") as client:
        await add(client, OURS)
    lost = _shipped_with_its_tree(tmp_path / "lost", "false", main)
    await _is_only_read(of(settings, lost), "core.worktree")
    with pytest.raises(LostWorkTreeError, match="main work tree"):
        find_main_work_tree(str(lost))
    bare = _shipped_with_its_tree(tmp_path / "bare", "true", main)
    async with agent(of(settings, bare), "auto") as client:
        assert await recalled(client) == []
        await add(client, "Written in the forged one.")
    assert len(records(tmp_path / "bare" / "repository")) == 1
    assert len(records(main)) == 1


@pytest.mark.files
async def test_a_submodule_stands_for_itself(
    settings: Settings, main: Path, tmp_path: Path
) -> None:
    """It is a project of its own that is only checked out here; its commits are its own too."""
    library = make_repository(tmp_path / "library")
    git(main, "submodule", "--quiet", "add", str(library), "lib")
    commit_all(main, "with a library")
    async with agent(settings, "auto") as client:
        await add(client, OURS)
    async with agent(of(settings, main / "lib"), "auto") as client:
        assert await recalled(client) == []
        await add(client, "The library has no state.")

    (record,) = records(main / "lib")
    assert record["origin"]["commit"] == git(main / "lib", "rev-parse", "HEAD").strip()
    assert find_main_work_tree(str(main / "lib")) == str(main / "lib")
    async with agent(settings, "auto") as client:
        assert await recalled(client) == [OURS]


async def test_a_work_tree_that_is_moved_keeps_its_memories_for_a_session_in_another(
    settings: Settings, main: Path, tree: Path, tmp_path: Path
) -> None:
    """Git notes the new place beside the old name; the list of work trees is as it was."""
    async with agent(of(settings, tree), "auto") as there:
        await add(there, OURS)
    commit_all(tree, "with its record")
    async with agent(settings, "auto") as here:
        assert await recalled(here) == [OURS]
        git(main, "worktree", "move", str(tree), str(tmp_path / "moved"))
        assert await recalled(here) == [OURS]
        async with agent(of(settings, tmp_path / "moved"), "auto") as moved:
            await add(moved, "Carts live in Redis.")
        commit_all(tmp_path / "moved", "with another")
        assert set(await recalled(here)) == {OURS, "Carts live in Redis."}


async def test_a_bare_repository_in_a_folder_of_its_work_trees_holds_no_memory(
    settings: Settings, main: Path, tmp_path: Path
) -> None:
    """The folder around it has the memory: its `.git` says that the repository is its own."""
    folder = tmp_path / "many"
    git(tmp_path, "clone", "--quiet", "--bare", str(main), str(folder / ".bare"))
    (folder / ".git").write_text("gitdir: ./.bare\n", "utf-8")
    git(folder, "worktree", "add", "--quiet", "main")
    git(folder, "worktree", "add", "--quiet", "-b", "feature", "feature")
    async with agent(of(settings, folder / "main"), "auto") as one:
        await add(one, OURS)
        async with agent(of(settings, folder / "feature"), "auto") as other:
            assert await recalled(other) == [OURS]
        async with agent(of(settings, folder), "auto") as around:
            assert await recalled(around) == [OURS]
    assert [found["content"] for found in memories(folder)] == [OURS]
    assert not (folder / ".bare" / ".claude").exists()
    assert not (folder / ".bare" / ".state").exists()


def test_a_memory_that_was_begun_in_a_bare_repository_stays_there(
    settings: Settings, main: Path, tmp_path: Path
) -> None:
    """Nobody may lose it."""
    folder = tmp_path / "many"
    git(tmp_path, "clone", "--quiet", "--bare", str(main), str(folder / ".bare"))
    (folder / ".git").write_text("gitdir: ./.bare\n", "utf-8")
    git(folder, "worktree", "add", "--quiet", "main")
    (folder / ".bare" / ".state").mkdir()
    found = find_project_folders(of(settings, folder / "main"))
    assert found.project_dir == folder / ".bare"
