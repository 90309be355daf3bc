"""What every test stands on: asyncio, an empty environment, and folders of its own."""

import io
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from cloud import Cloud
from cloud_server import serving
from command_line import Run
from depth import belongs_to_the_search, choose
from doors import Era
from dropping import drop
from hypothesis import HealthCheck
from hypothesis import settings as settings_of_hypothesis
from models import minilm_folder
from sqs import sqs, sqs_server

from memory_mcp.cli.main import main
from memory_mcp.config.settings import Settings

__all__ = ["drop", "minilm_folder", "sqs", "sqs_server"]  # fixtures that have a module of their own

_OURS = ("MEMORY_", "ATOMIC_", "CLAUDE_", "SUPERMEMORY_", "AWS_")


def pytest_configure(config: pytest.Config) -> None:
    """The default run is short and the same each time; the nightly search tells new stories."""
    deep = _is_nightly(config)
    choose(deep=deep)
    settings_of_hypothesis.register_profile(
        "nightly",
        deadline=None,
        suppress_health_check=[*HealthCheck],  # both time what they see
    )
    settings_of_hypothesis.register_profile(
        "taste", settings_of_hypothesis.get_profile("nightly"),
        derandomize=True, database=None, max_examples=20,
    )  # fmt: skip
    settings_of_hypothesis.load_profile("nightly" if deep else "taste")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what the nightly search runs, before tests are chosen by their markers."""
    if _is_nightly(config):
        for item in filter(belongs_to_the_search, items):
            item.add_marker(pytest.mark.nightly)


def _is_nightly(config: pytest.Config) -> bool:
    chosen = str(config.getoption("-m"))
    return "nightly" in chosen and "not nightly" not in chosen


@pytest.fixture
def anyio_backend() -> str:
    """aiosqlite knows asyncio only."""
    return "asyncio"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads how this machine is set up, or writes to its user's memory."""
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)  # the work tree around the tests is a project too


@pytest.fixture(params=["legacy", "auto"], ids=["2025-11-25", "2026-07-28"])
def era(request: pytest.FixtureRequest) -> Era:
    """Both revisions of the protocol; clients of either must get the same."""
    return request.param


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project that nobody has worked in yet."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(tmp_path: Path, project: Path) -> Settings:
    """A session in that project which approves without asking."""
    return Settings(project_dir=project, home=tmp_path / "home", user="ada", approval="auto")


@pytest.fixture
def cloud() -> Generator[Cloud]:
    """The cloud service at `cloud.url`; nobody may have broken its contract in the end."""
    cloud = Cloud()
    with serving(cloud):
        yield cloud
    assert cloud.violations == []


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, typed in the project's folder (a git work tree)."""
    (project / ".git").mkdir()
    monkeypatch.chdir(project)

    def typed(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
        with monkeypatch.context() as once:  # the next command finds no used up pipe
            if stdin is not None:
                data = stdin.encode() if isinstance(stdin, str) else stdin
                once.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            status = main(list(arguments))
        out, error = capsys.readouterr()
        return status, out, error

    return typed
