"""A file of code as a value."""

from functools import cached_property


class CodeFile:
    """The text of a file, its path from the work tree, and git's hash of its bytes."""

    def __init__(self, path: str, blob: str, text: str) -> None:
        self.path = path
        self.blob = blob
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()
