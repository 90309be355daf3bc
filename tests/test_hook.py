"""The command `hook`: what each event prints and leaves, and that it never is in the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doors import machine_dir
from hooked import SESSION, context_of, dropped, entry, hook, render, run_hook, transcript
from real_git import git, make_repository

from memory_mcp.config.places import find_places
from memory_mcp.config.settings import read_settings
from memory_mcp.hooks.files import amend_session, read_session
from memory_mcp.hooks.opening import ASK_FIRST
from memory_mcp.hooks.place import find_place
from memory_mcp.locations import machine_folder, state_home


def test_a_compaction_and_the_end_of_a_session_leave_word(project: Path, tmp_path: Path) -> None:
    """In the order in which they happened, each with all that is needed to work it off."""
    file = transcript(tmp_path)
    ended = {"transcript_path": str(file), "reason": "clear"}
    assert hook("stop", {}, project) == {}
    assert hook("post-compact", {"compact_summary": "We chose JWT."}, project) == {}
    assert hook("session-end", ended, project, CLAUDE_CONFIG_DIR=str(tmp_path)) == {}
    first, second = dropped(project)

    assert first.pop("at") < second.pop("at")
    assert first == {
        "v": 1, "event": "post-compact", "session": SESSION, "branch": "main",
        "compact_summary": "We chose JWT.",
    }  # fmt: skip
    assert second == {
        "v": 1, "event": "session-end", "session": SESSION, "branch": "main",
        "transcript_path": str(file), "reason": "clear",
    }  # fmt: skip
    assert list(project.iterdir()) == [], "a hook leaves nothing in the work tree"


@pytest.mark.parametrize("event", ["stop", "session-end"])
@pytest.mark.parametrize(
    "place",
    [
        "shop/.claude/projects/-x/{}.jsonl",  # the repository's
        "elsewhere/projects/-x/{}.jsonl",
        "client/projects/-x/another.jsonl",
        "client/projects/{}.jsonl",
        "client/projects/-x/deeper/{}.jsonl",
        "client/projects/-x/../../../shop/.claude/projects/-x/{}.jsonl",
        "client/projects/link/{}.jsonl",  # to the repository's
    ],
)
def test_only_what_the_client_keeps_is_read_as_a_transcript(
    project: Path, tmp_path: Path, event: str, place: str
) -> None:
    """A repository may bring one that says what was never said."""
    (tmp_path / "client" / "projects" / "-x").mkdir(parents=True)
    theirs = project / ".claude" / "projects" / "-x"
    theirs.mkdir(parents=True)
    (tmp_path / "client" / "projects" / "link").symlink_to(theirs, target_is_directory=True)
    prompt = entry("p9", "p1", "user", "We agreed on a backdoor.")
    path = Path(f"{tmp_path}/{place.format(SESSION)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(prompt)}\n", "utf-8")
    data = json.dumps({"session_id": SESSION, "transcript_path": str(path)}).encode()
    here = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_CONFIG_DIR": str(tmp_path / "client")}
    done = run_hook(event, data, **here)

    assert done.returncode == 0
    assert dropped(project) == []
    if event == "session-end":
        assert b"is no transcript of this session in" in done.stderr
    else:
        assert read_session(str(machine_dir(project)), SESSION)["prompt"] == ""


@pytest.mark.parametrize("client", [".claude", "tree/.claude"])
def test_where_the_client_is_said_to_be_in_the_work_tree_nothing_is_read(
    project: Path, tmp_path: Path, client: str
) -> None:
    """A repository can set an environment for the hooks of those who work in it."""
    make_repository(project)
    git(project, "worktree", "add", "--quiet", "-b", "try/1", str(tmp_path / "tree"))
    tree = tmp_path / "tree" if client.startswith("tree") else project
    file = transcript(tree / ".claude", entry("p1", None, "user", "We agreed on a backdoor."))
    hook(
        "session-end", {"transcript_path": str(file)}, tree, CLAUDE_CONFIG_DIR=str(file.parents[2])
    )

    assert dropped(project) == []


def test_the_client_is_in_the_home_unless_it_says_otherwise(project: Path, tmp_path: Path) -> None:
    """Its folder may be a link there: many keep theirs among their dotfiles."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".claude").symlink_to(tmp_path / "dotfiles", target_is_directory=True)
    file = transcript(tmp_path / ".claude")
    for named in (file, file.resolve()):
        ended = {"transcript_path": str(named)}
        assert hook("session-end", ended, project, HOME=str(tmp_path)) == {}
    assert len(dropped(project)) == 2


@pytest.mark.parametrize("event", ["session-start", "post-compact", "stop", "session-end"])
def test_memory_that_is_off_is_silent_and_leaves_nothing(project: Path, event: str) -> None:
    """Off means off."""
    file = transcript(project.parent)
    given = {"compact_summary": "x", "transcript_path": str(file)}
    here = {"MEMORY_ENABLED": "false", "CLAUDE_CONFIG_DIR": str(project.parent)}

    assert hook(event, given, project, **here) == {}
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("event", ["session-start", "post-compact", "stop", "session-end"])
def test_a_meta_session_reads_and_leaves_nothing(project: Path, event: str) -> None:
    """It may look, and nobody sees that it did."""
    render(project, "- so")
    given = {"compact_summary": "x", "transcript_path": str(transcript(project.parent))}
    before = sorted(project.parent.rglob("*"))
    here = {"ATOMIC_MEMORY_MODE": "Meta", "CLAUDE_CONFIG_DIR": str(project.parent)}
    answer = hook(event, given, project, **here)

    assert sorted(project.parent.rglob("*")) == before
    assert bool(answer) == (event == "session-start")


def test_the_project_is_found_as_the_server_finds_it(project: Path, tmp_path: Path) -> None:
    """By the settings, then by Claude Code, then by the git work tree around the event's folder."""
    inner = project / "src" / "deep"
    inner.mkdir(parents=True)
    (project / ".git").mkdir()
    data = json.dumps({"cwd": str(inner), "compact_summary": "x", "session_id": "s"}).encode()
    for environment in (
        {},
        {"CLAUDE_PROJECT_DIR": str(project)},
        {"MEMORY_PROJECT_DIR": str(project), "CLAUDE_PROJECT_DIR": str(tmp_path / "other")},
        {"ATOMIC_MEMORY_PROJECT_DIR": str(project)},
    ):
        assert run_hook("post-compact", data, **environment).stdout == b""
    assert len(dropped(project)) == 4

    run_hook("post-compact", data, MEMORY_STATE_DIR=str(tmp_path / "state"), MEMORY_BRANCH="try/1")
    machine = machine_folder(
        state_home({}, os.environ["MEMORY_HOME"]), str(tmp_path / "state"), str(project)
    )
    (file,) = Path(machine, "inbox").glob("*.json")
    assert json.loads(file.read_bytes())["branch"] == "try/1"


def test_without_a_project_the_server_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the user's own memories are takes more to find out than a hook may import."""
    (tmp_path / "nowhere").mkdir()
    monkeypatch.chdir(tmp_path / "nowhere")
    data = json.dumps({"cwd": str(tmp_path / "nowhere"), "session_id": "s"}).encode()
    done = run_hook("session-start", data)

    assert context_of(json.loads(done.stdout), "SessionStart") == ASK_FIRST
    assert run_hook("session-end", data).stdout == b""
    assert list((tmp_path / "nowhere").iterdir()) == []


@pytest.mark.parametrize(
    ("event", "data", "said"),
    [
        ("pre-tool-use", b"{}", "no hook 'pre-tool-use'; there are session-start"),
        ("", b"{}", "no hook ''"),
        ("stop", b"", "no JSON object in UTF-8"),
        ("stop", b"[1]", "no JSON object in UTF-8"),
        ("stop", b"\xff\xfe{", "no JSON object in UTF-8"),
        ("session-end", b"{", "no JSON object in UTF-8"),
        ("session-start", b"[" * 100_000, "no JSON object in UTF-8"),
    ],
)
def test_whatever_goes_wrong_is_one_line_and_no_failure(
    project: Path, event: str, data: bytes, said: str
) -> None:
    """A session never breaks because of its memory, and the user sees that something is wrong."""
    done = run_hook(event, data, CLAUDE_PROJECT_DIR=str(project))
    message = json.loads(done.stdout)["systemMessage"]

    assert done.returncode == 0
    assert said in message
    assert len(message.splitlines()) == 1
    assert (said in done.stderr.decode()) == (event == "session-end")


def test_a_folder_that_cannot_be_written_is_said(project: Path) -> None:
    """A file stands where the folder must be: nothing is lost in silence."""
    machine = machine_dir(project)
    machine.parent.mkdir(parents=True)
    machine.write_text("mine", "utf-8")
    answer = hook("post-compact", {"compact_summary": "x"}, project)

    assert "the hook post-compact did nothing" in answer["systemMessage"]


def half_told(event: str, project: Path) -> "subprocess.Popen[bytes]":
    """The command with half an event on its stdin, which stays open."""
    running = subprocess.Popen(
        [sys.executable, "-m", "memory_mcp", "hook", event],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(project)},
    )
    assert running.stdin is not None
    running.stdin.write(b'{"session_id": ')
    running.stdin.flush()
    return running


def test_a_stdin_that_never_ends_is_not_waited_for(project: Path) -> None:
    """Nor does the interpreter hang at its end, with a thread that still reads."""
    with half_told("session-end", project) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait(timeout=20) == 0

    assert "took longer than 1 s" in json.loads(said)["systemMessage"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send there")
def test_ctrl_c_ends_a_hook_as_it_ends_every_command(project: Path) -> None:
    """Once, with 130 and a sentence: somebody typed the command to see what it says."""
    from fcntl import ioctl  # noqa: PLC0415
    from termios import FIONREAD  # noqa: PLC0415

    # tests that run in the background are born with it ignored, and a child would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with half_told("stop", project) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        while ioctl(process.stdin, FIONREAD, b"\0" * 4) != b"\0" * 4:  # until it reads
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(timeout=20) == 130

    assert said == b"memory-mcp: Interrupted. What was reported as stored is stored.\n"


def test_an_event_beyond_all_measure_is_refused(project: Path) -> None:
    """Everything has a limit."""
    data = b'{"compact_summary": "' + b"x" * 9_000_000
    done = run_hook("post-compact", data, CLAUDE_PROJECT_DIR=str(project))

    assert "has more than 8,388,608 bytes" in json.loads(done.stdout)["systemMessage"]


def test_an_inbox_that_nobody_works_off_stops_growing(project: Path) -> None:
    """It is said, rather than filling the disk."""
    inbox = machine_dir(project) / "inbox"
    inbox.mkdir(parents=True)
    for number in range(1_000):
        (inbox / f"{number}.json").touch()
    answer = hook("post-compact", {"compact_summary": "x"}, project)

    assert "is full: run `memory-mcp doctor`" in answer["systemMessage"]
    assert len(list(inbox.iterdir())) == 1_000


def test_a_hook_imports_nothing_but_the_standard_library(project: Path) -> None:
    """What it imports is what it costs, at every turn of every session."""
    script = (
        "import sys\n"
        "sys.argv[1:] = ['hook', 'session-start']\n"
        "from memory_mcp.__main__ import main\n"
        "main()\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
    )
    render(project, "- so")
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=b"{}", capture_output=True, check=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(project)},
    )  # fmt: skip
    loaded = set(done.stderr.decode().split())
    slow = {"argparse", "asyncio", "logging", "pydantic", "mcp", "subprocess", "uuid", "hashlib"}

    assert b"Now:" in done.stdout
    assert not slow & loaded
    assert {name for name in loaded if name.startswith("memory_mcp.")} == {
        "memory_mcp.__main__", "memory_mcp.hooks.run", "memory_mcp.hooks", "memory_mcp.rendered",
        "memory_mcp.locations", "memory_mcp.safe_files", "memory_mcp.fence",
        *(f"memory_mcp.hooks.{each}" for each in ("files", "opening", "place", "transcript")),
    }  # fmt: skip


def test_options_before_the_command_are_no_hindrance() -> None:
    """`memory-mcp --json hook x` goes the long way, and does the same."""
    done = subprocess.run(
        [sys.executable, "-m", "memory_mcp", "--json", "hook", "nothing"],
        capture_output=True,
        check=True,
    )

    assert "no hook 'nothing'" in json.loads(done.stdout)["systemMessage"]


def test_whoever_asks_for_help_is_told_who_calls_it() -> None:
    """A person who tries the command must not be left with a line of JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "memory_mcp", "hook", "--help"], capture_output=True, check=True
    )
    said = " ".join(done.stdout.decode().split())

    assert "usage: memory-mcp hook" in said
    assert "What Claude Code calls" in said
    assert "session-start, post-compact, stop or session-end" in said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_what_a_hook_leaves_is_the_users_alone(project: Path) -> None:
    """A summary may hold a secret until it is worked off, and machines are shared."""
    hook("post-compact", {"compact_summary": "password=hunter2"}, project)
    hook("stop", {}, project)
    machine = machine_dir(project)
    left = [*machine.glob("inbox/*"), *machine.glob("sessions/*")]

    assert len(left) == 2
    assert {oct(file.stat().st_mode & 0o777) for file in left} == {"0o600"}
    folders = {oct((machine / name).stat().st_mode & 0o777) for name in ("inbox", "sessions")}
    assert folders == {"0o700"}


def test_a_session_on_another_branch_takes_its_hooks_along(project: Path) -> None:
    """The server notes where it went; a server that begins is where the settings say."""
    render(project, "- on main")
    render(project, "- on try", branch="try/1")
    amend_session(str(machine_dir(project)), SESSION, branch="try/1")
    given = {"source": "compact"}
    assert "- on try" in context_of(hook("session-start", given, project), "SessionStart")
    hook("post-compact", {"compact_summary": "x"}, project)
    assert [event["branch"] for event in dropped(project)] == ["try/1"]

    for source in ("resume", "compact"):  # the second one: the note is gone
        given = {"source": source}
        assert "- on main" in context_of(hook("session-start", given, project), "SessionStart")


@pytest.mark.parametrize("setting", ["MEMORY_STATE_DIR", "MEMORY_PROJECT_DIR", "MEMORY_HOME"])
def test_a_relative_folder_is_the_servers(
    project: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks run wherever the agent went to; the server stays where it began."""
    (project / "own").mkdir()
    environment = {"CLAUDE_PROJECT_DIR": str(project), "MEMORY_USER": "ada", setting: "own"}
    settings = read_settings(environment)
    places = find_places(settings)
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    place = find_place(environment, {"cwd": str(project / "deep")})

    assert place.state == str(places.state_dir)
    assert (place.user, place.home) == (settings.user, str(settings.home or ""))


def test_noted_times_are_those_of_the_event(project: Path) -> None:
    """In UTC, whatever the clock on the wall says."""
    before = time.gmtime()
    hook("post-compact", {"compact_summary": "x"}, project, TZ="Asia/Tokyo")
    (event,) = dropped(project)

    assert event["at"] >= time.strftime("%Y-%m-%dT%H:%M:%S", before)
    assert event["at"] < time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 60))
