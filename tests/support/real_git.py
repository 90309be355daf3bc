"""Git itself, on repositories of a test's own."""

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

__all__ = ["commit_all", "copy_repository", "git", "make_repository", "read_branch", "read_commit"]

_GIT: Final = shutil.which("git") or "git"
_OPTIONS: Final = (
    "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false",
    "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always",
    "-c", "maintenance.auto=false",  # else each commit starts another process, which finds nothing
)  # fmt: skip

_SECONDS = count(int(time.time()))
"""What git does is a second later than what it did before, as with people: commits know seconds."""


def git(folder: Path, *arguments: str) -> str:
    """What git says; it must work. Nobody's own settings are read."""
    done = subprocess.run(
        [_GIT, *_OPTIONS, *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
             "GIT_COMMITTER_DATE": f"{next(_SECONDS)} +0000",
             "FILTER_BRANCH_SQUELCH_WARNING": "1"},  # else it waits 10 s for who reads that
    )  # fmt: skip
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def commit_all(folder: Path, subject: str) -> None:
    """Commit everything there is that git does not ignore."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", subject)


def make_repository(folder: Path) -> Path:
    """A work tree with one commit, on the branch main."""
    return copy_repository(folder, "")


def copy_repository(folder: Path, ignored: str) -> Path:
    """The same, and what git ignores there is committed too; made once, and copied from then on.

    A process of git takes ten times as long as all of the files.
    """
    shutil.copytree(_make_once(ignored), folder, dirs_exist_ok=True)
    return folder


@cache
def _make_once(ignored: str) -> Path:
    """The repository to copy, in a folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="memory-repository-"))
    atexit.register(shutil.rmtree, folder)
    git(folder, "init", "--quiet")
    for sample in (folder / ".git" / "hooks").iterdir():
        sample.unlink()
    (folder / "main.py").write_text("print()\n", "utf-8")
    commit_all(folder, "begin")
    if ignored:
        (folder / ".gitignore").write_text(ignored, "utf-8")
        commit_all(folder, "ignore")
    return folder


def read_branch(folder: Path) -> str:
    """The branch of a work tree, for whoever asks more often than a process should be started."""
    return _read_head(_find_git(folder)).removeprefix("ref: refs/heads/")


def read_commit(folder: Path) -> str:
    """The commit that a work tree is on; the branch was just moved, so its commit is in a file."""
    found = _find_git(folder)
    head = _read_head(found)
    if not head.startswith("ref: "):
        return head
    common = found / "commondir"
    shared = found / common.read_text("utf-8").strip() if common.exists() else found
    return (shared / head.removeprefix("ref: ")).read_text("utf-8").strip()


def _find_git(folder: Path) -> Path:
    """Where git keeps what the work tree is on that a folder belongs to."""
    folder = next(each for each in (folder, *folder.parents) if (each / ".git").exists())
    found = folder / ".git"
    if found.is_file():
        found = folder / found.read_text("utf-8").strip().removeprefix("gitdir: ")
    return found


def _read_head(found: Path) -> str:
    return (found / "HEAD").read_text("utf-8").strip()
