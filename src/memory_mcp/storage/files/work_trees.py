"""The work trees of a clone, and the records in all of them as one store.

Where records are committed with the code, git brings those of a branch to the work tree in which
that is checked out. They lie in that tree's `.claude/memory` and nowhere else, so all these folders
together are the memory of the clone. A record that is no file of git's lies in the main one, so
that it does not go with a linked work tree that is removed.

A project may be a folder within its work tree: then it is the same folder in each of them.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.outcomes import Finding
from memory_mcp.domain.record import Record
from memory_mcp.errors import GitSilentError
from memory_mcp.frozen import frozen
from memory_mcp.locations import (
    WORK_TREES,
    find_bare_git_dir,
    find_common_git_dir,
    find_git_dir,
    locate_in_tree,
    read_git_text,
)
from memory_mcp.storage.files.git_index import read_index
from memory_mcp.storage.files.host import read_git_head, stamp_file
from memory_mcp.storage.files.records import LocalRecords

TREES_MAX: Final = 32
"""Linked work trees of a clone that are looked into; each costs a call some microseconds."""
_SCAN_BATCH: Final = 500
_NONE_IGNORED: Final = 1
"""What `git check-ignore` ends with then."""
_RECORD_NAME: Final = (
    rb"/\d{4}-\d\d/([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\."
)
_NAME_LENGTH: Final = len("/2026-01/01a216d9-771d-7000-ac24-da2fe30a0986.json")


@frozen
class WorkTree:
    """A work tree of a clone, the project's folder in it, and the folder of git that is its own."""

    root: str
    folder: str
    git_dir: str

    @property
    def index(self) -> str:
        """The file in which git lists what it tracks there."""
        return os.path.join(self.git_dir, "index")


class WorkTrees:
    """The work trees of a clone: this one, the main one and the others, in this order."""

    def __init__(
        self,
        work_tree: Path,
        main: Path,
        environment: Mapping[str, str] = MappingProxyType({}),
        records: str = ".claude/memory",
    ) -> None:
        self._environment = environment
        root, self.within = locate_in_tree(str(work_tree))
        git_dir = find_git_dir(root) if root else ""
        bare = find_bare_git_dir(root) if root and not git_dir else ""
        common = find_common_git_dir(git_dir) if git_dir else bare
        self.own = WorkTree(root, str(work_tree), git_dir)
        self.main = WorkTree("", str(main), common) if common != git_dir else self.own
        self.records = os.path.normpath(os.path.join(self.within, records)).replace(os.sep, "/")
        """The folder of records, as git names it; outside of the work tree it leads up."""
        self._record_name = _match_names(self.records)
        self._listing = os.path.join(common, WORK_TREES) if common else ""
        self._listed: tuple[object, Sequence[WorkTree]] = (None, ())
        self._tracked: dict[str, tuple[object, frozenset[str]]] = {}

    def list_all(self) -> Sequence[WorkTree]:
        """Every work tree that is there, listed again only if git added, removed or moved one."""
        stamp = self._stamp_listing(self._listed[1])
        if self._listed[0] != stamp or not self._listed[1]:
            found = {self.own.git_dir: self.own}
            for tree in (self.main, *(self._list_linked() if self._listing else ())):
                found.setdefault(tree.git_dir, tree)
            trees = tuple(found.values())
            self._listed = self._stamp_listing(trees), trees
        return self._listed[1]

    def _stamp_listing(self, trees: Sequence[WorkTree]) -> object:
        """What changes with the list, and with the file that says where each of these is."""
        if not self._listing:
            return None
        pointers = (os.path.join(each.git_dir, "gitdir") for each in trees)
        return stamp_file(self._listing), *map(stamp_file, pointers)

    def _list_linked(self) -> list[WorkTree]:
        """Those that the repository lists, if they name it, too."""
        try:
            with os.scandir(self._listing) as entries:
                names = sorted(entry.name for entry in islice(entries, TREES_MAX))
        except OSError:
            return []
        found: list[WorkTree] = []
        for name in names:
            git_dir = os.path.join(self._listing, name)
            pointer = read_git_text(os.path.join(git_dir, "gitdir"), git_dir).strip()
            folder = os.path.dirname(os.path.join(git_dir, pointer)) if pointer else ""
            if folder and find_git_dir(folder) == git_dir:
                root = os.path.normpath(folder)
                found.append(WorkTree(root, self._find_folder(root), git_dir))
        return found

    def _find_folder(self, root: str) -> str:
        return os.path.join(root, self.within) if self.within else root

    def list_tracked(self, tree: WorkTree) -> frozenset[str]:
        """The names of records in git's index of that tree."""
        stamp = stamp_file(tree.index) if tree.git_dir else None
        known = self._tracked.get(tree.git_dir)
        if known is None or known[0] != stamp:
            data = read_index(tree.index, tree.git_dir) if stamp else b""
            names = frozenset(name.decode() for name in self._record_name.findall(data))
            if known and known[1] == names:
                names = known[1]  # what is the same thing is compared at once
            self._tracked[tree.git_dir] = known = stamp, names
        return known[1]

    def list_tracked_elsewhere(self) -> dict[str, str]:
        """The names of records that git tracks in other work trees alone, each with its branch."""
        found: dict[str, str] = {}
        own = self.list_tracked(self.own)
        for tree in self.list_all()[1:]:
            if tree.git_dir != self.own.git_dir and (names := self.list_tracked(tree) - own):
                found |= dict.fromkeys(names, read_git_head(tree.git_dir)[1])
        return found

    def stamp(self) -> object:
        """What changes when git tracks other records here, or writes another work tree's index.

        This one's is written for every `git add`, and mostly of other files.
        """
        others = self.list_all()[1:]
        beside = (stamp_file(each.index) for each in others if self._tracked.get(each.git_dir))
        return self.list_tracked(self.own), *beside

    def commits_records(self) -> bool:
        """Whether git tracks records in any work tree."""
        return any(map(self.list_tracked, self.list_all()))

    def ignores(self, path: Path) -> bool:
        """Whether git ignores such a file of this work tree; also if git cannot say."""
        from memory_mcp.storage.files.ask_git import ask_git  # noqa: PLC0415  # it takes 5 ms

        work_tree = ["--work-tree", self.own.root]
        asked = [*work_tree, "check-ignore", "--no-index", "--", str(path)]
        try:
            return bool(ask_git(self.own.git_dir, self._environment, asked, silent=[_NONE_IGNORED]))
        except GitSilentError:
            return True


def _match_names(records: str) -> re.Pattern[bytes]:
    """What finds the names of records of that folder in an index.

    Before each name stands the last byte of its length, or of longer flags: there is none within
    another name, such as that of a folder in this one.
    """
    folder = os.fsencode(records)
    before = re.escape(bytes([len(folder) + _NAME_LENGTH & 0xFF, 0]))
    return re.compile(rb"(?<=[%s])%s%s" % (before, re.escape(folder), _RECORD_NAME))


class WorkTreeRecords:
    """Implements `ports.RecordStore` over the folders of records of all work trees of a clone."""

    def __init__(self, trees: WorkTrees, open_folder: Callable[[str], LocalRecords]) -> None:
        self._trees = trees
        self._open = open_folder
        self._stores: dict[str, LocalRecords] = {}
        self._seen: Sequence[LocalRecords] = ()

    def refuse_unreadable(self, record: Record) -> None:
        self._list()[0].refuse_unreadable(record)

    async def put(self, record: Record, *, of_this_machine: bool = True) -> None:
        store = self._find(record.id) or await self._choose_home(record.id)
        await store.put(record, of_this_machine=of_this_machine)

    async def get(self, record_id: RecordId) -> Record | None:
        for store in self._list():
            if (record := await store.get(record_id)) is not None:
                return record
        return None

    async def ids(self) -> set[RecordId]:
        self._seen = self._list()  # before the files: what comes meanwhile is a change
        return set[RecordId]().union(*[await store.ids() for store in self._seen])

    def changed(self) -> bool:
        stores = self._list()
        return stores != self._seen or any(store.changed() for store in stores)

    def may_be_emptied(self) -> bool:
        return any(store.may_be_emptied() for store in self._list())

    async def scan(self, record_ids: Collection[RecordId]) -> AsyncIterator[Record]:
        stores, ordered = self._list(), sorted(record_ids)
        if len(stores) == 1:
            async for record in stores[0].scan(ordered):
                yield record
            return
        for start in range(0, len(ordered), _SCAN_BATCH):
            batch = ordered[start : start + _SCAN_BATCH]
            found: dict[RecordId, Record] = {}
            for store in stores:
                if missing := [id_ for id_ in batch if id_ not in found]:
                    found |= {record.id: record async for record in store.scan(missing)}
            for id_ in sorted(found):
                yield found[id_]

    async def digest(self, record_ids: Collection[RecordId]) -> dict[RecordId, str]:
        found: dict[RecordId, str] = {}
        for store in self._list():  # the first that has one is the one that is read
            found |= await store.digest([id_ for id_ in record_ids if id_ not in found])
        return found

    async def erase(self, record_ids: Collection[RecordId]) -> None:
        for store in self._list():
            await store.erase(record_ids)

    async def remove_litter(self) -> None:
        for store in self._list():
            await store.remove_litter()

    def alone(self, statement: str = "") -> AbstractAsyncContextManager[bool]:
        return self._at(self._trees.main.folder).alone(statement)

    async def check(self, *, repair: bool) -> AsyncIterator[Record | Finding]:
        seen: set[RecordId] = set()
        for store in self._list():
            async for each in store.check(repair=repair):
                if isinstance(each, Record):
                    if each.id in seen:
                        continue
                    seen.add(each.id)
                yield each

    def _list(self) -> list[LocalRecords]:
        folders = dict.fromkeys(tree.folder for tree in self._trees.list_all())
        return [self._at(folder) for folder in folders]

    def _at(self, folder: str) -> LocalRecords:
        if folder not in self._stores:
            self._stores[folder] = self._open(folder)
        return self._stores[folder]

    def _find(self, record_id: RecordId) -> LocalRecords | None:
        """The first store that has a file of that name."""
        stores = (each for each in self._list() if os.path.lexists(each.path(record_id)))
        return next(stores, None)

    async def _choose_home(self, record_id: RecordId) -> LocalRecords:
        """Where a new record belongs: in this work tree, if records are committed with the code.

        So they are once git tracks any. Before that the first of all decides: it stays in a linked
        work tree if git does not ignore it there. What else is not committed belongs to the main
        one, as whoever removes a linked work tree would lose it.
        """
        own, main = (self._at(tree.folder) for tree in (self._trees.own, self._trees.main))
        if own is main or self._trees.commits_records() or not await own.is_empty():
            return own
        if not await main.is_empty():
            return main
        ignored = await asyncio.to_thread(self._trees.ignores, own.path(record_id))
        return main if ignored else own
