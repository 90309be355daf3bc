"""Modules that a command imports and does not use are loaded when something uses them."""

import sys
from importlib import import_module
from pathlib import Path
from threading import Barrier, Thread
from types import ModuleType
from typing import Any

import pytest

from memory_mcp import late

SOURCE = """
import sys
from pathlib import Path

runs = Path(__file__).with_name("runs")
runs.write_text(runs.read_text() + "x")
if Path(__file__).with_name("broken").exists():
    raise ImportError("no such library")
answer = 42
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one module, which is to be loaded late."""
    package = tmp_path / "lazy_example"
    package.mkdir()
    (package / "__init__.py").write_text("from lazy_example import seldom\n")
    (package / "seldom.py").write_text(SOURCE)
    (package / "runs").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(late, "LATE", ("lazy_example.seldom", "sys", "no_such_module"))
    for name in ("lazy_example", "lazy_example.seldom"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # so that it is taken back
        monkeypatch.delitem(sys.modules, name)
    late.load_late()
    return package


def import_seldom() -> Any:
    """The module, as its package has imported it."""
    return import_module("lazy_example").seldom


def test_a_module_runs_with_the_first_look_into_it(folder: Path) -> None:
    """Who imports it sees no difference; what is imported already, or is not there, stays so."""
    seldom = import_seldom()

    assert (folder / "runs").read_text() == ""

    assert seldom.answer == 42
    assert type(seldom) is ModuleType
    assert (folder / "runs").read_text() == "x"
    assert not hasattr(seldom, "question")
    assert type(sys) is ModuleType
    assert "no_such_module" not in sys.modules


def test_a_name_that_it_has_not_is_none_of_its_own_either(folder: Path) -> None:
    seldom = import_seldom()

    assert not hasattr(seldom, "__path__")
    assert (folder / "runs").read_text() == "", "the import system has only asked for a package"
    with pytest.raises(AttributeError, match=r"'lazy_example.seldom' has no attribute 'question'"):
        _ = seldom.question


def test_what_cannot_be_loaded_says_so_to_everyone_who_asks(folder: Path) -> None:
    (folder / "broken").touch()
    seldom = import_seldom()

    for _ in range(2):
        with pytest.raises(ImportError, match="no such library"):
            _ = seldom.answer
    (folder / "broken").unlink()
    assert seldom.answer == 42


def test_threads_that_look_at_once_all_see_the_whole_module(folder: Path) -> None:
    seldom = import_seldom()

    found: list[int] = []
    start = Barrier(8)

    def look() -> None:
        start.wait()
        found.append(seldom.answer)

    threads = [Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [42] * 8
    assert (folder / "runs").read_text() == "x"
