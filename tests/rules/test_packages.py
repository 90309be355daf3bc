"""What registries and clients are told of the package: held against the package itself."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from client_places import files_in
from doors import add
from mcp import Client, StdioServerParameters
from paths import ROOT

from memory_mcp import __version__
from memory_mcp.clients.jsonc import set_value
from memory_mcp.clients.plans import Command, make_arguments, make_entry
from memory_mcp.clients.tables import CLIENTS
from memory_mcp.config.settings import SETTINGS, TOOLSETS
from memory_mcp.server.tools import load_default_tools

BUNDLE: Final = ROOT / "integrations" / "claude-desktop"
_RECORD: Final = re.compile(r"/\d{4}-\d\d/[^/]+\.json$")
_MCPB: Final = "@anthropic-ai/mcpb@2.1.2"


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_the_example_is_what_install_writes() -> None:
    """Whoever copies it gets what whoever runs the command gets."""
    client = CLIENTS["claude-desktop"]
    told = make_arguments(client, "user", "/path/to/your/project", "")
    written = set_value(
        "", ("mcpServers", "memory"), make_entry(client, Command("/path/to/memory-mcp", told))
    )

    assert (ROOT / "claude_desktop_config.example.json").read_text("utf-8") == written


def test_the_bundle_is_of_this_version() -> None:
    """A bundle that starts another version would lie about its tools."""
    project = tomllib.loads((BUNDLE / "pyproject.toml").read_text("utf-8"))["project"]
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert _json(BUNDLE / "manifest.json")["version"] == project["version"] == __version__
    assert project["dependencies"] == [f"backtrack-memory=={__version__}"]
    assert project["requires-python"] == package["requires-python"]


def test_the_bundle_lists_the_tools_there_are() -> None:
    """With the first sentence of what a model reads of each."""
    listed = _json(BUNDLE / "manifest.json")["tools"]

    assert listed == [
        {
            "name": tool.name,
            "description": (tool.description or "").split(". ")[0].rstrip(".") + ".",
        }
        for tool in load_default_tools()
    ]


def test_what_the_bundle_asks_for_reaches_the_server() -> None:
    """Each field of the form is a setting, and each placeholder a field."""
    manifest = _json(BUNDLE / "manifest.json")
    given = manifest["server"]["mcp_config"]["env"]
    fields = [re.fullmatch(r"\$\{user_config\.(\w+)\}", value) for value in given.values()]

    assert set(given) <= set(SETTINGS)
    assert [found and found.group(1) for found in fields] == list(manifest["user_config"])
    assert not any(field["required"] for field in manifest["user_config"].values())
    for name in set(TOOLSETS) - {"hooks"}:  # those are called by Claude Code
        assert name in manifest["user_config"]["toolsets"]["description"]


def _bundle(home: Path, **form: str) -> StdioServerParameters:
    """The bundle as it is started with such a form, lying in somebody's git work tree."""
    manifest = _json(BUNDLE / "manifest.json")
    (home / ".git").mkdir()
    shutil.copytree(BUNDLE, home / "bundle")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        **manifest["server"]["mcp_config"]["env"],
        "MEMORY_HOME": str(home / "memories"),
        **form,
    }
    entry_point = manifest["server"]["entry_point"]
    return StdioServerParameters(
        command=sys.executable, args=[entry_point], env=environment, cwd=home / "bundle"
    )


@pytest.mark.nightly
@pytest.mark.anyio
@pytest.mark.parametrize("filled", ["", pytest.param("shop", marks=pytest.mark.nightly)])
async def test_without_a_project_the_bundle_takes_none(tmp_path: Path, filled: str) -> None:
    """What was not filled in arrives as a placeholder; no work tree around it takes its place."""
    (tmp_path / "shop").mkdir()
    form = {"MEMORY_PROJECT_DIR": str(tmp_path / filled)} if filled else {}

    async with Client(_bundle(tmp_path, **form)) as client:
        await add(client, "The shop sells boats in Kiel.")

    (kept,) = [name for name in files_in(tmp_path) if _RECORD.search(name)]
    assert kept.startswith("shop/.claude/memory/" if filled else "memories/")


@pytest.mark.referees
def test_the_maker_of_bundles_finds_ours_valid() -> None:
    """Its own judge, fetched by npx."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("node is not installed")
    command = [npx, "--yes", _MCPB, "validate", str(BUNDLE / "manifest.json")]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    assert "validation passes" in done.stdout, done.stdout + done.stderr


def test_what_the_registry_is_told() -> None:
    """The fields that its schema (2025-12-11) requires, within the limits that it sets."""
    told = _json(ROOT / "server.json")
    (package,) = told["packages"]

    assert told["$schema"].endswith("/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", told["name"])
    assert 0 < len(told["description"]) <= 100
    assert 0 < len(told["title"]) <= 100
    assert told["version"] == package["version"] == __version__
    assert (package["registryType"], package["identifier"]) == ("pypi", "backtrack-memory")
    assert (package["runtimeHint"], package["transport"]) == ("uvx", {"type": "stdio"})
    for variable in package["environmentVariables"]:
        assert variable["name"] in SETTINGS
        assert variable.get("isSecret", False) is variable["name"].endswith(
            ("_KEY", "POSTGRES_URL")
        )
        assert variable.get("format", "string") in ("string", "number", "boolean", "filepath")
        assert variable.get("default", "auto") in variable.get("choices", ["auto"])


def test_the_readme_proves_whose_the_package_is() -> None:
    """The registry looks for this line in what PyPI shows."""
    name = _json(ROOT / "server.json")["name"]

    assert f"<!-- mcp-name: {name} -->" in (ROOT / "README.md").read_text("utf-8")
