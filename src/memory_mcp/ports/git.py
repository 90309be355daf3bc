"""What following git needs from the world."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memory_mcp.domain.code_files import FileVersion
from memory_mcp.domain.git import (
    CommittedRecords,
    GitPlace,
    GitState,
    GitTip,
    NewCommit,
    RefStep,
    SeenBranch,
    Unfinished,
)
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding


class GitHistory(Protocol):
    """The repository of a work tree, and what this machine remembers of it.

    - `stamp` stays equal as long as HEAD, the names of branches, the memory of these and the
      records that git tracks did not change. It takes a few microseconds and never fails. `files`
      are those of git that say where HEAD is. `name` tells this work tree from others of the
      repository.
    - `look` reads HEAD. `read_branch` returns the lines that were added to the branch's reflog
      since it was seen, oldest first, and how it is now; None if there is no such branch or reflog.
    - `find_unfinished` is what git is in the middle of, or was left in.
    - `list_steps` returns what HEAD of this work tree did since its reflog was so long, oldest
      first.
    - `find_beginning` is the step of HEAD by which this work tree began to work on the branch that
      was `made` by that step; None if it only went there later, or never.
    - `find_new_name` names the branch, of all or `among` these, whose reflog begins with all that
      was seen of this one, and then says that it was renamed; '' if none does.
    - `tracked` returns those of these names of records that git tracks in this work tree, or
      `anywhere`: in any work tree of the repository. `list_tracked` names all that it tracks in
      this one, `list_tracked_elsewhere` those that it tracks in others alone, each with the branch
      that is checked out there.
    - `alone` holds a lock between processes while the state is changed, or says that another has
      it. `load` gives an empty state for one that is damaged, with the mode that was chosen;
      `take_damage` says once what of it cannot be read, and `findings` says it to the doctor, of
      the mode only if what was `chosen` counts; with `repair` it is written anew.

    The others ask git itself, which takes milliseconds, and seconds at most; they are for a thread.
    What git cannot say raises `GitSilentError`.

    - `require_git` raises that if nothing can be asked at all.
    - `find_away`: those of these commits that no head reaches, unknown ones included. Where the
      history of a shallow clone ends, only what comes after its ends is known not to lie before.
    - `find_reached`: those of these commits that a head is known to reach.
    - `find_known`: those of these commits that git has. `find_replaced`: those of these branches
      that git has, but not any more the commit at which each was seen; '' stands for HEAD.
    - `find_tips`: the newest branches, those of remotes and the gone ones of `list_tips` included,
      that reach any of these commits and that `head` does not reach.
    - `list_commits`: the commits of `new` that `old` does not reach, oldest first.
    - `find_patches`: for each commit with one parent, an id of its change that a rebase keeps.
    - `find_squashes`: the same for all changes at once of each of these branches' tips since it
      parted from `head`, where it changes the files that one of the commits `made` does.
    - `find_authors`: what a rebase keeps of each of these commits whatever it changes: who wrote it
      when; and the subject, which it keeps unless it is worded anew.
    - `find_times`: when each of these commits was made, in seconds.
    - `list_versions`: a file as the commits left it that changed it on the way to HEAD since
      `since`, along the first parents, oldest first; before them, as the first of them found it.
      Where one of them renamed it, those of its new name follow.
    - `find_renames`: the new path of each file that was renamed between `since` and the index.
    - `list_untracked`: the files with this ending that git neither tracks nor ignores.
    - `shows`: which of two commits the files of the work tree are, where these differ, or the files
      of these records do; None if neither.
    - `list_tips`: the newest branches that HEAD does not reach; without a branch, the commit at
      which it was before the last reset, merge or rebase; and the branches that are gone, which
      HEAD of this work tree left at commits that no branch reaches and git still has.
    - `list_committed`: those of these records that any commit has which git still knows.
    - `compare_records`: for each commit, which records are committed with it and not with `here`,
      and the other way round. `find_memories`: which of the first thousand of these objects are
      records of memories.
    """

    name: str
    files: Sequence[str]

    def stamp(self) -> object: ...
    def look(self) -> GitPlace: ...
    def find_unfinished(self) -> Unfinished | None: ...
    def require_git(self) -> None: ...
    def read_branch(
        self, branch: str, seen: SeenBranch | None
    ) -> tuple[Sequence[RefStep], SeenBranch] | None: ...
    def list_steps(self, moves: int) -> Sequence[RefStep]: ...
    def find_beginning(self, branch: str, made: RefStep) -> RefStep | None: ...
    def find_new_name(self, branch: str, seen: SeenBranch, among: Sequence[str] = ()) -> str: ...
    def tracked(self, names: Collection[str], *, anywhere: bool = False) -> set[str]: ...
    def list_tracked(self) -> frozenset[str]: ...
    def list_tracked_elsewhere(self) -> Mapping[str, str]: ...
    def alone(self) -> AbstractContextManager[bool]: ...
    def load(self) -> GitState: ...
    def save(self, state: GitState) -> None: ...
    def take_damage(self, *, chosen: bool) -> Sequence[str]: ...
    def findings(self, *, repair: bool, chosen: bool) -> list[Finding]: ...
    def find_away(self, commits: Collection[str], heads: Collection[str]) -> set[str]: ...
    def find_reached(self, commits: Collection[str], heads: Collection[str]) -> set[str]: ...
    def find_known(self, commits: Collection[str]) -> set[str]: ...
    def find_replaced(self, seen: Mapping[str, str]) -> set[str]: ...
    def find_tips(self, commits: Collection[str], head: str) -> Mapping[str, str]: ...
    def list_commits(self, old: str, new: str) -> list[NewCommit]: ...
    def find_patches(self, commits: Sequence[str]) -> Mapping[str, str]: ...
    def find_squashes(
        self, tips: Collection[str], head: str, made: Sequence[str]
    ) -> Mapping[str, str]: ...
    def find_authors(self, commits: Collection[str]) -> Mapping[str, tuple[str, str]]: ...
    def find_times(self, commits: Collection[str]) -> Mapping[str, int]: ...
    def list_versions(self, path: str, since: str) -> Sequence[FileVersion]: ...
    def find_renames(self, since: str) -> Mapping[str, str]: ...
    def list_untracked(self, ending: str) -> Sequence[str]: ...
    def shows(self, old: str, new: str, records: Collection[str] = ()) -> str | None: ...
    def list_tips(self) -> Sequence[GitTip]: ...
    def list_committed(self, records: Collection[RecordId]) -> set[RecordId]: ...
    def compare_records(self, here: str, commits: Sequence[str]) -> Sequence[CommittedRecords]: ...
    def find_memories(self, objects: Collection[str]) -> set[str]: ...
