"""What this machine remembers of git between two looks, and the mode that the user chose.

    <machine>/git.json    what was seen and told last, and the mode; a derivative but for claims
    <machine>/git-mode    the mode once more, as a word

What was seen can be seen anew, but nobody can see which mode was chosen. So that stands in both
files, and each makes up for the other. The copy is written first: a cut leaves either choice. If
neither can be read, nothing is hidden, and the user is told.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar, cast, get_args

from memory_mcp.disk import Disk
from memory_mcp.domain.git import GitMode, GitState
from memory_mcp.domain.outcomes import Finding
from memory_mcp.frozen import frozen
from memory_mcp.safe_files import UnsafeFileError, read_file
from memory_mcp.storage.files.host import stamp_file

_STATE_FILE: Final = "git.json"
_MODE_FILE: Final = "git-mode"
_STATE_BYTES_MAX: Final = 33_554_432
_MODE_BYTES_MAX: Final = 100
_SET_ASIDE_MAX: Final = 9
"""Damaged files that are kept for a person to look at; the last is overwritten."""

_SEEN_ANEW: Final = (
    "What was remembered of git cannot be read ({}) and is seen anew: memories that no commit has "
    "closed stand everywhere, and those of turns that /rewind took back may count again."
)
_MODE_LOST: Final = (
    "Which mode of git was chosen for this project cannot be read ({}): memories are marked, and "
    "none is hidden."
)
_CHOOSE: Final = (
    "`memory-mcp git follow`, `memory-mcp git mark` or `memory-mcp git off` chooses it again."
)
_MENDS: Final = (
    "`memory-mcp doctor --repair` sets it aside and writes it anew; so does the next look at git."
)

T = TypeVar("T")


@frozen
class LoadedState:
    """The state, empty if it is damaged, with the mode that either file names.

    `copied` is the mode in the second file. `damaged` are the files that cannot be read, and why.
    """

    state: GitState
    copied: GitMode | None
    damaged: Mapping[str, str]

    @property
    def lost(self) -> bool:
        """Whether a mode was chosen, and no file says which."""
        return self.state.mode is None and _MODE_FILE in self.damaged


def load_git_state(machine: Path) -> LoadedState:
    """What was seen at the last look, and what was chosen."""
    damaged = dict[str, str]()

    def parse(name: str, bytes_max: int, parse_data: Callable[[bytes], T]) -> T | None:
        try:
            return parse_data(read_file(str(machine / name), bytes_max, ""))
        except FileNotFoundError:
            return None
        except UnsafeFileError as error:
            damaged[name] = error.why
        except OSError as error:
            damaged[name] = error.strerror or "the file system refused"
        except ValueError:
            damaged[name] = "it is damaged"
        return None

    state = parse(_STATE_FILE, _STATE_BYTES_MAX, GitState.model_validate_json) or GitState()
    copied = parse(_MODE_FILE, _MODE_BYTES_MAX, _parse_mode)
    mode = state.mode or copied
    return LoadedState(state.model_copy(update={"mode": mode}), copied, damaged)


def _parse_mode(data: bytes) -> GitMode:
    word = data.decode(errors="replace").strip()
    if word not in get_args(GitMode):
        raise ValueError
    return cast("GitMode", word)


class GitStateFiles:
    """Reads and writes both files. What the file system refuses raises `StoreUnavailableError`."""

    def __init__(self, machine: Path, disk: Disk) -> None:
        self._machine = machine
        self._disk = disk
        self._loaded: tuple[object, LoadedState] | None = None
        self._untold = dict[str, str]()

    def stamp(self) -> object:
        """What changes when either file does."""
        return tuple(stamp_file(str(self._machine / each)) for each in (_STATE_FILE, _MODE_FILE))

    def load(self) -> GitState:
        """What was seen at the last look, with the mode that was chosen."""
        return self._load().state

    def _load(self) -> LoadedState:
        stamp = self.stamp()
        if self._loaded is None or self._loaded[0] != stamp:
            known = self._loaded[1].damaged if self._loaded else dict[str, str]()
            loaded = load_git_state(self._machine)
            self._untold.update(dict(loaded.damaged.items() - known.items()))
            self._loaded = stamp, loaded
        return self._loaded[1]

    def save(self, state: GitState) -> None:
        """Replace the state, and the copy of the mode if that says otherwise."""
        loaded = self._load()
        if state.mode and state.mode != loaded.copied:
            self._replace(_MODE_FILE, f"{state.mode}\n")
        data = json.dumps(state.list_json(exclude_defaults=True), indent=1)
        self._replace(_STATE_FILE, data)
        damaged = {name: why for name, why in loaded.damaged.items()
                   if name == _MODE_FILE and not state.mode}  # fmt: skip
        self._loaded = self.stamp(), LoadedState(state, state.mode, damaged)

    def _replace(self, name: str, text: str) -> None:
        """Write the file; what stands there and is damaged is set aside for a person to look at."""
        path = self._machine / name
        if name in self._load().damaged:
            number = sum(1 for _ in path.parent.glob(f"{name}.damaged-*")) + 1
            try:
                path.replace(path.with_name(f"{name}.damaged-{min(number, _SET_ASIDE_MAX)}"))
            except FileNotFoundError:  # another process has set it aside
                pass
            except OSError as error:
                raise self._disk.unavailable(error, path, "store") from error
        self._disk.write(path, text.encode())

    def take_damage(self, *, chosen: bool) -> list[str]:
        """What was damaged and has not been told; of the mode only if what was `chosen` counts."""
        told, self._untold = self._untold, {}
        notes = [_SEEN_ANEW.format(told[_STATE_FILE])] if _STATE_FILE in told else []
        if chosen and _MODE_FILE in told and self._load().lost:
            notes.append(f"{_MODE_LOST.format(told[_MODE_FILE])} {_CHOOSE}")
        return notes

    def findings(self, *, repair: bool, chosen: bool) -> list[Finding]:
        """What the doctor says of both files; `repair` writes anew what is known."""
        loaded, found = self._load(), list[Finding]()
        for name, why in loaded.damaged.items():
            if name == _MODE_FILE and loaded.lost:
                if chosen:
                    found.append(Finding("git-mode-lost", "must", _MODE_LOST.format(why), _CHOOSE))
                continue
            what = f"{self._machine / name} cannot be read: {why}."
            found.append(Finding("git-state-damaged", "should", what, _MENDS, repaired=repair))
        if repair and found:
            self.save(loaded.state)
        return found
