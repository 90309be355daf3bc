"""What the machine tells: which project this is, where it stands in git, and new ids."""

import os
import re
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from memory_mcp import Memory
from memory_mcp.cli.main import main
from memory_mcp.config.places import find_project_folders
from memory_mcp.config.settings import Settings, read_settings
from memory_mcp.domain.ids import format_id_month, is_record_id, list_record_ids
from memory_mcp.hooks.place import find_place
from memory_mcp.locations import find_data_home, find_project, find_state_home, find_work_tree
from memory_mcp.storage.files.host import (
    GitProvenance,
    GitRemote,
    SystemClock,
    SystemIds,
    read_remote_name,
)

COMMIT = "3f2c" * 10
OTHER = "a1b2" * 10


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A git work tree, made as git lays it out; starting git is not what is tested."""
    folder = tmp_path / "clone"
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "refs" / "heads" / "main").write_text(f"{COMMIT}\n")
    return folder


def with_remote(clone: Path, url: str, name: str = "origin") -> None:
    """As `git remote add` writes it."""
    (clone / ".git" / "config").write_text(
        f'[core]\n\tbare = false\n[remote "{name}"]\n\turl = {url}\n'
        "\tfetch = +refs/heads/*:refs/remotes/x/*\n"
    )


def linked(clone: Path, folder: Path) -> Path:
    """A work tree as `git worktree add` lays it out."""
    own = clone / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{folder}/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/feature/x\n")
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Acme/Shop.git",
        "https://ada:secret@github.com/acme/shop.git/",
        "http://github.com:8080/acme/shop",
        "ssh://git@github.com:22/acme/shop.git",
        "git@github.com:acme/shop.git",
        "github.com:/acme/shop",
        "git://GitHub.com/acme/shop.git",
    ],
)
def test_every_way_to_clone_gives_the_same_project(clone: Path, url: str) -> None:
    """Two people who cloned by SSH and by HTTPS share one memory; no password is kept in it."""
    with_remote(clone, url)
    assert read_remote_name(clone) == "github.com/acme/shop"


@pytest.mark.parametrize("url", ["/srv/git/shop.git", "../shop", "shop"])
def test_a_remote_on_this_machine_is_no_identity(clone: Path, url: str) -> None:
    """A path says nothing to another clone, and would tell how this machine is laid out."""
    with_remote(clone, url)
    assert read_remote_name(clone) == ""


@pytest.mark.parametrize("path", ["x" * 600, "sh\u200bop", "a\u202eb"])
def test_a_remote_that_no_record_could_hold_is_no_identity(clone: Path, path: str) -> None:
    """A repository that was unpacked brings a configuration of its own; it must stop nobody."""
    with_remote(clone, f"https://github.com/acme/{path}.git")
    assert read_remote_name(clone) == ""
    assert find_project_folders(Settings(project_dir=clone)).scope.project


def test_origin_wins_and_any_remote_will_do(clone: Path) -> None:
    """Most repositories have one remote; of several, origin is the one meant."""
    with_remote(clone, "git@example.com:fork/shop.git", name="upstream")
    assert read_remote_name(clone) == "example.com/fork/shop"
    config = clone / ".git" / "config"
    upstream = config.read_text()
    with_remote(clone, "git@example.com:acme/shop.git")
    config.write_text(upstream + config.read_text())
    assert read_remote_name(clone) == "example.com/acme/shop"


@pytest.mark.parametrize(
    ("urls", "address"),
    [
        (["git@GitHub.com:Acme/Shop.git"], "github.com/Acme/Shop"),
        (["ssh://git@github.com:22/acme/shop"], "github.com/acme/shop"),
        (["ssh://git@github.com:2222/acme/shop"], "github.com:2222/acme/shop"),
        (["bob@h.example:shop.git"], "bob@h.example/shop"),
        (["https://ada:secret@h.example/git?repo=a"], "h.example/git?repo=a"),
        (["git@github.com:a/b", "https://github.com/a/b.git"], "github.com/a/b"),
        (["git@github.com:a/b", "/srv/b"], "github.com/a/b, /srv/b"),
        (['"/srv/two words"'], '"/srv/two words"'),
        (["../shop"], "../shop"),
        ([""], ""),
        ([], ""),
    ],
)
def test_the_address_that_trust_is_bound_to_is_all_that_git_would_ask(
    clone: Path, urls: list[str], address: str
) -> None:
    """It is looked at anew when git's settings change, or git comes to the folder."""
    remote = GitRemote(clone)
    assert remote.address() == ""
    lines = "".join(f"\turl = {url}\n" for url in urls)
    (clone / ".git" / "config").write_text(f'[remote "origin"]\n{lines}')
    assert remote.address() == address


@pytest.mark.parametrize("url", ["https://[ada:secret@x", "sh\u200bop", "x" * 600])
def test_an_address_that_cannot_be_shown_is_told_by_its_digest(clone: Path, url: str) -> None:
    """It may hold a password, or what would make a terminal show another one."""
    with_remote(clone, url)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", GitRemote(clone).address())


def test_only_a_remote_says_which_project_it_is(clone: Path) -> None:
    """The address of a submodule is another project's; nor does one stand for origin."""
    config = clone / ".git" / "config"
    submodule = '[submodule "lib"]\n\turl = https://example.com/x/lib.git\n'
    rewritten = '[url "ssh://example.com/"]\n\tinsteadOf = https://example.com/\n'
    config.write_text(submodule + rewritten)
    assert read_remote_name(clone) == ""
    config.write_text(f'[remote "origin"]\n\tfetch = x\n{submodule}')
    assert read_remote_name(clone) == ""
    config.write_text(f'{submodule}[Remote "up"]\n\tURL = "https://example.com/a/b.git" ; mine\n')
    assert read_remote_name(clone) == "example.com/a/b"


def test_a_work_tree_is_the_same_project_on_another_branch(clone: Path, tmp_path: Path) -> None:
    """Work trees of one clone share its config and its refs, not its HEAD."""
    with_remote(clone, "git@github.com:acme/shop.git")
    tree = linked(clone, tmp_path / "tree")
    (clone / ".git" / "refs" / "heads" / "feature").mkdir()
    (clone / ".git" / "refs" / "heads" / "feature" / "x").write_text(f"{OTHER}\n")

    assert read_remote_name(tree) == "github.com/acme/shop"
    here = GitProvenance(tree, session="s").origin("claude-code/2.1")
    assert (here.commit, here.git_branch) == (OTHER, "feature/x")
    assert (here.by, here.client, here.session) == ("assistant", "claude-code/2.1", "s")


def _loose(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/main\n")


def _packed(git: Path) -> None:
    (git / "refs" / "heads" / "main").unlink()
    (git / "packed-refs").write_text(
        f"# pack-refs with: peeled fully-peeled sorted\n{OTHER} refs/heads/main2\n"
        f"{COMMIT} refs/heads/main\n^{OTHER}\n"
    )


def _detached(git: Path) -> None:
    (git / "HEAD").write_text(f"{COMMIT}\n")


def _unborn(git: Path) -> None:
    (git / "refs" / "heads" / "main").unlink()


def _broken(git: Path) -> None:
    (git / "HEAD").write_bytes(b"\xff\x00 nonsense")


def _gone(git: Path) -> None:
    (git / "HEAD").unlink()


@pytest.mark.parametrize(
    ("state", "commit", "branch"),
    [
        (_loose, COMMIT, "main"),
        (_packed, COMMIT, "main"),
        (_detached, COMMIT, ""),
        (_unborn, "", "main"),
        (_broken, "", ""),
        (_gone, "", ""),
    ],
)
def test_the_commit_is_read_from_git_s_own_files(
    clone: Path, state: Callable[[Path], None], commit: str, branch: str
) -> None:
    """Every layout git leaves behind; what cannot be told is left empty, never guessed."""
    state(clone / ".git")
    origin = GitProvenance(clone).origin("cli")
    assert (origin.commit, origin.git_branch) == (commit, branch)
    assert origin.by == "user"


def test_a_folder_without_git_tells_nothing(tmp_path: Path) -> None:
    """A memory outside of git is a memory all the same."""
    (tmp_path / ".git").write_text("this is no pointer")
    for folder in (tmp_path, tmp_path / "none", None):
        origin = GitProvenance(folder).origin("cli")
        assert (origin.commit, origin.git_branch) == ("", "")
    assert read_remote_name(tmp_path) == ""


def test_the_project_is_found_in_the_promised_order(clone: Path, tmp_path: Path) -> None:
    """Explicit setting, then the client, then git, then none."""
    deep = clone / "src" / "deep"
    deep.mkdir(parents=True)
    both = {"MEMORY_PROJECT_DIR": str(tmp_path / "a"), "CLAUDE_PROJECT_DIR": str(tmp_path / "b")}
    theirs = {"CLAUDE_PROJECT_DIR": both["CLAUDE_PROJECT_DIR"]}
    (tmp_path / "a").mkdir()

    assert find_project_folders(read_settings(both), deep).project_dir == tmp_path / "a"
    assert find_project_folders(read_settings(theirs), deep).project_dir == tmp_path / "b"
    assert find_project_folders(read_settings({}), deep).project_dir == clone
    assert find_work_tree(str(deep)) == str(clone)
    nowhere = find_project_folders(read_settings({"MEMORY_HOME": str(tmp_path / "h")}), tmp_path)
    assert nowhere.project_dir is None
    assert nowhere.scope.project == "none"
    assert (tmp_path / "h") in nowhere.memory_dir.parents


@pytest.mark.files  # they say where it was begun
def test_a_memory_that_was_begun_here_is_found_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a script stored is found by the command there, and below; a copy is a stranger's."""
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "runs"
    (deep := folder / "first" / "logs").mkdir(parents=True)
    monkeypatch.chdir(folder)
    with Memory.open_sync(".") as memory:
        memory.add_memory("The best rate was 0.0027.")
    shutil.copytree(folder, tmp_path / "unpacked")

    for here, found in ((folder, True), (deep, True), (tmp_path / "unpacked", False)):
        monkeypatch.chdir(here)
        assert main(["search", "best rate"]) == 0
        assert ("0.0027" in capsys.readouterr().out) == found
        place = find_place(os.environ, {"cwd": str(here)})
        assert place.project == (str(folder) if found else "")

    clone = folder / "clone"
    (clone / ".git").mkdir(parents=True)
    assert find_project(str(clone), find_state_home({}, os.environ["MEMORY_HOME"])) == str(clone)


@pytest.mark.parametrize(
    ("system", "variables", "data", "state"),
    [
        ("linux", {}, "~/.local/share", "~/.local/state"),
        ("linux", {"XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"}, "/d", "/s"),
        ("linux", {"XDG_DATA_HOME": "d"}, "~/.local/share", "~/.local/state"),
        ("darwin", {}, "~/Library/Application Support", "~/Library/Application Support"),
        ("darwin", {"XDG_DATA_HOME": "/d"}, "/d", "~/Library/Application Support"),
        ("win32", {"LOCALAPPDATA": "/l", "XDG_DATA_HOME": "/d"}, "/l", "/l"),
    ],
)
def test_a_users_own_data_and_state_are_where_the_system_keeps_them(
    system: str, variables: dict[str, str], data: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", system)

    assert find_data_home(variables) == str(Path(data, "memory-mcp").expanduser())
    assert find_state_home(variables) == str(Path(state, "memory-mcp").expanduser())


def test_the_folders_are_where_the_design_says_and_can_be_set(clone: Path, tmp_path: Path) -> None:
    """People look for them by these names."""
    usual = find_project_folders(Settings(project_dir=clone, home=tmp_path / "h", user="ada"))
    assert usual.state_dir == clone / ".state"
    assert usual.memory_dir == clone / ".claude" / "memory"
    assert usual.user_memory_dir == tmp_path / "h" / "user-ada" / "memory"
    assert usual.user_state_dir == tmp_path / "h" / "user-ada" / ".state"
    own = find_project_folders(
        Settings(project_dir=clone, state_dir=tmp_path / "s", memory_dir=tmp_path)
    )
    assert (own.state_dir, own.memory_dir) == (tmp_path / "s", tmp_path)


def test_users_and_folders_never_share_a_place_by_accident(tmp_path: Path) -> None:
    """Names that look alike once made safe for a file system stay apart."""
    names = ["ada", "Ada", "a/da", "a da", "../ada", "ädä", "🦩", "user\udcff"]
    read = [read_settings({"MEMORY_USER": n, "MEMORY_HOME": str(tmp_path)}) for n in names]
    homes = {find_project_folders(each).user_memory_dir for each in read}
    assert len(homes) == len(names)
    assert all(home.parent.parent == tmp_path for home in homes)
    same_name = [tmp_path / "x" / "Shop", tmp_path / "y" / "Shop", tmp_path / "Shop"]
    projects = {
        find_project_folders(Settings(project_dir=folder)).scope.project for folder in same_name
    }
    assert len(projects) == 3


def test_clones_agree_on_who_they_are(clone: Path, tmp_path: Path) -> None:
    """The identity comes from the remote, wherever the folder is."""
    with_remote(clone, "git@github.com:acme/shop.git")
    assert find_project_folders(Settings(project_dir=clone)).scope.project == "github.com/acme/shop"
    tree = linked(clone, tmp_path / "tree")
    assert find_project_folders(Settings(project_dir=tree)).scope.project == "github.com/acme/shop"


def test_ids_are_uuid_7_and_rise_even_within_a_millisecond() -> None:
    """Text order is time order: the newest record sorts last, in every process."""
    ids = SystemIds()
    at = datetime(2026, 1, 31, 14, 30, 22, 104_000, UTC)
    made = [ids.new(at) for _ in range(10_000)]

    assert made == sorted(made)
    assert len(set(made)) == len(made)
    first = UUID(made[0])
    assert first.version == 7
    assert first.int >> 80 == int(at.timestamp() * 1_000)
    assert all(is_record_id(id_) for id_ in made)
    assert {format_id_month(id_) for id_ in made} == {"2026-01"}


def test_ids_rise_when_the_clock_is_set_back() -> None:
    """A correction of the clock must not make a newer record sort before an older one."""
    ids = SystemIds()
    at = datetime(2026, 1, 31, tzinfo=UTC)
    assert ids.new(at) < ids.new(at - timedelta(hours=1)) < ids.new(at + timedelta(hours=1))


def test_threads_never_get_the_same_id() -> None:
    """Tools run side by side in one process."""
    ids = SystemIds()
    at = datetime(2026, 1, 31, tzinfo=UTC)
    together = threading.Barrier(4)

    def make(_: int) -> list[str]:
        together.wait()
        return [ids.new(at) for _ in range(500)]

    with ThreadPoolExecutor(4) as bank:
        made = [id_ for some in bank.map(make, range(4)) for id_ in some]
    assert len(set(made)) == 2_000


def test_two_processes_do_not_collide() -> None:
    """Each counts from the same millisecond; the random part keeps them apart."""
    at = datetime(2026, 1, 31, tzinfo=UTC)
    assert len({SystemIds().new(at) for _ in range(200)}) == 200


def test_the_month_of_an_id_is_told_in_utc() -> None:
    """Two clones in two time zones must put a record into the same folder."""
    ids = SystemIds()
    assert format_id_month(ids.new(datetime(2026, 1, 31, 23, 59, 59, 999_000, UTC))) == "2026-01"
    assert format_id_month(ids.new(datetime(2026, 2, 1, tzinfo=UTC))) == "2026-02"


def test_the_clock_tells_whole_milliseconds_in_utc() -> None:
    """What is stored is what was compared."""
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert now.microsecond % 1_000 == 0


def test_the_ids_in_names_of_files_are_those_that_are_ids() -> None:
    """A repository may bring any name; a start takes the ids out of a hundred thousand at once."""
    ids = [f"{time}-7000-8000-0123456789ab" for time in ("019bfff0-0000", "e677d21f-d818")]
    late, other = "e677d21f-d819-7000-8000-0123456789ab", ids[0].replace("-7", "-4")
    forms = ("x{}.json", ".{}.json", "\n{}.json", "{}.json\n", "{}.json.tmp", "{}", ".json", "")
    odd = [f"{late}.json", f"{other}.json", "\udcff.json", *(each.format(ids[0]) for each in forms)]

    assert [*map(is_record_id, (*ids, late, other))] == [True, True, False, False]
    assert list_record_ids([odd[0], f"{ids[0]}.json", *odd, f"{ids[1]}.json"]) == ids
