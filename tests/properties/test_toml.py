"""Editing somebody else's TOML: whatever it holds, only what is meant changes."""

import json
import re
import tomllib
from collections.abc import Mapping

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memory_mcp.clients import toml
from memory_mcp.clients.jsonc import Json, NotAnObjectError
from memory_mcp.clients.plans import ConfigEdit, plan_install, plan_uninstall
from memory_mcp.clients.toml import (
    NotTomlError,
    get_value,
    has_value,
    read_data,
    remove_value,
    set_value,
)

PATH = ("mcp_servers", "memory")
ENTRY: Mapping[str, Json] = {"command": '/ö "x"\\memory-mcp', "args": ["--project", "x"]}

_ends = st.sampled_from(["\n", "\n", "\n\n", " # c\n", "\t# [mcp_servers.memory]\n", "\n# d\n\n"])
_values = st.sampled_from(
    ["1", "-1.5e3", "true", "nan", "2026-11-23", '"x"', "'#'", '"ü \\" # 鍵"', "[]",
     "[\n 1, # [x]\n]", '"""\n[mcp_servers.memory]\n"""', "'''\ncommand = 'x'''''",
     '""""quoted""""', "{}",
     '{ command = "o", args = ["]"] }', "{a.b = 1, c = {}}", '["}", {x = "{"}]'],
)  # fmt: skip
_names = st.sampled_from(["a", "b", "other", "memory", "mcp_servers", '"a b"', "'ü'", "command"])
_keys = st.lists(_names, min_size=1, max_size=3).map(".".join)
_tables = st.sampled_from(
    ["mcp_servers", "mcp_servers.other", "mcp_servers.other.env", 'mcp_servers."a b"', "tui",
     "mcp_servers.memory", "mcp_servers.memory.env", "projects.'/p'", "[rules]", "[mcp_servers.x]"],
)  # fmt: skip


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Statements as people write them; most of what contradicts itself is left out."""
    text = draw(st.sampled_from(["", "", "# first\n\n"]))
    for _ in range(draw(st.integers(0, 3))):
        statements = [f"{draw(_keys)} = {draw(_values)}{draw(_ends)}"]
        if draw(st.booleans()):
            statements.insert(0, f"[{draw(_tables)}]{draw(_ends)}")
        for statement in statements:
            if _is_toml(text + statement):
                text += statement
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text


@given(texts())
@example('mcp_servers.other.command = "o"\nb = 1\n[t]\n')
@example("[mcp_servers.a]\nx = 1\n[t]\n[mcp_servers.b]\ny = 1\n")
@example("mcp_servers = {other = {}}\r\nb = nan\r\n")
@example('s = """\n[mcp_servers.memory]\n"""')
def test_what_is_put_in_is_there_and_all_else_is_as_it_was(text: str) -> None:
    """Other servers, comments and their order are somebody's work."""
    assume(not _has_value(text))

    after = set_value(text, PATH, ENTRY)

    assert get_value(after, PATH) == ENTRY
    assert _others(after) == _others(text)
    assert _comments(after) == _comments(text)
    assert ("\r\n" in text) <= (re.search(r"(?<!\r)\n", after) is None)
    if after.startswith(text):  # a table of its own: cut out with what came along
        assert remove_value(after, PATH).rstrip("\r\n") == text.rstrip("\r\n")


@given(texts())
@example('[mcp_servers.memory]\ncommand = "x"\n\n# about\n[tui]\n')
@example('mcp_servers.memory.command = "x"\nz = 1\n')
@example('mcp_servers = {memory = {command = "x"}, other = {}}\n')
def test_what_is_taken_out_is_gone_and_all_else_is_as_it_was(text: str) -> None:
    """A comment behind the entry is about what follows."""
    assume(_has_value(text))

    after = remove_value(text, PATH)

    assert not has_value(after, PATH)
    assert _others(after) == _others(text)


def test_comments_and_lines_behind_an_entry_stay() -> None:
    """They are about what follows; those within the entry, and one empty line before it, go."""
    text = (
        '# servers\n\n[mcp_servers.memory] # ours\ncommand = "x"\n# pinned\nargs = [\n  "y", # z\n'
        ']\n\n[mcp_servers.memory.env]\nA = "b"\n\n# how it looks\n[tui]\nx = 1\n'
    )
    assert remove_value(text, PATH) == "# servers\n\n# how it looks\n[tui]\nx = 1\n"


@given(texts(), st.booleans())
def test_an_uninstall_gives_back_what_an_install_found(text: str, force: bool) -> None:  # noqa: FBT001  # drawn
    """Byte for byte, whatever stood there: with the copy that was kept."""
    assume(force or not _has_value(text))
    _has_value(text)

    done = plan_install(text, PATH, ENTRY, force=force, editor=toml)

    assert isinstance(done, ConfigEdit)
    assert done.text is not None
    assert get_value(done.text, PATH) == ENTRY
    assert plan_uninstall(done.text, PATH, [text], editor=toml) == ConfigEdit(text)


@given(texts(), st.sampled_from(["/new", 1.5, ["a", "ü"]]))
def test_a_field_is_changed_where_it_stands(text: str, value: Json) -> None:
    """An older entry of ours keeps the comments of its owner."""
    assume(not _has_value(text))
    path = (*PATH, "command")
    before = set_value(text, PATH, ENTRY)

    after = set_value(before, path, value)

    assert get_value(after, PATH) == {**ENTRY, "command": value}
    assert _comments(after) == _comments(before)
    assert len(after.splitlines()) == len(before.splitlines())


@given(st.text(alphabet="[]{}=.,\"'#\\\n\r a1\ufeff", max_size=20))
def test_what_is_no_toml_is_said_to_be_none(text: str) -> None:
    """With its line; and nothing else ever happens."""
    said = ""
    try:
        read_data(text)
    except NotTomlError as error:
        said = str(error)

    assert bool(re.match(r"line \d+: .", said)) is not _is_toml(text.removeprefix("\ufeff"))


@pytest.mark.parametrize("name", ["a b", 'x"y', "ü"])
def test_a_name_that_has_to_be_quoted_is_quoted(name: str) -> None:
    """So is one that only the reader of another client would take bare."""
    after = set_value("", ("mcp_servers", name), ENTRY)
    assert tomllib.loads(after) == {"mcp_servers": {name: ENTRY}}
    assert remove_value(after, ("mcp_servers", name)) == ""


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _has_value(text: str) -> bool:
    """Whether there is one; only tables may be on the way."""
    try:
        return has_value(text, PATH)
    except NotAnObjectError:
        assume(condition=False)
        raise


def _others(text: str) -> str:
    """What the standard library reads, apart from the entry and a table left empty by it."""
    data = tomllib.loads(text.removeprefix("\ufeff"))
    data.get("mcp_servers", {}).pop("memory", None)
    if not data.get("mcp_servers"):
        data.pop("mcp_servers", None)
    return json.dumps(data, sort_keys=True, default=repr)


def _comments(text: str) -> list[str]:
    return sorted(re.findall(r"# (?:first|c|d)\b", text))
