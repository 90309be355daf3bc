"""What citations need of the code."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Protocol

from memory_mcp.domain.code_files import CodeFile

SIMILAR_MAX: Final = 20
"""Files that are read to find a text whose own file is gone."""

NOT_THERE: Final = "is not there"
FOLDER: Final = "is a folder: cite a file in it"


class CodeFiles(Protocol):
    """The files of the work tree.

    - `read` returns a text file by its path from the work tree, or why it cannot be cited: it is
      outside, git's own, not there, no text, too large, or a link leads to it. It takes a full path
      and one with `..` too, and resolves them by their names alone: the file's `path` is the short
      one. It reads a file again only when that has changed. Where nothing can be read any more, it
      says `NOT_THERE` or `FOLDER`.
    - `list_similar` returns the paths of at most `SIMILAR_MAX` other files in which a text of this
      one may stand now: files of the same name, and of the same kind in its folder.
    - `find_renamed` returns the path to which a file of this commit was renamed since, as git sees
      it in its index; '' if that is not known. Git is asked in the background, once for each commit
      and state of the index, and what it said before counts until then; with `wait` the answer is
      waited for.
    - `list_untracked` returns the paths of at most `SIMILAR_MAX` files of the same kind which git
      neither tracks nor ignores, the latest that was changed first. Git is asked in the same way,
      once for each state of the index and of the folder in which the file was.
    - `find_change` returns the commit since `since` in which a text of the file `stands` no more
      that stood there before, and stands in none that came later; '' if it was never committed, or
      still stands in what is committed. Git is asked in the same way, once for each text that it is
      `about` and each state of HEAD.
    - `find_blob` returns the path of a tracked file whose bytes have this hash of git's; '' if
      there is none. `find_left_out` returns that hash of a file which a sparse checkout leaves out;
      '' if it is not left out.
    - `patience_seconds` is how long `find_renamed` and `list_untracked` may still wait in all
      without being told to. A command has some: it ends before git has answered beside it.
    """

    patience_seconds: float

    def read(self, path: str) -> CodeFile | str: ...
    def list_similar(self, path: str) -> Sequence[str]: ...
    def find_renamed(self, path: str, commit: str, *, wait: bool = False) -> str: ...
    def list_untracked(self, path: str, *, wait: bool = False) -> Sequence[str]: ...
    def find_change(
        self,
        path: str,
        since: str,
        about: Hashable,
        stands: Callable[[CodeFile], bool],
        *,
        wait: bool = False,
    ) -> str: ...
    def find_blob(self, blob: str) -> str: ...
    def find_left_out(self, path: str) -> str: ...
