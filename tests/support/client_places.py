"""Samples of what clients keep, and where they keep it; for the tests of `install`."""

import sys
from pathlib import Path
from typing import Any

import pytest
from paths import DATA

from memory_mcp.clients.jsonc import parse_document

SAMPLES = DATA / "clients"
NAMES = sorted(path.name for path in SAMPLES.glob("*.json"))
PLACES: dict[tuple[str, str], str] = {
    ("claude-code", "user"): "~/.claude.json",
    ("claude-code", "local"): "~/.claude.json",
    ("claude-code", "project"): ".mcp.json",
    ("claude-desktop", "user"): "~/.config/Claude/claude_desktop_config.json",
    ("cursor", "user"): "~/.cursor/mcp.json",
    ("cursor", "project"): ".cursor/mcp.json",
    ("vscode", "user"): "~/.config/Code/User/mcp.json",
    ("vscode", "project"): ".vscode/mcp.json",
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home with nothing in it."""
    folder = tmp_path / "ada"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def file_of(home: Path, project: Path, client: str, scope: str) -> Path:
    place = PLACES[client, scope]
    return home / place[2:] if place.startswith("~/") else project / place


def given(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def servers(path: Path, *way: str) -> Any:
    data: Any = parse_document(path.read_text("utf-8")).root.data
    for name in way:
        data = data[name]
    return data


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
