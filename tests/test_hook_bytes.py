"""What Windows asks of a hook, on any machine: UTF-8 whatever the code page, paths as they come."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hooked import context_of, dropped, render, run_hook, transcript

TEXT = "Größe 5 µm, 日本語, 🙂 and a lone \ud83d half"

CODE_PAGES: dict[str, dict[str, str]] = {
    "cp1252": {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"},
    "ascii, strict": {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0", "LC_ALL": "POSIX"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
}
PATHS = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C.UTF-8"}
"""On Windows paths are Unicode whatever the code page; elsewhere the locale has to be."""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A project whose path has a space and letters that no code page has together."""
    folder = tmp_path / "C Users Jürgen 工作 & more"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("page", CODE_PAGES)
def test_bytes_go_in_and_out_whatever_the_code_page(project: Path, page: str) -> None:
    """One letter that it does not have would have cost the session its whole context."""
    check(project, CODE_PAGES[page])


def test_paths_have_spaces_and_letters_of_every_script(odd: Path) -> None:
    """That is where people's profiles are."""
    check(odd, PATHS)


def check(odd: Path, page: dict[str, str]) -> None:
    """Whatever goes in comes out as it was."""
    environment = page | {"CLAUDE_PROJECT_DIR": str(odd)}
    render(odd, "- Größe 5 µm, 日本語, 🙂")
    data = json.dumps({"compact_summary": TEXT, "cwd": str(odd)}, ensure_ascii=False)
    compacted = run_hook("post-compact", data.encode(errors="surrogatepass"), **environment)
    assert compacted.returncode == 0
    data = json.dumps({"compact_summary": TEXT, "session_id": "größe"})
    assert run_hook("post-compact", data.encode(), **environment).stdout == b""
    said = run_hook("session-start", b"{}", **environment).stdout

    assert "- Größe 5 µm, 日本語, 🙂\n" in context_of(json.loads(said), "SessionStart")
    assert [event["compact_summary"] for event in dropped(odd)] == [TEXT]
    assert said.isascii(), "no console has to know more"


def marked(text: bytes) -> bytes:
    """As PowerShell pipes it."""
    return b"\xef\xbb\xbf" + text


def in_lines(text: bytes) -> bytes:
    """As editors there end lines."""
    return text.replace(b"\n", b"\r\n") + b"\r\n"


def among_blanks(text: bytes) -> bytes:
    """As scripts echo it."""
    return b"\n\n" + text + b" \n"


@pytest.mark.parametrize("frame", [marked, in_lines, among_blanks])
def test_json_comes_as_shells_and_editors_write_it(
    project: Path, frame: Callable[[bytes], bytes]
) -> None:
    """PowerShell puts a mark in front, and line ends are its own."""
    text = json.dumps({"compact_summary": "x"}, indent=1).encode()
    done = run_hook("post-compact", frame(text), CLAUDE_PROJECT_DIR=str(project))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(dropped(project)) == 1


def test_a_path_in_any_language_is_carried_as_it_is(project: Path, tmp_path: Path) -> None:
    """A user's name stands in it, and stdin is bytes: no code page has a say."""
    file = transcript(tmp_path / "Jürgen Müller 寿司", session="C--x")
    data = json.dumps({"transcript_path": str(file), "session_id": "C--x"}).encode()
    here = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_CONFIG_DIR": str(file.parents[2])}
    done = run_hook("session-end", data, **here)
    (event,) = dropped(project)

    assert (done.stdout, done.stderr) == (b"", b"")
    assert event["transcript_path"] == str(file)


def test_no_process_and_no_shell_is_started(project: Path, tmp_path: Path) -> None:
    """Each would open a console window for a moment, at every turn."""
    script = (
        "import sys\n"
        "def watch(event, args):\n"
        "    if event in ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn', 'os.fork',"
        " 'os.startfile', 'os.spawn'):\n"
        "        sys.stderr.write(event)\n"
        "sys.addaudithook(watch)\n"
        "from memory_mcp.hooks.run import main\n"
        "main([sys.argv[1]])\n"
    )
    file = transcript(tmp_path, session="s")
    given = {"compact_summary": "x", "transcript_path": str(file), "session_id": "s"}
    here = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    for event in ("session-start", "post-compact", "stop", "session-end"):
        done = subprocess.run(
            [sys.executable, "-c", script, event],
            input=json.dumps(given).encode(),
            capture_output=True,
            check=True,
            env={**os.environ, **here},
        )
        assert done.stderr == b"", event
    assert len(dropped(project)) == 2


def test_the_output_may_be_closed(project: Path) -> None:
    """The client went away: there is nobody to tell, and no traceback to leave."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "memory_mcp", "hook", "session-start"],
        input=b"{}",
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(project)},
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")
