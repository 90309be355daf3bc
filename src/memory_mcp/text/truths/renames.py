"""Reads that something is called otherwise now: "master was renamed to main".

What names it as its name is then outdated. What is said of the old name holds of the new one.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from memory_mcp.patterns import compile_later
from memory_mcp.text.merge.reading import stem
from memory_mcp.text.tables import load_pattern

_FORMS: Final = ("renamed", "renamed_by", "same_first_name")
_KEPT: Final = 2_048
_ARTICLE: Final = compile_later(r"(?i)(?:the|our|my|der|die|das|unser\w*|mein\w*)\s")
_WORDS: Final = compile_later(r"[^\W_][\w./+#@-]*[^\W_]|\w")
_QUOTES: Final = "\"'`„“”»«"


class Rename(NamedTuple):
    """The name before and the name after."""

    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.old!r} is called {self.new!r} now"

    @property
    def keys(self) -> frozenset[str]:
        """The words of the old name, without their endings."""
        return frozenset(map(stem, self.old.casefold().split()))


@lru_cache(maxsize=_KEPT)
def find_rename(statement: str) -> Rename | None:
    """What a statement says of a new name."""
    return next(_find_renames(statement.strip()), None)


def _find_renames(statement: str) -> Iterator[Rename]:
    for form in _FORMS:
        if found := load_pattern("truths", form).match(statement):
            old, new = (_ARTICLE.sub("", found[side], count=1).strip(_QUOTES)
                        for side in ("old", "new"))  # fmt: skip
            yield Rename(old, new)


def states_name(statement: str, rename: Rename) -> bool:
    """Whether a statement says that something has the old name, or what is renamed another one."""
    said = statement.strip()
    found = load_pattern("truths", "named").search(said)
    if not found:
        return False
    name, old = found["name"].strip(_QUOTES).casefold(), rename.old.casefold()
    subject = _ARTICLE.sub("", said, count=1).casefold()
    return old == name or old.endswith(f" {name}") or subject == f"{old} {found[0].casefold()}"


def mentions_name(text: str, rename: Rename) -> bool:
    """Whether a text names what has another name now."""
    around = f" {' '.join(_WORDS.findall(text.casefold()))} "
    return f" {' '.join(_WORDS.findall(rename.old.casefold()))} " in around
