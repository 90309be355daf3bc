"""Tries the folders that this process stores in, before a memory has to find out."""

from collections.abc import Sequence
from pathlib import Path

from memory_mcp.disk import Disk
from memory_mcp.errors import StoreUnavailableError
from memory_mcp.frozen import frozen
from memory_mcp.storage.threads import in_thread


@frozen
class LocalFolders:
    """Implements `ports.StoreFolders`."""

    folders: Sequence[Path]
    disk: Disk

    @in_thread
    def find_unwritable(self) -> Sequence[StoreUnavailableError]:
        found: list[StoreUnavailableError] = []
        for folder in dict.fromkeys(self.folders):
            try:
                self.disk.try_folder(folder)
            except StoreUnavailableError as error:
                found.append(error)
        return found
