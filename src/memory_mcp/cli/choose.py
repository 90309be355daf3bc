"""Lets a person choose one of several drawn rows: with the keys of a terminal, else by number."""

import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from memory_mcp.cli.output import make_printable, open_screen, print_line, print_styled
from memory_mcp.errors import InvalidRequestError, quote
from memory_mcp.frozen import frozen
from memory_mcp.patterns import compile_later
from memory_mcp.shutdown import interruptible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Line = Sequence[tuple[str, str]]
"""Texts, each with its style."""

_KEY: Final = compile_later(rb"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_PAGE_STEPS: Final = 10
_STEPS: Final = {
    **dict.fromkeys((b"k", b"\x1b[A", b"\x1bOA"), -1),
    **dict.fromkeys((b"j", b"\x1b[B", b"\x1bOB"), 1),
    b"\x1b[5~": -_PAGE_STEPS,
    b"\x1b[6~": _PAGE_STEPS,
}
_FIRST: Final = (b"g", b"\x1b[H", b"\x1bOH", b"\x1b[1~")
_LAST: Final = (b"G", b"\x1b[F", b"\x1bOF", b"\x1b[4~")
_ENTER: Final = (b"\r", b"\n")
_LEAVE: Final = (b"q", b"\x1b", b"\x04")
_KEYS: Final = "j/k or arrows: move   Enter: choose   q: leave"
_KEY_BYTES: Final = 64
_UNANSWERED: Final = "No answer was given; nothing was changed."


@frozen
class Row:
    """The lines of a row, and the name that choosing it gives; without one it is only drawn."""

    lines: Sequence[Line]
    name: str = ""


def choose_row(rows: Sequence[Row]) -> str:
    """The name of the row that the user chooses; '' if none.

    Raises:
        KeyboardInterrupt: the user left by Ctrl-C.
        InvalidRequestError: the input ended.
    """
    from rich.console import Console  # 50 ms that other commands need not wait for

    console = Console(file=open_screen(), highlight=False)
    if sys.platform == "win32" or console.is_dumb_terminal:
        return _choose_by_number(rows)
    return _choose_by_key(console, rows)


def _choose_by_number(rows: Sequence[Row]) -> str:
    names = [row.name for row in rows if row.name]
    width = len(str(len(names)))
    number = 0
    for row in rows:
        number += 1 if row.name else 0
        for at, line in enumerate(row.lines):
            shown = f"{number if row.name and not at else '':>{width}}  "
            print_styled([[(shown, ""), *line]])
    try:
        with interruptible():
            while True:
                answer = input(f"[1-{len(names)}, q leaves] ").strip().lower()
                if answer in ("q", "quit"):
                    return ""
                if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(names):
                    return names[int(answer) - 1]
                print_line(f"{quote(answer)} is none of 1 to {len(names)}.")
    except EOFError:
        raise InvalidRequestError(_UNANSWERED) from None


def _choose_by_key(console: "Console", rows: Sequence[Row]) -> str:
    from rich.live import Live

    places = [place for place, row in enumerate(rows) if row.name]
    at = 0
    live = Live(
        console=console, auto_refresh=False, transient=True, redirect_stdout=False,
        redirect_stderr=False,
    )  # fmt: skip
    with interruptible(), _read_keys_at_once(), live:
        while True:
            live.update(_draw(console.width, console.height, rows, places[at]), refresh=True)
            pressed = os.read(sys.stdin.fileno(), _KEY_BYTES)
            if not pressed:
                raise InvalidRequestError(_UNANSWERED)
            for key in _KEY.findall(pressed):
                if key in _ENTER:
                    return rows[places[at]].name
                if key in _LEAVE:
                    return ""
                if key in _FIRST:
                    at = 0
                elif key in _LAST:
                    at = len(places) - 1
                at = min(max(at + _STEPS.get(key, 0), 0), len(places) - 1)


def _draw(width: int, height: int, rows: Sequence[Row], chosen: int) -> "Text":
    """The rows that fit the terminal, around the chosen one."""
    from rich.text import Text

    lines = [
        (place, at, line) for place, row in enumerate(rows) for at, line in enumerate(row.lines)
    ]
    room = max(height - 2, 1)
    first = next(number for number, (place, _, _) in enumerate(lines) if place == chosen)
    start = min(max(first - room // 2, 0), max(len(lines) - room, 0))
    drawn: list[Text] = []
    for place, at, line in lines[start : start + room]:
        mark = "> " if place == chosen and not at else "  "
        spans = ((make_printable(text), style) for text, style in line)
        text = Text.assemble((mark, "bold"), *spans, no_wrap=True)
        if place == chosen:
            text.stylize("reverse")
        text.truncate(width - 1, overflow="ellipsis")
        drawn.append(text)
    return Text("\n").join([*drawn, Text(_KEYS, style="dim")])


@contextmanager
def _read_keys_at_once() -> Generator[None]:
    """Let the terminal hand on each key when it is pressed, and show none."""
    import termios
    import tty

    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    tty.setcbreak(stdin)
    try:
        yield
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
