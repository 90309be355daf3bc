"""Reads the files of a work tree that memories cite, by one safe open, once for each change."""

import hashlib
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock, Thread
from typing import Final, Generic, TypeVar

from memory_mcp.domain.code_files import CodeFile, FileVersion
from memory_mcp.errors import GitSilentError
from memory_mcp.locations import find_git_dir, locate_in_tree
from memory_mcp.patterns import compile_later
from memory_mcp.ports.code import FOLDER, NOT_THERE, SIMILAR_MAX
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.git_index import read_index
from memory_mcp.storage.files.host import stamp_file

_FILE_BYTES_MAX: Final = 4_194_304
"""A source file that is larger was made by a program."""
_KNOWN_MAX: Final = 500
_LISTED_MAX: Final = 1_000
"""Files of one folder that are looked at."""
_PATH_BYTES_MAX: Final = 1_000
_ASKED_MAX: Final = 200
"""Answers of git that are kept, each about a commit, or about one kind of files."""
_LISTED_SECONDS: Final = 1.0
_ENDING: Final = compile_later(r"\.\w{1,16}")
_GIT_DIR: Final = ".git"
_BINARY_BYTES: Final = 8_000
"""How far git itself looks for a NUL."""


T = TypeVar("T")


class _Questions(Generic[T]):
    """What git is asked beside the calls, once for each state, one question after the other.

    What it said before counts until it answers; one may wait some seconds for that, or with None as
    long as it takes. What it cannot say is `nothing`.
    """

    def __init__(self, nothing: T) -> None:
        self._nothing = nothing
        self._known: OrderedDict[Hashable, tuple[object, Future[T], T]] = OrderedDict()
        self._waiting: deque[tuple[Callable[[], T], Future[T]]] = deque()
        self._lock = Lock()
        self._working = False

    def get(
        self, about: Hashable, state: object, ask: Callable[[], T], *, seconds: float | None
    ) -> T:
        known = self._known.get(about)
        if known is None or known[0] != state:
            before = self._nothing if known is None else _read(known, 0.0)
            self._known[about] = known = state, Future[T](), before
            if len(self._known) > _ASKED_MAX:
                self._known.popitem(last=False)
            with self._lock:
                self._waiting.append((ask, known[1]))
                begins, self._working = not self._working, True
            if begins:
                Thread(target=self._work, daemon=True).start()
        return _read(known, seconds)

    def _work(self) -> None:
        try:
            while question := self._take():
                self._answer(*question)
        finally:
            self._working = False

    def _take(self) -> tuple[Callable[[], T], Future[T]] | None:
        with self._lock:
            self._working = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None

    def _answer(self, ask: Callable[[], T], answer: Future[T]) -> None:
        said = self._nothing
        try:
            said = ask()
        except GitSilentError:
            pass
        finally:
            answer.set_result(said)


def _read(known: tuple[object, Future[T], T], seconds: float | None) -> T:
    _, answer, before = known
    try:
        return answer.result(seconds)
    except TimeoutError:
        return before


class LocalCode:
    """Implements `ports.CodeFiles` over a work tree, or a folder in one."""

    def __init__(
        self,
        folder: Path,
        find_renames: Callable[[str], Mapping[str, str]] = lambda _: {},
        list_untracked: Callable[[str], Sequence[str]] = lambda _: (),
        list_versions: Callable[[str, str], Sequence[FileVersion]] = lambda _, __: (),
    ) -> None:
        self._root = str(folder)
        tree, within = locate_in_tree(self._root)
        self._git_dir = find_git_dir(tree) if tree else ""
        self._within = f"{Path(within).as_posix()}/" if within else ""
        self._moves = os.path.join(self._git_dir, "logs", "HEAD")
        self._known: OrderedDict[str, tuple[object, CodeFile]] = OrderedDict()
        self._index: tuple[object, bytes] = (None, b"")
        self._find_renames = find_renames
        self._renames = _Questions[Mapping[str, str]]({})
        self._list_untracked = list_untracked
        self._untracked = _Questions[Sequence[str]](())
        self._list_versions = list_versions
        self._changes = _Questions[str]("")
        self.patience_seconds = 0.0
        self._left: dict[tuple[str, str], object] = {}
        self._asked_at: dict[str, float] = {}
        self._unasked = set[str]()

    def read(self, path: str) -> CodeFile | str:
        named = self._name_inside(path)
        if not named:
            return "lies outside of the project"
        if named == os.curdir:
            return FOLDER
        if not named.isprintable():
            return "has signs in its name that cannot be shown"
        if _GIT_DIR in named.lower().split("/"):
            return "belongs to git, not to the code"
        path = named
        stamp = stamp_file(os.path.join(self._root, path))
        known = self._known.get(path)
        if known is None or stamp is None or known[0] != stamp:
            file = self._load(path)
            if isinstance(file, str):
                return file
            self._known[path] = known = stamp, file
            if len(self._known) > _KNOWN_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end(path)
        return known[1]

    def _name_inside(self, path: str) -> str:
        """The path from the work tree, by names alone; '' for what is not below it."""
        if not path or "\0" in path:
            return ""
        if os.path.isabs(path):
            named = os.path.normpath(path)
            roots = self._root, os.path.realpath(self._root)
            root = next((each for each in roots if (named + os.sep).startswith(each + os.sep)), "")
            path = (named[len(root) + 1 :] or os.curdir) if root else os.pardir
        named = os.path.normpath(path).replace(os.sep, "/")
        return "" if named.split("/")[0] == os.pardir else named

    def _load(self, path: str) -> CodeFile | str:
        try:
            data = read_file(os.path.join(self._root, path), _FILE_BYTES_MAX, self._root)
        except (FileNotFoundError, NotADirectoryError):
            return NOT_THERE
        except UnsafeFileError as error:
            at = os.path.join(self._root, path)
            folder = os.path.isdir(at) and not os.path.islink(at)
            return FOLDER if folder else f"cannot be cited: {error.why}"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if b"\0" in data[:_BINARY_BYTES]:
            return "is no text"
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324  # git's own
        return CodeFile(path, blob, data.decode("utf-8-sig", errors="replace"))

    def list_similar(self, path: str) -> Sequence[str]:
        folder, _, name = path.rpartition("/")
        ending = os.path.splitext(name)[1]
        here = self._list_folder(folder) if ".." not in path.split("/") else []
        beside = [each for each in here if each.endswith(ending)]
        listed = _find_named(self._load_index(), name)
        named = [each for path in listed if (each := self._name_within(path))]
        found = dict.fromkeys([*named[:SIMILAR_MAX], *beside])
        return [each for each in found if each != path][:SIMILAR_MAX]

    def _list_folder(self, folder: str) -> list[str]:
        """The files of a folder, the latest that was changed first."""
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                files = [
                    (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
                    for entry in islice(entries, _LISTED_MAX)
                    if entry.is_file(follow_symlinks=False)
                ]
        except OSError:
            return []
        return [f"{folder}/{name}" if folder else name for _, name in sorted(files, reverse=True)]

    def find_renamed(self, path: str, commit: str, *, wait: bool = False) -> str:
        if not commit or not self._git_dir:
            return ""
        ask = partial(self._find_renames, commit)
        state = self._stamp_index()
        return self._ask_patiently(self._renames, commit, state, ask, wait=wait).get(path, "")

    def _ask_patiently(
        self,
        questions: _Questions[T],
        about: Hashable,
        state: object,
        ask: Callable[[], T],
        *,
        wait: bool,
    ) -> T:
        """What git says where nothing else is known: some patience is had with it, once for all."""
        begun = time.monotonic()
        found = questions.get(about, state, ask, seconds=None if wait else self.patience_seconds)
        self.patience_seconds = max(0.0, self.patience_seconds - (time.monotonic() - begun))
        return found

    def find_change(
        self,
        path: str,
        since: str,
        about: Hashable,
        stands: Callable[[CodeFile], bool],
        *,
        wait: bool = False,
    ) -> str:
        if not self._git_dir:
            return ""
        state = stamp_file(self._moves)  # every move of HEAD is written there
        ask = partial(self._search_change, path, since, stands)
        return self._changes.get(about, state, ask, seconds=None if wait else 0.0)

    def _search_change(self, path: str, since: str, stands: Callable[[CodeFile], bool]) -> str:
        """The last commit that ended what stood before it, if that stands no more."""
        stood, change = False, ""
        for each in self._list_versions(path, since):
            now = bool(each.blob) and stands(CodeFile(path, each.blob, each.text))
            if now or stood:
                change = "" if now else each.commit
            stood = now
        return change

    def list_untracked(self, path: str, *, wait: bool = False) -> Sequence[str]:
        folder, _, name = path.rpartition("/")
        ending = os.path.splitext(name)[1]
        inside = not os.path.isabs(path) and ".." not in folder.split("/")
        if not (inside and self._git_dir and _ENDING.fullmatch(ending)):
            return ()
        while folder and not os.path.isdir(os.path.join(self._root, folder)):
            folder = os.path.dirname(folder)
        left = stamp_file(os.path.join(self._root, folder))  # it has changed with what left it
        if self._left.get((folder, ending)) != left:
            self._left[folder, ending] = left
            if len(self._left) > _LISTED_MAX:
                self._left.clear()
            self._unasked.add(ending)
        if ending in self._unasked:
            self._ask_again(ending)
        ask = partial(self._choose_untracked, ending)
        found = self._ask_patiently(self._untracked, ending, self._state_of(ending), ask, wait=wait)
        if not self._are_there(found):  # one has moved on
            self._ask_again(ending, at_once=wait)
            found = self._ask_patiently(
                self._untracked, ending, self._state_of(ending), ask, wait=wait
            )
        return found

    def _state_of(self, ending: str) -> object:
        return self._stamp_index(), self._asked_at.get(ending)

    def _ask_again(self, ending: str, *, at_once: bool = False) -> None:
        """Have git list files of this kind anew; once a second is enough for many folders."""
        now = time.monotonic()
        if at_once or now - self._asked_at.get(ending, -_LISTED_SECONDS) >= _LISTED_SECONDS:
            self._asked_at[ending] = now
            self._unasked.discard(ending)

    def _choose_untracked(self, ending: str) -> Sequence[str]:
        """The latest of the files of this kind that git has not been told of."""
        listed = self._list_untracked(ending)[:_LISTED_MAX]
        stamps = [(stamp_file(os.path.join(self._root, each)), each) for each in listed]
        latest = sorted(((stamp, each) for stamp, each in stamps if stamp), reverse=True)
        return tuple(each for _, each in latest[:SIMILAR_MAX])

    def _are_there(self, paths: Sequence[str]) -> bool:
        return all(os.path.lexists(os.path.join(self._root, each)) for each in paths)

    def _stamp_index(self) -> object:
        return stamp_file(os.path.join(self._git_dir, "index"))

    def find_blob(self, blob: str) -> str:
        return self._name_within(_find_name(self._load_index(), bytes.fromhex(blob)))

    def _name_within(self, path: str) -> str:
        """The name from the folder of a file that git names; '' of one outside of it."""
        return path.removeprefix(self._within) if path.startswith(self._within) else ""

    def find_left_out(self, path: str) -> str:
        return _find_left_out(self._load_index(), path)

    def _load_index(self) -> bytes:
        """The bytes of git's index, each name in full; none if there is none."""
        path = os.path.join(self._git_dir, "index")
        stamp = stamp_file(path) if self._git_dir else None
        if stamp is None:
            return b""
        if self._index[0] != stamp:
            self._index = stamp, read_index(path, self._git_dir)
        return self._index[1]


_HASH_BYTES: Final = 20
_EXTENDED: Final = 0x4000
_NAME_LENGTH: Final = 0xFFF
_NO_FLAGS: Final = b"DIRC\0\0\0\2"
"""The beginning of an index without extended flags."""
_LEFT_OUT: Final = 0x4000
"""Of the extended flags: `skip-worktree`."""


def _find_name(index: bytes, blob: bytes) -> str:
    """The name of a file of that content in git's index."""
    at = index.find(blob)
    if at < 0:
        return ""
    flags = int.from_bytes(index[at + _HASH_BYTES : at + _HASH_BYTES + 2])
    start = at + _HASH_BYTES + (4 if flags & _EXTENDED else 2)
    return index[start : index.find(b"\0", start)].decode(errors="replace")


def _find_left_out(index: bytes, path: str) -> str:
    """The hash of the file in git's index if a sparse checkout leaves it out, else ''."""
    name = path.encode(errors="surrogateescape")
    at = index.find(name + b"\0") if not index.startswith(_NO_FLAGS) else -1
    while at >= 0:
        flags, more = (int.from_bytes(index[at - n : at - n + 2]) for n in (4, 2))
        whole = flags & _NAME_LENGTH == min(len(name), _NAME_LENGTH)
        if flags & _EXTENDED and more & _LEFT_OUT and whole:
            return index[at - 4 - _HASH_BYTES : at - 4].hex()
        at = index.find(name + b"\0", at + 1)
    return ""


def _find_named(index: bytes, name: str) -> list[str]:
    """The paths in git's index that end in this name; each stands behind its own length."""
    wanted = name.encode(errors="surrogateescape") + b"\0"
    found: list[str] = []
    at = index.find(wanted)
    while at >= 0:
        end = at + len(wanted) - 1
        for start in range(at, max(0, at - _PATH_BYTES_MAX), -1):
            flags = index[start - 2 : start], index[start - 4 : start - 2]
            lengths = {int.from_bytes(each) & _NAME_LENGTH for each in flags}
            if end - start in lengths and (start == at or index[at - 1 : at] == b"/"):
                path = index[start:end].decode(errors="replace")
                if path.isprintable():
                    found.append(path)
                    break
        at = index.find(wanted, end)
    return found
