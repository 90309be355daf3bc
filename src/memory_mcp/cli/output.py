"""Print outcomes: as words for a person, as JSON when asked for. All output goes through here.

Imports the standard library alone, so that `--help` is instant. A stdout that takes no more raises
`LostOutputError`, whatever printed, and nothing else does.

The output may hold the words of others: a memory, a title, a branch, the name of a file. It is
printed as it is, except for characters that act on the terminal or deceive the eye: those appear as
escapes, piped or not.
"""

import errno
import json
import math
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOBase, TextIOWrapper
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

from memory_mcp.errors import InvalidRequestError
from memory_mcp.frozen import frozen
from memory_mcp.hints import name_id
from memory_mcp.patterns import compile_later
from memory_mcp.shutdown import interruptible

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

Fields = Mapping[str, Any]
Choice = TypeVar("Choice", bound=str)

USAGE: Final = 2
"""The exit status of a command line that follows no grammar."""
_READER_LEFT: Final = 141
"""The exit status of `memory-mcp … | head`: what the signal SIGPIPE gives to other commands."""

_COLUMNS: Final = 80
"""Of what has none: a file, a pipe."""

_LINE_MARK: Final = compile_later(r"\s*(?:[\d-]\S*\s+)?")

_UNREADABLE: Final = compile_later(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, of both tables, but tab and line feed
    "\xad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
    # joiners spell words of some scripts and build emoji; between other characters they only hide
    "|(?<![^\x00-\u05ff])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u05ff])"
)


def make_printable(text: str) -> str:
    r"""The text with what cannot be read as an escape: `\x1b`, `\u202e`."""
    words = text.replace("\n", "").replace("\t", "")
    if words.isascii() and words.isprintable():  # most are, and need no pattern
        return text
    return _UNREADABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def make_printable_json(text: str) -> str:
    """JSON that means the same, with what cannot be read escaped as JSON does it."""
    return _UNREADABLE.sub(
        # line ends between the values are JSON's own
        lambda found: found.group() if found.group() in "\r\n" else json.dumps(found.group())[1:-1],
        text,
    )


class LostOutputError(Exception):
    """Stdout takes no more: its reader left, its disk is full, or it was never open."""

    def __init__(self, error: OSError, *, nothing_begun: bool = False) -> None:
        super().__init__(error.strerror or str(error))
        self._nothing_begun = nothing_begun
        self._reader_left = isinstance(error, BrokenPipeError)

    def report(self) -> int:
        """Say it, unless the reader of a pipe has had enough; returns the exit status."""
        if self._reader_left:
            return _READER_LEFT
        what = "Look what was done before you repeat it."
        if self._nothing_begun:
            what = "Nothing was begun."
        print_note(f"stdout cannot be written: {self}. {what}")
        return 1


def prepare_streams() -> None:
    """Make text UTF-8 on every platform, whatever the console's code page says.

    Raises:
        LostOutputError: stdout is closed. Nothing was done yet, and nothing could be said of it.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # <&-
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115  # till the end
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]  # 2>&-
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise LostOutputError(OSError(errno.EBADF, "it is closed"), nothing_begun=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    stdin: TextIO = sys.stdin
    if isinstance(stdin, TextIOWrapper):  # a memory is stored as it came, or refused
        stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="")


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise LostOutputError(error) from error


def flush_output() -> None:
    """Hand on what was written to stdout.

    Raises:
        LostOutputError: it takes no more.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise LostOutputError(error) from error


def print_line(text: str) -> None:
    """Print words and a line end."""
    _write(f"{make_printable(text)}\n")
    flush_output()


def print_note(text: str) -> None:
    """Print a line to stderr, beside the answer. Nobody can be told that this failed."""
    with suppress(OSError):
        sys.stderr.write(f"memory-mcp: {make_printable(text)}\n")
        sys.stderr.flush()


class _Screen(TextIOBase):
    """Stdout for rich, which would end the process itself when the reader left."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return sys.stdout.isatty()

    def fileno(self) -> int:
        return sys.stdout.fileno()

    def write(self, text: str, /) -> int:
        _write(text)
        return len(text)

    def flush(self) -> None:
        flush_output()


def open_screen() -> TextIO:
    """Stdout as the file of a console of rich."""
    return cast("TextIO", _Screen())


def print_styled(
    lines: Iterable[Sequence[tuple[str, str]]],
    *,
    whole: bool = False,
    is_typed: Callable[[str], bool] = lambda _: False,
) -> None:
    """Print lines of texts, each with its style: cut and in colours on a terminal, else plain.

    With `whole` none is cut, and never what somebody may have to type, which `is_typed` tells by
    its style: where it is too long the terminal itself goes on in its next line.
    Rich decides whether there are colours: none with NO_COLOR, or on a terminal without them.
    """
    if not sys.stdout.isatty():
        for line in lines:
            print_line("".join(text for text, _ in line))
        return
    from rich.cells import cell_len
    from rich.console import Console  # 50 ms that a pipe need not wait for
    from rich.text import Text

    console = Console(file=open_screen(), highlight=False, soft_wrap=True)
    plain = console.no_color or console.color_system is None
    width = int(find_width())
    for line in lines:
        text = Text.assemble(*((make_printable(part), style) for part, style in line))
        if not whole:
            typed = [text.plain[:end] for _, end, style in text.spans if is_typed(str(style))]
            text.truncate(max([width, *map(cell_len, typed)]), overflow="ellipsis")
        console.print(text.plain if plain else text, markup=False, emoji=False)


def find_width() -> float:
    """The columns of the terminal; a file or a pipe has room for every line."""
    if not sys.stdout.isatty():
        return math.inf
    return find_columns()


def find_columns() -> int:
    """What `shutil.get_terminal_size` finds, which takes longer to load than to ask."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _COLUMNS
    except (AttributeError, ValueError, OSError):  # it is closed, or no terminal
        return _COLUMNS


def fit_lines(lines: Iterable[str]) -> str:
    """The lines as they are, or on a terminal wrapped to its width.

    What is wrapped goes on below its first word, behind a score, a date or the mark of a list. No
    word is broken: an id or a command is copied whole.
    """
    text, width = "\n".join(lines), find_width()
    if width == math.inf:
        return text
    from textwrap import TextWrapper  # a pipe need not wait for it

    wrapper = TextWrapper(
        int(width), break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )
    fitted: list[str] = []
    for line in text.split("\n"):
        mark = _LINE_MARK.match(line)
        wrapper.subsequent_indent = " " * min(mark.end() if mark else 0, int(width) // 3)
        fitted += wrapper.wrap(line) if len(line) > width else [line]
    return "\n".join(fitted)


def can_show(signs: str) -> bool:
    """Whether stdout can show these signs: a terminal in another locale than UTF-8 may not.

    Files and pipes are UTF-8 (`prepare_streams`), and so is the console of Windows.
    """
    encoding = sys.stdout.encoding or "utf-8"
    if sys.stdout.isatty() and sys.platform != "win32":
        import locale

        encoding = locale.getencoding()
    try:
        signs.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: object) -> None:
    """Print a value for a program."""
    write_json(f"{json.dumps(value, ensure_ascii=False, indent=2)}\n")
    flush_output()


def print_json_line(value: object) -> None:
    """Print a value for a program that reads line by line."""
    write_json(f"{json.dumps(value, ensure_ascii=False)}\n")
    flush_output()


def refuse_lost_output() -> None:
    """Notice that the reader of a pipe has left although nothing is written to it.

    Raises:
        LostOutputError: nobody reads any more.
    """
    if sys.platform == "win32":  # there it is noticed when something is written
        return
    import select

    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)  # errors are reported whatever is asked for
    if any(found & (select.POLLERR | select.POLLHUP) for _, found in poll.poll(0)):
        raise LostOutputError(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))


def write_json(text: str) -> None:
    """Write a part of a JSON text to stdout, for what is too long to print at once."""
    _write(make_printable_json(text))


def message_text(fields: Fields) -> str:
    """The message, what it speaks of, and the id."""
    lines = [str(fields["message"])]
    erased = [f"- {title}" for title in fields.get("erasedTitles", ())]
    hidden = [f"- {title}" for title in fields.get("titles", ())]
    if erased and hidden:
        erased, hidden = ["Erased:", *erased], ["Hidden:", *hidden]
    lines += [*erased, *hidden]
    others = [(each["content"], each["memoryId"]) for each in fields.get("similar", ())]
    others += [(each["old"], each["memoryId"]) for each in fields.get("contradictions", ())]
    lines += [f"- {text} [{name_id(id_)}]" for text, id_ in others]
    lines += [f"- {fields['content']}"] if "content" in fields else []
    return "\n".join(filter(None, [*lines, _name_what_was_written(fields)]))


def _name_what_was_written(fields: Fields) -> str | None:
    """The end of the memory's id, or the name of the checkpoint."""
    memory: str | None = fields.get("memoryId")
    return name_id(memory) if memory else fields.get("checkpointId")


@frozen
class Output:
    """An outcome as fields, and how a person reads it.

    A `silent` one has been printed already. A `report` is the answer also where what it reports is
    bad; of anything else that failed a person is told on stderr.
    """

    fields: Fields
    as_text: Callable[[Fields], str] = message_text
    silent: bool = False
    report: bool = False


def print_output(output: Output, *, as_json: bool) -> int:
    """Print the outcome; the exit status is 0 if it was a success, else 1."""
    if output.silent:
        pass
    elif as_json:
        from memory_mcp.domain.json_input import drop_nulls

        print_json(drop_nulls(output.fields))
    elif output.fields["success"] or output.report:
        print_line(output.as_text(output.fields))
    else:
        print_note(output.as_text(output.fields))
    return 0 if output.fields["success"] else 1


def print_error(message: str, *, as_json: bool, status: int = 1) -> int:
    """Print what went wrong: as JSON to stdout for a program, to stderr for a person."""
    if as_json:
        print_json({"success": False, "message": message})
    else:
        print_note(message)
    return status


def results_text(fields: Fields) -> str:
    """Search results, best first."""
    if "results" not in fields:
        return str(fields["message"])
    lines = [_result_text(result) for result in fields["results"]]
    notes = [fields[name] for name in ("message", "degraded") if fields[name]]
    table = _parts_table([each for each in fields["results"] if each.get("parts")])
    return fit_lines([*lines, *notes, f"({fields['mode']})", *table])


def _parts_table(results: Sequence[Fields]) -> list[str]:
    """What each score is made of: a row for each result, a column for each part that any has.

    Where the terminal is too narrow for that, each row names its parts.
    """
    names = dict.fromkeys(name for result in results for name in result["parts"])
    rows = [["score", *names, "memory"]]
    for result in results:
        values = [f"{result['parts'].get(name, 0.0):+.2f}" for name in names]
        rows.append([f"{result['score']:.2f}", *values, name_id(result["memoryId"])])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    if len(lines[0]) > find_width():
        named = (zip(rows[0][1:-1], row[1:-1], strict=True) for row in rows[1:])
        parts = [", ".join(f"{name} {value}" for name, value in each) for each in named]
        lines = [f"{row[0]} {row[-1]}: {each}" for row, each in zip(rows[1:], parts, strict=True)]
    return ["", *lines] if results else []


def _result_text(result: Fields) -> str:
    about = result["metadata"]
    title = f"{about['title']}: " if about.get("title") else ""
    names = [about[name] for name in ("kind", "category") if name in about]
    places = [about[name] for name in ("key", "place") if name in about]
    where = ", ".join(dict.fromkeys((*names, *about.get("tags", ()), *places)))
    content = result["content"].replace("\n", "\n     ")
    why = f"\n     why: {result['why']}" if "why" in result else ""
    score = f"{result['score']:.2f}" if "score" in result else "-"
    passage = f"\n     {result['passage']}" if "passage" in result else ""
    head = f"{score:4} {title}{content}\n     [{where}] {name_id(result['memoryId'])}"
    return head + "".join(f"\n     {mark}" for mark in _find_marks(result)) + passage + why


def _find_marks(result: Fields) -> Iterator[str]:
    """Why a memory may not hold, or not be the user's own word."""
    if outdated := result.get("outdated_by"):
        asked = f", for {result['outdated_for']}" if "outdated_for" in result else ""
        yield f"outdated by {name_id(outdated)}{asked}"
    if disputed := result.get("disputed_with"):
        yield f"disputed with {', '.join(map(name_id, disputed))}"
    if standing := result.get("standing"):
        yield str(standing)
    if author := result["metadata"].get("by"):
        yield f"written by {author}"


def can_ask() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_choice(question: str, choices: tuple[Choice, ...]) -> Choice:
    """Ask until the answer is one of the choices, or its first letter.

    `y` takes the first, which is what the question offers, and `n` the last, which changes nothing.

    Raises:
        KeyboardInterrupt: the user left the question by Ctrl-C.
        InvalidRequestError: the input ended.
    """
    print_line(question)
    try:
        with interruptible():
            while True:
                answer = input(f"[{'/'.join(choices)}] ").strip().lower()
                for choice in choices:
                    if answer in (choice, choice[0]):
                        return choice
                if answer in ("y", "yes"):
                    return choices[0]
                if answer in ("n", "no"):
                    return choices[-1]
    except EOFError:
        raise InvalidRequestError("No answer was given; nothing was changed.") from None


def make_progress_bar(*columns: "ProgressColumn") -> "Progress":
    """A progress bar on stderr that goes away, and that leaves both streams to what is printed.

    Rich would print what goes to stdout itself: on the screen, wrapped, wherever stdout leads.
    """
    from rich.console import Console  # 50 ms that a pipe need not wait for
    from rich.progress import Progress

    console = Console(file=sys.stderr)
    return Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    )


@contextmanager
def show_progress(what: str, *, printing: bool = False) -> Generator[Callable[[int, int], None]]:
    """A progress bar on a terminal; silence elsewhere, and where that terminal is `printing`."""
    if not sys.stderr.isatty() or (printing and sys.stdout.isatty()):
        yield lambda _done, _total: None
        return
    with make_progress_bar() as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
