"""The load of `benchmarks/http_load.py`, shortly: server and database are killed under it."""

import subprocess
import sys
from pathlib import Path

import pytest
from postgres import private_server

LOAD = Path(__file__).parents[2] / "benchmarks" / "http_load.py"


@pytest.mark.nightly
@pytest.mark.parametrize("given", [(), ("--postgres",)], ids=["files", "postgres"])
def test_no_acknowledged_memory_is_lost_when_server_and_database_are_killed(
    given: tuple[str, ...],
) -> None:
    """Clients that go on get what was acknowledged, and what waited for the database is there."""
    if given:
        with private_server():  # skips where there is none
            pass
    options = ("--clients", "16", "--seconds", "60", "--kill-every", "24", *given)
    done = subprocess.run(
        [sys.executable, str(LOAD), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 lost" in done.stdout
