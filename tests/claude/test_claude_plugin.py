"""The plugin as Claude Code itself judges, installs and offers it."""

import json

import pytest
from driver import PLUGIN, ROOT, SERVER, ClaudeCode, Json, Turn
from story import KEPT, context, read

pytestmark = pytest.mark.claude

COMMANDS = ("head", "checkpoint", "backtrack", "remember")


def began(turn: Turn) -> Json:
    """What Claude Code says it has, at the beginning of a turn."""
    return next(event for event in turn.events if event.get("subtype") == "init")


@pytest.mark.parametrize("folder", [PLUGIN, ROOT], ids=["plugin", "marketplace"])
def test_it_passes_the_strict_judge(claude: ClaudeCode, folder: object) -> None:
    """Warnings count: a plugin that is not listed is not found."""
    told = claude.command("plugin", "validate", str(folder), "--strict")

    assert "Validation passed" in told.stdout


def test_it_passes_what_the_directory_asks_for(claude: ClaudeCode) -> None:
    """The public directory wants more: a README of some length, a licence, an icon."""
    told = claude.command("plugin", "validate", str(PLUGIN), "--profile", "directory")

    assert "Validation passed" in told.stdout


def test_it_is_installed_from_its_marketplace(installed: ClaudeCode) -> None:
    """As users do it: add, install, and from then on every session has it, with nothing said."""
    assert "memory-mcp" in installed.command("plugin", "list").stdout
    details = installed.command("plugin", "details", "memory-mcp").stdout
    with installed.session() as session:
        added = session.ask("Hello", installed.call("add_memory", content=KEPT, kind="decision"))
        read(installed)
    with installed.session() as session:
        second = session.ask("Hello")

    assert "memory" in details
    assert began(added)["mcp_servers"] == [
        {"name": "plugin:memory-mcp:memory", "status": "connected", "source": "plugin"}
    ]
    assert KEPT in context(second, "SessionStart:startup")


def test_the_server_is_connected(installed: ClaudeCode) -> None:
    """Claude Code's own health check starts the server and asks it for its tools."""
    told = installed.command("mcp", "list").stdout

    assert "plugin:memory-mcp:memory: memory-mcp" in told
    assert "Connected" in told


def test_its_commands_say_what_they_are_for(claude: ClaudeCode) -> None:
    """What the user types after the command reaches the model within what the command says."""
    with claude.session() as session:
        turns = {name: session.ask(f"/memory-mcp:{name} the blue one") for name in COMMANDS}

    tools = {"head": "memory_head", "remember": "add_memory"}
    offered = began(turns["head"])["slash_commands"]
    for name, turn in turns.items():
        assert f"memory-mcp:{name}" in offered
        assert f"`{tools.get(name, name)}`" in turn.first.text
        assert "$ARGUMENTS" not in turn.first.text
        assert "the blue one" in turn.first.text


def test_resources_and_prompts_are_offered(claude: ClaudeCode) -> None:
    """`@` and `/` are how a user reaches them; the model lists and reads resources by tools."""
    head = {"server": "plugin:memory-mcp:memory", "uri": "memory://head"}
    with claude.session() as session:
        session.ask("Hello", claude.call("add_memory", content=KEPT, kind="decision"))
        read = session.ask(
            "List.",
            "CALL ListMcpResourcesTool {}",
            f"CALL ReadMcpResourceTool {json.dumps(head)}",
            f"CALL ReadMcpResourceTool {json.dumps({**head, 'uri': 'memory://context'})}",
        )
        prompts = [name for name in began(read)["slash_commands"] if name.startswith(SERVER)]
        begun = session.ask(f"/{SERVER}__session_start")

    listed, _, opening = read.results()
    uris = {resource["uri"] for resource in json.loads(listed)}
    assert {"memory://context", "memory://head", "memory://profile", "memory://history"} <= uris
    assert KEPT in opening
    assert prompts == [
        f"{SERVER}__{name}"
        for name in ("session_start", "consolidate_session", "close_phase", "review_backtrack")
    ]
    assert KEPT in begun.first.messages[-1][1] + begun.first.messages[-2][1]
