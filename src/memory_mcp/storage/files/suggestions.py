"""Suggestions as one small file, where only this machine may write: `<machine>/suggestions.json`.

It is replaced as a whole, under a lock, so that of two sessions at once neither loses the other's.
A damaged one counts as empty: what it held is said again, or was never important.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from memory_mcp.checker import ValidationError, to_json
from memory_mcp.disk import Disk
from memory_mcp.domain.captures import Suggestions
from memory_mcp.domain.checked import build_validator
from memory_mcp.domain.limits import LOCK_SECONDS_MAX, SUGGESTIONS_BYTES_MAX
from memory_mcp.storage.threads import in_thread

SUGGESTIONS_FILE: Final = "suggestions.json"


class LocalSuggestions:
    """Implements `ports.SuggestionStore` in this machine's folder of the project."""

    def __init__(self, machine: Path, disk: Disk) -> None:
        self._path = machine / SUGGESTIONS_FILE
        self._lock = machine / f".{SUGGESTIONS_FILE}.lock"
        self._disk = disk

    @in_thread
    def load(self) -> Suggestions:
        return self._read()

    @in_thread
    def change(self, change: Callable[[Suggestions], Suggestions]) -> None:
        otherwise = ". End that process; what was captured meanwhile is lost."
        with self._disk.hold_lock(self._lock, LOCK_SECONDS_MAX, otherwise):
            known = self._read()
            changed = change(known)
            if changed != known:
                self._disk.write(self._path, to_json(changed) + b"\n")

    def _read(self) -> Suggestions:
        try:
            with self._path.open("rb") as file:
                return build_validator(Suggestions).validate_json(file.read(SUGGESTIONS_BYTES_MAX))
        except FileNotFoundError:
            return ()
        except ValidationError:
            return ()
        except OSError as error:
            raise self._disk.unavailable(error, self._path, "read") from error
