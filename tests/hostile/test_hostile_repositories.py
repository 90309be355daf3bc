"""Malicious repositories, opened by the real server, the hooks, the commands and the importer.

Whatever a repository holds: nothing outside of it changes but memory-mcp's own folders, nothing
hangs, nothing takes much memory, nothing of it speaks to the model, and what was acknowledged is
there.
"""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import cases_endless
import cases_links
import cases_shapes
import cases_shipped
import cases_strangers
import cases_texts
import pytest
from attack import Case, Observed, World
from verdicts import common, differences, digest, nothing_foreign
from visiting import AGAIN, Launcher, environment, own_folders, visit

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="its repositories consist of links and named pipes"
)

CASES: tuple[Case, ...] = (
    *cases_links.CASES,
    *cases_endless.CASES,
    *cases_shipped.CASES,
    *cases_strangers.CASES,
    *cases_texts.CASES,
    *cases_shapes.CASES,
)


@pytest.fixture(scope="module")
def launcher() -> Generator[Launcher]:
    """What starts every process; the real program, imported once."""
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.mark.sampled(33)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.nightly] if case.slow else [])
        for case in CASES
    ],
)
def test_a_hostile_repository_does_no_harm(case: Case, tmp_path: Path, launcher: Launcher) -> None:
    """A clone is data from a stranger: opening it is safe, and it has no voice."""
    problems = problems_of(case, tmp_path, launcher)

    assert problems == [], "\n".join(problems)


EVERY_COMMAND: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("search", "evil build log", "--why"),
    ("profile",),
    ("cloud",),
    ("cloud", "sync", "--status"),
    ("trust", "--list"),
    ("trust",),
    ("nudge", "list"),
    ("phase",),
    ("identity",),
    ("add", "The build runs on two cores."),
    ("checkpoint", "The build is settled.", "--phase", "1"),
    ("fork", "other"),
    ("backtrack", "start"),
    ("backtrack", "start", "--mode", "forget"),
    ("doctor",),
    ("doctor", "--repair"),
    ("doctor", "--reindex"),
    ("export",),
    ("export", "--history"),
    ("import", "import.json"),
    ("import", "CLAUDE.md"),
    ("import", "."),
    ("context", "--task", "mend the build"),
    ("--json", "context"),
)


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_command_does_no_harm_in_a_hostile_repository(case: Case, tmp_path: Path) -> None:
    """The same, with all that a person can type, each in a process started from nothing."""
    base = tmp_path.resolve() / "machine"
    world = World(*(base / name for name in ("repo", "home", "outside")))
    for each in (world.home, world.outside):
        each.mkdir(parents=True)
    case.build(world)
    but = (world.repo, *own_folders(world))
    before = digest(base, but)
    outputs: dict[str, str] = {}
    for command in EVERY_COMMAND:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "memory_mcp", *command],
            cwd=world.repo / case.open_at,
            env=environment(world),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in (0, 1), done.stderr.decode(errors="replace")[-2000:]
        assert b"Traceback" not in done.stderr, command
        outputs[" ".join(command)] = done.stdout.decode(errors="replace")
        outputs[f"{' '.join(command)} (stderr)"] = done.stderr.decode(errors="replace")
    seen = Observed(outputs, world)
    problems = [*common(seen), *nothing_foreign(seen)]
    problems += case.after(seen) if case.after else []
    problems += differences(before, digest(base, but))

    assert problems == [], "\n".join(problems)


def problems_of(case: Case, folder: Path, launcher: Launcher) -> list[str]:
    """What is wrong once the repository was opened, and opened again by one who trusts it."""
    base = folder.resolve() / "machine"
    built = World(*(base / name for name in ("repo", "home", "outside")))
    for each in (built.home, built.outside):
        each.mkdir(parents=True)
    case.build(built)
    opened = World(built.repo / case.open_at, built.home, built.outside)
    but = (built.repo, *own_folders(built))
    before = digest(base, but)

    seen = visit(launcher, opened)
    observed = seen.observed(built)
    problems = [*seen.problems, *common(observed), *nothing_foreign(observed)]
    problems += case.after(observed) if case.after else []
    if case.trusted:
        again = visit(launcher, opened, AGAIN)
        observed = again.observed(built)
        trusted = [*again.problems, *common(observed)]
        trusted += case.after(observed) if case.after else []
        problems += [f"once it is trusted: {problem}" for problem in trusted]
    return [*problems, *differences(before, digest(base, but))]
