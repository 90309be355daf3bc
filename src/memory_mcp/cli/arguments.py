"""Types of arguments: numbers within a range, times, paths. What is wrong is refused first."""

import errno
import math
import os
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from memory_mcp.domain.limits import PHASE_MAX
from memory_mcp.errors import InvalidRequestError, quote
from memory_mcp.patterns import compile_later

Value = TypeVar("Value")

PLACES: Final = {
    "project": ("DIR", "the project's folder (default: the git work tree or memory around you)"),
    "branch": ("NAME", "the branch of the memory to work on (default: main)"),
}
"""Options that say whose memory it is, for the commands that take them."""

_BYTE_ESCAPED: Final = 0xDC00
"""What Python adds to a byte that is no UTF-8, to keep it in a text (`surrogateescape`)."""
_NO_UTF_8: Final = compile_later("[\udc80-\udcff]")

_WHOLE: Final = compile_later(r"\s*[+-]?\d{1,18}\s*")


def describe_wrong_byte(text: str) -> str:
    """The first byte that is no UTF-8, and where it stands; '' if there is none."""
    lost = _NO_UTF_8.search(text)
    if lost is None:
        return ""
    return f"byte 0x{ord(lost.group()) - _BYTE_ESCAPED:02x} at character {lost.start()}"


def decode_text(text: str) -> str:
    """The text that its bytes spell in UTF-8, where the locale could not read them; else itself."""
    if _NO_UTF_8.search(text) is None:
        return text
    try:
        return os.fsencode(text).decode()
    except UnicodeError:
        return text


def parse_whole(text: str) -> int:
    """Read a whole number.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not _WHOLE.fullmatch(text):
        raise ArgumentTypeError(f"{quote(text)} is no whole number")
    return int(text)


def parse_number(text: str) -> float:
    """Read a number.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{quote(text)} is no number") from None


def whole_within(least: int, most: float = math.inf) -> Callable[[str], int]:
    """A type of whole numbers from `least` to `most`."""
    choices = f"{least} or more" if most == math.inf else f"{least} to {most}"

    def parse(text: str) -> int:
        if not least <= (number := parse_whole(text)) <= most:
            raise ArgumentTypeError(f"{number} is out of range; choose {choices}")
        return number

    return parse


PHASE: Final = whole_within(0, PHASE_MAX)


def number_within(least: float, most: float) -> Callable[[str], float]:
    """A type of numbers from `least` to `most`."""

    def parse(text: str) -> float:
        if not least <= (number := parse_number(text)) <= most:
            raise ArgumentTypeError(f"{text} is out of range; choose {least:g} to {most:g}")
        return number

    return parse


def parse_time(text: str) -> datetime:
    """Read a time; without a zone it is UTC.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{quote(text)} is no time; write it like 2026-12-31 or 2026-12-31T18:00+01:00"
        ) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC)


def parse_past(text: str) -> datetime:
    """Read a time, or how long ago it was: 2h, 3d.

    Raises:
        ArgumentTypeError: it is neither.
    """
    from memory_mcp.domain.spans import parse_span

    try:
        return parse_span("time", text, datetime.now(UTC), -1)
    except InvalidRequestError:
        raise ArgumentTypeError(
            f"{quote(text)} is no time; write it like 2026-01-31, 2026-01-31T18:00+01:00 or 2h "
            "(ago)"
        ) from None


def parse_with(check: Callable[[str], Value], text: str) -> Value:
    """Read what a check of its own judges by its words alone: no memory would make it right.

    Raises:
        ArgumentTypeError: it refuses them.
    """
    try:
        return check(text)
    except InvalidRequestError as error:
        raise ArgumentTypeError(str(error).removesuffix(".")) from None


def not_empty(hint: str) -> Callable[[str], str]:
    """A type of texts with a word in them; `hint` says what to do about another one."""

    def parse(text: str) -> str:
        if not text.strip():
            raise ArgumentTypeError(f"it is empty; {hint}")
        return text

    return parse


STATEMENT: Final = not_empty("give one self-contained statement")


def parse_path(text: str) -> str:
    """Read the name of a file or folder, which need not be there.

    Raises:
        ArgumentTypeError: nothing can have that name.
    """
    if not text:
        raise ArgumentTypeError("'' names no file and no folder")
    try:
        os.lstat(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ArgumentTypeError(f"{quote(text)} is too long for a name") from None
    return text


def parse_url_path(text: str) -> str:
    """Read the path of an address.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.startswith("/") or not text.isascii() or not text.isprintable():
        raise ArgumentTypeError(f"{quote(text)} is no path; begin it with a slash, like /mcp")
    return text


def some_of(choices: Sequence[str]) -> Callable[[str], str]:
    """A type of lists, separated by commas, of these choices."""

    def parse(text: str) -> str:
        for word in filter(None, map(str.strip, text.split(","))):
            if word not in choices:
                raise ArgumentTypeError(
                    f"{quote(word)} is unknown; choose some of {', '.join(choices)}"
                )
        return text

    return parse


def parse_port(text: str) -> int:
    """Read a port; 0 means any that is free.

    Raises:
        ArgumentTypeError: it is none.
    """
    if text.isascii() and text.isdigit() and len(text) <= len("65535") and int(text) < 1 << 16:
        return int(text)
    raise ArgumentTypeError(f"{quote(text)} is no port; choose 1 to 65535 (0: any free one)")


def add_common_options(
    parser: ArgumentParser, takes: Sequence[str], *, places: Sequence[str] = tuple(PLACES)
) -> None:
    """Add the options of more than one command. A parent for them would be one more parser."""
    # suppressed, so that an option before the command is not undone by its default after it
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help="answer as JSON")
    for name in places:
        metavar, what = PLACES[name]
        shown = what if name in takes else SUPPRESS  # one that is not taken is refused by name
        kind = parse_path if metavar == "DIR" else str
        parser.add_argument(f"--{name}", metavar=metavar, default=SUPPRESS, help=shown, type=kind)
