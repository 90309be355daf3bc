"""Which clouds the user lets tell this machine what others wrote.

    <user data>/trusted-clouds.json    {"clouds": ["<address>"]}

A cloud holds copies and answers searches. What it says that another machine wrote, or hid, may be
anybody's word, so none of it comes in until the user says so, once.
"""

import json
from pathlib import Path
from typing import Any, Final, cast

from memory_mcp.disk import Disk, unavailable

__all__ = ["TRUSTED_CLOUDS_FILE", "TrustedCloud", "distrust_clouds", "trusted_clouds"]

TRUSTED_CLOUDS_FILE: Final = "trusted-clouds.json"


class TrustedCloud:
    """What the user said of the cloud at this address. Implements `ports.CloudTrust`."""

    def __init__(self, home: Path, address: str, disk: Disk) -> None:
        self._path = home / TRUSTED_CLOUDS_FILE
        self._disk = disk
        self.address = address

    def trusted(self) -> bool:
        try:
            return self.address in _every(self._path)
        except OSError:  # what cannot be read trusts nothing
            return False

    def grant(self) -> None:
        self._write(self._changeable() | {self.address})

    def _changeable(self) -> set[str]:
        try:
            return _every(self._path)
        except OSError as error:
            raise unavailable(error, self._path, "read") from error

    def _write(self, every: set[str]) -> None:
        data = json.dumps({"clouds": sorted(every)}, indent=1) + "\n"
        self._disk.write(self._path, data.encode())


def distrust_clouds(home: Path, disk: Disk) -> bool:
    """Let nothing in from any cloud from now on; whether it was otherwise.

    Raises:
        StoreUnavailableError: the file system refused.
    """
    before = bool(trusted_clouds(home))
    if before:
        disk.remove(home / TRUSTED_CLOUDS_FILE)
    return before


def trusted_clouds(home: Path) -> list[str]:
    """The addresses of the clouds that the user trusts."""
    try:
        return sorted(_every(home / TRUSTED_CLOUDS_FILE))
    except OSError:
        return []


def _every(path: Path) -> set[str]:
    """The addresses in the file; what it does not say properly is not trusted."""
    try:
        fields: Any = json.loads(path.read_bytes())
        return {str(address) for address in cast("list[Any]", fields["clouds"])}
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()
