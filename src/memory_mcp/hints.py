"""Name the next step in the words of the door through which a caller came.

A message that says what to do next is made far below the doors. A model calls tools and a program
calls the methods of the same names: both read `backtrack(to='x')`. A person at a shell reads
`memory-mcp backtrack x`. Like the language of a message, the door belongs to the context of a run,
and decides nothing but words. Texts that are kept (rendered files, the context block) name tools.
"""

import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import EllipsisType
from typing import Final, Literal

Door = Literal["call", "command"]
Value = str | bool | list[str] | EllipsisType
"""An argument; `...` where the caller has to find the value."""

_COMMANDS: Final[Mapping[str, str]] = {
    "add_memory": "add", "backtrack": "backtrack", "checkpoint": "checkpoint",
    "forget_memory": "forget", "memory_context": "context", "memory_head": "status",
    "search_memories": "search", "update_memory": "update",
}  # fmt: skip
"""The command that does what a tool does."""

_WITHOUT_NAME: Final = ("to", "memory_id", "content")
"""Arguments that stand in a command without their name."""

_OPTIONS: Final = {"cites": "cite"}
"""Options that are called otherwise: they are repeated, not given a list."""

_IDS: Final = ("memory_id", "supersedes")
"""Arguments that are ids of memories."""

ID_END_CHARS: Final = 8
"""How much of the end of an id names a memory to a person: beginnings are times, and alike."""

_FIELDS: Final[Mapping[str, str]] = {
    "content": "the text", "summary": "the summary", "query": "the query", "a tag": "--tag",
    "one of decisions": "--decided", "one of artifacts": "--artifact", "one of issues": "--issue",
    "one of agents": "--agent", "one of insights": "--insight", "memory_update": "--update",
    "history_entry": "--history", "expires_at": "--expires",
} | {
    name: f"--{name}"
    for name in ("title", "category", "key", "lesson", "reason", "since", "task", "until")
}  # fmt: skip
"""What a person typed where a tool has that field."""

_DOOR: ContextVar[Door] = ContextVar("door", default="call")


@contextmanager
def use_words_of(door: Door) -> Generator[None]:
    """Name steps in the words of this door, within the block."""
    token = _DOOR.set(door)
    try:
        yield
    finally:
        _DOOR.reset(token)


def name_step(tool: str, **arguments: Value) -> str:
    """The step as the caller takes it: a call of the tool, or the command."""
    match _DOOR.get():
        case "call":
            given = ", ".join(f"{name}={_write(value)}" for name, value in arguments.items())
            return f"{tool}({given})" if given else tool
        case "command":
            words = [_write_option(name, value) for name, value in arguments.items()]
            return f"`{' '.join(['memory-mcp', _COMMANDS[tool], *words])}`"


def name_decision(checkpoint_id: str) -> str:
    """The step that decides a pending checkpoint."""
    return name_step("checkpoint", pending=checkpoint_id, decision=...)


def address(to_model: str, to_person: str) -> str:
    """The words for a model, which talks with the user, or those for the user at a shell."""
    match _DOOR.get():
        case "call":
            return to_model
        case "command":
            return to_person


def name_argument(name: str, value: Value = ...) -> str:
    """An argument to add to the call that was just made: `supersedes=['x']`, `--supersedes x`."""
    match _DOOR.get():
        case "call":
            return f"{name}={_write(value)}"
        case "command":
            return f"`{_write_option(name, value)}`"


def name_field(name: str) -> str:
    """A field of what was given, as the caller gave it: `expires_at`, `--expires`."""
    match _DOOR.get():
        case "call":
            return name
        case "command":
            return _FIELDS.get(name, name)


def name_id(memory_id: str) -> str:
    """The id of a memory in a sentence or a line: whole, or for a person its end, which names it.

    The fields of an answer, what is written to files and the whole of one memory have it whole.
    """
    match _DOOR.get():
        case "call":
            return memory_id
        case "command":
            return memory_id[-ID_END_CHARS:]


def name_explanation(memory_id: str) -> str:
    """The command that tells where a memory is from and what it replaced; no tool does."""
    return f"`memory-mcp show {name_id(memory_id)} --why`"


def name_memory(memory_id: str) -> str:
    """Where the whole of a memory is to be read: a resource, or a command."""
    match _DOOR.get():
        case "call":
            return f"memory://memory/{memory_id}"
        case "command":
            return f"`memory-mcp show {name_id(memory_id)}`"


def _write(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | list():
            return repr(value)
        case _:
            return "…"


def _write_option(name: str, value: Value) -> str:
    match value:
        case bool():
            return f"--{name}"
        case list():
            return " ".join(_write_option(name, each) for each in value)
        case str():
            written = shlex.quote(name_id(value) if name in _IDS else value)
        case _:
            written = name.upper()
    option = _OPTIONS.get(name, name)
    return written if name in _WITHOUT_NAME else f"--{option} {written}"
