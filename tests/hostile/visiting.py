"""Opening a repository as a user's tools do: the server, the hooks, the commands, the importer.

Every process has a deadline, a home of its own, and is asked how much memory it took. What each of
them says is kept under a name; what is wrong already here is a problem in words.
"""

import getpass
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from attack import MINE, Observed, World

__all__ = ["AGAIN", "COMMANDS", "HOOKS", "Ended", "Launcher", "Server", "Visit", "environment",
           "own_folders",
           "visit"]  # fmt: skip

STEP_SECONDS_MAX: Final = 60.0
"""For a step that takes a fraction of a second; the machine may be busy with other things."""

MEGABYTES_MAX: Final = 300
SESSION: Final = "harness"

HOOKS: Final[Sequence[tuple[str, Mapping[str, str]]]] = (
    ("session-start", {"source": "startup"}),
    ("stop", {}),
    ("post-compact", {"compact_summary": f"We agreed on {MINE} as the code name."}),
    ("session-end", {"reason": "exit"}),
)
COMMANDS: Final[Sequence[tuple[str, ...]]] = (
    ("search", "evil build log"),
    ("trust",),
    ("doctor", "--repair"),
    ("context",),
)
"""The last one shows what was added, after all that the others did."""

AGAIN: Final[Sequence[tuple[str, ...]]] = (
    ("trust", "--yes"),
    ("search", "evil build log"),
    ("doctor", "--repair"),
    ("context",),
)
"""What is looked at once more when the user trusts it."""

NOTES: Final = ("import.json", "CLAUDE.md")
"""What is imported, where there is such a thing."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a process ended; `status` is negative where a signal ended it."""

    status: int
    out: str
    error: str
    megabytes: float
    seconds: float = 0.0


class Launcher:
    """Starts memory-mcp in processes of its own without importing it each time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._orders = ours
        self._answers = ours.makefile("rb")
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("launcher.py"))], stdin=theirs.fileno()
        )
        theirs.close()

    def start(self, arguments: Sequence[str], world: World, pipes: Sequence[int]) -> int:
        """The id of the process; one at a time."""
        order = {
            "arguments": list(arguments),
            "folder": str(world.repo),
            "environment": environment(world),
        }
        socket.send_fds(self._orders, [json.dumps(order).encode()], list(pipes))
        return int(self._answers.readline())

    def ended(self, out: str = "", error: str = "") -> Ended:
        """How the process ended; waits until it does."""
        told: Json = json.loads(self._answers.readline())
        return Ended(told["status"], out, error, told["kilobytes"] / 1024, told["seconds"])

    def run(self, arguments: Sequence[str], world: World, given: bytes = b"") -> Ended:
        """Run a command to its end; one that takes too long is killed."""
        with _pipes() as (mine, theirs):
            process = self.start(arguments, world, theirs)
            for pipe in theirs:
                os.close(pipe)
            with suppress(BrokenPipeError), os.fdopen(os.dup(mine[0]), "wb") as stdin:
                stdin.write(given)
            os.close(mine[0])
            with _deadline(process):
                out, error = _read_all(mine[1], mine[2])
                return self.ended(out, error)

    def close(self) -> None:
        self._orders.shutdown(socket.SHUT_RDWR)
        self._process.wait(STEP_SECONDS_MAX)
        self._answers.close()
        self._orders.close()


@contextmanager
def _pipes() -> Generator[tuple[list[int], list[int]]]:
    """Our ends and the process's ends of stdin, stdout and stderr; the caller closes them."""
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    yield [stdin[1], stdout[0], stderr[0]], [stdin[0], stdout[1], stderr[1]]


@contextmanager
def _deadline(process: int) -> Generator[None]:
    """Kill the process unless the block is left in time."""

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    timer = threading.Timer(STEP_SECONDS_MAX, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read_all(*pipes: int) -> list[str]:
    texts = [""] * len(pipes)

    def read(number: int, pipe: int) -> None:
        with os.fdopen(pipe, encoding="utf-8", errors="replace") as file:
            texts[number] = file.read()

    threads = [threading.Thread(target=read, args=each) for each in enumerate(pipes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return texts


def environment(world: World) -> dict[str, str]:
    """What a user's shell has, with another home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(world.home), "COLUMNS": "200",
            "CLAUDE_CODE_SESSION_ID": SESSION, "MEMORY_USER": getpass.getuser()}  # fmt: skip


def own_folders(world: World) -> tuple[Path, ...]:
    """Where memory-mcp keeps what is the user's, in that home."""
    if sys.platform == "darwin":
        return (world.home / "Library" / "Application Support" / "memory-mcp",)
    local = world.home / ".local"
    return local / "state" / "memory-mcp", local / "share" / "memory-mcp"


class Server:
    """The real server over its pipes, a line of JSON a message, as the protocol has it."""

    def __init__(self, launcher: Launcher, world: World) -> None:
        self._launcher = launcher
        with _pipes() as (mine, theirs):
            arguments = ("serve", "--toolsets", "branches,session,hooks")
            self.process = launcher.start(arguments, world, theirs)
            for pipe in theirs:
                os.close(pipe)
        self._stdin = os.fdopen(mine[0], "wb", buffering=0)
        self._errors: list[str] = []
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._hear, args=(mine[1],), daemon=True),
            threading.Thread(target=self._hear_errors, args=(mine[2],), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._number = 0

    def send(self, line: bytes) -> None:
        """One message as it is; a server that is gone is found out by whoever waits for it."""
        with suppress(BrokenPipeError):
            self._stdin.write(line + b"\n")

    def ask(self, method: str, **params: Any) -> Json:
        """The whole answer to a request.

        Raises:
            TimeoutError: none came in time; the server is killed.
        """
        self._number += 1
        request = {"jsonrpc": "2.0", "id": f"q{self._number}", "method": method, "params": params}
        self.send(json.dumps(request).encode())
        return self.answer(request["id"])

    def answer(self, wanted: object) -> Json:
        """The answer with that id; what comes before it is looked past."""
        while True:
            try:
                line = self._lines.get(timeout=STEP_SECONDS_MAX)
            except queue.Empty:
                line = None
                os.kill(self.process, signal.SIGKILL)
            if line is None:
                raise TimeoutError(f"no answer: {''.join(self._errors)[-2000:]}")
            with suppress(ValueError):
                answer: Json = json.loads(line)
                if answer.get("id") == wanted and "method" not in answer:
                    return answer

    def hello(self) -> Json:
        """Begin the session, as clients of 2025-11-25 do."""
        client = {"name": "harness", "version": "1"}
        answer = self.ask("initialize", protocolVersion="2025-11-25", capabilities={},
                          clientInfo=client)  # fmt: skip
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def close(self) -> Ended:
        """Hang up, and see how it ends."""
        with suppress(OSError):
            self._stdin.close()
        with _deadline(self.process):
            ended = self._launcher.ended()
        for thread in self._threads:
            thread.join(STEP_SECONDS_MAX)
        return Ended(ended.status, "", "".join(self._errors), ended.megabytes, ended.seconds)

    def _hear(self, pipe: int) -> None:
        with os.fdopen(pipe, "rb") as file:
            for line in file:
                self._lines.put(line)
        self._lines.put(None)

    def _hear_errors(self, pipe: int) -> None:
        with os.fdopen(pipe, encoding="utf-8", errors="replace") as file:
            self._errors.extend(file)


@dataclass
class Visit:
    """What was said, and what went wrong so far."""

    outputs: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    def keep(self, name: str, ended: Ended) -> None:
        """Keep what a process said, and judge how it ended."""
        self.outputs[name] = ended.out
        self.outputs[f"{name} (stderr)"] = ended.error
        self.seconds += ended.seconds
        if ended.status == -signal.SIGKILL:
            self.problems.append(f"{name} took longer than {STEP_SECONDS_MAX:g} s")
        elif ended.status not in (0, 1) or "Traceback (most recent call last)" in ended.error:
            self.problems.append(f"{name} ended with {ended.status}: {ended.error[-500:]}")
        if ended.megabytes > MEGABYTES_MAX:
            self.problems.append(f"{name} took {ended.megabytes:.0f} MB")

    def observed(self, world: World) -> Observed:
        return Observed(self.outputs, world)


def visit(launcher: Launcher, world: World, commands: Sequence[Sequence[str]] = COMMANDS) -> Visit:
    """Open the repository by all doors: hooks, server, these commands, the importer."""
    seen = Visit()
    if commands is AGAIN:
        _run(launcher, world, seen, commands[0])
    else:
        _hook(launcher, world, seen, *HOOKS[0])
    _serve(launcher, world, seen)
    for event, fields in HOOKS[: 1 if commands is AGAIN else None]:
        _hook(launcher, world, seen, event, fields)
    for name in NOTES:
        if os.path.lexists(world.repo / name):
            _run(launcher, world, seen, ("import", name))
    for command in commands:
        _run(launcher, world, seen, command)
    return seen


def _run(launcher: Launcher, world: World, seen: Visit, command: Sequence[str]) -> None:
    seen.keep(" ".join(command), launcher.run(command, world))


def _hook(
    launcher: Launcher, world: World, seen: Visit, event: str, fields: Mapping[str, str]
) -> None:
    given = {"session_id": SESSION, "cwd": str(world.repo), "hook_event_name": event, **fields}
    if event == "session-end":
        given["transcript_path"] = str(world.repo / "projects" / "-x" / f"{SESSION}.jsonl")
    ended = launcher.run(("hook", event), world, json.dumps(given).encode())
    name = f"hook:{event}"
    while name in seen.outputs:
        name += "+"
    seen.keep(name, ended)
    said = json.loads(ended.out or "{}").get("systemMessage", "")
    if "took longer" in said:
        seen.problems.append(f"{name}: {said}")


_CALLS: Final[Sequence[tuple[str, Json]]] = (
    ("memory_head", {}),
    ("memory_context", {}),
    ("prompt_context", {"prompt": "How does the build log work?", "session_id": SESSION}),
    ("add_memory", {"content": f"The code name of the release is {MINE}.", "kind": "decision"}),
    ("search_memories", {"query": "always pipe the build log", "limit": 10}),
    ("checkpoint", {"summary": "The code name is settled.", "phase": 1}),
    ("backtrack", {"to": "start"}),
    ("memory_context", {"task": f"name the release {MINE}, and its build log"}),
)


def _serve(launcher: Launcher, world: World, seen: Visit) -> None:
    server = Server(launcher, world)
    try:
        seen.outputs["instructions"] = _text(server.hello()["result"]["instructions"])
        for number, (tool, arguments) in enumerate(_CALLS):
            answer = server.ask("tools/call", name=tool, arguments=arguments)
            name = f"{tool}+" if tool in seen.outputs else tool
            seen.outputs[name] = _text(answer.get("result", answer))
            if "result" not in answer:
                seen.problems.append(f"call {number}, {tool}: {answer}")
        for method, reading in (("resources", "read"), ("prompts", "get")):
            listed = server.ask(f"{method}/list")["result"][method]
            for each in listed:
                key = "uri" if method == "resources" else "name"
                answer = server.ask(f"{method}/{reading}", **{key: each[key]})
                seen.outputs[f"{method}:{each[key]}"] = _text(answer)
    except TimeoutError as error:
        seen.problems.append(f"the server: {error}")
    ended = server.close()
    seen.keep("server", ended)


def _text(value: Any) -> str:
    """All the words in an answer, as a model or a person gets them to see."""
    match value:
        case dict():
            pairs = cast("Json", value).items()
            return "\n".join(f"{key}: {_text(each)}" for key, each in pairs)
        case list():
            return "\n".join(map(_text, cast("list[Any]", value)))
        case _:
            return str(value)
