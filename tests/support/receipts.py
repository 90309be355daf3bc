"""The calls that a receipt names, as an agent reads them out of it."""

import ast
import re
import shlex
from typing import Any

from doors import Json, call
from mcp import Client

_CALL = re.compile(r"\b(?:add|update|forget)_memory\(")
_COMMAND = re.compile(r"`memory-mcp ([^`]*)`")


def list_calls(message: str) -> list[tuple[str, Json]]:
    """Each call of a tool in the message, with its arguments; `…` is what the caller has to say."""
    found: list[tuple[str, Json]] = []
    for start in (match.start() for match in _CALL.finditer(message)):
        ends = [at for at in range(start, len(message)) if message[at] == ")"]
        tree = next(filter(None, (_parse(message[start : end + 1]) for end in ends)))
        assert isinstance(tree.func, ast.Name)
        arguments = {each.arg or "": ast.literal_eval(each.value) for each in tree.keywords}
        found.append((tree.func.id, arguments))
    return found


def _parse(text: str) -> ast.Call | None:
    try:
        tree = ast.parse(text.replace("=…", "='…'"), mode="eval").body
    except SyntaxError:  # the bracket was one of the text
        return None
    return tree if isinstance(tree, ast.Call) else None


async def make_call(client: Client, message: str, place: int = 0, **more: Any) -> Json:
    """Make the call of the message at this place, filled in where it leaves something to say."""
    tool, arguments = list_calls(message)[place]
    for name, value in more.items():
        assert arguments[name] == "…", arguments
        arguments[name] = value
    assert "…" not in arguments.values(), arguments
    return await call(client, tool, **arguments)


def list_commands(message: str) -> list[list[str]]:
    """Each command in the message, as a shell splits it."""
    return [shlex.split(each) for each in _COMMAND.findall(message)]
