"""Memories that cite the code notice when it has moved on."""

import os
import shutil
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, as_json
from doors import Json, agent, call, read, text_of
from hypothesis import example, given
from hypothesis import strategies as st
from mcp import Client
from real_git import commit_all, git, make_repository

from memory_mcp.cli.main import main
from memory_mcp.code import citations, symbols
from memory_mcp.code.citations import check_citation, make_citation, name_change
from memory_mcp.code.symbols import find_symbol, knows_symbols, list_symbols
from memory_mcp.config.settings import Settings
from memory_mcp.disk import Disk
from memory_mcp.domain.citations import measure_lines, split_lines
from memory_mcp.domain.code_files import Symbols
from memory_mcp.domain.record import Citation
from memory_mcp.storage.files.code import LocalCode
from memory_mcp.storage.files.git import LocalGit
from memory_mcp.storage.files.git_index import read_index
from memory_mcp.storage.files.work_trees import WorkTrees

pytestmark = pytest.mark.anyio

FACT = "Refresh tokens are rotated on each use."
CODE = textwrap.dedent("""\
    import jwt


    class Tokens:
        def issue(self):
            return jwt.encode({})

        def rotate(self, token):
            self.forget(token)
            return self.issue()


    LIFETIME = 3600
    """)


@pytest.fixture
def source(project: Path) -> Path:
    """The one file of a project in git."""
    make_repository(project)
    path = project / "src" / "auth" / "jwt.py"
    path.parent.mkdir(parents=True)
    path.write_text(CODE, "utf-8")
    (project / ".gitignore").write_text(".claude/\n.state/\n", "utf-8")
    commit_all(project, "code")
    return path


async def cite(client: Client, *places: str, content: str = FACT) -> Json:
    return await call(client, "add_memory", content=content, cites=list(places))


async def found(client: Client) -> Json:
    (result,) = (await call(client, "search_memories", query="refresh tokens"))["results"]
    return result


def remove(path: Path) -> None:
    path.unlink()


def move(path: Path, to: Path) -> Path:
    to.parent.mkdir()
    return path.rename(to)


def change(path: Path, text: str) -> None:
    """Save the file as it is now."""
    path.write_text(text, "utf-8", newline="")


LINES = "src/auth/jwt.py:8-10"
SYMBOL = "src/auth/jwt.py#Tokens.rotate"
FILE = "src/auth/jwt.py"
SEALED = "Refresh tokens rotate on each use, and the old one is forgotten then."


@pytest.mark.parametrize("place", [LINES, SYMBOL, FILE])
async def test_a_citation_holds_while_its_text_does(
    settings: Settings, source: Path, place: str
) -> None:
    """Another line ending is no change, nor is anything in other files."""
    async with agent(settings, "auto") as client:
        await cite(client, place)
        assert (await found(client))["cites"] == [f"{place} holds"]
        assert "standing" not in await found(client)
        if place != FILE:
            change(source, CODE.replace("\n", "\r\n"))
            assert (await found(client))["cites"] == [f"{place} holds"]


@pytest.mark.parametrize(("place", "now"), [(LINES, " (now src/auth/jwt.py:9-11)"), (SYMBOL, "")])
async def test_a_text_that_moves_within_its_file_holds(
    settings: Settings, source: Path, place: str, now: str
) -> None:
    """What matters is what it says."""
    async with agent(settings, "auto") as client:
        await cite(client, place)
        change(source, f"import os\n{CODE}")
        assert (await found(client))["cites"] == [f"{place} holds{now}"]


async def test_a_file_that_is_renamed_holds(settings: Settings, source: Path) -> None:
    """Git knows it by its content."""
    async with agent(settings, "auto") as client:
        await cite(client, LINES)
        git(source.parents[2], "mv", FILE, "src/tokens.py")
        assert (await found(client))["cites"] == [f"{LINES} holds (now src/tokens.py:8-10)"]


async def test_a_whole_file_that_was_renamed_and_not_added_holds(
    settings: Settings, source: Path
) -> None:
    """Git does not know of it yet; it is found beside its old place by its content."""
    async with agent(settings, "auto") as client:
        await cite(client, FILE)
        shutil.move(source, source.with_name("token.py"))
        assert (await found(client))["cites"] == [f"{FILE} holds (now src/auth/token.py)"]


@pytest.mark.parametrize(
    ("place", "to", "now"),
    [
        (LINES, "src/login/jwt.py", "src/login/jwt.py:9-11"),
        (SYMBOL, "src/auth/tokens.py", "src/auth/tokens.py#Tokens.rotate"),
    ],
)
async def test_a_file_that_is_renamed_and_edited_holds(
    settings: Settings, source: Path, place: str, to: str, now: str
) -> None:
    """The text is looked for in files of that name, and in those beside it."""
    async with agent(settings, "auto") as client:
        await cite(client, place)
        moved = source.parents[2] / to
        remove(source)
        moved.parent.mkdir(exist_ok=True)
        change(moved, f"import os\n{CODE}")
        git(source.parents[2], "add", "--all")
        assert (await found(client))["cites"] == [f"{place} holds (now {now})"]
        change(moved, f"import os\n{CODE.replace('self.forget(token)', 'pass')}")
        await client.get_prompt("review_stale", {})
        changed = place.replace(FILE, to)
        assert (await found(client))["cites"] == [f"{place} has changed since (now {changed})"]


async def test_a_folder_that_was_renamed_in_a_compressed_index_holds(
    settings: Settings, source: Path
) -> None:
    """`feature.manyFiles` has git leave out what a name shares with the one before."""
    project = source.parents[2]
    for n in range(200):  # names of some length, beside and below one another
        path = project / f"{'long' * (n % 40)}{n % 7}" / f"{n}.py"
        path.parent.mkdir(exist_ok=True)
        change(path, f"n = {n}\n")
    git(project, "add", "--all")
    git(project, "update-index", "--index-version", "4")
    assert (project / ".git" / "index").read_bytes()[7] == 4
    index = read_index(str(project / ".git" / "index"), str(project / ".git"))
    names = git(project, "ls-files", "-z").encode().split(b"\0")[:-1]
    assert [name for name in names if name + b"\0" not in index] == []
    async with agent(settings, "auto") as client:
        await cite(client, FILE)
        git(project, "mv", "src/auth", "src/login")
        assert (await found(client))["cites"] == [f"{FILE} holds (now src/login/jwt.py)"]


@pytest.mark.parametrize("place", [LINES, SYMBOL, FILE])
async def test_what_git_renamed_and_somebody_edited_has_changed(
    settings: Settings, source: Path, place: str
) -> None:
    """Git is asked once, beside the call; who wants to know what is stale waits for it."""
    async with agent(settings, "auto") as client:
        memory = (await cite(client, place))["memoryId"]
        to = source.parents[2] / "lib" / "tokens.py"
        to.parent.mkdir()
        git(source.parents[2], "mv", FILE, "lib/tokens.py")
        change(to, CODE.replace("self.forget(token)", "pass"))
        commit_all(source.parents[2], "renamed and edited")
        prompt = await client.get_prompt("review_stale", {})
        now = place.replace(FILE, "lib/tokens.py")
        assert f"{place} has changed since (now {now})" in str(prompt.messages[0].content)
        assert (await found(client))["cites"] == [f"{place} has changed since (now {now})"]
        await call(client, "update_memory", memory_id=memory, content=FACT)
        assert (await found(client))["cites"] == [f"{now} holds"]


@pytest.mark.parametrize("place", [LINES, SYMBOL, FILE])
async def test_what_was_moved_and_renamed_without_git_holds(
    settings: Settings, source: Path, place: str
) -> None:
    """Git lists what it was not told of, once, beside the call; what it ignores is none of it."""
    project = source.parents[2]
    async with agent(settings, "auto") as client:
        await cite(client, place)
        for name in ("lib/tokens.py", "app/keys.py"):
            source = move(source, project / name)
            prompt = await client.get_prompt("review_stale", {})
            assert place not in str(prompt.messages[0].content)
            now = {LINES: f"{name}:8-10", SYMBOL: f"{name}#Tokens.rotate", FILE: name}[place]
            assert (await found(client))["cites"] == [f"{place} holds (now {now})"]
        (project / ".gitignore").write_text("*.py\n", "utf-8")
        git(project, "add", ".gitignore")
        prompt = await client.get_prompt("review_stale", {})
        assert f"{place} is gone" in str(prompt.messages[0].content)


@pytest.mark.parametrize("place", [LINES, SYMBOL, FILE])
async def test_a_text_that_changed_is_told(settings: Settings, source: Path, place: str) -> None:
    """In the search, and in the context."""
    async with agent(settings, "auto") as client:
        await cite(client, place)
        change(source, CODE.replace("self.forget(token)", "pass"))
        assert (await found(client))["standing"] == f"{place} has changed since"
        context = text_of(await client.call_tool("memory_context", {}))
        assert f"{FACT} ({place} has changed since)" in context


@pytest.mark.parametrize("place", [LINES, SYMBOL])
async def test_the_commit_that_rewrote_a_text_is_named(
    settings: Settings, source: Path, place: str
) -> None:
    """Not one that changed something else in the file, nor one before the text came back."""
    rewritten = CODE.replace("self.forget(token)", "pass")
    steps = [f"# first\n{CODE}", rewritten, CODE, rewritten, f"{rewritten}# last\n"]
    commits: list[str] = []
    async with agent(settings, "auto") as client:
        await cite(client, place)
        for text in steps:
            change(source, text)
            commit_all(source.parents[2], "step")
            commits.append(git(source.parents[2], "rev-parse", "HEAD")[:8])
        said = f"{place} has changed since: rewritten in {commits[3]}"
        assert (await found(client))["standing"].startswith(f"{place} has changed since")
        prompt = await client.get_prompt("review_stale", {})  # it waits for what git was asked
        assert said in str(prompt.messages[0].content)
        assert (await found(client))["standing"] == said
        assert f"{FACT} ({said})" in text_of(await client.call_tool("memory_context", {}))


@pytest.mark.parametrize("place", [SYMBOL, LINES])
async def test_the_commit_that_removed_a_text_is_named(
    settings: Settings, source: Path, place: str
) -> None:
    """Not the one that rewrote it before."""
    folder = source.parents[2]
    async with agent(settings, "auto") as client:
        await cite(client, place)
        change(source, CODE.replace("self.forget(token)", "pass"))
        commit_all(folder, "rewritten")
        git(folder, "rm", "-q", FILE)
        commit_all(folder, "removed")
        removed = git(folder, "rev-parse", "HEAD")[:8]
        prompt = await client.get_prompt("review_stale", {})
        assert f"{place} (removed in {removed}) is gone" in str(prompt.messages[0].content)


@pytest.mark.parametrize("committed", [False, True])
def test_no_commit_is_named_that_did_not_rewrite_a_text(
    settings: Settings, source: Path, *, committed: bool
) -> None:
    """It was never committed as it was cited; or what rewrote it is not committed yet."""
    folder = source.parents[2]
    del settings
    draft = CODE.replace("self.forget(token)", "self.drop(token)")
    if not committed:
        change(source, draft)
    files = LocalCode(folder, list_versions=_open_git(folder).list_versions)
    cited = make_citation(files, LINES, git(folder, "rev-parse", "HEAD").strip())
    assert isinstance(cited, Citation)
    change(source, f"# first\n{CODE}")
    commit_all(folder, "more")
    change(source, CODE.replace("self.forget(token)", "pass"))
    checked = name_change(files, cited, check_citation(files, cited), wait=True)
    assert (checked.state, checked.commit) == ("changed", "")


def _open_git(folder: Path) -> LocalGit:
    return LocalGit(WorkTrees(folder, folder), folder / ".git", Disk(), os.environ)


async def test_a_checkpoint_cites_code_and_says_when_that_moved(
    settings: Settings, source: Path
) -> None:
    """In its receipt, where one looks for a way back, and in the opening, which counts them."""
    async with agent(replace(settings, approval="auto"), "auto") as client:
        sealed = await call(client, "checkpoint", summary=SEALED, cites=[LINES, "no.py"])
        assert "Not cited: 'no.py' is not there." in sealed["message"]
        assert LINES not in await read(client, "memory_head")
        change(source, CODE.replace("self.forget(token)", "pass"))
        assert f"; {LINES} has changed since]" in await read(client, "memory_head")
        opening = await read(client, "memory_context")
        assert f"({LINES} has changed since)" in opening
        assert "The code under at least 1 memory has moved on: `memory-mcp stale`" in opening
        (hit,) = (await call(client, "search_memories", query="tokens rotate"))["results"]
        assert hit["cites"] == [f"{LINES} has changed since"]


def test_the_command_seals_what_cites_code(run: Run, source: Path) -> None:
    """The log shows where that moved; a receipt names the option that cites."""
    assert f"`--cite {FILE}`" in run("add", f"Tokens are made in {FILE} alone.")[1]
    assert run("checkpoint", SEALED, "--cite", LINES)[0] == 0
    source.unlink()

    assert f"{SEALED} ({LINES} is gone)" in run("log")[1]
    assert "The code under at least 1 memory" in run("context")[1]


async def test_what_is_gone_stands_last(settings: Settings, source: Path) -> None:
    """Behind what has only changed, and that behind what holds; none is hidden."""
    async with agent(settings, "auto") as client:
        other = source.with_name("other.py")
        change(other, "a = 1\n")
        await cite(client, "src/auth/other.py", content="Refresh tokens are stored hashed.")
        await cite(client, LINES, content="Refresh tokens are checked against a list.")
        await cite(client, "src/auth/jwt.py#LIFETIME", content="Refresh tokens live for an hour.")
        remove(other)
        change(source, CODE.replace("self.forget(token)", "pass"))
        results = (await call(client, "search_memories", query="refresh tokens stored"))["results"]
        states = [each["cites"][0].split(" ", 1)[1] for each in results]
        assert states == ["holds", "has changed since", "is gone"]


async def test_a_file_that_begins_with_a_mark_has_its_first_symbol(
    settings: Settings, source: Path
) -> None:
    """Python runs it, and editors on Windows write the mark."""
    change(source, "\ufeffdef issue():\n    return 1\n")
    async with agent(settings, "auto") as client:
        await cite(client, "src/auth/jwt.py#issue")
        assert (await found(client))["cites"] == ["src/auth/jwt.py#issue holds"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("src/nowhere.py", "is not there"),
        ("../secret.py", "lies outside of the project"),
        ("/etc/passwd", "lies outside of the project"),
        ("src/../../secret.py", "lies outside of the project"),
        (".git/config", "belongs to git"),
        ("src/../.GIT/config", "belongs to git"),
        ("src/auth/jwt.py:40-72", "ends after the file, which has 13 lines"),
        ("src/auth/jwt.py:9-8", "from the first line to the last"),
        ("src/auth/jwt.py#nothing", "does not declare"),
        ("src/link.py", "cannot be cited"),
        ("src/picture.png", "is no text"),
    ],
)
async def test_what_cannot_be_cited_is_told_and_the_memory_is_stored(
    settings: Settings, source: Path, place: str, why: str
) -> None:
    """A wrong citation is no reason to forget what was learnt."""
    (source.parents[1] / "picture.png").write_bytes(b"\x89PNG\0\0")
    (source.parents[1] / "link.py").symlink_to(source)
    async with agent(settings, "auto") as client:
        receipt = await cite(client, place)
        assert receipt["success"]
        assert why in receipt["message"]
        assert "cites" not in await found(client)


async def test_code_that_a_text_names_is_proposed(settings: Settings, source: Path) -> None:
    """What is there; a name of something else is no file."""
    del source
    async with agent(settings, "auto") as client:
        text = "Tokens are made in src/auth/jwt.py:4, not in node.js or src/none.py."
        receipt = await call(client, "add_memory", content=text)
        assert "src/auth/jwt.py:4" in receipt["message"]
        assert "cites" in receipt["message"]
        assert "src/none.py" not in receipt["message"]


async def test_stale_memories_are_reviewed(settings: Settings, source: Path) -> None:
    """Still true: the same text cites the code as it is now. The prompt says how."""
    async with agent(settings, "auto") as client:
        memory = (await cite(client, SYMBOL))["memoryId"]
        prompt = await client.get_prompt("review_stale", {})
        assert "No memory rests on code that has changed" in str(prompt.messages[0].content)
        change(source, CODE.replace("self.forget(token)", "pass"))
        prompt = await client.get_prompt("review_stale", {})
        assert f"{SYMBOL} has changed since" in str(prompt.messages[0].content)
        assert memory in str(prompt.messages[0].content)
        await call(client, "update_memory", memory_id=memory, content=FACT)
        assert (await found(client))["cites"] == [f"{SYMBOL} holds"]
        assert "has changed" not in await read(client, "memory_context")


def test_the_command_lists_what_is_stale(
    project: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Worst first, each with the commit that changed its ground."""
    monkeypatch.chdir(project)

    def run(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    assert run("stale").startswith("No memory here cites code. ")
    run("add", FACT, "--cite", LINES)
    run("add", "The lifetime is an hour.", "--cite", "src/auth/jwt.py#LIFETIME")
    assert "0 of 2 memories that cite code" in run("stale")
    changed = CODE.replace("self.forget(token)", "pass").replace("LIFETIME = 3600\n", "")
    change(source, changed)
    commit_all(project, "rewritten")
    commit = git(project, "rev-parse", "HEAD")[:8]
    lines = run("stale").splitlines()
    assert lines[0] == f"src/auth/jwt.py#LIFETIME (removed in {commit}) is gone"
    assert lines[2] == f"{LINES} has changed since: rewritten in {commit}"
    assert "2 of 2 memories that cite code" in lines[4]
    shutil.rmtree(source.parent)
    assert run("stale").count(" is gone") == 2


def test_a_limit_of_what_is_shown_is_none_of_what_is_counted(run: Run, source: Path) -> None:
    """Who reads the first has to know that there are more."""
    for text in ("Tokens rotate.", "Keys last an hour.", "Nobody logs a password."):
        run("add", text, "--cite", LINES)
    remove(source)

    shown = run("stale", "--limit", "2")[1]
    assert shown.count(" is gone") == 2
    assert "3 of 3 memories that cite code rest on what moved. The worst 2 are shown; " in shown
    assert as_json(run, "stale", "--limit", "1")["total"] == 3
    assert "shown" not in run("stale")[1]


async def test_a_review_says_of_how_many_these_are_the_worst(
    settings: Settings, source: Path
) -> None:
    """Whoever went through them asks for the others."""
    async with agent(settings, "auto") as client:
        for n in range(16):
            await cite(client, LINES, content=f"Service {n} rotates tokens by rule {n * 7919}.")
        remove(source)
        prompt = await client.get_prompt("review_stale", {})
    assert "or is gone (the worst of 16)." in str(prompt.messages[0].content)


@pytest.mark.parametrize("by_git", [True, False], ids=["by git", "without git"])
@pytest.mark.parametrize("place", [LINES, SYMBOL])
def test_a_search_by_command_says_where_a_renamed_file_is_as_stale_does(
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
    *,
    by_git: bool,
) -> None:
    """The command ends with its answer, so what git would say beside it came too late."""
    project = source.parents[2]
    monkeypatch.chdir(project)
    assert main(["add", FACT, "--cite", place]) == 0
    to, now = project / "lib" / "tokens.py", place.replace(FILE, "lib/tokens.py")
    move(source, to)
    if by_git:
        change(to, CODE.replace("self.forget(token)", "pass"))
        commit_all(project, "renamed and edited")
    capsys.readouterr()
    assert main(["search", "refresh", "tokens"]) == 0
    said = capsys.readouterr().out
    if by_git:
        assert f"{place} has changed since (now {now})" in said
    else:
        assert "is gone" not in said
    assert main(["stale"]) == 0
    assert capsys.readouterr().out.startswith(f"{place} has changed" if by_git else "0 of 1")


def test_the_command_counts_one_memory_as_one(
    project: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is the whole report of a small project."""
    monkeypatch.chdir(project)
    assert main(["add", FACT, "--cite", LINES]) == 0
    remove(source)
    capsys.readouterr()
    assert main(["stale"]) == 0
    assert "1 of 1 memory that cites code rests on what moved." in capsys.readouterr().out


@pytest.mark.parametrize("more", ["", "MORE = 1\n"], ids=["renamed alone", "renamed and edited"])
@pytest.mark.parametrize("place", [LINES, SYMBOL])
def test_what_was_renamed_and_removed_later_names_the_commit_that_removed_it(
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
    more: str,
) -> None:
    """A rename takes nothing away, nor does a second one."""
    project = source.parents[2]
    monkeypatch.chdir(project)
    assert main(["add", FACT, "--cite", place]) == 0
    for to in ("src/auth/tokens.py", "src/keys.py"):
        source = source.rename(project / to)
        change(source, source.read_text("utf-8") + more)
        commit_all(project, "renamed")
    remove(source)
    commit_all(project, "removed")
    removed = git(project, "rev-parse", "HEAD")[:8]
    capsys.readouterr()
    assert main(["stale"]) == 0
    assert f"{place} (removed in {removed}) is gone" in capsys.readouterr().out


BROKEN = textwrap.dedent("""\
    import os

    TEXT = '''
    def no(): pass
    '''


    @decorate(
        1,
    )
    def first(
        a,
    ) -> int:
        return 1


    class Tokens:
        LIFE = 1

        def issue(self):
            return 1

        def rotate(self, token:
            self.forget(token)

        @property
        def last(self):
            return 3


    if os.name:
        def chosen(
            = 1
        ):
            def inner():
                pass

    async def after():
        pass
    LAST = [
        1,
    ]
    """)


def test_a_python_file_with_errors_has_the_symbols_that_can_be_read(project: Path) -> None:
    """Whoever works on one function still cites the others, and their lines are what they were."""
    known = {name: [*places] for name, places in list_symbols("a.py", BROKEN).items()}
    assert known == {
        "TEXT": [(3, 5)], "first": [(8, 14)], "Tokens": [(17, 28)], "Tokens.LIFE": [(18, 18)],
        "Tokens.issue": [(20, 21)], "Tokens.rotate": [(23, 24)], "Tokens.last": [(26, 28)],
        "chosen": [(32, 36)], "chosen.inner": [(35, 36)], "after": [(38, 39)], "LAST": [(40, 42)],
    }  # fmt: skip
    path = project / "a.py"
    change(path, BROKEN.replace("token:", "token):").replace("= 1\n    ):", "a\n    ):"))
    files = LocalCode(project)
    made = {name: make_citation(files, f"a.py#{name}") for name in ("Tokens.last", "Tokens.rotate")}
    change(path, BROKEN)
    states = {name: check_citation(files, cited).state
              for name, cited in made.items() if isinstance(cited, Citation)}  # fmt: skip
    assert states == {"Tokens.last": "holds", "Tokens.rotate": "changed"}


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (CODE, "holds"),
        (CODE.replace("self.forget(token)", "pass"), "changed"),
        (CODE.replace("rotate(self", "rotate(\n        self").replace("token):", "token\n    ):"),
         "changed"),
        (CODE.replace("rotate", "turn"), "gone"),
        (CODE.replace("rotate", "turn") + "Tokens.turn(rotate=1)\nrotate()\n", "gone"),
        (CODE.replace("class Tokens", "class Other"), "gone"),
    ],
    ids=["moved", "rewritten", "spread", "renamed", "named elsewhere", "in another class"],
)  # fmt: skip
def test_a_file_that_changed_is_parsed_only_if_words_do_not_tell(
    source: Path, monkeypatch: pytest.MonkeyPatch, now: str, state: str
) -> None:
    """To parse ten files took ten times as long as all else. What is told stays the same."""
    files = LocalCode(source.parents[2])
    cited = make_citation(files, SYMBOL)
    assert isinstance(cited, Citation)
    parsed: list[str] = []

    def parse(path: str, text: str) -> Symbols:
        parsed.append(path)
        return list_symbols(path, text)

    monkeypatch.setattr("memory_mcp.code.citations.list_symbols", parse)
    change(source, f"# first\n{now}")
    assert check_citation(files, cited).state == state
    assert parsed == ([FILE] if now == CODE.replace("class Tokens", "class Other") else [])


@pytest.mark.parametrize("place", [LINES, SYMBOL])
@pytest.mark.parametrize("now", ["pass", "self.forgot(token)"], ids=["shorter", "as long"])
def test_a_file_without_the_cited_text_is_not_split_into_lines(
    source: Path, place: str, now: str
) -> None:
    """Of most files the lengths of the lines tell that; of text that is as long, the text does."""
    files = LocalCode(source.parents[2])
    cited = make_citation(files, place)
    assert isinstance(cited, Citation)
    change(source, f"# first\n{CODE.replace('self.forget(token)', now)}")
    assert check_citation(files, cited).state == "changed"
    file = files.read(FILE)
    assert not isinstance(file, str)
    assert ("lines" in vars(file)) == (now != "pass")


@given(st.text("ab\t\n\r\v\f\x1c\x1d\x1e\x1f \x85\xa0\u2028\u20ac"))
@example("a" * 255 + "\n" + "b" * 256 + "\n\n")
def test_lines_are_measured_as_they_are_cited(text: str) -> None:
    """Whatever ends them, and whatever stands at their ends."""
    lengths = [min(255, len(line)) for line in split_lines(text)]
    assert list(measure_lines(text)) == lengths


async def test_git_is_asked_once_all_results_are_checked(
    settings: Settings, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is checked once; beside that, git would take turns with what the call waits for."""
    seen: list[str] = []
    for name in ("check_citation", "name_change"):
        real = getattr(citations, name)

        def note(*arguments: Any, name: str = name, real: Any = real, **named: Any) -> Any:
            seen.append(name)
            return real(*arguments, **named)

        monkeypatch.setattr(citations, name, note)
    async with agent(settings, "auto") as client:
        for place in (LINES, SYMBOL):
            await cite(client, place, content=f"Refresh tokens are rotated, {place} says.")
        change(source, CODE.replace("self.forget(token)", "pass"))
        await call(client, "search_memories", query="refresh tokens")  # the first says more beside
        seen.clear()
        results = (await call(client, "search_memories", query="refresh tokens"))["results"]
        assert len(results) == 2
        assert seen == ["check_citation", "check_citation", "name_change", "name_change"]


@pytest.mark.parametrize("damage", ["(", " = = 1", " \\"])
def test_an_error_takes_no_symbol_from_other_statements(damage: str) -> None:
    """A real file, damaged anywhere: what does not hold the damaged line is as it was."""
    source = Path(symbols.__file__).read_text("utf-8")
    before, lines = list_symbols("a.py", source), source.split("\n")
    for at in range(0, len(lines), 7):
        damaged = "\n".join([*lines[:at], lines[at] + damage, *lines[at + 1 :]])
        found = list_symbols("a.py", damaged)
        lost = [name for name, places in before.items() if found.get(name) != places]
        near = range(at - 2, at + 3)  # a line between two statements may damage either
        for name in lost:
            spread = [line for first, last in before[name] for line in range(first - 2, last + 3)]
            assert not set(spread).isdisjoint(near), f"{at + 1}: {name}"


@pytest.mark.parametrize(
    ("name", "code", "symbol", "lines"),
    [
        ("a.py", "import os\n@x\ndef f():\n    pass\n", "f", "2-4"),
        ("a.ts", "const a = 1\nclass K {\n  m(): void {}\n}\n", "K.m", "3-3"),
        ("a.js", "function f() {\n  return 1\n}\n", "f", "1-3"),
        ("a.go", "package a\nfunc (t T) M() {\n}\ntype T struct{}\n", "M", "2-3"),
        ("b.go", "package a\nfunc (t *T[K]) M() {\n}\nfunc (u U) M() {\n}\n", "T.M", "2-3"),
        ("b.rs", "struct S;\nimpl<T> S<T> {\n fn f() {\n }\n}\n", "S", "1-1"),
        ("c.rs", "struct S;\nimpl<T> S<T> {\n fn f() {\n }\n}\n", "S.f", "3-4"),
        ("B.java", "class A {\n int MAX = 1;\n}\n", "A.MAX", "2-2"),
        ("a.rs", "struct S;\nimpl S {\n fn f() {\n }\n}\n", "S.f", "3-4"),
        ("A.java", "class A {\n int f() {\n  return 1;\n }\n}\n", "A.f", "2-4"),
    ],
)
def test_symbols_are_found_in_each_language(name: str, code: str, symbol: str, lines: str) -> None:
    """Python by itself, the others with the extra `code`."""
    if not knows_symbols(name):
        pytest.skip("the extra `code` is not installed")
    ((first, last),) = (
        place
        for places in find_symbol(list_symbols(name, code), symbol).values()
        for place in places
    )
    assert f"{first}-{last}" == lines
    assert not find_symbol(list_symbols(name, code), "nothing")


@pytest.mark.parametrize(
    ("name", "code", "symbol", "told"),
    [
        ("a.py", "class A:\n f = 1\nclass B:\n f = 1\n", "f", "A.f (2-2), B.f (4-4)"),
        ("a.py", "def f(): pass\ndef f(): return 1\n", "f", "f (1-1), f (2-2)"),
        ("a.go", "package a\nfunc (s S) M() {}\nfunc (t T) M() {}\n", "M", "S.M (2-2), T.M (3-3)"),
        (
            "A.java",
            "class A {\n void f() {}\n void f(int i) {}\n}\n",
            "A.f",
            "A.f (2-2), A.f (3-3)",
        ),
    ],
)
def test_a_name_that_is_declared_more_than_once_is_not_cited(
    project: Path, name: str, code: str, symbol: str, told: str
) -> None:
    """Which one is meant is not guessed: it is told where each stands."""
    if not knows_symbols(name):
        pytest.skip("the extra `code` is not installed")
    change(project / name, code)
    made = make_citation(LocalCode(project), f"{name}#{symbol}")
    assert made == f"names {symbol!r}, which this file declares more than once: {told}"


TWINS = textwrap.dedent("""\
    class Tok:
        def close(self):
            self.connection.close_for_good()

    class Kot:
        def close(self):
            self.connection.close_for_good()
    """)


def checked(files: LocalCode, made: Citation | str) -> str:
    """What became of it, without its own name."""
    assert isinstance(made, Citation)
    return str(check_citation(files, made)).split(" ", 1)[1]


HOSTILE = {
    "a.ts": """\
        export interface Options { name: string;
          run(): void;
          onDone: () => void }
        namespace Geo {
          export const PI = 3;
          export namespace Inner { export class Q { z = 1 } }
        }
        declare module "shop" {
          export function buy(): void;
        }
        export default class Foo {
          static size = 1;
          handler = () => { return 1 };
          #secret = 3;
          constructor(private readonly port: string) { }
          get v() { return 1 }
          set v(x) { }
        }
        enum Color { Red,
          Green = 2 }
        type T = { a: string;
          b(): void };
        function over(a: string): void;
        function over(a: number): void;
        function over(a: any) { }
        export const useStore = create((set) => ({
          inc: () => set(),
        }));
        const { d, e: f } = options;
        abstract class Base {
          abstract run(): void;
        }
        """,
    "a.js": """\
        exports.foo = function () { };
        module.exports = { alpha: 1,
          beta() { },
          gamma: function () { },
        };
        Dog.prototype.bark = function () { };
        Dog.prototype = {
          sit() { },
        };
        const obj = {
          key: function () { },
          arrow: () => 2,
          nested: { deep: () => 1 },
        };
        exports.one = exports.two = function named() { };
        class A {
          x = 1;
          static y = () => 2;
        }
        function Cat() {
          this.purr = function () { };
        }
        export default {
          methods: { go() { } },
        };
        """,
    "a.go": """\
        package p
        type S struct {
          Name string
          a, b int
        }
        type I interface {
          Run(x int) error
        }
        const (
          A = iota
          B
        )
        const C, D = 1, 2
        var (
          W int
        )
        func (s *S) Run() {}
        func (G[T]) Anon() {}
        type Al = int
        """,
    "a.rs": """\
        pub struct S { pub name: u32 }
        impl S {
          pub fn new() -> S { S{} }
          const K: u32 = 1;
        }
        impl<'a> fmt::Display for &'a crate::V<'a> {
          fn fmt(&self) {}
        }
        trait Tr {
          fn go(&self);
        }
        mod m {
          pub fn inner() {}
        }
        macro_rules! mac { () => {} }
        enum E { A,
          C { x: u8 } }
        """,
    "A.java": """\
        public class A {
          int x, y = 2;
          A(int a) {}
          class In {
            void z() {}
          }
          enum Kind { ONE,
            TWO { void o() {} };
            int w; }
          record R(int a, String b) { }
          interface I {
            void i();
          }
          void m() {}
          void m(int i) {}
        }
        """,
    "a.py": """\
        A, (B, *C) = 1, (2, 3)
        D = E = 3
        class O:
            field: int = 1
            class In:
                def m(self): pass
            @property
            def p(self):
                return 1

            @p.setter
            def p(self, v): pass
            async def go(self): pass
            def __init__(self):
                self.name = 1
        class TD(TypedDict):
            key: str
        try:
            T = 1
        except ImportError:
            U = 2
        for each in ():
            F = 1
        @overload
        def over(a: int) -> int: ...
        @overload
        def over(a: str) -> str: ...
        def over(a): return a
        """,
}
"""What people write, and what hides it."""


@pytest.mark.parametrize(
    ("name", "asked", "kept"),
    [
        ("a.ts", "Options.run", "Options.run 2-2"),
        ("a.ts", "onDone", "Options.onDone 3-3"),
        ("a.ts", "Geo", "Geo 4-7"),
        ("a.ts", "Geo.PI", "Geo.PI 5-5"),
        ("a.ts", "Inner.Q.z", "Geo.Inner.Q.z 6-6"),
        ("a.ts", "buy", "shop.buy 9-9"),
        ("a.ts", "default", "default 11-18"),
        ("a.ts", "Foo.handler", "Foo.handler 13-13"),
        ("a.ts", "Foo.#secret", "Foo.secret 14-14"),
        ("a.ts", "Foo.port", "Foo.port 15-15"),
        ("a.ts", "Foo#handler()", "Foo.handler 13-13"),
        ("a.ts", "Foo.v", "Foo.v 16-17"),
        ("a.ts", "Color.Red", "Color.Red 19-19"),
        ("a.ts", "Color.Green", "Color.Green 20-20"),
        ("a.ts", "T.b", "T.b 22-22"),
        ("a.ts", "over", "over 23-25"),
        ("a.ts", "function over(a: any)", "over 23-25"),
        ("a.ts", "useStore.inc", "useStore.inc 27-27"),
        ("a.ts", "f", "f 29-29"),
        ("a.ts", "Base.run", "Base.run 31-31"),
        ("a.js", "foo", "exports.foo 1-1"),
        ("a.js", "exports.foo", "exports.foo 1-1"),
        ("a.js", "module.exports", "exports 2-5"),
        ("a.js", "module.exports.beta", "exports.beta 3-3"),
        ("a.js", "gamma", "exports.gamma 4-4"),
        ("a.js", "Dog.prototype.bark", "Dog.bark 6-6"),
        ("a.js", "Dog.sit", "Dog.sit 8-8"),
        ("a.js", "obj.key", "obj.key 11-11"),
        ("a.js", "obj.arrow", "obj.arrow 12-12"),
        ("a.js", "deep", "obj.nested.deep 13-13"),
        ("a.js", "two", "exports.two 15-15"),
        ("a.js", "named", "exports.two.named 15-15"),
        ("a.js", "A.x", "A.x 17-17"),
        ("a.js", "A.y", "A.y 18-18"),
        ("a.js", "Cat.purr", "Cat.purr 21-21"),
        ("a.js", "methods.go", "default.methods.go 24-24"),
        ("a.go", "S.b", "S.b 4-4"),
        ("a.go", "I.Run", "I.Run 7-7"),
        ("a.go", "B", "B 11-11"),
        ("a.go", "D", "D 13-13"),
        ("a.go", "W", "W 15-15"),
        ("a.go", "(*S).Run", "S.Run 17-17"),
        ("a.go", "func (s *S) Anon", "G.Anon 18-18"),
        ("a.go", "Al", "Al 19-19"),
        ("a.rs", "S::new", "S.new 3-3"),
        ("a.rs", "pub fn new()", "S.new 3-3"),
        ("a.rs", "S::K", "S.K 4-4"),
        ("a.rs", "V::fmt", "V.fmt 7-7"),
        ("a.rs", "Tr::go", "Tr.go 10-10"),
        ("a.rs", "m::inner", "m.inner 13-13"),
        ("a.rs", "mac!", "mac 15-15"),
        ("a.rs", "E::A", "E.A 16-16"),
        ("a.rs", "E::C", "E.C 17-17"),
        ("A.java", "A.y", "A.y 2-2"),
        ("A.java", "In.z", "A.In.z 5-5"),
        ("A.java", "Kind.ONE", "A.Kind.ONE 7-7"),
        ("A.java", "TWO.o", "A.Kind.TWO.o 8-8"),
        ("A.java", "R.b", "A.R.b 10-10"),
        ("A.java", "A.I#i()", "A.I.i 12-12"),
        ("A.java", "A.A", "A.A 3-3"),
        ("a.py", "C", "C 1-1"),
        ("a.py", "E", "E 2-2"),
        ("a.py", "O.field", "O.field 4-4"),
        ("a.py", "In.m", "O.In.m 6-6"),
        ("a.py", "O.p", "O.p 7-12"),
        ("a.py", "async def go(self):", "O.go 13-13"),
        ("a.py", "O.name", "O.name 15-15"),
        ("a.py", "TD.key", "TD.key 17-17"),
        ("a.py", "U", "U 21-21"),
        ("a.py", "F", "F 23-23"),
        ("a.py", "over", "over 24-28"),
    ],
)
def test_what_a_developer_writes_for_a_symbol_is_found(name: str, asked: str, kept: str) -> None:
    """Each is kept by its full name."""
    if not knows_symbols(name):
        pytest.skip("the extra `code` is not installed")
    known = list_symbols(name, textwrap.dedent(HOSTILE[name]))
    found = find_symbol(known, asked)
    places = [f"{each} {first}-{last}" for each in found for first, last in found[each]]
    assert places == [kept]


def test_a_symbol_that_is_not_there_is_told_with_those_near_it(project: Path) -> None:
    """Whoever mistyped a name need not read the file."""
    change(project / "m.py", TWINS + "class Tokens:\n    def rotate(self): pass\n")
    made = make_citation(LocalCode(project), "m.py#Tokens.rotat")
    assert made == "names 'Tokens.rotat', which this file does not declare; near it: Tokens.rotate"
    assert make_citation(LocalCode(project), "m.py#zzz").endswith("does not declare")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("before", "symbol"),
    [
        ("A, LIMIT = 1, 2\n", "LIMIT"),
        ("A = LIMIT = 3\n", "LIMIT"),
        ("class O:\n    def __init__(self):\n        self.limit = 1\n", "O.limit"),
        ("for each in ():\n    LIMIT = 1\n", "LIMIT"),
    ],
)
def test_what_an_unusual_statement_declares_has_changed_and_is_not_gone(
    project: Path, before: str, symbol: str
) -> None:
    """The words of the file may not say less than its syntax."""
    files = LocalCode(project)
    change(project / "m.py", before)
    made = make_citation(files, f"m.py#{symbol}")
    change(project / "m.py", before.replace("1", "1 + 4").replace("3", "3 + 4"))
    assert checked(files, made) == "has changed since"


def test_the_text_of_another_symbol_does_not_hold_for_one(project: Path) -> None:
    """In its file, and in one beside it after its own is gone."""
    files = LocalCode(project)
    path = project / "m.py"
    change(path, TWINS)
    made = make_citation(files, "m.py#Tok.close")
    change(path, f"import os\n{TWINS}")
    assert checked(files, made) == "holds"
    change(path, TWINS.replace("self.connection.close_for_good()", "pass", 1))
    assert checked(files, made) == "has changed since"
    change(path, TWINS[TWINS.index("class Kot") :])
    assert checked(files, made) == "is gone"
    change(project / "n.py", TWINS[TWINS.index("class Kot") :])
    remove(path)
    assert checked(files, made) == "is gone"
    change(project / "n.py", TWINS)
    assert checked(files, made) == "holds (now n.py#Tok.close)"


def test_a_symbol_is_kept_by_its_full_name(project: Path) -> None:
    """By its end alone it would later hold for another."""
    change(project / "m.py", TWINS.replace("close(self)", "shut(self)", 1))
    made = make_citation(LocalCode(project), "m.py#shut")
    assert isinstance(made, Citation)
    assert made.symbol == "Tok.shut"


def test_a_line_that_is_often_written_does_not_hold_elsewhere(project: Path) -> None:
    """Where it moves with the lines beside it, it does."""
    files = LocalCode(project)
    path = project / "cfg.yaml"
    config = "a:\n  enabled: true\nb:\n  enabled: true\n"
    change(path, config)
    made = make_citation(files, "cfg.yaml:2")
    change(path, config.replace("true", "false", 1))
    assert checked(files, made) == "has changed since"
    change(path, f"c:\n  enabled: true\n{config}")
    assert checked(files, made) == "holds (now cfg.yaml:4)"


def test_lines_that_are_rewritten_in_place_do_not_hold_by_their_twin(project: Path) -> None:
    """However distinctive the text is: what stands between the same lines is what was cited."""
    files = LocalCode(project)
    change(project / "m.py", TWINS)
    made = make_citation(files, "m.py:2-3")
    change(project / "m.py", TWINS.replace("self.connection.close_for_good()", "pass", 1))
    assert checked(files, made) == "has changed since"


def test_a_file_that_was_empty_has_changed_when_it_is_not(project: Path) -> None:
    """A blank line is not what it said."""
    files = LocalCode(project)
    change(project / "a.txt", "")
    made = make_citation(files, "a.txt")
    change(project / "a.txt", "\nsomething\n")
    assert checked(files, made) == "has changed since"


def test_a_line_that_is_often_written_does_not_hold_in_another_file(project: Path) -> None:
    """Not even at the same number between the same lines; one that nobody writes twice does."""
    files = LocalCode(project)
    change(
        project / "a.py",
        "def a():\n    pass\n    return None\n    # what nobody else is likely to write\n",
    )
    short, long = (make_citation(files, f"a.py:{line}") for line in (3, 4))
    change(
        project / "b.py",
        "def b():\n    pass\n    return None\n\n    # what nobody else is likely to write\n",
    )
    remove(project / "a.py")
    assert checked(files, short) == "is gone"
    assert checked(files, long) == "holds (now b.py:5)"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("written", "cited"),
    [
        ("src/auth/jwt.py#L8-L10", LINES),
        ("src/auth/jwt.py:8:5", "src/auth/jwt.py:8"),
        ("src\\auth\\jwt.py:8-10", LINES),
        ("src/auth/jwt.py#def rotate(self, token)", SYMBOL),
        ("src/auth/jwt.py#8-10", LINES),
        ("`src/auth/jwt.py`:8-10", LINES),
        ("@src/auth/jwt.py:8-10", LINES),
        ("src/auth/jwt.py::Tokens::rotate", SYMBOL),
        ("odd/a#b.py#f", "odd/a#b.py#f"),
        ("odd/a#b.py:1", "odd/a#b.py:1"),
        ("odd/a#b.py", "odd/a#b.py"),
        ("odd/c:3.py", "odd/c:3.py"),
        ("odd/c:3.py:2", "odd/c:3.py:2"),
        ("odd/c:3.py#f", "odd/c:3.py#f"),
        ("odd/two words.py#f", "odd/two words.py#f"),
        ("odd/größe.py#f", "odd/größe.py#f"),
    ],
)
async def test_a_place_is_understood_as_it_is_written_elsewhere(
    settings: Settings, source: Path, written: str, cited: str
) -> None:
    """As editors, compilers and pages of a repository write it; names of files are odd at times."""
    odd = source.parents[2] / "odd"
    for name in ("a#b.py", "c:3.py", "two words.py", "größe.py"):
        odd.mkdir(exist_ok=True)
        change(odd / name, "def f():\n    return 1\n")
    async with agent(settings, "auto") as client:
        await cite(client, written)
        assert (await found(client))["cites"] == [f"{cited} holds"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("written", "told"),
    [
        (".", "'.' is a folder: cite a file in it"),
        ("./", "'./' is a folder: cite a file in it"),
        ("src", "'src' is a folder: cite a file in it"),
        ("src/..", "'src/..' is a folder: cite a file in it"),
        ("..", "lies outside of the project"),
        ("", "is no place in the code"),
        ("src/auth/jwt.py:0", "is no place in the code"),
        ("src/auth/jwt.py:9-3", "is no place in the code"),
        ("src/auth/jwt.py:99999999", "is no place in the code"),
        ("src/auth/jwt.py:14-400", "ends after the file, which has 13 lines"),
        ("src/auth/jwt.py#", "is no place in the code"),
        ("src/auth/jwt.py/x", "is not there"),
    ],
)
async def test_what_is_no_place_is_told_truly(
    settings: Settings, source: Path, written: str, told: str
) -> None:
    """The memory is stored without it."""
    del source
    async with agent(settings, "auto") as client:
        said = await cite(client, written)
        assert said["success"]
        assert told in said["message"]


@pytest.mark.parametrize("name", ["new\nline.py", "tab\tname.py", "\u202esrc.py", "\x1b[31m.py"])
async def test_a_name_that_cannot_be_shown_is_not_cited(
    settings: Settings, source: Path, name: str
) -> None:
    """The memory is stored; nor does such a file take the place of one that is gone."""
    change(source.parent / name, CODE)
    async with agent(settings, "auto") as client:
        said = await cite(client, f"src/auth/{name}", FILE)
        assert said["success"]
        assert "has signs in its name that cannot be shown" in said["message"]
        remove(source)
        for _ in range(2):
            assert (await found(client))["cites"] == [f"{FILE} is gone"]


@pytest.mark.parametrize("form", ["index.version=2", "index.version=4", "core.splitIndex=true"])
def test_a_file_that_a_sparse_checkout_leaves_out_is_not_gone(source: Path, form: str) -> None:
    """It is where it was, for git; somebody who removes it by hand removes it."""
    project = source.parents[2]
    git(project, "config", *form.split("="))
    change(project / "main.py", "pass\n")
    commit_all(project, "main")
    files = LocalCode(project)
    made = [make_citation(files, place) for place in (FILE, LINES, SYMBOL)]
    git(project, "sparse-checkout", "set", "--no-cone", "/main.py")
    assert not source.exists()
    assert [checked(files, each) for each in made] == ["holds"] * 3
    git(project, "sparse-checkout", "disable")
    assert source.exists()
    remove(source)
    assert [checked(files, each) for each in made] == ["is gone"] * 3


def test_a_file_of_common_content_does_not_stand_for_one_that_is_gone(source: Path) -> None:
    """Each package has an empty `__init__.py`."""
    project = source.parents[2]
    for folder in ("a", "b"):
        (project / folder).mkdir()
        change(project / folder / "__init__.py", "")
    commit_all(project, "packages")
    files = LocalCode(project)
    made = make_citation(files, "a/__init__.py")
    remove(project / "a" / "__init__.py")
    assert checked(files, made) == "is gone"


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"x = 1\n" * 1_000_000, "has changed since"),
        (b"\0" * 9, "has changed since"),
        (None, "is gone"),
    ],
    ids=["too large", "binary", "folder"],
)
def test_what_cannot_be_read_any_more_is_gone_only_if_nothing_is_there(
    source: Path, data: bytes | None, state: str
) -> None:
    """Something else is there: nobody has taken it away."""
    files = LocalCode(source.parents[2])
    made = make_citation(files, LINES)
    remove(source)
    if data is None:
        source.mkdir()
    else:
        source.write_bytes(data)
    assert checked(files, made) == state


@pytest.mark.parametrize(
    ("path", "proposed"),
    [
        ("C:\\Users\\ada\\setup.py", ""),
        ("..\\other\\setup.py", ""),
        ("\\\\server\\share\\setup.py", ""),
        ("src\\auth\\jwt.py", "src\\auth\\jwt.py"),
        ("setup.py", "setup.py"),
    ],
)
async def test_a_windows_path_is_proposed_if_it_names_a_file_of_the_project(
    settings: Settings, source: Path, path: str, proposed: str
) -> None:
    """The name at its end alone is another file's."""
    change(source.parents[2] / "setup.py", "pass\n")
    async with agent(settings, "auto") as client:
        said = await call(client, "add_memory", content=f"The build reads {path} first.")
        assert ("It names code" in said["message"]) == bool(proposed)
        assert proposed.replace("\\", "\\\\") in said["message"]


@pytest.mark.parametrize("place", [LINES, SYMBOL, FILE])
async def test_a_full_path_is_cited_by_the_one_from_the_project(
    settings: Settings, source: Path, place: str
) -> None:
    """The tools of a client speak full paths, and some write `..`; names alone resolve them."""
    async with agent(settings, "auto") as client:
        await cite(client, f"{source.parents[2]}/{place}", f"src/../{place}")
        assert (await found(client))["cites"] == [f"{place} holds"]
