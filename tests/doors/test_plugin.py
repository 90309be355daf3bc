"""The Claude Code plugin against what it names: no Claude Code is needed for that."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from memory_mcp import __version__
from memory_mcp.cli.main import make_parser
from memory_mcp.config import settings
from memory_mcp.hooks.run import EVENTS
from memory_mcp.server.tools import load_default_tools, load_toolset

PLUGIN = ROOT / "integrations" / "claude-code"
TOOL_NAME_CHARS_MAX = 64
"""Of the Messages API."""


def read(*path: str) -> dict[str, Any]:
    return json.loads(PLUGIN.joinpath(*path).read_text("utf-8"))


MANIFEST = read(".claude-plugin", "plugin.json")
MARKET = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
((SERVER_NAME, SERVER),) = read(".mcp.json")["mcpServers"].items()
HOOKS: list[tuple[str, dict[str, Any]]] = [
    (event, each)
    for event, groups in read("hooks", "hooks.json")["hooks"].items()
    for group in groups
    for each in group["hooks"]
]


def offered() -> dict[str, Any]:
    """The tools that the plugin's server has, by name."""
    given = make_parser(SERVER["args"]).parse_args(SERVER["args"])
    more = [tool for name in given.toolsets.split(",") for tool in load_toolset(name)]
    return {tool.name: tool for tool in (*load_default_tools(), *more)}


def test_it_is_of_the_packages_version() -> None:
    """Claude Code updates a plugin when its version changes."""
    assert MANIFEST["version"] == __version__
    assert "version" not in MARKET["plugins"][0], "one place says it"


def test_the_marketplace_leads_to_it() -> None:
    """`claude plugin install memory-mcp@memory-mcp` must find what it names."""
    (plugin,) = MARKET["plugins"]

    assert (ROOT / plugin["source"]).resolve() == PLUGIN
    assert plugin["name"] == MANIFEST["name"] == "memory-mcp"
    assert plugin["description"] == MANIFEST["description"]


def test_the_server_starts_with_the_toolsets_that_the_hooks_need() -> None:
    """The command takes these arguments, and they are toolsets that exist."""
    given = make_parser(SERVER["args"]).parse_args(SERVER["args"])

    assert (SERVER["command"], given.command) == ("memory-mcp", "serve")
    assert set(given.toolsets.split(",")) <= set(settings.TOOLSETS)
    assert {"prompt_context", "episodic_capture", "consolidate"} <= offered().keys()


def test_the_names_of_its_tools_are_not_too_long() -> None:
    """As the model sees them."""
    long = [
        name
        for tool in offered()
        if len(name := f"mcp__plugin_{MANIFEST['name']}_{SERVER_NAME}__{tool}")
        > TOOL_NAME_CHARS_MAX
    ]

    assert long == []


@pytest.mark.parametrize(("event", "given"), HOOKS, ids=[event for event, _ in HOOKS])
def test_every_hook_names_something_that_is_there(event: str, given: dict[str, Any]) -> None:
    """No shell, no script, no path: a command with arguments, or a tool of the server."""
    assert 0 < given["timeout"] <= 10
    match given["type"]:
        case "command":
            assert given["command"] == "memory-mcp"
            hook, name = given["args"]
            assert hook == "hook"
            assert name in EVENTS
            assert name.replace("-", "") == event.lower()
        case "mcp_tool":
            assert given["server"] == f"plugin:{MANIFEST['name']}:{SERVER_NAME}"
            properties = offered()[given["tool"]].parameters["properties"]
            assert given["input"].keys() == properties.keys()
            assert all(re.fullmatch(r"\$\{\w+\}", value) for value in given["input"].values())
        case other:
            raise AssertionError(other)


def test_every_event_that_the_command_knows_is_hooked() -> None:
    """And the prompts, by the server."""
    assert {args[1] for _, each in HOOKS if (args := each.get("args"))} == set(EVENTS)
    assert [event for event, each in HOOKS if each["type"] == "mcp_tool"] == ["UserPromptSubmit"]


@pytest.mark.parametrize(
    "path", [*PLUGIN.glob("commands/*.md"), *PLUGIN.glob("skills/*/SKILL.md")],
    ids=lambda path: path.stem,
)  # fmt: skip
def test_what_the_model_is_told_to_call_exists(path: Path) -> None:
    """A tool by another name is one that the model looks for in vain."""
    text = path.read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    named = set(re.findall(r"`([a-z]+_[a-z_]+|checkpoint|backtrack|consolidate)`", body))

    assert re.search(r"^description: .{20,}$", head, re.MULTILINE)
    assert named
    assert named <= offered().keys()


def test_there_is_a_command_for_each_of_the_four() -> None:
    """Those that people look for."""
    names = sorted(path.stem for path in PLUGIN.glob("commands/*.md"))

    assert names == ["backtrack", "checkpoint", "head", "remember"]


def test_its_words_and_its_picture_are_what_a_catalog_asks_for() -> None:
    """Forty words of README, and a square of 512 pixels or more."""
    icon = (PLUGIN / ".claude-plugin" / "icon.png").read_bytes()
    width, height = struct.unpack(">II", icon[16:24])

    assert len((PLUGIN / "README.md").read_text("utf-8").split()) >= 40
    assert icon.startswith(b"\x89PNG")
    assert width == height >= 512
