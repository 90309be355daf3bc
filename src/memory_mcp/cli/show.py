"""Showing outcomes: as words for a person, as JSON when asked for."""

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from memory_mcp.cli.terminal import say, say_json
from memory_mcp.domain.given import without_null
from memory_mcp.ending import interruptible
from memory_mcp.errors import InvalidRequestError

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

Fields = Mapping[str, Any]
Choice = TypeVar("Choice", bound=str)


def _message(fields: Fields) -> str:
    titles = "".join(f"\n- {title}" for title in fields.get("titles", ()))
    name = fields.get("memoryId") or fields.get("checkpointId")
    return f"{fields['message']}{titles}" + (f"\n{name}" if name else "")


@dataclass(frozen=True)
class Shown:
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


def show(shown: Shown, *, as_json: bool) -> int:
    """Print the outcome; 0 if it was a success, else 1."""
    if shown.silent:
        pass
    elif as_json:
        say_json(without_null(shown.fields))
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


def reader_left(error: BaseException) -> bool:
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


def bill(found: int, mended: int) -> str:
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


def typed() -> str:
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
