"""Processes on one project that are started, listened to and killed."""

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Final

from paths import SUPPORT

__all__ = ["Crew", "crew_on", "line_of", "waiting"]

ANSWER_SECONDS_MAX: Final = 60
"""How long a worker may say nothing before the test gives up on it: no measure of speed."""

FAKES: Final = str(SUPPORT)
"""Where the tests' own adapters are; pytest finds them by itself, a process must be told."""


class Crew:
    """Processes of one script on one project, and everything that they were told is safe.

    Each is given the arguments and a name of its own.
    """

    def __init__(self, worker: Path, *arguments: str) -> None:
        self._command = [sys.executable, str(worker), *arguments]
        self._lines: Queue[tuple[str, str]] = Queue()
        self._running: list[tuple[subprocess.Popen[str], Thread]] = []
        self._started = 0
        self.safe: list[tuple[str, str]] = []

    def start(self, count: int) -> None:
        """Further processes."""
        for _ in range(count):
            self._started += 1
            command = [*self._command, f"worker{self._started}"]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": FAKES}
            )
            reader = Thread(target=self._read, args=(process,))
            reader.start()
            self._running.append((process, reader))

    def hear(self, count: int) -> None:
        """Wait until so many further things were acknowledged."""
        for _ in range(count):
            self.safe.append(self._lines.get(timeout=ANSWER_SECONDS_MAX))

    def kill(self, count: int) -> None:
        """Kill the oldest ones, wherever they are; what they still could say counts."""
        for process, reader in self._running[:count]:
            assert process.poll() is None, "a worker ended by itself"
            process.kill()
            reader.join()
            process.wait()
        del self._running[:count]
        while not self._lines.empty():
            self.safe.append(self._lines.get())

    def named(self, what: str) -> list[str]:
        """The names of what was acknowledged as this."""
        return [name for kind, name in self.safe if kind == what]

    def end(self) -> None:
        """Leave no process behind, also when a test fails."""
        for process, reader in self._running:
            process.kill()
            reader.join()
            process.wait()

    def _read(self, process: subprocess.Popen[str]) -> None:
        if process.stdout is None:
            raise AssertionError("started without a pipe")
        with process.stdout:
            for line in process.stdout:
                what, _, name = line.rstrip("\n").partition(" ")
                self._lines.put((what, name))


@contextmanager
def crew_on(worker: Path, *arguments: str) -> Generator[Crew]:
    """Processes that are gone after the block."""
    crew = Crew(worker, *arguments)
    try:
        yield crew
    finally:
        crew.end()


@contextmanager
def waiting(
    worker: Path, each: Sequence[Sequence[str]], name: str
) -> Generator[list[subprocess.Popen[str]]]:
    """A process for each of these arguments, which does something each time it is told."""
    with ExitStack() as ended:
        crew: list[subprocess.Popen[str]] = []
        for arguments in each:
            process = subprocess.Popen(
                [sys.executable, str(worker), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": FAKES},
            )
            ended.enter_context(process)
            ended.callback(process.kill)
            crew.append(process)
        for process in crew:
            assert line_of(process) == f"ready {name}"
        yield crew


def line_of(process: subprocess.Popen[str]) -> str:
    """What it says next."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")
