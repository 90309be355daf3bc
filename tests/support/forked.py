"""The real command in a process of its own, forked from one that has imported it already.

Importing takes longer than most of what a command does. Each process has its own memory, folder,
environment, streams and terminal. Where nothing can be forked, the command is started as it is.
"""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import get_context, set_forkserver_preload
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from typing import Any, Final, Protocol

__all__ = ["Started", "start"]

_IMPORTED: Final = ("memory_mcp.__main__", "memory_mcp.cli.commands", "memory_mcp.server.main",
                    "memory_mcp.server.http", "uvicorn")  # fmt: skip


class Started(Protocol):
    """A command that runs."""

    @property
    def returncode(self) -> int | None:
        """How it ended; negative where a signal ended it."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send it a signal, unless it has ended."""

    def kill(self) -> None:
        """End it at once."""

    def wait(self) -> int:
        """Wait until it has ended; how it did."""
        ...


def start(
    arguments: Sequence[str], streams: tuple[int, int, int], environment: Mapping[str, str]
) -> Started:
    """Start the command in a session of its own, with these as its stdin, stdout and stderr."""
    if sys.platform == "win32":
        stdin, stdout, stderr = streams
        command = [sys.executable, "-m", "memory_mcp", *arguments]
        return subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=stderr, env=dict(environment)
        )
    return _Forked(arguments, streams, environment)


class _Forked:
    """A command that was forked."""

    def __init__(
        self,
        arguments: Sequence[str],
        streams: tuple[int, int, int],
        environment: Mapping[str, str],
    ) -> None:
        set_forkserver_preload([*_IMPORTED])
        passed = [DupFd(stream) for stream in streams]
        given = (list(arguments), passed, dict(environment), os.getcwd())  # noqa: PTH109
        self._process: BaseProcess = get_context("forkserver").Process(target=_run, args=given)
        self._process.start()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, sig: int, /) -> None:
        if self._process.is_alive() and self._process.pid:
            os.kill(self._process.pid, sig)

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        self._process.join()
        return self._process.exitcode or 0


def _run(arguments: list[str], passed: list[Any], environment: dict[str, str], folder: str) -> None:
    """Be the command; never return."""
    status = 1
    try:
        os.setsid()
        for target, stream in enumerate([one.detach() for one in passed]):
            os.dup2(stream, target)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, closefd=False)  # noqa: SIM115  # as at an interpreter's start
            for number, mode in enumerate("rww")
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = ["memory-mcp", *arguments]
        from memory_mcp import shutdown as ending  # noqa: PLC0415
        from memory_mcp.__main__ import main  # noqa: PLC0415

        ending.__dict__["_PARENT"] = os.getppid()
        status = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001  # as the interpreter would
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)
