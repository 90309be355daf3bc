"""A program's resources on this machine."""

from typing import Protocol

from memory_mcp.domain.resources import Seen


class ResourceFiles(Protocol):
    """Looks at files below the folders that may be read. It follows no link and asks no network.

    - `read_list` reads the file that lists the resources; None if there is none.
      `InvalidRequestError` if it may not be read.
    - `look_at` says what is at a path; what is missing, or may not be read, is told in `Seen.why`.
    """

    async def read_list(self, path: str) -> bytes | None: ...
    async def look_at(self, path: str, files_max: int, chars_max: int) -> Seen: ...
