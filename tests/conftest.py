"""What every test stands on: asyncio, an empty environment, and folders of its own."""

import gc
import io
import os
import signal
import ssl
import sys
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import postgres
import pytest
from cloud import Cloud
from cloud_server import serving
from command_line import Run
from depth import SEARCHES, belongs_to_the_search, choose
from dropping import drop
from git_world import patient_git
from hypothesis import HealthCheck
from hypothesis import settings as settings_of_hypothesis
from models import minilm_folder
from patient import lone_doctor
from postgres import clean_postgres, postgres_url
from sqs import sqs, sqs_server

from memory_mcp.cli.main import main
from memory_mcp.config.settings import Settings
from memory_mcp.storage.sqlite import database

__all__ = [
    "clean_postgres",
    "drop",
    "lone_doctor",
    "minilm_folder",
    "patient_git",
    "postgres_url",
    "sqs",
    "sqs_server",
]  # fixtures that have a module of their own

_WORLDS = {"mode": ("mark", "follow"), "ignored": (True, False)}
_TOLD = ("stories", "doors")
_CASES_OF_A_STORY = 8  # of so many the default run takes one; all cost 81 s of 232 of the stories
_CORES = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
_IN_MEMORY = "/dev/shm"  # noqa: S108  # pytest makes a folder of this user's own there
_ROOM_BYTES_MIN = 1 << 30  # what passed is removed at once: a run takes a tenth of it
_OURS = ("MEMORY_", "ATOMIC_", "CLAUDE_", "SUPERMEMORY_", "AWS_")


def pytest_configure(config: pytest.Config) -> None:
    """The default run is short and the same each time; the nightly search tells new stories."""
    keep_compiled_modules()
    # whoever runs this in the background ignores Ctrl-C, and so would the commands that it ends
    signal.signal(signal.SIGINT, signal.default_int_handler)
    deep = _is_nightly(config)
    choose(deep=deep)
    if not deep:
        keep_files_in_memory()
    settings_of_hypothesis.register_profile(
        "nightly",
        deadline=None,
        suppress_health_check=[*HealthCheck],  # both time what they see
    )
    settings_of_hypothesis.register_profile(
        "taste", settings_of_hypothesis.get_profile("nightly"),
        derandomize=True, database=None, max_examples=10,
    )  # fmt: skip
    settings_of_hypothesis.load_profile("nightly" if deep else "taste")
    if deep:  # a part of the search takes minutes, and longer on a busy machine
        config._inicache["faulthandler_timeout"] = 3_600.0  # pyright: ignore[reportPrivateUsage]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two for each processor: a test waits for threads and processes half of its time."""
    del config
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage among what stays: it takes as long as finding the tests does."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what the nightly search runs, before tests are chosen by their markers."""
    told_of_files = {each for each in items if each.get_closest_marker("files")}
    if misplaced := [each for each in told_of_files if _has_database(each)]:
        items[:] = [item for item in items if item not in misplaced]
        config.hook.pytest_deselected(items=misplaced)
    cases = defaultdict[tuple[object, ...], list[pytest.Item]](list)
    for item in items:
        if not item.get_closest_marker("nightly") and (case := _find_case(item)):
            cases[case].append(item)
    for known in cases.values():
        sampled = known[0].get_closest_marker("sampled")
        _leave_to_the_nightly_search(known, -(-len(known) // sampled.args[0]) if sampled else 1)
    told = defaultdict[tuple[object, ...], list[pytest.Item]](list)
    for item in items:
        if not item.get_closest_marker("nightly") and (story := _find_story(item)):
            told[story].append(item)
    for known in told.values():
        _leave_to_the_nightly_search(known, -(-len(known) // _CASES_OF_A_STORY))
    if _is_nightly(config):
        for item in filter(belongs_to_the_search, items):
            item.add_marker(pytest.mark.nightly)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep a test to one core: its threads take turns, and to wake one on another core is dear.

    That was a seventh of the processor time of five files of stories. A search for faults has all
    cores, so that the processes that it starts really run at once.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if _CORES and worker and not _is_nightly(item.config):
        own = _CORES[int(worker) % len(_CORES)]
        os.sched_setaffinity(0, _CORES if item.path.parent.name in SEARCHES else {own})


def _has_database(item: pytest.Item) -> bool:
    """Whether a story is told with its memories in a database; one value of a parameter may not."""
    if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        return bool(postgres.PROVIDER) or item.callspec.params.get("provider") == "postgres"
    return bool(postgres.PROVIDER)


def _find_case(item: pytest.Item) -> tuple[object, ...]:
    """What a test tells, whatever it is told with: of such cases the default run takes some.

    Of a `sampled` test these are all. Else they differ in the mode in which git is followed, or in
    whether it ignores the records.
    """
    test = item.nodeid.partition("[")[0]
    if item.get_closest_marker("sampled"):
        return (test,)
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return ()
    values = item.callspec.params.items()
    rest = [value for name, value in values if value not in _WORLDS.get(name, ())]
    return (test, *map(id, rest)) if len(rest) < len(values) else ()


def _find_story(item: pytest.Item) -> tuple[object, ...]:
    """The story that is told with several values: the default run takes some of them.

    Only where a value costs a project with a memory of its own. What is told with a database, and
    in both revisions of the protocol, is told with both.
    """
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return ()
    if item.path.parent.name not in _TOLD or "project" not in item.fixturenames:
        return ()
    if item.get_closest_marker("sampled"):
        return ()
    values = item.callspec.params
    return (item.nodeid.partition("[")[0], values.get("provider"), values.get("era"))


def _leave_to_the_nightly_search(known: list[pytest.Item], taken: int) -> None:
    """Mark all but so many of these cases, the same ones in each run."""
    # drawn, not counted off: each n-th might have the same value of one parameter
    drawn = Random(known[0].nodeid).sample(known, taken)  # noqa: S311  # no secret
    for item in known:
        if item not in drawn:
            item.add_marker(pytest.mark.nightly)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell each story with both providers, and in both revisions of the protocol.

    The older revision is nightly in a mere story, and so is the database in most.
    """
    # what the default run would leave out at once is not even built: it costs each process seconds
    left_out = "not nightly" in str(metafunc.config.getoption("-m"))
    nightly = [] if left_out else [pytest.mark.nightly]
    if _is_told_twice(metafunc):
        story = metafunc.definition
        drawn = crc32(story.originalname.encode()) % 6 == 0  # the same ones in each run
        taste = drawn and story.path.stem in _WITH_DATABASE
        files = pytest.param("files", id=pytest.HIDDEN_PARAM)
        database = pytest.param("postgres", id="postgres", marks=[] if taste else nightly)
        told = [files, database] if taste or nightly else [files]
        metafunc.parametrize("provider", told, indirect=True)
    if "era" in metafunc.fixturenames:
        both = metafunc.definition.get_closest_marker("protocol") is not None
        legacy = pytest.param("legacy", id="2025-11-25", marks=[] if both else nightly)
        newest = pytest.param("auto", id="2026-07-28")
        metafunc.parametrize("era", [legacy, newest] if both or nightly else [newest])


_WITH_DATABASE = (
    "test_backtrack", "test_checkpoint", "test_clocks_apart", "test_in_one_step",
    "test_update_forget",
)  # fmt: skip
"""Of these, a sixth is told with its memories in a database in the default run, too."""


def _is_told_twice(metafunc: pytest.Metafunc) -> bool:
    """Whether it is a story that does not tell of files."""
    story = metafunc.definition.path.parent.name == "stories"
    told_of_files = metafunc.definition.get_closest_marker("files") is not None
    return story and not told_of_files and not postgres.PROVIDER


def keep_compiled_modules() -> None:
    """Compile each module once, and not in each process: a third of what a start costs."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def keep_files_in_memory() -> None:
    """Let the folders of tests lie in memory, where this machine has such a place.

    A run makes 130,000 files, and a busy disk takes longer to make and to remove them than the
    tests take. The nightly search writes to the disk.
    """
    with suppress(OSError, AttributeError):  # not on every platform
        found = os.statvfs(_IN_MEMORY)
        if found.f_bavail * found.f_frsize >= _ROOM_BYTES_MIN and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _IN_MEMORY)


def _is_nightly(config: pytest.Config) -> bool:
    chosen = str(config.getoption("-m"))
    return "nightly" in chosen and "not nightly" not in chosen


@pytest.fixture
def anyio_backend() -> str:
    """aiosqlite knows asyncio only."""
    return "asyncio"


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> str:
    """Where this test keeps its memories: `files`, or `postgres`."""
    return getattr(request, "param", postgres.PROVIDER or "files")


@pytest.fixture(autouse=True)
def own_environment(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, provider: str
) -> None:
    """No test reads how this machine is set up, or writes to its user's memory."""
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))
    if provider == "postgres":
        url = request.getfixturevalue("postgres_url")
        postgres.wipe(url)
        monkeypatch.setenv("TEST_FOLDER", str(tmp_path))
        monkeypatch.setenv("MEMORY_PROVIDER", "postgres")
        monkeypatch.setenv("MEMORY_POSTGRES_URL", url)
    monkeypatch.chdir(tmp_path)  # the work tree around the tests is a project too


@pytest.fixture(autouse=True, scope="session")
def shared_certificates() -> Generator[None]:
    """Read the certificates of this machine once, and not for each HTTP client."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True, scope="session")
def unsynced_files(pytestconfig: pytest.Config) -> Generator[None]:
    """Wait for no medium in this process: no test cuts the power of the machine it runs on.

    The nightly search syncs for real. What watches `os.fsync` sees each call in both.
    """
    real: Any = database.BoundedConnection.execute

    def execute(db: database.BoundedConnection, statement: str, *values: Any) -> Any:
        syncs = statement.startswith("PRAGMA synchronous")
        return real(db, "PRAGMA synchronous = OFF" if syncs else statement, *values)

    def skip(_descriptor: int) -> None:
        pass

    with pytest.MonkeyPatch.context() as patched:
        if not _is_nightly(pytestconfig):
            patched.setattr(os, "fsync", skip)
            patched.setattr(database.BoundedConnection, "execute", execute)
        yield


@pytest.fixture(autouse=True, scope="session")
def copied_tables(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Generator[None]:
    """Make the tables of an index once in this process, and begin each new file with a copy.

    Most tests open two new ones, and to make their tables takes three times as long as the rest of
    opening them. The nightly search makes them anew each time, as every other process does.
    """
    real: Any = database._open_file  # pyright: ignore[reportPrivateUsage]  # it makes the tables
    folder = tmp_path_factory.mktemp("tables")
    models = dict[Any, bytes]()
    numbers = count()

    def open_file(path: Path, spec: database.DatabaseSpec, values: Any) -> Any:
        if not spec.opening and not os.path.lexists(path):
            if spec not in models:
                model = folder / f"model-{next(numbers)}"
                real(model, spec, values).close()
                models[spec] = model.read_bytes()
            copy = folder / f"copy-{next(numbers)}"
            copy.touch(0o600)
            copy.write_bytes(models[spec])
            with suppress(OSError):  # there is one by now, or none can be: the real one says why
                os.link(copy, path)  # complete at once, for whoever opens the same file meanwhile
            copy.unlink()
        return real(path, spec, values)

    with pytest.MonkeyPatch.context() as patched:
        if not _is_nightly(pytestconfig):
            patched.setattr(database, "_open_file", open_file)
        yield


@pytest.fixture(autouse=True, scope="session")
def patient_servers() -> Generator[None]:
    """Let a server end what it does beside the calls, such as rendering, however busy the machine.

    Clients do not wait that long, so a real one leaves it to the next start.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memory_mcp.server.main._LEAVE_SECONDS_MAX", 30.0)
        yield


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project that nobody has worked in yet."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(tmp_path: Path, project: Path) -> Settings:
    """A session in that project which approves without asking."""
    where = postgres.provider_settings()
    return Settings(
        project_dir=project, home=tmp_path / "home", user="ada", approval="auto", **where
    )


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
