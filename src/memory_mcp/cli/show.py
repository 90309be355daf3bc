"""Showing outcomes: for a person on a terminal, plain when piped, JSON when asked for."""

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from signal import SIGINT, default_int_handler, signal
from typing import Any, TextIO, TypeVar, cast

__all__ = [
    "Fields",
    "Shown",
    "ask",
    "bill",
    "can_ask",
    "error",
    "findings",
    "progress",
    "reader_left",
    "results",
    "show",
    "speak_utf8",
]

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
        _print(json.dumps(_without_null(shown.fields), ensure_ascii=False, indent=2))
    else:
        _print(shown.as_text(shown.fields), styled=True)
    return 0 if shown.fields["success"] else 1


def error(message: str, *, as_json: bool) -> int:
    """Say what went wrong: as JSON on stdout for programs, on stderr for people."""
    if as_json:
        _print(json.dumps({"success": False, "error": message}, ensure_ascii=False, indent=2))
    else:
        sys.stderr.write(f"memory-mcp: {message}\n")
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
        KeyboardInterrupt: the user left the question, by Ctrl-C or at the end of input.
    """
    _print(question)
    # asyncio's own handler would wait for the line to be finished before it ends anything
    handler = signal(SIGINT, default_int_handler)
    try:
        while True:
            given = input(f"[{'/'.join(choices)}] ").strip().lower()
            for choice in choices:
                if given == choice:
                    return choice
    except EOFError:
        raise KeyboardInterrupt from None
    finally:
        signal(SIGINT, handler)


@contextmanager
def progress(what: str) -> Generator[Callable[[int, int], None]]:
    """A progress bar on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415  # 50 ms that a pipe need not wait for
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _without_null(value: object) -> object:
    """What a program gets: an empty list is an answer, a null is none."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {name: _without_null(v) for name, v in fields.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_null(item) for item in cast("Sequence[object]", value)]
    return value


def _result(result: Fields) -> str:
    about = result["metadata"]
    title = f"{about['title']}: " if about.get("title") else ""
    where = ", ".join(
        [
            about["kind"],
            *([about["category"]] if "category" in about else []),
            *about.get("tags", ()),
            *([about["place"]] if "place" in about else []),
        ]
    )
    content = result["content"].replace("\n", "\n     ")
    why = "".join(f"\n     {value:+.3f} {name}" for name, value in result.get("why", {}).items())
    return f"{result['score']:.2f} {title}{content}\n     [{where}] {result['memoryId']}{why}"


def _print(text: str, *, styled: bool = False) -> None:
    if not (styled and sys.stdout.isatty()):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
        return
    from rich.console import Console  # noqa: PLC0415  # only where there is something to style

    Console(highlight=True, markup=False, soft_wrap=True).print(text)
