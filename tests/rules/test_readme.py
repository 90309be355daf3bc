"""The README is tested: what it lists is what there is."""

import re
import shlex

import pytest
from command_line import Run
from paths import ROOT

from memory_mcp.cli.catalog import LISTED
from memory_mcp.config import settings
from memory_mcp.server.tools import load_default_tools

README = (ROOT / "README.md").read_text("utf-8")


def names_in(heading: str) -> list[str]:
    """The names in the first columns of the tables under a heading."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_the_page_that_people_read_first_is_short() -> None:
    """What only few need stands in docs/."""
    assert len(README.splitlines()) <= 150


def test_the_tools_listed_are_tools_that_every_client_has() -> None:
    """One that is gone, or must be asked for, misleads."""
    assert set(names_in("Five minutes with it")) <= {tool.name for tool in load_default_tools()}


def test_the_settings_listed_are_ten_of_those_that_are_read() -> None:
    """The others are in docs/settings.md, and `memory-mcp config` shows them."""
    assert len(names_in("Settings")) == 10
    assert set(names_in("Settings")) <= set(settings.SETTINGS)


def test_the_commands_named_are_commands() -> None:
    """Somebody types them."""
    known = [entry.name for entry in LISTED]
    named = re.findall(r"memory-mcp ([a-z]+)", README)

    assert len(named) > 10
    assert set(named) <= {*known, "memory"}, "the plugin is called memory-mcp too"


def test_the_backtrack_shown_is_what_a_terminal_shows(run: Run) -> None:
    """The first thing that anybody sees of it; only times and ids differ."""

    def blur(text: str) -> str:
        return re.sub(r"\d{4}-?\d\d-?\d\d[- ]\d\d:?\d\d(\d\d)?", "AT", text)

    shown = README.split("```console\n", 1)[1].split("```", 1)[0]
    steps = re.findall(r"^\$ memory-mcp (.*)\n((?:[^$].*\n)*)", shown, re.MULTILINE)
    assert len(steps) == 7
    for command, expected in steps:
        status, out, error = run(*shlex.split(command))
        printed = blur(out).splitlines()
        kept = [line for line in blur(expected).splitlines() if line in printed]

        assert (status, error) == (0, "")
        assert kept == blur(expected).splitlines()


def test_no_other_module_reads_the_environment() -> None:
    """A setting read elsewhere would escape the table."""
    reading = re.compile(r"\bos\.(environ\b(?!\[…)|getenv)")
    found = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        if reading.search(path.read_text("utf-8")) and path.name != "settings.py"
    ]

    # one tells numpy to use one thread, one hands its environment to the server that it starts, one
    # hands it to `settings` with the files; a hook is done before `settings` could be imported; the
    # entry point tells pydantic to look for no plugins; who prints asks how wide the terminal is
    assert sorted(found) == [
        "__main__.py", "build.py", "demo.py", "load.py", "output.py", "run.py",
    ]  # fmt: skip


@pytest.mark.parametrize("link", dict.fromkeys(re.findall(r"\]\(([^)#:]+)\)", README)))
def test_every_link_leads_somewhere(link: str) -> None:
    """Links are to files of the repository."""
    assert (ROOT / link).exists()
