"""What citations need of the code."""

from typing import Protocol

from memory_mcp.domain.code_files import CodeFile


class CodeFiles(Protocol):
    """The files of the work tree.

    - `read` returns a text file by its path from the work tree, or why it cannot be cited: it is
      outside, not there, no text, too large, or a link leads to it. It reads a file again only
      when that has changed.
    - `find_blob` returns the path of a tracked file whose bytes have this hash of git's; '' if
      there is none.
    """

    def read(self, path: str) -> CodeFile | str: ...
    def find_blob(self, blob: str) -> str: ...
