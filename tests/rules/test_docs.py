"""The documentation is tested: its tables are made from the code, and its links lead somewhere."""

import ast
import re
import runpy
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from paths import ROOT

from memory_mcp.cli.catalog import FOR_PROGRAMS, LISTED
from memory_mcp.config.descriptions import load_descriptions
from memory_mcp.config.settings import SETTINGS, TOOLSETS, parse_settings, read_settings
from memory_mcp.server.prompts import PROMPTS
from memory_mcp.server.resources import RESOURCES, TEMPLATES
from memory_mcp.server.tools import load_default_tools, load_toolset

DOCS: Final = ROOT / "docs"
PAGES: Final = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
_CODE: Final = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_VALUE: Final = re.compile(r"`([^`<]+)`")


@pytest.fixture
def run_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[object, str]]:
    """`python docs/tables.py`, in this process: another one would import everything anew."""

    def run(*words: str) -> tuple[object, str]:
        script = str(DOCS / "tables.py")
        monkeypatch.setattr(sys, "argv", [script, *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(script, run_name="__main__")
        out, error = capsys.readouterr()
        assert error == ""
        return ended.value.code, out

    return run


def _read(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def _first_cells(text: str) -> list[str]:
    return re.findall(r"^\| \[?`([^`]+)`", text, re.MULTILINE)


def test_the_tables_are_up_to_date(run_tables: Callable[..., tuple[object, str]]) -> None:
    """They are made from the code; `python docs/tables.py` makes them anew."""
    assert run_tables("--check") == (0, "")


def test_a_table_that_is_not_up_to_date_is_shown_and_mended(
    tmp_path: Path, run_tables: Callable[..., tuple[object, str]]
) -> None:
    """A check that never fails checks nothing."""
    page = tmp_path / "settings.md"
    page.write_text(_read("settings.md").replace("| `500` |", "| `700` |"), "utf-8")

    stale, shown = run_tables("--check", str(tmp_path))
    mended, _ = run_tables(str(tmp_path))

    assert stale == 1
    assert "| `700` |" in shown
    assert "| `500` |" in shown
    assert mended == 0
    assert page.read_text("utf-8") == _read("settings.md")


def test_every_setting_has_its_row() -> None:
    """A setting nobody reads about is not used; one that is gone misleads."""
    table = _read("settings.md").split("<!-- table: settings -->")[1]

    assert sorted(_first_cells(table)) == sorted(SETTINGS)
    assert load_descriptions().keys() == SETTINGS.keys()


def test_every_command_has_its_row_and_its_options() -> None:
    """The pages stand for `--help`."""
    known = [entry.name for entry in LISTED]
    listed = _read("commands.md").split("<!-- table: commands -->")[1].split("<!-- end -->")[0]
    options = _read("options.md").split("<!-- table: options -->")[1]

    assert re.findall(r"\(options.md#(\S+)\)", listed) == known
    assert re.findall(r"^## (\S+)$", options, re.MULTILINE) == known


def test_every_command_named_on_a_page_is_a_command() -> None:
    """Somebody types it."""
    known = {each.name for each in LISTED} | {each.name for each in FOR_PROGRAMS}
    code = "\n".join(found for page in PAGES for found in _CODE.findall(page.read_text("utf-8")))
    named = re.findall(r"(?:^|[`$] ?)memory-mcp ([a-z]+)", code, re.MULTILINE)

    assert len(named) > 200
    assert set(named) <= known


def test_the_program_that_is_shown_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is copied as it stands."""
    monkeypatch.chdir(project)
    program = project / "program.py"
    program.write_text(_read("python.md").split("```python\n")[1].split("```")[0], "utf-8")

    runpy.run_path(str(program), run_name="__main__")

    assert "Orders live in PostgreSQL because the reports join them.\n" in capsys.readouterr().out


def test_every_option_says_what_it_is() -> None:
    """An option without a word is used by guesses."""
    assert re.findall(r"^.*\|  \|$", _read("options.md"), re.MULTILINE) == []


def test_every_tool_resource_and_prompt_has_its_row() -> None:
    """What a client lists is what the pages list."""
    tools = [*load_default_tools(), *(tool for name in TOOLSETS for tool in load_toolset(name))]
    entries = [each.uri for each in (*RESOURCES, *TEMPLATES)] + [each.name for each in PROMPTS]
    tables = {
        name: _read(page).split(f"<!-- table: {name} -->")[1].split("<!-- end -->")[0]
        for name, page in (("tools", "tools.md"), ("resources", "resources.md"))
    }

    assert _first_cells(tables["tools"]) == [tool.name for tool in tools]
    assert _first_cells(tables["resources"]) == entries


@pytest.mark.parametrize(
    ("name", "default"),
    [
        (each.name, value)
        for each in load_descriptions().values()
        if SETTINGS[each.name].parse is not None and SETTINGS[each.name].field != "project_dir"
        for value in _VALUE.findall(each.default)
    ],
)
def test_the_default_that_is_told_is_the_default(name: str, default: str) -> None:
    """Whoever sets it in so many words changes nothing."""
    assert parse_settings({name: default}) == read_settings({})


def test_the_descriptions_are_in_the_package() -> None:
    """A command reads them where no repository is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert wheel["packages"] == ["src/memory_mcp"]
    assert "exclude" not in wheel
    assert (ROOT / "src" / "memory_mcp" / "config" / "settings.toml").is_file()


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub names them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for heading in _HEADING.findall(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        plain = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        known = found.count(plain)
        found.append(f"{plain}-{known}" if known else plain)
    return frozenset(found)


def _links() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = _CODE.sub("", page.read_text("utf-8"))
        yield from ((str(page.relative_to(ROOT)), link) for link in _LINK.findall(text))


def test_every_link_leads_somewhere() -> None:
    """Relative links lead to files of the repository, anchors to headings of their pages."""
    lost: list[str] = []
    for page, link in dict.fromkeys(_links()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            lost.append(f"{page}: {link}")

    assert lost == []


def test_every_page_is_in_the_index_and_says_what_it_answers() -> None:
    """A page that nothing leads to is not read."""
    index = _read("README.md")
    pages = [page.name for page in DOCS.glob("*.md") if page.name != "README.md"]

    assert [name for name in pages if f"({name})" not in index] == []
    for name in pages:
        assert re.match(r"# [^\n]+\n\n[\w`]", _read(name)), name


def test_no_message_leaves_the_number_to_the_reader() -> None:
    """A program that has counted knows whether it was one."""
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines()]

    assert [line for line in lines if re.search(r"[a-z]\(s\)[ ,.]+[a-z]", line)] == []


def test_every_message_that_is_explained_is_one_of_ours() -> None:
    """Who looks for the words of a message finds them, and no message is made up."""
    texts = [
        " ".join(node.value.split())
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    page = _read("failures.md").split("\n## Nothing was stored\n")[1]
    quoted = [
        part.strip(" .:")
        for cell in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
        for words in re.findall(r'"([^"]+)"', cell)
        for part in words.replace("(…)", "…").split("…")
    ]

    assert len(quoted) > 100
    assert [part for part in quoted if part and not any(part in text for text in texts)] == []
