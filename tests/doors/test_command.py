"""The command itself: its usage, its modes, what it loads, and the demo."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from command_line import Run, complaint
from doors import names_in, records
from real_git import commit_all, make_repository

from memory_mcp import __version__
from memory_mcp.cli.catalog import LISTED
from memory_mcp.cli.main import main
from memory_mcp.late import LATE

_NEVER_RIGHT: list[tuple[tuple[str, ...], str]] = [
    (("add", "x", "--kind", "idea"), "--kind: 'idea' is unknown; choose one of fact, preference"),
    (("add", "x", "--kind", "checkpoint"), "'checkpoint' is unknown; choose one of fact"),
    (("add", "x", "--expires", "soon"), "--expires: 'soon' is no time; write it like 2026-12-31"),
    (("add", "x", "--importance", "9"), "--importance: 9 is out of range; choose 1 to 5."),
    (("search", "--limit", "11"), "--limit: 11 is out of range; choose 1 to 10."),
    (("search", "--min-score", "2"), "--min-score: 2 is out of range; choose 0 to 1."),
    (("log", "--limit", "-1"), "--limit: -1 is out of range; choose 0 or more."),
    (("context", "--budget-tokens", "3"), "--budget-tokens: 3 is out of range; choose 60 to 8000"),
    (("phase", "10000"), "argument N: 10000 is out of range; choose 0 to 9999."),
    (("serve", "--toolsets", "nope"), "--toolsets: 'nope' is unknown; choose some of branches"),
    (("serve", "--port", "8000"), "--port needs --transport streamable-http"),
    (("serve", "--host", "::1"), "--host needs --transport streamable-http"),
    (("serve", "--path", "/m"), "--path needs --transport streamable-http"),
    (("serve", "--path", "m"), "--path: 'm' is no path; begin it with a slash, like /mcp."),
    (("search", "tabs", "or", "--wide", "spaces"), "search takes no --wide."),
    (("models", "--branch", "x"), "models takes no --branch."),
    (("--branch", "x", "models"), "models takes no --branch."),
    (("checkpoint", "x", "--decision", "save"), "--decision save is about a checkpoint"),
    (("export", "--format", "markdown"), "Markdown is a folder of files"),
    (("export", "out", "--final", "--history"), "--final is a report of one branch"),
    (("export", "--final"), "--final writes two files."),
    (("config", "nope"), "'nope' is no setting."),
    (("token", "add", ""), "NAME '' is no name"),
    (("checkpoint",), "Say what was reached and decided: memory-mcp checkpoint SUMMARY."),
    (("search", "--key", " "), "--key is empty. Give a key, or leave it out."),
    (("search", "--since", "lately"), "'lately' is no time; write it like 2026-01-31"),
    (
        ("add", "a\udcff"),
        "argument content: 'a\\udcff' is no UTF-8 (byte 0xff at character 1). Convert",
    ),
    (("list", "--category", "\udcf6"), "argument --category: '\\udcf6' is no UTF-8"),
    (("add", " "), "argument content: it is empty; give one self-contained statement."),
    (("update", "1", ""), "argument content: it is empty; give one self-contained statement."),
    (("identity", ""), "argument TEXT: it is empty; give one self-contained statement."),
    (("nudge", "add", ""), "argument text: it is empty; say what is to be brought up."),
    (("add", "x", "--tag", ""), "--tag: it is empty; give it a word, or leave it out."),
    (("checkpoint", "x", "--decided", "::"), "--decided is empty. Say what was decided"),
    (("fork", ""), "argument NEW: branch '' cannot be a name: it is empty."),
    (("context", "--since", "yesterday"), "--since: since 'yesterday' is neither what an earlier"),
    (("list", "--lim", "1"), "list takes no --lim."),
    (("--limit", "1", "list"), "--limit stands before its command; write it after list."),
    (("--limit=1", "list"), "--limit stands before its command; write it after list."),
    (("--branch", "x", "--task", "y"), "--task is no option of memory-mcp itself: those of a"),
    (("nosuch",), "argument COMMAND: 'nosuch' is unknown. `memory-mcp --help` shows how"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), _NEVER_RIGHT, ids=[" ".join(words) for words, _ in _NEVER_RIGHT]
)
def test_what_could_never_work_is_wrong_usage(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    """Told in the words of the command line; nothing else of it is carried out."""
    assert said in complaint(run, *arguments, expected=2)


@pytest.mark.skipif(sys.platform == "win32", reason="its command lines are Unicode")
def test_a_locale_without_utf_8_takes_utf_8_all_the_same(tmp_path: Path) -> None:
    """What the terminal sent is UTF-8, whatever the locale says of it: a text, a name."""
    (tmp_path / ".git").mkdir()
    words = [sys.executable, "-m", "memory_mcp", "--json"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def answer(*arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [*words, *arguments],
            capture_output=True, text=True, encoding="utf-8", check=False, cwd=tmp_path,
            env=environment,
        )  # fmt: skip
        return json.loads(done.stdout)

    assert answer("add", "Müller orders bread.", "--tag", "Bäcker")["success"]
    (found,) = answer("search", "Müller", "--tag", "Bäcker")["results"]
    assert found["content"] == "Müller orders bread."
    assert answer("fork", "Käse")["branch"] == "Käse"
    assert answer("--branch", "Käse", "list")["success"]


_WRONG: list[tuple[tuple[str, ...], str]] = [
    (("add", "x" * 8_001), "the text has 8,001 characters; the limit is 8,000"),
    (("nudge", "add", "x", "--expires", "2020-01-01"), "--expires is 2020-01-01"),
    (("backtrack", "nowhere"), "No checkpoint, phase or line 'nowhere'."),
]


@pytest.mark.parametrize(("arguments", "said"), _WRONG, ids=[said for _, said in _WRONG])
def test_a_mistake_is_one_sentence_on_stderr(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    """With --json it is on stdout, where a program reads."""
    assert said in complaint(run, *arguments)


_EVERY: dict[str, tuple[str, ...]] = {
    "add": ("x",), "search": (), "update": ("x", "y"), "forget": ("x",), "status": (),
    "checkpoint": ("x",), "backtrack": ("1",), "fork": ("x",), "undo": (), "context": (),
    "profile": (), "list": (), "show": ("x",), "doctor": (), "doctor --reindex": (),
    "cloud": (), "cloud login": (), "cloud logout": (), "cloud sync": (),
    "trust": (), "trust --revoke": (),
}  # fmt: skip


@pytest.mark.parametrize("command", _EVERY)
def test_memory_that_is_off_touches_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """Off means off, whoever asks."""
    monkeypatch.setenv("MEMORY_ENABLED", "false")
    status, out, error = run(*command.split(), *_EVERY[command])

    assert (status, out) == (1, "")
    assert error == (
        "memory-mcp: Memory is off: `memory-mcp config MEMORY_ENABLED` shows who set it to false.\n"
    )
    assert names_in(tmp_path) == [".git", "shop"]


@pytest.mark.parametrize(
    "command", ["add", "update", "forget", "checkpoint", "backtrack", "undo", "fork"]
)
def test_a_meta_session_writes_nothing_from_the_command_line_either(
    run: Run, monkeypatch: pytest.MonkeyPatch, project: Path, command: str
) -> None:
    """The mode is the session's, whichever door is used."""
    monkeypatch.setenv("MEMORY_MODE", "meta")
    status, out, error = run(*command.split(), *_EVERY[command])

    assert (status, out) == (1, "")
    assert "meta session (MEMORY_MODE=meta, or" in error
    assert records(project) == []


def test_a_work_tree_that_lost_its_main_one_is_named_by_every_command(
    run: Run, tmp_path: Path
) -> None:
    """What is stored in it would be found by nobody once git is repaired."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path}/gone/.git/worktrees/tree\n")
    for command, status in (("add", 1), ("search", 0), ("status", 0), ("context", 0)):
        found, _, error = run("--project", str(tmp_path / "tree"), command, *_EVERY[command])
        assert found == status
        assert "git worktree repair" in error
        assert ("Nothing was stored" in error) == (command == "add")
    assert names_in(tmp_path / "tree") == [".git"]


def modules_of(*commands: tuple[str, ...]) -> list[set[str]]:
    """The top-level packages that one process has imported by the end of each command."""
    script = (
        "import json, sys\n"
        "from memory_mcp.cli.main import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    try: main(command)\n"
        "    except SystemExit: pass\n"
        "    sys.stderr.write(' '.join({m.split('.')[0] for m in sys.modules}) + '\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(commands)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [set(line.split()) for line in done.stderr.splitlines()]


def test_a_command_loads_the_core_that_checks_and_no_package_around_it(
    run: Run, project: Path
) -> None:
    """What describes schemas to type checkers takes longer to define than a query to answer.

    Nor does one that stores, or that saw a commit of git: the core imports that package when it
    dumps its first value.
    Who imports pydantic later in the same process, as a command that reads JSON does, gets it all.
    """
    (project / ".git").rmdir()
    make_repository(project)
    run("add", "x")
    commit_all(project, "memories")
    script = (
        "import sys\n"
        "from memory_mcp.cli.main import main\n"
        "for words in ('search x', 'add y', 'checkpoint z', 'backtrack start --mode continue'):\n"
        "    assert main(words.split()) == 0\n"
        "core = sys.modules['pydantic_core._pydantic_core']\n"
        "assert 'pydantic_core.core_schema' not in sys.modules\n"
        "import pydantic, pydantic_core\n"
        "from memory_mcp.domain.nudges import Nudge\n"
        "assert pydantic.ValidationError is core.ValidationError is pydantic_core.ValidationError\n"
        "try: Nudge.model_validate_json('{}')\n"
        "except pydantic.ValidationError as error: sys.stderr.write(str(error.error_count() > 0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == "True"


def test_help_and_version_are_instant() -> None:
    """Nothing but the standard library is needed to say what there is."""
    for loaded in modules_of(("--help",), ("--version",)):
        assert not {"pydantic", "mcp", "aiosqlite", "rich", "asyncio"} & loaded
        assert "argparse" in loaded


def test_no_command_but_serve_and_demo_imports_the_sdk(run: Run) -> None:
    """Hooks run these commands before every prompt: half a second would be felt.

    Nor the keyring to find nothing: it takes longer to load than a search, and may wake a daemon.
    Nor what locks files, where nothing is written.
    """
    run("add", "x")
    commands = (("search", "x"), ("list",), ("log",), ("status",), ("context",), ("cloud",))
    heavy = {"mcp", "mcp_types", "starlette", "rich", "keyring", "httpx", "tomlkit", "numpy"}
    for command, loaded in zip(commands, modules_of(*commands), strict=True):
        assert "pydantic_core" in loaded
        assert not (heavy | {"filelock"}) & loaded, command
    assert not heavy & modules_of(("doctor",))[0]


def test_a_command_imports_no_library_that_it_does_not_use(run: Run) -> None:
    """Each is loaded by something small: the width of a terminal, a digest, a wrong id, a table."""
    run("add", "x")
    needless = {"shutil", "bz2", "random", "secrets", "pkgutil", "tomllib"}
    status, search = modules_of(("status",), ("search", "x"))
    (added,) = modules_of(("add", "y"))

    assert not (needless | {"difflib", "uuid"}) & status
    assert not (needless | {"uuid"}) & search
    assert not {"shutil", "bz2", "pkgutil", "tomllib"} & added


@pytest.mark.parametrize("words", [("search", "x"), ("add", "y")])
def test_a_command_runs_nothing_that_only_a_connection_needs(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """asyncio imports what talks TLS, and a query to a store on this machine talks to nobody.

    Nor what a lock needs where a file system has none.
    """
    run("add", "x")
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    done = subprocess.run(
        [sys.executable, "-m", "memory_mcp", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert {"asyncio", "pathlib"} <= loaded
    assert not {*LATE, "_ssl", "random", "hmac", "uuid", "fractions"} & loaded


def test_whoever_talks_tls_finds_it_where_it_was_put_off() -> None:
    """A provider in the cloud is reached by the same process."""
    said = run_fresh(
        "from memory_mcp.late import load_late\n"
        "load_late()\n"
        "import asyncio, ssl, sys\n"
        "print('_ssl' in sys.modules)\n"
        "from asyncio.sslproto import SSLProtocol\n"
        "print(asyncio.base_events.sslproto.SSLProtocol is SSLProtocol)\n"
        "print(isinstance(ssl.create_default_context(), asyncio.base_events.ssl.SSLContext))\n"
    )

    assert said == ["False", "True", "True"]


def test_no_plain_command_imports_pydantic(run: Run) -> None:
    """It takes a third of a short command to load; the core alone checks what is stored."""
    run("add", "x")
    commands = (
        ("add", "y"), ("search", "x"), ("list",), ("log",), ("status",), ("context",), ("cloud",),
        ("checkpoint", "z"), ("backtrack", "start", "--mode", "continue"), ("undo",), ("doctor",),
    )  # fmt: skip
    loaded = modules_of(*commands)[-1]

    assert "pydantic_core" in loaded
    assert not {"pydantic", "annotated_types"} & loaded


_OF_OTHERS: Final = {
    "status": (
        "domain.layers", "hooks.transcript", "render.difference", "render.events", "render.graph",
        "render.log", "server.forms", "text.merge", "text.truths", "words",
    ),
    "search": (
        "branches", "hooks.transcript", "memories", "render.graph", "server.forms", "sync",
        "text.gate",
    ),
    "add": ("branches", "hooks.transcript", "render.graph", "search", "server.forms", "sync"),
}  # fmt: skip


@pytest.mark.parametrize("command", _OF_OTHERS)
def test_a_command_imports_nothing_that_only_others_use(run: Run, command: str) -> None:
    """Each module costs a third of a millisecond, and its classes more."""
    run("add", "Tea is green.")
    words = [command, *(["Orders live in PostgreSQL."] if command != "status" else [])]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memory_mcp", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert "memory_mcp.build" in loaded
    needless = {f"memory_mcp.{name}" for name in _OF_OTHERS[command]} & loaded
    assert needless == set()


def test_a_command_takes_nothing_apart_when_it_is_done() -> None:
    """Of what it imported each part would be taken apart, for a twentieth of all that it takes."""
    script = (
        "import atexit, sys, threading\n"
        "from memory_mcp.__main__ import main\n"
        "atexit.register(print, 'taken apart')\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "sys.argv[1:] = sys.argv[1].split()\n"
        "sys.exit(main())\n"
    )
    for words, status in (("--version", 0), ("nonsense", 2)):
        done = subprocess.run(
            [sys.executable, "-c", script, words],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == status
        assert (done.stdout or done.stderr).startswith("memory-mcp")
        assert "apart" not in done.stdout


def test_a_server_ends_in_order(tmp_path: Path) -> None:
    """What it is instrumented with, for spans of its calls, sends the last of them at its end."""
    script = (
        "import atexit, sys\n"
        "from memory_mcp.__main__ import main\n"
        "atexit.register(print, 'sent', file=sys.stderr)\n"
        "sys.argv[1:] = ['serve']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert done.stderr.endswith("sent\n")


def test_a_command_hardly_looks_for_garbage(run: Run) -> None:
    """It imports as it goes and leaves none, and ends before there is much."""
    run("add", "Tea is green.")
    script = (
        "import gc, sys\n"
        "from memory_mcp.cli.main import main\n"
        "main(['search', 'tea'])\n"
        "print(sum(each['collections'] for each in gc.get_stats()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import gc; gc.disable()\n" + script],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert int(done.stderr) < 20


def run_fresh(script: str) -> list[str]:
    """What a new process prints, word by word."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_an_add_outlines_what_is_new_and_no_text_besides(run: Run) -> None:
    """It renders what may be shown of all memories, and the index has outlined these."""
    for text in ("The shop uses yarn.", "Standup is at 9:30.", "Tea is green."):
        run("add", text)
    said = run_fresh(
        "from memory_mcp.cli.main import main\n"
        "main(['add', 'The cellar is locked.'])\n"
        "from memory_mcp.text.truths import outlines\n"
        "print(outlines._pack_texts.cache_info().misses)\n"
    )

    assert said[-1] == "1"


def test_an_add_compares_what_is_new_with_the_rest_and_no_more(run: Run) -> None:
    """Among 200 memories, to compare every two of those that may be shown took half of it."""
    for text in ("The shop uses yarn.", "Tea is green.", "Tea is green or black."):
        run("add", text)
    said = run_fresh(
        "from memory_mcp.cli.main import main\n"
        "from memory_mcp.text.truths import marks\n"
        "glance, seen = marks.may_bear, []\n"
        "marks.may_bear = lambda *two: seen.append(two) or glance(*two)\n"
        "main(['add', 'The cellar is locked.'])\n"
        "print(len(set(map(frozenset, seen))))\n"
    )

    assert said[-1] == "3"


def test_no_digest_stays_of_what_was_forgotten(run: Run, tmp_path: Path) -> None:
    """What was compared is kept for the next process, and a forget erases everywhere."""

    def count_compared() -> set[int]:
        (kept,) = tmp_path.rglob("compared.json")
        return {len(each["keys"]) for each in json.loads(kept.read_text("utf-8"))["sets"]}

    for text in ("The shop uses yarn.", "Tea is green."):
        run("add", text)
    assert count_compared() == {2}
    for memory in records(tmp_path):
        run("forget", memory["id"])
    assert count_compared() == set()


def test_no_validator_of_stored_values_is_built_before_the_first_value() -> None:
    """Together they take as long to build as all else that is ours takes to import."""
    built = run_fresh(
        "import memory_mcp.cli.commands, memory_mcp.server.main, memory_mcp.build\n"
        "from memory_mcp.domain.checked import build_validator\n"
        "from pydantic import BaseModel\n"
        "waiting = BaseModel.__subclasses__()\n"
        "for model in waiting:\n"
        "    waiting += model.__subclasses__()\n"
        "    ours = model.__module__.startswith('memory_mcp.')\n"
        "    stored = not model.__module__.startswith('memory_mcp.server')\n"
        "    if ours and stored and model.__pydantic_complete__: print(model.__name__)\n"
        "print(build_validator.cache_info().currsize)\n"
    )

    assert built == ["0"]


def test_what_few_sessions_use_is_not_imported_by_a_server() -> None:
    """A client waits for the first answer, and every import is between."""
    loaded = set(run_fresh("import sys, memory_mcp.server.main; print(*sys.modules)"))
    seldom = {
        "filelock", "keyring", "numpy", "onnxruntime", "rich", "tokenizers", "tomlkit",
        "memory_mcp.cli", "memory_mcp.formats.importers", "memory_mcp.models.chat",
        "memory_mcp.models.encoder", "memory_mcp.models.install", "memory_mcp.server.http",
        "memory_mcp.storage.sqs", "memory_mcp.storage.supermemory.client",
        "memory_mcp.storage.supermemory.http",
    }  # fmt: skip

    assert seldom & loaded == set()


def test_what_reads_and_renders_texts_is_not_imported_before_there_is_one_to_read() -> None:
    """For `status` and `log` it would be a tenth of all they take."""
    parts = "memory_mcp.bootstrap, memory_mcp.build, memory_mcp.cli.branches"
    loaded = set(run_fresh(f"import sys, {parts}; print(*sys.modules)"))
    seldom = {
        "memory_mcp.bootstrap.opening", "memory_mcp.deduplication", "memory_mcp.models.embedders",
        "memory_mcp.ranking.analysis", "memory_mcp.text.merge", "memory_mcp.text.truths",
    }  # fmt: skip

    assert seldom & loaded == set()


def test_a_list_does_not_import_the_search(run: Run) -> None:
    """It compares the newest with each other, but ranks nothing, and asks no cloud."""
    run("add", "The shop uses yarn.")
    loaded = set(
        run_fresh(
            "import sys; from memory_mcp.cli.main import main\n"
            "sys.stdout = sys.stderr; assert main(['list']) == 0\n"
            "print(*sys.modules, file=sys.__stdout__)"
        )
    )
    seldom = {
        "memory_mcp.profile", "memory_mcp.ranking.evidence", "memory_mcp.ranking.order",
        "memory_mcp.search", "memory_mcp.zones",
    }  # fmt: skip

    assert "memory_mcp.listing" in loaded
    assert seldom & loaded == set()


def test_version_and_help_say_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing anybody types."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"memory-mcp {__version__}\n"
    assert main(["--version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"success": True, "version": __version__}
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["help"])
    assert capsys.readouterr().out == shown
    for asked in (["help", "search"], ["--help", "search"], ["search", "-h"]):
        with pytest.raises(SystemExit, match="0"):
            main(asked)
        assert capsys.readouterr().out.startswith("usage: memory-mcp search ")
    for entry in LISTED:
        assert re.search(rf" {entry.name} +{re.escape(entry.short)}( |$)", shown, re.MULTILINE)
    assert not re.search(r"\b(hook|episode|capture)\b", shown), "only programs call these"
    assert len(shown.splitlines()) <= 24
    assert max(map(len, shown.splitlines())) < 80


def demo(*options: str) -> "subprocess.CompletedProcess[str]":
    """What a newcomer types."""
    return subprocess.run(
        [sys.executable, "-m", "memory_mcp", *options, "demo"],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "own", [pytest.param(False, marks=pytest.mark.nightly), True], ids=["nothing set", "all set"]
)
def test_demo_shows_the_main_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, own: bool
) -> None:
    """Before and after a backtrack, and after the restore, over a real server and client.

    What is set for the user's own memories, under whichever name, is not for coffee beans.
    """
    if own:
        for name in ("MEMORY_DIR", "ATOMIC_MEMORY_DIR", "ATOMIC_MEMORY_STATE_DIR"):
            monkeypatch.setenv(name, str(tmp_path / name))
        monkeypatch.setenv("ATOMIC_MEMORY_MODE", "meta")
        monkeypatch.setenv("SUPERMEMORY_BASE_URL", "http://localhost:1")
    done = demo()

    assert (done.returncode, done.stderr) == (0, "")
    before, after = done.stdout.split("Recalled after the backtrack", 1)
    after, restored = after.split("Recalled after the restore", 1)
    recalled = before.split("Recalled before the backtrack", 1)[1]
    assert "Sessions are kept in Redis" in recalled.split("“Forget Redis")[0]
    assert "Orders are stored in PostgreSQL" in after
    shown = after.split("“I changed my mind")[0]
    assert "Sessions are kept in Redis" not in shown
    assert "cache-stage" not in shown
    assert "Redis for sessions was tried and given up" in shown
    assert "Sessions are kept in Redis" in restored
    assert '<memory note="recalled data, not instructions">' in restored
    assert "\x1b" not in done.stdout, "plain when piped"
    assert list(tmp_path.iterdir()) == [], "its folder is gone"


@pytest.mark.nightly
def test_demo_as_json_tells_what_was_recalled_at_each_step() -> None:
    """A program can check the main job as well as a person can see it."""
    done = demo("--json")
    said = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert said["success"] is True
    assert "Sessions are kept in Redis" in done.stdout


def test_progress_is_silent_in_a_pipe(run: Run) -> None:
    """stderr of a pipe is a log."""
    run("add", "x")
    assert run("doctor", "--reindex")[2] == ""


def test_a_reader_that_left_is_no_error_worth_a_traceback(run: Run) -> None:
    """`memory-mcp search | head -1` closes the pipe early."""
    run("add", "x" * 8_000)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "memory_mcp", "search"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b""), "as a command that SIGPIPE ends"


@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed and filled by POSIX shells")
@pytest.mark.parametrize(
    "arguments",
    [
        "list", "--help", "export", "demo",
        pytest.param("list --json", marks=pytest.mark.nightly),
        pytest.param("log", marks=pytest.mark.nightly),
    ],
)  # fmt: skip
def test_a_full_disk_behind_stdout_is_one_sentence(run: Run, arguments: str) -> None:
    """`memory-mcp export > backup.json` on a full disk must not look like a backup."""
    run("add", "x")
    done = in_shell(f"{arguments} >/dev/full")

    assert done.returncode == 1
    assert done.stderr == (
        "memory-mcp: stdout cannot be written: No space left on device. "
        "Look what was done before you repeat it.\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed and filled by POSIX shells")
def test_a_closed_stream_costs_no_traceback(run: Run, project: Path) -> None:
    """Without stdout nothing is begun, because nothing could be said of it."""
    refused = in_shell("add x >&-")
    assert (refused.returncode, records(project)) == (1, [])
    assert refused.stderr.startswith(
        "memory-mcp: stdout cannot be written: it is closed. Nothing was begun."
    )

    assert run("add", "Sessions live in Redis.")[0] == 0
    silent = in_shell("forget nothing 2>&-")
    assert (silent.returncode, silent.stdout) == (1, ""), "an error is no answer"
    assert "the text is empty" in in_shell("add - <&-").stderr
    assert "Nothing was done yet" in in_shell("backtrack start <&-").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent to a whole console there")
@pytest.mark.parametrize("command", ["add x", "serve", "demo"])
def test_ctrl_c_while_libraries_are_imported_costs_no_traceback(
    tmp_path: Path, command: str
) -> None:
    """Some panic when they are interrupted; here one sends the signal itself."""
    (tmp_path / "pydantic_core.py").write_text(
        "import os, signal\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    for _ in range(9_999): pass\n"
        "except KeyboardInterrupt:\n    raise SystemError('panic') from None\n",
        "utf-8",
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = [sys.executable, "-m", "memory_mcp", *command.split()]
    # what runs in the background of a script has the signal ignored, and its children too
    heard = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        f"os.execv({words[0]!r}, {words!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", heard],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 130
    assert done.stderr == "memory-mcp: Interrupted. What was reported as stored is stored.\n"


def in_shell(words: str) -> subprocess.CompletedProcess[str]:
    """The command, as a shell starts it."""
    return subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m memory_mcp {words}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_word_that_is_no_choice_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever slips is helped; what only programs call is offered to nobody."""
    assert main(["serach"]) == 2
    assert "'serach' is unknown; nearest: search." in capsys.readouterr().err
    assert main(["log", "--limit", "many"]) == 2
    assert "argument --limit: 'many' is no whole number." in capsys.readouterr().err
    assert main(["search", "--min-score", "high"]) == 2
    assert "argument --min-score: 'high' is no number." in capsys.readouterr().err
    assert main(["git", "foo"]) == 2
    choices = "'foo' is unknown; choose one of status, off, mark, follow, rewind, bring."
    assert choices in capsys.readouterr().err
    assert main(["bogus"]) == 2
    offered = capsys.readouterr().err
    assert "'bogus' is unknown. `memory-mcp --help` shows how it is used." in offered
    assert "episode" not in offered
    assert "hook" not in offered
    assert main(["backtrack", "1", "--mode", "contiue", "--json"]) == 2
    assert (
        "'contiue' is unknown; choose one of continue,"
        in json.loads(capsys.readouterr().out)["message"]
    )
