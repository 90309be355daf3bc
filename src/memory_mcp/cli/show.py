"""Print outcomes: as words for a person, as JSON when asked for. All output goes through here.

Imports the standard library alone, so that `--help` is instant.

The output may hold the words of others: a memory, a title, a branch, the name of a file. It is
printed as it is, except for characters that act on the terminal or deceive the eye: those appear as
escapes, piped or not.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

from memory_mcp.errors import InvalidRequestError
from memory_mcp.shutdown import interruptible

_UNREADABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, of both tables, but tab and line feed
    "\xad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
    # joiners spell words of some scripts and build emoji; between other characters they only hide
    "|(?<![^\x00-\u05ff])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u05ff])"
)


def printable(text: str) -> str:
    r"""The text with what cannot be read as an escape: `\x1b`, `\u202e`."""
    return _UNREADABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def readable_json(text: str) -> str:
    """JSON that means the same, with what cannot be read escaped as JSON does it."""
    return _UNREADABLE.sub(
        # line ends between the values are JSON's own
        lambda found: found.group() if found.group() in "\r\n" else json.dumps(found.group())[1:-1],
        text,
    )


def say(text: str, *, to: TextIO | None = None) -> None:
    """Write a line of words."""
    stream = to or sys.stdout
    stream.write(f"{printable(text)}\n")
    stream.flush()


def say_json(value: object) -> None:
    """Write a value for a program."""
    say_line = readable_json(json.dumps(value, ensure_ascii=False, indent=2))
    sys.stdout.write(f"{say_line}\n")
    sys.stdout.flush()


if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

Fields = Mapping[str, Any]
Choice = TypeVar("Choice", bound=str)


def _message(fields: Fields) -> str:
    titles = "".join(f"\n- {title}" for title in fields.get("titles", ()))
    name = fields.get("memoryId") or fields.get("checkpointId")
    return f"{fields['message']}{titles}" + (f"\n{name}" if name else "")


@dataclass(frozen=True)
class Output:
    """An outcome as fields, and how a person reads it. A silent one has been shown already."""

    fields: Fields
    as_text: Callable[[Fields], str] = _message
    silent: bool = False


def speak_utf8() -> None:
    """Text is UTF-8 on every platform, whatever the console's code page says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    given: TextIO = sys.stdin
    if isinstance(given, TextIOWrapper):  # a memory is stored as it came, or refused
        given.reconfigure(encoding="utf-8", errors="surrogateescape", newline="")


def show(shown: Output, *, as_json: bool) -> int:
    """Print the outcome; 0 if it was a success, else 1."""
    if shown.silent:
        pass
    elif as_json:
        from memory_mcp.domain.json_input import drop_nulls  # noqa: PLC0415

        say_json(drop_nulls(shown.fields))
    else:
        say(shown.as_text(shown.fields))
    return 0 if shown.fields["success"] else 1


def error(message: str, *, as_json: bool) -> int:
    """Say what went wrong: as JSON on stdout for programs, on stderr for people."""
    if as_json:
        say_json({"success": False, "error": message})
    else:
        say(f"memory-mcp: {message}", to=sys.stderr)
    return 1


def is_closed_pipe(error: BaseException) -> bool:
    """Whether all that happened is that nobody reads our output any more."""
    if isinstance(error, BaseExceptionGroup):
        # rich leaves with SystemExit when the pipe is closed, a task group wraps that
        group = cast("BaseExceptionGroup[BaseException]", error)
        _, other = group.split((BrokenPipeError, SystemExit))
        if other is not None:
            return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the last flush is quiet too
    return True


def results(fields: Fields) -> str:
    """Search results, best first."""
    if "results" not in fields:
        return str(fields["message"])
    lines = [_result(result) for result in fields["results"]]
    notes = [fields[name] for name in ("message", "degraded") if fields[name]]
    return "\n".join([*lines, *notes, f"({fields['mode']})"])


def findings(fields: Fields) -> str:
    """The doctor's findings, each with its next step."""
    lines = [
        f"{'mended' if f['repaired'] else f['severity']}: {f['what']}"
        + ("" if f["repaired"] else f" {f['remedy']}")
        for f in fields["findings"]
    ]
    proof = f"Search: {fields['search']}. {fields['proof']}".strip()
    return "\n".join([*lines, proof, str(fields["message"])])


def summarise_findings(found: int, mended: int) -> str:
    """The doctor's last line."""
    if not found:
        return "Everything is as it must be."
    return f"{found} finding(s), {mended} mended."


def can_ask() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str, choices: tuple[Choice, ...]) -> Choice:
    """The user's choice; anything else is asked again.

    Raises:
        KeyboardInterrupt: the user left the question by Ctrl-C.
        InvalidRequestError: the input ended.
    """
    say(question)
    try:
        with interruptible():
            while True:
                given = input(f"[{'/'.join(choices)}] ").strip().lower()
                for choice in choices:
                    if given == choice:
                        return choice
    except EOFError:
        raise InvalidRequestError("No answer was given; nothing was changed.") from None


def read_stdin() -> str:
    """What is piped in, or typed to the end of input; Ctrl-C ends it."""
    with interruptible():
        return sys.stdin.read()


def bar(*columns: "ProgressColumn") -> "Progress":
    """A progress bar on stderr that goes away, and that leaves both streams to what is printed.

    Rich would print what goes to stdout itself: on the screen, wrapped, wherever stdout leads.
    """
    from rich.console import Console  # noqa: PLC0415  # 50 ms that a pipe need not wait for
    from rich.progress import Progress  # noqa: PLC0415

    console = Console(file=sys.stderr)
    return Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    )


@contextmanager
def progress(what: str, *, printing: bool = False) -> Generator[Callable[[int, int], None]]:
    """A progress bar on a terminal; silence elsewhere, and where that terminal is `printing`."""
    if not sys.stderr.isatty() or (printing and sys.stdout.isatty()):
        yield lambda _done, _total: None
        return
    with bar() as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _result(result: Fields) -> str:
    about = result["metadata"]
    title = f"{about['title']}: " if about.get("title") else ""
    where = ", ".join(
        [
            about["kind"],
            *([about["category"]] if "category" in about else []),
            *about.get("tags", ()),
            *([about["key"]] if "key" in about else []),
            *([about["place"]] if "place" in about else []),
        ]
    )
    content = result["content"].replace("\n", "\n     ")
    why = "".join(f"\n     {value:+.3f} {name}" for name, value in result.get("why", {}).items())
    return f"{result['score']:.2f} {title}{content}\n     [{where}] {result['memoryId']}{why}"
