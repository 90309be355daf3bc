"""What a program gets from the command line: always JSON on stdout, always the same keys."""

import json

import pytest
from command_line import Run, as_json


def test_an_empty_list_is_there_and_empty(run: Run) -> None:
    """`jq '.results[]'` must find nothing, not fail."""
    assert as_json(run, "search", "flamingo")["results"] == []
    assert as_json(run, "doctor")["findings"] == []
    head = as_json(run, "head")
    lists = ("branches", "checkpoints", "invalidated", "pending", "lines", "warnings")
    assert [head[name] for name in lists] == [["main"], [], [], [], [], []]
    assert "phase" not in head, "a null says nothing"


_WRONG = {
    "no such command": ("serach",),
    "no such option": ("search", "--limt", "3"),
    "no number": ("search", "--limit", "many"),
    "nothing to add": ("add",),
    "no such transport": ("serve", "--transport", "x"),
}


@pytest.mark.parametrize("arguments", _WRONG.values(), ids=_WRONG)
def test_wrong_usage_is_json_too(run: Run, arguments: tuple[str, ...]) -> None:
    """A program that made the mistake reads stdout; a person sees the usage on stderr."""
    status, out, error = run("--json", *arguments)
    said = json.loads(out)
    assert (status, error) == (2, "")
    assert said["success"] is False

    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert error.startswith("usage: memory-mcp")
    assert said["error"] in error
