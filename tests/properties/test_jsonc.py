"""Editing somebody else's JSON: whatever it holds, only what is meant changes."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memory_mcp.clients.jsonc import (
    Json,
    JsonNode,
    NotAnObjectError,
    NotJsonError,
    get_value,
    has_value,
    is_blank,
    parse_document,
    remove_value,
    set_value,
)
from memory_mcp.clients.plans import ConfigEdit, plan_install, plan_uninstall

ENTRY: Mapping[str, Json] = {
    "type": "stdio",
    "command": "/ö/memory-mcp",
    "args": ["--project", "x"],
}
PATHS = [
    ("mcpServers", "memory"),
    ("servers", "memory"),
    ("projects", "/p", "mcpServers", "memory"),
]

_spaces = st.sampled_from(
    ["", "", " ", "\n", "\n  ", "\t", "\r\n\t", "\r", " // c\n", "// {\r\n  ", "/* , } */", "/**/ "]
)
_objects = ["mcpServers", "mcpServers", "servers", "projects", "/p"]
_names = st.sampled_from([*_objects, "memory", "memory", "other", 'a"b', "ü"])
_scalars = st.one_of(
    st.sampled_from(["true", "false", "null", "0", "-1.5e3", "12345678901234567890"]),
    st.text(alphabet='aü"\\\n🦩/*', max_size=4).map(json.dumps),
    st.sampled_from(['"ü // no comment"', '"/* , */"', '"\\u00e9\\n"', '"🦩"']),
)


@st.composite
def texts(draw: st.DrawFn, depth: int = 0, name: str = "") -> str:
    """A value with comments, and commas and spaces as people leave them; an object at the top."""
    kind = draw(st.integers(0, 3)) if depth and (name not in _objects or depth > 3) else 0
    if depth > 3 or kind == 1:
        return draw(_scalars)
    opening, closing = ("[", "]") if kind == 2 else ("{", "}")
    items: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        key = draw(_names) if opening == "{" else ""
        value = draw(texts(depth + 1, key))
        if key:
            quoted = json.dumps(key, ensure_ascii=draw(st.booleans()))
            value = f"{quoted}{draw(_spaces)}:{draw(_spaces)}{value}"
        items.append(f"{draw(_spaces)}{value}{draw(_spaces)}")
    comma = "," if items and draw(st.booleans()) else ""
    text = f"{opening}{','.join(items)}{comma}{draw(_spaces)}{closing}"
    return text if depth else draw(_mark) + draw(_spaces) + text + draw(_spaces)


_mark = st.sampled_from(["", "\ufeff"])


def plain(text: str, *, surplus_commas: bool = True) -> Any:
    """What the standard library reads, once comments and surplus commas are out."""
    tokens = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
    bare = tokens.sub(lambda found: found.group(1) or " ", text.removeprefix("\ufeff"))
    if not surplus_commas:
        return json.loads(bare)
    surplus = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
    return json.loads(surplus.sub(lambda found: found.group(1) or "", bare), parse_int=float)


def comments(text: str) -> list[str]:
    """Every comment, in order; a blank behind a removed member may end a line of comment."""
    tokens = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', re.DOTALL)
    return [found.group(1).rstrip() for found in tokens.finditer(text) if found.group(1)]


@given(texts())
def test_a_text_means_what_it_means_to_everybody(text: str) -> None:
    """The scanner is ours; the standard library is not."""
    assert parse_document(text).root.data == plain(text)


@given(texts(), st.sampled_from(PATHS))
def test_what_is_aside_of_the_way_is_read_as_on_it(text: str, path: tuple[str, ...]) -> None:
    """Two readers take turns, one for speed; which of them it was must not be seen."""
    whole, taken_apart = parse_document(text), parse_document(text, path)
    assert whole.root.data == taken_apart.root.data
    assert (whole.root.end, whole.extra) == (taken_apart.root.end, taken_apart.extra)


@given(texts(), st.sampled_from(PATHS))
@example('{"mcpServers":{"a":{} // hi\n}}', PATHS[0])
@example('{"a":1, // c\r\n}', PATHS[0])
def test_what_is_put_in_is_there_and_all_else_is_as_it_was(
    text: str, path: tuple[str, ...]
) -> None:
    """Other servers, comments and their order are somebody's work."""
    there = _there(text, path)
    assume(not has_value(text, path))

    after = set_value(text, path, ENTRY)

    assert plain(after) == _edited(plain(text), path, ENTRY)
    assert comments(after) == comments(text)
    # taken out again with the objects that came along: the very same bytes
    back = remove_value(after, path[: there + 1])
    assert back in (text, _squeezed(text, path[:there]))


@given(texts(), st.sampled_from(PATHS[:2]))
@example('{"mcpServers": { // c\n"memory": 1, "behind": 2}}', PATHS[0])
@example('{"mcpServers": {"a": 1, // c\n"memory": 1 }}', PATHS[0])
def test_what_is_taken_out_is_gone_and_all_else_is_as_it_was(
    text: str, path: tuple[str, ...]
) -> None:
    """A line comment in front must not swallow the member behind."""
    if not has_value(text, path[:1]):
        text = set_value(text, path[:1], {})
    if not has_value(text, path):
        text = set_value(text, path, "there before")
        text = set_value(text, (*path[:-1], "behind"), 1.0)
    around = _value(text, path[:-1])
    members = [member for member in around.members or () if member.key == path[-1]]
    assume(len(members) == 1)

    after = remove_value(text, path)

    assert plain(after) == _edited(plain(text), path, None)
    head, tail = text[: members[0].start], text[members[0].value.end :]
    assert comments(after) == comments(head) + comments(tail)


@given(texts(), st.sampled_from(PATHS))
def test_a_key_that_stands_twice_is_taken_out_twice(text: str, path: tuple[str, ...]) -> None:
    """The last one counts; without it the one before would."""
    _there(text, path)
    text = set_value(text, path, ENTRY)

    done = plan_uninstall(text, path, [])

    assert isinstance(done, ConfigEdit)
    assert done.text is None or get_value(done.text, path) != ENTRY


@given(text=texts(), path=st.sampled_from(PATHS), force=st.booleans())
def test_an_uninstall_gives_back_what_an_install_found(
    text: str, path: tuple[str, ...], *, force: bool
) -> None:
    """Byte for byte, whatever stood there: with the copy that was kept."""
    _there(text, path)
    assume(force or not has_value(text, path))

    done = plan_install(text, path, ENTRY, force=force)

    assert isinstance(done, ConfigEdit)
    assert done.text is not None
    assert get_value(done.text, path) == ENTRY
    assert plan_uninstall(done.text, path, [text]) == ConfigEdit(text)


@given(st.text(alphabet='{}[]:,"\\/*\n 1atrue\ufeff', max_size=20))
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    """A text is read as everybody reads it, or refused with its line; nothing else ever happens."""
    said = ""
    found: Json = None
    try:
        found = parse_document(text).root.data
    except NotJsonError as error:
        said = str(error)

    if said:
        assert re.match(r"line \d+: .", said)
        assert is_blank(text) or _refused(text)
    else:
        assert found == plain(text)


@pytest.mark.parametrize("deep", [100, 100_000])
def test_depth_is_bounded(deep: int) -> None:
    """A hostile file ends in a sentence, not in a crash."""
    text = '{"a":' * deep + "1" + "}" * deep
    if deep > 200:
        with pytest.raises(NotJsonError, match="nested deeper"):
            parse_document(text)
    else:
        assert parse_document(text).extra is None


def _refused(text: str) -> bool:
    try:
        plain(text, surplus_commas=False)
    except ValueError:
        return True
    return False


def _there(text: str, path: tuple[str, ...]) -> int:
    """How much of the path there is already; only objects may be on the way."""
    depth = 0
    try:
        while depth < len(path) and has_value(text, path[: depth + 1]):
            depth += 1
        has_value(text, path)
    except NotAnObjectError:
        assume(condition=False)
    return depth


def _edited(data: Any, path: Sequence[str], value: object) -> Any:
    inner = dict(data or {})
    if len(path) > 1:
        inner[path[0]] = _edited(inner.get(path[0]), path[1:], value)
    elif value is None:
        del inner[path[0]]
    else:
        inner[path[0]] = value
    return inner


def _value(text: str, path: tuple[str, ...]) -> JsonNode:
    value = parse_document(text, (*path, "")).root
    for name in path:
        member = value.member(name)
        assert member is not None
        value = member.value
    return value


def _squeezed(text: str, path: tuple[str, ...]) -> str:
    """The text with an empty object in place of the value there."""
    value = _value(text, path)
    return f"{text[: value.start]}{{}}{text[value.end :]}"
