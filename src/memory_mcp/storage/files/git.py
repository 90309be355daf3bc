"""Git as files, and git itself for what its files do not tell.

    <git dir>/HEAD, logs/HEAD          where this work tree stands; their stamps say if it moved
    <common>/logs/refs/heads/<name>    what became of a branch

What was seen of them is kept by `git_state`. How git itself is asked is told in `ask_git`.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from memory_mcp.disk import Disk, LockHeldError, acquire_lock
from memory_mcp.domain.code_files import FileVersion
from memory_mcp.domain.git import (
    BRANCHES_SEEN_MAX,
    SHORT,
    STEPS_MAX,
    CommittedRecords,
    GitPlace,
    GitState,
    GitTip,
    NewCommit,
    Pause,
    RefStep,
    Reversal,
    SeenBranch,
    Unfinished,
)
from memory_mcp.domain.ids import RecordId, is_record_id
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import MEMORY_KINDS
from memory_mcp.frozen import frozen
from memory_mcp.locations import read_git_text
from memory_mcp.patterns import compile_later
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.ask_git import ask_git
from memory_mcp.storage.files.git_state import GitStateFiles
from memory_mcp.storage.files.host import read_git_head, read_git_ref, stamp_file
from memory_mcp.storage.files.work_trees import WorkTrees

_LOCK_FILE: Final = "git.lock"
_REFLOG_BYTES_MAX: Final = 33_554_432
_COMMITS_MAX: Final = 500
"""Commits of one step that are looked at for what they revert, replace or gather."""
_BEYOND_MAX: Final = 10_000
"""Commits that HEAD does not reach, among which branches are followed back to memories."""
_VERSIONS_MAX: Final = 50
"""Commits of one file among which the one is looked for that rewrote a text."""
_NAMES_MAX: Final = 5
"""Names that one file had after each other."""
_FILES_MAX: Final = 200
"""Files by which is told what a work tree shows."""
_FILE_BYTES_MAX: Final = 4_194_304

_OPERATIONS: Final = {
    "rebase-merge": ("a rebase is in progress", "git rebase --quit"),
    "rebase-apply/applying": ("patches are being applied", "git am --quit"),
    "rebase-apply": ("a rebase is in progress", "git rebase --quit"),
    "MERGE_HEAD": ("a merge is in progress", "git merge --quit"),
    "CHERRY_PICK_HEAD": ("a cherry-pick is in progress", "git cherry-pick --quit"),
    "REVERT_HEAD": ("a revert is in progress", "git revert --quit"),
    "BISECT_LOG": ("a bisect is in progress", "git bisect reset HEAD"),
    "sequencer": ("a cherry-pick or revert is in progress", "git cherry-pick --quit"),
}
"""The file of what git is in the middle of, and the command that ends it where HEAD is."""
_INDEX_LOCK: Final = "index.lock"
_BEGUN_ON: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
"""Files that name the branch on which HEAD was before it was detached by a rebase or bisect."""
_OBJECT: Final = compile_later(r"^([0-9a-f]{40}|[0-9a-f]{64}) blob \d+$", re.MULTILINE)
"""The line before each object. Within a record no line begins with such a word."""
_CUTS_MAX: Final = 32
"""Ends of a shallow history of which git is asked; with more, nothing is proved to be away."""
_REFLOGS_MAX: Final = 2_000
"""Reflogs of branches among which that of a renamed one is looked for."""
_TIPS_MAX: Final = 8
"""Branches that are named, and those that are gone, for memories which are not here."""
_DIFFS_MAX: Final = 250
"""Commits whose changes git prints at once."""
_PATCHES_MAX: Final = 4_000
"""Ids of changes that are kept."""
_RECORDS_MAX: Final = 1_000
_REVERTS: Final = compile_later(
    r"This reverts commit ([0-9a-f]{4,64})\b"
    r"(?:, reversing\s+changes made to ([0-9a-f]{40,64})\b)?"
)
"""How git begins the message of a revert; of a merge it names the parent that stays."""
_REVERTS_MAX: Final = 100
"""Commits that one commit reverts by its words; of more, the first."""


class LocalGit:
    """Implements `ports.GitHistory` over a work tree."""

    def __init__(
        self, trees: WorkTrees, machine: Path, disk: Disk, environment: Mapping[str, str]
    ) -> None:
        self._trees = trees
        self._tree, self._dir = trees.own.root, trees.own.git_dir
        self._within = f"{Path(trees.within).as_posix()}/" if trees.within else ""
        self._common = trees.main.git_dir
        self.name = self._dir
        self._disk = disk
        self._environment = environment
        self._state = GitStateFiles(machine, disk)
        self._lock = machine / _LOCK_FILE
        self.files: Sequence[str] = (
            os.path.join(self._dir, "HEAD"),
            os.path.join(self._dir, "logs", "HEAD"),
        )
        self._cuts = os.path.join(self._common, "shallow")
        self._settings = os.path.join(self._common, "config")
        self._paused = False
        self._patches: dict[str, str] = {}

    def stamp(self) -> object:
        if self._paused:  # an operation ends without a word
            return object()
        own = map(stamp_file, self.files)
        beside = map(stamp_file, (self._cuts, self._settings))
        return (*own, *beside, self._state.stamp(), self._trees.stamp())

    def look(self) -> GitPlace:
        place = self._look()
        self._paused = place.pause in ("operation", "locked")
        return place

    def _look(self) -> GitPlace:
        if not self._dir:
            return GitPlace(pause="no repository")
        commit, branch = read_git_head(self._dir)
        if any(os.path.lexists(self._join(name)) for name in _OPERATIONS):
            pause: Pause = "operation"
            branch, commit = self._find_begun() or (branch, commit)
        else:
            locked = os.path.lexists(self._join(_INDEX_LOCK))
            pause = "locked" if locked else "" if branch else "detached"
        unseen = self._find_unseen(branch, commit)
        if unseen and pause in ("operation", "locked"):
            commit = ""
        elif unseen:
            pause = unseen
        sizes = [found[1] if (found := stamp_file(path)) else 0
                 for path in (self.files[1], self._cuts)]  # fmt: skip
        named, _, _ = stamp_file(self._settings) or (0, 0, 0)
        return GitPlace(branch, commit, pause, *sizes, named=named)

    def _join(self, name: str) -> str:
        return os.path.join(self._dir, *name.split("/"))

    def find_unfinished(self) -> Unfinished | None:
        lock = self._join(_INDEX_LOCK)
        every = {**_OPERATIONS, _INDEX_LOCK: ("git's index is locked", f"rm {shlex.quote(lock)}")}
        for name, (what, ends) in every.items():
            if stamp := stamp_file(self._join(name)):
                since = datetime.fromtimestamp(stamp[0] / 1e9, UTC)
                return Unfinished(what, since, ends)
        return None

    def require_git(self) -> None:
        self._ask(["rev-parse", "--git-dir"])

    def _find_unseen(self, branch: str, commit: str) -> Pause:
        """Why what became of a place there cannot be known."""
        if branch == ".invalid":
            return "reftable"
        if not commit:
            # where anything was committed before, this is an orphan branch
            moved = os.path.join(self._common, "logs", "HEAD")
            return "" if branch and os.path.exists(moved) else "no commit"
        logged = os.path.exists(self.files[1])
        return "" if logged and (not branch or os.path.exists(self._reflog(branch))) else (
            "no reflog")  # fmt: skip

    def _find_begun(self) -> tuple[str, str] | None:
        """The branch and commit that a rebase or bisect left; none of a detached HEAD."""
        for name in _BEGUN_ON:
            path = self._join(name)
            if begun := read_git_text(path, self._dir).strip():
                branch = begun.removeprefix("refs/heads/")
                commit = read_git_ref(self._dir, f"refs/heads/{branch}")
                return (branch, commit) if commit else ("", "")
        return None

    def _reflog(self, branch: str) -> str:
        return os.path.join(self._common, "logs", "refs", "heads", *branch.split("/"))

    def read_branch(
        self, branch: str, seen: SeenBranch | None
    ) -> tuple[Sequence[RefStep], SeenBranch] | None:
        path = self._reflog(branch)
        changed, size, _ = stamp_file(path) or (0, 0, 0)
        if seen and (changed, size) == (seen.changed, seen.size):
            return (), seen
        data = b""
        with suppress(OSError):
            data = read_file(path, _REFLOG_BYTES_MAX, self._common)
        steps = [step for line in data.splitlines() if (step := _parse_step(line))]
        if not steps:
            return None
        first = steps[0]
        begun = f"{first.new} {first.at}" if first.creates else ""
        tip = steps[-1].new
        own = any(step.makes and step.new == tip for step in steps)  # a reset may have come back
        now = SeenBranch(commit=tip, size=len(data), changed=changed, own=own,
                         begun=begun or (seen.begun if seen else ""))  # fmt: skip
        if seen is None or (seen.begun and begun not in ("", seen.begun)):  # or made anew
            return steps[-STEPS_MAX:], now
        if seen.size <= len(data) and data[: seen.size].endswith(b"\n"):
            before = [
                step for line in data[: seen.size].splitlines() if (step := _parse_step(line))
            ]
            if before and before[-1].new == seen.commit:
                return steps[len(before) :][-STEPS_MAX:], now
        for at in range(len(steps) - 1, -1, -1):  # git removed old lines, or made the branch anew
            if steps[at].new == seen.commit and (not begun or begun == seen.begun):
                return steps[at + 1 :], now
        return steps[-STEPS_MAX:], now

    def list_steps(self, moves: int) -> Sequence[RefStep]:
        data = self._read_moves()
        if moves <= len(data) and data[:moves].endswith(b"\n"):
            data = data[moves:]
        lines = data.splitlines()[-STEPS_MAX:]
        return [step for line in lines if (step := _parse_step(line))]

    def find_beginning(self, branch: str, made: RefStep) -> RefStep | None:
        for line in self._read_moves().splitlines():
            step = _parse_step(line)
            if step is None or step.at < made.at or branch not in (step.visits, step.leaves):
                continue
            # what one command of git writes has one time; `git branch` names where it began, too
            same = step.at == made.at
            here = step.old == step.new and made.message == f"branch: Created from {step.leaves}"
            began = step.visits == branch and step.new == made.new and (same or here)
            return step if began else None
        return None

    def find_new_name(self, branch: str, seen: SeenBranch, among: Sequence[str] = ()) -> str:
        names = among or self._list_reflogs()
        for name in names:
            path = self._reflog(name)
            stamp, data = stamp_file(path), b""
            if stamp is None or stamp[1] <= seen.size:
                continue
            with suppress(OSError):
                data = read_file(path, _REFLOG_BYTES_MAX, self._common)
            before, after = data[: seen.size], data[seen.size :]
            last = _parse_step(before.splitlines()[-1]) if before.endswith(b"\n") else None
            steps = [step for line in after.splitlines() if (step := _parse_step(line))]
            if last and last.new == seen.commit and any(step.renames == branch for step in steps):
                return name
        return ""

    def _list_reflogs(self) -> list[str]:
        """The branches that have a reflog."""
        logs = os.path.join(self._common, "logs", "refs", "heads")
        paths = (os.path.join(at, name) for at, _, names in os.walk(logs) for name in names)
        some = islice(paths, _REFLOGS_MAX)
        return [os.path.relpath(path, logs).replace(os.sep, "/") for path in some]

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

    def list_tracked(self) -> frozenset[str]:
        return self._trees.list_tracked(self._trees.own)

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
        return self._state.load()

    def save(self, state: GitState) -> None:
        self._state.save(state)

    def take_damage(self, *, chosen: bool) -> Sequence[str]:
        return self._state.take_damage(chosen=chosen)

    def findings(self, *, repair: bool, chosen: bool) -> list[Finding]:
        with self.alone() as alone:  # whoever looks meanwhile writes it anew
            return self._state.findings(repair=repair and alone, chosen=chosen)

    def find_away(self, commits: Collection[str], heads: Collection[str]) -> set[str]:
        away = set(commits) - self.find_reached(commits, heads)
        cuts = self.find_reached(self._list_cuts(), heads) if away else set[str]()
        if len(cuts) > _CUTS_MAX:
            return set()
        for cut in cuts:  # what comes after each of them lies before none
            lines = [*sorted(self.find_known(away)), f"^{cut}"]
            away &= set(self._ask(["rev-list", "--ancestry-path", "--stdin"], lines).split())
        return away

    def find_reached(self, commits: Collection[str], heads: Collection[str]) -> set[str]:
        if not heads:
            return set()
        there = self.find_known(commits)
        beyond = [*sorted(there), *(f"^{head}" for head in heads)]
        return there.difference(self._ask(["rev-list", "--stdin"], beyond).split() if there else ())

    def _list_cuts(self) -> Sequence[str]:
        """The commits whose parents a shallow clone does not have."""
        return read_git_text(self._cuts, self._common, _REFLOG_BYTES_MAX).split()

    def find_known(self, commits: Collection[str]) -> set[str]:
        asked = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
        known = self._ask(asked, sorted(commits)) if commits else ""
        return {line.split()[0] for line in known.splitlines() if line.endswith(" commit")}

    def find_replaced(self, seen: Mapping[str, str]) -> set[str]:
        known = self.find_known({*seen.values()})
        lost = {branch for branch, commit in seen.items() if commit not in known}
        return lost & {"", *self._list_branches()} if lost else lost

    def _list_branches(self) -> Sequence[str]:
        return self._ask(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"]).split()

    def find_tips(self, commits: Collection[str], head: str) -> Mapping[str, str]:
        left = self._list_lost()
        tips = {left[name]: name for name in reversed(list(left))}
        listed = self._ask(
            ["for-each-ref", f"--no-merged={head}", "--sort=refname", "--sort=committerdate",
             f"--format={_REF}", "refs/heads", "refs/remotes"]
        )  # fmt: skip
        for tip in map(_parse_ref, listed.splitlines()):
            tips.setdefault(tip.commit, tip.branch)
        reaching = set[str]()
        for commit, *parents in reversed(self._list_beyond([*tips], head)):
            if commit in commits or not reaching.isdisjoint(parents):
                reaching.add(commit)
        found = [(name, commit) for commit, name in tips.items() if commit in reaching]
        return dict(found[-BRANCHES_SEEN_MAX:])

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
            said_so = islice(_REVERTS.finditer(body), _REVERTS_MAX)
            reverts = tuple(Reversal(each[1], each[2] or "") for each in said_so)
            found.append(NewCommit(commit, tuple(parents), reverts))
        return self._name_in_full(found[::-1])

    def _name_in_full(self, commits: Sequence[NewCommit]) -> list[NewCommit]:
        """With the whole names of what is reverted; without what git does not know by its own."""
        said = {each.commit for new in commits for each in new.reverts}
        short = sorted(name for name in said if len(name) < len(commits[0].commit))
        asked = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
        told = self._ask(asked, short).splitlines() if short else []
        whole = {name: line.removesuffix(" commit") for name, line in zip(short, told, strict=True)
                 if line.endswith(" commit")}  # fmt: skip
        known = whole | {name: name for name in said.difference(short)}
        return [
            replace(new, reverts=tuple(Reversal(known[each.commit], each.onto)
                                       for each in new.reverts if each.commit in known))
            for new in commits
        ]  # fmt: skip

    def find_patches(self, commits: Sequence[str]) -> Mapping[str, str]:
        unknown = [commit for commit in commits if commit not in self._patches]
        for at in range(0, len(unknown), _DIFFS_MAX):
            self._patches |= self._identify(unknown[at : at + _DIFFS_MAX])
        found = {commit: self._patches[commit] for commit in commits if commit in self._patches}
        self._patches = dict(list(self._patches.items())[-_PATCHES_MAX:])
        return found

    def find_squashes(
        self, tips: Collection[str], head: str, made: Sequence[str]
    ) -> Mapping[str, str]:
        bases = self._find_bases(sorted(self.find_known(tips)), head)
        if not bases:
            return {}
        # of a commit that is given with another one, git shows what it has beyond that
        pairs = {tip: f"{tip} {base}" for tip, base in bases.items()}
        files = self._list_changed([*made, *pairs.values()])
        changed = [files.get(commit) for commit in made]
        alike = [pair for tip, pair in pairs.items() if tip in files and files[tip] in changed]
        return self._identify(alike) if alike else {}

    def _find_bases(self, tips: Sequence[str], head: str) -> Mapping[str, str]:
        """Where each of these parted from `head`: of several such commits the newest."""
        listed = self._list_beyond(tips, head) if tips else []
        parents = {commit: before for commit, *before in listed}
        ends = {each for before in parents.values() for each in before}.difference(parents)
        if len(listed) == _BEYOND_MAX:  # git was stopped at some of them
            ends = self.find_reached(ends, [head])
        times: Mapping[str, int] = self.find_times(ends) if ends else {}
        bases = {end: end for end in ends}
        for commit, *before in reversed(listed):
            if found := [bases[each] for each in reversed(before) if each in bases]:
                bases[commit] = max(found, key=lambda end: times[end])
        return {tip: bases[tip] for tip in tips if tip in parents and tip in bases}

    def _list_beyond(self, tips: Sequence[str], head: str) -> list[list[str]]:
        """What these reach and `head` does not, each commit before its parents, and with them."""
        beyond = self._ask(
            ["rev-list", "--parents", "--date-order", f"--max-count={_BEYOND_MAX}", "--stdin"],
            [*tips, f"^{head}"],
        )  # fmt: skip
        return [line.split() for line in beyond.splitlines()]

    def _list_changed(self, changes: Sequence[str]) -> Mapping[str, set[str]]:
        """The files that each of these commits changes."""
        listed = self._ask(["diff-tree", "--stdin", "-r", "--no-renames"], changes)
        files: dict[str, set[str]] = {}
        into = set[str]()
        for line in listed.splitlines():
            if line.startswith(":"):
                into.add(line.partition("\t")[2])
            else:
                into = files.setdefault(line.strip(), set())
        return files

    def _identify(self, changes: Sequence[str]) -> dict[str, str]:
        """The id of the change of each of these commits, or of what it has beyond another one."""
        diffs = self._ask(["diff-tree", "--stdin", "-p", *_PLAIN_DIFF], changes)
        ids = self._ask(["patch-id", "--stable"], diffs.split("\n"))
        return {commit: patch for patch, commit in map(str.split, ids.splitlines())}

    def find_authors(self, commits: Collection[str]) -> Mapping[str, tuple[str, str]]:
        listed = self._ask(
            ["rev-list", "--no-walk", "--date=raw", "--format=%H%x00%an <%ae> %ad%x00%s",
             "--stdin"],
            sorted(commits),
        )  # fmt: skip
        lines = [line.split("\0", 2) for line in listed.splitlines() if "\0" in line]
        return {commit: (author, subject) for commit, author, subject in lines}

    def find_times(self, commits: Collection[str]) -> Mapping[str, int]:
        listed = self._ask(["rev-list", "--no-walk", "--timestamp", "--stdin"], sorted(commits))
        return {commit: int(time) for time, commit in map(str.split, listed.splitlines())}

    def list_versions(self, path: str, since: str) -> Sequence[FileVersion]:
        found, path = list[FileVersion](), self._within + path
        for _ in range(_NAMES_MAX):
            found += self._list_named(path, since)[bool(found) :]
            last = found[-1] if found else None
            if last is None or last.blob or not last.commit:
                return found
            renamed = self._find_renamed_in(last.commit, path)
            if renamed is None:
                return found
            path, blob = renamed
            since = last.commit
            text = self._read_blobs([blob]).get(blob, "")
            found[-1] = FileVersion(since, blob, text)  # that commit did not remove it
        return found

    def _find_renamed_in(self, commit: str, path: str) -> tuple[str, str] | None:
        """The name that the file had after this commit, and its object."""
        listed = self._ask(
            ["diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--no-abbrev", f"{commit}^", commit]
        ).split("\0")
        for meta, old, new in zip(listed[::3], listed[1::3], listed[2::3], strict=False):
            if old == path:
                return new, meta.split()[3]
        return None

    def _list_named(self, path: str, since: str) -> list[FileVersion]:
        """The versions of the file under that name."""
        named = ["--", f":(literal,top){path}"]
        made = self._ask(
            ["rev-list", "--first-parent", "--parents", f"--max-count={_VERSIONS_MAX}",
             f"{since}..HEAD", *named]
        )  # fmt: skip
        pairs = [line.split()[:2] for line in made.splitlines()][::-1]
        if not pairs:
            return []
        listed = self._ask(
            ["diff-tree", "--stdin", "--root", "-r", "--no-renames", "--no-abbrev", *named],
            [" ".join(pair) for pair in pairs],
        )  # fmt: skip
        blobs: list[tuple[str, str]] = []
        commit = ""
        for line in listed.splitlines():
            if line.startswith(":"):
                before, after = line.split()[2:4]
                blobs += [("", before)] if not blobs else []
                blobs.append((commit, after))
            else:
                commit = line.split()[0]
        texts = self._read_blobs({blob for _, blob in blobs if blob.strip("0")})
        return [FileVersion(commit, blob if blob in texts else "", texts.get(blob, ""))
                for commit, blob in blobs]  # fmt: skip

    def _read_blobs(self, blobs: Collection[str]) -> Mapping[str, str]:
        """The texts of these objects; of one that git does not have, none."""
        mark = f"\1{os.urandom(8).hex()} "  # stands in no text
        said = (
            self._ask(["cat-file", f"--batch={mark}%(objectname)"], sorted(blobs)) if blobs else ""
        )
        entries = (entry.partition("\n") for entry in said.split(mark)[1:])
        return {blob: text.removesuffix("\n") for blob, _, text in entries}

    def find_renames(self, since: str) -> Mapping[str, str]:
        listed = self._ask(
            ["diff-index", "--cached", "-z", "-M", "--diff-filter=R", "--name-status", since]
        ).split("\0")
        olds, news = map(self._name_within, listed[1::3]), map(self._name_within, listed[2::3])
        return {old: new for old, new in zip(olds, news, strict=False) if old and new}

    def _name_within(self, path: str) -> str:
        """The name from the project's folder of a file that git names; '' of one outside of it."""
        return path.removeprefix(self._within) if path.startswith(self._within) else ""

    def list_untracked(self, ending: str) -> Sequence[str]:
        below = re.sub(r"[*?\[\\]", r"\\\g<0>", self._within)
        listed = self._ask(
            ["--work-tree", self._tree, "ls-files", "--full-name", "--others", "--exclude-standard",
             "-z", "--", f":(top,glob){below}**/*{ending}"]
        )  # fmt: skip
        return [self._name_within(path) for path in listed.split("\0")[:-1]]

    def shows(self, old: str, new: str, records: Collection[str] = ()) -> str | None:
        listed = self._ask(["diff-tree", "-r", "-z", "--no-renames", old, new]).split("\0")
        pairs = list(zip(listed[::2], listed[1::2], strict=False))
        if records:
            pairs = [(meta, path) for meta, path in pairs if Path(path).stem in records]
        pairs = pairs[:_FILES_MAX]
        sides = {self._compare(path, *meta.split()[2:4]) for meta, path in pairs}
        if sides == {"old"}:
            return old
        return new if sides == {"new"} else None

    def list_tips(self) -> Sequence[GitTip]:
        listed = self._ask(
            ["for-each-ref", "--no-merged=HEAD", "--sort=-committerdate", f"--count={_TIPS_MAX}",
             f"--format={_REF}", "refs/heads"]
        )  # fmt: skip
        tips = [_parse_ref(line) for line in listed.splitlines()]
        unnamed = list(self._list_lost().items())[:_TIPS_MAX]
        left = read_git_text(os.path.join(self._dir, "ORIG_HEAD"), self._dir).strip()
        if left and self.find_away([left], ["HEAD"]):
            unnamed.insert(0, ("", left))
        return [*tips, *(GitTip(branch, commit, commit[:SHORT]) for branch, commit in unnamed)]

    def _list_lost(self) -> Mapping[str, str]:
        left: dict[str, str] = {}
        for step in self.list_steps(0):
            if name := step.leaves:
                name = name[:SHORT] if name == step.old else name  # HEAD was detached
                left.pop(name, None)
                left[name] = step.old
        for name in self._list_branches():
            left.pop(name, None)
        there = self.find_known({*left.values()})
        apart = ["rev-list", "--not", "--branches", "HEAD", "--not", "--stdin"]
        lost = set(self._ask(apart, sorted(there)).split() if there else ())
        newest = [(name, commit) for name, commit in left.items() if commit in lost]
        return dict(newest[: -BRANCHES_SEEN_MAX - 1 : -1])

    def list_committed(self, records: Collection[RecordId]) -> set[RecordId]:
        commits = self._ask(["rev-list", "--all", "--reflog", "--", "*.json"]).splitlines()
        if not commits:
            return set()
        listed = self._ask(
            ["-c", "core.quotePath=false", "diff-tree", "--stdin", "--root", "-m", "-r",
             "--no-renames", "--diff-filter=A", "--name-only", "--no-commit-id", "--", "*.json"],
            commits,
        )  # fmt: skip
        return {RecordId(Path(line).stem) for line in listed.splitlines()}.intersection(records)

    def compare_records(self, here: str, commits: Sequence[str]) -> Sequence[CommittedRecords]:
        if not commits:
            return []
        named = f":(literal,top){self._trees.records}"
        # of a commit that is given with another one, git shows what it has beyond that
        pairs = [f"{commit} {here}" for commit in commits]
        listed = self._ask(
            ["-c", "core.quotePath=false", "diff-tree", "--stdin", "-r", "--no-renames", "--",
             named],
            pairs,
        )  # fmt: skip
        changes: dict[str, list[_RecordChange]] = {commit: [] for commit in commits}
        into = list[_RecordChange]()
        for line in listed.splitlines():
            if not line.startswith(":"):
                into = changes.get(line.strip(), [])
            elif found := _parse_change(line):
                into.append(found)
        return [_sum_up(changes[commit]) for commit in commits]

    def find_memories(self, objects: Collection[str]) -> set[str]:
        some = sorted(objects)[:_RECORDS_MAX]
        parts = _OBJECT.split(self._ask(["cat-file", "--batch"], some)) if some else [""]
        return {blob for blob, body in zip(parts[1::2], parts[2::2], strict=True)
                if _read_kind(body) in MEMORY_KINDS}  # fmt: skip

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
        return ask_git(self._dir, self._environment, arguments, lines)


_PLAIN_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--full-index")


@frozen
class _RecordChange:
    """A file of a record that one of two commits has, and in which folder of the work tree."""

    id: RecordId
    blob: str
    folder: str
    lacks: bool


def _parse_change(line: str) -> _RecordChange | None:
    """A line of `git diff-tree`; None if no record came or went with it."""
    meta, _, path = line.partition("\t")
    _, _, old, new, how = meta.split()
    folder, month, name = ("", "", *path.split("/"))[-3:]
    id_ = name.removesuffix(".json")
    if how not in ("A", "D") or not is_record_id(id_):
        return None
    folder = path.removesuffix(f"/{month}/{name}")
    return _RecordChange(RecordId(id_), new if how == "A" else old, folder, lacks=how == "D")


def _sum_up(changes: Sequence[_RecordChange]) -> CommittedRecords:
    beyond = [each for each in changes if not each.lacks]
    return CommittedRecords(
        beyond={each.id: each.blob for each in beyond},
        lacks={each.id: each.blob for each in changes if each.lacks},
        folder=f":/{beyond[0].folder}" if beyond else "",  # git finds that from any
    )


_REF: Final = "%(objectname)%00%(refname)%00%(refname:short)"


def _parse_ref(line: str) -> GitTip:
    """A line of `git for-each-ref`. Where a tag has the branch's name, git has a longer one."""
    commit, full, name = line.split("\0")
    branch = full.removeprefix("refs/heads/")
    return GitTip(name if branch == full else branch, commit, name)


_KIND: Final = compile_later(
    r'\s*\{\s*"schema_version":\s*\d+,\s*"id":\s*"[^"]*",\s*"kind":\s*"(\w+)"'
)
"""How a record begins that this program wrote: of a thousand nothing else need be parsed."""


def _read_kind(body: str) -> str:
    """What kind of record this is, by its own word; '' if it is none."""
    if found := _KIND.match(body):
        return found[1]
    with suppress(ValueError, AttributeError):
        return str(json.loads(body).get("kind", ""))
    return ""


def _parse_step(line: bytes) -> RefStep | None:
    """A line of a reflog; None for what is none, or torn."""
    place, _, message = line.decode(errors="replace").partition("\t")
    hashes = place.split(" ", 2)
    if len(hashes) < 3 or len(hashes[0]) != len(hashes[1]):  # noqa: PLR2004  # old, new, who
        return None
    return RefStep(hashes[0], hashes[1], message, hashes[2].rpartition("> ")[2])
