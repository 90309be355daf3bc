"""The one place where the terminal is written. Standard library only: `--help` is instant.

What is said may hold the words of others: a memory, a title, a branch, the name of a file. It is
printed as it is, but for characters that do something to the terminal or to the reader's eye
instead of being read: those are shown as escapes, piped or not.
"""

import json
import re
import sys
from typing import Final, TextIO

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
