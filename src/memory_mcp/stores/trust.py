"""Which projects the user trusts, and what that says of their files.

    <user data>/trusted.json    {"projects": {"<folder of records>": {"name": <git's remote>}}}

A project is not trusted until the user says so: then every valid record in it counts, whoever wrote
it. Until then only what this machine wrote there counts (`stores.ledger`). What is trusted is a
place and the remote that git named there when the user said so, or that it named none: another
repository in the same place has not been looked at, nor has what a new remote brings.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from memory_mcp.disk import Disk, unavailable
from memory_mcp.safe_files import UnsafeFileError, refuse_links
from memory_mcp.stores.clouds import distrust_clouds
from memory_mcp.stores.ledger import Ledger

__all__ = ["TRUST_FILE", "Owned", "TrustedProjects"]

TRUST_FILE: Final = "trusted.json"

_Stamp = tuple[int, int, int]


class TrustedProjects:
    """The projects that the user trusts, by the folder of their records (`plain_path`)."""

    def __init__(self, home: Path, disk: Disk) -> None:
        self.home = home
        self._path = home / TRUST_FILE
        self.disk = disk
        self._seen: tuple[_Stamp, Mapping[str, str]] | None = None

    def name_of(self, records: str) -> str | None:
        """The remote under which the user trusted the project of these records; None: never.

        A file that cannot be read trusts nothing.
        """
        return self.every().get(records)

    def every(self) -> Mapping[str, str]:
        """The folders of records that are trusted, each with the project's remote."""
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._seen is None or self._seen[0] != stamp:
                self._seen = stamp, _parse(self._path.read_bytes())
        except OSError:
            return {}
        return self._seen[1]

    def trust(self, records: str, name: str) -> None:
        """Let everything in the project count from now on, as long as this is its remote.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        self._write({**self._changeable(), records: name})

    def revoke(self, records: str) -> bool:
        """Let only what this machine wrote count from now on; whether it was otherwise.

        Raises:
            StoreUnavailableError: the file system refused.
        """
        every = self._changeable()
        before = every.pop(records, None)
        if before is not None:
            self._write(every)
        return before is not None

    def _changeable(self) -> dict[str, str]:
        try:
            return _parse(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise unavailable(error, self._path, "read") from error

    def _write(self, every: Mapping[str, str]) -> None:
        projects = {folder: {"name": name} for folder, name in sorted(every.items())}
        data = json.dumps({"projects": projects}, indent=1) + "\n"
        self.disk.write(self._path, data.encode())
        self._seen = None


@dataclass(frozen=True)
class Owned:
    """How the files below a project are told apart: this machine's own, and a stranger's.

    Implements `ports.ProjectTrust`. `machine` is the folder where only this machine writes;
    `records` is the plain path of theirs. `address` asks git for the remote, and `name` is what the
    project is called after it, or nothing. `folders`, below `project`, are where its memory is.
    """

    machine: Path
    ledger: Ledger
    projects: TrustedProjects
    records: str
    address: Callable[[], str]
    name: str
    project: str
    folders: tuple[str, ...]

    @property
    def remote(self) -> str:
        return self.address()

    def trusted(self) -> bool:
        return self.trusted_as() == self.remote

    def trusted_as(self) -> str | None:
        return self.projects.name_of(self.records)

    def vouched(self) -> bool:
        return not self.name or self.trusted()

    def links(self) -> list[str]:
        found: list[str] = []
        for folder in self.folders:
            try:
                refuse_links(self.project, folder)
            except UnsafeFileError as error:
                found.append(str(error.filename))
            except OSError:  # whoever needs it says so
                continue
        return found

    def grant(self) -> None:
        self.projects.trust(self.records, self.remote)

    def revoke(self) -> bool:
        project = self.projects.revoke(self.records)
        return distrust_clouds(self.projects.home, self.projects.disk) or project


def _parse(data: bytes) -> dict[str, str]:
    """What the file says; what it does not say properly is not trusted."""
    try:
        fields: Any = json.loads(data)
        projects = cast("dict[str, dict[str, Any]]", fields["projects"])
        return {folder: str(about["name"]) for folder, about in projects.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
