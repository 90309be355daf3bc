"""The package has a name of its own: `memory-mcp` on PyPI is somebody else's code."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

from memory_mcp.clients.plans import PACKAGE, PROGRAM

_PLACES = ("src", "docs", "integrations", ".claude-plugin", "tests", "benchmarks")
_FETCHES = re.compile(
    r"memory-mcp(?:\[|==|>=|~=| @ |@\d)"
    r"|\b(?:pip|pipx|uv)\b[^\n`;&|]*? (?:install|run|inject|upgrade|add|--spec)"
    r"(?: +-[\w-]+)* +['\"]?memory-mcp\b"
    r"|\buvx +(?:--?[\w-]+ +)*['\"]?memory-mcp\b"
    r"|\"identifier\": *\"memory-mcp\"|\b(?:version|distribution)\(['\"]memory-mcp"
)


def _files() -> Iterator[Path]:
    """What is ours: beside `.ci/run` lies the virtual environment that it makes."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")
    yield ROOT / ".ci" / "run"
    for place in _PLACES:
        yield from (path for path in (ROOT / place).rglob("*") if path.is_file())


def test_nothing_fetches_what_another_published() -> None:
    """Not a message, not a page, not a bundle: each would run a stranger's code."""
    own = Path(__file__).name
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in _files()
        if path.suffix not in (".pyc", ".png") and path.name != own
        for match in _FETCHES.finditer(path.read_text("utf-8", errors="replace"))
    ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    ["pip install 'memory-mcp[semantic]'", "uvx memory-mcp", "uvx --from memory-mcp x",
     "uv tool install memory-mcp", "pipx run memory-mcp", "pip install -U memory-mcp",
     'dependencies = ["memory-mcp==0.1.0"]', '"identifier": "memory-mcp"'],
)  # fmt: skip
def test_the_search_finds_the_wrong_form(text: str) -> None:
    """A search that finds nothing proves nothing."""
    assert _FETCHES.search(text)
    assert not _FETCHES.search(text.replace("memory-mcp", PACKAGE))


def test_the_package_brings_the_command_under_both_names() -> None:
    """`uvx NAME` runs the command that is called like the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["name"] == PACKAGE
    assert project["scripts"].keys() == {PROGRAM, PACKAGE}
    assert len(set(project["scripts"].values())) == 1
