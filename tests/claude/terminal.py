"""The real Claude Code as a person uses it: in a terminal, where alone there is a `/rewind`.

The screen is read without its escape sequences, which is enough to wait for a word on it. That a
turn is over is read in the transcript, where Claude Code notes how long it took.
"""

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from driver import TURN_SECONDS_MAX, ClaudeCode
from messages_api import Json, Seen

__all__ = ["Terminal", "open_terminal"]

_ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_ROWS_COLUMNS: Final = (50, 140)
_UP: Final = "\x1b[A"
_ENTER: Final = "\r"
_CLEAR: Final = "\x15"
"""Keys, as a terminal sends them; the last empties the input."""

_KEY_SECONDS: Final = 0.5
"""Between two keys: what is typed faster is taken for a paste."""
_SCREEN_CHARS: Final = 2_000


class Terminal:
    """Claude Code on the screen of a terminal, before its first prompt."""

    def __init__(self, claude: ClaudeCode, process: "subprocess.Popen[bytes]", screen: int) -> None:
        self._claude = claude
        self._process = process
        self._screen = screen
        self._shown = b""

    def ask(self, prompt: str) -> list[Seen]:
        """Type a prompt, and wait until the turn is over; what the model saw in it."""
        before, ended = len(self._claude.api.requests), self._count_turns()
        self._type(prompt)
        until = time.monotonic() + TURN_SECONDS_MAX
        while self._count_turns() == ended:
            self._read(until, f"the end of the turn {prompt[:60]!r}")
        return [seen for seen in self._claude.api.requests[before:] if seen.of_agent]

    def rewind(self, turns: int = 1) -> None:
        """Go back to before the last so many prompts, by the menu of `/rewind`."""
        self._type("/rewind")
        self.wait_for("Restore the code")
        for _ in range(turns):
            self._press(_UP)
        self._press(_ENTER)
        self.wait_for("Restore conversation")
        self._press(_ENTER)
        self._press(_CLEAR)  # the prompt that was taken back stands in the input

    def wait_for(self, text: str) -> None:
        """Wait until the screen has shown it since the last key."""
        until = time.monotonic() + TURN_SECONDS_MAX
        wanted = re.sub(r"\s", "", text)
        while wanted not in self._read_plain():
            self._read(until, repr(text))

    def _type(self, text: str) -> None:
        self._press(text)
        self._press(_ENTER)

    def _press(self, keys: str) -> None:
        self._shown = b""
        os.write(self._screen, keys.encode())
        until = time.monotonic() + _KEY_SECONDS
        while time.monotonic() < until:
            self._read(until + TURN_SECONDS_MAX, keys)

    def _read(self, until: float, waited_for: str) -> None:
        assert time.monotonic() < until, f"{waited_for} did not come:\n{self._tell()}"
        if select.select([self._screen], [], [], 0.1)[0]:
            try:
                self._shown += os.read(self._screen, 65_536)
            except OSError:
                raise AssertionError(f"Claude Code ended:\n{self._tell()}") from None

    def _read_plain(self) -> str:
        return re.sub(r"\s", "", _ESCAPES.sub(b"", self._shown).decode("utf-8", "replace"))

    def _tell(self) -> str:
        return _ESCAPES.sub(b" ", self._shown).decode("utf-8", "replace")[-_SCREEN_CHARS:]

    def _count_turns(self) -> int:
        return sum(entry.get("subtype") == "turn_duration" for entry in self._claude.transcript())


@contextmanager
def open_terminal(claude: ClaudeCode) -> Generator[Terminal]:
    """A terminal with Claude Code in it, ready for the first prompt, on a system that has them."""
    import fcntl  # noqa: PLC0415  # not on Windows
    import pty  # noqa: PLC0415
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    _answer_first_questions(claude)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *_ROWS_COLUMNS, 0, 0))
    process = subprocess.Popen(
        [claude.binary, *claude.options], cwd=claude.project,
        env={**claude.environ(), "TERM": "xterm-256color"},
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    terminal = Terminal(claude, process, ours)
    try:
        terminal.wait_for("shift+tab")
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(TURN_SECONDS_MAX)
        os.close(ours)


def _answer_first_questions(claude: ClaudeCode) -> None:
    """Be a user who has chosen a theme, trusts the folder, and uses this key."""
    trusted: Json = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    answers: Json = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(claude.project): trusted},
        "customApiKeyResponses": {"approved": ["none-needed"], "rejected": []},
    }
    file = Path(claude.environ()["CLAUDE_CONFIG_DIR"], ".claude.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    known: Json = json.loads(file.read_bytes()) if file.exists() else {}
    file.write_text(json.dumps({**known, **answers}), "utf-8")
