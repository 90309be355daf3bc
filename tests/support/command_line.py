"""The command line as a person or a program uses it."""

import json
from collections.abc import Callable

from doors import Json

Run = Callable[..., tuple[int, str, str]]
"""Runs a command; its exit status, and what it wrote to stdout and stderr."""


def as_json(run: Run, *arguments: str) -> Json:
    """The answer of a command that worked, as a program gets it."""
    status, out, error = run(*arguments, "--json")
    assert (status, error) == (0, ""), out + error
    said = json.loads(out)
    assert said["success"] is True
    return said


def complaint(run: Run, *arguments: str, expected: int = 1) -> str:
    """What a person reads when a command fails; a program gets the same."""
    status, out, error = run(*arguments)
    assert status == expected
    assert out == ""
    assert error.startswith("memory-mcp: ")
    said = error.removeprefix("memory-mcp: ").rstrip("\n")
    status, out, error = run("--json", *arguments)
    assert (status, error) == (expected, "")
    assert json.loads(out) == {"success": False, "message": said}
    return said
