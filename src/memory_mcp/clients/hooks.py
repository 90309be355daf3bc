"""Plan what becomes of Claude Code's settings when our hooks come and go: texts in, a text out.

A hook counts as ours if it starts memory-mcp, wherever that is installed, or calls the tool by
which the server answers a prompt. Other hooks are never touched, nor how long one of ours may take.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from memory_mcp.clients.jsonc import APPEND, Json, get_value, has_value, remove_value, set_value
from memory_mcp.clients.plans import (
    AlreadyInstalled,
    Command,
    ConfigEdit,
    DifferentEntry,
    NotInstalled,
    amend,
    drop_empty,
    find_original,
    is_ours,
    list_readable,
)
from memory_mcp.frozen import frozen

_ROOT: Final = "hooks"
_PROMPT_TOOL: Final = "prompt_context"

Hooks = Mapping[str, Mapping[str, Json]]
"""The hook for each event."""


@frozen
class _OwnHook:
    """A hook of ours in a text; `path` leads to its group where that holds nothing else."""

    event: str
    hook: Mapping[str, Json]
    path: tuple[str | int, ...]
    group: tuple[str | int, ...]


def make_hooks(plugin: Mapping[str, Any], command: Command, server: str) -> Hooks:
    """The hooks of the plugin, with this command, and this server in place of the plugin's."""
    return {
        event: {**hook, "server": server} if hook["type"] == "mcp_tool" else {
            **hook, "command": command.program, "args": [*command.arguments, *hook["args"]],
        }
        for event, groups in plugin["hooks"].items()
        for group in groups
        for hook in group["hooks"]
    }  # fmt: skip


def plan_hooks(
    text: str | None, wanted: Hooks, *, force: bool
) -> ConfigEdit | AlreadyInstalled | DifferentEntry:
    """Put the hooks in, each in a group of its own.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: the hooks there are in another form.
    """
    before = after = text or ""
    there = {own.event: own for own in reversed(_list_own(before))}
    what: list[str] = []
    for event, hook in wanted.items():
        if event not in there:
            after = set_value(after, (_ROOT, event, APPEND), {"hooks": [dict(hook)]})
            continue
        own = there[event]
        fields = {key: value for key, value in hook.items() if key != "timeout"}
        what += [
            f"{key} of {event} is {own.hook.get(key)!r} there and {value!r} here"
            for key, value in fields.items()
            if own.hook.get(key) != value
        ]
        after = amend(after, own.path, fields)
    if what and not force:
        return DifferentEntry(tuple(what), ours=True)
    return AlreadyInstalled() if after == before else ConfigEdit(after)


def plan_hooks_removal(
    text: str | None, server: str, copies: Sequence[str]
) -> ConfigEdit | NotInstalled:
    """Remove the hooks, unless they ask a server of another name.

    Raises: as `plan_hooks`.
    """
    found = _list_own(text or "")
    if text is None or not found or any(own.hook.get("server", server) != server for own in found):
        return NotInstalled()
    wanted = {own.event: _restore_integers(own.hook) for own in found}

    def install_again(copy: str) -> str | None:
        done = plan_hooks(copy, wanted, force=False)
        return done.text if isinstance(done, ConfigEdit) else None

    clean = [copy for copy in list_readable(copies, (_ROOT, "")) if not _list_own(copy)]
    original = find_original(text, clean, install_again)
    if original is not None:
        return ConfigEdit(original)
    if not copies and install_again("") == text:
        return ConfigEdit(None)
    before = clean[0] if clean else "{}" if copies else None
    after: str | None = text
    for own in reversed(found):
        after = drop_empty(remove_value(after or "", own.group), own.group, before)
    return ConfigEdit(after)


def _restore_integers(hook: Mapping[str, Json]) -> dict[str, Json]:
    """The fields as an install writes them; all numbers are read as floats."""
    return {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in hook.items()
    }


def _list_own(text: str) -> list[_OwnHook]:
    """Our hooks, in their order."""
    has_value(text, (_ROOT, ""))  # says where the hooks are no object
    found: list[_OwnHook] = []
    for event, groups in _items(get_value(text, (_ROOT,))):
        for number, group in _items(groups):
            hooks = _items(_field(group, "hooks"))
            for index, hook in hooks:
                if _is_own(hook):
                    own = (_ROOT, event, number)
                    path = (*own, "hooks", index)
                    fields = cast("Mapping[str, Json]", hook)
                    found.append(
                        _OwnHook(str(event), fields, path, own if len(hooks) == 1 else path)
                    )
    return found


def _is_own(hook: Json) -> bool:
    if _field(hook, "type") == "mcp_tool":
        return _field(hook, "tool") == _PROMPT_TOOL
    return is_ours(hook) and "hook" in [value for _, value in _items(_field(hook, "args"))]


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, Mapping) else None


def _items(value: Json) -> list[tuple[str | int, Json]]:
    """The members of an object or list, each with its step of a path; none of anything else."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return list(enumerate(value))
