"""Whatever kills a client, its server ends: else a day's work leaves a dozen of them behind."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from client import STORED
from command_line import Run
from doors import process, records

from memory_mcp import shutdown as ending
from memory_mcp.shutdown import ENDING_SECONDS_MAX

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")

CLIENT = Path(__file__).with_name("client.py")
HANG_SECONDS = 60
"""A busy machine gets patience, a hang gets an end."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", ["quiet", "asking", "watching", "inherited"])
def test_a_killed_client_leaves_no_server_and_loses_nothing(
    project: Path, how: str, run: Run
) -> None:
    """Seen with a real client: the databases stayed open, and their threads kept it alive."""
    alive, held = os.pipe()
    os.set_inheritable(held, True)  # noqa: FBT003
    client = subprocess.Popen(
        [sys.executable, str(CLIENT), how, str(held)],
        env=process(project).env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[held],
        text=True,
    )
    os.close(held)
    with client:
        assert client.stdout is not None
        said = client.stdout.readline()
        heir = client.stdout.readline()
        assert client.wait(HANG_SECONDS) == -signal.SIGKILL
    try:
        ended, _, _ = select.select([alive], [], [], HANG_SECONDS)  # the end of what it holds open
    finally:
        os.close(alive)
        if heir:
            os.kill(int(heir), signal.SIGKILL)

    assert ended, "the server lives on"
    assert '\\"success\\":true' in said
    assert [record["content"] for record in records(project / ".claude" / "memory")] == [STORED]
    status, out, _ = run("--json", "search", "orders")
    assert status == 0
    assert STORED in out


def test_it_is_over_within_the_five_seconds_that_are_promised() -> None:
    """The look and the orderly end together; what hangs longer is ended as it is."""
    assert ending._POLL_SECONDS + ENDING_SECONDS_MAX < 5  # pyright: ignore[reportPrivateUsage]


def test_what_hangs_is_ended_all_the_same() -> None:
    """A thread that waits for a lock or a disk cannot be ended any other way."""
    hanging = (
        "import threading; from memory_mcp.shutdown import end_within;"
        "threading.Thread(target=threading.Event().wait).start(); end_within(0.1, 7)"
    )
    assert subprocess.run([sys.executable, "-c", hanging], check=False, timeout=60).returncode == 7
