"""The README is tested: what it lists is what there is."""

import re

import pytest
from paths import ROOT

from memory_mcp.cli.main import make_parser
from memory_mcp.config import settings
from memory_mcp.server.prompts import PROMPTS
from memory_mcp.server.resources import RESOURCES, TEMPLATES
from memory_mcp.server.tools import load_default_tools, load_toolset

README = (ROOT / "README.md").read_text("utf-8")


def names_in(heading: str) -> list[str]:
    """The first column of the first table under a heading."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)


def test_the_tools_listed_are_the_tools_there_are() -> None:
    """A tool nobody reads about is not used; one that is gone misleads."""
    offered = [
        *load_default_tools(),
        *(t for name in settings.TOOLSETS for t in load_toolset(name)),
    ]

    assert sorted(names_in("Tools")) == sorted(tool.name for tool in offered)


def test_the_resources_and_prompts_listed_are_those_there_are() -> None:
    """The README says what they are for, the page in docs/ how they behave."""
    known = [each.uri for each in (*RESOURCES, *TEMPLATES)] + [each.name for each in PROMPTS]
    page = (ROOT / "docs" / "resources.md").read_text("utf-8")

    assert names_in("Resources and prompts") == known
    assert re.findall(r"^### `([^`]+)`", page, re.MULTILINE) == known


def test_the_commands_listed_are_the_commands_there_are() -> None:
    """The table stands for `--help`."""
    usage = make_parser().format_help()
    known = re.findall(r"^    ([a-z]+) ", usage, re.MULTILINE)

    assert names_in("Commands") == known


def test_the_settings_listed_are_the_settings_read() -> None:
    """`settings.SETTINGS` is the only list of variables that are read at all."""
    assert names_in("Settings") == list(settings.SETTINGS)


def test_no_other_module_reads_the_environment() -> None:
    """A setting read elsewhere would escape the table."""
    reading = re.compile(r"\bos\.(environ\b(?!\[…)|getenv)")
    found = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        if reading.search(path.read_text("utf-8")) and path.name != "settings.py"
    ]

    # one tells numpy to use one thread, one hands its environment to the server that it starts, one
    # hands it to `settings` with the files; a hook is done before `settings` could be imported
    assert sorted(found) == ["build.py", "demo.py", "load.py", "run.py"]


@pytest.mark.parametrize("link", dict.fromkeys(re.findall(r"\]\(([^)#:]+)\)", README)))
def test_every_link_leads_somewhere(link: str) -> None:
    """Links are to files of the repository."""
    assert (ROOT / link).exists()
