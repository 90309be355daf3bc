"""Git itself, on repositories of a test's own."""

import os
import shutil
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import Final

__all__ = ["commit_all", "git", "make_repository", "read_branch"]

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
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    (folder / "main.py").write_text("print()\n", "utf-8")
    commit_all(folder, "begin")
    return folder


def read_branch(folder: Path) -> str:
    """The branch of a work tree, for whoever asks more often than a process should be started."""
    found = folder / ".git"
    if found.is_file():
        found = folder / found.read_text("utf-8").strip().removeprefix("gitdir: ")
    return (found / "HEAD").read_text("utf-8").strip().removeprefix("ref: refs/heads/")
