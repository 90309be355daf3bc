"""A client as thin as can be: JSON-RPC lines over the pipes of a server that was started here."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["NOTHING", "SERVER", "Wire", "started"]

SERVER: Final = (sys.executable, "-m", "memory_mcp", "serve")
NOTHING: Final = (sys.executable, str(Path(__file__).with_name("nothing.py")))
_PROTOCOL: Final = "2025-11-25"
_ROOT: Final = Path(__file__).resolve().parent.parent


class Wire:
    """One running server."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._calls = 0

    def hello(self) -> dict[str, Any]:
        """The first question a client asks, and its answer."""
        about = {"name": "bench", "version": "1"}
        asked = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": about}
        return self.ask("initialize", asked)

    def ready(self) -> None:
        """Tell the server that questions follow."""
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One question and its answer; what the server says in between is passed over."""
        self._calls += 1
        self._send({"id": self._calls, "method": method, "params": params})
        pipe = self.process.stdout
        for line in pipe or ():
            said = json.loads(line)
            if said.get("id") == self._calls:
                return said["result"]
        raise AssertionError(f"the server went away, code {self.process.wait()}")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call of a tool that must succeed."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise AssertionError(result)
        return result

    def _send(self, message: dict[str, Any]) -> None:
        pipe = self.process.stdin
        if pipe is None:
            raise AssertionError("no pipe")
        pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        pipe.flush()


@contextmanager
def started(command: tuple[str, ...], folder: Path, **settings: str) -> Generator[Wire]:
    """A server over the memories of that folder, until the block ends."""
    ours = ("MEMORY_", "ATOMIC_", "SUPERMEMORY_")
    known = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    known.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's Python keeps what it compiled
    (folder / "project").mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **known,
            "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), known.get("PYTHONPATH", "")]),
            "MEMORY_PROJECT_DIR": str(folder / "project"),
            "MEMORY_HOME": str(folder / "home"),
            "MEMORY_USER": "bench",
            "MEMORY_APPROVAL": "auto",
            "MEMORY_EMBEDDER": "none",
            **settings,
        },
    )
    try:
        yield Wire(process)
    finally:
        if process.stdin:
            process.stdin.close()
        process.wait(30)
        if process.stdout:
            process.stdout.close()
