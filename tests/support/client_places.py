"""Samples of what clients keep, and where they keep it; for the tests of `install`."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from paths import DATA

from memory_mcp.clients.jsonc import is_blank, parse_document, set_value
from memory_mcp.config.settings import CLIENT_VARIABLES

SAMPLES = DATA / "clients"
PLACES: dict[tuple[str, str], str] = {
    ("claude-code", "user"): "~/.claude.json",
    ("claude-code", "local"): "~/.claude.json",
    ("claude-code", "project"): ".mcp.json",
    ("claude-desktop", "user"): "~/.config/Claude/claude_desktop_config.json",
    ("cursor", "user"): "~/.cursor/mcp.json",
    ("cursor", "project"): ".cursor/mcp.json",
    ("vscode", "user"): "~/.config/Code/User/mcp.json",
    ("vscode", "project"): ".vscode/mcp.json",
    ("codex", "user"): "~/.codex/config.toml",
    ("codex", "project"): ".codex/config.toml",
    ("gemini", "user"): "~/.gemini/settings.json",
    ("gemini", "project"): ".gemini/settings.json",
    ("windsurf", "user"): "~/.codeium/windsurf/mcp_config.json",
    ("zed", "user"): "~/.config/zed/settings.json",
    ("zed", "project"): ".zed/settings.json",
    ("opencode", "user"): "~/.config/opencode/opencode.json",
    ("opencode", "project"): "opencode.json",
}
CASES = [
    (place, path.name)
    for place, file in PLACES.items()
    for path in sorted(SAMPLES.glob(f"*{Path(file).suffix}"))
]
"""Each place with each sample of its language."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home with nothing in it."""
    folder = tmp_path / "ada"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in CLIENT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return folder


def file_of(home: Path, project: Path, client: str, scope: str) -> Path:
    place = PLACES[client, scope]
    return home / place[2:] if place.startswith("~/") else project / place


def given(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def servers(path: Path, *way: str) -> Any:
    text = path.read_text("utf-8")
    data: Any = tomllib.loads(text.removeprefix("\ufeff")) if path.suffix == ".toml" else (
        {} if is_blank(text) else parse_document(text).root.data
    )  # fmt: skip
    for name in way:
        data = data[name]
    return data


def write_later(path: Path) -> None:
    """Another program adds something of its own."""
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        text = f"{mark}later = 1\n{text.removeprefix(mark)}"
    else:
        text = set_value(text, ("later",), 1.0)
    given(path, text.encode())


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
