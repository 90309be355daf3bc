"""Claude Code with our server, and with our plugin, for the tests of this folder."""

import json
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from driver import PLUGIN, ROOT, SERVER, ClaudeCode, claude_binary
from messages_api import MessagesApi, messages_api

ALLOWED: Final = f"{SERVER} ListMcpResourcesTool ReadMcpResourceTool"


@pytest.fixture(scope="session")
def binary() -> Path:
    """The real Claude Code, or a skip that says why not."""
    return claude_binary()


@pytest.fixture
def api() -> Generator[MessagesApi]:
    """Where it sends what a model is to answer."""
    with messages_api() as api:
        yield api


@pytest.fixture
def repository(project: Path) -> Path:
    """A project as most are: a git work tree."""
    git = shutil.which("git")
    assert git is not None, "the project is a git work tree"
    subprocess.run([git, "init", "--quiet", str(project)], check=True)
    return project


@pytest.fixture
def plain(binary: Path, tmp_path: Path, repository: Path, api: MessagesApi) -> ClaudeCode:
    """With the server alone, as `claude mcp add memory -- memory-mcp` sets it up."""
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"memory": {"command": "memory-mcp"}}}), "utf-8")
    options = ["--mcp-config", str(servers), "--strict-mcp-config", "--allowedTools", "mcp__memory"]
    return ClaudeCode(binary, tmp_path / "user", repository, api, "mcp__memory__", options)


@pytest.fixture
def claude(binary: Path, tmp_path: Path, repository: Path, api: MessagesApi) -> ClaudeCode:
    """With the plugin, loaded from the folder it is developed in."""
    options = ["--plugin-dir", str(PLUGIN), "--allowedTools", ALLOWED]
    return ClaudeCode(binary, tmp_path / "user", repository, api, f"{SERVER}__", options)


@pytest.fixture
def installed(binary: Path, tmp_path: Path, repository: Path, api: MessagesApi) -> ClaudeCode:
    """With the plugin, installed from the marketplace that the repository is."""
    options = ["--allowedTools", ALLOWED]
    fresh = ClaudeCode(binary, tmp_path / "user", repository, api, f"{SERVER}__", options)
    fresh.command("plugin", "marketplace", "add", str(ROOT))
    fresh.command("plugin", "install", "memory-mcp@memory-mcp")
    return fresh
