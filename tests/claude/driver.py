"""The real Claude Code as a test drives it: no login, no network, and folders of its own.

`MEMORY_TEST_CLAUDE` names its binary; without, npm fetches the version below once and keeps it in
the user's cache. A `Session` is one process that is given prompt after prompt, as an application
does it that has Claude Code inside; `/compact` works there too. What the model saw is in the
`MessagesApi` that the process talks to.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final

import pytest
from messages_api import Json, MessagesApi, Seen, text_of
from paths import ROOT
from platformdirs import user_cache_path

__all__ = [
    "PLUGIN", "ROOT", "SERVER", "ClaudeCode", "Json", "Session", "Turn", "cancelling",
    "claude_binary",
]  # fmt: skip

PACKAGE: Final = "@anthropic-ai/claude-code"
VERSION: Final = "2.1.329"
"""What the tests were made with; npm would choose an older one for an older Node."""

PLUGIN: Final = ROOT / "integrations" / "claude-code"
SERVER: Final = "mcp__plugin_memory-mcp_memory"
"""How Claude Code calls the plugin's server; its tools follow after two more underscores."""

TURN_SECONDS_MAX: Final = 60.0
"""A turn takes one or two seconds here; a busy machine gets patience, a hang gets an end."""

INSTALL_SECONDS_MAX: Final = 240.0
REASON_CHARS: Final = 300
TAIL_CHARS: Final = 3_000
"""How much of each log a failure shows."""

_GIVEN: Final = os.environ.get("MEMORY_TEST_CLAUDE", "")
_ANYWHERE: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "MEMORY_HOME")


def claude_binary() -> Path:
    """The binary. Skips, with the reason, where it cannot be had; a wrong name is a failure."""
    if _GIVEN:
        assert Path(_GIVEN).is_file(), f"MEMORY_TEST_CLAUDE={_GIVEN!r} is no file"
        return Path(_GIVEN)
    folder = user_cache_path("memory-mcp-tests", appauthor=False) / f"claude-code-{VERSION}"
    if not folder.is_dir():
        _fetch(folder)
    native = (folder / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude*")
    found = [path for path in native if path.name in ("claude", "claude.exe")]
    assert found, f"no Claude Code for this machine in {folder}; remove that folder to fetch again"
    return found[0]


def _fetch(folder: Path) -> None:
    """Have npm fetch it beside its place, and put it there when it is whole."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("Claude Code is fetched by npm, which is not here; or set MEMORY_TEST_CLAUDE")
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        done = subprocess.run(
            [npm, "install", "--prefix", str(fresh), "--ignore-scripts", "--no-audit", "--no-fund",
             f"{PACKAGE}@{VERSION}"],
            capture_output=True, encoding="utf-8", check=False, timeout=INSTALL_SECONDS_MAX,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"npm cannot fetch {PACKAGE}@{VERSION}: {done.stderr[:REASON_CHARS]}")
        with suppress(OSError):  # another process put the same one there first
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@dataclass(frozen=True)
class Turn:
    """What came of one prompt: the answer, the events on the way, and what the model saw."""

    result: Json
    events: list[Json]
    seen: list[Seen]

    @property
    def answer(self) -> str:
        """The last word."""
        return self.result["result"]

    @property
    def first(self) -> Seen:
        """What the model saw with the prompt."""
        return next(seen for seen in self.seen if seen.of_agent)

    @property
    def last(self) -> Seen:
        """What it saw in the end, all answers of tools included."""
        return [seen for seen in self.seen if seen.of_agent][-1]

    def results(self) -> list[str]:
        """What the tools answered in this turn, in their order."""
        messages = [event["message"] for event in self.events if event["type"] == "user"]
        blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
        return [text_of(block) for block in blocks if block["type"] == "tool_result"]

    def said(self, hook: str) -> list[Json]:
        """How the runs of a hook ended, such as `Stop` or `SessionStart:compact`."""
        return [e for e in self.events if e.get("subtype") == "hook_response"
                and e["hook_name"] == hook]  # fmt: skip


@dataclass
class ClaudeCode:
    """One installation: its binary, a home of its own, and the project it works on."""

    binary: Path
    home: Path
    project: Path
    api: MessagesApi
    prefix: str
    options: list[str] = field(default_factory=list[str])
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)

    def call(self, tool: str, **arguments: Any) -> str:
        """The line of a prompt that has the model call one of our tools."""
        return f"CALL {self.prefix}{tool} {json.dumps(arguments)}"

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One of its commands, such as `mcp list`; it must end well."""
        return self._run(str(self.binary), *arguments)

    def memory(self, *arguments: str) -> str:
        """What `memory-mcp` says to the same user, in the same project."""
        return self._run("memory-mcp", *arguments).stdout

    def transcript(self) -> list[Json]:
        """The entries of the newest transcript, as far as they are written."""
        files = list((self.home / "claude" / "projects").glob("*/*.jsonl"))
        newest = max(files, key=lambda file: file.stat().st_mtime, default=None)
        if newest is None:
            return []
        whole = newest.read_text("utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.project, env=self.environ(), stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", check=False, timeout=TURN_SECONDS_MAX,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
        return done

    @contextmanager
    def session(self, *arguments: str, **environment: str) -> Generator["Session"]:
        """A session from its first prompt to its end, hooks of the end included."""
        log = self.home / "debug.log"
        with (self.home / "stderr.log").open("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [self.binary, "--print", "--input-format", "stream-json", "--output-format",
                 "stream-json", "--verbose", "--include-hook-events", "--debug-file", str(log),
                 *self.options, *arguments],
                cwd=self.project, env={**self.environ(), **environment},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8",
            )  # fmt: skip
            session = Session(process, self.api, [log, Path(errors.name)])
            try:
                yield session
                if process.poll() is None:
                    session.end()
            finally:
                session.kill()

    def environ(self) -> dict[str, str]:
        """Nothing of the machine's own set-up, and no way to any other machine."""
        kept = {name: os.environ[name] for name in _ANYWHERE if name in os.environ}
        own = str(Path(sys.executable).parent)  # where `memory-mcp` is, too
        return {
            **kept,
            "PATH": os.pathsep.join([own, kept.get("PATH", "")]),
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / "claude"),
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "none-needed",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECTION_NONBLOCKING": "0",  # the first prompt waits for the servers
            "MEMORY_PROVIDER": "local",
            "MEMORY_USER": "ada",
            **self.environment,
        }


def cancelling(_: Json) -> Json:
    """What a user does who is not there; `claude -p` with a plain prompt answers the same."""
    return {"action": "cancel"}


class Session:
    """A running Claude Code: a prompt goes in, and what became of it comes out."""

    def __init__(
        self, process: subprocess.Popen[str], api: MessagesApi, logs: Sequence[Path]
    ) -> None:
        self._process = process
        self._api = api
        self._logs = logs
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.id = ""
        self.user: Callable[[Json], Json] = cancelling
        self.questions: list[Json] = []
        self._reader = Thread(target=self._read, args=[_pipe(process.stdout)], daemon=True)
        self._reader.start()

    def ask(self, *lines: str) -> Turn:
        """Give it a prompt and wait until the turn is over."""
        before = len(self._api.requests)
        content = {"role": "user", "content": "\n".join(lines)}
        self._say({"type": "user", "message": content})
        events: list[Json] = []
        until = time.monotonic() + TURN_SECONDS_MAX
        while not events or events[-1]["type"] != "result":
            events.append(self._next(lines, until))
            if events[-1]["type"] == "control_request":
                self._settle(events[-1])
        self.id = events[-1]["session_id"]
        assert not events[-1].get("is_error"), f"{events[-1]}\n{self._told()}"
        return Turn(events[-1], events, self._api.requests[before:])

    def end(self) -> list[Json]:
        """Say that nothing more comes, and wait until it is gone; what it still said."""
        _pipe(self._process.stdin).close()
        events: list[Json] = []
        until = time.monotonic() + TURN_SECONDS_MAX
        while (line := self._line("the end of the session", until)) is not None:
            events.append(json.loads(line))
        status = self._process.wait(TURN_SECONDS_MAX)
        assert status == 0, f"Claude Code ended with {status}\n{self._told()}"
        return events

    def kill(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(TURN_SECONDS_MAX)
        self._reader.join(TURN_SECONDS_MAX)
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()

    def started(self) -> list[int]:
        """Every process below it, by its id; where the system tells."""
        found, ahead = list[int](), [self._process.pid]
        while ahead:
            for below in Path(f"/proc/{ahead.pop()}/task").glob("*/children"):
                ahead += map(int, below.read_text("ascii").split())
                found += ahead
        return sorted(set(found))

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            self._lines.put(line)
        self._lines.put(None)

    def _say(self, message: Json) -> None:
        stdin = _pipe(self._process.stdin)
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()

    def _settle(self, asked: Json) -> None:
        """Answer what Claude Code asks whoever has it inside: forms, and nothing else."""
        request = asked["request"]
        assert request["subtype"] == "elicitation", f"{asked}\n{self._told()}"
        self.questions.append(request)
        given = self.user(request)
        answer = {"subtype": "success", "request_id": asked["request_id"], "response": given}
        self._say({"type": "control_response", "response": answer})

    def _next(self, prompt: Sequence[str], until: float) -> Json:
        line = self._line(f"the answer to {prompt[0]!r}", until)
        assert line is not None, f"Claude Code ended before it answered\n{self._told()}"
        return json.loads(line)

    def _line(self, waited_for: str, until: float) -> str | None:
        try:
            return self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise AssertionError(
                f"{waited_for} did not come within {TURN_SECONDS_MAX:.0f} s\n{self._told()}"
            ) from None

    def _told(self) -> str:
        """The ends of its logs, for whoever has to find out why."""
        tails = [(log, log.read_text("utf-8", "replace")) for log in self._logs if log.exists()]
        return "\n".join(f"--- {log.name}\n{text[-TAIL_CHARS:]}" for log, text in tails)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # every session is started with pipes
    return pipe
