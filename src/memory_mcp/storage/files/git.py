"""Git as files, and git itself for what its files do not tell.

    <git dir>/HEAD, logs/HEAD          where this work tree stands; their stamps say if it moved
    <common>/logs/refs/heads/<name>    what became of a branch
    <machine>/git.json                 what was seen at the last look; a derivative but for claims

Nothing that git runs reads a file of the work tree, so no filter, hook or monitor of the
repository's settings is ever started; no transport is allowed, so no missing object is fetched.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from memory_mcp.disk import Disk, LockHeldError, acquire_lock
from memory_mcp.domain.git import (
    STEPS_MAX,
    GitPlace,
    GitState,
    NewCommit,
    Pause,
    RefStep,
    SeenBranch,
)
from memory_mcp.errors import GitSilentError
from memory_mcp.patterns import compile_later
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.host import read_git_head, stamp_file
from memory_mcp.storage.files.work_trees import WorkTrees

STATE_FILE: Final = "git.json"
_LOCK_FILE: Final = "git.lock"
_STATE_BYTES_MAX: Final = 33_554_432
_REFLOG_BYTES_MAX: Final = 33_554_432
_GIT_SECONDS_MAX: Final = 5.0
"""A walk through the history of the largest repositories takes a second or two."""
_COMMITS_MAX: Final = 500
"""Commits of one step that are looked at for what they revert, replace or gather."""
_FILES_MAX: Final = 200
"""Files by which is told what a work tree shows."""
_FILE_BYTES_MAX: Final = 4_194_304

_OPERATIONS: Final = (
    "rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG",
    "sequencer",
)  # fmt: skip
_VISIT: Final = "checkout: moving from "
_REVERTS: Final = compile_later(r"This reverts commit ([0-9a-f]{40,64})\b")
_ENVIRONMENT: Final = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C",
}  # fmt: skip
_FOREIGN: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                   "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF")  # fmt: skip
"""Set while git runs a hook: they name another repository, or what only that hook is about."""


def load_git_state(machine: Path) -> GitState:
    """What was seen at the last look; what is damaged counts as empty: all stands everywhere."""
    try:
        data = read_file(str(machine / STATE_FILE), _STATE_BYTES_MAX, "")
        return GitState.model_validate_json(data)
    except (OSError, ValueError):
        return GitState()


class LocalGit:
    """Implements `ports.GitHistory` over a work tree."""

    def __init__(
        self, trees: WorkTrees, machine: Path, disk: Disk, environment: Mapping[str, str]
    ) -> None:
        self._trees = trees
        self._tree, self._dir = trees.own.folder, trees.own.git_dir
        self._common = trees.main.git_dir
        self.name = self._dir
        self._disk = disk
        inherited = {name: value for name, value in environment.items() if name not in _FOREIGN}
        self._environment = inherited | _ENVIRONMENT
        self._state = machine / STATE_FILE
        self._lock = machine / _LOCK_FILE
        self.files: Sequence[str] = (
            os.path.join(self._dir, "HEAD"),
            os.path.join(self._dir, "logs", "HEAD"),
        )
        self._paused = False
        self._loaded: tuple[object, GitState] | None = None

    def stamp(self) -> object:
        if self._paused:  # an operation ends without a word
            return object()
        own = map(stamp_file, self.files)
        return (*own, stamp_file(str(self._state)), self._trees.stamp())

    def look(self) -> GitPlace:
        place = self._look()
        self._paused = place.pause in ("operation", "locked", "detached")
        return place

    def _look(self) -> GitPlace:
        if not self._dir:
            return GitPlace(pause="no repository")
        commit, branch = read_git_head(self._dir)
        pause: Pause = ""
        if branch == ".invalid":
            pause = "reftable"
        elif any(os.path.lexists(os.path.join(self._dir, name)) for name in _OPERATIONS):
            pause = "operation"
        elif os.path.lexists(os.path.join(self._dir, "index.lock")):
            pause = "locked"
        elif not branch:
            pause = "detached" if commit else "no commit"
        elif not commit:
            pause = "no commit"
        elif os.path.lexists(os.path.join(self._common, "shallow")):
            pause = "shallow"
        elif not os.path.exists(self.files[1]) or not os.path.exists(self._reflog(branch)):
            pause = "no reflog"
        found = stamp_file(self.files[1])
        return GitPlace(branch, commit, pause, found[1] if found else 0)

    def _reflog(self, branch: str) -> str:
        return os.path.join(self._common, "logs", "refs", "heads", *branch.split("/"))

    def read_branch(
        self, branch: str, seen: SeenBranch | None
    ) -> tuple[Sequence[RefStep], SeenBranch] | None:
        path = self._reflog(branch)
        if seen and (found := stamp_file(path)) and found[1] == seen.size:
            return (), seen
        data = b""
        with suppress(OSError):
            data = read_file(path, _REFLOG_BYTES_MAX, self._common)
        steps = [step for line in data.splitlines() if (step := _parse_step(line))]
        if not steps:
            return None
        now = SeenBranch(commit=steps[-1].new, size=len(data))
        if seen is None:
            return steps[-STEPS_MAX:], now
        if seen.size <= len(data) and data[: seen.size].endswith(b"\n"):
            before = [
                step for line in data[: seen.size].splitlines() if (step := _parse_step(line))
            ]
            if before and before[-1].new == seen.commit:
                return steps[len(before) :][-STEPS_MAX:], now
        for at in range(len(steps) - 1, -1, -1):  # git removed old lines, or made the branch anew
            if steps[at].new == seen.commit and not steps[0].creates:
                return steps[at + 1 :], now
        return steps[-STEPS_MAX:], now

    def list_visits(self, moves: int) -> Sequence[tuple[str, str]]:
        data = self._read_moves()
        if moves <= len(data) and data[:moves].endswith(b"\n"):
            data = data[moves:]
        visits: list[tuple[str, str]] = []
        for line in data.splitlines()[-STEPS_MAX:]:
            step = _parse_step(line)
            if step and step.message.startswith(_VISIT):
                visits.append((step.message.rpartition(" to ")[2], step.new))
        return visits

    def find_origin(self, branch: str, commit: str) -> str:
        end = f" to {branch}"
        for line in reversed(self._read_moves().splitlines()):
            step = _parse_step(line)
            if step and step.new == step.old == commit and step.message.endswith(end):
                return step.message.removeprefix(_VISIT).removesuffix(end)
        return ""

    def _read_moves(self) -> bytes:
        """The reflog of HEAD."""
        with suppress(OSError):
            return read_file(self.files[1], _REFLOG_BYTES_MAX, self._dir)
        return b""

    def tracked(self, names: Collection[str], *, anywhere: bool = False) -> set[str]:
        trees = self._trees.list_all() if anywhere else (self._trees.own,)
        return {
            name for tree in trees for name in self._trees.list_tracked(tree).intersection(names)
        }

    def list_tracked_elsewhere(self) -> Mapping[str, str]:
        return self._trees.list_tracked_elsewhere()

    @contextmanager
    def alone(self) -> Generator[bool]:
        try:
            self._disk.folder(self._lock.parent)
            lock = acquire_lock(self._lock, 0)
        except (LockHeldError, OSError):
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def load(self) -> GitState:
        stamp = stamp_file(str(self._state))
        if self._loaded is None or self._loaded[0] != stamp:
            self._loaded = stamp, load_git_state(self._state.parent)
        return self._loaded[1]

    def save(self, state: GitState) -> None:
        data = json.dumps(state.model_dump(mode="json", exclude_defaults=True), indent=1)
        self._disk.write(self._state, data.encode())
        self._loaded = stamp_file(str(self._state)), state

    def find_away(self, commits: Collection[str], head: str) -> set[str]:
        wanted = sorted(commits)
        if not wanted:
            return set()
        known = self._ask(["cat-file", "--batch-check=%(objectname) %(objecttype)"], wanted)
        there = {line.split()[0] for line in known.splitlines() if line.endswith(" commit")}
        listed = self._ask(["rev-list", "--stdin"], [*sorted(there), f"^{head}"]) if there else ""
        return (set(wanted) - there) | there.intersection(listed.split())

    def list_commits(self, old: str, new: str) -> list[NewCommit]:
        said = self._ask(
            ["rev-list", f"--max-count={_COMMITS_MAX}", "--topo-order",
             "--format=%x01%H %P%x02%B", "--stdin"],
            [new, f"^{old}"] if old.strip("0") else [new],
        )  # fmt: skip
        found: list[NewCommit] = []
        for entry in said.split("\x01")[1:]:
            head, _, body = entry.partition("\x02")
            commit, *parents = head.split()
            found.append(NewCommit(commit, tuple(parents), tuple(_REVERTS.findall(body))))
        return found[::-1]

    def find_patches(self, commits: Sequence[str]) -> Mapping[str, str]:
        if not commits:
            return {}
        diffs = self._ask(["diff-tree", "--stdin", "-p", *_PLAIN_DIFF], commits)
        ids = self._ask(["patch-id", "--stable"], diffs.split("\n"))
        return {commit: patch for patch, commit in map(str.split, ids.splitlines())}

    def find_patch(self, base: str, tip: str) -> str:
        parted = self._ask(["merge-base", base, tip]).strip()
        diff = self._ask(["diff-tree", "-p", *_PLAIN_DIFF, parted, tip])
        ids = self._ask(["patch-id", "--stable"], diff.split("\n"))
        return ids.split()[0] if ids else ""

    def find_change(self, path: str, since: str) -> str:
        reach = [f"{since}..HEAD"] if since else ["HEAD"]
        return self._ask(
            ["rev-list", "--max-count=1", *reach, "--", f":(literal,top){path}"]
        ).strip()

    def find_renames(self, since: str) -> Mapping[str, str]:
        listed = self._ask(
            ["diff-index", "--cached", "-z", "-M", "--diff-filter=R", "--name-status", since]
        ).split("\0")
        return dict(zip(listed[1::3], listed[2::3], strict=False))

    def shows(self, old: str, new: str) -> str | None:
        listed = self._ask(["diff-tree", "-r", "-z", "--no-renames", old, new]).split("\0")
        pairs = list(zip(listed[::2], listed[1::2], strict=False))[:_FILES_MAX]
        sides = {self._compare(path, *meta.split()[2:4]) for meta, path in pairs}
        if sides == {"old"}:
            return old
        return new if sides == {"new"} else None

    def _compare(self, path: str, old: str, new: str) -> str:
        try:
            data = read_file(os.path.join(self._tree, path), _FILE_BYTES_MAX, self._tree)
        except FileNotFoundError:
            found = ""
        except (OSError, UnsafeFileError):
            return "unknown"
        else:
            blob = b"blob %d\0" % len(data) + data
            sha1 = len(new) == 40  # noqa: PLR2004  # digits of a SHA-1
            found = (hashlib.sha1 if sha1 else hashlib.sha256)(blob).hexdigest()  # git's
        if found == old.strip("0") or (found and found == old):
            return "old"
        return "new" if found == new.strip("0") or (found and found == new) else "unknown"

    def _ask(self, arguments: Sequence[str], lines: Sequence[str] = ()) -> str:
        program = shutil.which("git")
        if program is None:
            raise GitSilentError("there is no git on this machine")
        try:
            done = subprocess.run(  # noqa: S603  # git, with values that are hashes of commits
                [program, "--git-dir", self._dir, "-c", "core.fsmonitor=false", *arguments],
                input="\n".join(lines) + "\n" if lines else "", capture_output=True,
                text=True, encoding="utf-8", errors="surrogateescape", check=False,
                timeout=_GIT_SECONDS_MAX, env=self._environment, cwd=self._dir,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitSilentError(f"git {arguments[0]}: {error}") from error
        if done.returncode != 0:
            raise GitSilentError(f"git {arguments[0]}: {done.stderr.strip()[:200]}")
        return done.stdout


_PLAIN_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--full-index")


def _parse_step(line: bytes) -> RefStep | None:
    """A line of a reflog; None for what is none, or torn."""
    place, _, message = line.decode(errors="replace").partition("\t")
    hashes = place.split(" ", 2)
    if len(hashes) < 3 or len(hashes[0]) != len(hashes[1]):  # noqa: PLR2004  # old, new, who
        return None
    return RefStep(hashes[0], hashes[1], message)
