"""`memory-mcp log --follow`: what other processes do, as it happens."""

import json
import subprocess
import sys
from signal import SIGINT
from typing import IO, Any

import pytest
from command_line import Run, as_json

if sys.platform == "win32":
    pytest.skip("SIGINT is sent to a whole console there", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("project")


def follow(*options: str) -> subprocess.Popen[str]:
    """A process that follows, once it does."""
    command = [sys.executable, "-m", "memory_mcp", "log", "--follow", *options]
    pipe = subprocess.PIPE
    running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert "Ctrl-C ends it" in _open(running.stderr).readline()
    return running


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def read(running: subprocess.Popen[str]) -> dict[str, Any]:
    return json.loads(_open(running.stdout).readline())


def test_what_another_process_does_is_told_once(run: Run) -> None:
    """A line each, in order; Ctrl-C is how it ends, so nothing is said of it."""
    run("add", "Prices are in cents.")
    with follow("--json") as running:
        memory = as_json(run, "add", "Sessions live in Redis.")["memoryId"]
        told = read(running)
        assert (told["event"], told["memoryId"]) == ("memory", memory)
        assert (told["content"], told["origin"]["by"]) == ("Sessions live in Redis.", "user")
        newer = as_json(run, "update", memory, "Sessions live in cookies.")["memoryId"]
        told = read(running)
        assert (told["event"], told["memoryId"]) == ("correction", newer)
        assert told["supersedes"] == [memory]
        run("checkpoint", "Sealed.", "--phase", "1")
        told = read(running)
        assert (told["event"], told["move"]["phase"]) == ("checkpoint", 1)
        run("fork", "spike")
        assert read(running)["event"] == "fork"
        run("forget", newer)
        told = read(running)
        assert (told["event"], newer in told["erases"]) == ("forget", True)
        run("backtrack", "start", "--mode", "continue")
        assert read(running)["event"] == "backtrack"
        running.send_signal(SIGINT)
        assert running.communicate() == ("", "")
    assert running.returncode == 130


def test_it_ends_when_the_reader_of_the_pipe_leaves(run: Run) -> None:
    """Nothing is written that would tell it; a person reads one line for each event until then."""
    with follow() as running:
        run("add", "Sessions live in Redis.", "--kind", "decision")
        line = _open(running.stdout).readline()
        assert line[8:].startswith("  memory      Sessions live in Redis.  decision ")
        assert line.endswith("  [main, user, cli]\n")
        _open(running.stdout).close()
        assert running.wait() == 141
        assert _open(running.stderr).read() == ""
