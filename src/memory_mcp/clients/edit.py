"""One member put into a JSON text or taken out of it; every other byte stays as it is.

The text's own manner is kept: line ends, indentation, one line or many, a comma after the last
member. What is taken out right after it was put in leaves the very same text, but for one thing
that the text itself does not tell: an empty object is `{}` afterwards, whatever space it held.
"""

import json
import re
from collections.abc import Sequence

from memory_mcp.clients.jsonc import Json, Member, Space, Value, is_blank, scan
from memory_mcp.errors import InvalidRequestError

Path = Sequence[str]


class NotAnObjectError(InvalidRequestError):
    """Something else stands where members should be. The message is the end of a sentence."""

    def __init__(self, path: Path, found: Json) -> None:
        where = f"its {'.'.join(map(repr, path))}" if path else "it"
        super().__init__(f"{where} is {_kind(found)} where an object must be")


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case float():
            return "a number"
        case _:
            return "a list"


def read(text: str, path: Path) -> Json:
    """What stands there; None if nothing does."""
    found = _walk(text, path)
    return found[-1].data if len(found) > len(path) else None


def holds(text: str, path: Path) -> bool:
    """Whether something stands there, be it null."""
    return len(_walk(text, path)) > len(path)


def is_bare(text: str, path: Path) -> bool:
    """Whether an object stands there that holds nothing, not even a comment."""
    found = _walk(text, path)
    return len(found) > len(path) and text[found[-1].start : found[-1].end] == "{}"


def put(text: str, path: Path, value: Json) -> str:
    """The text with this value at the path, which needs one name at least.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    if is_blank(text):
        eol = _eol(text)
        return text.rstrip(" \t\r\n") + _written(_nested(path, value), "  ", eol, "") + eol
    found = _walk(text, path)
    if len(found) > len(path):
        old = found[-1]
        indent = _indent(text, old.start)
        new = _written(value, _unit(text, found[0]), _eol(text), indent)
        if _is_inline(text, found[-2]):
            new = _compact(value, text)
        return text[: old.start] + new + text[old.end :]
    inner, name = found[-1], path[len(found) - 1]
    if inner.members is None:
        raise NotAnObjectError(path[: len(found) - 1], inner.data)
    return _inserted(text, found[0], inner, name, _nested(path[len(found) :], value))


def take(text: str, path: Path) -> str:
    """The text without what stands at the path; as it is, if nothing does.

    Raises:
        NotJsonError: the text is no JSON.
        NotAnObjectError: something on the way is no object.
    """
    if is_blank(text):
        return text
    found = _walk(text, path)
    if len(found) <= len(path):
        return text
    members = found[-2].members or ()
    at = next(i for i, m in reversed(list(enumerate(members))) if m.value.start == found[-1].start)
    return _without(text, found[-2], at)


def _walk(text: str, path: Path) -> list[Value]:
    """The values along the path, as far as there are any, from the whole text on."""
    if is_blank(text):
        return []
    found = [scan(text, tuple(path)).root]
    for depth, name in enumerate(path):
        if found[-1].members is None:
            raise NotAnObjectError(path[:depth], found[-1].data)
        member = found[-1].member(name)
        if member is None:
            break
        found.append(member.value)
    return found


def _nested(path: Path, value: Json) -> Json:
    for name in reversed(path):
        value = {name: value}
    return value


def _inserted(text: str, root: Value, inner: Value, name: str, value: Json) -> str:
    members, eol = inner.members or (), _eol(text)
    if _is_inline(text, inner) if members else _is_inline(text, root):
        between = _gap(text, members) if members else ""
        new = f"{_key(name)}:{_colon_space(text)}{_compact(value, text)}"
        closing = ""
    else:
        own = _indent(text, inner.start)
        unit = _unit(text, root)
        indent = _indent(text, members[-1].start) if members else own + unit
        between = eol + indent
        new = f"{_key(name)}: {_written(value, unit, eol, indent)}"
        closing = eol + own
    space = inner.last
    if not members:
        at = space.comments_end
        if space.line_comment and not between:
            between = eol
        # where there is no comment and no line of its own for the brace, it gets one
        rest = text[at : space.end]
        own_line = closing if at == space.start and not re.search(r"[\r\n]", rest) else ""
        return text[:at] + between + new + own_line + ("" if own_line else rest) + text[space.end :]
    last = members[-1]
    if last.comma is None:
        text = f"{text[: last.value.end]},{text[last.value.end :]}"
        at, after = space.comments_end + 1, ""
    else:
        at, after = space.comments_end, ","
    if space.line_comment and not re.search(r"[\r\n]", between):
        between = eol
    return text[:at] + between + new + after + text[at:]


def _without(text: str, inner: Value, at: int) -> str:
    """The text without one member of an object, its comma, and the space in front of it."""
    members = inner.members or ()
    member = members[at]
    before = member.before.comments_end
    end = member.value.end
    after = text[end:]
    if member.comma is not None:
        after = text[end : member.comma] + text[member.comma + 1 :]
    elif at > 0 and (comma := members[at - 1].comma) is not None:
        # the last of several gives back the comma that came with it
        head = text[:comma] + text[comma + 1 : before]
        return _joined(head, text[before : member.start], after, member.before)
    if len(members) == 1 and not _has_comment(text, inner, member):
        return text[: inner.start] + "{}" + text[inner.end :]
    return _joined(text[:before], text[before : member.start], after, member.before)


def _joined(head: str, space: str, after: str, before: Space) -> str:
    """Both ends together; a line comment in front must not swallow what follows."""
    swallows = before.line_comment and re.match(r"[ \t]*[\r\n]", after) is None
    return head + (space if swallows else "") + after


def _has_comment(text: str, inner: Value, member: Member) -> bool:
    around = text[inner.start + 1 : member.start] + text[member.value.end : inner.end - 1]
    return around.replace(",", "", 1).strip(" \t\r\n") != ""


def _written(value: Json, unit: str, eol: str, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{eol}{indent}".join(lines)


def _compact(value: Json, text: str) -> str:
    space = _colon_space(text)
    return json.dumps(value, ensure_ascii=False, separators=(f",{space}", f":{space}"))


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _eol(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found.group() if found else "\n"


def _colon_space(text: str) -> str:
    """What this text puts behind a colon, a comma too."""
    return " " if re.search(r'":[ \t\r\n]', text) or '":' not in text else ""


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    found = re.compile(r"\ufeff?([ \t]*)").match(text, _line_start(text, at))
    return found.group(1) if found else ""


def _is_inline(text: str, value: Value) -> bool:
    """Whether its members share a line with each other; an empty text has no manner yet."""
    members = value.members or ()
    last = members[-1] if members else None
    return last is not None and not re.search(r"[\r\n]", text[last.before.start : last.start])


def _gap(text: str, members: Sequence[Member]) -> str:
    """The space between two members that share a line."""
    last = members[-1]
    if len(members) > 1:
        return text[last.before.comments_end : last.start]
    return _colon_space(text)


def _unit(text: str, root: Value) -> str:
    """How far this text indents one level."""
    members = root.members or ()
    if members and not _is_inline(text, root):
        outer, inner = _indent(text, root.start), _indent(text, members[-1].start)
        if inner.startswith(outer) and inner != outer:
            return inner.removeprefix(outer)
    return "  "
