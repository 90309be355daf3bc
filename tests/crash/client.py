"""A client in a process of its own, which is killed: `python client.py HOW`, on inherited pipes.

It starts the real server, has it store one thing, says so and is killed by SIGKILL, as HOW says:
`quiet` with nothing under way, `asking` while answers are on their way to it, `watching` with a
stream of the later revision open, `inherited` while another process holds its ends of both pipes.
"""

import json
import os
import signal
import subprocess
import sys
from typing import IO, Any, Final

STORED: Final = "Orders live in PostgreSQL."

_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
_LATER: Final = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


def main(how: str, kept_open: int) -> None:
    """Store one thing, then die. The server holds `kept_open`, and nobody else does."""
    server = subprocess.Popen(
        [sys.executable, "-m", "memory_mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[kept_open],
        text=True,
    )
    os.close(kept_open)
    assert server.stdin is not None
    assert server.stdout is not None
    said = _Said(server.stdin)
    later = _LATER if how == "watching" else {}
    if not later:
        said("initialize", _HELLO)
        server.stdout.readline()
        said("notifications/initialized", {})
    said("tools/call", {"name": "add_memory", "arguments": {"content": STORED}, **later})
    sys.stdout.write(server.stdout.readline())
    sys.stdout.flush()
    match how:
        case "asking":
            for _ in range(40):
                said("tools/call", {"name": "search_memories", "arguments": {"query": "orders"}})
            server.stdout.readline()  # the first of many answers
        case "watching":
            wanted = {"resourcesListChanged": True, "resourceSubscriptions": ["memory://head"]}
            said("subscriptions/listen", {"notifications": wanted, **later})
            server.stdout.readline()
        case "inherited":
            pipes = [server.stdin.fileno(), server.stdout.fileno()]
            heir = subprocess.Popen(["sleep", "600"], pass_fds=pipes, stdout=subprocess.DEVNULL)  # noqa: S607
            sys.stdout.write(f"{heir.pid}\n")
            sys.stdout.flush()
        case _:
            pass
    os.kill(os.getpid(), signal.SIGKILL)


class _Said:
    """Messages to the server, numbered."""

    def __init__(self, stdin: IO[str]) -> None:
        self._stdin = stdin
        self._number = 0

    def __call__(self, method: str, params: dict[str, Any]) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            self._number += 1
            message["id"] = self._number
        self._stdin.write(json.dumps(message) + "\n")
        self._stdin.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
